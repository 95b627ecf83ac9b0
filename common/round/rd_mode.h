/* rd_mode.h - how the rounds of one ledger compose: named in its OPEN record and in every descriptor, for
 * good.
 *
 * plan: every round's parameters are fixed before the first answer, and losses compose exactly.  adaptive:
 * parameters may follow from answers, and the ledger's budget is a privacy filter's (acct_filter.h). */
#pragma once

#include "acct_filter.h"

#define RD_MODE_PLAN     "plan"
#define RD_MODE_ADAPTIVE "adaptive." /* and the filter's name */
#define RD_MODE_LEN      17u

bool rd_mode_is_known(const char *mode);
/* The filter of a known mode; 0 in mode plan. */
enum acct_filter_kind rd_mode_filter(const char *mode);
/* The text of a mode; filter 0: plan. */
void rd_mode_text(enum acct_filter_kind filter, char out[RD_MODE_LEN]);
