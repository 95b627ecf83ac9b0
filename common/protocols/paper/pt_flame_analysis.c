/* pt_flame_analysis.c - estimates coordinates from the counts that the shuffler evened: the variance of
 * their scores, the expected error, and what FLAME claims of its rounds. */
#include "pt_flame_analysis.h"

#include <math.h>
#include <stdio.h>

#include "acct_flame.h"
#include "pr_limits.h"
#include "pt_levels_analysis.h"
#include "pt_lied_analysis.h"
#include "pt_mixbins.h"

uint32_t pt_flame_levels(const struct pt_request *r)
{
	if (r->levels != 0 || isnan(r->epsilon0))
		return r->levels;
	return pt_levels_choose(r->epsilon0, 0, r->min_reports);
}

/* The mean and the variance of min(X, most) for a normal X, which stands for a number of messages of which
 * at most `most` are kept. */
static struct pt_kept cut_normal(double mean, double sd, double most)
{
	double z = (most - mean) / sd, below = erfc(-z / sqrt(2)) / 2;
	double density = exp(-z * z / 2) / sqrt(2 * acos(-1));
	double first = mean * below - sd * density + most * (1 - below);
	double second =
		(mean * mean + sd * sd) * below - sd * (mean + most) * density + most * most * (1 - below);

	return (struct pt_kept){ first, fmax(second - first * first, 0) };
}

struct pt_kept pt_flame_kept(double n, double rate, double most)
{
	struct es_law law = { 0 };
	double mean = n * rate, sd = sqrt(mean * (1 - rate)), first = 0, second = 0;

	if (most <= 0 || mean + 40 * sd < most)
		return (struct pt_kept){ mean, sd * sd };
	if (!es_law_binomial(&law, (uint64_t)n, rate))
		return cut_normal(mean, sd, most);
	for (size_t i = 0; i < law.len; i++) {
		double k = fmin((double)law.first + (double)i, most);

		first += law.p[i] * k;
		second += law.p[i] * k * k;
	}
	es_law_fini(&law);
	return (struct pt_kept){ first, fmax(second - first * first, 0) };
}

/* Sums over the messages about one coordinate, where level y has the score y / b - 1/2. */
struct sums {
	double first, second; /* sum of the scores, and of their squares */
};

/* Add up the messages.  Returns false if there are more than the shuffler leaves in all; *left is how many
 * may still come.  A message may be about another coordinate than its tag says: a device that sends such
 * messages must not be able to void the round. */
static bool add_up(const struct pt_randomizer *p, const uint64_t *counts, uint64_t *left, struct sums *t)
{
	const struct pt_slot *s = &p->slots.slot[0];
	double b = s->each.bins - 1;

	*t = (struct sums){ 0 };
	for (uint32_t y = 0; y < s->each.bins; y++) {
		double score = y / b - 0.5;

		if (counts[y] > *left)
			return false;
		*left -= counts[y];
		t->first += (double)counts[y] * score;
		t->second += (double)counts[y] * score * score;
	}
	return true;
}

struct work {
	const struct qy_query *q;
	struct pt_kept kept;
	double slope, z, joint_z;
};

static void fill(const struct work *w, const struct sums *t, struct qy_item *item)
{
	double range = w->q->high - w->q->low, middle = w->q->low + range / 2;
	/* If devices all hold an end of the range, their scores have this mean.  Should all of them show
	 * that end by chance, the spread of the score is computed from the mean, and is not zero. */
	double end = w->slope / 2, mean = t->first / w->kept.mean, most = fmin(fmax(mean, -end), end);
	double zero = fmin(fmax(0, w->q->low), w->q->high);
	double own = (w->kept.mean - w->kept.variance) * most * most, sd;

	sd = range * sqrt(fmax(t->second - own, 0)) / (w->kept.mean * w->slope);
	item->value = middle + range * mean / w->slope;
	item->variance = sd * sd;
	item->lower = item->value - w->z * sd;
	item->upper = item->value + w->z * sd;
	item->joint_lower = item->value - w->joint_z * sd;
	item->joint_upper = item->value + w->joint_z * sd;
	item->projected = fmin(fmax(item->value, w->q->low), w->q->high);
	item->below_noise = item->joint_lower <= zero && item->joint_upper >= zero;
}

enum cm_rc pt_flame_estimate(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	const struct pt_kept *kept, uint64_t reports, struct es_estimate *out, struct cm_err *err)
{
	const struct pt_slot *s = &p->slots.slot[0];
	struct es_estimate e = { .reports = reports };
	struct work w = { .q = q, .kept = *kept };
	uint64_t left = p->shuffler.tag_messages * p->shuffler.tags;
	enum cm_rc rc;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", p->row->name);
	w.slope = pt_mixbins_keep(&s->each) - pt_mixbins_other(&s->each);
	w.z = es_normal_upper(0.025);
	w.joint_z = es_normal_upper(es_joint_tail(q->dimension));
	rc = es_vector_items(q, &e, err);
	for (uint32_t c = 0; rc == CM_OK && c < q->dimension; c++) {
		struct sums t;

		if (!add_up(p, counts + (size_t)c * s->each.bins, &left, &t)) {
			rc = cm_fail(
				err, CM_EDATA, "%s: more messages than can have been sent", p->row->name);
			break;
		}
		fill(&w, &t, &e.item[c]);
		e.noise_floor = fmax(e.noise_floor, w.joint_z * sqrt(e.item[c].variance));
	}
	if (rc == CM_OK)
		*out = e;
	else
		es_estimate_fini(&e);
	return rc;
}

/* The variance of the score of a uniform level. */
static double uniform_variance(const struct pt_slot *s)
{
	double b = s->each.bins - 1;

	return (2 * b + 1) / (6 * b) - 0.25;
}

double pt_flame_unsent(const struct qy_query *q, const struct pt_randomizer *p, double n, double dummies)
{
	double slope = pt_mixbins_keep(&p->slots.slot[0].each) - pt_mixbins_other(&p->slots.slot[0].each);

	return (q->high - q->low) * sqrt(dummies * uniform_variance(&p->slots.slot[0])) / (n * slope);
}

/* The error of a coordinate.  The score of a participant's message has the mean square Q B + slope (x -
 * 1/2)^2, where x is the place of its value in the range, slope = P - Q, and B the sum of (y / b - 1/2)^2
 * over the levels y.  The square of its mean, slope^2 (x - 1/2)^2, may be no noise.  Rounding to levels
 * adds at most 1/(4 b^2). */
double pt_flame_expected(
	const struct qy_query *q, const struct pt_randomizer *p, const struct pt_kept *kept, double messages)
{
	const struct pt_slot *s = &p->slots.slot[0];
	double b = s->each.bins - 1, uniform = uniform_variance(s), worst = 0;
	double slope = pt_mixbins_keep(&s->each) - pt_mixbins_other(&s->each),
	       noise = pt_mixbins_other(&s->each) * (b + 1) * uniform;
	double dummies = fmax(messages - kept->mean, 0) * uniform;

	for (double x = 0; x <= 0.5; x += 0.5 / b) {
		double square = (x - 0.5) * (x - 0.5);
		double rounding = x > 0 ? 1 / (4 * b * b) : 0;

		worst = fmax(worst, kept->mean * (noise + slope * (square + rounding)) -
					    (kept->mean - kept->variance) * slope * slope * square);
	}
	return (q->high - q->low) * sqrt(worst + dummies) / (kept->mean * slope);
}

static struct acct_flame_slot slot_of(const struct pt_randomizer *p)
{
	return (struct acct_flame_slot){ .epsilon = pt_mixbins_guarantee(&p->slots.slot[0].each),
		.bins = p->slots.slot[0].each.bins };
}

static struct acct_flame_sparse sparse_of(
	const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants, uint32_t sent)
{
	return (struct acct_flame_sparse){ .slot = slot_of(p),
		.users = participants,
		.padded = p->shuffler.tag_messages,
		.length = q->dimension,
		.sent = sent };
}

void pt_ss_simple_statement(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
	double delta, char *out, size_t size)
{
	const struct acct_flame_slot slot = slot_of(p);
	double epsilon;

	out[0] = '\0';
	if (acct_flame_simple_theorem1(
		    &slot, q->dimension, participants, delta, ACCT_FLAME_EXACT, &epsilon, NULL) == ACCT_OK)
		(void)snprintf(out, size,
			"FLAME's Theorem 1 gives epsilon %.4g at delta %g, which holds because every "
			"coordinate is a message of its own; what is charged is less",
			epsilon, delta);
}

/* Write the epsilon that the paper's Theorem 4 claims for sending `sent` coordinates, or "none" where the
 * theorem gives none. */
static void theorem4(const struct acct_flame_sparse *s, double delta, char *out, size_t size)
{
	double epsilon;

	if (acct_flame_double_theorem4(s, delta, ACCT_FLAME_BENNETT, &epsilon, NULL) == ACCT_OK)
		(void)snprintf(out, size, "%.4g", epsilon);
	else
		(void)snprintf(out, size, "none");
}

void pt_ss_double_statement(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
	double delta, char *out, size_t size)
{
	const struct acct_flame_sparse s = sparse_of(q, p, participants, p->slots.slot[0].count);
	char paper[32];

	theorem4(&s, delta, paper, sizeof paper);
	(void)snprintf(out, size,
		"FLAME's Theorem 4 says epsilon %s at delta %g: paper value (not a guarantee), it counts the "
		"sampling twice; what is charged holds, whether or not the shuffler evens the counts",
		paper, delta);
}

void pt_ss_topk_statement(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
	double delta, char *out, size_t size)
{
	const struct acct_flame_sparse s = sparse_of(q, p, participants, p->topk.size);
	double nu, most, share = 100.0 * p->topk.size / q->dimension;
	char paper[32], index[160] = "none";

	theorem4(&s, delta, paper, sizeof paper);
	if (acct_flame_nu_of(q->dimension, p->topk.size, p->slots.slot[0].each.dummies, &nu, &most, NULL) ==
		ACCT_OK) {
		int len = snprintf(index, sizeof index,
			"nu = %.4g: a coordinate that a device sends was chosen with chance %.4g %%", nu,
			fmin(nu * share, 100));

		if (p->slots.slot[0].each.dummies > 0)
			(void)snprintf(index + len, sizeof index - (size_t)len,
				", and certainly (nu = %.4g) where dummies fall badly", most);
	}
	(void)snprintf(out, size,
		"FLAME says epsilon %s at delta %g: paper value (not a guarantee), since choosing "
		"coordinates by value is no sampling; towards the shuffler there is index privacy only, "
		"%s; that is no differential privacy",
		paper, delta, index);
}

void pt_flame_honest(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	const struct pt_kept *kept, double most, double lied, struct es_honest *out)
{
	const struct pt_slot *s = &p->slots.slot[0];
	double room = (double)p->shuffler.tag_messages, range = q->high - q->low;
	double slope = pt_mixbins_keep(&s->each) - pt_mixbins_other(&s->each);
	double sd = pt_flame_expected(q, p, kept, fmax(room, kept->mean));

	for (uint32_t c = 0; c < q->dimension; c++) {
		const uint64_t *here = counts + (size_t)c * s->each.bins;
		double came = (double)pt_lied_came(here, s->each.bins), own = fmin(lied, came);
		double crowded = room > 0 ? fmin(fmax(most + lied - room, 0), lied) : 0, unit, value;
		uint64_t all = UINT64_MAX;
		struct sums t;

		(void)add_up(p, here, &all, &t);
		unit = range / (kept->mean * slope);
		value = q->low + range / 2 + unit * t.first;
		es_honest_normal(value - unit * (own + crowded) / 2, value + unit * (own + crowded) / 2, sd,
			q->dimension, 1, &out[c]);
	}
}
