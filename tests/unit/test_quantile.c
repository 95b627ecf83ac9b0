/* test_quantile.c - quantiles from level counts: exact expectations, and simulated rounds against the
 * truth. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cr_rand.h"
#include "encode_in_room.h"
#include "es_quantile.h"
#include "pt_protocol.h"
#include "seeded.h"

#define LEVELS       17u
#define PARTICIPANTS 400u

static struct cm_err err;
static struct cr_rng rng;
#define ASKED 5u
static double probability[ASKED] = { 0.05, 0.25, 0.5, 0.75, 0.999 };
static const struct qy_query query = { .kind = QY_QUANTILES,
	.name = "q",
	.field = "f",
	.low = -8,
	.high = 8,
	.probability = probability,
	.probabilities = ASKED };

static struct pt_randomizer made(double epsilon0, uint32_t dummies)
{
	struct pt_request r = { .epsilon0 = epsilon0, .dummies = dummies, .levels = LEVELS };
	struct pt_randomizer p;

	assert_int_equal(pt_derive(pt_find("levels"), &query, &r, &p, &err), CM_OK);
	assert_int_equal(pt_find("levels")->device->check(&query, &p, &err), CM_OK);
	return p;
}

/* Values spread evenly, no randomness: expected counts give the quantiles to well below a level, and
 * intervals of the two levels around them. */
static void expected_counts_give_the_quantiles(void **state)
{
	static const char *const labels[] = { "p5", "p25", "median", "p75", "p99.9" };
	const double n = 1e8;

	(void)state;
	for (double epsilon0 = 2; epsilon0 < 15; epsilon0 += 4) {
		struct pt_randomizer p = made(epsilon0, 0);
		double keep = (double)p.mixbins.keep * 0x1p-64, other = (1 - keep) / (LEVELS - 1);
		uint64_t counts[LEVELS], sent = 0;
		struct es_estimate e;

		/* A level gets those up to one away, in a triangle. */
		for (uint32_t l = 0; l < LEVELS; l++) {
			double share = (l == 0 || l == LEVELS - 1 ? 0.5 : 1) / (LEVELS - 1);

			sent += counts[l] = (uint64_t)(n * (other + (keep - other) * share));
		}
		assert_int_equal(pt_answer(&query, &p, counts, sent, &e, &err), CM_OK);
		assert_int_equal(e.n, 5);
		for (size_t i = 0; i < e.n; i++) {
			double truth = -8 + 16 * probability[i];

			assert_string_equal(e.item[i].label, labels[i]);
			assert_true(fabs(e.item[i].value - truth) < 0.3);
			assert_true(e.item[i].lower <= truth && e.item[i].upper >= truth);
			assert_true(e.item[i].upper - e.item[i].lower <= 3.001);
			assert_true(e.item[i].joint_lower <= e.item[i].lower &&
				    e.item[i].joint_upper >= e.item[i].upper);
			assert_true(i == 0 || e.item[i].value >= e.item[i - 1].value);
		}
		es_estimate_fini(&e);
	}
}

/* Without noise and with all at one level: every quantile is there. */
static void a_point_mass_is_found(void **state)
{
	struct pt_randomizer p = made(16, 0);
	uint64_t counts[LEVELS] = { [12] = 1000000 };
	struct es_estimate e;

	(void)state;
	assert_int_equal(pt_answer(&query, &p, counts, 1000000, &e, &err), CM_OK);
	for (size_t i = 0; i < e.n; i++)
		assert_true(e.item[i].lower <= 4 && e.item[i].upper >= 4 && e.item[i].value >= 3 &&
			    e.item[i].value <= 5);
	es_estimate_fini(&e);
}

static double spread(uint32_t j)
{
	return (double)(j * 2654435761u % 10007) / 10007;
}

/* Between two levels, half of them at one value. */
static double lumped(uint32_t j)
{
	return j % 2 == 0 ? 0.47 : j % 4 == 1 ? 0.1 : 0.93;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct scene {
	double epsilon0;
	uint32_t dummies;
	double (*value)(uint32_t participant);
};

static void one_round(const struct scene *s, const struct pt_randomizer *p, struct es_estimate *e)
{
	const struct pt_protocol *row = pt_find("levels");
	uint64_t counts[LEVELS] = { 0 };
	uint8_t records[16 * 8];

	for (uint32_t j = 0; j < PARTICIPANTS; j++) {
		struct qy_value v = { .x = (uint64_t)(s->value(j) * 0x1p32) };

		encode_in_room(row->device, &query, p, &v, &rng, records);
		for (uint32_t m = 0; m < row->device->messages(p); m++)
			assert_int_equal(row->tally(p, records + 16 * m, counts, &err), CM_OK);
	}
	assert_int_equal(pt_answer(&query, p, counts, PARTICIPANTS, e, &err), CM_OK);
}

/* The quantiles of the values themselves, which rounding has moved, are in their intervals at least as often
 * as stated; by five standard errors. */
static void intervals_cover_the_quantiles_of_the_values(void **state)
{
	static const struct scene scenes[] = { { 2, 0, spread }, { 5, 0, lumped }, { 3, 2, lumped },
		{ INFINITY, 4, spread } };
	const int runs = 300;

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
		struct pt_randomizer p = made(scenes[i].epsilon0, scenes[i].dummies);
		double sorted[PARTICIPANTS];
		int held[ASKED] = { 0 }, all = 0;

		for (uint32_t j = 0; j < PARTICIPANTS; j++)
			sorted[j] = -8 + 16 * scenes[i].value(j);
		qsort(sorted, PARTICIPANTS, sizeof *sorted, ascending);
		for (int run = 0; run < runs; run++) {
			bool good = true;
			struct es_estimate e;

			one_round(&scenes[i], &p, &e);
			for (size_t k = 0; k < e.n; k++) {
				double truth = sorted[(size_t)ceil(probability[k] * PARTICIPANTS - 1e-9) - 1];
				const struct qy_item *item = &e.item[k];

				held[k] += truth >= item->lower && truth <= item->upper;
				good = good && truth >= item->joint_lower && truth <= item->joint_upper;
				assert_true(item->value >= item->lower && item->value <= item->upper);
			}
			all += good;
			es_estimate_fini(&e);
		}
		for (size_t k = 0; k < ASKED; k++)
			assert_true(held[k] >= runs * (0.95 - 5 * sqrt(0.05 * 0.95 / runs)));
		assert_true(all >= runs * (0.95 - 5 * sqrt(0.05 * 0.95 / runs)));
		print_message("scene %zu: %d %d %d %d %d, all %d of %d\n", i, held[0], held[1], held[2],
			held[3], held[4], all, runs);
	}
}

static void without_probabilities_the_quartiles_are_asked(void **state)
{
	static const char *const labels[] = { "p25", "median", "p75" };
	struct qy_query q = query;
	struct pt_randomizer p = made(16, 0);
	uint64_t counts[LEVELS] = { [4] = 1000000, [12] = 1000000 };
	struct es_estimate e;

	(void)state;
	q.probability = NULL;
	q.probabilities = 0;
	assert_int_equal(pt_answer(&q, &p, counts, 2000000, &e, &err), CM_OK);
	assert_int_equal(e.n, 3);
	for (size_t i = 0; i < e.n; i++)
		assert_string_equal(e.item[i].label, labels[i]);
	assert_true(e.item[0].value < -3 && e.item[2].value > 3);
	es_estimate_fini(&e);
}

/* Each asked alone is Sidak's part wider together with others, and never narrower. */
static void joint_intervals_grow_with_the_number_asked(void **state)
{
	static double many[99];
	struct qy_query q = query;
	struct pt_randomizer p = made(2, 0);
	struct es_estimate one, all;
	uint64_t counts[LEVELS];

	(void)state;
	for (uint32_t l = 0; l < LEVELS; l++)
		counts[l] = 20 + l;
	for (uint32_t i = 0; i < 99; i++)
		many[i] = (i + 1) / 100.0;
	q.probability = &many[49];
	q.probabilities = 1;
	assert_int_equal(pt_answer(&q, &p, counts, 476, &one, &err), CM_OK);
	q.probability = many;
	q.probabilities = 99;
	assert_int_equal(pt_answer(&q, &p, counts, 476, &all, &err), CM_OK);
	assert_string_equal(all.item[6].label, "p7");
	assert_true(
		one.item[0].joint_lower >= one.item[0].lower && one.item[0].joint_lower <= one.item[0].lower);
	assert_true(all.item[49].joint_lower < one.item[0].joint_lower &&
		    all.item[49].joint_upper > one.item[0].joint_upper);
	assert_true(all.item[49].lower >= one.item[0].lower && all.item[49].lower <= one.item[0].lower);
	es_estimate_fini(&one);
	es_estimate_fini(&all);
}

/* The row chooses the number of levels with the least expected error. */
static void the_levels_chosen_have_the_least_expected_error(void **state)
{
	const struct pt_protocol *row = pt_find("levels");

	(void)state;
	for (double epsilon0 = 0.5; epsilon0 < 17; epsilon0 *= 2) {
		struct pt_request r = { .epsilon0 = epsilon0, .min_reports = 10000 };
		struct pt_randomizer chosen, p;
		double error;

		assert_int_equal(pt_derive(row, &query, &r, &chosen, &err), CM_OK);
		error = pt_expected_error(&query, &chosen, 10000);
		for (r.levels = 5; r.levels <= 65; r.levels++) {
			assert_int_equal(pt_derive(row, &query, &r, &p, &err), CM_OK);
			assert_true(pt_expected_error(&query, &p, 10000) >= error);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expected_counts_give_the_quantiles),
		cmocka_unit_test(a_point_mass_is_found),
		cmocka_unit_test(intervals_cover_the_quantiles_of_the_values),
		cmocka_unit_test(without_probabilities_the_quartiles_are_asked),
		cmocka_unit_test(joint_intervals_grow_with_the_number_asked),
		cmocka_unit_test(the_levels_chosen_have_the_least_expected_error),
	};

	return RUN_SEEDED(tests, &rng, "quantile");
}
