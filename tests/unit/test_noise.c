/* test_noise.c - noise of the shuffler: its law, what it costs by enumeration, what it makes of an answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "pt_noise_analysis.h"

static struct cm_err err;
static char *label[] = { "a", "b", "c", "d" };
static const struct qy_query query = {
	.kind = QY_HISTOGRAM, .name = "q", .field = "f", .category = label, .categories = 4
};

static struct pt_randomizer made(double epsilon, double delta)
{
	const struct pt_request r = { .epsilon0 = INFINITY, .noise_epsilon = epsilon, .noise_delta = delta };
	struct pt_randomizer p;

	if (pt_derive(pt_find("bins"), &query, &r, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(pt_find("bins")->device->check(&query, &p, &err), CM_OK);
	return p;
}

static struct cr_rng_seeded *seeded(uint8_t first, struct cr_rng *rng)
{
	const uint8_t seed[CR_SEED_LEN] = { first };
	struct cr_rng_seeded *g = cr_rng_seeded_new(seed, rng);

	assert_non_null(g);
	return g;
}

static void the_law_is_symmetric_falls_by_a_and_has_the_stated_variance(void **state)
{
	(void)state;
	for (double epsilon = 0.01; epsilon < 10; epsilon *= 3) {
		struct pt_randomizer p = made(epsilon, 1e-9);
		struct es_law law;
		double sum = 0, square = 0, a = ldexp((double)p.shuffler.noise_decay, -64);

		assert_true(es_noise_law(
			&(struct es_noise){ p.shuffler.noise_decay, p.shuffler.noise_mean }, &law));
		assert_int_equal(law.first, 0);
		assert_int_equal(law.len, 2 * p.shuffler.noise_mean + 1);
		for (size_t i = 0; i < law.len; i++) {
			double l = (double)i - p.shuffler.noise_mean;
			assert_true(fabs(law.p[i] - law.p[law.len - 1 - i]) <= 0);
			if (i > p.shuffler.noise_mean)
				assert_true(fabs(law.p[i] / law.p[i - 1] / a - 1) < 1e-12);
			sum += law.p[i];
			square += l * l * law.p[i];
		}
		assert_true(fabs(sum - 1) < 1e-12);
		assert_true(fabs(es_noise_variance(&(struct es_noise){
					 p.shuffler.noise_decay, p.shuffler.noise_mean }) /
					    square -
				    1) < 1e-9);
		/* The variance of the whole discrete Laplace law, which cutting its ends hardly changes. */
		assert_true(fabs(es_noise_variance(&(struct es_noise){
					 p.shuffler.noise_decay, p.shuffler.noise_mean }) /
					    (2 * a / pow(1 - a, 2)) -
				    1) < 1e-4);
		assert_true(pt_noise_defect(&p) >= law.p[0]);
		assert_true(pt_noise_defect(&p) <= law.p[0] * (1 + 1e-9));
		es_law_fini(&law);
	}
}

/* delta(epsilon) of the pair of two bins, message by message, from the law alone. */
static double enumerated(const struct pt_randomizer *p, double epsilon)
{
	struct es_law law;
	double delta = 0;

	assert_true(
		es_noise_law(&(struct es_noise){ p->shuffler.noise_decay, p->shuffler.noise_mean }, &law));
	size_t len = law.len;
	for (size_t u = 0; u <= len; u++)
		for (size_t v = 0; v <= len; v++) {
			double here = u > 0 && v < len ? law.p[u - 1] * law.p[v] : 0,
			       there = u < len && v > 0 ? law.p[u] * law.p[v - 1] : 0;
			delta += fmax(here - exp(epsilon) * there, 0);
		}
	es_law_fini(&law);
	return delta;
}

static void the_accountant_says_what_enumeration_does(void **state)
{
	static const struct {
		double epsilon, delta;
	} row[] = { { 1, 1e-3 }, { 0.3, 1e-3 }, { 4, 1e-3 }, { 1, 1e-6 }, { 8, 1e-6 } };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
		struct pt_randomizer p = made(row[i].epsilon, row[i].delta);
		struct pt_loss loss;

		assert_int_equal(pt_loss(&p, 1000, &loss, &err), CM_OK);
		for (double e = 0; e < 1.2; e += 0.1) {
			struct acct_bound b;
			double truth = enumerated(&p, e * row[i].epsilon);
			assert_int_equal(acct_delta(loss.part, loss.parts, e * row[i].epsilon, &b), ACCT_OK);
			if (!(b.upper >= truth * (1 - 1e-12) && b.lower <= truth * (1 + 1e-12)))
				fail_msg("%g at %g: %.17g not in %.17g..%.17g", row[i].epsilon, e, truth,
					b.lower, b.upper);
			assert_true(b.upper - truth < 1e-4 * truth + 5e-8);
		}
	}
}

static void a_request_is_met_and_no_more(void **state)
{
	(void)state;
	for (double epsilon = 0.01; epsilon < 16; epsilon *= 2)
		for (double delta = 1e-3; delta > 1e-13; delta /= 100) {
			struct pt_randomizer p = made(epsilon, delta), q = p;

			assert_true(
				p.shuffler.noise_mean > 500 || enumerated(&p, epsilon) <= delta * (1 + 1e-9));
			assert_true(
				-2 * log(ldexp((double)p.shuffler.noise_decay, -64)) < epsilon * (1 + 1e-12));
			assert_true(
				-2 * log(ldexp((double)p.shuffler.noise_decay, -64)) > epsilon * (1 - 1e-12));
			assert_true(2 * pt_noise_defect(&p) <= delta);
			q.shuffler.noise_mean--;
			assert_true(2 * pt_noise_defect(&q) > delta ||
				    pow(ldexp((double)q.shuffler.noise_decay, -64), q.shuffler.noise_mean) >
					    PT_NOISE_END_MAX);
		}
	/* doc/protocols/categories.md: 36 a bin for (1, 1e-8). */
	assert_int_equal(made(1, 1e-8).shuffler.noise_mean, 36);
}

static void draws_have_the_law(void **state)
{
	enum { DRAWS = 200000 };
	struct pt_randomizer p = made(2, 1e-3);
	unsigned *count = calloc(2 * p.shuffler.noise_mean + 1, sizeof *count);
	struct cr_rng rng;
	struct cr_rng_seeded *g = seeded(1, &rng);
	struct es_law law;
	double square = 0;

	(void)state;
	assert_non_null(count);
	assert_true(es_noise_law(&(struct es_noise){ p.shuffler.noise_decay, p.shuffler.noise_mean }, &law));
	assert_int_equal(law.len, 15);
	for (unsigned i = 0; i < DRAWS; i++) {
		uint32_t n = pt_noise_draw(&p.shuffler, &rng);
		assert_true(n < law.len);
		count[n]++;
	}
	for (size_t i = 0; i < law.len; i++)
		square += pow(count[i] - DRAWS * law.p[i], 2) / (DRAWS * law.p[i]);
	/* Chi-square of 14 degrees: 43 is exceeded once in 12,000. */
	assert_true(square < 43);
	es_law_fini(&law);
	free(count);
	cr_rng_seeded_free(g);
}

static void a_dummy_is_of_the_bin_that_is_asked_for(void **state)
{
	const struct pt_protocol *row = pt_find("bins");
	struct pt_randomizer p = made(1, 1e-6);
	struct cr_rng rng;
	struct cr_rng_seeded *g = seeded(2, &rng);

	(void)state;
	for (uint32_t b = 0; b < p.mixbins.bins; b++) {
		uint64_t counts[4] = { 0 };
		uint8_t record[PT_RECORD_MAX];
		row->device->dummy(&p, b, &rng, record);
		assert_int_equal(row->tally(&p, record, counts, &err), CM_OK);
		assert_int_equal(counts[b], 1);
	}
	cr_rng_seeded_free(g);
}

static void the_answer_is_unbiased_and_its_intervals_cover(void **state)
{
	enum { RUNS = 10000 };
	static const uint64_t truth[4] = { 70, 30, 0, 1 };
	struct pt_randomizer p = made(1, 1e-6);
	struct cr_rng rng;
	struct cr_rng_seeded *g = seeded(3, &rng);
	double sum[4] = { 0 }, square[4] = { 0 },
	       variance =
		       es_noise_variance(&(struct es_noise){ p.shuffler.noise_decay, p.shuffler.noise_mean });
	unsigned within = 0, all = 0, below = 0;

	(void)state;
	for (unsigned i = 0; i < RUNS; i++) {
		struct es_estimate e;
		uint64_t counts[4];
		bool joint = true;

		for (unsigned b = 0; b < 4; b++)
			counts[b] = truth[b] + pt_noise_draw(&p.shuffler, &rng);
		assert_int_equal(pt_answer(&query, &p, counts, 101, &e, &err), CM_OK);
		for (unsigned b = 0; b < 4; b++) {
			double x = (double)truth[b];
			sum[b] += e.item[b].value - x;
			square[b] += pow(e.item[b].value - x, 2);
			within += e.item[b].lower <= x && x <= e.item[b].upper;
			joint &= e.item[b].joint_lower <= x && x <= e.item[b].joint_upper;
			assert_true(fabs(e.item[b].variance / variance - 1) < 1e-9);
			below += e.item[b].value < 0;
		}
		all += joint;
		es_estimate_fini(&e);
	}
	for (unsigned b = 0; b < 4; b++) {
		assert_true(fabs(sum[b]) < 4 * sqrt(variance * RUNS));
		assert_true(fabs(square[b] / RUNS / variance - 1) < 0.1);
	}
	/* A law of whole numbers: exact intervals cover at least what they say. */
	assert_in_range(within, (unsigned)(0.949 * 4 * RUNS), (unsigned)(0.98 * 4 * RUNS));
	assert_in_range(all, (unsigned)(0.947 * RUNS), (unsigned)(0.98 * RUNS));
	assert_true(below > RUNS / 3); /* estimates are not cut off at zero */
	assert_true(fabs(pt_expected_error(&query, &p, 101) / sqrt(variance) - 1) < 1e-9);
	cr_rng_seeded_free(g);
}

static void what_cannot_be_is_refused(void **state)
{
	const struct pt_protocol *row = pt_find("bins");
	const struct pt_randomizer good = made(1, 1e-6);
	static const struct {
		double epsilon, delta;
		uint32_t dummies;
		uint64_t shuffler;
	} bad[] = { { 0.0009, 1e-6, 0, 0 }, { 17, 1e-6, 0, 0 }, { 1, 0, 0, 0 }, { 1, 1, 0, 0 },
		{ 1, 1e-6, 1, 0 }, { 1, 1e-6, 0, 1 }, { NAN, 1e-6, 0, 0 }, { 1, NAN, 0, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct pt_randomizer p;
		const struct pt_request r = { .epsilon0 = INFINITY,
			.noise_epsilon = bad[i].epsilon,
			.noise_delta = bad[i].delta,
			.dummies = bad[i].dummies,
			.shuffler_dummies = bad[i].shuffler };
		if (pt_derive(row, &query, &r, &p, &err) != CM_ECONFIG)
			fail_msg("request %zu was taken", i);
	}
	for (unsigned i = 0; i < 9; i++) {
		struct pt_randomizer p = good;
		switch (i) {
		case 0:
			p.shuffler.noise_decay = 0;
			break;
		case 1:
			p.shuffler.noise_mean = 0;
			break;
		case 2:
			p.shuffler.noise_mean = 1;
			break; /* cut off at once */
		case 3:
			p.shuffler.noise_decay = UINT64_MAX;
			break; /* a draw would never end */
		case 4:
			p.shuffler.noise_mean = PT_NOISE_MEAN_MAX + 1;
			break;
		case 5:
			p.mixbins.dummies = 1;
			break;
		case 6:
			p.shuffler.dummies = 1;
			break;
		case 7:
			p.mixbins.keep_always = false;
			p.mixbins.keep = UINT64_C(3) << 62;
			break;
		default:
			pt_without_shuffler(&p);
			break;
		}
		if (row->device->check(&query, &p, &err) != CM_EPROTO)
			fail_msg("parameters %u were taken", i);
	}
}

static void a_count_of_bins_times_their_noise_is_limited(void **state)
{
	static char name[4096][8], *names[4096];
	struct qy_query q = query;
	struct pt_randomizer p;
	struct pt_request r = { .epsilon0 = INFINITY, .noise_epsilon = 0.1, .noise_delta = 1e-10 };

	(void)state;
	for (unsigned i = 0; i < 4096; i++) {
		(void)snprintf(name[i], sizeof name[i], "%u", i);
		names[i] = name[i];
	}
	q.category = names;
	q.categories = 4096;
	assert_int_equal(pt_derive(pt_find("bins"), &q, &r, &p, &err), CM_OK);
	assert_true(pt_shuffler_most(&p) <= PT_SHUFFLER_DUMMIES_MAX);
	r.noise_epsilon = 0.01;
	assert_int_equal(pt_derive(pt_find("bins"), &q, &r, &p, &err), CM_ECONFIG);
}

static void without_the_shuffler_there_is_no_guarantee(void **state)
{
	struct pt_randomizer p = made(1, 1e-6);
	struct pt_loss loss;
	struct acct_bound b;

	(void)state;
	assert_true(pt_rests_on_shuffler(&p));
	pt_without_shuffler(&p);
	assert_false(pt_rests_on_shuffler(&p));
	assert_int_equal(pt_loss(&p, 1000, &loss, &err), CM_OK);
	assert_int_equal(acct_epsilon(loss.part, loss.parts, 1e-3, &b), ACCT_OK);
	assert_true(isinf(b.upper));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_law_is_symmetric_falls_by_a_and_has_the_stated_variance),
		cmocka_unit_test(the_accountant_says_what_enumeration_does),
		cmocka_unit_test(a_request_is_met_and_no_more),
		cmocka_unit_test(draws_have_the_law),
		cmocka_unit_test(a_dummy_is_of_the_bin_that_is_asked_for),
		cmocka_unit_test(the_answer_is_unbiased_and_its_intervals_cover),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(a_count_of_bins_times_their_noise_is_limited),
		cmocka_unit_test(without_the_shuffler_there_is_no_guarantee),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
