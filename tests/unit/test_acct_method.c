/* test_acct_method.c - the analyses by name: values other programs and papers have, the order that theorems
 * demand, and what each method says where it does not apply. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_method.h"
#include "acct_parsed.h"
#include "csv.h"

/* A method's answer to one round; fails if there is none. */
static struct acct_method_answer ask(const char *method, const char *text, double delta)
{
	const struct acct_method *m = acct_method_find(method);
	struct acct_spec s = parsed(text);
	struct acct_method_answer a = { .worth = ACCT_LOWER };
	const char *why = "";

	assert_non_null(m);
	if (m->epsilon(&s, 1, delta, &a, &why))
		fail_msg("%s of %s: %s", method, text, why);
	return a;
}

static double upper(const char *method, const char *text, double delta)
{
	return ask(method, text, delta).bound.upper;
}

static void near(double x, double reference, double relative)
{
	if (!(fabs(x - reference) <= relative * reference))
		fail_msg("%.9g is not %.9g", x, reference);
}

static void worths_are_said_in_these_words(void **state)
{
	(void)state;
	assert_string_equal(acct_worth_text(ACCT_PROVED), "proved");
	assert_string_equal(acct_worth_text(ACCT_APPROXIMATE), "approximate (not a guarantee)");
	assert_string_equal(acct_worth_text(ACCT_PAPER_VALUE), "paper value (not a guarantee)");
	assert_string_equal(acct_worth_text(ACCT_LOWER), "proved lower bound");
	assert_null(acct_method_find("nonsense"));
	assert_string_equal(acct_method_row(0)->name, "pld");
	for (size_t i = 0; acct_method_row(i); i++)
		assert_ptr_equal(acct_method_find(acct_method_row(i)->name), acct_method_row(i));
}

/* Guarantees add up as the decimals that were written, where nothing smaller is proved: ten of 0.1 are 1, for
 * a delta so small that it buys nothing.  A defect, or a central delta, is no such guarantee. */
static void pure_rounds_add_up_as_decimals(void **state)
{
	static const char *const text[] = { "guarantee:epsilon=0.1,count=10", "rr:eps0=0.1,n=1,count=10",
		"generic:eps0=0.1,n=1,count=10", "guarantee:epsilon=0.1,delta=1e-20,count=10",
		"rr:eps0=0.1,n=1,count=10,defect=1e-20", "rr:eps0=0.1,n=50,count=10" };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		double epsilon = upper("pld", text[i], 1e-12);

		assert_true(i < 3 ? epsilon >= 1 && epsilon <= 1 : i < 5 ? epsilon > 1 : epsilon < 1);
		assert_true(ask("pld", text[i], 1e-12).bound.lower <= epsilon);
		if (i < 3)
			assert_true(upper("basic", text[i], 1e-12) <= 1);
	}
}

/* The number after `key=` in a;b=1;c=2, or 0. */
static double param(const char *params, const char *key)
{
	const char *at = strstr(params, key);

	return at ? atof(at + strlen(key)) : 0;
}

/* Girgis et al. 2021, Figures 4 and 5 (a sample without replacement of m messages), by independent programs:
 * tests/data/vectors/bounds.csv. */
static void figures_4_and_5_are_reproduced(void **state)
{
	static const char *const names[][2] = { { "compose_rdp_ub1_cks", "girgis" },
		{ "compose_pld_clone", "clones" }, { "compose_pld_strong", "strong-clones" },
		{ "compose_pld_true_2rr_pair", "lower" }, { "wor_wbk_ub1_cks", "girgis" },
		{ "wor_pld_clone", "clones" }, { "wor_pld_strong", "strong-clones" } };
	size_t rows = 0;
	struct csv c;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/bounds.csv"));
	while (csv_next(&c))
		for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
			const char *params = csv_get(&c, "params");
			char text[200];

			if (strcmp(csv_get(&c, "method"), names[k][0]) != 0)
				continue;
			double m = param(params, "m="), gamma = param(params, "gamma=");
			double delta = atof(csv_get(&c, "delta"));
			/* The figure's certain loss is that of binary response. */
			bool binary = strcmp(names[k][1], "lower") == 0;
			(void)snprintf(text, sizeof text, "%s:eps0=%g,n=%.0f,count=%.0f,sampling=%g",
				binary ? "rr" : "generic", param(params, "eps0="),
				m > 0 ? m : param(params, ";n="), param(params, "T="), gamma);
			if (gamma == 0)
				*strstr(text, ",sampling") = '\0';
			struct acct_method_answer a = ask(names[k][1], text, delta);
			double found = binary ? a.bound.lower : a.bound.upper;
			near(found, atof(csv_get(&c, "value")), 1.1 * atof(csv_get(&c, "rtol")));
			rows++;
			if (binary) {
				char generic[sizeof text + 8];

				(void)snprintf(generic, sizeof generic, "generic%s", strchr(text, ':'));
				double largest = ask("lower", generic, delta).bound.lower;
				assert_true(largest >= found && largest <= upper("pld", generic, delta));
			}
		}
	(void)fclose(c.file);
	assert_int_equal(rows, 43);
}

/* Chen, Cao, Ge 2024, Table 2, delta 1e-4: equal guarantees of 0.5, and half of them 0.01; the value of mu
 * and of its curve, and the exact loss of the worst victim. */
static void table_2_of_gspa_is_reproduced(void **state)
{
	static const struct {
		const char *text;
		double paper, cells; /* the paper's value, and the blanket's: bits lose less */
	} row[] = {
		{ "rr:eps0=0.5,n=1000", .19296, .03846 },
		{ "rr:eps0=0.5,n=10000", .05179, .00966 },
		{ "rr:eps0=0.5,n=1000,others_eps=0.01,others_n=500", .17755, .03528 },
		{ "rr:eps0=0.5,n=10000,others_eps=0.01,others_n=5000", .04755, .00882 },
	};
	double lower[2] = { ask("lower", row[0].text, 1e-4).bound.lower,
		ask("lower", row[1].text, 1e-4).bound.lower };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		near(upper("gspa", row[i].text, 1e-4), row[i].paper, 2e-4);
		assert_int_equal(ask("gspa", row[i].text, 1e-4).worth, ACCT_PAPER_VALUE);
		assert_true(upper("pld", row[i].text, 1e-4) < row[i].cells);
		/* What all others do who hold one symbol is within 0.02 % of the worst. */
		if (i < 2)
			near(upper("pld", row[i].text, 1e-4), lower[i], 3e-4);
	}
}

/* tests/data/vectors/counterexamples.csv: exact fractions of the truth and of the published value. */
static void the_published_reduction_is_below_the_truth(void **state)
{
	struct acct_spec s = parsed("grr:k=3,eps0=1.0986122886681098,n=2");
	struct acct_method_answer a;
	const char *why;

	(void)state;
	assert_int_equal(acct_method_find("published")->delta(&s, 1, 0.86499743748660451, &a, &why), ACCT_OK);
	near(a.bound.upper, 9.0 / 200, 1e-6);
	assert_int_equal(a.worth, ACCT_PAPER_VALUE);
	assert_int_equal(acct_method_find("lower")->delta(&s, 1, 0.86499743748660451, &a, &why), ACCT_OK);
	near(a.bound.lower, 3.0 / 40, 1e-6);
}

/* Balle, Wang 2018, Theorem 8, at the mu that the variance of binary response has:
 * mu^2 = 2 count (p-1)^2 / ((p+1) n) up to the victim's own message. */
static void the_normal_limit_is_gaussian(void **state)
{
	double p = exp(1), n = 1e6, mu = sqrt(2 * 400 * (p - 1) * (p - 1) / ((p + 1) * n)), eps = 0.2;
	double delta = 0.5 * erfc((eps / mu - mu / 2) / sqrt(2)) -
		       exp(eps) * 0.5 * erfc((eps / mu + mu / 2) / sqrt(2));

	(void)state;
	near(upper("clt", "rr:eps0=1,n=1000000,count=400", delta), eps, 1e-5);
	assert_int_equal(ask("clt", "rr:eps0=1,n=1000000,count=400", delta).worth, ACCT_APPROXIMATE);
}

/* What is proved is not below what is certain, and not above what it is made of. */
static void proved_answers_are_in_the_order_of_their_proofs(void **state)
{
	static const char *const text[] = { "rr:eps0=1,n=1000", "grr:k=5,eps0=3,n=500,count=7",
		"generic:eps0=0.3,n=100,count=30", "grr:k=16,eps0=2,n=20000", "vrr:s=3,eps0=3,n=3000,count=2",
		"rr:eps0=2,n=500,sampling=0.1,count=20", "rappor:d=8,eps0=2,n=2000" };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct acct_spec s = parsed(text[i]);
		struct acct_method_answer pld = ask("pld", text[i], 1e-6);

		for (size_t k = 1; acct_method_row(k); k++) {
			const struct acct_method *m = acct_method_row(k);
			struct acct_method_answer a = { .worth = m->worth };
			const char *why = NULL;

			if (m->epsilon(&s, 1, 1e-6, &a, &why)) {
				assert_non_null(why);
				continue;
			}
			assert_int_equal(a.worth, m->worth);
			if (a.worth == ACCT_PROVED && a.bound.upper < pld.bound.lower)
				fail_msg("%s of %s: %g is below %g", m->name, text[i], a.bound.upper,
					pld.bound.lower);
			if (a.worth == ACCT_LOWER && a.bound.lower > pld.bound.upper)
				fail_msg("%s of %s: %g is above %g", m->name, text[i], a.bound.lower,
					pld.bound.upper);
		}
		double clones = upper("clones", text[i], 1e-6),
		       strong = upper("strong-clones", text[i], 1e-6);
		assert_true(strong <= clones * (1 + 1e-3));
		assert_true(pld.bound.lower <= strong);
		assert_true(upper("basic", text[i], 1e-6) >= pld.bound.lower);
	}
}

/* delta of k-ary response of two participants, outcome by outcome: the victim holds 0 or 1, the other
 * `held`. */
static double listed(int k, double p, int held, double eps)
{
	double z = p + k - 1, one_way = 0, other_way = 0;

	for (int low = 0; low < k; low++)
		for (int high = low; high < k; high++) {
			double mass[2] = { 0, 0 };

			for (int x = 0; x < 2; x++)
				for (int order = 0; order < 1 + (low != high); order++) {
					int victim = order ? high : low, other = order ? low : high;

					mass[x] += (victim == x ? p : 1) / z * (other == held ? p : 1) / z;
				}
			one_way += fmax(0, mass[1] - exp(eps) * mass[0]);
			other_way += fmax(0, mass[0] - exp(eps) * mass[1]);
		}
	return fmax(one_way, other_way);
}

static void the_lower_bound_is_the_loss_of_two_participants(void **state)
{
	double p = 3;

	(void)state;
	for (int k = 2; k <= 5; k++)
		for (double eps = 0; eps < log(p); eps += 0.2) {
			double delta = listed(k, p, 0, eps);
			char text[80];
			struct acct_method_answer a;
			const char *why;

			if (k > 2)
				delta = fmax(delta, listed(k, p, 2, eps));
			(void)snprintf(text, sizeof text, "grr:k=%d,eps0=%.17g,n=2", k, log(p));
			struct acct_spec s = parsed(text);
			assert_int_equal(acct_method_find("lower")->delta(&s, 1, eps, &a, &why), ACCT_OK);
			if (a.bound.lower > delta * (1 + 1e-9) || a.bound.lower < delta * (1 - 1e-6))
				fail_msg("k=%d at %g: %.12g, not %.12g", k, eps, a.bound.lower, delta);
			assert_int_equal(a.worth, ACCT_LOWER);
			assert_true(isinf(a.bound.upper));
		}
}

static void epsilon_and_delta_of_a_method_are_inverse(void **state)
{
	static const char *const method[] = { "pld", "lower", "gdp", "strong-clones", "clones", "clt", "gspa",
		"hoeffding", "bennett" };
	struct acct_spec s = parsed("rr:eps0=1,n=5000");

	(void)state;
	for (size_t i = 0; i < sizeof method / sizeof *method; i++) {
		const struct acct_method *m = acct_method_find(method[i]);
		struct acct_method_answer eps, delta;
		const char *why = "";

		assert_int_equal(m->epsilon(&s, 1, 1e-6, &eps, &why), ACCT_OK);
		double at = m->worth == ACCT_LOWER ? eps.bound.lower : eps.bound.upper;
		assert_int_equal(m->delta(&s, 1, at, &delta, &why), ACCT_OK);
		double back = m->worth == ACCT_LOWER ? delta.bound.lower : delta.bound.upper;
		/* gdp splits delta in another way when asked for it. */
		if (!(back > 0.9e-6 && back < 1.1e-6) && strcmp(method[i], "gdp") != 0)
			fail_msg("%s: %g", method[i], back);
		assert_true(back > 0.5e-6 && back < 2e-6);
	}
}

/* Every method on rounds it cannot answer for: a sentence, and never a crash. */
static void what_does_not_apply_is_explained(void **state)
{
	static const char *const text[] = { "bins:k=4,dummies=100", "mixbins:k=4,eps0=2,dummies=10,n=50",
		"rr:eps0=1,n=100,defect=0.01", "rr:eps0=1,n=100,others_eps=2,others_n=5",
		"rr:eps0=1,n=100,sampling=0.5", "rr:eps0=600,n=10", "rr:eps0=1,n=1",
		"cells:omega=.5/.5,u=1.5/.5,v=.5/1.5,n=9", "pair:p=inf,beta=1,q=4,n=100" };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct acct_spec s = parsed(text[i]);

		for (size_t k = 0; acct_method_row(k); k++) {
			const struct acct_method *m = acct_method_row(k);
			struct acct_method_answer a = { .worth = m->worth };
			const char *why = NULL;
			enum acct_rc rc = m->epsilon(&s, 1, 1e-6, &a, &why);

			if (rc == ACCT_EDOMAIN && (!why || strlen(why) < 8))
				fail_msg("%s of %s: no reason", m->name, text[i]);
			if (!rc && (isnan(a.bound.lower) || isnan(a.bound.upper) || a.bound.upper < 0))
				fail_msg("%s of %s: no number", m->name, text[i]);
			rc = m->delta ? m->delta(&s, 1, 0.5, &a, &why) : ACCT_OK;
			if (rc == ACCT_EDOMAIN && (!why || strlen(why) < 8))
				fail_msg("%s of %s: no reason", m->name, text[i]);
		}
	}
}

static void no_rounds_are_no_question(void **state)
{
	(void)state;
	for (size_t k = 0; acct_method_row(k); k++) {
		const struct acct_method *m = acct_method_row(k);
		struct acct_method_answer a;
		const char *why = NULL;

		if (m->epsilon(NULL, 0, 1e-6, &a, &why) == ACCT_OK)
			fail_msg("%s answers nothing", m->name);
		if (m->delta && m->delta(NULL, 0, 1, &a, &why) == ACCT_OK)
			fail_msg("%s answers nothing", m->name);
	}
}

static void deltas_and_epsilons_that_are_none_are_refused(void **state)
{
	static const double delta[] = { 0, 1, -1, 2, NAN }, epsilon[] = { -1, NAN, INFINITY };
	struct acct_spec s = parsed("rr:eps0=1,n=100");

	(void)state;
	for (size_t k = 0; acct_method_row(k); k++) {
		const struct acct_method *m = acct_method_row(k);
		struct acct_method_answer a;
		const char *why = NULL;

		for (size_t i = 0; i < sizeof delta / sizeof *delta; i++)
			if (m->epsilon(&s, 1, delta[i], &a, &why) == ACCT_OK)
				fail_msg("%s answers at delta %g", m->name, delta[i]);
		for (size_t i = 0; m->delta && i < sizeof epsilon / sizeof *epsilon; i++)
			if (m->delta(&s, 1, epsilon[i], &a, &why) == ACCT_OK)
				fail_msg("%s answers at epsilon %g", m->name, epsilon[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worths_are_said_in_these_words),
		cmocka_unit_test(pure_rounds_add_up_as_decimals),
		cmocka_unit_test(figures_4_and_5_are_reproduced),
		cmocka_unit_test(table_2_of_gspa_is_reproduced),
		cmocka_unit_test(the_published_reduction_is_below_the_truth),
		cmocka_unit_test(the_normal_limit_is_gaussian),
		cmocka_unit_test(proved_answers_are_in_the_order_of_their_proofs),
		cmocka_unit_test(the_lower_bound_is_the_loss_of_two_participants),
		cmocka_unit_test(epsilon_and_delta_of_a_method_are_inverse),
		cmocka_unit_test(what_does_not_apply_is_explained),
		cmocka_unit_test(no_rounds_are_no_question),
		cmocka_unit_test(deltas_and_epsilons_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
