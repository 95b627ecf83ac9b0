/* rd_mode.h - the rule by which the rounds of one ledger compose; the ledger's OPEN record and every
 * descriptor name it, and it never changes.
 *
 * plan: every round's parameters are fixed before the first answer, and losses compose exactly. adaptive:
 * parameters may follow from answers, and a privacy filter keeps the ledger's budget (acct_filter.h). */
#pragma once

#include "acct_filter.h"

#define RD_MODE_PLAN     "plan"
#define RD_MODE_ADAPTIVE "adaptive." /* followed by the filter's name */
#define RD_MODE_LEN      17u

bool rd_mode_is_known(const char *mode);
/* The filter of a known mode; 0 in mode plan. */
enum acct_filter_kind rd_mode_filter(const char *mode);
/* The text of a mode; filter 0: plan. */
void rd_mode_text(enum acct_filter_kind filter, char out[RD_MODE_LEN]);
