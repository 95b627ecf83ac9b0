/* pt_levels_analysis.c - chooses the number of levels by rounding error against noise, and answers with a
 * mean, a sum or quantiles. */
#include "pt_levels_analysis.h"

#include <math.h>
#include <stdlib.h>

#include "es_expect.h"
#include "es_holders.h"
#include "es_mean.h"
#include "es_quantile.h"
#include "pt_mixbins.h"
#include "pt_mixbins_analysis.h"
#include "pt_rows.h"

#define LEVELS_MIN 4  /* without a local guarantee: so few levels are always cheap enough */
#define LEVELS_MAX 64 /* with more levels, rounding is no longer noticeable */
/* Without a local guarantee, a round costs (1, 1e-8) at about this many dummies for each bin
 * (doc/protocols/README.md).  It weighs noise, which more bins increase, against rounding. */
#define DUMMIES_PER_BIN 62.0

/* The largest variance that one participant's report and dummies add to the sum of levels, over all values
 * x, divided by b^2. */
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
		/* minimise the variance of rounding and of dummies, n/(4 b^2) + V b/12, where V is the
		 * number of dummies per bin */
		b = floor(cbrt(6 * (double)n / DUMMIES_PER_BIN) + 0.5);
		return (uint32_t)fmin(fmax(b, LEVELS_MIN), LEVELS_MAX) + 1;
	}
	for (double c = 2; c <= LEVELS_MAX; c++) {
		if (worst_variance(epsilon0, dummies, c) < worst_variance(epsilon0, dummies, b))
			b = c;
	}
	return (uint32_t)b + 1;
}

/* The counts to expect, for errors that do not follow from counts. */
static struct es_counted expected(const struct pt_randomizer *p, uint64_t participants)
{
	return pt_mixbins_counted(p, NULL, participants, pt_mixbins_dummies(p, participants));
}

double pt_levels_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	const struct es_counted c = expected(p, participants);

	(void)row;
	return es_response_expected_error(q, &c);
}

static double quantile_error(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants)
{
	const struct es_counted c = expected(p, participants);

	return es_quantile_expected_error(q, &c);
}

/* Choose the number of levels with the least expected error. */
static enum cm_rc derive_quantiles(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err)
{
	uint64_t n = r->min_reports > 0 ? r->min_reports : 1;
	double best = INFINITY;
	enum cm_rc rc = CM_OK;

	for (uint32_t bins = LEVELS_MIN + 1; bins <= LEVELS_MAX + 1 && rc == CM_OK; bins++) {
		struct pt_randomizer p;
		double error;

		rc = pt_mixbins_request(row, bins + qy_query_symbols(q), r, &p, err);
		error = rc == CM_OK ? quantile_error(q, &p, n) : INFINITY;
		if (rc == CM_OK && (bins == LEVELS_MIN + 1 || error < best)) {
			best = error;
			*out = p;
		}
	}
	return rc;
}

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	uint32_t bins = r->levels;

	if (bins == 0 && q->kind == QY_QUANTILES)
		return derive_quantiles(row, q, r, out, err);
	if (!qy_is_mean(q) && q->kind != QY_QUANTILES)
		return cm_fail(
			err, CM_ECONFIG, "%s: answers means, sums and quantiles only", row->device->name);
	if (bins == 0 && !isnan(r->epsilon0)) {
		uint64_t added = r->shuffler_dummies / (r->min_reports > 0 ? r->min_reports : 1);

		bins = pt_levels_choose(r->epsilon0,
			pt_dummies_each(r->dummies, r->dummy_chance) + (double)added, r->min_reports);
	}
	/* A request without a number of levels is refused, so do not add the symbol of none to it. */
	return pt_mixbins_request(row, bins > 0 ? bins + qy_query_symbols(q) : 0, r, out, err);
}

static void law(const void *of, uint32_t level, double *chance)
{
	const struct pt_randomizer *p = of;

	for (uint32_t y = 0; y < p->mixbins.bins; y++)
		chance[y] = y == level ? pt_mixbins_keep(&p->mixbins) : pt_mixbins_other(&p->mixbins);
}

/* The scores of a symbol y, whose means under level l are l and l^2.  With B1, B2 the sums of l and l^2
 * over all levels, a report Y of level l has E Y = Q B1 + (P - Q) l and E Y^2 = Q B2 + (P - Q) l^2. */
static void scores(const void *of, double *first, double *second)
{
	const struct pt_randomizer *p = of;
	double b = p->mixbins.bins - 1, other = pt_mixbins_other(&p->mixbins),
	       more = pt_mixbins_keep(&p->mixbins) - other;
	double b1 = b * (b + 1) / 2, b2 = b1 * (2 * b + 1) / 3;

	for (uint32_t y = 0; y < p->mixbins.bins; y++) {
		first[y] = (y - other * b1) / more;
		second[y] = ((double)y * y - other * b2) / more;
	}
}

static struct es_rule rule_of(const struct pt_randomizer *p)
{
	return (struct es_rule){
		.levels = p->mixbins.bins, .symbols = p->mixbins.bins, .of = p, .law = law, .scores = scores
	};
}

enum cm_rc pt_levels_mean(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	uint64_t reports, double dummies, struct es_estimate *out, struct cm_err *err)
{
	const struct es_rule rule = rule_of(p);

	return es_mean_estimate(q, &rule, counts, reports, dummies, out, err);
}

/* Estimate the mean or sum of the devices that have a reading, and how many have none. */
static enum cm_rc estimate_holders(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, uint64_t reports, double dummies, struct es_estimate *out, struct cm_err *err)
{
	const struct es_counted c = pt_mixbins_counted(p, counts, reports, dummies);
	struct es_estimate e = { .n = 2, .item = calloc(2, sizeof *e.item), .reports = reports };
	double *score = calloc(2 * (size_t)p->mixbins.bins, sizeof *score);
	struct es_support symbol = pt_mixbins_support(p, dummies);
	uint32_t levels = p->mixbins.bins - 1;
	struct es_sums sums = { 0 };
	struct es_held held = { 0 };
	enum cm_rc rc = CM_OK;

	if (!e.item || !score || !es_held(&c, &held))
		rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	for (uint32_t l = 0; rc == CM_OK && l < levels; l++) {
		score[l] = l;
		score[p->mixbins.bins + l] = 1;
	}
	if (rc == CM_OK) {
		es_sums_add(&c, &held, score, score + p->mixbins.bins, &sums);
		es_holders_mean(q, &sums, levels - 1, &e.item[0]);
		rc = es_none_item(&symbol, counts[levels], reports, 1, &e.item[1], &e.noise_floor, err);
	}
	es_held_fini(&held);
	free(score);
	if (rc == CM_OK)
		*out = e;
	else
		es_estimate_fini(&e);
	return rc;
}

/* Assume that everybody has a reading, which the estimator does not know.  A mean is a ratio, so its error
 * depends on the distance of the levels from it, which is zero if all numbers are alike.  A sum counts what
 * each holder has above zero. */
static double expected_of_holders(
	const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants)
{
	const struct es_counted c = expected(p, participants);
	uint32_t b = p->mixbins.bins - 2;
	double *score = calloc(2 * (size_t)p->mixbins.bins, sizeof *score), *moment, error, dummy = 0;

	if (!score)
		return (double)INFINITY;
	moment = score + p->mixbins.bins;
	for (uint32_t l = 0; l <= b; l++) {
		double from = q->kind == QY_SUM ? -q->low * b / (q->high - q->low) : l;

		for (uint32_t y = 0; y <= b; y++)
			score[y] = y - from;
		moment[l] = (double)l * l + es_score_variance(&c, score, l);
		dummy = fmax(dummy, es_score_dummy_variance(&c, score));
	}
	error = es_mean_expected_error(q, participants, b, moment, c.dummies, dummy);
	free(score);
	return error;
}

enum cm_rc pt_levels_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	double dummies;
	enum cm_rc rc = pt_mixbins_totals(p, counts, reports, &dummies, err);

	(void)row;
	if (rc != CM_OK)
		return rc;
	if (q->kind == QY_QUANTILES) {
		const struct es_counted c = pt_mixbins_counted(p, counts, reports, dummies);
		const struct es_support symbol = pt_mixbins_support(p, dummies);

		return es_quantile_estimate(q, &c, &symbol, reports, out, err);
	}
	return qy_query_symbols(q) > 0 ? estimate_holders(q, p, counts, reports, dummies, out, err)
				       : pt_levels_mean(q, p, counts, reports, dummies, out, err);
}

enum cm_rc pt_levels_honest(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	const struct pt_lied *lied, size_t joint, struct es_honest *out, struct cm_err *err)
{
	const struct es_rule rule = rule_of(p);

	return es_mean_honest(
		q, &rule, counts, (double)lied->messages, lied->honest, lied->dummies, joint, out, err);
}

bool pt_levels_scores(const struct pt_randomizer *p, struct es_scores *out)
{
	const struct es_rule rule = rule_of(p);

	return es_scores_of(&rule, out);
}

/* Set the item that counts the honest devices without a reading. */
static enum cm_rc honest_none(const struct pt_randomizer *p, const uint64_t *counts,
	const struct pt_lied *lied, struct es_honest *out, struct cm_err *err)
{
	return pt_lied_supports(lied, pt_mixbins_support(p, 0), counts + p->mixbins.bins - 1, 1, 1, out, err);
}

/* The mean or sum of those who have a reading, and how many have none. */
static enum cm_rc honest_holders(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, const struct pt_lied *lied, struct es_honest *out, struct cm_err *err)
{
	uint32_t bins = p->mixbins.bins;
	double *score = calloc(2 * (size_t)bins, sizeof *score);
	struct es_batch batch = { .c = pt_mixbins_counted(p, counts, lied->honest, lied->dummies),
		.lied = (double)lied->messages };
	enum cm_rc rc;

	if (!score)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	for (uint32_t l = 0; l + 1 < bins; l++) {
		score[l] = l;
		score[bins + l] = 1;
	}
	batch.score = score;
	batch.weight = score + bins;
	rc = es_holders_honest(q, &batch, 1, bins - 2, &out[0], err);
	free(score);
	return rc == CM_OK ? honest_none(p, counts, lied, &out[1], err) : rc;
}

static enum cm_rc honest_quantiles(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, const struct pt_lied *lied, struct es_honest *out, struct cm_err *err)
{
	const struct es_batch batch = { .c = pt_mixbins_counted(p, counts, lied->honest, lied->dummies),
		.lied = (double)lied->messages };
	enum cm_rc rc = es_quantile_honest(q, &batch, out, err);

	if (rc == CM_OK && qy_query_symbols(q) > 0)
		rc = honest_none(p, counts, lied, &out[es_quantile_asked(q)], err);
	return rc;
}

enum cm_rc pt_levels_influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	struct pt_lied lied =
		pt_lied_mixbins(p, pt_lied_came(counts, p->mixbins.bins), crowd, p->row->messages(p));

	(void)row;
	if (q->kind == QY_QUANTILES)
		return honest_quantiles(q, p, counts, &lied, out, err);
	return qy_query_symbols(q) > 0 ? honest_holders(q, p, counts, &lied, out, err)
				       : pt_levels_honest(q, p, counts, &lied, 1, out, err);
}

static double expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	(void)row;
	if (q->kind != QY_QUANTILES && qy_query_symbols(q) > 0)
		return expected_of_holders(q, p, participants);
	return q->kind == QY_QUANTILES ? quantile_error(q, p, participants)
				       : pt_levels_expected_error(row, q, p, participants);
}

const struct pt_protocol pt_row_levels = {
	.device = &pt_device_levels,
	.keys = PT_KEY_LEVELS,
	.derive = derive,
	.estimate = pt_levels_estimate,
	.influence = pt_levels_influence,
	.expected_error = expected_error,
	.automatic = PT_AUTO | PT_AUTO_DUMMIES | PT_AUTO_LEVELS,
	PT_MIXBINS_ANALYSIS,
};
