/* test_accountant_verbs.c - rounds, calibrate, compare, curve and names, asked as users ask. */
#include "accountant_run.h"

#include <math.h>

static void rounds_are_as_many_as_fit_and_not_one_more(void **state)
{
	json_t *j = answers("rounds --epsilon 1 --delta 1e-6 --round rr:eps0=2,n=1000 --json");
	int fit = (int)number(j, "fit");
	char args[200];

	(void)state;
	assert_true(fit > 1 && number(j, "epsilon_upper") <= 1);
	assert_true(json_is_false(json_object_get(j, "limited")));
	json_decref(j);
	(void)snprintf(
		args, sizeof args, "epsilon --delta 1e-6 --round rr:eps0=2,n=1000,count=%d --json", fit + 1);
	j = answers(args);
	assert_true(number(j, "epsilon_upper") > 1 && number(j, "rounds") == fit + 1);
	json_decref(j);
	/* The exit code tells a script that nothing fits. */
	assert_int_equal(run("rounds --epsilon 0 --delta 1e-6 --round rr:eps0=2,n=1000 --json"), 3);
	j = object_printed();
	assert_true(number(j, "fit") == 0);
	json_decref(j);
	/* The list counts as a whole. */
	int twice = (int)asked("rounds --epsilon 1 --delta 1e-6 --json --round rr:eps0=2,n=1000 "
			       "--round rr:eps0=2,n=1000",
		"fit");
	assert_int_equal(twice, fit / 2);
}

#define SLOTS "--delta 1e-6 --round marginals:k=6/4,n=10000,eps0="
#define EACH  "--delta 1e-6 --round grr:k=6,n=10000,eps0=2 --round grr:k=4,n=10000,eps0=2"

/* One SPEC, two rounds of the accountant, by every verb. */
static void a_round_of_slots_is_asked_like_the_rounds_it_is(void **state)
{
	double e = asked("epsilon --json " EACH, "epsilon_upper");

	(void)state;
	assert_true(asked("epsilon --json " SLOTS "2", "rounds") == 2);
	assert_true(asked("epsilon --json " SLOTS "2", "epsilon_upper") == e);
	assert_true(asked("rounds --epsilon 1 --json " SLOTS "2", "fit") ==
		    asked("rounds --epsilon 1 --json " EACH, "fit"));
	double most = asked("calibrate --epsilon 1 --json " SLOTS "?", "value");
	char args[200];

	(void)snprintf(args, sizeof args, "epsilon --json " SLOTS "%.17g", most);
	assert_true(most > 2 && asked(args, "epsilon_upper") <= 1);
	assert_true(asked("epsilon --bound published --json " SLOTS "2", "epsilon_upper") < e);
	was_refused("noise", run("epsilon --bound published --delta 1e-6 --round noise:epsilon=1,mean=40"),
		65, "nothing is published");
	succeeds("curve --over eps0 --from 1 --to 2 --points 2 --format table " SLOTS "2");
	succeeds("compare " SLOTS "2");
}

static void a_limit_of_the_command_is_not_called_an_answer(void **state)
{
	(void)state;
	/* A list may hold a million rounds. */
	succeeds("rounds --epsilon 100 --delta 1e-6 --round rr:eps0=1,n=1000000000,count=300000");
	assert_non_null(strstr(printed, "at least 3 times"));
	assert_non_null(strstr(printed, "the limit of this command"));
	json_t *j = answers(
		"rounds --epsilon 100 --delta 1e-6 --round rr:eps0=1,n=1000000000,count=1000000 --json");
	assert_true(json_is_true(json_object_get(j, "limited")));
	assert_true(number(j, "fit") == 1);
	json_decref(j);
}

/* The value found fits, and no value `beyond` it does.  spec has one %s where the value stands. */
static void calibrated(const char *spec, double (*beyond)(double))
{
	char open[200], round[200], value[64], args[300];

	(void)snprintf(open, sizeof open, spec, "?");
	(void)snprintf(args, sizeof args, "calibrate --epsilon 0.7 --delta 1e-6 --json --round %s", open);
	json_t *j = answers(args);
	double x = number(j, "value");
	assert_true(number(j, "epsilon_upper") <= 0.7);
	json_decref(j);
	for (int i = 0; i < 2; i++) {
		(void)snprintf(value, sizeof value, "%.17g", i == 0 ? x : beyond(x));
		(void)snprintf(round, sizeof round, spec, value);
		(void)snprintf(args, sizeof args, "epsilon --delta 1e-6 --json --round %s", round);
		double e = asked(args, "epsilon_upper");
		if ((e <= 0.7) != (i == 0))
			fail_msg("%s: %.17g", args, e);
	}
}

static double a_little_more(double x)
{
	return x * (1 + 1e-5);
}

static double one_more(double x)
{
	return x + 1;
}

static double one_less(double x)
{
	return x - 1;
}

static void calibrated_values_fit_and_no_better_ones_do(void **state)
{
	(void)state;
	calibrated("grr:k=16,eps0=%s,n=1000", a_little_more);
	calibrated("rr:eps0=%s,n=3000,count=3", a_little_more);
	calibrated("vrr:s=2,eps0=%s,n=1000", a_little_more);
	calibrated("rr:eps0=2,n=1000,count=%s", one_more);
	calibrated("rr:eps0=3,n=%s", one_less);
	calibrated("bins:k=16,dummies=%s", one_less);
}

/* Binary response alone: delta(eps) = (e^eps0 - e^eps)/(e^eps0 + 1), so that eps0 is known. */
static void calibrate_finds_what_is_known(void **state)
{
	double eps = 1, delta = 0.01, truth = log((exp(eps) + delta) / (1 - delta));

	(void)state;
	double x = asked("calibrate --epsilon 1 --delta 0.01 --json --round rr:eps0=?,n=1", "value");
	assert_true(x <= truth && x > truth * (1 - 1e-4));
}

static void what_cannot_be_calibrated_says_why(void **state)
{
	(void)state;
	refuses("calibrate --epsilon 1 --delta 1e-6 --round rr:eps0=1,n=9", 64, "eps0=?");
	refuses("calibrate --epsilon 1 --delta 1e-6 --round rr:eps0=?,n=9 --round rr:eps0=1,n=?", 64,
		"one open key");
	refuses("calibrate --epsilon 1 --delta 1e-6 --round rr:eps0=?,n=?", 64, "one open key at a time");
	refuses("epsilon --delta 1e-6 --round rr:eps0=?,n=9", 65, "eps0=? is for calibrate");
	refuses("calibrate --epsilon 1 --delta 1e-6 --round grr:k=?,eps0=1,n=9", 64, "cannot search k=?");
	refuses("calibrate --epsilon 1 --delta 1e-6 --round rr:eps0=?,n=9 --method lower", 64, "from below");
	refuses("rounds --epsilon 1 --delta 1e-6 --round rr:eps0=1,n=9 --method lower", 64, "from below");
	refuses("calibrate --epsilon 1 --delta 1e-6 --round rr:eps0=?", 65, "n= is missing");
	refuses("calibrate --epsilon 1 --delta 1e-6 --round rr:eps0=?,n=9 --round rr:eps0=x,n=9", 65,
		"eps0=x");
	refuses("calibrate --epsilon 1e-5 --delta 1e-6 --round rr:eps0=?,n=10 --round rr:eps0=1,n=10", 3,
		"no eps0 fits");
	refuses("calibrate --epsilon 0.001 --delta 1e-6 --round rr:eps0=1,n=10,count=?", 3, "no count fits");
}

/* The first row of `compare` is the answer of `epsilon`; nothing that is proved lies below its lower end. */
static void methods_are_compared_and_labelled(void **state)
{
	static const char *const worths[] = { "proved", "approximate (not a guarantee)",
		"paper value (not a guarantee)", "proved lower bound" };
	const char *args = "compare --delta 1e-6 --json --round grr:k=16,eps0=2,n=10000,count=20";
	json_t *j = answers(args), *row;
	size_t i, answered = 0;
	double lower = 0, upper = 0;

	(void)state;
	json_array_foreach(json_object_get(j, "methods"), i, row)
	{
		size_t k = 0;

		if (i == 0) {
			assert_string_equal(text(row, "method"), "pld");
			assert_string_equal(text(row, "worth"), "proved");
			lower = number(row, "epsilon_lower");
			upper = number(row, "epsilon_upper");
			assert_true(number(row, "ratio") == 1);
		}
		if (json_object_get(row, "why_not")) {
			assert_true(strlen(text(row, "why_not")) > 10);
			continue;
		}
		answered++;
		while (k < 4 && strcmp(text(row, "worth"), worths[k]) != 0)
			k++;
		assert_true(k < 4);
		if (k == 0 && number(row, "epsilon_upper") < lower)
			fail_msg("%s is proved, and below what is proved", text(row, "method"));
		if (k == 3 && number(row, "epsilon_lower") > upper)
			fail_msg("%s is a lower bound, and above what is proved", text(row, "method"));
		assert_true(number(row, "seconds") >= 0);
	}
	assert_true(answered >= 4);
	json_decref(j);
	assert_true(asked("epsilon --delta 1e-6 --json --round grr:k=16,eps0=2,n=10000,count=20",
			    "epsilon_upper") == upper);
}

static void nothing_is_a_share_of_an_infinite_epsilon(void **state)
{
	json_t *j = answers("compare --delta 1e-6 --json --round bins:k=256,dummies=1000"), *row;
	size_t i, finite = 0;

	(void)state;
	json_array_foreach(json_object_get(j, "methods"), i, row)
	{
		if (json_object_get(row, "why_not"))
			continue;
		assert_true(json_is_null(json_object_get(row, "ratio")));
		finite += json_is_number(json_object_get(row, "epsilon_upper"));
	}
	assert_true(finite > 0);
	json_decref(j);
}

static void compare_wants_one_question(void **state)
{
	(void)state;
	refuses("compare --round rr:eps0=1,n=9", 64, "--delta");
	refuses("compare --delta .1 --epsilon 1 --round rr:eps0=1,n=9", 64, "--delta");
	refuses("compare --delta .1 --round rr:eps0=1,n=9 --method pld", 64,
		"unrecognized option '--method'");
	succeeds("compare --epsilon 0.1 --round rr:eps0=1,n=1000");
	assert_non_null(strstr(printed, "delta at epsilon 0.1"));
	assert_non_null(strstr(printed, "not a guarantee"));
}

/* Every method is described alike everywhere: in the table, in its answer, in text. */
static void every_method_answers_for_itself(void **state)
{
	json_t *j = answers("names --json"), *row;
	size_t i, answered = 0;

	(void)state;
	assert_true(json_array_size(json_object_get(j, "randomizers")) > 10);
	json_array_foreach(json_object_get(j, "randomizers"), i, row)
	{
		assert_in_range(strlen(text(row, "summary")), 10, 64);
	}
	json_array_foreach(json_object_get(j, "methods"), i, row)
	{
		char args[200], json[220];

		(void)snprintf(args, sizeof args,
			"epsilon --delta 1e-5 --round grr:k=2,eps0=1,n=2000 --method %s", text(row, "name"));
		(void)snprintf(json, sizeof json, "%s --json", args);
		int code = run(json);
		if (code != 0) {
			was_refused(json, code, 65, "--method");
			continue;
		}
		answered++;
		assert_string_equal(blamed, "");
		json_t *a = object_printed();
		assert_string_equal(text(a, "method"), text(row, "name"));
		succeeds(args);
		assert_non_null(strstr(printed, text(a, "worth")));
		if (strcmp(text(a, "worth"), "proved") != 0 && strstr(printed, "at most"))
			fail_msg("%s sounds like a guarantee: %s", args, printed);
		json_decref(a);
	}
	assert_true(answered >= 4);
	json_decref(j);
}

struct line {
	char method[32], worth[64];
	double x, lower, upper;
};

/* Lines of the CSV that was printed. */
static size_t lines_of(const char *x_name, struct line *to, size_t room)
{
	char head[100];
	size_t n = 0;

	(void)snprintf(head, sizeof head, "method,worth,%s,epsilon_lower,epsilon_upper\n", x_name);
	assert_int_equal(strncmp(printed, head, strlen(head)), 0);
	for (const char *at = strchr(printed, '\n') + 1; *at; at = strchr(at, '\n') + 1, n++) {
		assert_true(n < room);
		assert_int_equal(sscanf(at, "%31[^,],%63[^,],%lf,%lf,%lf", to[n].method, to[n].worth,
					 &to[n].x, &to[n].lower, &to[n].upper),
			5);
	}
	return n;
}

static void curves_fall_over_delta_and_hold_the_single_answers(void **state)
{
	struct line l[64];
	char args[200];
	size_t n;

	(void)state;
	succeeds("curve --round rr:eps0=1,n=1000,count=10 --points 9 --delta-min 1e-9 --delta-max 0.001");
	n = lines_of("delta", l, 64);
	assert_int_equal(n, 9);
	assert_true(l[0].x == 1e-9 && l[8].x == 0.001);
	for (size_t i = 0; i < n; i++) {
		assert_true(l[i].lower <= l[i].upper && l[i].lower > l[i].upper * (1 - 1e-2));
		/* The true curve falls, so no lower end is above an upper end at a smaller delta. */
		for (size_t k = 0; k < i; k++)
			assert_true(l[i].lower <= l[k].upper && l[i].x > l[k].x);
		assert_string_equal(l[i].worth, "proved");
	}
	(void)snprintf(
		args, sizeof args, "epsilon --round rr:eps0=1,n=1000,count=10 --json --delta %.17g", l[4].x);
	/* The curve is one question: its intervals hold the same value, in other digits. */
	double single = asked(args, "epsilon_upper");
	assert_true(l[4].lower <= single && fabs(l[4].upper - single) <= 1e-3 * single);
}

static void curves_run_over_parameters(void **state)
{
	struct line l[64];
	size_t n;

	(void)state;
	succeeds("curve --over n --from 100 --to 1e5 --points 5 --delta 1e-6 --round rr:eps0=1");
	n = lines_of("n", l, 64);
	assert_int_equal(n, 5);
	for (size_t i = 0; i < n; i++)
		assert_true(l[i].x == floor(l[i].x) && (i == 0 || l[i].upper < l[i - 1].lower));
	succeeds("curve --over eps0 --from 1 --to 2 --points 3 --delta 1e-6 --round rr:eps0=9,n=100 "
		 "--method pld --method clt");
	n = lines_of("eps0", l, 64);
	assert_int_equal(n, 6);
	assert_true(l[1].x == 1.5);
	assert_string_equal(l[3].method, "clt");
	assert_string_equal(l[3].worth, "approximate (not a guarantee)");
	succeeds("curve --over count --from 1 --to 3 --delta 1e-6 --round rr:eps0=1,n=100");
	assert_int_equal(lines_of("count", l, 64), 3);
}

static void curves_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	refuses("curve", 64, "--round is missing");
	refuses("curve --round rr:eps0=1,n=9 --delta 1e-6", 64, "--over");
	refuses("curve --round rr:eps0=1,n=9 --delta-min 1e-2 --delta-max 1e-3", 64, "--delta-min");
	refuses("curve --round rr:eps0=1,n=9 --delta-min 2", 64, "--delta-min");
	refuses("curve --round rr:eps0=1,n=9 --over n --from 1 --to 2", 64, "needs --delta");
	refuses("curve --round rr:eps0=1,n=9 --over n --from 2 --to 1 --delta .1", 64, "--from");
	refuses("curve --round rr:eps0=1,n=9 --over n --from 2 --to 3 --delta .1 --delta-min .1", 64,
		"--delta-min");
	refuses("curve --round rr:eps0=1,n=9 --over x --from 2 --to 3 --delta .1", 65, "no such key 'x'");
	refuses("curve --round rr:eps0=1,n=9 --over n --from -2 --to 3 --delta .1", 65, "--round");
	refuses("curve --round rr:eps0=1,n=9 --format png", 64, "--format png");
	refuses("curve --round rr:eps0=1,n=9 --points 1", 64, "--points");
	refuses("curve --round rr:eps0=1,n=9 --points 2.5", 64, "--points");
	refuses("curve --round rr:eps0=1,n=9 --points 2 -o /nonexistent/x.csv", 73, "/nonexistent/x.csv");
	refuses("curve --round rr:eps0=1,n=9 --points 2 -o /dev/full", 74, "/dev/full");
}

static void a_curve_can_be_an_object_or_a_table(void **state)
{
	json_t *j = answers("curve --round rr:eps0=1,n=100 --points 3 --json"), *series;

	(void)state;
	series = json_array_get(json_object_get(j, "series"), 0);
	assert_string_equal(text(series, "worth"), "proved");
	assert_int_equal(json_array_size(json_object_get(series, "points")), 3);
	json_decref(j);
	succeeds("curve --round rr:eps0=1,n=100 --points 3 --format table");
	assert_int_equal(strncmp(printed, "delta ", 6), 0);
}

static void names_are_listed_where_one_looks_for_them(void **state)
{
	char names[sizeof printed];

	(void)state;
	succeeds("names");
	assert_non_null(strstr(printed, "grr:k=,eps0="));
	assert_non_null(strstr(printed, "not a guarantee"));
	(void)snprintf(names, sizeof names, "%s", printed);
	succeeds("epsilon --round help");
	assert_string_equal(printed, names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_are_as_many_as_fit_and_not_one_more),
		cmocka_unit_test(a_round_of_slots_is_asked_like_the_rounds_it_is),
		cmocka_unit_test(a_limit_of_the_command_is_not_called_an_answer),
		cmocka_unit_test(calibrated_values_fit_and_no_better_ones_do),
		cmocka_unit_test(calibrate_finds_what_is_known),
		cmocka_unit_test(what_cannot_be_calibrated_says_why),
		cmocka_unit_test(methods_are_compared_and_labelled),
		cmocka_unit_test(nothing_is_a_share_of_an_infinite_epsilon),
		cmocka_unit_test(compare_wants_one_question),
		cmocka_unit_test(every_method_answers_for_itself),
		cmocka_unit_test(curves_fall_over_delta_and_hold_the_single_answers),
		cmocka_unit_test(curves_run_over_parameters),
		cmocka_unit_test(curves_that_make_no_sense_are_refused),
		cmocka_unit_test(a_curve_can_be_an_object_or_a_table),
		cmocka_unit_test(names_are_listed_where_one_looks_for_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
