/* es_holders.c - estimates for the devices that have a reading, where a symbol counts those that have
 * none. */
#include "es_holders.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "es_law.h"
#include "es_project.h"

bool es_held(const struct es_counted *c, struct es_held *out)
{
	double blanket = c->dummies / c->bins + c->n * c->other;

	out->count = calloc(c->bins, sizeof *out->count);
	out->plausible = calloc(c->bins, sizeof *out->plausible);
	if (!out->count || !out->plausible)
		return false;
	for (uint32_t x = 0; x < c->bins; x++)
		out->count[x] = ((double)c->counts[x] - blanket) / (c->keep - c->other);
	memcpy(out->plausible, out->count, c->bins * sizeof *out->count);
	return es_project_simplex(out->plausible, c->bins, c->n);
}

void es_held_fini(struct es_held *h)
{
	free(h->count);
	free(h->plausible);
	*h = (struct es_held){ 0 };
}

/* What the estimates of two sums need: a report y adds (s_y - Q S) / (P - Q) to the estimate for score s,
 * with S the sum of s: under the law of bin x its mean is s_x.  With f and g two such scores shifted by Q
 * S, E f g = Q sum f_y g_y + (P - Q) f_x g_x. */
struct linear {
	double shift_f, shift_g;       /* Q S of the first and of the second score */
	double sum_f, sum_g, products; /* sums over all bins: of f, of g, and of f g */
};

static double scored(const struct es_counted *c, double s, double shift)
{
	return (s - shift) / (c->keep - c->other);
}

static struct linear linear_of(const struct es_counted *c, const double *f, const double *g)
{
	struct linear l = { 0 };

	for (uint32_t y = 0; y < c->bins; y++) {
		l.shift_f += c->other * f[y];
		l.shift_g += c->other * g[y];
	}
	for (uint32_t y = 0; y < c->bins; y++) {
		double a = scored(c, f[y], l.shift_f), b = scored(c, g[y], l.shift_g);

		l.sum_f += a;
		l.sum_g += b;
		l.products += a * b;
	}
	return l;
}

static double covariance_at(
	const struct es_counted *c, const struct linear *l, const double *f, const double *g, uint32_t x)
{
	double a = scored(c, f[x], l->shift_f), b = scored(c, g[x], l->shift_g);

	return c->other * l->products + (c->keep - c->other) * a * b - f[x] * g[x];
}

static double dummy_covariance(const struct es_counted *c, const struct linear *l)
{
	return (l->products - l->sum_f * l->sum_g / c->bins) / c->bins;
}

static double covariance(
	const struct es_counted *c, const struct es_held *h, const double *f, const double *g)
{
	struct linear l = linear_of(c, f, g);
	double sum = c->dummies * dummy_covariance(c, &l);

	for (uint32_t x = 0; x < c->bins; x++)
		sum += h->plausible[x] * covariance_at(c, &l, f, g, x);
	return sum;
}

void es_sums_add(const struct es_counted *c, const struct es_held *h, const double *score,
	const double *weight, struct es_sums *out)
{
	for (uint32_t x = 0; x < c->bins; x++) {
		out->score += h->count[x] * score[x];
		out->weight += h->count[x] * weight[x];
	}
	/* a variance that should be zero may be negative by rounding */
	out->of_score += fmax(covariance(c, h, score, score), 0);
	out->of_weight += fmax(covariance(c, h, weight, weight), 0);
	out->together += covariance(c, h, score, weight);
}

double es_score_variance(const struct es_counted *c, const double *score, uint32_t x)
{
	struct linear l = linear_of(c, score, score);

	return covariance_at(c, &l, score, score, x);
}

double es_score_dummy_variance(const struct es_counted *c, const double *score)
{
	struct linear l = linear_of(c, score, score);

	return dummy_covariance(c, &l);
}

/* The interval of a ratio: all r with (score - r weight)^2 <= z^2 Var(score - r weight), which is a
 * quadratic inequality in r.  Its leading coefficient is positive if and only if the weight is
 * significantly different from zero; a negative weight belongs to no number of holders. */
struct ratio {
	bool defined; /* false: the data exclude no ratio */
	double value, lower, upper;
};

/* Compute score / weight, and Fieller's interval for a quantile z of the normal law. */
static struct ratio fieller(const struct es_sums *s, double z)
{
	double a = s->weight * s->weight - z * z * s->of_weight;
	double b = s->weight * s->score - z * z * s->together;
	double c = s->score * s->score - z * z * s->of_score;
	double root;

	if (!(a > 0) || !(s->weight > 0))
		return (struct ratio){ .defined = false };
	root = sqrt(fmax(b * b - a * c, 0));
	return (struct ratio){ .defined = true,
		.value = s->score / s->weight,
		.lower = (b - root) / a,
		.upper = (b + root) / a };
}

enum cm_rc es_none_item(const struct es_support *s, uint64_t count, uint64_t reports, size_t joint,
	struct qy_item *item, double *floor, struct cm_err *err)
{
	enum cm_rc rc;

	item->label = QY_NONE_LABEL;
	item->none = true;
	rc = es_support_items(s, &count, 1, reports, joint, item, floor, err);
	/* No other counts must be consistent with this one, only the limits: nobody and everybody. */
	item->projected = fmin(fmax(item->value, 0), (double)reports);
	return rc;
}

static void fill_sum(const struct qy_query *q, const struct es_sums *s, double b, struct qy_item *item)
{
	double unit = (q->high - q->low) / b, z = es_normal_upper(0.025), half;

	item->value = q->low * s->weight + unit * s->score;
	item->variance =
		q->low * q->low * s->of_weight + 2 * q->low * unit * s->together + unit * unit * s->of_score;
	half = z * sqrt(fmax(item->variance, 0));
	item->lower = item->joint_lower = item->value - half;
	item->upper = item->joint_upper = item->value + half;
	item->projected = item->value;
}

void es_holders_mean(const struct qy_query *q, const struct es_sums *s, double b, struct qy_item *item)
{
	double unit = (q->high - q->low) / b, z = es_normal_upper(0.025), off;
	struct es_sums all = *s;
	struct ratio r;

	item->label = q->name;
	/* rounding to levels adds a variance of at most 1/4 for each holder */
	all.of_score += fmax(s->weight, 0) / 4;
	if (q->kind == QY_SUM) {
		fill_sum(q, &all, b, item);
		return;
	}
	r = fieller(&all, z);
	if (!r.defined) {
		es_item_undefined(q->low, q->high, item);
		return;
	}
	off = all.of_score - 2 * r.value * all.together + r.value * r.value * all.of_weight;
	item->value = q->low + unit * r.value;
	item->variance = unit * unit * fmax(off, 0) / (s->weight * s->weight);
	item->lower = item->joint_lower = q->low + unit * r.lower;
	item->upper = item->joint_upper = q->low + unit * r.upper;
	item->projected = fmin(fmax(item->value, q->low), q->high);
}

/* ---- Where some devices may have lied ---- */

static void add_batch(
	const struct es_batch *b, double score, double weight, double *room, struct es_honest_sum *out)
{
	const struct es_counted *c = &b->c;
	double blanket = c->dummies / c->bins + c->n * c->other, slope = c->keep - c->other;
	double low = INFINITY, high = -INFINITY, value = 0, worst = 0;
	struct linear l;

	for (uint32_t y = 0; y < c->bins; y++) {
		room[y] = score * b->score[y] + weight * b->weight[y];
		low = fmin(low, room[y]);
		high = fmax(high, room[y]);
		value += room[y] * ((double)c->counts[y] - blanket) / slope;
	}
	l = linear_of(c, room, room);
	for (uint32_t x = 0; x < c->bins; x++)
		worst = fmax(worst, covariance_at(c, &l, room, room, x));
	out->least += value - b->lied * high / slope;
	out->most += value - b->lied * low / slope;
	out->variance += c->n * worst + c->dummies * fmax(dummy_covariance(c, &l), 0);
}

struct es_honest_sum es_honest_sum_of(
	const struct es_batch *batch, size_t batches, double score, double weight, double *room)
{
	struct es_honest_sum sum = { 0 };

	for (size_t i = 0; i < batches; i++)
		add_batch(&batch[i], score, weight, room, &sum);
	return sum;
}

/* Room for es_honest_sum_of, which the caller frees. */
static double *room_for(const struct es_batch *batch, size_t batches)
{
	uint32_t bins = 0;

	for (size_t i = 0; i < batches; i++)
		bins = batch[i].c.bins > bins ? batch[i].c.bins : bins;
	return calloc(bins, sizeof(double));
}

bool es_honest_hold(const struct es_batch *batch, size_t batches, double z, double *room)
{
	struct es_honest_sum holders = es_honest_sum_of(batch, batches, 0, 1, room);

	return holders.least > z * sqrt(holders.variance);
}

/* What a ratio is made of. */
struct parts {
	const struct es_batch *batch;
	size_t batches;
	double b, *room;
};

/* Could the honest devices' estimate of (sum of levels) - r (number of holders) be up to z standard
 * deviations below zero, or (`least`) above it? */
static bool reaches(const struct parts *s, double r, double z, bool least)
{
	struct es_honest_sum sum = es_honest_sum_of(s->batch, s->batches, 1, -r, s->room);
	/* rounding to levels adds a variance of at most 1/4 for each holder */
	double sd = sqrt(sum.variance + s->batch[0].c.n / 4);

	return least ? sum.least - z * sd <= 0 : sum.most + z * sd >= 0;
}

#define RATIO_STEPS 60 /* of a bisection: what is left is below the precision of a double */

/* The least or the largest r in [0, b] that the test of `reaches` accepts.  What it compares with zero falls
 * as r grows, where there are certainly holders. */
static double ratio_end(const struct parts *s, double z, bool least)
{
	double in = least ? s->b : 0, out = s->b - in;

	if (reaches(s, out, z, least))
		return out;
	for (int i = 0; i < RATIO_STEPS; i++) {
		double r = in + (out - in) / 2;

		if (reaches(s, r, z, least))
			in = r;
		else
			out = r;
	}
	return in;
}

enum cm_rc es_holders_honest(const struct qy_query *q, const struct es_batch *batch, size_t batches, double b,
	struct es_honest *out, struct cm_err *err)
{
	double unit = (q->high - q->low) / b, z = es_normal_upper(0.025);
	struct parts parts = { batch, batches, b, room_for(batch, batches) };

	if (!parts.room)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (q->kind == QY_SUM) {
		struct es_honest_sum sum = es_honest_sum_of(batch, batches, unit, q->low, parts.room);

		es_honest_normal(
			sum.least, sum.most, sqrt(sum.variance + unit * unit * batch[0].c.n / 4), 1, 1, out);
	} else if (!es_honest_hold(batch, batches, z, parts.room)) {
		es_honest_undefined(q->low, q->high, out);
	} else {
		*out = (struct es_honest){ .least = q->low + unit * ratio_end(&parts, 0, true),
			.most = q->low + unit * ratio_end(&parts, 0, false),
			.lower = q->low + unit * ratio_end(&parts, z, true),
			.upper = q->low + unit * ratio_end(&parts, z, false) };
		out->joint_lower = out->lower;
		out->joint_upper = out->upper;
	}
	free(parts.room);
	return CM_OK;
}
