/* test_acct_gspa.c - personalised participants: reference values, and where the paper is below the truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "acct_gspa.h"
#include "csv.h"
#include "params.h"

#define MOST_CLASSES 10000

static struct acct_gspa_class cls[MOST_CLASSES];

/* n classes of one participant each, with epsilons by the table's law. */
static size_t fill(const char *params, double delta)
{
	double n = params_number(params, "n"), low = params_number(params, "lo"),
	       high = params_number(params, "hi");

	assert_in_range((size_t)n, 2, MOST_CLASSES);
	for (size_t i = 0; i < (size_t)n; i++) {
		double at = (double)i, epsilon = low;

		if (params_is(params, "law", "grid"))
			epsilon = low + (high - low) * (at + 0.5) / n;
		else if (params_is(params, "law", "mixed"))
			epsilon = at < n / 2 ? low : high;
		else
			assert_true(params_is(params, "law", "const"));
		cls[i] = (struct acct_gspa_class){ epsilon, delta, 1 };
	}
	return (size_t)n;
}

static size_t boldest(size_t n)
{
	size_t who = 0;

	for (size_t i = 0; i < n; i++)
		if (cls[i].epsilon > cls[who].epsilon)
			who = i;
	return who;
}

static double general(const char *params)
{
	double e = params_number(params, "eps_i"), d = params_number(params, "delta_i"), delta;
	struct acct_gspa_class victim = { e, d, 1 },
			       others = { e, d, (uint64_t)params_number(params, "n") - 1 };

	assert_int_equal(
		acct_gspa_general_delta(&victim, &others, 1, 1, params_number(params, "eps"), &delta, NULL),
		ACCT_OK);
	return delta;
}

/* The answer to a row, as an interval; false for a method that is not known. */
static int answer(const char *method, const char *params, double delta, struct acct_bound *got)
{
	double mu = 0, value = 0;

	if (strcmp(method, "general_delta") == 0) {
		got->lower = got->upper = general(params);
		return 1;
	}
	size_t n = fill(params, params_number(params, "delta_i"));
	if (strcmp(method, "exact_canonical_pair_victim_max_eps") == 0) {
		assert_int_equal(acct_gspa_epsilon(cls, n, boldest(n), delta, got, NULL), ACCT_OK);
		return 1;
	}
	if (strcmp(method, "shift_pair") == 0) {
		assert_int_equal(acct_gspa_shift_epsilon(cls, n, delta, got, NULL), ACCT_OK);
		return 1;
	}
	uint64_t count = params_text(params, "T") ? (uint64_t)params_number(params, "T") : 1;
	if (strcmp(method, "pld_compose") == 0) {
		struct acct_round r;

		assert_int_equal(acct_gspa_round(cls, n, 2, boldest(n), &r, NULL), ACCT_OK);
		r.count = count;
		assert_int_equal(acct_epsilon(&r, 1, delta, got), ACCT_OK);
		return 1;
	}
	if (strcmp(method, "mu") != 0 && strcmp(method, "gdp_eps") != 0 && strcmp(method, "gdp_compose") != 0)
		return 0;
	assert_int_equal(acct_gspa_mu(cls, n, count, &mu, NULL), ACCT_OK);
	value = mu;
	if (strcmp(method, "mu") != 0)
		assert_int_equal(acct_gspa_gaussian_epsilon(mu, delta, &value, NULL), ACCT_OK);
	got->lower = got->upper = value;
	return 1;
}

static void every_row_is_reproduced(void **state)
{
	struct csv c;
	size_t rows = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/bounds.csv"));
	while (csv_next(&c)) {
		struct acct_bound got = { 0, 0 };
		double value = atof(csv_get(&c, "value")), rtol = atof(csv_get(&c, "rtol"));

		if (strcmp(csv_get(&c, "section"), "gspa") != 0)
			continue;
		if (!answer(csv_get(&c, "method"), csv_get(&c, "params"), atof(csv_get(&c, "delta")), &got))
			fail_msg("%s: no such method", csv_get(&c, "id"));
		if (!(fabs(got.upper / value - 1) <= rtol && fabs(got.lower / value - 1) <= rtol))
			fail_msg("%s: [%.15g, %.15g], want %.15g", csv_get(&c, "id"), got.lower, got.upper,
				value);
		rows++;
	}
	fclose(c.file);
	assert_true(rows >= 36);
}

/* Joined shares dominate the distinct ones, and cost little. */
static void many_shares_are_joined_from_above(void **state)
{
	struct acct_bound joined, exact;
	struct acct_round r;

	(void)state;
	for (size_t i = 0; i < 300; i++)
		cls[i] = (struct acct_gspa_class){ 0.01 + (double)(i * i % 301) / 100, 0, 1 + i % 3 };
	for (size_t victim = 0; victim < 300; victim += 60)
		for (double eps = 0; eps < 0.3; eps += 0.05) {
			assert_int_equal(acct_gspa_round(cls, 300, 2, victim, &r, NULL), ACCT_OK);
			assert_true(r.levels <= ACCT_MAX_LEVELS);
			assert_int_equal(acct_delta(&r, 1, eps, &joined), ACCT_OK);
			assert_int_equal(acct_gspa_delta(cls, 300, victim, eps, &exact, NULL), ACCT_OK);
			assert_true(joined.upper >= exact.lower);
			assert_true(joined.upper <= exact.upper * 1.002 + 1e-290);
		}
}

/* A class too large to have its law summed is answered by levels. */
static void billions_of_participants_are_answered_by_levels(void **state)
{
	struct acct_gspa_class few[2] = { { 1, 0, 2000000000 }, { 2, 0, 3000000000 } };
	struct acct_bound d;

	(void)state;
	assert_int_equal(acct_gspa_epsilon(few, 2, 1, 1e-8, &d, NULL), ACCT_OK);
	/* nearly normal: the loss is 2 (a1 - a0)(a - b)/m, m blanket messages */
	double m = 2e9 * 2 / (1 + exp(1)) + 3e9 * 2 / (1 + exp(2)), normal;
	assert_int_equal(acct_gspa_gaussian_epsilon(2 * tanh(1.0) / sqrt(m), 1e-8, &normal, NULL), ACCT_OK);
	assert_true(fabs(d.upper / normal - 1) < 1e-3 && fabs(d.lower / normal - 1) < 1e-3);
}

/* Binomial(n, p) at t. */
static double chance(double n, double p, double t)
{
	if (t < 0 || t > n)
		return 0;
	return exp(lgamma(n + 1) - lgamma(t + 1) - lgamma(n - t + 1) + t * log(p) + (n - t) * log1p(-p));
}

/* Others report yes with chance p each, the victim with chance yes[side]. */
static double counted(double n, double p, const double yes[2], double e)
{
	double sum = 0;

	for (double t = 0; t < 400 && t <= n + 1; t++) {
		double one = chance(n, p, t - 1), none = chance(n, p, t);

		sum += fmax(0, yes[0] * one + (1 - yes[0]) * none - e * (yes[1] * one + (1 - yes[1]) * none));
	}
	return sum;
}

static double paper_epsilon(const struct acct_gspa_class *c, size_t n, double delta)
{
	double mu, epsilon;

	assert_int_equal(acct_gspa_mu(c, n, 1, &mu, NULL), ACCT_OK);
	assert_int_equal(acct_gspa_gaussian_epsilon(mu, delta, &epsilon, NULL), ACCT_OK);
	return epsilon;
}

/* Binary response, everybody else holds 0. */
static void the_paper_value_is_below_the_loss_of_weak_randomizers(void **state)
{
	static const struct acct_gspa_class c = { 6, 0, 2000 };
	double none = 1 / (1 + exp(6)), yes[2] = { none, 1 - none }, epsilon = paper_epsilon(&c, 1, 1e-4);
	struct acct_bound ours, at;

	(void)state;
	assert_true(counted(1999, none, yes, exp(epsilon)) > 20 * 1e-4);
	assert_int_equal(acct_gspa_epsilon(&c, 1, 0, 1e-4, &ours, NULL), ACCT_OK);
	assert_true(ours.upper > 2 * epsilon);
	assert_true(counted(1999, none, yes, exp(ours.upper)) <= 1e-4);
	assert_int_equal(acct_gspa_shift_epsilon(&c, 1, 1e-4, &at, NULL), ACCT_OK);
	assert_true(at.upper >= ours.lower);
}

/* A symbol sent in the clear is a loss no epsilon reaches. */
static void the_paper_value_forgets_the_victims_delta(void **state)
{
	static const struct acct_gspa_class c = { 0.5, 1e-3, 10000 };
	struct acct_bound e, d;

	(void)state;
	assert_true(paper_epsilon(&c, 1, 1e-4) < 0.06);
	assert_int_equal(acct_gspa_epsilon(&c, 1, 0, 1e-4, &e, NULL), ACCT_OK);
	assert_true(isinf(e.lower) && isinf(e.upper));
	for (double eps = 0; eps <= 700; eps += 70) {
		assert_int_equal(acct_gspa_delta(&c, 1, 0, eps, &d, NULL), ACCT_OK);
		assert_true(d.upper >= 1e-3 && d.lower <= d.upper);
	}
	assert_true(acct_gspa_shift_delta(&c, 1, 0.1, &d, NULL) == ACCT_EDOMAIN);
}

/* Laplace noise at 5 among 0.01: how many reports lie within w of 0, where everybody else is.  The premise of
 * the general bound holds with epsilon log(5/0.01) + 0.01. */
static void the_paper_value_does_not_hold_for_laplace_noise(void **state)
{
	struct acct_gspa_class c[2] = { { 5, 0, 1 }, { 0.01, 0, 9999 } }, victim = c[0],
			       others = { log(500) + 0.01, 0, 9999 };
	double w = 0.05, yes[2] = { -expm1(-5 * w), exp(-5.0) * sinh(5 * w) }, ours;
	double claimed = paper_epsilon(c, 2, 1e-4);
	double truth = counted(9999, -expm1(-0.01 * w), yes, exp(claimed));

	(void)state;
	assert_true(claimed < 0.05);
	assert_true(truth > 100 * 1e-4);
	assert_int_equal(acct_gspa_general_delta(&victim, &others, 1, 1, claimed, &ours, NULL), ACCT_OK);
	assert_true(ours >= truth);
}

static void the_general_bound_is_between_the_pair_and_the_local_guarantee(void **state)
{
	struct acct_gspa_class v = { 1, 1e-6, 1 }, o = { 1, 1e-6, 500 };
	double one, two, later, local;

	(void)state;
	for (double eps = 0; eps < 1.5; eps += 0.1) {
		assert_int_equal(acct_gspa_general_delta(&v, &o, 1, 1, eps, &one, NULL), ACCT_OK);
		assert_int_equal(acct_gspa_general_delta(&v, &o, 1, 2, eps, &two, NULL), ACCT_OK);
		local = 1e-6 + (1 - 1e-6) * fmax(0, (exp(1) - exp(eps)) / (1 + exp(1)));
		assert_true(one <= local * (1 + 1e-9) && one <= two * (1 + 1e-9));
	}
	assert_int_equal(acct_gspa_general_delta(&v, &o, 1, 2, 2.5, &later, NULL), ACCT_OK);
	assert_true(later >= 2e-6 * (1 - 1e-5) && later <= 2e-6);
}

/* Forty digits of the formula; outside of its condition the theorem says nothing. */
static void the_bound_of_liu_is_its_formula(void **state)
{
	struct acct_gspa_class one = { 0.5, 0, 10000 }, two[] = { { 0.5, 0, 500 }, { 0.01, 0, 500 } },
			       three[] = { { 1, 0, 900 }, { 0.5, 0, 3700 }, { 0.1, 0, 5400 } };
	double eps;

	(void)state;
	assert_int_equal(acct_gspa_liu(&one, 1, 1e-4, &eps, NULL), ACCT_OK);
	assert_true(fabs(eps / 0.079018596786346004 - 1) < 1e-12);
	assert_int_equal(acct_gspa_liu(two, 2, 1e-4, &eps, NULL), ACCT_OK);
	assert_true(fabs(eps / 0.21681099588963554 - 1) < 1e-12);
	assert_int_equal(acct_gspa_liu(three, 3, 1e-4, &eps, NULL), ACCT_OK);
	assert_true(fabs(eps / 0.13858071613611315 - 1) < 1e-12);
	one.count = 200; /* 16 log(4e4) = 169.5 clones, of 121 expected */
	assert_int_equal(acct_gspa_liu(&one, 1, 1e-4, &eps, NULL), ACCT_EDOMAIN);
	two[1].delta = 1e-6;
	assert_int_equal(acct_gspa_liu(two, 2, 1e-4, &eps, NULL), ACCT_EDOMAIN);
}

/* mpmath, 40 digits: tests/data/make-acct-gspa.py */
static void the_gaussian_curve_is_exact(void **state)
{
	static const double rows[][3] = {
		{ 0.01, 0.0, 0.0039894061814816446819 },
		{ 0.01, 0.005, 0.0019829040337261178765 },
		{ 0.01, 0.03, 3.8792564221307840685e-6 },
		{ 0.01, 0.08, 7.8582990145307752735e-19 },
		{ 0.01, 0.2, 1.514079133482610721e-92 },
		{ 0.1, 0.0, 0.039877611676744925404 },
		{ 0.1, 0.05, 0.020267457137435374155 },
		{ 0.1, 0.30000000000000004, 0.000044351978820250796262 },
		{ 0.1, 0.8, 1.1249994781069555972e-17 },
		{ 0.1, 2.0, 3.7194507268047236455e-91 },
		{ 1.0, 0.0, 0.38292492254802620728 },
		{ 1.0, 0.5, 0.23842170813487662832 },
		{ 1.0, 3.0, 0.0015371853694009548469 },
		{ 1.0, 8.0, 3.6508216874217908585e-15 },
		{ 1.0, 20.0, 2.6647067053654976526e-86 },
		{ 5.0, 0.0, 0.98758066934844772967 },
		{ 5.0, 2.5, 0.96080474343392165987 },
		{ 5.0, 15.0, 0.24646032912935560982 },
		{ 5.0, 40.0, 8.823257920004711109e-9 },
		{ 5.0, 100.0, 1.5847802326686265848e-69 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		double mu = rows[i][0], delta, epsilon;

		assert_int_equal(acct_gspa_gaussian_delta(mu, rows[i][1], &delta, NULL), ACCT_OK);
		assert_true(fabs(delta / rows[i][2] - 1) <= 1e-11 + 1e-15 / mu);
		if (rows[i][1] <= 0)
			continue;
		assert_int_equal(acct_gspa_gaussian_epsilon(mu, rows[i][2], &epsilon, NULL), ACCT_OK);
		assert_true(fabs(epsilon / rows[i][1] - 1) <= 1e-9);
	}
}

static void refused(struct acct_gspa_class a, struct acct_gspa_class b)
{
	struct acct_gspa_class c[2] = { a, b };
	struct acct_bound out = { 7, 7 };
	struct acct_round r = { .count = 7 };
	const char *why = NULL;
	double x = 7;

	assert_int_equal(acct_gspa_epsilon(c, 2, 0, 1e-6, &out, &why), ACCT_EDOMAIN);
	assert_non_null(why);
	assert_int_equal(acct_gspa_delta(c, 2, ACCT_GSPA_ANYBODY, 0.1, &out, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_shift_epsilon(c, 2, 1e-6, &out, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_mu(c, 2, 1, &x, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_round(c, 2, 2, 0, &r, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_general_delta(&c[1], c, 2, 1, 0.1, &x, NULL), ACCT_EDOMAIN);
	assert_true(out.lower == 7 && out.upper == 7 && x == 7 && r.count == 7);
}

static void faults_are_named_and_nothing_is_computed(void **state)
{
	static const struct acct_gspa_class ok = { 1, 0, 5 };
	struct acct_gspa_class alone = { 1, 0, 1 };
	struct acct_bound b;
	struct acct_round r;
	double x;

	(void)state;
	refused(ok, (struct acct_gspa_class){ 0, 0, 1 });
	refused(ok, (struct acct_gspa_class){ -1, 0, 1 });
	refused(ok, (struct acct_gspa_class){ NAN, 0, 1 });
	refused(ok, (struct acct_gspa_class){ 700, 0, 1 });
	refused(ok, (struct acct_gspa_class){ 1, 1, 1 });
	refused(ok, (struct acct_gspa_class){ 1, -1e-9, 1 });
	refused(ok, (struct acct_gspa_class){ 1, NAN, 1 });
	assert_int_equal(acct_gspa_mu(&alone, 1, 1, &x, NULL), ACCT_EDOMAIN); /* n = 1 */
	assert_int_equal(acct_gspa_epsilon(&alone, 1, 0, 1e-6, &b, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_mu(&ok, 0, 1, &x, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_mu(&ok, 1, 0, &x, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_epsilon(&ok, 1, 1, 1e-6, &b, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_epsilon(&ok, 1, 0, 0, &b, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_epsilon(&ok, 1, 0, 1, &b, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_epsilon(&ok, 1, 0, NAN, &b, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_delta(&ok, 1, 0, -1, &b, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_delta(&ok, 1, 0, INFINITY, &b, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_round(&ok, 1, 1, 0, &r, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_round(&ok, 1, 2.5, 0, &r, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_general_delta(&alone, &ok, 1, 0, 0.1, &x, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_gaussian_delta(0, 1, &x, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_gaussian_delta(NAN, 1, &x, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_gaussian_delta(1, -1, &x, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_gaussian_delta(0.01, 100, &x, NULL), ACCT_EPRECISION);
	assert_int_equal(acct_gspa_gaussian_epsilon(1, 0, &x, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_gspa_gaussian_epsilon(1, 1, &x, NULL), ACCT_EDOMAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_reproduced),
		cmocka_unit_test(many_shares_are_joined_from_above),
		cmocka_unit_test(billions_of_participants_are_answered_by_levels),
		cmocka_unit_test(the_paper_value_is_below_the_loss_of_weak_randomizers),
		cmocka_unit_test(the_paper_value_forgets_the_victims_delta),
		cmocka_unit_test(the_paper_value_does_not_hold_for_laplace_noise),
		cmocka_unit_test(the_general_bound_is_between_the_pair_and_the_local_guarantee),
		cmocka_unit_test(the_bound_of_liu_is_its_formula),
		cmocka_unit_test(the_gaussian_curve_is_exact),
		cmocka_unit_test(faults_are_named_and_nothing_is_computed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
