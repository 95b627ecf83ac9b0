/* pt_unary.h - one bit per category, each drawn for itself: what the rows rappor and oue share.
 *
 * The bit of the value is 1 with chance P = keep / 2^64, every other one with chance Q = other / 2^64 < P. */
#pragma once

#include "pt_single.h"

#define PT_UNARY_COLUMNS                                                                              \
	.record_len = pt_unary_record_len, .tallies = pt_single_items, .epsilon0 = pt_unary_epsilon0, \
	.cells = pt_unary_cells, .encode = pt_unary_encode, .tally = pt_unary_tally,                  \
	.estimate = pt_unary_estimate, .expected_error = pt_unary_expected_error, PT_SINGLE_COLUMNS

/* Is ln(P (1 - Q) / (Q (1 - P))) within PT_EPSILON0_MIN..MAX, and is there no size?  `code` otherwise. */
CM_CHECK enum cm_rc pt_unary_bounds(const struct pt_params *p, enum cm_rc code, struct cm_err *err);
/* All bits flipped with one chance: keep and other for epsilon0 (0, 16], CM_ECONFIG if it says nothing. */
CM_CHECK enum cm_rc pt_unary_flips(struct pt_params *p, double epsilon0, struct cm_err *err);
/* Are they such flips, and in bounds?  CM_EPROTO otherwise. */
CM_CHECK enum cm_rc pt_unary_flips_check(const struct pt_params *p, struct cm_err *err);

uint32_t pt_unary_record_len(const struct pt_params *p);
double pt_unary_epsilon0(const struct pt_params *p);
CM_CHECK enum cm_rc pt_unary_cells(
	const struct pt_params *p, uint64_t participants, struct acct_round *out, struct cm_err *err);
void pt_unary_encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records);
CM_CHECK enum cm_rc pt_unary_tally(
	const struct pt_params *p, const uint8_t *record, uint64_t *counts, struct cm_err *err);
double pt_unary_expected_error(const struct pt_query *q, const struct pt_params *p, uint64_t participants);
CM_CHECK enum cm_rc pt_unary_estimate(const struct pt_query *q, const struct pt_params *p,
	const uint64_t *counts, uint64_t reports, struct pt_estimate *out, struct cm_err *err);
