/* es_quantile.c - estimates quantiles of a bounded number from counts of levels, with intervals. */
#include "es_quantile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "es_law.h"

#define LABEL_LEN 24u

/* The probabilities that a query asks for, rising: its own, or 0.25, 0.5 and 0.75; sets *n to their
 * number. */
static const double *asked_of(const struct qy_query *q, uint32_t *n)
{
	static const double usual[] = { 0.25, 0.5, 0.75 };

	*n = q->probabilities > 0 ? q->probabilities : sizeof usual / sizeof *usual;
	return q->probabilities > 0 ? q->probability : usual;
}

/* The distribution function at one level: its estimate, the standard error of that, and the estimate made
 * monotone. */
struct step {
	double share, error, monotone;
};

/* Take levels 0..level as one item: a device that holds one of them supports it with chance P + level Q,
 * any other with (level + 1) Q. */
static struct es_support support_of(const struct es_counted *c, uint32_t level)
{
	double other = c->other, above = c->bins - 1 - level;

	return (struct es_support){ .keep = c->keep + level * other,
		.flip = above * other,
		.other = (level + 1) * other,
		.dummies = c->dummies,
		.blanket = (level + 1.0) / c->bins };
}

static struct step step_of(const struct es_counted *c, uint32_t level, double messages)
{
	struct es_support s = support_of(c, level);
	double n = c->n, held = (messages - c->dummies * s.blanket - n * s.other) / (s.keep - s.other);

	return (struct step){ .share = held / n,
		.error = sqrt(es_support_variance(&s, n, fmin(fmax(held, 0), n))) / n };
}

double es_quantile_expected_error(const struct qy_query *q, const struct es_counted *c)
{
	double n = c->n, b = c->bins - qy_query_symbols(q) - 1, sum = 0;
	uint32_t asked;
	const double *at = asked_of(q, &asked);

	for (uint32_t i = 0; i < asked; i++) {
		uint32_t level = (uint32_t)fmin(at[i] * b, b - 1);
		struct es_support s = support_of(c, level);

		sum += es_support_variance(&s, n, at[i] * n) / (n * n);
	}
	return (q->high - q->low) * sqrt(sum / asked + 1 / (12 * b * b));
}

/* Pool adjacent violators: compute the nearest sequence within [0, 1] that never falls.  size has room for
 * as many numbers. */
static void make_monotone(struct step *f, uint32_t n, uint32_t *size)
{
	uint32_t runs = 0;

	/* f[0..runs-1].monotone has the means of the runs so far */
	for (uint32_t i = 0; i < n; i++) {
		f[runs].monotone = f[i].share;
		size[runs++] = 1;
		for (; runs > 1 && f[runs - 2].monotone > f[runs - 1].monotone; runs--) {
			uint32_t one = size[runs - 2], other = size[runs - 1];

			f[runs - 2].monotone =
				(one * f[runs - 2].monotone + other * f[runs - 1].monotone) / (one + other);
			size[runs - 2] = one + other;
		}
	}
	/* Spread them from the end: a run ends at or after its number. */
	for (uint32_t end = n; runs > 0; runs--) {
		double mean = fmin(fmax(f[runs - 1].monotone, 0), 1);

		for (uint32_t i = 0; i < size[runs - 1]; i++)
			f[--end].monotone = mean;
	}
}

/* The level at which the distribution function reaches q.  That of the levels at j lies between that of the
 * values at j and that just below j + 1, so it is taken as that of the values at j + 1/2. */
static double read_at(const struct step *f, uint32_t b, double q)
{
	double x = 0, share = 0;

	for (uint32_t j = 0; j <= b; j++) {
		double next = j < b ? j + 0.5 : b, reached = j < b ? f[j].monotone : 1;

		if (reached >= q)
			return reached > share ? x + (next - x) * (q - share) / (reached - share) : next;
		x = next;
		share = reached;
	}
	return b;
}

/* The quantile is above j if F(j) < q: reject levels 0..b-1 one after the other as long as possible.  This
 * is wrong only if the first level at or above the quantile is rejected, which is a single test. */
static double lower_end(const struct step *f, uint32_t b, double q, double z)
{
	uint32_t j = 0;

	while (j < b && f[j].share + z * f[j].error < q)
		j++;
	return j > 0 ? j - 1 : 0;
}

/* The quantile is at most j + 1 if F(j) >= q, by the same reasoning from above. */
static double upper_end(const struct step *f, uint32_t b, double q, double z)
{
	uint32_t j = b;

	while (j > 0 && f[j - 1].share - z * f[j - 1].error >= q)
		j--;
	return j < b ? j + 1 : b;
}

/* Make labels and memory for the quantiles that are asked for, and for `more` items behind them. */
static enum cm_rc make_items(
	const struct qy_query *q, uint32_t more, struct es_estimate *e, struct cm_err *err)
{
	uint32_t n;
	const double *asked = asked_of(q, &n);

	e->n = n + more;
	e->item = calloc(e->n, sizeof *e->item);
	e->names = calloc(n, LABEL_LEN);
	if (!e->item || !e->names)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (uint32_t i = 0; i < n; i++) {
		char *label = e->names + (size_t)i * LABEL_LEN;

		if (asked[i] >= 0.5 && asked[i] <= 0.5)
			(void)snprintf(label, LABEL_LEN, "median");
		else
			(void)snprintf(label, LABEL_LEN, "p%.10g", 100 * asked[i]);
		e->item[i].label = label;
	}
	return CM_OK;
}

/* Fill in one quantile.  f: the levels 0..b-1 that it is read from; tests: those that its ends are tested
 * with. */
static void fill(const struct qy_query *q, const struct step *f, const struct step *tests, uint32_t b,
	double at, double joint, struct qy_item *item)
{
	double unit = (q->high - q->low) / b, z = es_normal_upper(0.025);
	double low = lower_end(tests, b, at, z), high = upper_end(tests, b, at, z);
	double x = fmin(fmax(read_at(f, b, at), low), high), deviation = unit * (high - low) / (2 * z);

	item->value = item->projected = q->low + unit * x;
	item->variance = deviation * deviation;
	item->lower = q->low + unit * low;
	item->upper = q->low + unit * high;
	item->joint_lower = q->low + unit * lower_end(tests, b, at, joint);
	item->joint_upper = q->low + unit * upper_end(tests, b, at, joint);
}

/* ---- Of those who have a reading ---- */

/* Working memory of one estimate; f, tests: for levels 0..b-1. */
struct holders {
	struct es_counted c;
	struct es_held held;
	struct es_sums all; /* the weight says how many have a reading */
	struct step *f, *tests;
	double *score, *nothing;
	uint32_t b;
};

/* A share `at` of the holders is at or below level j if and only if (number at or below j) - at (number of
 * holders) is not negative.  This is a sum, whose sign is tested without dividing by the number of
 * holders. */
static void test_levels(struct holders *h, double at)
{
	for (uint32_t j = 0; j < h->b; j++) {
		struct es_sums s = { 0 };

		for (uint32_t y = 0; y <= h->b; y++)
			h->score[y] = (y <= j) - at;
		es_sums_add(&h->c, &h->held, h->score, h->nothing, &s);
		h->tests[j] =
			(struct step){ .share = at + s.score / h->c.n, .error = sqrt(s.of_score) / h->c.n };
	}
}

/* Is it certain, at the normal quantile z, that somebody has a reading? */
static bool some_hold(const struct holders *h, double z)
{
	return h->all.weight > z * sqrt(h->all.of_weight);
}

static void fill_of_holders(
	const struct qy_query *q, struct holders *h, double at, double joint, struct qy_item *item)
{
	if (!some_hold(h, es_normal_upper(0.025))) {
		es_item_undefined(q->low, q->high, item);
		return;
	}
	test_levels(h, at);
	fill(q, h->f, h->tests, h->b, at, joint, item);
	if (!some_hold(h, joint)) {
		item->joint_lower = q->low;
		item->joint_upper = q->high;
	}
}

static bool holders_init(struct holders *h, const struct es_counted *c)
{
	double below = 0;

	*h = (struct holders){ .c = *c, .b = c->bins - 2 };
	h->f = calloc(2 * (size_t)h->b, sizeof *h->f);
	h->score = calloc(2 * (size_t)c->bins, sizeof *h->score);
	if (!h->f || !h->score || !es_held(&h->c, &h->held))
		return false;
	h->tests = h->f + h->b;
	h->nothing = h->score + c->bins;
	for (uint32_t y = 0; y <= h->b; y++)
		h->score[y] = 1;
	es_sums_add(&h->c, &h->held, h->nothing, h->score, &h->all);
	for (uint32_t j = 0; j < h->b; j++) {
		below += h->held.count[j];
		h->f[j].share = below / h->all.weight;
	}
	return true;
}

static enum cm_rc estimate_of_holders(const struct qy_query *q, const struct es_counted *c,
	const struct es_support *symbol, uint64_t reports, struct es_estimate *out, struct cm_err *err)
{
	struct es_estimate e = { .reports = reports };
	struct holders h;
	uint32_t *size = calloc(c->bins, sizeof *size), asked;
	const double *at = asked_of(q, &asked);
	double joint = es_normal_upper(es_joint_tail(asked));
	enum cm_rc rc = CM_OK;

	if (!holders_init(&h, c) || !size)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = make_items(q, 1, &e, err);
	if (rc == CM_OK)
		make_monotone(h.f, h.b, size);
	for (uint32_t i = 0; rc == CM_OK && i < asked; i++)
		fill_of_holders(q, &h, at[i], joint, &e.item[i]);
	if (rc == CM_OK)
		rc = es_none_item(
			symbol, c->counts[c->bins - 1], reports, 1, &e.item[asked], &e.noise_floor, err);
	es_held_fini(&h.held);
	free(h.f);
	free(h.score);
	free(size);
	if (rc == CM_OK)
		*out = e;
	else
		es_estimate_fini(&e);
	return rc;
}

enum cm_rc es_quantile_estimate(const struct qy_query *q, const struct es_counted *c,
	const struct es_support *symbol, uint64_t reports, struct es_estimate *out, struct cm_err *err)
{
	uint32_t b = c->bins - 1;
	struct step *f;
	uint32_t *size, asked;
	const double *at = asked_of(q, &asked);
	struct es_estimate e = { .reports = reports };
	enum cm_rc rc;
	double messages = 0, joint = es_normal_upper(es_joint_tail(asked));

	if (qy_query_symbols(q) > 0)
		return estimate_of_holders(q, c, symbol, reports, out, err);
	f = calloc(b, sizeof *f);
	size = calloc(b, sizeof *size);
	rc = f && size ? make_items(q, 0, &e, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc != CM_OK)
		goto out;
	for (uint32_t j = 0; j < b; j++) {
		messages += (double)c->counts[j];
		f[j] = step_of(c, j, messages);
	}
	make_monotone(f, b, size);
	for (uint32_t i = 0; i < asked; i++)
		fill(q, f, f, b, at[i], joint, &e.item[i]);
	*out = e;
	e = (struct es_estimate){ 0 };
out:
	free(f);
	free(size);
	es_estimate_fini(&e);
	return rc;
}

/* ---- Where some devices may have lied ---- */

/* For levels 0..b-1 the lowest and the highest share of the honest devices at or below, as far as the sign of
 * its distance from `at` matters; score: room for the bins. */
static void honest_steps(
	struct es_batch *batch, double at, double *score, double *room, struct step *low, struct step *high)
{
	double n = batch->c.n;

	batch->score = score;
	for (uint32_t y = 0; y < batch->c.bins; y++)
		score[y] = 0;
	for (uint32_t j = 0; low + j < high; j++) {
		struct es_honest_sum s;

		score[j] = 1;
		s = es_honest_sum_of(batch, 1, 1, -at, room);
		low[j] = (struct step){ .share = at + s.least / n, .error = sqrt(s.variance) / n };
		high[j] = (struct step){ .share = at + s.most / n, .error = sqrt(s.variance) / n };
	}
}

static void fill_honest(const struct qy_query *q, const struct step *low, const struct step *high, double at,
	double joint, struct es_honest *out)
{
	uint32_t b = (uint32_t)(high - low);
	double unit = (q->high - q->low) / b, z = es_normal_upper(0.025);

	*out = (struct es_honest){ .least = q->low + unit * lower_end(high, b, at, 0),
		.most = q->low + unit * upper_end(low, b, at, 0),
		.lower = q->low + unit * lower_end(high, b, at, z),
		.upper = q->low + unit * upper_end(low, b, at, z),
		.joint_lower = q->low + unit * lower_end(high, b, at, joint),
		.joint_upper = q->low + unit * upper_end(low, b, at, joint) };
}

enum cm_rc es_quantile_honest(
	const struct qy_query *q, const struct es_batch *batch, struct es_honest *out, struct cm_err *err)
{
	struct es_batch one = *batch;
	uint32_t b = one.c.bins - qy_query_symbols(q) - 1, asked;
	const double *at = asked_of(q, &asked);
	double joint = es_normal_upper(es_joint_tail(asked)), z = es_normal_upper(0.025);
	struct step *low = calloc(2 * (size_t)b, sizeof *low);
	double *score = calloc(3 * (size_t)one.c.bins, sizeof *score), *weight, *room;

	if (!low || !score) {
		free(low);
		free(score);
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	weight = score + one.c.bins;
	room = weight + one.c.bins;
	for (uint32_t y = 0; y <= b; y++)
		weight[y] = 1;
	one.weight = weight;
	one.score = score;
	for (uint32_t i = 0; i < asked; i++) {
		if (!es_honest_hold(&one, 1, z, room)) {
			es_honest_undefined(q->low, q->high, &out[i]);
			continue;
		}
		honest_steps(&one, at[i], score, room, low, low + b);
		fill_honest(q, low, low + b, at[i], joint, &out[i]);
		if (!es_honest_hold(&one, 1, joint, room)) {
			out[i].joint_lower = q->low;
			out[i].joint_upper = q->high;
		}
	}
	free(low);
	free(score);
	return CM_OK;
}

uint32_t es_quantile_asked(const struct qy_query *q)
{
	uint32_t n;

	(void)asked_of(q, &n);
	return n;
}
