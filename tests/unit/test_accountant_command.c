/* test_accountant_command.c - tombola-accountant as a user meets it: exit codes, one line of blame, JSON. */
#include "accountant_run.h"

#include <math.h>

#include "csv.h"

static void the_usage_is_answered_with_64(void **state)
{
	(void)state;
	assert_int_equal(run(""), 64);
	assert_non_null(strstr(blamed, "Usage: tombola-accountant"));
	refuses("frobnicate", 64, "unknown verb 'frobnicate'");
	refuses("optimize", 64, "unknown verb 'optimize' (did you mean 'optimise'?)");
	refuses("epsilon --delta 1e-6", 64, "--round is missing");
	refuses("epsilon --round rr:eps0=1,n=9", 64, "--delta is missing");
	refuses("delta --round rr:eps0=1,n=9", 64, "--epsilon is missing");
	refuses("rounds --delta 1e-6 --round rr:eps0=1,n=9", 64, "--epsilon is missing");
	refuses("rounds --epsilon 1 --round rr:eps0=1,n=9", 64, "--delta is missing");
	refuses("epsilon --epsilon 1 --delta 1e-6 --round rr:eps0=1,n=9", 64,
		"unrecognized option '--epsilon'");
	assert_non_null(
		strstr(blamed, "'--epsilon' is an option of delta, rounds, calibrate, optimise, compare\n"));
	refuses("delta --epsilon 1 --delta 1e-6 --round rr:eps0=1,n=9", 64, "unrecognized option '--delta'");
	refuses("epsilon epsilon --delta 1e-6 --round rr:eps0=1,n=9", 64,
		"'epsilon' is one argument too many");
	refuses("epsilon --delta", 64, "option '--delta' requires an argument");
	refuses("epsilon --delta 1e-6 --round", 64, "option '--round' requires an argument");
	refuses("epsilon --nonsense", 64, "'--nonsense'");
	refuses("epsilon -xh", 64, "invalid option -- 'x'");
	refuses("epsilon --delta 1e-6 --round rr:eps0=1,n=9 --method magic", 64,
		"no such method; there are pld");
	refuses("epsilon --delta 1e-6 --round rr:eps0=1,n=9 --method pld --method clt", 64,
		"--method is given twice");
	refuses("epsilon --delta 1e-6 --round rr:eps0=1,n=9 --bound best", 64, "proved, published");
	refuses("epsilon --delta 1e-6 --round rr:eps0=1,n=9 --bound published --method clones", 64,
		"does not use");
	refuses("epsilon --delta 1e-6 --round rr:eps0=1,n=9 --over n", 64, "unrecognized option '--over'");
	refuses("epsilon --delta 1e-6 --round rr:eps0=1,n=9 --format csv", 64,
		"unrecognized option '--format'");
	refuses("curve --round rr:eps0=1,n=9 --points 3 --points 4", 64, "given twice");
	refuses("epsilon --delta 1e-6 --round rr:eps0=1,n=9 --delta 1e-7", 64, "--delta is given twice");
	refuses("delta --epsilon 1 --epsilon 2 --round rr:eps0=1,n=9", 64, "--epsilon is given twice");
}

static void numbers_that_are_none_are_answered_with_64(void **state)
{
	static const char *const bad[] = { "nan", "inf", "-inf", "0", "1", "-1e-9", "1e-400", "1e400", "''",
		"1e-6x", "' 1e-6'", "1e-6,", "--json" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char args[200];

		(void)snprintf(args, sizeof args, "epsilon --round rr:eps0=1,n=9 --delta %s", bad[i]);
		refuses(args, 64, "");
	}
	refuses("delta --round rr:eps0=1,n=9 --epsilon inf", 64, "--epsilon");
	refuses("delta --round rr:eps0=1,n=9 --epsilon nan", 64, "--epsilon");
	refuses("delta --round rr:eps0=1,n=9 --epsilon -0.5", 64, "--epsilon");
}

static void rounds_that_are_none_are_answered_with_65(void **state)
{
	static const char *const bad[] = { "''", ":", "nonsense:n=9", "rr", "rr:eps0=nan,n=9",
		"rr:eps0=inf,n=9", "rr:eps0=1e400,n=9", "rr:eps0=1,n=nan", "rr:eps0=1,n=inf",
		"rr:eps0=1,n=1e400", "rr:eps0=1,n=18446744073709551616",
		"rr:eps0=1,n=9,count=18446744073709551617", "rr:eps0=1,n=9,colour=red", "rr:eps0=1,n=9,",
		"grr:k=1e300,eps0=1,n=9", "cells:omega=.5/.5,u=nan/1,v=1/1,n=2",
		"cells:omega=.5/.5,u=inf/0,v=1/1,n=2", "cells:omega=-.5/.5,u=1/1,v=1/1,n=2",
		"bins:k=4,dummies=-1" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char args[200];

		(void)snprintf(args, sizeof args, "epsilon --delta 1e-6 --round %s", bad[i]);
		refuses(args, 65, "--round ");
	}
	refuses("epsilon --delta 1e-250 --round rr:eps0=1,n=9", 65, "double precision");
}

static void a_good_round_does_not_excuse_a_bad_one(void **state)
{
	(void)state;
	refuses("epsilon --delta 1e-6 --round rr:eps0=1,n=9 --round rr:eps0=1", 65, "n= is missing");
	refuses("epsilon --delta 1e-6 --round rr:eps0=1 --round rr:eps0=1,n=9 --json", 65, "n= is missing");
}

/* Alone, binary response has delta(eps) = (e^eps0 - e^eps)/(e^eps0 + 1). */
static void every_field_of_the_object_is_there(void **state)
{
	double truth = (exp(1) - exp(0.5)) / (exp(1) + 1);
	json_t *j = answers("delta --epsilon 0.5 --round rr:eps0=1,n=1 --json");

	(void)state;
	assert_string_equal(text(j, "method"), "pld");
	assert_string_equal(text(j, "bound"), "proved");
	assert_true(number(j, "epsilon_lower") == 0.5 && number(j, "epsilon_upper") == 0.5);
	assert_true(number(j, "delta_lower") <= truth && number(j, "delta_lower") > truth * (1 - 1e-6));
	assert_true(number(j, "delta_upper") >= truth && number(j, "delta_upper") < truth * (1 + 1e-6));
	assert_string_equal(text(j, "worth"), "proved");
	assert_true(number(j, "rounds") == 1);
	assert_true(number(j, "seconds") >= 0);
	assert_null(json_object_get(j, "fit"));
	json_decref(j);
}

static void an_infinite_bound_is_null(void **state)
{
	json_t *j = answers("epsilon --delta 1e-6 --round bins:k=4,dummies=2 --json");

	(void)state;
	assert_true(json_is_null(json_object_get(j, "epsilon_upper")));
	assert_true(json_is_null(json_object_get(j, "epsilon_lower")));
	json_decref(j);
	assert_int_equal(run("epsilon --delta 1e-6 --round bins:k=4,dummies=2"), 0);
	assert_non_null(strstr(printed, "inf"));
}

static void printed_bounds_enclose_the_computed_ones(void **state)
{
	json_t *j = answers("epsilon --delta 1e-6 --round grr:k=16,eps0=3,n=1000 --json");
	double low, high;

	(void)state;
	assert_int_equal(run("epsilon --delta 1e-6 --round grr:k=16,eps0=3,n=1000"), 0);
	assert_int_equal(sscanf(printed, "epsilon at most %lf (at least %lf)", &high, &low), 2);
	assert_true(high >= number(j, "epsilon_upper") && low <= number(j, "epsilon_lower"));
	json_decref(j);
}

/* Exact fractions: the true delta of a round must be within reach of the upper end, and above the published
 * value. */
static void answers_hold_the_exact_values(void **state)
{
	(void)state;
	/* 3-ary response, p = 3, two participants: tests/data/vectors/counterexamples.csv. */
	json_t *j = answers("delta --epsilon 0.86499743748660451 --json --round "
			    "grr:k=3,eps0=1.0986122886681098,n=2");
	assert_true(number(j, "delta_upper") >= 0.075 && number(j, "delta_upper") < 0.0751);
	json_decref(j);
	j = answers("delta --epsilon 0.86499743748660451 --json --bound published --round "
		    "grr:k=3,eps0=1.0986122886681098,n=2");
	assert_true(fabs(number(j, "delta_upper") - 0.045) < 1e-4);
	json_decref(j);
}

/* Reference intervals from another implementation, which was stopped 1e-8 short of its answers. */
static void answers_agree_with_reference_intervals(void **state)
{
	struct csv c;
	size_t rows = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/proved.csv"));
	for (; csv_next(&c); rows++) {
		char args[8192];
		const char *spec = csv_get(&c, "rounds_spec");
		int at = snprintf(args, sizeof args, "epsilon --json --delta %s", csv_get(&c, "delta"));

		while (*spec) {
			size_t len = strcspn(spec, " ");

			at += snprintf(args + at, sizeof args - (size_t)at, " --round %.*s", (int)len, spec);
			spec += len + strspn(spec + len, " ");
		}
		json_t *j = answers(args);
		double low = atof(csv_get(&c, "eps_lower")), high = atof(csv_get(&c, "eps_upper"));
		double lower = number(j, "epsilon_lower"), upper = number(j, "epsilon_upper");
		if (!(upper >= low * (1 - 1e-8) && lower <= high * (1 + 1e-8) && upper <= high * (1 + 5e-3)))
			fail_msg("%s: [%.9g, %.9g], not [%.9g, %.9g]", csv_get(&c, "case"), lower, upper, low,
				high);
		json_decref(j);
	}
	(void)fclose(c.file);
	assert_true(rows > 40);
}

static void the_published_reduction_is_called_no_guarantee(void **state)
{
	static const char args[] = "epsilon --delta 1e-6 --round grr:k=16,eps0=3,n=1000 --bound published";
	char json[200];

	(void)state;
	succeeds(args);
	assert_non_null(strstr(printed, "paper value (not a guarantee)"));
	assert_null(strstr(printed, "at most"));
	assert_null(strstr(printed, "proved"));
	(void)snprintf(json, sizeof json, "%s --json", args);
	json_t *j = answers(json);
	assert_string_equal(text(j, "worth"), "paper value (not a guarantee)");
	assert_string_equal(text(j, "bound"), "published");
	assert_non_null(strstr(text(j, "note"), "below the exact loss"));
	json_decref(j);
	refuses("epsilon --delta 1e-6 --bound published --round rr:eps0=1,n=9,others_eps=2,others_n=5", 65,
		"--round rr");
}

/* The help fits the screen that it is read on. */
static void fits_a_screen(const char *args, int lines)
{
	int line = 0;

	succeeds(args);
	for (const char *at = printed; *at; line++) {
		size_t len = strcspn(at, "\n");

		if (len >= 100)
			fail_msg("%s: %.*s", args, (int)len, at);
		at += len + 1;
	}
	if (line > lines)
		fail_msg("%s: %d lines", args, line);
}

static void a_round_is_described_by_its_pair_and_cells(void **state)
{
	(void)state;
	succeeds("describe --round grr:k=16,eps0=3,n=10000");
	assert_non_null(strstr(printed, "pair: p 20.0855, beta 0.543972, q 20.0855"));
	assert_non_null(strstr(printed, "own symbol with chance 0.572473"));
	assert_non_null(strstr(printed, "blanket with chance 0.456028"));
	assert_non_null(strstr(printed, "0.399025     1            1"));
	assert_non_null(strstr(printed, "standard error 0.00712561, variance 5.07743e-05"));
	succeeds("describe --json --round bins:k=16,dummies=9 --round marginals:k=6/4,eps0=2,n=10");
	assert_non_null(strstr(
		printed, "\"eps0\":null,\"p\":null,\"beta\":1,\"q\":16,\"kept\":null,\"blanket\":null"));
	assert_non_null(strstr(printed, "\"name\":\"marginals\",\"n\":10,\"count\":1"));
	assert_non_null(strstr(printed, "\"error\":"));
	assert_null(strstr(printed, "\"error\":null"));
	refuses("describe", 64, "--round is missing");
	refuses("describe --round krr:k=3", 65, "did you mean grr?");
	refuses("describe --round rr:eps0=1,n=9 --delta 1e-6", 64, "unrecognized option '--delta'");
}

static void a_budget_is_allocated_over_rounds(void **state)
{
	(void)state;
	succeeds("optimise --epsilon 0.2 --delta 1e-6 --weight 4/1 --round grr:k=3,eps0=?,n=10000 "
		 "--round rr:eps0=0.5,n=9000 --round grr:k=3,eps0=?,n=10000");
	assert_non_null(strstr(printed, " rr:eps0=0.5,n=9000\n"));
	assert_non_null(strstr(printed, "\nepsilon at most "));
	assert_null(strchr(printed, '?'));
	succeeds("optimise --epsilon 0.2 --delta 1e-6 --json --error 0.01 --round grr:k=3,eps0=?,n=10000");
	assert_non_null(strstr(printed, "\"worth\":\"proved\""));
	refuses("optimise --epsilon 0.01 --delta 1e-6 --round rr:eps0=?,n=1000 --round rr:eps0=3,n=100", 3,
		"nothing fits epsilon 0.01");
	assert_int_equal(run("optimise --epsilon 1e-4 --delta 1e-6 --round grr:k=4,eps0=?,n=1000"), 0);
	assert_non_null(strstr(blamed, "times all participants: the budget is too small"));
	refuses("optimise --epsilon 1 --delta 1e-6 --weigth 2 --round rr:eps0=?,n=9", 64,
		"unrecognized option '--weigth'");
	assert_non_null(strstr(blamed, "\ntombola-accountant optimise: did you mean '--weight'?\n"));
	refuses("optimise --epsilon 1 --delta 1e-6 --weigth=2 --round rr:eps0=?,n=9", 64,
		"unrecognized option '--weigth=2'");
	assert_non_null(strstr(blamed, "did you mean '--weight'?\n"));
	refuses("optimise --epsilon 1 --xyzzy 1", 64, "unrecognized option '--xyzzy'");
	assert_null(strstr(blamed, "did you mean"));
	refuses("optimise --epsilon 1 --delta 1e-6 --weight 1/2 --round rr:eps0=?,n=9", 64, "more numbers");
	refuses("optimise --epsilon 1 --delta 1e-6 --error 1 --round rr:eps0=?,n=9 --round rr:eps0=?,n=9", 64,
		"fewer numbers");
	refuses("optimise --epsilon 1 --delta 1e-6 --error x --round rr:eps0=?,n=9", 64, "not numbers");
	refuses("optimise --epsilon 1 --delta 1e-6 --round rr:eps0=1,n=9", 64, "write eps0=?");
	refuses("optimise --epsilon 1 --delta 1e-6 --round rr:eps0=?,m=9", 65, "no such key 'm'");
}

static void help_and_version_succeed_and_a_full_disk_does_not(void **state)
{
	static const char *const verbs[] = { "epsilon", "delta", "rounds", "calibrate", "compare", "curve",
		"audit", "describe", "names", "optimise", "export" };

	(void)state;
	fits_a_screen("--help", 24);
	fits_a_screen("-h", 24);
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		char args[40], usage[80];

		succeeds("--help");
		assert_non_null(strstr(printed, verbs[i]));
		(void)snprintf(args, sizeof args, "%s --help", verbs[i]);
		(void)snprintf(usage, sizeof usage, "Usage: tombola-accountant %s", verbs[i]);
		fits_a_screen(args, 24);
		assert_int_equal(strncmp(printed, usage, strlen(usage)), 0);
	}
	assert_int_equal(run("-V"), 0);
	assert_int_equal(run("epsilon --delta 1e-6 --round rr:eps0=1,n=9 >/dev/full"), 74);
	assert_int_equal(run("names >/dev/full"), 74);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_usage_is_answered_with_64),
		cmocka_unit_test(numbers_that_are_none_are_answered_with_64),
		cmocka_unit_test(rounds_that_are_none_are_answered_with_65),
		cmocka_unit_test(a_good_round_does_not_excuse_a_bad_one),
		cmocka_unit_test(every_field_of_the_object_is_there),
		cmocka_unit_test(an_infinite_bound_is_null),
		cmocka_unit_test(answers_hold_the_exact_values),
		cmocka_unit_test(answers_agree_with_reference_intervals),
		cmocka_unit_test(the_published_reduction_is_called_no_guarantee),
		cmocka_unit_test(printed_bounds_enclose_the_computed_ones),
		cmocka_unit_test(a_round_is_described_by_its_pair_and_cells),
		cmocka_unit_test(a_budget_is_allocated_over_rounds),
		cmocka_unit_test(help_and_version_succeed_and_a_full_disk_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
