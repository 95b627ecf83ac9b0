/* test_expected.c - what a row says of its error before a round is what its rounds have. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "csv.h"
#include "encode_in_room.h"
#include "es_expect.h"
#include "pt_mixbins_analysis.h"
#include "queries.h"

static char *labels[] = { "a", "b", "c", "d", "e" };

static struct qy_query histogram(uint32_t categories)
{
	return (struct qy_query){ .kind = QY_HISTOGRAM, .category = labels, .categories = categories };
}

static struct qy_query mean_of(double low, double high)
{
	return (struct qy_query){ .kind = QY_MEAN, .name = "m", .low = low, .high = high };
}

static struct pt_randomizer derived(const char *row, const struct qy_query *q, const struct pt_request *r)
{
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	if (pt_derive(pt_find(row), q, r, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return p;
}

/* ---- every row of histograms, played ---- */

#define DEVICES 100
#define RUNS    500

/* Among 100 devices 10 hold item 0 and 20 hold item 1: the heavy item and the average one of five. */
static uint64_t held(uint32_t device)
{
	return device < 10 ? 0 : device < 30 ? 1 : 2 + device % 3;
}

static double played(const struct pt_protocol *row, const struct qy_query *q, const struct pt_randomizer *p,
	const struct cr_rng *rng)
{
	static uint64_t counts[8192];
	static uint8_t records[65536];
	double square = 0;
	struct cm_err err = { 0 };

	assert_true((size_t)row->device->messages(p) * row->device->record_len(p) <= sizeof records);
	for (int run = 0; run < RUNS; run++) {
		struct es_estimate e;

		memset(counts, 0, row->tallies(p) * sizeof *counts);
		for (uint32_t j = 0; j < DEVICES; j++) {
			struct qy_value v = { .x = held(j),
				.level = p->shuffler.tag_least[0] > 0 ? j % 2 : 0 };

			encode_in_room(row->device, q, p, &v, rng, records);
			for (uint32_t m = 0; m < row->device->messages(p); m++)
				assert_int_equal(
					row->tally(p, records + m * row->device->record_len(p), counts, &err),
					CM_OK);
		}
		assert_int_equal(pt_answer(q, p, counts, DEVICES, &e, &err), CM_OK);
		square += pow(e.item[0].value - 10, 2) / 2 + pow(e.item[1].value - 20, 2) / 2;
		es_estimate_fini(&e);
	}
	return sqrt(square / RUNS);
}

/* 500 runs: the root mean square is known to 3.2 %; five of these either way. */
static void a_histogram_errs_as_expected(void **state)
{
	static const struct pt_request request[] = {
		{ .epsilon0 = 2 },
		{ .epsilon0 = 2, .dummies = 2 },
		{ .epsilon0 = INFINITY, .dummies = 3 },
		{ .epsilon0 = 2, .classes = 2, .class_epsilon0 = { 1, 2 }, .class_least = { 50, 50 } },
	};
	static const uint8_t seed[CR_SEED_LEN] = { 7 };
	struct qy_query q = histogram(5);
	const struct pt_protocol *row;
	struct cr_rng rng;
	struct cr_rng_seeded *g = cr_rng_seeded_new(seed, &rng);
	int rounds = 0;

	(void)state;
	assert_non_null(g);
	for (size_t i = 0; (row = pt_row(i)); i++) {
		int of_row = 0;

		if (!(row->device->kinds & QY_HISTOGRAM))
			continue;
		for (size_t k = 0; k < sizeof request / sizeof *request && of_row < 2; k++) {
			struct pt_randomizer p;
			struct cm_err err = { 0 };
			double said, seen;

			if (pt_derive(row, &q, &request[k], &p, &err) != CM_OK)
				continue;
			said = pt_expected_error(&q, &p, DEVICES);
			seen = played(row, &q, &p, &rng);
			of_row++;
			if (fabs(seen / said - 1) > 0.16)
				fail_msg("%s: %g was expected, %g seen", row->device->name, said, seen);
		}
		if (of_row == 0)
			fail_msg("%s: not played", row->device->name);
		rounds += of_row;
	}
	cr_rng_seeded_free(g);
	assert_true(rounds >= 9);
}

/* ---- textbook formulas, which the reference values have ---- */

/* n reports, c hold the item: each supports it with chance P or Q, dummies with chance 1/k. */
static double count_variance(double n, double c, double p, double q, double dummies, double k)
{
	double noise = dummies / k * (1 - 1 / k);

	return (c * p * (1 - p) + (n - c) * q * (1 - q) + noise) / ((p - q) * (p - q));
}

static void reference_variances_are_the_textbooks_and_so_are_ours(void **state)
{
	struct csv c;
	int seen = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/protocols.csv"));
	while (csv_next(&c)) {
		double eps0, k, n, nj, keep, other, heavy, average, want, got;
		struct qy_query q;
		struct pt_request r = { 0 };
		struct pt_randomizer p;
		char *many[64];

		if (strcmp(csv_get(&c, "randomizer"), "grr") != 0)
			continue;
		eps0 = csv_param(&c, "eps0");
		k = csv_param(&c, "k");
		n = csv_param(&c, "n");
		nj = csv_param(&c, "nj");
		keep = strtod(csv_get(&c, "P_keep"), NULL);
		other = strtod(csv_get(&c, "Q_other"), NULL);
		assert_true(fabs(count_variance(n, nj, keep, other, 0, k) /
					    strtod(csv_get(&c, "est_variance"), NULL) -
				    1) < 1e-9);
		if (k > 64)
			continue;
		for (size_t i = 0; i < (size_t)k; i++)
			many[i] = labels[0];
		q = histogram((uint32_t)k);
		q.category = many;
		r.epsilon0 = eps0;
		p = derived("grr", &q, &r);
		heavy = count_variance(n, n / 10, keep, other, 0, k);
		average = count_variance(n, n / k, keep, other, 0, k);
		want = sqrt((heavy + average) / 2);
		got = pt_expected_error(&q, &p, (uint64_t)n);
		assert_true(fabs(got / want - 1) < 1e-9);
		seen++;
	}
	(void)fclose(c.file);
	assert_true(seen >= 3);
}

/* Without a local guarantee only the dummies cause errors: N/k (1 - 1/k), whatever the counts. */
static void balls_into_bins_err_by_their_dummies_alone(void **state)
{
	struct qy_query q = histogram(4);
	struct pt_request r = { .epsilon0 = INFINITY, .dummies = 5 };
	struct pt_randomizer p = derived("bins", &q, &r);

	(void)state;
	assert_true(fabs(pt_expected_error(&q, &p, 1000) - sqrt(5000 / 4.0 * 0.75)) < 1e-9);
}

/* ---- means, by enumeration of what one report can be ---- */

/* Variance of one participant's share of the sum, in levels, at the value x (0..1): rounding up or down, then
 * the level or another one, and dummies that are uniform. */
static double level_variance(const struct pt_randomizer *p, double x)
{
	double b = p->mixbins.bins - 1, more = pt_mixbins_keep(&p->mixbins) - pt_mixbins_other(&p->mixbins),
	       low = floor(x * b);
	double part = x * b - low, first = 0, second = 0, uniform = 0, centre = 0;

	for (uint32_t y = 0; y < p->mixbins.bins; y++) {
		double chance = pt_mixbins_other(&p->mixbins);

		chance += more * ((double)y >= low && (double)y <= low ? 1 - part : 0);
		chance += more * ((double)y >= low + 1 && (double)y <= low + 1 ? part : 0);
		first += chance * y;
		second += chance * y * y;
		centre += (double)y / p->mixbins.bins;
		uniform += (double)y * y / p->mixbins.bins;
	}
	return (second - first * first + p->mixbins.dummies * (uniform - centre * centre)) / (more * more);
}

static void a_mean_errs_as_expected_at_the_worst_values(void **state)
{
	static const struct pt_request request[] = {
		{ .epsilon0 = 0.5, .levels = 2 },
		{ .epsilon0 = 1, .levels = 5 },
		{ .epsilon0 = 5, .levels = 9 },
		{ .epsilon0 = 12, .levels = 33, .dummies = 2 },
		{ .epsilon0 = INFINITY, .levels = 17, .dummies = 1 },
	};
	struct qy_query q = mean_of(-10, 40);

	(void)state;
	for (size_t i = 0; i < sizeof request / sizeof *request; i++) {
		struct pt_randomizer p = derived("levels", &q, &request[i]);
		double worst = 0, said = pt_expected_error(&q, &p, 2500), seen;

		for (int x = 0; x < 20000; x++)
			worst = fmax(worst, level_variance(&p, x / 20000.0));
		seen = 50 * sqrt(2500 * worst) / (2500 * (p.mixbins.bins - 1.0));
		/* The grid is close to the worst value, and never exceeds it */
		if (seen > said * (1 + 1e-9) || seen < said * (1 - 1e-5))
			fail_msg("request %zu: %.9g was expected, %.9g is the worst", i, said, seen);
	}
}

static void every_row_expects_some_error(void **state)
{
	const struct pt_protocol *row;

	(void)state;
	for (size_t i = 0; (row = pt_row(i)); i++) {
		struct qy_query q = query_of_row(row);
		struct pt_randomizer p;
		struct cm_err err = { 0 };
		double growth;

		if (query_derive(row, &q, 1, &p, &err) != CM_OK)
			fail_msg("%s: %s", row->device->name, err.msg);
		if (!row->expected_error)
			fail_msg("%s: expects nothing", row->device->name);
		assert_true(pt_expected_error(&q, &p, 1000) > 0);
		/* The error of a count grows more slowly than the participants; that of a mean falls. */
		growth = pt_expected_error(&q, &p, 100000) / pt_expected_error(&q, &p, 1000);
		assert_true(q.kind == QY_MEAN || q.kind == QY_QUANTILES || q.kind == QY_VECTOR
				    ? growth < 1
				    : growth < 100);
	}
}

/* ---- the least epsilon0 ---- */

/* Noise grows as 1/epsilon0 down to the smallest epsilon0 that a row takes: the difference P - Q loses no
 * digits. */
/* For rows with classes, two that are nearly one. */
static void ask_for(double epsilon0, struct pt_request *r)
{
	r->epsilon0 = r->classes > 0 ? 2 * epsilon0 : epsilon0;
	r->class_epsilon0[0] = epsilon0;
	r->class_epsilon0[1] = epsilon0 * 1.001;
}

static void noise_goes_with_the_inverse_of_epsilon0(const struct pt_protocol *row, const struct qy_query *q)
{
	struct pt_request r = { .dummies = 1,
		.levels = 2,
		.size = q->kind == QY_SETS ? 2 : 0,
		.min_reports = 1000,
		.class_least = { 300, 300 } };
	struct pt_randomizer least, larger;
	struct es_estimate e;
	struct cm_err err = { 0 };
	uint64_t counts[64];

	ask_for(1.01e-6, &r);
	if (pt_derive(row, q, &r, &least, &err) != CM_OK)
		r.dummies = 0;
	if (pt_derive(row, q, &r, &least, &err) != CM_OK)
		r.levels = 4; /* two digits */
	if (pt_derive(row, q, &r, &least, &err) != CM_OK) {
		r.levels = r.classes = 2;
		ask_for(1.01e-6, &r);
	}
	least = derived(row->device->name, q, &r);
	assert_int_equal(row->device->check(q, &least, &err), CM_OK);
	ask_for(1.01e-4, &r);
	larger = derived(row->device->name, q, &r);
	if (fabs(pt_expected_error(q, &least, 1000) / pt_expected_error(q, &larger, 1000) - 100) > 0.1)
		fail_msg("%s: %g and %g", row->device->name, pt_expected_error(q, &least, 1000),
			pt_expected_error(q, &larger, 1000));
	assert_true(row->tallies(&least) <= 64);
	for (uint32_t i = 0; i < row->tallies(&least); i++)
		counts[i] = 1000 / row->tallies(&least);
	assert_int_equal(pt_answer(q, &least, counts, 1000, &e, &err), CM_OK);
	for (size_t i = 0; i < e.n; i++)
		assert_true(isfinite(e.item[i].value) && isfinite(e.item[i].variance));
	es_estimate_fini(&e);
	ask_for(0.99e-6, &r);
	assert_int_equal(pt_derive(row, q, &r, &larger, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "too small to say anything"));
}

static void the_least_epsilon0_still_has_an_estimate(void **state)
{
	static const struct pt_request none = { .epsilon0 = INFINITY, .dummies = 1 };
	struct qy_query h = histogram(5), m = mean_of(0, 1);
	const struct pt_protocol *row;
	int rounds = 0;

	(void)state;
	for (size_t i = 0; (row = pt_row(i)); i++) {
		struct qy_query of_row = query_of_row(row);
		const struct qy_query *q = row->device->kinds & QY_HISTOGRAM ? &h
					   : row->device->kinds & QY_MEAN    ? &m
									     : &of_row;
		struct pt_request asked = { .epsilon0 = 1, .dummies = 1 };
		struct pt_randomizer p;
		struct cm_err err = { 0 };

		/* Without a local guarantee there is no epsilon0. */
		if (pt_derive(row, q, &none, &p, &err) == CM_OK &&
			pt_derive(row, q, &asked, &p, &err) != CM_OK)
			continue;
		noise_goes_with_the_inverse_of_epsilon0(row, q);
		rounds++;
	}
	assert_true(rounds >= 13);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_histogram_errs_as_expected),
		cmocka_unit_test(reference_variances_are_the_textbooks_and_so_are_ours),
		cmocka_unit_test(balls_into_bins_err_by_their_dummies_alone),
		cmocka_unit_test(a_mean_errs_as_expected_at_the_worst_values),
		cmocka_unit_test(every_row_expects_some_error),
		cmocka_unit_test(the_least_epsilon0_still_has_an_estimate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
