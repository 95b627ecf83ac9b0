/* es_mean.c - estimates the mean of a bounded number from symbols, with its interval. */
#include "es_mean.h"

#include <math.h>
#include <stdlib.h>

#include "es_expect.h"
#include "es_law.h"

/* with fewer degrees of freedom the expansion of Student's quantile is not accurate */
#define FREEDOM_MIN 4.0
/* the skewness may shift an end by at most this, in standard errors: beyond it the expansion is not
 * accurate */
#define SHIFT_MAX 1.0

bool es_mean_moments(const struct es_rule *rule, double *moment)
{
	uint32_t n = rule->symbols;
	double *chance = calloc(3 * (size_t)n, sizeof *chance), *first;

	if (!chance)
		return false;
	first = chance + n;
	rule->scores(rule->of, first, first + n);
	for (uint32_t level = 0; level < rule->levels; level++) {
		moment[level] = (double)level * level;
		rule->law(rule->of, level, chance);
		for (uint32_t y = 0; y < n; y++)
			moment[level] += chance[y] * (first[y] - level) * (first[y] - level);
	}
	free(chance);
	return true;
}

/* The least and the largest variance of one score, with rounding to a level, that any value can have under
 * the law. */
struct bounds {
	double least, most;
};

static struct bounds bounds_of(const double *moment, uint32_t levels)
{
	static const struct qy_query unit = { .kind = QY_MEAN, .high = 1 };
	double b = levels - 1;
	struct bounds v = { INFINITY,
		pow(b * es_mean_expected_error(&unit, 1, levels - 1, moment, 0, 0), 2) };

	for (uint32_t level = 0; level < levels; level++)
		v.least = fmin(v.least, moment[level] - (double)level * level);
	return v;
}

/* The sum of a score over all messages, and what dummies are expected to add to it. */
struct total {
	double all, squares; /* sum of the score, and of its square */
	double dummy;        /* mean of a dummy's score */
};

struct work {
	const uint64_t *counts;
	const double *first, *second;
	uint32_t symbols;
	double n, dummies, messages;
	double level; /* estimated mean level */
};

/* A score: a number for each symbol y. */
typedef double score(const struct work *w, uint32_t y);

static double plain(const struct work *w, uint32_t y)
{
	return w->first[y];
}

static double spread(const struct work *w, uint32_t y)
{
	return (w->first[y] - w->level) * (w->first[y] - w->level);
}

/* The score whose mean is (l - level)^2 for a message of level l: an estimate of the squared distance from
 * the mean level. */
static double apart(const struct work *w, uint32_t y)
{
	return w->second[y] - 2 * w->level * w->first[y] + w->level * w->level;
}

static struct total sum(const struct work *w, score *of)
{
	struct total t = { 0 };

	for (uint32_t y = 0; y < w->symbols; y++) {
		double s = of(w, y), count = (double)w->counts[y];

		t.all += count * s;
		t.squares += count * s * s;
		t.dummy += s / w->symbols;
	}
	return t;
}

static double of_reports(const struct work *w, const struct total *t)
{
	return t->all - w->dummies * t->dummy;
}

static double error(const struct work *w, const struct total *t)
{
	return sqrt(fmax(t->squares - t->all * t->all / fmax(w->messages, 1), 0));
}

/* The variance of the sum of levels.  *freedom: its degrees of freedom, 2 divided by the squared relative
 * error of its estimated part. */
static double variance(const struct work *w, struct bounds one, double *freedom)
{
	struct total all = sum(w, spread), own = sum(w, apart);
	double noise, values, blanket = 0, got, doubt;

	/* one degree of freedom is lost, since the mean has been fitted */
	noise = of_reports(w, &all) * (w->n > 1 ? w->n / (w->n - 1) : 1);
	/* the spread of the values themselves, of which rounding makes at most 1/4 each; one standard error
	 * is subtracted, since the larger of two noisy bounds would be too large */
	values = fmax(of_reports(w, &own) - w->n / 4 - error(w, &own), 0);
	for (uint32_t y = 0; w->dummies > 0 && y < w->symbols; y++)
		blanket += pow(w->first[y] - sum(w, plain).dummy, 2) / w->symbols;
	got = fmin(fmax(noise - values, w->n * one.least), w->n * one.most) + w->dummies * blanket;
	/* chance may have lowered the variance by this; by nothing, if it is already the least that the law
	 * allows */
	doubt = fmin(error(w, &all), fmax(noise - values - w->n * one.least, 0));
	*freedom = 2 * pow(got / doubt, 2);
	return got;
}

/* Student's quantile from the normal quantile z, by Abramowitz and Stegun 26.7.5. */
static double student(double z, double freedom)
{
	double v = fmax(freedom, FREEDOM_MIN), c = z * z * z;

	return isfinite(v) ? z + (c + z) / (4 * v) + (5 * c * z * z + 16 * c + 3 * z) / (96 * v * v) : z;
}

/* The third central moment of the first score of one report at the mean level, which stands for most
 * reports. */
static double third_moment(const struct es_rule *rule, const struct work *w, double *chance)
{
	double at = fmin(fmax(w->level, 0), rule->levels - 1), third = 0;
	uint32_t low = (uint32_t)fmin(floor(at), rule->levels - 2);

	for (uint32_t up = 0; up < 2; up++) {
		rule->law(rule->of, low + up, chance);
		for (uint32_t y = 0; y < w->symbols; y++)
			third += fabs(low + 1 - up - at) * chance[y] * pow(w->first[y] - at, 3);
	}
	return third;
}

/* Hall 1992, section 3.5: quantiles of the studentised mean, to first order in the skewness. */
void es_studentised(double value, double variance, double third, double freedom, double tail, double *lower,
	double *upper)
{
	double z = es_normal_upper(tail), t = student(z, freedom), unit = sqrt(variance);
	double shift = third / (6 * variance * unit) * (2 * z * z + 1);

	shift = fmin(fmax(shift, -SHIFT_MAX), SHIFT_MAX);
	*lower = value - (t - shift) * unit;
	*upper = value + (t + shift) * unit;
}

static void fill(const struct qy_query *q, uint32_t levels, const struct work *w, double var, double freedom,
	double third, struct qy_item *item)
{
	double scale = es_mean_scale(q, w->n), low = scale * q->low, high = scale * q->high;
	double range = high - low, unit = range / (w->n * (levels - 1));

	item->label = q->name;
	item->value = low + range * w->level / (levels - 1);
	item->variance = unit * unit * var;
	es_studentised(item->value, item->variance, unit * unit * unit * w->n * third, freedom, 0.025,
		&item->lower, &item->upper);
	item->joint_lower = item->lower;
	item->joint_upper = item->upper;
	item->projected = fmin(fmax(item->value, low), high);
}

enum cm_rc es_mean_estimate(const struct qy_query *q, const struct es_rule *rule, const uint64_t *counts,
	uint64_t reports, double dummies, struct es_estimate *out, struct cm_err *err)
{
	uint32_t symbols = rule->symbols;
	double *first = calloc(3 * (size_t)symbols, sizeof *first);
	double *moment = calloc(rule->levels, sizeof *moment), var, freedom;
	struct qy_item *item = calloc(1, sizeof *item);
	struct work w = { .counts = counts, .symbols = symbols, .n = (double)reports, .dummies = dummies };
	struct total first_total;
	enum cm_rc rc = CM_OK;

	if (!first || !moment || !item || !es_mean_moments(rule, moment)) {
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
		goto out;
	}
	w.first = first;
	w.second = first + symbols;
	rule->scores(rule->of, first, first + symbols);
	for (uint32_t y = 0; y < symbols; y++)
		w.messages += (double)counts[y];
	first_total = sum(&w, plain);
	w.level = of_reports(&w, &first_total) / w.n;
	var = variance(&w, bounds_of(moment, rule->levels), &freedom);
	fill(q, rule->levels, &w, var, freedom, third_moment(rule, &w, first + (size_t)2 * symbols), item);
	*out = (struct es_estimate){ .item = item, .n = 1, .reports = reports };
	item = NULL;
out:
	free(moment);
	free(first);
	free(item);
	return rc;
}

bool es_scores_of(const struct es_rule *rule, struct es_scores *out)
{
	uint32_t n = rule->symbols;
	double *first = calloc(2 * (size_t)n, sizeof *first), *moment = calloc(rule->levels, sizeof *moment);
	bool good = first && moment && es_mean_moments(rule, moment);

	*out = (struct es_scores){ .least = INFINITY, .most = -INFINITY };
	if (good) {
		rule->scores(rule->of, first, first + n);
		out->variance = bounds_of(moment, rule->levels).most;
	}
	for (uint32_t y = 0; good && y < n; y++) {
		out->least = fmin(out->least, first[y]);
		out->most = fmax(out->most, first[y]);
		out->dummy += first[y] / n;
	}
	for (uint32_t y = 0; good && y < n; y++)
		out->of_dummy += (first[y] - out->dummy) * (first[y] - out->dummy) / n;
	free(first);
	free(moment);
	return good;
}

/* The sum of the first scores of all messages. */
static bool score_sum(const struct es_rule *rule, const uint64_t *counts, double *out)
{
	double *first = calloc(2 * (size_t)rule->symbols, sizeof *first);

	*out = 0;
	if (!first)
		return false;
	rule->scores(rule->of, first, first + rule->symbols);
	for (uint32_t y = 0; y < rule->symbols; y++)
		*out += (double)counts[y] * first[y];
	free(first);
	return true;
}

enum cm_rc es_mean_honest(const struct qy_query *q, const struct es_rule *rule, const uint64_t *counts,
	double lied, uint64_t honest, double dummies, size_t joint, struct es_honest *out, struct cm_err *err)
{
	double n = (double)honest, scale = es_mean_scale(q, n), all, of_all, unit;
	struct es_scores s;

	if (!es_scores_of(rule, &s) || !score_sum(rule, counts, &all))
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	unit = scale * (q->high - q->low) / (n * (rule->levels - 1));
	of_all = all - dummies * s.dummy;
	es_honest_normal(scale * q->low + unit * (of_all - lied * s.most),
		scale * q->low + unit * (of_all - lied * s.least),
		unit * sqrt(n * s.variance + dummies * s.of_dummy), joint, 1, out);
	return CM_OK;
}
