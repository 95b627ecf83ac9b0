/* pt_rotated_analysis.c - chooses how many rotations there are and where to cut, and rotates the mean back
 * from all of them. */
#include "pt_rotated.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "es_law.h"
#include "es_vector.h"
#include "pr_limits.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_slots_analysis.h"
#include "pt_turn.h"
#include "pt_words_analysis.h"

/* below so many coordinates, those of a random direction are not nearly normal, and nothing is cut */
#define NARROW    64u
#define CUT_LEAST 0.5
#define CUT_STEP  0.0625
/* more rotations are not worth it if they lower the error by less than this factor */
#define GOOD 1.02

/* What cutting does to a coordinate Z, normal of variance 1, that is cut at a.  The first number is
 * E[cut(Z) Z], the factor by which a vector comes back shorter; the second is the rest of E[cut(Z)^2],
 * which is the same for all devices that hold the same vector. */
struct cutting {
	double slope, rest;
};

static struct cutting cutting_of(double a)
{
	double beyond = erfc(a / sqrt(2)) / 2, density = exp(-a * a / 2) / sqrt(2 * acos(-1));
	struct cutting c = { .slope = 1 - 2 * beyond };

	c.rest = fmax(c.slope - 2 * a * density + 2 * a * a * beyond - c.slope * c.slope, 0);
	return c;
}

/* What a cut at `a` does in a space of d coordinates, where no vector of length 1 has a coordinate beyond
 * sqrt(d). */
static struct cutting cutting_in(double a, uint32_t d)
{
	const struct cutting none = { .slope = 1 };

	return a * a >= d ? none : cutting_of(a);
}

/* The variance of a coordinate for L = 1: that of signs of [-c, c], and what cutting adds, averaged over R
 * rotations. */
static double variance_of(
	const struct qy_query *q, const struct pt_signs *s, double a, uint32_t rotations, double n)
{
	uint32_t d = pt_rotated_padded(q->dimension);
	struct cutting c = cutting_in(a, d);
	double each = (double)d * c.slope * c.slope * rotations;

	return (a * a * es_signs_variance(s, n, 0) + c.rest) / each;
}

static double cut(const struct qy_query *q, const struct pt_randomizer *p)
{
	return pt_rotated_cut(q, p->rotated.scale);
}

/* Find the cut with the least error. */
static double best_cut(const struct qy_query *q, const struct pt_signs *s, uint32_t rotations, double n)
{
	uint32_t d = pt_rotated_padded(q->dimension);
	double never = fmin(sqrt(2 * log(2 * (double)d * n)), sqrt(d)), best = never;

	if (d < NARROW)
		return never;
	for (double a = CUT_LEAST; a < never; a += CUT_STEP)
		if (variance_of(q, s, a, rotations, n) < variance_of(q, s, best, rotations, n))
			best = a;
	return best;
}

/* Are there not too many counts for so many rotations? */
static bool may_rotate(const struct pt_randomizer *one, uint32_t rotations)
{
	uint64_t groups = (uint64_t)one->slots.slot[0].groups * rotations;

	return rotations <= PT_ROTATIONS_MAX && groups <= PR_DIMENSION_MAX &&
	       (uint64_t)pt_words_tallies(one) * rotations <= PR_TALLIES_MAX;
}

/* Make the words of R rotations, with their best cut; returns their variance. */
static double rotate(const struct qy_query *q, const struct pt_randomizer *one, uint32_t rotations, double n,
	struct pt_randomizer *out)
{
	struct pt_signs s;
	double a;

	*out = *one;
	out->slots.slot[0].groups *= rotations;
	s = pt_words_signs(out, (uint64_t)n);
	a = best_cut(q, &s, rotations, n);
	out->rotated.scale = (uint64_t)(pt_rotated_cut(q, 1) / a);
	return variance_of(q, &s, a, rotations, n);
}

/* Take as few rotations as are good enough: each costs counts, and none costs privacy. */
static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	struct qy_query w = *q;
	double n = r->min_reports > 0 ? (double)r->min_reports : 1, best;
	enum cm_rc rc = pt_rotated_query(q, CM_ECONFIG, err);
	struct pt_randomizer one, made;
	uint32_t rotations = 1;

	w.dimension = pt_rotated_padded(q->dimension);
	w.columns = 0;
	if (rc == CM_OK)
		rc = pt_words_choose(row, &w, r, &one, err);
	if (rc != CM_OK)
		return rc;
	while (may_rotate(&one, rotations * 2))
		rotations *= 2;
	best = rotate(q, &one, rotations, n, &made);
	rotations = 1;
	while (rotate(q, &one, rotations, n, out) > best * GOOD * GOOD)
		rotations *= 2;
	return CM_OK;
}

/* Undo one pass of pt_rotated.c. */
static void unpass(double *v, uint32_t d, uint32_t rotation, uint32_t pass)
{
	double length = sqrt(d);

	for (uint32_t h = 1; h < d; h *= 2)
		for (uint32_t i = 0; i < d; i += 2 * h)
			for (uint32_t j = i; j < i + h; j++) {
				double a = v[j], b = v[j + h];

				v[j] = a + b;
				v[j + h] = a - b;
			}
	for (uint32_t j = 0; j < d; j++)
		v[j] = (pt_turn_sign(rotation, pass, j) != 0 ? -v[j] : v[j]) / length;
}

/* The expected error.  Rotating back keeps the length of errors, so the mean variance of the coordinates is
 * that of the rotated ones. */
static double error_of(const struct pt_protocol *row, const struct qy_query *q, const struct pt_randomizer *p,
	uint64_t participants)
{
	struct pt_signs s = pt_words_signs(p, participants);

	(void)row;
	return q->high *
	       sqrt(variance_of(q, &s, cut(q, p), pt_rotated_rotations(q, p), (double)participants));
}

static void fill(const struct qy_query *q, double sd, const double *v, struct es_estimate *e)
{
	double z = es_normal_upper(0.025), joint_z = es_normal_upper(es_joint_tail(q->dimension));

	for (uint32_t j = 0; j < q->dimension; j++) {
		struct qy_item *it = &e->item[j];

		*it = (struct qy_item){ .label = it->label,
			.value = v[j],
			.variance = sd * sd,
			.lower = v[j] - z * sd,
			.upper = v[j] + z * sd,
			.joint_lower = v[j] - joint_z * sd,
			.joint_upper = v[j] + joint_z * sd,
			.projected = fmin(fmax(v[j], q->low), q->high),
			.below_noise = fabs(v[j]) <= joint_z * sd };
	}
	e->noise_floor = joint_z * sd;
}

/* Compute mean[d], the mean over all rotations of what each says. */
static enum cm_rc turn_back(const struct qy_query *q, const struct pt_randomizer *p, const int64_t *sum,
	double unit, double *mean, struct cm_err *err)
{
	uint32_t d = pt_rotated_padded(q->dimension), rotations = pt_rotated_rotations(q, p);
	uint32_t each = pt_rotated_wide(q, p).dimension / rotations;
	double *v = calloc(d, sizeof *v);

	if (!v)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	for (uint32_t r = 0; r < rotations; r++) {
		for (uint32_t k = 0; k < d; k++)
			v[k] = unit * (double)sum[(size_t)r * each + k] / rotations;
		unpass(v, d, r, 1);
		unpass(v, d, r, 0);
		for (uint32_t k = 0; k < d; k++)
			mean[k] += v[k];
	}
	free(v);
	return CM_OK;
}

/* What a sum of signs of 1 adds to a rotated coordinate of the mean of `reports` vectors, in units of the
 * query. */
static double unit_of(const struct qy_query *q, const struct pt_randomizer *p, uint64_t reports)
{
	uint32_t d = pt_rotated_padded(q->dimension);
	struct pt_signs s = pt_words_signs(p, reports);
	double a = cut(q, p);

	return q->high * a / sqrt(d) * s.groups / ((double)reports * s.slope * cutting_in(a, d).slope);
}

static enum cm_rc estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	uint32_t d = pt_rotated_padded(q->dimension);
	struct qy_query w = pt_rotated_wide(q, p);
	int64_t *sum = NULL;
	double *mean = NULL;
	struct es_estimate e = { .reports = reports };
	enum cm_rc rc = CM_OK;

	(void)row;
	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", p->row->name);
	sum = calloc(w.dimension, sizeof *sum);
	mean = calloc(d, sizeof *mean);
	rc = !sum || !mean ? cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name)
			   : es_vector_items(q, &e, err);
	if (rc == CM_OK)
		rc = pt_words_sums(&w, p, counts, reports, sum, err);
	if (rc == CM_OK)
		rc = turn_back(q, p, sum, unit_of(q, p, reports), mean, err);
	if (rc == CM_OK) {
		fill(q, error_of(row, q, p, reports), mean, &e);
		*out = e;
		e = (struct es_estimate){ 0 };
	}
	es_estimate_fini(&e);
	free(sum);
	free(mean);
	return rc;
}

/* The liars' signs add a vector to the mean that is at most so long: rotating back keeps lengths, and in one
 * rotation the slots' coordinates are different ones.  With a messages in a slot, of which at most b are of
 * one group, the sum of the squares of the groups' numbers is at most a b.  Vectors of different rotations
 * may point into one direction, so the lengths of R of them add up to sqrt(R) times as much, at most; and to
 * no more than all messages one by one. */
static double longest(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	const struct pt_crowd *crowd)
{
	const struct pt_slot *s = &p->slots.slot[0];
	double squares = 0, all = 0, rotations = pt_rotated_rotations(q, p);
	double tail = es_known_tail((size_t)s->count * s->groups);

	for (uint32_t i = 0; i < s->count; i++) {
		struct pt_lied lied = pt_words_lied(p, counts, i, crowd);
		uint64_t most = 0;

		for (uint32_t g = 0; g < s->groups; g++) {
			uint64_t here = pt_words_lied_of(p, counts, i, g, &lied, tail);

			most = here > most ? here : most;
		}
		squares += (double)lied.messages * (double)most;
		all += (double)lied.messages;
	}
	return unit_of(q, p, crowd->devices - crowd->liars) * sqrt(pt_words_width(p)) *
	       fmin(sqrt(rotations * squares), all) / rotations;
}

/* Estimate the mean of the honest devices as if the liars' messages had added nothing. */
static enum cm_rc influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	uint64_t honest = crowd->devices - crowd->liars;
	double sd = error_of(row, q, p, honest), off = longest(q, p, counts, crowd);
	struct es_estimate e = { 0 };
	enum cm_rc rc = estimate(row, q, p, counts, crowd->devices, &e, err);

	for (uint32_t j = 0; rc == CM_OK && j < q->dimension; j++) {
		double value = e.item[j].value * (double)crowd->devices / (double)honest;

		es_honest_normal(value - off, value + off, sd, q->dimension, ES_KNOWN, &out[j]);
	}
	es_estimate_fini(&e);
	return rc;
}

static void estimand(const struct qy_query *q, const struct pt_randomizer *p, char *out, size_t size)
{
	(void)p;
	(void)snprintf(out, size, "a vector longer than %.6g counts as a shorter one", q->high);
}

const struct pt_protocol pt_row_rotated = {
	.device = &pt_device_rotated,
	.keys = PT_KEY_SLOTS | PT_KEY_SIZE,
	.derive = derive,
	.tallies = pt_words_tallies,
	.seen = pt_words_seen,
	.tally = pt_words_tally,
	.estimate = estimate,
	.influence = influence,
	.expected_error = error_of,
	.estimand = estimand,
	PT_SLOTS_ANALYSIS,
};
