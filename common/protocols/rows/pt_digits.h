/* pt_digits.h - the mean of a bounded number from its digits, each in a slot of MIXBINS. */
#pragma once

#include "pt_device.h"

/* The w with 2^w = v, or 0 if there is none. */
uint32_t pt_digits_bits(uint32_t v);
/* The base of the digits.  A slot has a bin for each digit, and one more, the last, if there is a symbol of
 * none. */
uint32_t pt_digits_base(const struct qy_query *q, const struct pt_randomizer *p);
/* The highest level b: levels are 0..b, b + 1 = base^slots, which check() limits to PR_CATEGORIES_MAX. */
uint32_t pt_digits_top(const struct qy_query *q, const struct pt_randomizer *p);
/* Check that the row answers the question.  If not, returns `code`. */
CM_CHECK enum cm_rc pt_digits_kind(const struct qy_query *q, enum cm_rc code, struct cm_err *err);
