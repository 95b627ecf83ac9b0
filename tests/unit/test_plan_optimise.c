/* test_plan_optimise.c - plans whose rounds say what is wanted: the numbers fit, are worth their budget, and
 * leave the rest of the text alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pl_cost.h"
#include "pl_load.h"
#include "pl_optimise.h"

#define HEAD                         \
	"name = \"p\"\n"             \
	"population = \"devices\"\n" \
	"budget = { epsilon = 1.0, delta = 1e-6 }\n"
#define STATE(name, keys)                                                \
	"{ query = \"" name "\", type = \"histogram\", field = \"c\",\n" \
	"  " keys "\n  min_reports = 20000, values = [\"a\", \"b\", \"c\"] }"
#define MEAN(name, keys)                                            \
	"{ query = \"" name "\", type = \"mean\", field = \"v\",\n" \
	"  " keys "\n  min_reports = 20000, range = [20, 150] }"

static enum cm_rc optimise(const char *text, struct pl_optimised *out, struct cm_err *err)
{
	return pl_optimise((const uint8_t *)text, strlen(text), "plan.conf", NULL, out, err);
}

/* The plan of a text without wishes; free it. */
static struct pl_plan read_plan(const char *text)
{
	struct pl_plan p;
	struct cm_err err = { 0 };

	if (pl_plan_parse((const uint8_t *)text, strlen(text), "plan.conf", NULL, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return p;
}

static void found(const char *text, struct pl_optimised *out)
{
	struct cm_err err = { 0 };

	if (optimise(text, out, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

static void expect_fault(const char *text, enum cm_rc code, const char *where, const char *what)
{
	struct pl_optimised o;
	struct cm_err err = { 0 };

	assert_int_equal(optimise(text, &o, &err), code);
	if (strncmp(err.msg, where, strlen(where)) != 0 || !strstr(err.msg, what))
		fail_msg("'%s' is not '%s ... %s'", err.msg, where, what);
	pl_optimised_fini(&o);
}

/* The sum to be made least, of rounds 0 and 1 of a plan with these epsilon0; INFINITY if they do not fit. */
static double sum_with(double first, double second, double weight)
{
	char text[1000];
	struct pl_plan p;
	struct pl_cost cost[2];
	struct cm_err err = { 0 };
	double a, b;

	(void)snprintf(text, sizeof text,
		HEAD "rounds = (" STATE("s", "epsilon0 = %.17g,") "," MEAN("m", "epsilon0 = %.17g,") ")\n",
		first, second);
	p = read_plan(text);
	assert_int_equal(pl_plan_cost(&p, cost, &err), CM_OK);
	a = cost[0].error / 20000;
	b = cost[1].error / 130;
	pl_plan_fini(&p);
	return cost[0].run && cost[1].run ? weight * a * a + b * b : (double)INFINITY;
}

static void weights_spend_the_budget_where_it_is_worth_most(void **state)
{
	struct pl_optimised o;
	double first, second, best;

	(void)state;
	found(HEAD "rounds = (" STATE("s", "epsilon0 = \"weight 2\",") "," MEAN(
		      "m", "epsilon0 = \"weight 1\",") ")\n",
		&o);
	assert_true(o.last.fits && o.last.total > 0.995 && o.last.total < 1);
	first = o.plan.round[0].request.epsilon0;
	second = o.plan.round[1].request.epsilon0;
	best = sum_with(first, second, 2);
	assert_true(isfinite(best));
	/* With any other first number, and all that it leaves for the second, no more than a thousandth of
	 * the error is gained: on either side, since the error has one valley. */
	for (size_t i = 0; i < 2; i++) {
		double other = first * (double[]){ 0.92, 1.08 }[i], low = second / 4, high = second * 4;

		while (high / low > 1.0005) {
			double middle = sqrt(low * high);

			*(isfinite(sum_with(other, middle, 2)) ? &low : &high) = middle;
		}
		assert_true(sum_with(other, low, 2) > best * 0.998);
	}
	assert_true(sum_with(first, second * 1.01, 2) > best); /* no longer fits */
	pl_optimised_fini(&o);
}

static void errors_are_met_in_one_proportion(void **state)
{
	struct pl_optimised o;

	(void)state;
	found(HEAD "rounds = (" STATE("s", "epsilon0 = \"error 50\",") "," MEAN(
		      "m", "epsilon0 = \"error 0.5\",") ")\n",
		&o);
	assert_true(o.last.fits && o.last.total > 0.995);
	assert_true(fabs(log(o.granted[0].error / 50) - log(o.granted[1].error / 0.5)) < 0.005);
	pl_optimised_fini(&o);
}

static void all_but_the_number_stays_as_it_was(void **state)
{
	static const char text[] = HEAD "# epsilon0 = \"error 1\"\n/* \"weight 2\" */\nrounds = (" STATE(
		"s", "epsilon0 = 1.5,") ",\n{ query = \"t\", type = \"histogram\", field = \"c\",\n"
					"  epsilon0 = \"weight 1e0\", min_reports = 30000, # \"weight 9\"\n"
					"  values = [\"error 5\", \"b\"] })\n";
	static const char after[] =
		" /* weight 1e0 */, min_reports = 30000, # \"weight 9\"\n  values = [\"error "
		"5\", \"b\"] })\n";
	struct pl_optimised o;
	char number[64];

	(void)state;
	found(text, &o);
	assert_int_equal(o.n, 1);
	assert_int_equal(o.granted[0].wish.line, 10);
	assert_int_equal(cm_buf_put(&o.text, "", 1), CM_OK);
	assert_non_null(strstr((const char *)o.text.data, after));
	(void)snprintf(number, sizeof number, "epsilon0 = %s /*", o.granted[0].value);
	assert_non_null(strstr((const char *)o.text.data, number));
	assert_true(o.plan.round[1].epsilon0 > o.plan.round[0].epsilon0);
	assert_true(o.last.total > 0.99);
	pl_optimised_fini(&o);
}

/* Fewest dummies that fit, of a row that takes whole numbers of them, and of one that takes fractions. */
static void dummies_are_found(void **state)
{
	static const char *const protocol[] = { "bins", "mixbins" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char text[1000];
		struct pl_optimised o;
		struct pl_plan p;
		struct pl_cost cost;
		struct cm_err err = { 0 };
		double dummies;
		bool rare = pt_find(protocol[i])->device->rare_dummy;

		(void)snprintf(text, sizeof text,
			HEAD "rounds = (" STATE("s", "protocol = \"%s\", epsilon0 = %s, dummies = %s,") ")\n",
			protocol[i], i == 0 ? "\"inf\"" : "12.0", "\"weight 1\"");
		found(text, &o);
		assert_true(o.last.fits);
		dummies = pt_dummies_each(
			o.plan.round[0].request.dummies, o.plan.round[0].request.dummy_chance);
		pl_optimised_fini(&o);
		/* Slightly fewer are too few. */
		dummies = rare ? dummies * 0.99 : dummies - 1;
		(void)snprintf(text, sizeof text,
			HEAD
			"rounds = (" STATE("s", "protocol = \"%s\", epsilon0 = %s, dummies = %.6g,") ")\n",
			protocol[i], i == 0 ? "\"inf\"" : "12.0", dummies);
		p = read_plan(text);
		assert_int_equal(pl_plan_cost(&p, &cost, &err), CM_OK);
		assert_false(cost.run);
		pl_plan_fini(&p);
	}
}

static void recurrences_cost_each_time_they_come(void **state)
{
	struct pl_optimised o;

	(void)state;
	found(HEAD "rounds = (" STATE("s", "epsilon0 = \"weight 1\", repeat = 7,") ")\n", &o);
	assert_int_equal(o.plan.rounds, 7);
	assert_int_equal(o.n, 1);
	assert_true(o.last.fits && o.last.total > 0.99);
	pl_optimised_fini(&o);
}

static void an_adaptive_plan_fits_its_filter(void **state)
{
	struct pl_optimised o;

	(void)state;
	found(HEAD "mode = \"adaptive\"\nrounds = (" STATE("s", "epsilon0 = \"weight 1\",") "," MEAN(
		      "m", "epsilon0 = \"weight 1\",") ")\n",
		&o);
	assert_true(o.last.adaptive && o.last.fits);
	assert_true(o.last.share_total > 0.99 && o.last.share_total <= 1);
	pl_optimised_fini(&o);
}

/* The epsilon of "auto" is found, and the row that it then chooses is in the plan that was read. */
static void auto_gets_its_part_of_the_budget(void **state)
{
	struct pl_optimised o;

	(void)state;
	found(HEAD "rounds = (" STATE("s", "epsilon0 = 2.0,") "," STATE("t",
		      "protocol = \"auto\", epsilon0 = 8.0, max_bytes = 127, epsilon = \"weight 1\",") ")\n",
		&o);
	assert_true(o.last.fits && o.last.total > 0.98);
	assert_true(o.plan.round[1].automatic && o.plan.round[1].cost > 0.5);
	pl_optimised_fini(&o);
}

static void faults_name_their_line(void **state)
{
	(void)state;
	expect_fault(HEAD "rounds = (" STATE("s", "epsilon0 = 1.0,") ")\n", CM_ECONFIG,
		"plan.conf:1: ", "no round says what is wanted");
	expect_fault(HEAD "rounds = (" STATE("s", "epsilon0 = \"weight -1\",") ")\n", CM_ECONFIG,
		"plan.conf:5: ", "'epsilon0' must be a number, \"error X\"");
	expect_fault(HEAD "rounds = (" STATE("s", "epsilon0 = \"weigth 2\",") ")\n", CM_ECONFIG,
		"plan.conf:5: ",
		"'epsilon0' must be a number, \"error X\" or \"weight X\", X above 0: "
		"did you mean \"weight X\"?");
	expect_fault(HEAD "rounds = (" STATE("s", "epsilon0 = \"eror 2\",") ")\n", CM_ECONFIG,
		"plan.conf:5: ", "did you mean \"error X\"?");
	expect_fault(HEAD "rounds = (" STATE("s", "epsilon0 = \"weight\",") ")\n", CM_ECONFIG,
		"plan.conf:5: ", "'epsilon0' must be a number, \"error X\"");
	expect_fault(HEAD "rounds = (" STATE("s", "epsilon0 = \"weight 1\",") "," STATE(
			     "t", "epsilon0 = \"error 1\",") ")\n",
		CM_ECONFIG, "plan.conf:7: ", "line 5 says a weight");
	expect_fault(HEAD "rounds = (" STATE("s", "epsilon0 = \"weight 1\", dummies = \"weight 1\",") ")\n",
		CM_ECONFIG, "plan.conf:5: ", "one wish in a round");
	expect_fault(HEAD "rounds = (" STATE("s", "protocol = \"auto\", epsilon0 = \"weight 1\",") ")\n",
		CM_ECONFIG, "plan.conf:5: ", "the wish is for 'epsilon'");
	expect_fault(HEAD
		"rounds = (" STATE("s", "epsilon0 = 2.0, protocol = \"grr\", dummies = \"weight 1\",") ")\n",
		CM_ECONFIG, "plan.conf:5: ", "no number of 'dummies' is possible: grr: dummies must be 0");
	expect_fault(HEAD "rounds = ({ query = \"s\", type = \"sets\", field = \"c\", size = 2,\n"
			  "protocol = \"privset\", epsilon0 = 2.0, dummies = \"error 30\",\n"
			  "min_reports = 20000, values = [\"a\", \"b\", \"c\"] })\n",
		CM_ECONFIG,
		"plan.conf:5: ", "no number of 'dummies' is possible: privset: dummies must be 0");
	expect_fault(HEAD "rounds = (" STATE("s", "epsilon0 = \"weight 1\", range = [0, 1],") ")\n",
		CM_ECONFIG, "plan.conf:", "'range'");
	expect_fault(HEAD "rounds = (" STATE("s", "epsilon0 = \"weight 1\",") "," STATE(
			     "t", "protocol = \"auto\", epsilon0 = 8.0,") ")\n",
		CM_ECONFIG, "plan.conf:6: ", "says no 'epsilon'");
	expect_fault(HEAD
		"rounds = (" STATE("s", "epsilon0 = \"weight 1\",") "," STATE("t", "epsilon0 = 16,") ")\n",
		CM_EBUDGET, "", "round 2 (t) would be refused");
	expect_fault(HEAD
		"rounds = ({ query = \"s\", type = \"histogram\", field = \"c\", protocol = "
		"\"bins\", epsilon0 = \"inf\", dummies = \"weight 1\", repeat = 50, min_reports = 1, "
		"values = [\"a\", \"b\", \"c\"] })\n",
		CM_EBUDGET, "nothing fits", "");
}

/* No party takes a file with wishes for a plan. */
static void a_plan_with_a_wish_is_no_plan(void **state)
{
	static const char text[] = HEAD "rounds = (" STATE("s", "epsilon0 = \"error 20\",") ")\n";
	struct pl_plan p;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(
		pl_plan_parse((const uint8_t *)text, strlen(text), "plan.conf", NULL, &p, &err), CM_ECONFIG);
	assert_string_equal(err.msg,
		"plan.conf:5: 'epsilon0' is still \"error 20\": `tombola plan optimise` finds the number");
	pl_plan_fini(&p);
	err = (struct cm_err){ 0 };
	static const char typo[] = HEAD "rounds = (" STATE("s", "epsilon0 = \"weigth 2\",") ")\n";
	assert_int_equal(
		pl_plan_parse((const uint8_t *)typo, strlen(typo), "plan.conf", NULL, &p, &err), CM_ECONFIG);
	assert_string_equal(err.msg,
		"plan.conf:5: 'epsilon0' must be a number, not \"weigth 2\": did you mean \"weight X\"?");
	pl_plan_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_spend_the_budget_where_it_is_worth_most),
		cmocka_unit_test(errors_are_met_in_one_proportion),
		cmocka_unit_test(all_but_the_number_stays_as_it_was),
		cmocka_unit_test(dummies_are_found),
		cmocka_unit_test(recurrences_cost_each_time_they_come),
		cmocka_unit_test(an_adaptive_plan_fits_its_filter),
		cmocka_unit_test(auto_gets_its_part_of_the_budget),
		cmocka_unit_test(faults_name_their_line),
		cmocka_unit_test(a_plan_with_a_wish_is_no_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
