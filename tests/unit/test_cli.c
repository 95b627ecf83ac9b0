/* test_cli.c - the command line: verbs, options, help, exit codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cm_cli.h"
#include "cm_suggest.h"

/* What the last verb saw. */
static struct cm_cli seen;
static char seen_args[256], seen_repeated[256], seen_config[128];
static int calls;

static enum cm_rc note(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	(void)exit_code;
	(void)err;
	seen = *cli;
	calls++;
	(void)snprintf(seen_config, sizeof seen_config, "%s", cli->config ? cli->config : "");
	seen_args[0] = seen_repeated[0] = '\0';
	for (int i = 0; i < cli->argc; i++) {
		(void)strcat(seen_args, cli->argv[i]);
		(void)strcat(seen_args, ";");
	}
	for (int i = 0; cli->repeated[1][i]; i++) {
		(void)strcat(seen_repeated, cli->repeated[1][i]);
		(void)strcat(seen_repeated, ";");
	}
	return CM_OK;
}

static enum cm_rc refuse(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	(void)cli;
	*exit_code = 99;
	return cm_fail(err, CM_EBUDGET, "round 6 refused");
}

static enum cm_rc nagios(const struct cm_cli *cli, int *exit_code, struct cm_err *err)
{
	(void)cli;
	(void)err;
	*exit_code = 2;
	return CM_OK;
}

static const struct cm_cli_verb verbs[] = {
	CM_VERB("run", "", 0, 0, refuse, "run in the foreground"),
	CM_VERB("check", "", 0, 0, nagios, "for monitoring"),
	CM_VERB("send", "FILE", 1, 2, note, "send readings"),
	CM_VERB("round list", "", 0, 0, note, "list rounds"),
	CM_VERB_WITH("round show", "[N]", 0, 1, note, "show a round", CM_OPTION("delta", "D", "target delta"),
		CM_REPEATED("round", "SPEC", "one round"), CM_FLAG("full", "everything")),
	{ 0 },
};
static struct cm_cli_program program = {
	.name = "tombola-test", .summary = "Tests the command line.", .role = "tester", .verb = verbs
};

static char said[16384], told[16384];

static void capture(int fd, int *kept, FILE *to)
{
	*kept = dup(fd);
	assert_true(*kept >= 0 && dup2(fileno(to), fd) >= 0);
}

static void restore(int fd, int kept, FILE *from, char *text, size_t max)
{
	size_t n;

	assert_true(dup2(kept, fd) >= 0);
	(void)close(kept);
	rewind(from);
	n = fread(text, 1, max - 1, from);
	text[n] = '\0';
	(void)fclose(from);
}

/* Run one command line, words separated by one space; stdout lands in `said`, stderr in `told`. */
static int run(const char *line)
{
	FILE *out = tmpfile(), *err = tmpfile();
	/* These are static because `seen` points into them. */
	static char words[1024];
	char *argv[200], *rest = words;
	int argc = 0, kept_out, kept_err, code;

	assert_true(out && err && strlen(line) < sizeof words);
	(void)strcpy(words, line);
	for (char *w; (w = strtok_r(rest, " ", &rest));)
		argv[argc++] = w;
	argv[argc] = NULL;
	(void)fflush(stdout);
	capture(STDOUT_FILENO, &kept_out, out);
	capture(STDERR_FILENO, &kept_err, err);
	code = cm_cli_main(&program, argc, argv);
	(void)fflush(stdout);
	restore(STDOUT_FILENO, kept_out, out, said, sizeof said);
	restore(STDERR_FILENO, kept_err, err, told, sizeof told);
	return code;
}

#define USAGE(line, text)                              \
	do {                                           \
		assert_int_equal(run(line), 64);       \
		assert_string_equal(said, "");         \
		assert_non_null(strstr(told, (text))); \
	} while (0)

static void a_verb_sees_its_arguments_and_options(void **state)
{
	(void)state;
	assert_int_equal(run("x round show 7 --delta 1e-6 --round a --round=b --full"), 0);
	assert_string_equal(seen_args, "round show;7;");
	assert_string_equal(seen.option[0], "1e-6");
	assert_string_equal(seen_repeated, "a;b;");
	assert_string_equal(seen.option[2], "");
	assert_int_equal(run("x round list"), 0);
	assert_string_equal(seen_args, "round list;");
	assert_null(seen.option[0]);
	assert_int_equal(run("x send a -- --b"), 0);
	assert_string_equal(seen_args, "send;a;--b;");
}

static void global_options_stand_before_or_after_the_verb(void **state)
{
	(void)state;
	assert_int_equal(run("x -c f.conf --json -v round list"), 0);
	assert_string_equal(seen_config, "f.conf");
	assert_true(seen.json);
	assert_int_equal(seen.level, CM_LOG_DEBUG);
	assert_int_equal(run("x round list -q -q --config=g.conf --color always"), 0);
	assert_string_equal(seen_config, "g.conf");
	assert_true(seen.color);
	assert_int_equal(seen.level, CM_LOG_ERROR);
	assert_int_equal(run("x -qqqqq round list"), 0);
	assert_int_equal(seen.level, CM_LOG_ERROR);
}

static void long_options_may_be_abbreviated_when_unambiguous(void **state)
{
	(void)state;
	assert_int_equal(run("x round show --del 3 --js"), 0);
	assert_string_equal(seen.option[0], "3");
	assert_true(seen.json);
	USAGE("x round show --ver", "ambiguous");
}

static void without_options_the_defaults_hold(void **state)
{
	(void)state;
	assert_int_equal(run("x round list"), 0);
	assert_string_equal(seen_config, "/etc/tombola/tester.conf");
	assert_int_equal(seen.level, CM_LOG_INFO);
	assert_int_equal(seen.log_format, CM_LOG_AUTO);
	assert_false(seen.json);
	/* Standard output is a file here. */
	assert_false(seen.color);
}

static void the_environment_is_a_default_that_options_override(void **state)
{
	(void)state;
	(void)setenv("TOMBOLA_CONFIG", "env.conf", 1);
	(void)setenv("TOMBOLA_LOG_LEVEL", "error", 1);
	(void)setenv("TOMBOLA_LOG_FORMAT", "json", 1);
	(void)setenv("TOMBOLA_COLOR", "always", 1);
	assert_int_equal(run("x round list"), 0);
	assert_string_equal(seen_config, "env.conf");
	assert_int_equal(seen.level, CM_LOG_ERROR);
	assert_int_equal(seen.log_format, CM_LOG_JSON);
	assert_true(seen.color);
	assert_int_equal(run("x -c o.conf -v --log-format text --color never round list"), 0);
	assert_string_equal(seen_config, "o.conf");
	assert_int_equal(seen.level, CM_LOG_WARN);
	assert_int_equal(seen.log_format, CM_LOG_TEXT);
	assert_false(seen.color);
	(void)setenv("TOMBOLA_LOG_LEVEL", "loud", 1);
	USAGE("x round list", "TOMBOLA_LOG_LEVEL is error, warn, info or debug, not 'loud'");
	(void)unsetenv("TOMBOLA_LOG_LEVEL");
	(void)setenv("TOMBOLA_COLOR", "red", 1);
	USAGE("x round list", "TOMBOLA_COLOR is auto, always or never, not 'red'");
	(void)unsetenv("TOMBOLA_COLOR");
	(void)setenv("TOMBOLA_LOG_FORMAT", "xml", 1);
	USAGE("x round list", "TOMBOLA_LOG_FORMAT is text, json or auto, not 'xml'");
	(void)unsetenv("TOMBOLA_LOG_FORMAT");
	(void)unsetenv("TOMBOLA_CONFIG");
}

static enum cm_rc good_machine(const char **line, struct cm_err *err)
{
	(void)err;
	*line = "eight wheels";
	return CM_OK;
}

static enum cm_rc bad_machine(const char **line, struct cm_err *err)
{
	*line = "none";
	return cm_fail(err, CM_EUSAGE, "a wheel is missing");
}

static void the_machine_is_shown_with_the_version_when_asked_for_more(void **state)
{
	(void)state;
	program.machine = good_machine;
	assert_int_equal(run("x --version"), 0);
	assert_null(strstr(said, "wheels"));
	assert_int_equal(run("x --version --verbose"), 0);
	assert_non_null(strstr(said, "eight wheels\n"));
	program.machine = bad_machine;
	assert_int_equal(run("x round list"), 64);
	assert_non_null(strstr(told, "tombola-test: a wheel is missing"));
	program.machine = NULL;
}

static void help_lists_every_verb_and_every_option(void **state)
{
	(void)state;
	assert_int_equal(run("x --help"), 0);
	for (const struct cm_cli_verb *v = verbs; v->name; v++) {
		assert_non_null(strstr(said, v->name));
		assert_non_null(strstr(said, v->help));
	}
	assert_non_null(strstr(said, "Tests the command line."));
	assert_string_equal(told, "");
	assert_int_equal(run("x round show --help"), 0);
	assert_non_null(strstr(said, "Usage: tombola-test round show [OPTION...] [N]"));
	assert_non_null(strstr(said, "--delta D"));
	assert_non_null(strstr(said, "one round; repeatable"));
	assert_int_equal(run("x send -h"), 0);
	assert_non_null(strstr(said, "send [OPTION...] FILE"));
	assert_int_equal(run("x -h round show"), 0);
	assert_non_null(strstr(said, "--delta D"));
}

static void help_can_be_asked_for_in_every_way(void **state)
{
	char whole[sizeof said];

	(void)state;
	assert_int_equal(run("x --help"), 0);
	strcpy(whole, said);
	assert_int_equal(run("x help"), 0);
	assert_string_equal(said, whole);
	assert_int_equal(run("x round show --help"), 0);
	strcpy(whole, said);
	assert_int_equal(run("x help round show"), 0);
	assert_string_equal(said, whole);
	/* List the verbs that begin with this word, and no others. */
	assert_int_equal(run("x round --help"), 0);
	assert_non_null(strstr(said, "Usage: tombola-test [OPTION...] round VERB"));
	assert_non_null(strstr(said, "round list"));
	assert_non_null(strstr(said, "round show"));
	assert_null(strstr(said, "send FILE"));
	strcpy(whole, said);
	assert_int_equal(run("x round -h"), 0);
	assert_string_equal(said, whole);
	assert_int_equal(run("x help round"), 0);
	assert_string_equal(said, whole);
}

static void version_is_one_line(void **state)
{
	(void)state;
	assert_int_equal(run("x --version"), 0);
	assert_string_equal(said, "tombola-test " TOMBOLA_VERSION "\n");
	assert_int_equal(run("x round list -V"), 0);
	assert_string_equal(said, "tombola-test " TOMBOLA_VERSION "\n");
}

static void bad_usage_is_exit_64_with_a_hint_and_runs_nothing(void **state)
{
	int before = calls;

	(void)state;
	USAGE("x", "Try `tombola-test --help'");
	USAGE("x --bogus", "tombola-test: unrecognized option '--bogus'");
	USAGE("x -Z round list", "invalid option -- 'Z'");
	USAGE("x rnu", "unknown verb 'rnu' (did you mean 'run'?)");
	USAGE("x zzz", "unknown verb 'zzz'\n");
	USAGE("x round", "'round' needs a second word: list, show");
	USAGE("x help rnu", "unknown verb 'rnu' (did you mean 'run'?)");
	USAGE("x round shwo", "unknown verb 'round shwo' (did you mean 'round show'?)");
	USAGE("x round show --bogus", "tombola-test round show: unrecognized option '--bogus'");
	USAGE("x round show --bogus", "Try `tombola-test round show --help'");
	USAGE("x round show 1 2", "'2' is one argument too many");
	USAGE("x round list 1", "'1' is one argument too many");
	USAGE("x round show --delta", "option '--delta' requires an argument");
	USAGE("x round show --full=1", "option '--full' doesn't allow an argument");
	USAGE("x round show --delta 1 --delta 2", "--delta is given twice");
	USAGE("x send", "tombola-test send: missing argument: FILE");
	USAGE("x --log-format xml round list", "--log-format is text, json or auto, not 'xml'");
	USAGE("x round list --color red", "--color is auto, always or never, not 'red'");
	/* An option of one verb is refused with another. */
	USAGE("x round list --delta 1", "unrecognized option '--delta'");
	assert_non_null(strstr(told, "\ntombola-test round list: '--delta' is an option of round show\n"));
	assert_int_equal(calls, before);
}

static void a_repeatable_option_has_no_limit(void **state)
{
	char line[1024] = "x round show", all[256] = "";

	(void)state;
	for (int i = 0; i < 90; i++) {
		(void)strcat(line, " --round r");
		(void)strcat(all, "r;");
	}
	assert_int_equal(run(line), 0);
	assert_string_equal(seen_repeated, all);
}

static void an_option_that_nobody_knows_has_a_neighbour(void **state)
{
	(void)state;
	USAGE("x round show --detla 1", "unrecognized option '--detla'");
	assert_non_null(strstr(told, "\ntombola-test round show: did you mean '--delta'?\n"));
	USAGE("x round show --fulll=1", "unrecognized option '--fulll=1'");
	assert_non_null(strstr(told, "did you mean '--full'?"));
	USAGE("x round show --xyzzy", "unrecognized option '--xyzzy'");
	assert_null(strstr(told, "did you mean"));
	/* Other faults of a known option suggest nothing. */
	USAGE("x round show --delta 1 --delta 2", "--delta is given twice");
	assert_null(strstr(told, "did you mean"));
}

/* A program with a manual, a letter, and nothing to log. */
static void a_manual_takes_the_place_of_the_rows(void **state)
{
	static const struct cm_cli_verb own[] = {
		{ .name = "plot",
			.args = "",
			.run = note,
			.manual = "Plots.\n",
			.option = { { .name = "output", .value = "FILE", .letter = 'o' },
				CM_REPEATED("round", "SPEC", NULL) } },
		{ 0 },
	};
	const struct cm_cli_program kept = program;

	(void)state;
	program = (struct cm_cli_program){
		.name = "tombola-test", .verb = own, .manual = "All of it.\n", .silent = true
	};
	assert_int_equal(run("x --help"), 0);
	assert_string_equal(said, "All of it.\n");
	assert_int_equal(run("x plot --help"), 0);
	assert_string_equal(said, "Plots.\n");
	assert_int_equal(run("x plot -o a"), 0);
	assert_string_equal(seen.option[0], "a");
	assert_int_equal(run("x plot --output=b"), 0);
	assert_string_equal(seen.option[0], "b");
	assert_ptr_equal(seen.verb, own);
	USAGE("x plot -o a --output b", "--output is given twice");
	USAGE("x plot --verbose", "unrecognized option '--verbose'");
	USAGE("x plot --config a", "unrecognized option '--config'");
	/* A variable of the logs is nothing to it. */
	(void)setenv("TOMBOLA_LOG_LEVEL", "nonsense", 1);
	assert_int_equal(run("x plot --json"), 0);
	(void)unsetenv("TOMBOLA_LOG_LEVEL");
	program = kept;
}

static void a_failed_verb_is_one_line_and_its_own_exit_code(void **state)
{
	(void)state;
	assert_int_equal(run("x run"), 3);
	assert_string_equal(told, "tombola-test: round 6 refused\n");
	assert_string_equal(said, "");
}

static void a_verb_may_choose_its_exit_code(void **state)
{
	(void)state;
	assert_int_equal(run("x check"), 2);
	assert_string_equal(told, "");
}

static void every_result_has_the_exit_code_of_the_manual(void **state)
{
	static const struct {
		enum cm_rc rc;
		int code;
	} map[] = { { CM_OK, 0 }, { CM_EOTHER, 1 }, { CM_EBUDGET, 3 }, { CM_EUSAGE, 64 }, { CM_EDATA, 65 },
		{ CM_ENOINPUT, 66 }, { CM_EUNAVAIL, 69 }, { CM_EINTERNAL, 70 }, { CM_ECREATE, 73 },
		{ CM_EIO, 74 }, { CM_ELATER, 75 }, { CM_EPROTO, 76 }, { CM_EPERM, 77 }, { CM_ECONFIG, 78 } };

	(void)state;
	for (size_t i = 0; i < sizeof map / sizeof map[0]; i++)
		assert_int_equal(cm_exit_code(map[i].rc), map[i].code);
}

static void numbers_are_read_whole_or_refused(void **state)
{
	static const char *const bad_double[] = { "", "x", "1x", "nan", "inf", "-inf", "1e999", "1,5",
		"--1" };
	static const char *const bad_u64[] = { "", "-1", "+1", " 1", "1 ", "0x10", "1.0",
		"18446744073709551616", "99999999999999999999999" };
	struct cm_err err = { 0 };
	double d = 7;
	uint64_t u = 7;

	(void)state;
	for (size_t i = 0; i < sizeof bad_double / sizeof bad_double[0]; i++) {
		assert_int_equal(cm_cli_double(bad_double[i], "--delta", -10, 10, &d, &err), CM_EUSAGE);
		assert_memory_equal(err.msg, "--delta: ", 9);
	}
	for (size_t i = 0; i < sizeof bad_u64 / sizeof bad_u64[0]; i++)
		assert_int_equal(cm_cli_u64(bad_u64[i], "--n", 0, UINT64_MAX, &u, &err), CM_EUSAGE);
	assert_int_equal(cm_cli_double("11", "--delta", -10, 10, &d, &err), CM_EUSAGE);
	assert_int_equal(cm_cli_u64("4", "--n", 5, 9, &u, &err), CM_EUSAGE);
	assert_string_equal(err.msg, "--n: 4 is outside 5..9");
	assert_true(d == 7 && u == 7);
	assert_int_equal(cm_cli_double("-2.5e-1", "--delta", -10, 10, &d, &err), CM_OK);
	assert_true(d == -0.25);
	assert_int_equal(cm_cli_u64("18446744073709551615", "--n", 0, UINT64_MAX, &u, &err), CM_OK);
	assert_true(u == UINT64_MAX);
}

static void only_the_name_itself_confirms(void **state)
{
	static const char *const others[] = { NULL, "", "q", "q10", "Q1", " q1" };
	struct cm_err err;

	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		assert_int_equal(cm_cli_confirmed(others[i], "q1", "it is lost", &err), CM_EUSAGE);
		assert_string_equal(err.msg, "it is lost: to confirm, repeat the command with --confirm q1");
	}
	assert_int_equal(cm_cli_confirmed("q1", "q1", "it is lost", &err), CM_OK);
}

static void distance_counts_edits_and_swaps(void **state)
{
	struct cm_suggest nearest = { 0 };

	(void)state;
	assert_int_equal(cm_suggest_distance("", ""), 0);
	assert_int_equal(cm_suggest_distance("abc", ""), 3);
	assert_int_equal(cm_suggest_distance("kitten", "sitting"), 3);
	assert_int_equal(cm_suggest_distance("min_bacth", "min_batch"), 1);
	cm_suggest_offer(&nearest, "delta", "epsilon");
	assert_null(nearest.word);
	cm_suggest_offer(&nearest, "dleta", "delt");
	cm_suggest_offer(&nearest, "dleta", "delta");
	assert_string_equal(nearest.word, "delta");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distance_counts_edits_and_swaps),
		cmocka_unit_test(every_result_has_the_exit_code_of_the_manual),
		cmocka_unit_test(numbers_are_read_whole_or_refused),
		cmocka_unit_test(only_the_name_itself_confirms),
		cmocka_unit_test(a_verb_sees_its_arguments_and_options),
		cmocka_unit_test(global_options_stand_before_or_after_the_verb),
		cmocka_unit_test(long_options_may_be_abbreviated_when_unambiguous),
		cmocka_unit_test(without_options_the_defaults_hold),
		cmocka_unit_test(the_environment_is_a_default_that_options_override),
		cmocka_unit_test(the_machine_is_shown_with_the_version_when_asked_for_more),
		cmocka_unit_test(help_lists_every_verb_and_every_option),
		cmocka_unit_test(help_can_be_asked_for_in_every_way),
		cmocka_unit_test(version_is_one_line),
		cmocka_unit_test(bad_usage_is_exit_64_with_a_hint_and_runs_nothing),
		cmocka_unit_test(a_repeatable_option_has_no_limit),
		cmocka_unit_test(an_option_that_nobody_knows_has_a_neighbour),
		cmocka_unit_test(a_manual_takes_the_place_of_the_rows),
		cmocka_unit_test(a_failed_verb_is_one_line_and_its_own_exit_code),
		cmocka_unit_test(a_verb_may_choose_its_exit_code),
	};

	(void)unsetenv("TOMBOLA_CONFIG");
	(void)unsetenv("TOMBOLA_LOG_LEVEL");
	(void)unsetenv("TOMBOLA_LOG_FORMAT");
	(void)unsetenv("TOMBOLA_COLOR");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
