/* pt_levels.c - level bins: the mean of a bounded number from one rounded level each. */
#include "pt_levels.h"

#include <math.h>

#include "pt_mixbins.h"
#include "pt_quantile.h"
#include "pt_rows.h"

#define LEVELS_MIN 4  /* without a local guarantee: what is cheap enough never to do without */
#define LEVELS_MAX 64 /* beyond it rounding no longer shows */
/* Dummies per bin that (1, 1e-8) takes (doc/protocols.md): the weight of noise against rounding when only the
 * dummies hide a value. */
#define DUMMIES_PER_BIN 62.0

static const char name[] = "levels";

/* Worst case over x of the variance of one participant's share, per b^2 and with its dummies. */
static double worst_variance(double epsilon0, double dummies, double b)
{
	double blanket = (b + 1) / (exp(epsilon0) + b), real = 1 - blanket;
	double uniform = b * (b + 2) / 12;
	double middle = real / 4, edge = blanket * real * b * b / 4;

	return (blanket * uniform + (middle > edge ? middle : edge) + dummies * uniform) /
	       (real * real * b * b);
}

uint32_t pt_levels_choose(double epsilon0, double dummies, uint64_t n)
{
	double b = 1;

	if (isinf(epsilon0)) {
		/* Minimises n/(4 b^2) + V b/12. */
		b = floor(cbrt(6 * (double)n / DUMMIES_PER_BIN) + 0.5);
		return (uint32_t)fmin(fmax(b, LEVELS_MIN), LEVELS_MAX) + 1;
	}
	for (double c = 2; c <= LEVELS_MAX; c++) {
		if (worst_variance(epsilon0, dummies, c) < worst_variance(epsilon0, dummies, b))
			b = c;
	}
	return (uint32_t)b + 1;
}

/* The number of levels with the least error to expect. */
static enum cm_rc derive_quantiles(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	uint64_t n = r->min_batch > 0 ? r->min_batch : 1;
	double best = INFINITY;
	enum cm_rc rc = CM_OK;

	for (uint32_t bins = LEVELS_MIN + 1; bins <= LEVELS_MAX + 1 && rc == CM_OK; bins++) {
		struct pt_params p;
		double error;

		rc = pt_mixbins_request(name, bins, r, &p, err);
		error = rc == CM_OK ? pt_quantile_expected_error(q, &p, n) : INFINITY;
		if (rc == CM_OK && (bins == LEVELS_MIN + 1 || error < best)) {
			best = error;
			*out = p;
		}
	}
	return rc;
}

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	uint32_t bins = r->levels;

	if (bins == 0 && q->kind == PT_QUANTILES)
		return derive_quantiles(q, r, out, err);
	if (!pt_is_mean(q) && q->kind != PT_QUANTILES)
		return cm_fail(err, CM_ECONFIG, "%s: answers means, sums and quantiles only", name);
	if (bins == 0 && !isnan(r->epsilon0)) {
		uint64_t added = r->shuffler_dummies / (r->min_batch > 0 ? r->min_batch : 1);

		bins = pt_levels_choose(r->epsilon0,
			pt_dummies_each(r->dummies, r->dummy_chance) + (double)added, r->min_batch);
	}
	return pt_mixbins_request(name, bins, r, out, err);
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	if (!pt_is_mean(q) && q->kind != PT_QUANTILES)
		return cm_fail(err, CM_EPROTO, "%s: answers means, sums and quantiles only", name);
	return pt_mixbins_check(name, p, err);
}

/* Constant time: one draw and a comparison by subtraction, whatever the value. */
uint64_t pt_levels_round(uint64_t x, uint32_t b, const struct cm_rng *rng)
{
	uint64_t t = x * b, part = t & UINT32_MAX, draw = cm_rng_u64(rng) >> 32;

	return (t >> 32) + ((draw - part) >> 63);
}

void pt_levels_encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	(void)q;
	pt_mixbins_encode(p, pt_levels_round(value->x, p->bins - 1, rng), rng, records);
}

static void law(const struct pt_params *p, uint32_t level, double *chance)
{
	for (uint32_t y = 0; y < p->bins; y++)
		chance[y] = y == level ? pt_mixbins_keep(p) : pt_mixbins_other(p);
}

/* With B1, B2 the sums of l and l^2 over all levels, a report Y of level l has E Y = Q B1 + (P - Q) l and
 * E Y^2 = Q B2 + (P - Q) l^2. */
static void scores(const struct pt_params *p, double *first, double *second)
{
	double b = p->bins - 1, other = pt_mixbins_other(p), more = pt_mixbins_keep(p) - other;
	double b1 = b * (b + 1) / 2, b2 = b1 * (2 * b + 1) / 3;

	for (uint32_t y = 0; y < p->bins; y++) {
		first[y] = (y - other * b1) / more;
		second[y] = ((double)y * y - other * b2) / more;
	}
}

static const struct pt_rule rule = { .symbols = pt_mixbins_bins, .law = law, .scores = scores };

enum cm_rc pt_levels_mean(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, double dummies, struct pt_estimate *out, struct cm_err *err)
{
	return pt_mean_estimate(q, p, &rule, counts, reports, dummies, out, err);
}

enum cm_rc pt_levels_estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	double dummies;
	enum cm_rc rc = pt_mixbins_totals(p, counts, reports, &dummies, err);

	if (rc != CM_OK)
		return rc;
	return q->kind == PT_QUANTILES ? pt_quantile_estimate(q, p, counts, reports, dummies, out, err)
				       : pt_levels_mean(q, p, counts, reports, dummies, out, err);
}

static double expected_error(const struct pt_query *q, const struct pt_params *p, uint64_t participants)
{
	return q->kind == PT_QUANTILES ? pt_quantile_expected_error(q, p, participants)
				       : pt_levels_expected_error(q, p, participants);
}

const struct pt_protocol pt_row_levels = {
	.name = name,
	.summary = "level bins: the mean of a bounded number from one rounded level each",
	.kinds = PT_MEAN | PT_SUM | PT_QUANTILES,
	.derive = derive,
	.check = check,
	.dummy = pt_mixbins_dummy,
	.encode = pt_levels_encode,
	.estimate = pt_levels_estimate,
	.expected_error = expected_error,
	.rare_dummy = true,
	.automatic = PT_AUTO | PT_AUTO_DUMMIES | PT_AUTO_LEVELS,
	PT_MIXBINS_COLUMNS,
};
