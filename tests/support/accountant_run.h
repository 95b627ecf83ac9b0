/* accountant_run.h - runs a command line of tombola-accountant and checks its output.  ACCOUNTANT is the
 * program's path. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static char printed[1 << 18], blamed[8192];

static inline void slurp(FILE *f, char *to, size_t room)
{
	size_t n = fread(to, 1, room - 1, f);

	to[n] = '\0';
}

/* Run `tombola-accountant ARGS`; output goes to `printed`, errors to `blamed`.  Returns its exit code. */
static inline int run(const char *args)
{
	char command[16384], name[] = "/tmp/acct-command-XXXXXX";
	int file = mkstemp(name);
	FILE *pipe;

	assert_true(file >= 0);
	(void)snprintf(command, sizeof command, "'%s' %s 2>'%s'", ACCOUNTANT, args, name);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	slurp(pipe, printed, sizeof printed);
	int status = pclose(pipe);
	FILE *errors = fdopen(file, "r");
	assert_non_null(errors);
	slurp(errors, blamed, sizeof blamed);
	(void)fclose(errors);
	(void)remove(name);
	if (!WIFEXITED(status))
		fail_msg("%s: did not end by itself", args);
	return WEXITSTATUS(status);
}

/* Assert that it ends with this code, prints nothing, and writes one error line that contains `part`; below a
 * usage error, a hint points to --help. */
static inline void was_refused(const char *args, int got, int code, const char *part)
{
	const char *end = strchr(blamed, '\n'), *hint = strstr(blamed, "\nTry `tombola-accountant");

	if (got != code || printed[0] || !strstr(blamed, part) || !end || (code == 64 ? end != hint : end[1]))
		fail_msg("%s: code %d, '%s', not %d '%s'", args, got, blamed, code, part);
	assert_int_equal(strncmp(blamed, "tombola-accountant", 18), 0);
}

static inline void refuses(const char *args, int code, const char *part)
{
	was_refused(args, run(args), code, part);
}

static inline void succeeds(const char *args)
{
	if (run(args) != 0)
		fail_msg("%s: %s", args, blamed);
	assert_string_equal(blamed, "");
}

/* The one JSON object that it printed, to be freed by the caller. */
static inline json_t *object_printed(void)
{
	json_t *j = json_loads(printed, JSON_REJECT_DUPLICATES, NULL);

	assert_true(json_is_object(j));
	assert_string_equal(json_string_value(json_object_get(j, "schema")), "tombola.accountant/1");
	return j;
}

static inline json_t *answers(const char *args)
{
	succeeds(args);
	return object_printed();
}

static inline double number(const json_t *j, const char *name)
{
	if (!json_is_number(json_object_get(j, name)))
		fail_msg("%s is no number", name);
	return json_number_value(json_object_get(j, name));
}

static inline const char *text(const json_t *j, const char *name)
{
	if (!json_is_string(json_object_get(j, name)))
		fail_msg("%s is no text", name);
	return json_string_value(json_object_get(j, name));
}

/* One number of an answer. */
static inline double asked(const char *args, const char *name)
{
	json_t *j = answers(args);
	double x = number(j, name);

	json_decref(j);
	return x;
}
