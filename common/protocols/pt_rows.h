/* pt_rows.h - the rows of the protocol table, one file each. */
#pragma once

#include "pt_expect.h"

extern const struct pt_protocol pt_row_grr;
extern const struct pt_protocol pt_row_bins;
extern const struct pt_protocol pt_row_mixbins;
extern const struct pt_protocol pt_row_levels;
extern const struct pt_protocol pt_row_rappor;
extern const struct pt_protocol pt_row_oue;
extern const struct pt_protocol pt_row_subset;
extern const struct pt_protocol pt_row_olh;
extern const struct pt_protocol pt_row_hadamard;
extern const struct pt_protocol pt_row_hashed;
extern const struct pt_protocol pt_row_cheu;
extern const struct pt_protocol pt_row_balcer_cheu;
extern const struct pt_protocol pt_row_duchi;
extern const struct pt_protocol pt_row_laplace;
extern const struct pt_protocol pt_row_staircase;
extern const struct pt_protocol pt_row_piecewise;
extern const struct pt_protocol pt_row_digits;
extern const struct pt_protocol pt_row_ranges;
extern const struct pt_protocol pt_row_marginals;
extern const struct pt_protocol pt_row_prefixes;
extern const struct pt_protocol pt_row_words;
extern const struct pt_protocol pt_row_harmony;
extern const struct pt_protocol pt_row_vrr;
extern const struct pt_protocol pt_row_rotated;
extern const struct pt_protocol pt_row_ss_simple;
extern const struct pt_protocol pt_row_ss_double;
extern const struct pt_protocol pt_row_ss_topk;
extern const struct pt_protocol pt_row_gspa_classes;
extern const struct pt_protocol pt_row_gspa_pooled;

/* The columns that every histogram row has in common. */
#define PT_CATEGORY_COLUMNS                                                                    \
	.kinds = PT_HISTOGRAM, .encode = pt_category_encode, .estimate = pt_category_estimate, \
	.expected_error = pt_category_expected_error, PT_MIXBINS_COLUMNS

/* What the histogram rows share: the value is its own bin, one bin per category. */
void pt_category_encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records);
enum cm_rc pt_category_check(
	const char *name, const struct pt_query *q, const struct pt_params *p, struct cm_err *err);
enum cm_rc pt_category_estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err);
