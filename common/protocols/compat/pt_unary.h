/* pt_unary.h - one bit per category, each drawn for itself: what the rows rappor and oue share.
 *
 * The bit of the value is 1 with chance P = keep / 2^64, every other one with chance Q = other / 2^64 < P. */
#pragma once

#include "pt_single.h"

#define PT_UNARY_DEVICE                                                                              \
	.record_len = pt_unary_record_len, .epsilon0 = pt_unary_epsilon0, .encode = pt_unary_encode, \
	PT_SINGLE_DEVICE

#define PT_UNARY_HALF (UINT64_C(1) << 63)

extern const struct pt_layout pt_unary_layout;

/* P (1 - Q) / (Q (1 - P)): what one input gives a report with its own bit alone, over what another gives
 * it. */
long double pt_unary_ratio(const struct pt_randomizer *p);
/* Is its logarithm within PT_EPSILON0_MIN..MAX?  `code` otherwise. */
CM_CHECK enum cm_rc pt_unary_bounds(const struct pt_randomizer *p, enum cm_rc code, struct cm_err *err);
/* Are all bits flipped with one chance, and in bounds?  CM_EPROTO otherwise. */
CM_CHECK enum cm_rc pt_unary_flips_check(const struct pt_randomizer *p, struct cm_err *err);

uint32_t pt_unary_record_len(const struct pt_randomizer *p);
double pt_unary_epsilon0(const struct pt_randomizer *p);
void pt_unary_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room);
