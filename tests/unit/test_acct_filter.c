/* test_acct_filter.c - privacy filters: what a round costs, and that what is admitted stays within the
 * budget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "acct_examples.h"
#include "acct_filter.h"
#include "acct_gdp.h"

static double mu_of(struct acct_round r, double defect)
{
	double mu = -1;

	assert_int_equal(acct_gdp_round(&r, defect, &mu), ACCT_OK);
	return mu;
}

static struct acct_filter filter(enum acct_filter_kind kind, double epsilon, double delta)
{
	struct acct_filter f;

	assert_int_equal(acct_filter_init(kind, epsilon, delta, &f), ACCT_OK);
	return f;
}

static struct acct_price price(const struct acct_filter *f, struct acct_round r)
{
	struct acct_price p = { -1, -1 };

	assert_int_equal(acct_filter_price(f, &r, &p), ACCT_OK);
	assert_true(p.loss >= 0 && p.defect >= 0);
	return p;
}

/* ---- the Gaussian curve ---- */

static void the_gaussian_delta_holds_the_exact_one(void **state)
{
	/* tests/data/make-acct-gdp.py */
	static const struct {
		double epsilon, mu, delta;
	} row[] = {
		{ 0, 1, 0.38292492254802620728 },
		{ 1, 1, 0.1269367375066439458 },
		{ 0.5, 0.05, 4.7972913626623444106e-26 },
		{ 0.004, 0.0005, 3.7826889088170802046e-20 },
		{ 3, 0.5, 3.4009117356735288242e-10 },
		{ 50, 10, 0.46049330589861399706 },
		{ 0.01, 20, 1.0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		double above = acct_gdp_delta_above(row[i].epsilon, row[i].mu);
		double below = acct_gdp_delta_below(row[i].epsilon, row[i].mu);

		assert_true(below <= row[i].delta && row[i].delta <= above);
		assert_true(above - below <= 1e-8 * row[i].delta);
	}
	assert_true(acct_gdp_delta_above(1, 0) == 0);
}

/* ---- rounds ---- */

static double normal_below(double x)
{
	return 0.5 * erfc(-x / sqrt(2));
}

/* eps0-local privacy is mu-GDP with mu = 2 Phi^-1(e^eps0 / (1 + e^eps0)), and randomized response needs all
 * of it (Dong, Roth, Su 2022, Proposition 3 for the first; both errors of its one test are equal for the
 * second). */
static void randomized_response_alone_needs_its_exact_mu(void **state)
{
	static const double epsilon0[] = { 0.1, 1, 3 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		double low = 0, high = 20, truth = 1 / (1 + exp(-epsilon0[i])), mu;

		for (int k = 0; k < 100; k++) {
			double middle = (low + high) / 2;

			if (normal_below(middle / 2) < truth)
				low = middle;
			else
				high = middle;
		}
		mu = mu_of(generic(epsilon0[i], 0), 1e-12);
		assert_true(mu >= low * (1 - 1e-10));
		assert_true(mu <= low * 1.01);
	}
}

/* The loss of the two-cell pair has deviation 2 kappa sqrt(E 1/m), m = 1 + Bin(n-1, s): E 1/m = (1 -
 * (1-s)^n)/(n s). */
static double deviation(double epsilon0, double n)
{
	double kappa = tanh(epsilon0 / 2), s = 2 / (exp(epsilon0) + 1);

	return 2 * kappa * sqrt(-expm1(n * log1p(-s)) / (n * s));
}

static void many_participants_make_a_round_gaussian(void **state)
{
	(void)state;
	for (double epsilon0 = 1; epsilon0 <= 2; epsilon0++) {
		double few = mu_of(generic(epsilon0, 9999), 1e-14) / deviation(epsilon0, 1e4);
		double many = mu_of(generic(epsilon0, 999999), 1e-14) / deviation(epsilon0, 1e6);

		assert_true(few > 1 && few < 1.006);
		assert_true(many > 1 && many < 1.0001);
	}
}

/* Compare what (mu, d) promises at every epsilon with the round's own delta there. */
static void a_round_is_never_worse_than_its_mu_and_defect_say(void **state)
{
	struct acct_round rounds[] = { generic(1, 999), generic(2, 99), generic(4, 4999), bins(16, 20000),
		bins(4, 80) };

	(void)state;
	for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++)
		for (double d = 1e-12; d < 1e-5; d *= 1e3) {
			double mu = mu_of(rounds[i], d), most = 0;

			for (double eps = 0; eps < 8 && mu < INFINITY; eps += 0.0371) {
				struct acct_bound have;
				double promised = d + (1 - d) * acct_gdp_delta_above(eps, mu);

				assert_int_equal(acct_delta(&rounds[i], 1, eps, &have), ACCT_OK);
				assert_true(have.lower <= promised);
				most = fmax(most, have.upper / promised);
			}
			assert_true(mu == INFINITY || most > 0.95); /* and it is tight somewhere */
		}
}

/* A few blanket messages sometimes hide everybody.  No Gaussian needs more than that of the local guarantee,
 * 2 Phi^-1(p). */
static void the_local_guarantee_bounds_mu(void **state)
{
	(void)state;
	for (double epsilon0 = 2; epsilon0 <= 8; epsilon0 += 3) {
		double low = 0, high = 20, truth = 1 / (1 + exp(-epsilon0));

		for (int k = 0; k < 100; k++) {
			double middle = (low + high) / 2;

			if (normal_below(middle / 2) < truth)
				low = middle;
			else
				high = middle;
		}
		for (uint64_t others = 1; others <= 10000; others *= 10)
			assert_true(mu_of(generic(epsilon0, others), 1e-13) <= 1.02 * high);
	}
}

static void more_defect_needs_less_mu_and_infinite_losses_need_defect(void **state)
{
	double infinite = pow(0.75, 80); /* 1e-10 */

	(void)state;
	assert_true(mu_of(generic(3, 2000), 1e-6) < mu_of(generic(3, 2000), 1e-9));
	assert_true(mu_of(generic(3, 2000), 1e-9) < mu_of(generic(3, 2000), 1e-14));
	assert_true(isinf(mu_of(bins(4, 80), 0.9 * infinite)));
	assert_true(mu_of(bins(4, 80), 2 * infinite) < 1);
}

/* ---- filters ---- */

/* Admit rounds until one does not fit; *n of them, equal ones joined. */
static void fill(const struct acct_filter *f, struct acct_round *kind, size_t kinds, size_t n[])
{
	struct acct_price p[4], sum = { 0, 0 };
	bool full = false;

	for (size_t i = 0; i < kinds; i++) {
		p[i] = price(f, kind[i]);
		n[i] = 0;
	}
	for (size_t i = 0; !full; i = (i + 1) % kinds) {
		struct acct_price with = acct_price_add(sum, p[i]);

		full = !acct_price_fits(with);
		if (full)
			break;
		sum = with;
		n[i]++;
	}
}

static void what_is_admitted_composes_to_no_more_than_the_budget(void **state)
{
	static const struct {
		double epsilon, delta, used; /* used: at least this part of epsilon */
	} budget[] = { { 1, 1e-6, 0.9 }, { 0.2, 1e-9, 0.8 }, { 4, 1e-5, 0.9 } };
	struct acct_round kind[3] = { generic(1, 9999), generic(2, 99999), bins(16, 50000) };

	(void)state;
	for (enum acct_filter_kind k = ACCT_FILTER_GDP; k <= ACCT_FILTER_RENYI; k++)
		for (size_t b = 0; b < 3; b++) {
			/* The last kind can have infinite losses, which the Renyi filter does not admit. */
			size_t kinds = k == ACCT_FILTER_GDP ? 3 : 2, n[3];
			struct acct_filter f = filter(k, budget[b].epsilon, budget[b].delta);
			struct acct_bound together;

			fill(&f, kind, kinds, n);
			for (size_t i = 0; i < kinds; i++) {
				assert_in_range(n[i], 1, ACCT_MAX_COUNT);
				kind[i].count = n[i];
			}
			assert_int_equal(acct_epsilon(kind, kinds, budget[b].delta, &together), ACCT_OK);
			assert_true(together.upper <= budget[b].epsilon);
			assert_true(together.lower >= budget[b].used * budget[b].epsilon);
			for (size_t i = 0; i < kinds; i++)
				kind[i].count = 1;
		}
}

static void the_budget_is_the_guarantee_and_not_more(void **state)
{
	static const double epsilon[] = { 0.1, 1, 10, 600 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct acct_filter f = filter(ACCT_FILTER_GDP, epsilon[i], 1e-6);

		assert_true(acct_gdp_delta_above(epsilon[i], sqrt(f.most)) + f.defects <= 1e-6 * (1 + 1e-12));
		assert_true(acct_gdp_delta_below(epsilon[i], sqrt(f.most) * 1.0001) + f.defects > 1e-6);
	}
}

static void a_count_is_so_many_rounds(void **state)
{
	(void)state;
	for (enum acct_filter_kind k = ACCT_FILTER_GDP; k <= ACCT_FILTER_RENYI; k++) {
		struct acct_filter f = filter(k, 1, 1e-6);
		struct acct_round r = generic(1, 9999);
		struct acct_price one = price(&f, r), many;

		r.count = 1000;
		many = price(&f, r);
		assert_true(fabs(many.loss - 1000 * one.loss) <= 1e-9 * many.loss);
		assert_true(fabs(many.defect - 1000 * one.defect) <= 1e-9 * many.defect);
	}
}

static void order_does_not_matter(void **state)
{
	struct acct_price a = { 0.1, 0.2 }, b = { 0.3, 1e-9 }, c = { 1e-7, 0.25 };
	struct acct_price x = acct_price_add(acct_price_add(a, b), c),
			  y = acct_price_add(c, acct_price_add(b, a));

	(void)state;
	assert_true(fabs(x.loss - y.loss) <= 1e-14 && fabs(x.defect - y.defect) <= 1e-14);
	assert_true(x.loss >= 0.4000001 && x.defect >= 0.450000001); /* up */
	assert_true(acct_price_share(x) == x.defect && acct_price_share(b) == 0.3);
}

static void a_full_budget_admits_nothing_and_equality_is_refused(void **state)
{
	(void)state;
	assert_true(acct_price_fits((struct acct_price){ 0.999999, 0 }));
	assert_true(acct_price_fits((struct acct_price){ 0, 0.999999 }));
	assert_false(acct_price_fits((struct acct_price){ 1, 0 }));
	assert_false(acct_price_fits((struct acct_price){ 0.5, 1 }));
	assert_false(acct_price_fits((struct acct_price){ 1 - 1e-14, 0 }));
	assert_false(acct_price_fits((struct acct_price){ INFINITY, 0 }));
	assert_false(acct_price_fits((struct acct_price){ (double)NAN, 0.5 }));
	assert_false(acct_price_fits((struct acct_price){ 0.5, (double)NAN }));
	assert_true(isinf(acct_price_share((struct acct_price){ (double)NAN, 0.5 })));
	assert_true(isinf(acct_price_share((struct acct_price){ 0.5, (double)NAN })));
	assert_true(acct_gdp_delta_above(1, (double)NAN) >= 1 && acct_gdp_delta_above((double)NAN, 1) >= 1);
	assert_true(acct_gdp_delta_above(1e4, 1) >= 1 && acct_gdp_delta_below(1e4, 1) <= 0);
}

static void infinite_losses_have_a_price_only_as_defects(void **state)
{
	struct acct_filter gdp = filter(ACCT_FILTER_GDP, 1, 1e-6), renyi = filter(ACCT_FILTER_RENYI, 1, 1e-6);
	double infinite = pow(0.75, 60); /* 3.2e-8, of 5e-7 */
	struct acct_price p = price(&gdp, bins(4, 60));

	(void)state;
	assert_true(p.defect >= infinite / 5e-7 && p.defect <= 1.001 * infinite / 5e-7);
	assert_true(isinf(price(&gdp, bins(4, 40)).loss)); /* 1e-5 */
	assert_true(isinf(price(&renyi, bins(4, 60)).loss));
	assert_false(acct_price_fits(price(&gdp, bins(4, 40))));
	assert_false(acct_price_fits(price(&renyi, bins(4, 60))));
}

static void faults_are_refused(void **state)
{
	struct acct_filter f = filter(ACCT_FILTER_GDP, 1, 1e-6), none;
	struct acct_round r = generic(1, 100);
	struct acct_price p = { -1, -1 };
	double mu = -1;

	(void)state;
	assert_int_equal(acct_filter_init((enum acct_filter_kind)0, 1, 1e-6, &none), ACCT_EDOMAIN);
	assert_int_equal(acct_filter_init((enum acct_filter_kind)3, 1, 1e-6, &none), ACCT_EDOMAIN);
	for (enum acct_filter_kind k = ACCT_FILTER_GDP; k <= ACCT_FILTER_RENYI; k++) {
		assert_int_equal(acct_filter_init(k, 0, 1e-6, &none), ACCT_EDOMAIN);
		assert_int_equal(acct_filter_init(k, (double)NAN, 1e-6, &none), ACCT_EDOMAIN);
		assert_int_equal(acct_filter_init(k, 601, 1e-6, &none), ACCT_EDOMAIN);
		assert_int_equal(acct_filter_init(k, (double)INFINITY, 1e-6, &none), ACCT_EDOMAIN);
		assert_int_equal(acct_filter_init(k, 1, 0, &none), ACCT_EDOMAIN);
		assert_int_equal(acct_filter_init(k, 1, 1, &none), ACCT_EDOMAIN);
		assert_int_equal(acct_filter_init(k, 1, (double)NAN, &none), ACCT_EDOMAIN);
	}
	assert_int_equal(acct_gdp_round(&r, 0, &mu), ACCT_EDOMAIN);
	assert_int_equal(acct_gdp_round(&r, 1, &mu), ACCT_EDOMAIN);
	assert_int_equal(acct_gdp_round(&r, (double)NAN, &mu), ACCT_EDOMAIN);
	r.count = 0;
	assert_int_equal(acct_gdp_round(&r, 0.1, &mu), ACCT_EDOMAIN);
	assert_int_equal(acct_filter_price(&f, &r, &p), ACCT_EDOMAIN);
	assert_true(mu == -1 && p.loss == -1 && p.defect == -1);
}

static void filters_have_names(void **state)
{
	(void)state;
	assert_string_equal(acct_filter_name(ACCT_FILTER_GDP), "gdp");
	assert_string_equal(acct_filter_name(ACCT_FILTER_RENYI), "renyi");
	assert_null(acct_filter_name((enum acct_filter_kind)0));
	assert_int_equal(acct_filter_named("gdp"), ACCT_FILTER_GDP);
	assert_int_equal(acct_filter_named("renyi"), ACCT_FILTER_RENYI);
	assert_int_equal(acct_filter_named("pld"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_gaussian_delta_holds_the_exact_one),
		cmocka_unit_test(randomized_response_alone_needs_its_exact_mu),
		cmocka_unit_test(many_participants_make_a_round_gaussian),
		cmocka_unit_test(a_round_is_never_worse_than_its_mu_and_defect_say),
		cmocka_unit_test(the_local_guarantee_bounds_mu),
		cmocka_unit_test(more_defect_needs_less_mu_and_infinite_losses_need_defect),
		cmocka_unit_test(what_is_admitted_composes_to_no_more_than_the_budget),
		cmocka_unit_test(the_budget_is_the_guarantee_and_not_more),
		cmocka_unit_test(a_count_is_so_many_rounds),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(a_full_budget_admits_nothing_and_equality_is_refused),
		cmocka_unit_test(infinite_losses_have_a_price_only_as_defects),
		cmocka_unit_test(faults_are_refused),
		cmocka_unit_test(filters_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
