/* test_conf.c - configuration files: every documented key accepted, everything else refused with its line. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cf_conf.h"
#include "cm_file.h"

struct round {
	char *query;
	double epsilon0, range[2];
	struct cf_strings values;
	struct cf_table sets;
	struct cf_doubles at;
	struct cf_word word;
};
struct conf {
	char *listen, *plan;
	int64_t min_batch, window;
	double delta;
	bool strict;
	struct cf_list rounds;
};

static const struct cf_row round_rows[] = {
	{ .key = "query", .type = CF_STRING, .offset = offsetof(struct round, query), .required = true },
	{ .key = "epsilon0",
		.type = CF_EXTENDED,
		.offset = offsetof(struct round, epsilon0),
		.min = 0.1,
		.max = 16 },
	{ .key = "range",
		.type = CF_RANGE,
		.offset = offsetof(struct round, range),
		.min = -100,
		.max = 100 },
	{ .key = "values", .type = CF_STRINGS, .offset = offsetof(struct round, values), .min = 2, .max = 3 },
	{ .key = "sets", .type = CF_TABLE, .offset = offsetof(struct round, sets), .min = 1, .max = 3 },
	{ .key = "at", .type = CF_DOUBLES, .offset = offsetof(struct round, at), .min = 1, .max = 3 },
	{ .key = "word", .type = CF_WORD, .offset = offsetof(struct round, word) },
	{ .key = NULL },
};
static const struct cf_row budget_rows[] = {
	{ .key = "delta",
		.type = CF_DOUBLE,
		.offset = offsetof(struct conf, delta),
		.required = true,
		.min = 1e-12,
		.max = 1 },
	{ .key = "strict", .type = CF_BOOL, .offset = offsetof(struct conf, strict), .fallback = "true" },
	{ .key = NULL },
};
static const struct cf_row rows[] = {
	{ .key = "listen",
		.type = CF_STRING,
		.offset = offsetof(struct conf, listen),
		.fallback = "[::1]:7443",
		.help = "where to listen" },
	{ .key = "plan", .type = CF_PATH, .offset = offsetof(struct conf, plan) },
	{ .key = "min_batch",
		.type = CF_INT,
		.offset = offsetof(struct conf, min_batch),
		.required = true,
		.min = 1,
		.max = 1e9,
		.help = "smallest batch" },
	{ .key = "window",
		.type = CF_DURATION,
		.offset = offsetof(struct conf, window),
		.min = 1000,
		.max = 86400000,
		.fallback = "15m" },
	{ .key = "budget", .type = CF_GROUP, .sub = budget_rows },
	{ .key = "rounds",
		.type = CF_LIST,
		.offset = offsetof(struct conf, rounds),
		.sub = round_rows,
		.size = sizeof(struct round),
		.max = 4 },
	{ .key = NULL },
};

/* Parse `text` as b.cfg; the faults as one string (static). */
static const char *faults_of(const char *text, enum cm_rc want)
{
	static char faults[4096];
	struct conf c = { 0 };
	struct cm_err err = { 0 };
	FILE *out;

	memset(faults, 0, sizeof faults);
	out = fmemopen(faults, sizeof faults - 1, "w");
	assert_non_null(out);
	assert_int_equal(cf_parse(text, "b.cfg", rows, &c, NULL, out, &err), want);
	assert_int_equal(fclose(out), 0);
	if (want == CM_OK)
		assert_string_equal(faults, "");
	else
		assert_memory_equal(faults, err.msg, strlen(err.msg));
	cf_free(rows, &c);
	assert_null(c.listen);
	assert_null(c.rounds.item);
	return faults;
}

#define REFUSED(text, said) assert_string_equal(faults_of(text, CM_ECONFIG), said "\n")

static const char good[] = "listen = \"[::]:1\";\nplan = \"/p\"\nmin_batch = 5\nwindow = \"90s\"\n"
			   "budget = { delta = 1e-6  strict = false }\n"
			   "rounds = (\n"
			   "  { query = \"a\"  epsilon0 = 2  range = (-1, 2.5) },\n"
			   "  { query = \"b\"  epsilon0 = \"inf\"  values = [ \"x\", \"y\" ]\n"
			   "    sets = ( [ \"x\", \"y\" ], (\"z\") )  at = (1, 0.5) } )\n";

static void every_documented_key_is_accepted(void **state)
{
	struct conf c = { 0 };
	struct cf_file *file;
	struct cm_err err = { 0 };
	struct round *r;

	(void)state;
	assert_int_equal(cf_parse(good, "b.cfg", rows, &c, &file, NULL, &err), CM_OK);
	assert_string_equal(c.listen, "[::]:1");
	assert_string_equal(c.plan, "/p");
	assert_int_equal(c.min_batch, 5);
	assert_int_equal(c.window, 90000);
	assert_true(c.delta == 1e-6);
	assert_false(c.strict);
	assert_int_equal(c.rounds.n, 2);
	assert_int_equal(c.rounds.line[1], 8);
	r = c.rounds.item;
	assert_string_equal(r[0].query, "a");
	assert_true(r[0].epsilon0 == 2);
	assert_true(r[0].range[0] == -1 && r[0].range[1] == 2.5);
	assert_true(isinf(r[1].epsilon0));
	assert_int_equal(r[1].values.n, 2);
	assert_string_equal(r[1].values.item[1], "y");
	assert_true(r[1].sets.n == 2 && r[1].sets.item[0].n == 2 && r[1].sets.item[1].n == 1);
	assert_string_equal(r[1].sets.item[1].item[0], "z");
	assert_true(r[1].at.n == 2 && r[1].at.item[0] == 1 && r[1].at.item[1] == 0.5);
	assert_int_equal(cf_line(file, "rounds.[1].query"), 8);
	assert_int_equal(cf_line(file, "budget.delta"), 5);
	assert_int_equal(cf_line(file, "budget.epsilon"), 0);
	cf_file_free(file);
	cf_free(rows, &c);
}

static void a_file_keeps_its_lines_when_another_is_read(void **state)
{
	struct conf a = { 0 }, b = { 0 };
	struct cm_err err = { 0 }, first = { 0 }, why = { .code = CM_ECONFIG, .msg = "no" };
	struct cf_file *one, *other;

	(void)state;
	assert_int_equal(cf_parse("\n\nmin_batch = 1", "a.cfg", rows, &a, &one, NULL, &err), CM_OK);
	assert_int_equal(cf_parse("min_batch = 1", "b.cfg", rows, &b, &other, NULL, &err), CM_OK);
	cf_fault_at(one, "min_batch", &why, NULL, &first);
	assert_string_equal(first.msg, "a.cfg:3: no");
	assert_int_equal(cf_line(other, "min_batch"), 1);
	cf_free(rows, &b);
	cf_file_free(one);
	/* A fault takes nothing away: further ones are reported with their lines, too. */
	assert_int_equal(cf_parse("\nmin_batch = \"many\"", "b.cfg", rows, &b, &one, NULL, &err), CM_ECONFIG);
	assert_int_equal(cf_line(one, "min_batch"), 2);
	cf_free(rows, &b);
	cf_file_free(one);
	assert_int_equal(cf_parse("min_batch = ", "b.cfg", rows, &b, &one, NULL, &err), CM_ECONFIG);
	first.code = CM_OK;
	cf_fault_at(one, "min_batch", &why, NULL, &first);
	assert_string_equal(first.msg, "b.cfg:1: no");
	cf_file_free(one);
	cf_free(rows, &a);
	cf_free(rows, &b);
	cf_file_free(other);
}

static void an_absent_key_takes_its_default(void **state)
{
	struct conf c = { 0 };
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(cf_parse("min_batch = 1", "b.cfg", rows, &c, NULL, NULL, &err), CM_OK);
	assert_string_equal(c.listen, "[::1]:7443");
	assert_int_equal(c.window, 900000);
	assert_null(c.plan);
	/* The group is absent: its default holds, what it requires does not. */
	assert_true(c.strict);
	assert_int_equal(c.rounds.n, 0);
	cf_free(rows, &c);
}

static void a_misspelt_key_is_refused_with_the_nearest_one(void **state)
{
	(void)state;
	REFUSED("min_batch = 1\n\nmin_bacth = 5",
		"b.cfg:3: unknown key 'min_bacth' (did you mean 'min_batch'?)");
	REFUSED("min_batch = 1\nzebra = 5", "b.cfg:2: unknown key 'zebra'");
	REFUSED("min_batch = 1\nbudget = { delta = 0.1\nstrickt = true }",
		"b.cfg:3: unknown key 'strickt' in 'budget' (did you mean 'strict'?)");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\"\n  epsilon = 1.0 } )",
		"b.cfg:3: unknown key 'epsilon' in 'rounds.[1]' (did you mean 'epsilon0'?)");
}

/* Every key of the table, spelt wrong in each of two ways, is refused. */
static void every_misspelling_of_every_key_is_refused(void **state)
{
	static const char *const keys[] = { "listen", "plan", "min_batch", "window", "budget", "rounds" };
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		(void)snprintf(text, sizeof text, "min_batch = 1\n%sx = 1", keys[i]);
		assert_non_null(strstr(faults_of(text, CM_ECONFIG), "b.cfg:2: unknown key"));
		(void)snprintf(text, sizeof text, "min_batch = 1\n%s = 1", keys[i] + 1);
		assert_non_null(strstr(faults_of(text, CM_ECONFIG), "b.cfg:2: unknown key"));
	}
}

static void every_fault_is_said_not_only_the_first(void **state)
{
	(void)state;
	assert_string_equal(faults_of("min_bacth = 5\nlisten = 3\nbudget = { delta = 2.0 }", CM_ECONFIG),
		"b.cfg:1: unknown key 'min_bacth' (did you mean 'min_batch'?)\n"
		"b.cfg:2: string expected for 'listen'\n"
		"b.cfg: missing required key 'min_batch': smallest batch\n"
		"b.cfg:3: value out of range for 'budget.delta' (1e-12 to 1)\n");
}

static void a_duplicate_key_is_refused(void **state)
{
	(void)state;
	REFUSED("min_batch = 1\nmin_batch = 2", "b.cfg:2: duplicate setting name");
}

static void a_wrong_type_is_refused(void **state)
{
	(void)state;
	REFUSED("min_batch = \"5\"", "b.cfg:1: integer expected for 'min_batch'");
	REFUSED("min_batch = 5.0", "b.cfg:1: integer expected for 'min_batch'");
	REFUSED("min_batch = true", "b.cfg:1: integer expected for 'min_batch'");
	REFUSED("min_batch = 1\nlisten = [ \"x\" ]", "b.cfg:2: string expected for 'listen'");
	REFUSED("min_batch = 1\nbudget = { delta = \"inf\" }",
		"b.cfg:2: finite number expected for 'budget.delta'");
	REFUSED("min_batch = 1\nbudget = { delta = 0.5 strict = 1 }",
		"b.cfg:2: true or false expected for 'budget.strict'");
	REFUSED("min_batch = 1\nbudget = 4", "b.cfg:2: group expected for 'budget'");
	REFUSED("min_batch = 1\nrounds = { query = \"a\" }", "b.cfg:2: list of groups expected for 'rounds'");
	REFUSED("min_batch = 1\nrounds = ( 4 )", "b.cfg:2: group expected for 'rounds.[1]'");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" values = [ 1, 2 ] } )",
		"b.cfg:2: list of strings expected for 'rounds.[1].values'");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" values = ( \"a\", 2 ) } )",
		"b.cfg:2: list of strings expected for 'rounds.[1].values'");
}

static void a_number_that_is_none_or_out_of_range_is_refused(void **state)
{
	(void)state;
	REFUSED("min_batch = 1\nbudget = { delta = nan }", "b.cfg:2: syntax error");
	REFUSED("min_batch = 1\nbudget = { delta = 2.0q }", "b.cfg:2: syntax error");
	REFUSED("min_batch = 1\nbudget = { delta = 1e999 }",
		"b.cfg:2: finite number expected for 'budget.delta'");
	REFUSED("min_batch = 0", "b.cfg:1: value out of range for 'min_batch' (1 to 1000000000)");
	REFUSED("min_batch = 1\nbudget = { delta = 0 }",
		"b.cfg:2: value out of range for 'budget.delta' (1e-12 to 1)");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" epsilon0 = 17 } )",
		"b.cfg:2: value out of range for 'rounds.[1].epsilon0' (0.1 to 16)");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" epsilon0 = \"infinite\" } )",
		"b.cfg:2: finite number or \"inf\" expected for 'rounds.[1].epsilon0'");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" values = [ \"a\" ] } )",
		"b.cfg:2: number of items out of range for 'rounds.[1].values' (2 to 3)");
	REFUSED("min_batch = 1\nrounds = ({},{},{},{},{})",
		"b.cfg:2: number of items out of range for 'rounds' (0 to 4)");
}

/* libconfig 1.5 reads each of these as another number, without a word. */
static void an_integer_too_large_for_its_type_is_refused_not_wrapped(void **state)
{
	(void)state;
	REFUSED("min_batch = 4294967297",
		"b.cfg:1: the integer 4294967297 is too large to be written without L: 4294967297L");
	REFUSED("min_batch = 0x100000001",
		"b.cfg:1: the integer 0x100000001 is too large to be written without L: 0x100000001L");
	REFUSED("min_batch = 18446744073709551617L",
		"b.cfg:1: the integer 18446744073709551617L is too large");
	/* Of what follows nothing is said. */
	REFUSED("min_batch = 18446744073709551617;\nkeep = 1",
		"b.cfg:1: the integer 18446744073709551617 is too large");
	assert_null(strstr(faults_of("min_batch = 18446744073709551617;\nkeep = 1", CM_ECONFIG), ";"));
	assert_string_equal(faults_of("min_batch = 500000000L # 99999999999\n/* 99999999999 */", CM_OK), "");
}

static void a_range_that_is_none_is_refused(void **state)
{
	(void)state;
#define RANGE(r) "min_batch = 1\nrounds = ( { query = \"a\" range = " r " } )"
	REFUSED(RANGE("[1, 2.5]"), "b.cfg:2: mismatched element type in array");
	REFUSED(RANGE("[1.0]"), "b.cfg:2: two finite numbers [low, high] expected for 'rounds.[1].range'");
	REFUSED(RANGE("[1, 2, 3]"),
		"b.cfg:2: two finite numbers [low, high] expected for 'rounds.[1].range'");
	REFUSED(RANGE("[2, 2]"), "b.cfg:2: low must be below high in 'rounds.[1].range'");
	REFUSED(RANGE("(0, \"1\")"),
		"b.cfg:2: two finite numbers [low, high] expected for 'rounds.[1].range'");
	REFUSED(RANGE("[0, 101]"), "b.cfg:2: value out of range for 'rounds.[1].range' (-100 to 100)");
	assert_string_equal(faults_of(RANGE("(0, 1.5)"), CM_OK), "");
}

static void a_list_that_is_none_is_refused(void **state)
{
	static const char *const no_table[] = { "1", "[\"a\"]", "(1)", "(\"a\")", "([\"a\"], [1])", "([])",
		"([\"a\"], ([\"b\"]))" },
				 *const no_numbers[] = { "1", "(\"a\")", "(0.5, true)", "([0.5])",
					 "[1e999]" };
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof no_table / sizeof *no_table; i++) {
		(void)snprintf(text, sizeof text, "min_batch = 1\nrounds = ({ query = \"a\"\nsets = %s })",
			no_table[i]);
		assert_string_equal(faults_of(text, CM_ECONFIG),
			"b.cfg:3: list of lists of strings expected for 'rounds.[1].sets'\n");
	}
	for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++) {
		(void)snprintf(text, sizeof text, "min_batch = 1\nrounds = ({ query = \"a\"\nat = %s })",
			no_numbers[i]);
		assert_string_equal(faults_of(text, CM_ECONFIG),
			"b.cfg:3: list of finite numbers expected for 'rounds.[1].at'\n");
	}
	REFUSED("min_batch = 1\nrounds = ({ query = \"a\" at = () })",
		"b.cfg:2: number of items out of range for 'rounds.[1].at' (1 to 3)");
	REFUSED("min_batch = 1\nrounds = ({ query = \"a\" at = [1, 2, 3, 4] })",
		"b.cfg:2: number of items out of range for 'rounds.[1].at' (1 to 3)");
	REFUSED("min_batch = 1\nrounds = ({ query = \"a\" sets = () })",
		"b.cfg:2: number of items out of range for 'rounds.[1].sets' (1 to 3)");
}

static void a_word_is_a_string_or_a_finite_number(void **state)
{
	static const struct {
		const char *value, *text;
		double number;
	} good_ones[] = { { "\"even\"", "even", 0 }, { "\"\"", "", 0 }, { "\"37\"", "37", 0 },
		{ "37.5", NULL, 37.5 }, { "-2", NULL, -2 }, { "0", NULL, 0 } };
	static const char *const bad[] = { "true", "[ \"a\" ]", "(1)", "1e999" };
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof good_ones / sizeof *good_ones; i++) {
		struct conf c = { 0 };
		struct cm_err err = { 0 };
		struct round *r;

		(void)snprintf(text, sizeof text, "min_batch = 1\nrounds = ({ query = \"a\"\nword = %s })",
			good_ones[i].value);
		assert_int_equal(cf_parse(text, "b.cfg", rows, &c, NULL, NULL, &err), CM_OK);
		r = c.rounds.item;
		assert_true(r->word.number == good_ones[i].number);
		if (!good_ones[i].text)
			assert_null(r->word.text);
		else
			assert_string_equal(r->word.text, good_ones[i].text);
		cf_free(rows, &c);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		(void)snprintf(
			text, sizeof text, "min_batch = 1\nrounds = ({ query = \"a\"\nword = %s })", bad[i]);
		assert_string_equal(faults_of(text, CM_ECONFIG),
			"b.cfg:3: string or finite number expected for 'rounds.[1].word'\n");
	}
}

static void a_duration_without_its_unit_is_refused(void **state)
{
	static const char *const bad[] = { "90", "\"90\"", "\"s\"", "\"-1s\"", "\" 1s\"", "\"1 s\"",
		"\"1.5h\"", "\"1sec\"", "\"\"", "1.0" };
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		(void)snprintf(text, sizeof text, "min_batch = 1\nwindow = %s", bad[i]);
		assert_string_equal(faults_of(text, CM_ECONFIG),
			"b.cfg:2: duration such as \"250ms\", \"90s\", \"15m\", "
			"\"24h\" or \"7d\" expected for 'window'\n");
	}
	REFUSED("min_batch = 1\nwindow = \"999ms\"", "b.cfg:2: value out of range for 'window' (1s to 1d)");
	REFUSED("min_batch = 1\nwindow = \"99999999999999999d\"",
		"b.cfg:2: value out of range for 'window' (1s to 1d)");
}

static void a_missing_required_key_is_named_with_its_group(void **state)
{
	(void)state;
	REFUSED("", "b.cfg: missing required key 'min_batch': smallest batch");
	REFUSED("min_batch = 1\nbudget = { strict = true }",
		"b.cfg:2: missing required key 'delta' in 'budget'");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" },\n { epsilon0 = 1.0 } )",
		"b.cfg:3: missing required key 'query' in 'rounds.[2]'");
}

static void broken_or_hostile_text_is_one_line_never_a_crash(void **state)
{
	char *deep = malloc(100002);

	(void)state;
	assert_non_null(deep);
	REFUSED("min_batch = ", "b.cfg:1: syntax error");
	REFUSED("min_batch = 1\nlisten = \"abc\n\n", "b.cfg:2: a string is not closed");
	REFUSED("min_batch = 1\n/* open\n", "b.cfg:2: a comment is not closed");
	REFUSED("min_batch = 1\n\001\002\377", "b.cfg:2: syntax error");
	REFUSED("min_batch = 1\nlisten = \"a\\x00b\"", "b.cfg:2: \\x00 in a string");
	REFUSED("@include \"/etc/passwd\"\nmin_batch = 1", "b.cfg:1: @include is not allowed here");
	memset(deep, '(', 100001);
	memcpy(deep, "plan=", 5);
	deep[100001] = '\0';
	REFUSED(deep, "b.cfg:1: nested deeper than 16");
	/* A name longer than any buffer of ours. */
	memset(deep, 'k', 100001);
	memcpy(deep + 100001 - 3, "= 1", 3);
	assert_non_null(strstr(faults_of(deep, CM_ECONFIG), "b.cfg:1: unknown key 'kkkk"));
	free(deep);
}

struct folder {
	char path[64];
};

static void write_text(const struct folder *f, const char *name, const char *text)
{
	char *path = cm_file_join(f->path, name);
	struct cm_err err = { 0 };

	assert_non_null(path);
	assert_int_equal(cm_file_write(path, text, strlen(text), 0600, &err), CM_OK);
	free(path);
}

static enum cm_rc load(const struct folder *f, struct conf *c, struct cm_err *err)
{
	char *path = cm_file_join(f->path, "main.conf");
	enum cm_rc rc;

	assert_non_null(path);
	memset(c, 0, sizeof *c);
	rc = cf_load(path, rows, c, NULL, NULL, err);
	free(path);
	return rc;
}

static int make_folder(void **state)
{
	struct folder *f = malloc(sizeof *f);

	if (!f)
		return -1;
	(void)snprintf(f->path, sizeof f->path, "/tmp/test_conf.XXXXXX");
	*state = f;
	return mkdtemp(f->path) ? 0 : -1;
}

static int remove_folder(void **state)
{
	struct folder *f = *state;
	char command[128];
	int rc;

	(void)snprintf(command, sizeof command, "rm -r -- %s", f->path);
	rc = system(command);
	free(f);
	return rc;
}

static void a_missing_file_names_the_sample(void **state)
{
	struct conf c;
	struct cm_err err = { 0 };

	assert_int_equal(load(*state, &c, &err), CM_ENOINPUT);
	assert_non_null(strstr(err.msg, "/main.conf: cannot open: No such file"));
	assert_non_null(strstr(err.msg, "config-sample"));
	cf_free(rows, &c);
}

static void relative_paths_are_taken_from_the_files_folder(void **state)
{
	struct folder *f = *state;
	char want[128];
	struct conf c;
	struct cm_err err = { 0 };

	write_text(f, "main.conf", "min_batch = 1\nplan = \"sub/plan.conf\"");
	assert_int_equal(load(f, &c, &err), CM_OK);
	(void)snprintf(want, sizeof want, "%s/sub/plan.conf", f->path);
	assert_string_equal(c.plan, want);
	cf_free(rows, &c);
}

static void a_credential_is_a_file_that_the_service_manager_passes(void **state)
{
	struct folder *f = *state;
	struct conf c;
	struct cm_err err = { 0 };

	(void)unsetenv("CREDENTIALS_DIRECTORY");
	write_text(f, "main.conf", "min_batch = 1\nplan = \"credential:plan\"");
	assert_int_equal(load(f, &c, &err), CM_OK);
	assert_string_equal(c.plan, "credential:plan");
	cf_free(rows, &c);
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", "/run/credentials/a.service", 1), 0);
	write_text(f, "main.conf", "min_batch = 1\nplan = \"credential:plan\"\nlisten = \"credential:plan\"");
	assert_int_equal(load(f, &c, &err), CM_OK);
	assert_string_equal(c.plan, "/run/credentials/a.service/plan");
	assert_string_equal(c.listen, "credential:plan"); /* no path */
	cf_free(rows, &c);
	REFUSED("min_batch = 1\nplan = \"credential:\"", "b.cfg:2: credential:NAME expected for 'plan'");
	REFUSED("min_batch = 1\nplan = \"credential:../a\"", "b.cfg:2: credential:NAME expected for 'plan'");
	assert_int_equal(unsetenv("CREDENTIALS_DIRECTORY"), 0);
}

static void faults_in_an_included_file_name_that_file(void **state)
{
	struct folder *f = *state;
	char want[256];
	struct conf c;
	struct cm_err err = { 0 };

	write_text(f, "main.conf", "@include \"more.conf\"\nmin_batch = 1");
	write_text(f, "more.conf", "# comment\nlisten = 1");
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	(void)snprintf(want, sizeof want, "%s/more.conf:2: string expected for 'listen'", f->path);
	assert_string_equal(err.msg, want);
	cf_free(rows, &c);
	write_text(f, "more.conf", "\n\nlisten = ]");
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	(void)snprintf(want, sizeof want, "%s/more.conf:3: syntax error", f->path);
	assert_string_equal(err.msg, want);
	write_text(f, "more.conf", "listen = \"here\"");
	assert_int_equal(load(f, &c, &err), CM_OK);
	assert_string_equal(c.listen, "here");
	cf_free(rows, &c);
}

static void an_include_that_is_no_file_or_never_ends_is_refused(void **state)
{
	struct folder *f = *state;
	struct conf c;
	struct cm_err err = { 0 };
	char fifo[128];

	write_text(f, "main.conf", "min_batch = 1\n@include \"none.conf\"");
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "main.conf:2: "));
	assert_non_null(strstr(err.msg, "none.conf: cannot open"));
	write_text(f, "main.conf", "min_batch = 1\n  @include \".\"");
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "not a regular file"));
	(void)snprintf(fifo, sizeof fifo, "%s/fifo", f->path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	write_text(f, "main.conf", "min_batch = 1\n@include \"fifo\"");
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "not a regular file"));
	write_text(f, "main.conf", "@include \"main.conf\"");
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "too many includes (at most 64 files, 8 deep)"));
	write_text(f, "main.conf", "@include main.conf");
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "main.conf:1: @include wants one file name"));
}

static void a_binary_file_is_refused(void **state)
{
	struct folder *f = *state;
	char *path = cm_file_join(f->path, "main.conf");
	struct conf c;
	struct cm_err err = { 0 };

	assert_int_equal(cm_file_write(path, "min_batch = 1\0x", 15, 0600, &err), CM_OK);
	assert_int_equal(load(f, &c, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "main.conf: not a text file"));
	free(path);
}

/* The sample lists every key and is itself a file that is missing only what it says is required. */
static void the_sample_reads_back(void **state)
{
	char text[4096] = "";
	FILE *out = fmemopen(text, sizeof text - 1, "w");

	(void)state;
	assert_non_null(out);
	cf_sample(rows, out);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "# where to listen\nlisten = \"[::1]:7443\";\n"));
	assert_non_null(strstr(text, "# smallest batch (1 to 1000000000); required\n# min_batch = ...;\n"));
	assert_string_equal(faults_of(text, CM_ECONFIG),
		"b.cfg: missing required key 'min_batch': smallest batch\n"
		"b.cfg:10: missing required key 'delta' in 'budget'\n");
	/* A list that is not required is there as a comment. */
	assert_non_null(strstr(text, "\n#rounds = (\n#\t{\n#\t\t# query; required\n#\t\tquery = \"...\";\n"));
}

static void what_is_named_and_not_there_is_the_configurations_fault(void **state)
{
	static const struct {
		enum cm_rc before, after;
	} want[] = { { CM_OK, CM_OK }, { CM_ENOINPUT, CM_ECONFIG }, { CM_EDATA, CM_ECONFIG },
		{ CM_EPERM, CM_EPERM }, { CM_EINTERNAL, CM_EINTERNAL } };

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		struct cm_err err = { .code = want[i].before };

		assert_int_equal(cf_blamed(&err), want[i].after);
		assert_int_equal(err.code, want[i].after);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_named_and_not_there_is_the_configurations_fault),
		cmocka_unit_test(every_documented_key_is_accepted),
		cmocka_unit_test(a_file_keeps_its_lines_when_another_is_read),
		cmocka_unit_test(an_absent_key_takes_its_default),
		cmocka_unit_test(a_misspelt_key_is_refused_with_the_nearest_one),
		cmocka_unit_test(every_misspelling_of_every_key_is_refused),
		cmocka_unit_test(every_fault_is_said_not_only_the_first),
		cmocka_unit_test(a_duplicate_key_is_refused),
		cmocka_unit_test(a_wrong_type_is_refused),
		cmocka_unit_test(a_number_that_is_none_or_out_of_range_is_refused),
		cmocka_unit_test(an_integer_too_large_for_its_type_is_refused_not_wrapped),
		cmocka_unit_test(a_range_that_is_none_is_refused),
		cmocka_unit_test(a_list_that_is_none_is_refused),
		cmocka_unit_test(a_word_is_a_string_or_a_finite_number),
		cmocka_unit_test(a_duration_without_its_unit_is_refused),
		cmocka_unit_test(a_missing_required_key_is_named_with_its_group),
		cmocka_unit_test(broken_or_hostile_text_is_one_line_never_a_crash),
		cmocka_unit_test_setup_teardown(a_missing_file_names_the_sample, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			relative_paths_are_taken_from_the_files_folder, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			a_credential_is_a_file_that_the_service_manager_passes, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			faults_in_an_included_file_name_that_file, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(
			an_include_that_is_no_file_or_never_ends_is_refused, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(a_binary_file_is_refused, make_folder, remove_folder),
		cmocka_unit_test(the_sample_reads_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
