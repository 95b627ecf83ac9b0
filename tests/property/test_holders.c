/* test_holders.c - answers about those who have a reading, over many random rounds in which none, few, half
 * or all of the devices have none: no bias, the stated coverage, and no answer where nobody may have one.
 *
 * Seeded, so that a run repeats; PROPERTY_RUNS multiplies the rounds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cr_rand.h"
#include "encode_in_room.h"
#include "pt_protocol.h"
#include "seeded.h"

#define N       2000u
#define RUNS    400
#define COUNTS  256
#define RECORDS 4096

static const double probabilities[] = { 0.1, 0.5, 0.9 };
static const double shares[] = { 0, 0.01, 0.5, 1 };
static struct cr_rng rng;

static int runs(void)
{
	const char *text = getenv("PROPERTY_RUNS");

	return RUNS * (text ? (int)strtol(text, NULL, 10) : 1);
}

struct scene {
	const char *row;
	enum qy_kind kind;
	struct pt_request request;
};

static const struct scene scenes[] = {
	{ "levels", QY_MEAN, { .epsilon0 = 2, .levels = 9, .min_reports = N } },
	{ "levels", QY_MEAN, { .epsilon0 = INFINITY, .levels = 5, .dummies = 3, .min_reports = N } },
	{ "levels", QY_SUM, { .epsilon0 = 3, .levels = 9, .dummies = 1, .min_reports = N } },
	{ "levels", QY_QUANTILES, { .epsilon0 = 3, .levels = 17, .min_reports = N } },
	{ "digits", QY_MEAN, { .epsilon0 = 2, .levels = 16, .size = 4, .dummies = 1, .min_reports = N } },
	{ "digits", QY_SUM, { .epsilon0 = 3, .levels = 16, .size = 2, .min_reports = N } },
};

static struct qy_query query_of(const struct scene *s)
{
	struct qy_query q = { .kind = s->kind, .name = "q", .low = -10, .high = 30, .none = QY_NONE_SYMBOL };

	if (s->kind == QY_QUANTILES) {
		q.probability = (double *)(uintptr_t)probabilities;
		q.probabilities = 3;
	}
	return q;
}

/* Skewed, and no multiple of a level. */
static double share_of(uint32_t j)
{
	double u = (j * 0.6180339887498949) - floor(j * 0.6180339887498949);

	return u * u;
}

static bool has_reading(uint32_t j, double none)
{
	return j >= (uint32_t)llround(none * N);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The true answer of item i among those who have a reading. */
static double truth(const struct qy_query *q, size_t i, double none)
{
	double x[N], sum = 0;
	uint32_t n = 0;

	for (uint32_t j = 0; j < N; j++)
		if (has_reading(j, none)) {
			x[n] = q->low + (q->high - q->low) * share_of(j);
			sum += x[n++];
		}
	if (q->kind == QY_SUM)
		return sum;
	if (q->kind == QY_MEAN)
		return sum / n;
	qsort(x, n, sizeof *x, ascending);
	return n > 0 ? x[(uint32_t)ceil(probabilities[i] * n) - 1] : 0;
}

static void one_round(const struct pt_protocol *row, const struct qy_query *q, const struct pt_randomizer *p,
	double none, struct es_estimate *e)
{
	uint8_t records[RECORDS];
	uint64_t counts[COUNTS] = { 0 };
	struct cm_err err = { 0 };

	assert_true(row->device->messages(p) * row->device->record_len(p) <= RECORDS &&
		    row->tallies(p) <= COUNTS);
	for (uint32_t j = 0; j < N; j++) {
		struct qy_value v = { .x = (uint64_t)(share_of(j) * 0x1p32) };

		if (!has_reading(j, none))
			qy_value_none(q, &rng, NULL, &v);
		encode_in_room(row->device, q, p, &v, &rng, records);
		for (uint32_t m = 0; m < row->device->messages(p); m++)
			assert_int_equal(
				row->tally(p, records + m * row->device->record_len(p), counts, &err), CM_OK);
	}
	if (pt_answer(q, p, counts, N, e, &err) != CM_OK)
		fail_msg("%s: %s", row->device->name, err.msg);
}

/* Everything that the rounds of one scene and share said. */
struct said {
	double off, squares, variances, none_off, none_variances;
	int covered, joint, none_covered, answers, undefined, rounds;
};

static void note(const struct qy_query *q, const struct es_estimate *e, double none, struct said *t)
{
	const struct qy_item *symbol = &e->item[e->n - 1];
	double without = floor(none * N + 0.5);
	bool all = true;

	assert_true(symbol->none && strcmp(symbol->label, QY_NONE_LABEL) == 0);
	t->none_off += symbol->value - without;
	t->none_variances += symbol->variance;
	t->none_covered += symbol->lower <= without && without <= symbol->upper;
	t->rounds++;
	for (size_t i = 0; i + 1 < e->n; i++) {
		const struct qy_item *it = &e->item[i];
		double x = none < 1 || q->kind == QY_SUM ? truth(q, i, none) : 0;

		assert_false(it->none);
		t->answers++;
		if (isnan(it->value)) {
			assert_true(it->lower <= q->low && it->upper >= q->high && isinf(it->variance));
			t->undefined++;
			continue;
		}
		t->covered += it->lower <= x && x <= it->upper;
		all = all && it->joint_lower <= x && x <= it->joint_upper;
		t->off += it->value - x;
		t->squares += (it->value - x) * (it->value - x);
		t->variances += it->variance;
	}
	t->joint += all;
}

static void check(const struct scene *s, double none)
{
	const struct pt_protocol *row = pt_find(s->row);
	const struct qy_query q = query_of(s);
	struct cm_err err = { 0 };
	struct pt_randomizer p;
	struct said t = { 0 };
	double n;

	if (pt_derive(row, &q, &s->request, &p, &err) != CM_OK)
		fail_msg("%s: %s", s->row, err.msg);
	assert_int_equal(row->device->check(&q, &p, &err), CM_OK);
	for (int run = 0; run < runs(); run++) {
		struct es_estimate e;

		one_round(row, &q, &p, none, &e);
		note(&q, &e, none, &t);
		es_estimate_fini(&e);
	}
	n = t.answers - t.undefined;
	print_message("%s %s, %g without: off %+.2f, %.3f of the variance, covered %.3f, joint %.3f, none "
		      "off %+.2f "
		      "covered %.3f, %d of %d undefined\n",
		s->row, qy_kind_name(s->kind), none, t.off / sqrt(t.variances), t.squares / t.variances,
		t.covered / n, (double)t.joint / t.rounds, t.none_off / sqrt(t.none_variances),
		(double)t.none_covered / t.rounds, t.undefined, t.answers);
	/* Five standard errors of what chance may do to a bias, to coverage, to a variance. */
	assert_true(fabs(t.none_off) <= 5 * sqrt(t.none_variances));
	assert_true(t.none_covered >= t.rounds * 0.95 - 5 * sqrt(t.rounds * 0.0475));
	if (none >= 1 && s->kind != QY_SUM) {
		/* Now and then chance says that somebody has a reading: in a fortieth of the rounds. */
		assert_true(t.answers - t.undefined <= t.answers * 0.025 + 5 * sqrt(t.answers * 3 * 0.025));
		return;
	}
	assert_int_equal(t.undefined, 0);
	assert_true(t.covered >= n * 0.95 - 5 * sqrt(3 * n * 0.0475));
	assert_true(t.joint >= t.rounds * 0.95 - 5 * sqrt(t.rounds * 0.0475));
	if (s->kind == QY_QUANTILES)
		return; /* biased by a level at most, as documented; its variance is that of its interval */
	assert_true(fabs(t.off) <= 5 * sqrt(t.variances));
	assert_true(t.squares <= t.variances * (1.05 + 5 * sqrt(2 / n)));
}

static void answers_are_those_of_the_devices_that_have_a_reading(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
		for (size_t j = 0; j < sizeof shares / sizeof *shares; j++)
			check(&scenes[i], shares[j]);
}

/* ---- Ranges: counts, nodes of a tree and those who have no reading ---- */

#define LEAVES 16u
#define FANOUT 4u

/* How many with a reading lie in node i of a level of `nodes`. */
static double in_node(uint32_t nodes, uint32_t i, double none)
{
	double sum = 0;

	for (uint32_t j = 0; j < N; j++)
		sum += has_reading(j, none) && (uint32_t)(share_of(j) * nodes) == i;
	return sum;
}

static void check_ranges(double none)
{
	const struct qy_query q = { .kind = QY_RANGES,
		.name = "q",
		.low = -10,
		.high = 30,
		.leaves = LEAVES,
		.fanout = FANOUT,
		.none = QY_NONE_SYMBOL };
	const struct pt_request request = { .epsilon0 = 3, .dummies = 1, .min_reports = N };
	const struct pt_protocol *row = pt_find("ranges");
	double off = 0, projected = 0, consistent = 0, variances = 0, without = floor(none * N + 0.5);
	double truths[LEAVES + FANOUT + 1];
	int covered = 0, answers = 0;
	struct cm_err err = { 0 };
	struct pt_randomizer p;

	assert_int_equal(pt_derive(row, &q, &request, &p, &err), CM_OK);
	assert_int_equal(row->device->check(&q, &p, &err), CM_OK);
	for (uint32_t i = 0; i < FANOUT; i++)
		truths[i] = in_node(FANOUT, i, none);
	for (uint32_t i = 0; i < LEAVES; i++)
		truths[FANOUT + i] = in_node(LEAVES, i, none);
	truths[FANOUT + LEAVES] = without;
	for (int run = 0; run < runs() / 4; run++) {
		struct es_estimate e;
		double leaves = 0, roots = 0;

		one_round(row, &q, &p, none, &e);
		assert_int_equal(e.n, FANOUT + LEAVES + 1);
		for (size_t i = 0; i < e.n; i++) {
			const struct qy_item *it = &e.item[i];

			assert_int_equal(it->none, i + 1 == e.n);
			covered += it->lower <= truths[i] && truths[i] <= it->upper;
			off += i % 2 != 0 ? truths[i] - it->value : it->value - truths[i];
			variances += it->variance;
			answers++;
		}
		for (size_t i = 0; i < FANOUT; i++)
			roots += e.item[i].projected;
		for (size_t i = 0; i < LEAVES; i++)
			leaves += e.item[FANOUT + i].projected;
		consistent = fmax(consistent, fabs(roots - leaves));
		projected += leaves - (N - without);
		es_estimate_fini(&e);
	}
	print_message("ranges, %g without: off %+.2f, covered %.3f, holders off %+.2f a round\n", none,
		off / sqrt(variances), (double)covered / answers, projected / (runs() / 4.0));
	assert_true(fabs(off) <= 5 * sqrt(variances));
	assert_true(covered >= answers * 0.95 - 5 * sqrt(answers * 0.0475));
	assert_true(consistent < 1e-6);
	/* The nodes sum to the number of devices with a reading: no bias, and less noise than the leaves
	 * have. */
	assert_true(fabs(projected) <= 5 * sqrt(variances / (FANOUT + LEAVES + 1)));
}

static void ranges_sum_to_those_who_have_a_reading(void **state)
{
	(void)state;
	for (size_t j = 0; j < sizeof shares / sizeof *shares; j++)
		check_ranges(shares[j]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_those_of_the_devices_that_have_a_reading),
		cmocka_unit_test(ranges_sum_to_those_who_have_a_reading),
	};

	return RUN_SEEDED(tests, &rng, "holders");
}
