/* test_mixbins.c - the shared randomizer: exact thresholds, exact outcomes, exact cells. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "es_law.h"
#include "es_project.h"
#include "pt_levels_analysis.h"
#include "pt_mixbins_analysis.h"
#include "pt_record.h"
#include "scripted_rng.h"

static struct pt_randomizer made(uint32_t bins, double epsilon0, uint32_t dummies)
{
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	assert_int_equal(pt_mixbins_derive(pt_find("mixbins"), bins, epsilon0, dummies, &p, &err), CM_OK);
	return p;
}

static const uint32_t some_bins[] = { 2, 3, 7, 64, 1000, 4096 };
static const double some_epsilons[] = { 0.01, 0.1, 0.5, 1, 1.5, 2, 3.7, 8, 12.25, 16 };

/* The threshold is below the real number, by at most 2^-50 of the distance to 1. */
static void the_keep_probability_is_below_the_ideal_one_and_close(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof some_bins / sizeof some_bins[0]; i++) {
		for (size_t j = 0; j < sizeof some_epsilons / sizeof some_epsilons[0]; j++) {
			struct pt_randomizer p = made(some_bins[i], some_epsilons[j], 0);
			long double odds = expl((long double)some_epsilons[j]);
			/* 1 - ideal: the error is best seen relative to it */
			long double flip = (some_bins[i] - 1) / (odds + some_bins[i] - 1);
			long double got = ldexpl((long double)(UINT64_C(0) - p.mixbins.keep), -64);

			assert_true(got > flip);
			assert_true(got - flip < ldexpl(1, -56));
		}
	}
}

static void the_local_guarantee_is_at_most_what_was_asked(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof some_bins / sizeof some_bins[0]; i++) {
		for (double e = 0.01; e <= 16; e += 0.00731) {
			struct pt_randomizer p = made(some_bins[i], e, 0);
			long double truth = logl((long double)p.mixbins.keep) + logl(some_bins[i] - 1.0L) -
					    logl((long double)(UINT64_C(0) - p.mixbins.keep));

			assert_true(pt_mixbins_epsilon0(&p) <= e);
			assert_true(pt_mixbins_epsilon0(&p) > e * (1 - 1e-9));
			/* logl errs by less than an ulp of its largest term. */
			assert_true(pt_mixbins_epsilon0(&p) > truth - 100 * LDBL_EPSILON);
		}
	}
}

static void parameters_out_of_range_are_refused(void **state)
{
	static const struct {
		uint32_t bins;
		double epsilon0;
		uint32_t dummies;
		const char *said;
	} bad[] = { { 1, 1, 0, "1 bins, must be 2 to 4096" }, { 0, 1, 0, "0 bins" },
		{ 4097, 1, 0, "4097 bins" }, { 2, 0, 0, "epsilon0 must be above 0" },
		{ 2, -1, 0, "epsilon0 must" }, { 2, 16.001, 0, "epsilon0 must" },
		{ 2, (double)NAN, 0, "epsilon0 must" }, { 2, (double)-INFINITY, 1, "epsilon0 must" },
		{ 2, 1e-18, 0, "too small to say anything" },
		{ 2, (double)INFINITY, 0, "there is no privacy without" },
		{ 2, 1, 1024, "dummies must be at most 1023" } };
	struct pt_randomizer p = { .mixbins.bins = 77 };
	struct cm_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(pt_mixbins_derive(pt_find("grr"), bad[i].bins, bad[i].epsilon0,
					 bad[i].dummies, &p, &err),
			CM_ECONFIG);
		assert_non_null(strstr(err.msg, bad[i].said));
		assert_int_equal(p.mixbins.bins, 77);
	}
}

static void parameters_that_no_plan_gives_are_refused(void **state)
{
	const struct pt_randomizer good = made(4, 1, 2), always = made(4, INFINITY, 2);
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(pt_mixbins_check(&good, &err), CM_OK);
	assert_int_equal(pt_mixbins_check(&always, &err), CM_OK);
	/* A threshold of 1/4 says nothing, and one more says hardly anything; ln(P/Q) is some 16/3 times P's
	 * distance above 1/4. */
	p = good;
	p.mixbins.keep = UINT64_C(1) << 62;
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
	p.mixbins.keep++;
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
	p.mixbins.keep = (UINT64_C(1) << 62) + (uint64_t)ldexp(0.999e-6 * 3 / 16, 64);
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
	p.mixbins.keep = (UINT64_C(1) << 62) + (uint64_t)ldexp(1.001e-6 * 3 / 16, 64);
	assert_int_equal(pt_mixbins_check(&p, &err), CM_OK);
	p.mixbins.keep = 0;
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
	p.mixbins.keep = UINT64_MAX;
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
	assert_string_equal(err.msg, "mixbins: epsilon0 above 16");
	p = always;
	p.mixbins.keep = 5;
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
	p = always;
	p.mixbins.dummies = 0;
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
	assert_string_equal(err.msg, "mixbins: no noise of any kind: there would be no privacy");
	p = good;
	p.mixbins.dummies = 1024;
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
	p = good;
	p.mixbins.bins = 1;
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
	p.mixbins.bins = 4097;
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
}

/* One message of a client without dummies, from the draws keep, other. */
static uint32_t report(const struct pt_randomizer *p, uint64_t x, uint64_t keep, uint64_t other)
{
	uint64_t script[] = { keep, other };
	struct scripted_rng s = { .script = script, .len = 2, .fallback = SCRIPT_END };
	struct cr_rng rng = scripted_rng(&s);
	uint8_t record[PT_RECORD_LEN];
	struct cm_err err = { 0 };
	uint32_t bin;

	pt_mixbins_encode(&p->mixbins, x, &rng, record);
	assert_int_equal(pt_record_get(record, p->mixbins.bins, &bin, &err), CM_OK);
	return bin;
}

/* Of all 2^64 first draws those below `keep` give x and the others do not; each of the k-1 results of the
 * second draw gives another one of the other bins.  That is the whole law of the randomizer: keep / 2^64, and
 * the rest in equal parts. */
static void the_law_of_a_report_is_the_integer_threshold_exactly(void **state)
{
	(void)state;
	for (uint32_t k = 2; k <= 9; k++) {
		struct pt_randomizer p = made(k, 1.5, 0);

		for (uint32_t x = 0; x < k; x++) {
			bool hit[9] = { false };

			for (uint32_t o = 0; o + 1 < k; o++) {
				uint64_t draw = draw_for(o, k - 1);
				uint32_t y = report(&p, x, p.mixbins.keep, draw);

				assert_int_equal(report(&p, x, 0, draw), x);
				assert_int_equal(report(&p, x, p.mixbins.keep - 1, draw), x);
				assert_int_equal(report(&p, x, UINT64_MAX, draw), y);
				assert_true(y < k && y != x && !hit[y]);
				hit[y] = true;
			}
		}
	}
}

static void a_value_that_is_always_kept_is_there_among_the_dummies(void **state)
{
	struct pt_randomizer p = made(5, INFINITY, 3);
	uint8_t records[4 * PT_RECORD_LEN];
	struct cm_err err = { 0 };

	(void)state;
	/* Try every place and value: the script's dummies stand everywhere else, in their order. */
	for (uint64_t place = 0; place < 4; place++) {
		for (uint32_t x = 0; x < 5; x++) {
			uint64_t script[] = { draw_for(place, 4), draw_for(0, 5), draw_for(1, 5),
				draw_for(2, 5), draw_for(3, 5) };
			struct scripted_rng s = { .script = script, .len = 5 };
			struct cr_rng rng = scripted_rng(&s);

			pt_mixbins_encode(&p.mixbins, x, &rng, records);
			assert_int_equal(s.used, 5);
			for (uint32_t i = 0; i < 4; i++) {
				uint32_t bin;

				assert_int_equal(pt_record_get(records + i * PT_RECORD_LEN, p.mixbins.bins,
							 &bin, &err),
					CM_OK);
				assert_int_equal(bin, i == place ? x : i);
			}
		}
	}
}

/* Nothing of the value or of the outcome shows in how much randomness is used. */
static void every_value_and_outcome_uses_the_same_number_of_draws(void **state)
{
	struct pt_randomizer p = made(7, 2, 4);
	uint8_t records[5 * PT_RECORD_LEN];

	(void)state;
	for (uint64_t x = 0; x < 7; x++) {
		const uint64_t first[] = { 0, p.mixbins.keep - 1, p.mixbins.keep, UINT64_MAX };

		for (size_t i = 0; i < 4; i++) {
			struct scripted_rng s = { .script = &first[i], .len = 1, .fallback = SCRIPT_END };
			struct cr_rng rng = scripted_rng(&s);

			pt_mixbins_encode(&p.mixbins, x, &rng, records);
			assert_int_equal(s.used, 1 + 1 + 1 + 5);
		}
	}
}

/* omega = inf_x R_x, u = R_0/omega, v = R_1/omega, cells where (u, v) is constant: from the law itself. */
static void cells_are_the_infimum_of_the_output_laws_and_its_ratios(void **state)
{
	(void)state;
	for (uint32_t k = 2; k <= 9; k++) {
		struct pt_randomizer p = made(k, 2.25, 3);
		long double keep = ldexpl((long double)p.mixbins.keep, -64), law[9][9], mass[3] = { 0 };
		struct acct_round round;
		struct cm_err err = { 0 };
		const char *why;

		for (uint32_t x = 0; x < k; x++) {
			for (uint32_t y = 0; y < k; y++)
				law[x][y] = x == y ? keep : (1 - keep) / (k - 1);
		}
		assert_int_equal(pt_mixbins_cells(&p, 1000, &round, &err), CM_OK);
		assert_int_equal(acct_round_check(&round, &why), ACCT_OK);
		assert_int_equal(round.cells, k == 2 ? 2 : 3);
		for (uint32_t y = 0; y < k; y++) {
			uint32_t cell = y < 2 ? y : 2;
			long double omega = law[0][y];

			for (uint32_t x = 0; x < k; x++)
				omega = fminl(omega, law[x][y]);
			mass[cell] += omega;
			/* The cells' loss is never less than the law's, and no more than rounding adds. */
			assert_true(
				fabsl(round.cell[cell].u - law[0][y] / omega) < 1e-15L * round.cell[cell].u);
			assert_true(
				fabsl(round.cell[cell].v - law[1][y] / omega) < 1e-15L * round.cell[cell].v);
			if (y < 2)
				assert_true(fmaxl(round.cell[cell].u, round.cell[cell].v) >=
					    keep / ((1 - keep) / (k - 1)));
		}
		for (size_t i = 0; i < round.cells; i++) {
			assert_true(round.cell[i].omega <= mass[i]);
			assert_true(round.cell[i].omega > mass[i] * (1 - 1e-15L));
		}
		assert_true(round.others == 999 && round.dummies == 3000 && round.count == 1);
	}
}

static void without_a_local_guarantee_only_dummies_are_blanket(void **state)
{
	(void)state;
	for (uint32_t k = 2; k <= 4096; k = k < 64 ? k + 1 : k * 4) {
		struct pt_randomizer p = made(k, INFINITY, 5);
		struct acct_round round;
		struct cm_err err = { 0 };
		const char *why;

		assert_int_equal(pt_mixbins_cells(&p, 200, &round, &err), CM_OK);
		assert_int_equal(acct_round_check(&round, &why), ACCT_OK);
		assert_true(round.others == 0 && round.dummies == 1000);
		assert_true(round.cell[0].u == k && round.cell[0].v == 0);
		assert_true(round.cell[1].u == 0 && round.cell[1].v == k);
		assert_true(fabs(round.cell[0].omega * k - 1) < 1e-15);
		assert_true(round.cells == 2 || (round.cell[2].u == 0 && round.cell[2].v == 0));
		assert_true(isinf(pt_mixbins_epsilon0(&p)));
	}
}

static void participants_beyond_the_accountants_range_are_refused(void **state)
{
	struct pt_randomizer p = made(3, 1, 1000);
	struct acct_round round;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(pt_mixbins_cells(&p, 0, &round, &err), CM_EPROTO);
	assert_int_equal(pt_mixbins_cells(&p, UINT64_MAX, &round, &err), CM_EPROTO);
	assert_int_equal(pt_mixbins_cells(&p, 1000000000, &round, &err), CM_EPROTO);
	assert_int_equal(pt_mixbins_cells(&p, 900000000, &round, &err), CM_OK);
	assert_int_equal(pt_mixbins_cells(&p, 1, &round, &err), CM_OK);
	assert_true(round.others == 0 && round.dummies == 1000);
}

static void a_record_has_one_encoding_and_anything_else_is_refused(void **state)
{
	static const uint8_t want[PT_RECORD_LEN] = { 1, 0, 0, 0, 0, 0, 0, 0, 0x34, 0x12 };
	struct cm_err err = { 0 };
	uint8_t record[PT_RECORD_LEN];
	uint32_t bin = 9;

	(void)state;
	pt_record_put(record, 0x1234);
	assert_memory_equal(record, want, sizeof want);
	assert_int_equal(pt_record_get(record, 4096 * 2, &bin, &err), CM_OK);
	assert_int_equal(bin, 0x1234);
	assert_int_equal(pt_record_get(record, 0x1234, &bin, &err), CM_EDATA);
	/* Change any bit of the first eight bytes, and any bit that leaves the bins. */
	for (size_t bit = 0; bit < 64; bit++) {
		memcpy(record, want, sizeof want);
		record[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(pt_record_get(record, 8192, &bin, &err), CM_EDATA);
	}
	for (size_t bit = 64 + 13; bit < 128; bit++) {
		memcpy(record, want, sizeof want);
		record[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(pt_record_get(record, 8192, &bin, &err), CM_EDATA);
	}
	assert_int_equal(bin, 0x1234);
}

/* Exactly `frac` of the 2^32 draws round up: the mean is x*b exactly. */
static void a_number_is_rounded_to_a_level_with_its_exact_mean(void **state)
{
	static const uint64_t xs[] = { 0, 1, 0x7fffffff, 0x80000000, 0x12345678, 0xffffffff, 0x100000000 };

	(void)state;
	for (uint32_t b = 1; b <= 4095; b = b * 3 + 1) {
		for (size_t i = 0; i < sizeof xs / sizeof xs[0]; i++) {
			uint64_t whole = xs[i] * b >> 32, part = xs[i] * b & UINT32_MAX;
			struct scripted_rng s = { .fallback = 0 };
			struct cr_rng rng = scripted_rng(&s);

			/* The high half of the draw decides; a part of its 2^32 values rounds up. */
			s.fallback = part == 0 ? 0 : ((part - 1) << 32) + UINT32_MAX;
			assert_int_equal(pt_levels_round(xs[i], b, &rng), whole + (part != 0));
			s.fallback = part << 32;
			assert_int_equal(pt_levels_round(xs[i], b, &rng), whole);
			s.fallback = UINT64_MAX;
			assert_int_equal(pt_levels_round(xs[i], b, &rng), whole);
			assert_true(whole + (part != 0) <= b);
			assert_int_equal(s.used, 3);
		}
	}
}

static void levels_are_few_at_a_strong_guarantee_and_more_at_a_weak_one(void **state)
{
	(void)state;
	/* Duchi's one bit is best at a small epsilon0; without one, b = (6n/V)^(1/3) within 4..64. */
	assert_int_equal(pt_levels_choose(0.5, 0, 10000), 2);
	assert_true(pt_levels_choose(6, 0, 10000) > pt_levels_choose(2, 0, 10000));
	assert_int_equal(pt_levels_choose(INFINITY, 1, 10), 5);
	assert_int_equal(pt_levels_choose(INFINITY, 1, 10333), 11);
	assert_int_equal(pt_levels_choose(INFINITY, 1, UINT64_C(1) << 40), 65);
}

/* Binomial(4, 1/2) by hand, and a long one by its moments. */
static void binomial_laws_have_their_probabilities_and_quantiles(void **state)
{
	struct es_law law, sum;
	double mean = 0, square = 0, total = 0;

	(void)state;
	assert_true(es_law_binomial(&law, 4, 0.5));
	assert_true(fabs(es_law_at_least(&law, 3) - 5.0 / 16) < 1e-15);
	assert_true(fabs(es_law_at_most(&law, 0) - 1.0 / 16) < 1e-15);
	assert_int_equal(es_law_upper(&law, 0.07), 3);
	assert_int_equal(es_law_upper(&law, 0.06), 4);
	assert_int_equal(es_law_lower(&law, 0.07), 1);
	assert_int_equal(es_law_lower(&law, 0.06), 0);
	assert_true(es_law_sum(&sum, &law, &law));
	/* Binomial(8, 1/2): 28 of 256 at 2. */
	assert_true(fabs(sum.p[2] - 28.0 / 256) < 1e-15);
	es_law_fini(&sum);
	es_law_fini(&law);
	assert_true(es_law_binomial(&law, UINT64_C(10000000000), 1e-8));
	for (size_t i = 0; i < law.len; i++) {
		double x = (double)law.first + (double)i;

		total += law.p[i];
		mean += x * law.p[i];
		square += x * x * law.p[i];
	}
	assert_true(fabs(total - 1) < 1e-12 && fabs(mean - 100) < 1e-9);
	assert_true(fabs(square - mean * mean - 100) < 1e-5);
	es_law_fini(&law);
	assert_true(es_law_binomial(&law, 5, 0));
	assert_true(law.len == 1 && law.first == 0);
	es_law_fini(&law);
	assert_true(es_law_binomial(&law, 5, 1));
	assert_true(law.len == 1 && law.first == 5);
	es_law_fini(&law);
	assert_false(es_law_binomial(&law, UINT64_C(100000000000), 0.5));
	es_law_fini(&law);
}

static void normal_quantiles_are_the_tables(void **state)
{
	(void)state;
	assert_true(fabs(es_normal_upper(0.025) - 1.959963984540054) < 1e-14);
	assert_true(fabs(es_normal_upper(0.5)) < 1e-14);
	assert_true(fabs(es_normal_upper(1e-9) - 5.997807015007687) < 1e-12);
}

static void projection_is_the_nearest_point_of_the_simplex(void **state)
{
	double inside[] = { 1, 2, 7 }, negative[] = { 12, -2, 0 }, far[] = { -5, -5 }, one[] = { 3 };
	double v[] = { 6, 5, -1 };

	(void)state;
	assert_true(es_project_simplex(inside, 3, 10));
	assert_true(inside[0] == 1 && inside[1] == 2 && inside[2] == 7);
	assert_true(es_project_simplex(negative, 3, 10));
	assert_true(negative[0] == 10 && negative[1] == 0 && negative[2] == 0);
	/* By hand: both of 6, 5 lose 0.5. */
	assert_true(es_project_simplex(v, 3, 10));
	assert_true(v[0] == 5.5 && v[1] == 4.5 && v[2] == 0);
	assert_true(es_project_simplex(far, 2, 4));
	assert_true(far[0] == 2 && far[1] == 2);
	assert_true(es_project_simplex(one, 1, 5));
	assert_true(one[0] == 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normal_quantiles_are_the_tables),
		cmocka_unit_test(binomial_laws_have_their_probabilities_and_quantiles),
		cmocka_unit_test(projection_is_the_nearest_point_of_the_simplex),
		cmocka_unit_test(a_record_has_one_encoding_and_anything_else_is_refused),
		cmocka_unit_test(the_keep_probability_is_below_the_ideal_one_and_close),
		cmocka_unit_test(the_local_guarantee_is_at_most_what_was_asked),
		cmocka_unit_test(parameters_out_of_range_are_refused),
		cmocka_unit_test(parameters_that_no_plan_gives_are_refused),
		cmocka_unit_test(the_law_of_a_report_is_the_integer_threshold_exactly),
		cmocka_unit_test(a_value_that_is_always_kept_is_there_among_the_dummies),
		cmocka_unit_test(every_value_and_outcome_uses_the_same_number_of_draws),
		cmocka_unit_test(cells_are_the_infimum_of_the_output_laws_and_its_ratios),
		cmocka_unit_test(without_a_local_guarantee_only_dummies_are_blanket),
		cmocka_unit_test(participants_beyond_the_accountants_range_are_refused),
		cmocka_unit_test(a_number_is_rounded_to_a_level_with_its_exact_mean),
		cmocka_unit_test(levels_are_few_at_a_strong_guarantee_and_more_at_a_weak_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
