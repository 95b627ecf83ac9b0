/* pt_levels.h - level bins: the mean of a bounded number from one rounded level each. */
#pragma once

#include "pt_mean.h"

/* x = X / 2^32 of the range, X 0..2^32, to one of the levels 0..b with mean x*b exactly (b below 2^31). */
uint64_t pt_levels_round(uint64_t x, uint32_t b, const struct cm_rng *rng);
/* Bins that make the mean most accurate at this epsilon0 and number of participants. */
uint32_t pt_levels_choose(double epsilon0, double dummies, uint64_t n);
/* Columns of the rows that send a level by MIXBINS. */
void pt_levels_encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records);
CM_CHECK enum cm_rc pt_levels_estimate(const struct pt_query *q, const struct pt_params *p,
	const uint64_t *counts, uint64_t reports, struct pt_estimate *out, struct cm_err *err);
/* A mean from the counts of levels, however many messages there are: pt_mean.h. */
CM_CHECK enum cm_rc pt_levels_mean(const struct pt_query *q, const struct pt_params *p,
	const uint64_t *counts, uint64_t reports, double dummies, struct pt_estimate *out,
	struct cm_err *err);
