/* pt_levels.c - level bins: the mean of a bounded number from one rounded level each. */
#include "pt_levels.h"

#include <math.h>
#include <stdlib.h>

#include "pt_law.h"
#include "pt_mixbins.h"
#include "pt_rows.h"

#define LEVELS_MIN 4  /* without a local guarantee: what is cheap enough never to do without */
#define LEVELS_MAX 64 /* beyond it rounding no longer shows */
/* Dummies per bin that (1, 1e-8) takes (doc/protocols.md): the weight of noise against rounding when only the
 * dummies hide a value. */
#define DUMMIES_PER_BIN 62.0

static const char name[] = "levels";

/* Worst case over x of the variance of one participant's share, per b^2 and with its dummies. */
static double worst_variance(double epsilon0, uint32_t dummies, double b)
{
	double blanket = (b + 1) / (exp(epsilon0) + b), real = 1 - blanket;
	double uniform = b * (b + 2) / 12;
	double middle = real / 4, edge = blanket * real * b * b / 4;

	return (blanket * uniform + (middle > edge ? middle : edge) + dummies * uniform) /
	       (real * real * b * b);
}

uint32_t pt_levels_choose(double epsilon0, uint32_t dummies, uint64_t n)
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

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	uint32_t bins = r->levels;

	if (q->kind != PT_MEAN)
		return cm_fail(err, CM_ECONFIG, "%s: answers means only", name);
	if (bins == 0 && !isnan(r->epsilon0))
		bins = pt_levels_choose(r->epsilon0, r->dummies, r->min_batch);
	return pt_mixbins_derive(name, bins, r->epsilon0, r->dummies, out, err);
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	if (q->kind != PT_MEAN)
		return cm_fail(err, CM_EPROTO, "%s: answers means only", name);
	return pt_mixbins_check(name, p, err);
}

/* Constant time: one draw and a comparison by subtraction, whatever the value. */
uint64_t pt_levels_round(uint64_t x, uint32_t b, const struct cm_rng *rng)
{
	uint64_t t = x * b, part = t & UINT32_MAX, draw = cm_rng_u64(rng) >> 32;

	return (t >> 32) + ((draw - part) >> 63);
}

static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	(void)q;
	pt_mixbins_encode(p, pt_levels_round(value->x, p->bins - 1, rng), rng, records);
}

/* What the level counts say about the sum of all x*b, in levels. */
struct moments {
	double sum;      /* unbiased estimate */
	double variance; /* of it, not understated but by its own sampling error */
};

/* Each report is the rounded level l with chance L = P - Q more than by the blanket.  With B1, B2 the sums of
 * l and l^2 over all levels, a report Y has E Y = Q B1 + L x b and E Y^2 = Q B2 + L E l^2; the counts give
 * sum E Y^2 and, less the rounding (at most 1/4 each), sum (x b)^2, which is never below the square of the
 * sum over n. */
static struct moments find_moments(
	const struct pt_params *p, const uint64_t *counts, double n, double dummies)
{
	double b = p->bins - 1, keep = pt_mixbins_keep(p), other = pt_mixbins_other(p), more = keep - other;
	double b1 = b * (b + 1) / 2, b2 = b1 * (2 * b + 1) / 3, uniform = b * (b + 2) / 12;
	double total = 0, first = 0, second = 0, fourth = 0, error, real_second, squares, least, spread;
	struct moments m;

	for (uint32_t l = 0; l < p->bins; l++) {
		double square = (double)l * (double)l, count = (double)counts[l];

		total += count;
		first += l * count;
		second += square * count;
		fourth += square * square * count;
	}
	m.sum = (first - n * other * b1 - dummies * b / 2) / more;
	/* Estimate of sum E Y^2 over the real reports, then of sum (x b)^2 from below. */
	real_second = second - dummies * b2 / (b + 1);
	squares = (real_second - n * other * b2) / more - n / 4;
	/* Less one standard error: the larger of two noisy bounds would be too large. */
	error = sqrt(fmax(fourth - second * second / fmax(total, 1), 0)) / more;
	squares -= error;
	squares = fmax(squares, m.sum * m.sum / n);
	spread = real_second -
		 (n * other * other * b1 * b1 + 2 * other * b1 * more * m.sum + more * more * squares);
	/* The blanket part alone varies by this much. */
	least = n * other * (b + 1) * uniform;
	m.variance = (fmax(spread, least) + dummies * uniform) / (more * more);
	return m;
}

static enum cm_rc estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	double range = q->high - q->low, scale, dummies, half;
	struct pt_item *item;
	struct moments m;
	enum cm_rc rc = pt_mixbins_totals(p, counts, reports, &dummies, err);

	if (rc != CM_OK)
		return rc;
	item = calloc(1, sizeof *item);
	if (item == NULL)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", name);
	m = find_moments(p, counts, (double)reports, dummies);
	scale = range / ((double)reports * (p->bins - 1));
	item->label = q->name;
	item->value = q->low + scale * m.sum;
	item->variance = scale * scale * m.variance;
	half = pt_normal_upper(0.025) * sqrt(item->variance);
	item->lower = item->joint_lower = item->value - half;
	item->upper = item->joint_upper = item->value + half;
	item->projected = fmin(fmax(item->value, q->low), q->high);
	*out = (struct pt_estimate){ .item = item, .n = 1, .reports = reports };
	return CM_OK;
}

const struct pt_protocol pt_row_levels = {
	.name = name,
	.summary = "level bins: the mean of a bounded number from one rounded level each",
	.kinds = PT_MEAN,
	.derive = derive,
	.check = check,
	.encode = encode,
	.estimate = estimate,
	.expected_error = pt_levels_expected_error,
	.automatic = PT_AUTO | PT_AUTO_DUMMIES | PT_AUTO_LEVELS,
	PT_MIXBINS_COLUMNS,
};
