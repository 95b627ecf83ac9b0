/* test_acct_domain.c - the accountant refuses what is outside its ranges, and says why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <string.h>

#include "acct.h"

static struct acct_round valid(void)
{
	struct acct_round r = { .others = 99, .count = 1 };
	const char *why = NULL;

	assert_int_equal(acct_cells_pair(3, 0.25, 3, 1, &r, &why), ACCT_OK);
	return r;
}

static void refuses(const struct acct_round *r, const char *part)
{
	struct acct_bound eps = { -1, -1 };
	const char *why = "";

	assert_int_equal(acct_round_check(r, &why), ACCT_EDOMAIN);
	assert_non_null(strstr(why, part));
	assert_int_equal(acct_epsilon(r, 1, 1e-6, &eps), ACCT_EDOMAIN);
	assert_true(eps.lower == -1 && eps.upper == -1);
	assert_int_equal(acct_delta(r, 1, 0.1, &eps), ACCT_EDOMAIN);
	assert_true(eps.lower == -1 && eps.upper == -1);
}

static void a_valid_round_is_accepted(void **state)
{
	struct acct_round r = valid();
	const char *why = NULL;

	(void)state;
	assert_int_equal(acct_round_check(&r, &why), ACCT_OK);
}

static void a_delta_outside_0_to_1_is_refused(void **state)
{
	static const double bad[] = { 0, 1, -1e-9, 2, NAN, INFINITY, -INFINITY };
	struct acct_round r = valid();

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct acct_bound eps = { -1, -1 };

		assert_int_equal(acct_epsilon(&r, 1, bad[i], &eps), ACCT_EDOMAIN);
		assert_true(eps.lower == -1 && eps.upper == -1);
	}
}

static void a_negative_or_undefined_epsilon_is_refused(void **state)
{
	static const double bad[] = { -1e-12, -1, NAN, -INFINITY };
	struct acct_round r = valid();

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct acct_bound delta = { -1, -1 };

		assert_int_equal(acct_delta(&r, 1, bad[i], &delta), ACCT_EDOMAIN);
		assert_true(delta.lower == -1 && delta.upper == -1);
	}
}

static void a_delta_below_the_certified_floor_is_not_answered(void **state)
{
	struct acct_round r = valid();
	struct acct_bound eps = { -1, -1 };

	(void)state;
	assert_int_equal(acct_epsilon(&r, 1, 1e-250, &eps), ACCT_EPRECISION);
	assert_true(eps.upper == -1);
}

static void no_rounds_and_too_many_rounds_are_refused(void **state)
{
	static struct acct_round many[1025];
	struct acct_bound eps;

	(void)state;
	for (size_t i = 0; i < 1025; i++)
		many[i] = valid();
	assert_int_equal(acct_epsilon(many, 0, 1e-6, &eps), ACCT_EDOMAIN);
	assert_int_equal(acct_delta(many, 0, 1, &eps), ACCT_EDOMAIN);
	assert_int_equal(acct_epsilon(many, 1025, 1e-6, &eps), ACCT_ELIMIT);
}

static void a_count_of_zero_or_beyond_the_limit_is_refused(void **state)
{
	struct acct_round r = valid();

	(void)state;
	r.count = 0;
	refuses(&r, "count");
	r.count = ACCT_MAX_COUNT + 1;
	refuses(&r, "count");
	r.count = UINT64_MAX;
	refuses(&r, "count");
}

static void reports_that_overflow_are_refused(void **state)
{
	struct acct_round r = valid();

	(void)state;
	r.others = ACCT_MAX_REPORTS + 1;
	refuses(&r, "others");
	r.others = UINT64_MAX;
	r.dummies = 1;
	refuses(&r, "others");
	r.others = 1;
	r.dummies = UINT64_MAX;
	refuses(&r, "others");
	r.others = r.dummies = ACCT_MAX_REPORTS / 2 + 1;
	refuses(&r, "others");
}

static void a_level_outside_its_ranges_is_refused(void **state)
{
	static const double bad[] = { 0, -0.5, NAN, INFINITY, 1.3 };
	struct acct_round r = valid(); /* half of all reports are blanket, so shares may go up to 1.2 */
	double blanket = r.cell[0].omega + r.cell[1].omega + r.cell[2].omega;

	(void)state;
	r.levels = 2;
	r.level[0] = (struct acct_level){ 1 / blanket, 5 };
	r.level[1] = (struct acct_level){ 1e-9, 0 };
	assert_int_equal(acct_round_check(&r, NULL), ACCT_OK);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		r.level[1].share = bad[i] > 1 ? 1.001 / blanket : bad[i];
		refuses(&r, "share");
	}
	r.level[1] = (struct acct_level){ 0.5, ACCT_MAX_REPORTS - 5 };
	refuses(&r, "levels");
	r.level[1].count = UINT64_MAX;
	refuses(&r, "levels");
	r.levels = ACCT_MAX_LEVELS + 1;
	refuses(&r, "64 levels");
}

static void a_defect_outside_0_to_1_is_refused(void **state)
{
	static const double bad[] = { -1e-300, 1, 2, NAN, INFINITY };
	struct acct_round r = valid();

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		r.defect = bad[i];
		refuses(&r, "defect");
	}
}

static void a_sampled_fraction_outside_0_to_1_is_refused(void **state)
{
	static const double bad[] = { -1e-300, 1, 2, NAN, INFINITY };
	struct acct_round r = valid();

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		r.sampling = bad[i];
		refuses(&r, "sampling");
	}
	r.sampling = 1e-300; /* hardly anybody is ever drawn */
	struct acct_bound d;
	assert_int_equal(acct_delta(&r, 1, 0, &d), ACCT_OK);
	assert_true(d.upper < 1e-10);
	assert_int_equal(acct_epsilon(&r, 1, 1e-6, &d), ACCT_OK);
	assert_true(d.upper < 1e-10);
}

static void a_cell_count_outside_1_to_64_is_refused(void **state)
{
	struct acct_round r = valid();

	(void)state;
	r.cells = 0;
	refuses(&r, "cell");
	r.cells = ACCT_MAX_CELLS + 1;
	refuses(&r, "cell");
	r.cells = SIZE_MAX;
	refuses(&r, "cell");
}

static void a_cell_that_is_no_density_is_refused(void **state)
{
	static const double bad_omega[] = { 0, -0.1, 1.1, NAN, INFINITY };
	static const double bad_ratio[] = { -1e-9, NAN, INFINITY, -INFINITY };

	(void)state;
	for (size_t i = 0; i < sizeof bad_omega / sizeof *bad_omega; i++) {
		struct acct_round r = valid();

		r.cell[1].omega = bad_omega[i];
		refuses(&r, "omega");
	}
	for (size_t i = 0; i < sizeof bad_ratio / sizeof *bad_ratio; i++) {
		struct acct_round r = valid();

		r.cell[1].u = bad_ratio[i];
		refuses(&r, "u and v");
		r = valid();
		r.cell[2].v = bad_ratio[i];
		refuses(&r, "u and v");
	}
}

static void cells_that_sum_to_more_than_one_are_refused(void **state)
{
	struct acct_round r = { .cells = 2, .count = 1, .cell = { { 0.6, 1, 1 }, { 0.6, 0.5, 0.5 } } };

	(void)state;
	refuses(&r, "at most 1");
}

static void input_laws_that_do_not_sum_to_one_are_refused(void **state)
{
	struct acct_round r = valid();

	(void)state;
	r.cell[0].u *= 1.001;
	refuses(&r, "omega*u");
	r = valid();
	r.cell[0].v *= 0.999;
	refuses(&r, "omega*v");
}

/* 1.3 2^-1060 is a multiple of 2^-1074, and omega*u was off by a hundred-thousandth. */
static void an_omega_has_all_digits_of_a_double(void **state)
{
	const struct acct_cell normal = { DBL_MIN, 0x1p960, 0 }, subnormal = { 0x1.4cccp-1060, 0x1p1000, 0 };
	struct acct_round r = { .cells = 3, .count = 1, .others = 1 };
	struct acct_bound delta;

	(void)state;
	r.cell[1] = (struct acct_cell){ 0.5, 1, 1 };
	r.cell[2] = (struct acct_cell){ 0.25, 2, 2 };
	r.cell[0] = subnormal;
	refuses(&r, "omega of every cell");
	r.cell[0] = normal;
	assert_int_equal(acct_delta(&r, 1, 1, &delta), ACCT_OK);
	assert_true(delta.lower <= 0x1p-62 && 0x1p-62 <= delta.upper && delta.upper < 0x1p-62 * (1 + 1e-6));
}

static void pair_parameters_outside_their_ranges_are_refused(void **state)
{
	static const struct {
		double p, beta, q, q2;
		const char *part;
	} bad[] = {
		{ 1, 0.1, 2, 2, "p must" }, { 0.5, 0.1, 2, 2, "p must" }, { -INFINITY, 0.1, 2, 2, "p must" },
		{ NAN, 0.1, 2, 2, "p must" }, { 3, 0.5000001, 3, 3, "beta" }, /* (p-1)/(p+1) = 1/2 */
		{ 3, 0, 3, 3, "beta" }, { 3, -0.1, 3, 3, "beta" }, { 3, NAN, 3, 3, "beta" },
		{ INFINITY, 1.01, 3, 3, "beta" }, { 3, 0.25, 1.2, 1.2, "q must" }, /* 1 + beta = 1.25 */
		{ 3, 0.25, INFINITY, 3, "q must" }, { 3, 0.25, NAN, 3, "q must" }, { 3, 0.25, 3, 3.1, "q2" },
		{ 3, 0.25, 3, 0, "q2" }, { 3, 0.25, 3, -1, "q2" }, { 3, 0.25, 3, NAN, "q2" },
		{ 3, 0.25, 3, 0.5, "q2 is too small" }, /* 2*0.375/3 + 0.5/0.5 > 1 */
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct acct_round r = { .cells = 7 };
		const char *why = "";

		assert_int_equal(
			acct_cells_pair(bad[i].p, bad[i].beta, bad[i].q, bad[i].q2, &r, &why), ACCT_EDOMAIN);
		assert_non_null(strstr(why, bad[i].part));
		assert_int_equal(r.cells, 7);
		assert_int_equal(
			acct_cells_pair(bad[i].p, bad[i].beta, bad[i].q, bad[i].q2, &r, NULL), ACCT_EDOMAIN);
	}
}

static void a_local_epsilon_outside_0_to_700_is_refused(void **state)
{
	static const double bad[] = { 0, -1, 700, INFINITY, NAN };
	struct acct_round r;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(acct_cells_generic(bad[i], &r, NULL), ACCT_EDOMAIN);
}

static void every_result_has_words(void **state)
{
	(void)state;
	for (int rc = ACCT_OK; rc <= ACCT_ENOMEM; rc++)
		assert_true(strlen(acct_strerror((enum acct_rc)rc)) > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_valid_round_is_accepted),
		cmocka_unit_test(a_delta_outside_0_to_1_is_refused),
		cmocka_unit_test(a_negative_or_undefined_epsilon_is_refused),
		cmocka_unit_test(a_delta_below_the_certified_floor_is_not_answered),
		cmocka_unit_test(no_rounds_and_too_many_rounds_are_refused),
		cmocka_unit_test(a_count_of_zero_or_beyond_the_limit_is_refused),
		cmocka_unit_test(reports_that_overflow_are_refused),
		cmocka_unit_test(a_level_outside_its_ranges_is_refused),
		cmocka_unit_test(a_defect_outside_0_to_1_is_refused),
		cmocka_unit_test(a_sampled_fraction_outside_0_to_1_is_refused),
		cmocka_unit_test(a_cell_count_outside_1_to_64_is_refused),
		cmocka_unit_test(a_cell_that_is_no_density_is_refused),
		cmocka_unit_test(cells_that_sum_to_more_than_one_are_refused),
		cmocka_unit_test(input_laws_that_do_not_sum_to_one_are_refused),
		cmocka_unit_test(an_omega_has_all_digits_of_a_double),
		cmocka_unit_test(pair_parameters_outside_their_ranges_are_refused),
		cmocka_unit_test(a_local_epsilon_outside_0_to_700_is_refused),
		cmocka_unit_test(every_result_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
