/* rd_mode.h - names of the mode, the rule by which the rounds of one plan compose.  The plan and each of its
 * descriptors name it, and it never changes.
 *
 * In mode plan every round's parameters are fixed before the first answer, and losses compose exactly.  In
 * adaptive modes parameters may depend on earlier answers, and a privacy filter keeps the plan's slice
 * (acct_filter.h). */
#pragma once

#include "acct_filter.h"

#define RD_MODE_PLAN     "plan"
#define RD_MODE_ADAPTIVE "adaptive." /* followed by the filter's name */
#define RD_MODE_LEN      17u

bool rd_mode_is_known(const char *mode);
/* The filter of a known mode; 0 for mode plan. */
enum acct_filter_kind rd_mode_filter(const char *mode);
/* Write the name of the mode with this filter; 0: mode plan. */
void rd_mode_text(enum acct_filter_kind filter, char out[RD_MODE_LEN]);
