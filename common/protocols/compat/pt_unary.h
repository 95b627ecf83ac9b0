/* pt_unary.h - unary encoding, one independent bit per category: what the rows rappor and oue share.
 *
 * The bit of the value is 1 with chance P = keep / 2^64, every other bit with chance Q = other / 2^64 <
 * P. */
#pragma once

#include "pt_single.h"

#define PT_UNARY_DEVICE                                                                              \
	.record_len = pt_unary_record_len, .epsilon0 = pt_unary_epsilon0, .encode = pt_unary_encode, \
	PT_SINGLE_DEVICE

#define PT_UNARY_HALF (UINT64_C(1) << 63)

extern const struct pt_layout pt_unary_layout;

/* P (1 - Q) / (Q (1 - P)): the chance of a report with only the input's own bit, divided by its chance
 * under another input. */
struct pt_ratio pt_unary_ratio(const struct pt_randomizer *p);
/* Check that the logarithm of this ratio is within PT_EPSILON0_MIN..MAX.  If not, returns `code`. */
CM_CHECK enum cm_rc pt_unary_bounds(const struct pt_randomizer *p, enum cm_rc code, struct cm_err *err);
/* Check that all bits are flipped with one chance, within bounds.  CM_EPROTO if not. */
CM_CHECK enum cm_rc pt_unary_flips_check(const struct pt_randomizer *p, struct cm_err *err);

uint32_t pt_unary_record_len(const struct pt_randomizer *p);
double pt_unary_epsilon0(const struct pt_randomizer *p);
void pt_unary_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room);
