/* pt_digits.h - the mean of a bounded number from its digits, a slot of MIXBINS for each. */
#pragma once

#include "pt_device.h"

/* w with 2^w = v, or 0. */
uint32_t pt_digits_bits(uint32_t v);
/* A slot has a bin for each digit, and the last for the symbol of none, if there is one. */
uint32_t pt_digits_base(const struct qy_query *q, const struct pt_randomizer *p);
/* Levels 0..b, b + 1 = base^slots, which check() holds to PR_CATEGORIES_MAX. */
uint32_t pt_digits_top(const struct qy_query *q, const struct pt_randomizer *p);
/* Does the row answer the question?  `code` otherwise. */
CM_CHECK enum cm_rc pt_digits_kind(const struct qy_query *q, enum cm_rc code, struct cm_err *err);
