/* test_accountant_command.c - tombola-accountant as a user meets it: exit codes, one line of blame, JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char out[8192], err[8192];

static size_t slurp(FILE *f, char *to, size_t room)
{
	size_t n = fread(to, 1, room - 1, f);

	to[n] = '\0';
	return n;
}

/* Exit code of `tombola-accountant ARGS`; its output is in out, its errors in err. */
static int run(const char *args)
{
	char command[8192], name[] = "/tmp/acct-command-XXXXXX";
	int file = mkstemp(name);
	FILE *pipe;

	assert_true(file >= 0);
	(void)snprintf(command, sizeof command, "'%s' %s 2>'%s'", ACCOUNTANT, args, name);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	(void)slurp(pipe, out, sizeof out);
	int status = pclose(pipe);
	FILE *errors = fdopen(file, "r");
	assert_non_null(errors);
	(void)slurp(errors, err, sizeof err);
	(void)fclose(errors);
	(void)remove(name);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Refused with this code, nothing on output and one line that says `part`. */
static void refuses(const char *args, int code, const char *part)
{
	int got = run(args);

	if (got != code || out[0] || !strstr(err, part) || strchr(err, '\n') != err + strlen(err) - 1)
		fail_msg("%s: code %d, '%s', not %d '%s'", args, got, err, code, part);
	assert_int_equal(strncmp(err, "tombola-accountant: ", 20), 0);
}

static json_t *answers(const char *args)
{
	json_t *j;

	if (run(args) != 0)
		fail_msg("%s: %s", args, err);
	assert_string_equal(err, "");
	j = json_loads(out, 0, NULL);
	assert_true(json_is_object(j));
	return j;
}

static double number(const json_t *j, const char *name)
{
	assert_true(json_is_number(json_object_get(j, name)));
	return json_number_value(json_object_get(j, name));
}

static void the_usage_is_answered_with_64(void **state)
{
	(void)state;
	refuses("", 64, "say what to compute");
	refuses("frobnicate", 64, "no such verb 'frobnicate'");
	refuses("epsilon --delta 1e-6", 64, "--round is missing");
	refuses("epsilon --round rr:eps0=1,n=9", 64, "--delta is missing");
	refuses("delta --round rr:eps0=1,n=9", 64, "--epsilon is missing");
	refuses("rounds --delta 1e-6 --round rr:eps0=1,n=9", 64, "--epsilon is missing");
	refuses("rounds --epsilon 1 --round rr:eps0=1,n=9", 64, "--delta is missing");
	refuses("epsilon --epsilon 1 --delta 1e-6 --round rr:eps0=1,n=9", 64, "not an option");
	refuses("delta --epsilon 1 --delta 1e-6 --round rr:eps0=1,n=9", 64, "not an option");
	refuses("epsilon epsilon --delta 1e-6 --round rr:eps0=1,n=9", 64, "unexpected argument");
	refuses("epsilon --delta", 64, "needs a value");
	refuses("epsilon --delta 1e-6 --round", 64, "needs a value");
	refuses("epsilon --nonsense", 64, "'--nonsense'");
	refuses("epsilon -xh", 64, "'-x'");
	refuses("epsilon --delta 1e-6 --round rr:eps0=1,n=9 --method rdp", 64, "rdp");
	refuses("epsilon --delta 1e-6 --round rr:eps0=1,n=9 --bound published", 64, "published");
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
	assert_string_equal(json_string_value(json_object_get(j, "schema")), "tombola.accountant/1");
	assert_string_equal(json_string_value(json_object_get(j, "method")), "pld");
	assert_string_equal(json_string_value(json_object_get(j, "bound")), "proved");
	assert_true(number(j, "epsilon_lower") == 0.5 && number(j, "epsilon_upper") == 0.5);
	assert_true(number(j, "delta_lower") <= truth && number(j, "delta_lower") > truth * (1 - 1e-6));
	assert_true(number(j, "delta_upper") >= truth && number(j, "delta_upper") < truth * (1 + 1e-6));
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
	assert_non_null(strstr(out, "inf"));
}

static void rounds_are_as_many_as_fit_and_not_one_more(void **state)
{
	json_t *j = answers("rounds --epsilon 1 --delta 1e-6 --round rr:eps0=1,n=10000 --json");
	int fit = (int)number(j, "fit");
	char args[200];

	(void)state;
	assert_true(fit > 1 && number(j, "epsilon_upper") <= 1);
	json_decref(j);
	(void)snprintf(
		args, sizeof args, "epsilon --delta 1e-6 --round rr:eps0=1,n=10000,count=%d --json", fit + 1);
	j = answers(args);
	assert_true(number(j, "epsilon_upper") > 1 && number(j, "rounds") == fit + 1);
	json_decref(j);
	j = answers("rounds --epsilon 0 --delta 1e-6 --round rr:eps0=1,n=10000 --json");
	assert_true(number(j, "fit") == 0);
	json_decref(j);
}

/* Nine digits, rounded outwards. */
static void printed_bounds_enclose_the_computed_ones(void **state)
{
	json_t *j = answers("epsilon --delta 1e-6 --round grr:k=16,eps0=3,n=1000 --json");
	double low, high;

	(void)state;
	assert_int_equal(run("epsilon --delta 1e-6 --round grr:k=16,eps0=3,n=1000"), 0);
	assert_int_equal(sscanf(out, "epsilon at most %lf (at least %lf)", &high, &low), 2);
	assert_true(high >= number(j, "epsilon_upper") && low <= number(j, "epsilon_lower"));
	json_decref(j);
}

static void help_and_version_succeed_and_a_full_disk_does_not(void **state)
{
	(void)state;
	assert_int_equal(run("--help"), 0);
	assert_non_null(strstr(out, "tombola-accountant epsilon --delta"));
	assert_int_equal(run("-V"), 0);
	assert_int_equal(run("epsilon --delta 1e-6 --round rr:eps0=1,n=9 >/dev/full"), 74);
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
		cmocka_unit_test(rounds_are_as_many_as_fit_and_not_one_more),
		cmocka_unit_test(printed_bounds_enclose_the_computed_ones),
		cmocka_unit_test(help_and_version_succeed_and_a_full_disk_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
