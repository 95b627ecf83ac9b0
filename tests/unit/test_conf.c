/* test_conf.c - configuration as text: documented keys accepted, all else refused with its line. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cf_change.h"
#include "conf_rows.h"

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
	/* A fault hides no others: further ones are reported with their lines, too. */
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
	REFUSED("min_batch = 1\nmin_batch = 2", "b.cfg:2: duplicate setting name at or before 'min_batch'");
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
		"b.cfg:2: list of strings expected for 'values' in 'rounds.[1]'");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" values = ( \"a\", 2 ) } )",
		"b.cfg:2: list of strings expected for 'values' in 'rounds.[1]'");
}

static void a_string_may_stand_for_a_list_of_one(void **state)
{
	static const char text[] = "min_batch = 1\nrounds = ( { query = \"a\" some = \"x\" },\n"
				   "{ query = \"b\" some = [ \"y\", \"z\" ] } )\nbudget = { delta = 0.5 }";
	struct conf c = { 0 };
	struct cm_err err = { 0 };
	struct round *r;

	(void)state;
	assert_int_equal(cf_parse(text, "b.cfg", rows, &c, NULL, NULL, &err), CM_OK);
	r = c.rounds.item;
	assert_true(r[0].some.n == 1 && r[1].some.n == 2);
	assert_string_equal(r[0].some.item[0], "x");
	assert_string_equal(r[1].some.item[1], "z");
	cf_free(rows, &c);
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" some = 2 } )",
		"b.cfg:2: string or list of strings expected for 'some' in 'rounds.[1]'");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" some = ( \"a\", 2 ) } )",
		"b.cfg:2: string or list of strings expected for 'some' in 'rounds.[1]'");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" some = [ ] } )",
		"b.cfg:2: number of items out of range for 'some' in 'rounds.[1]' (1 to 2)");
}

static void a_number_that_is_none_or_out_of_range_is_refused(void **state)
{
	(void)state;
	REFUSED("min_batch = 1\nbudget = { delta = nan }",
		"b.cfg:2: syntax error at or before 'budget.delta'");
	REFUSED("min_batch = 1\nbudget = { delta = 2.0q }",
		"b.cfg:2: syntax error at or before 'budget.delta'");
	REFUSED("min_batch = 1\nbudget = { delta = 1e999 }",
		"b.cfg:2: finite number expected for 'budget.delta'");
	REFUSED("min_batch = 0", "b.cfg:1: value out of range for 'min_batch' (1 to 1000000000)");
	REFUSED("min_batch = 1\nbudget = { delta = 0 }",
		"b.cfg:2: value out of range for 'budget.delta' (1e-12 to 1)");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" epsilon0 = 17 } )",
		"b.cfg:2: value out of range for 'epsilon0' in 'rounds.[1]' (0.1 to 16)");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" epsilon0 = \"infinite\" } )",
		"b.cfg:2: finite number or \"inf\" expected for 'epsilon0' in 'rounds.[1]'");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" values = [ \"a\" ] } )",
		"b.cfg:2: number of items out of range for 'values' in 'rounds.[1]' (2 to 3)");
	REFUSED("min_batch = 1\nrounds = ({},{},{},{},{})",
		"b.cfg:2: number of items out of range for 'rounds' (0 to 4)");
}

/* libconfig 1.5 reads each of these silently as another number. */
static void an_integer_too_large_for_its_type_is_refused_not_wrapped(void **state)
{
	(void)state;
	REFUSED("min_batch = 4294967297",
		"b.cfg:1: the integer 4294967297 is too large to be written without L: 4294967297L");
	REFUSED("min_batch = 0x100000001",
		"b.cfg:1: the integer 0x100000001 is too large to be written without L: 0x100000001L");
	REFUSED("min_batch = 18446744073709551617L",
		"b.cfg:1: the integer 18446744073709551617L is too large");
	/* No fault is reported for what follows. */
	REFUSED("min_batch = 18446744073709551617;\nkeep = 1",
		"b.cfg:1: the integer 18446744073709551617 is too large");
	assert_null(strstr(faults_of("min_batch = 18446744073709551617;\nkeep = 1", CM_ECONFIG), ";"));
	assert_string_equal(faults_of("min_batch = 500000000L # 99999999999\n/* 99999999999 */", CM_OK), "");
}

static void a_range_that_is_none_is_refused(void **state)
{
	(void)state;
#define RANGE(r) "min_batch = 1\nrounds = ( { query = \"a\" range = " r " } )"
	REFUSED(RANGE("[1, 2.5]"),
		"b.cfg:2: mismatched element type in array at or before 'range' in 'rounds.[1]'");
	REFUSED(RANGE("[1.0]"),
		"b.cfg:2: two finite numbers [low, high] expected for 'range' in 'rounds.[1]'");
	REFUSED(RANGE("[1, 2, 3]"),
		"b.cfg:2: two finite numbers [low, high] expected for 'range' in 'rounds.[1]'");
	REFUSED(RANGE("[2, 2]"), "b.cfg:2: low must be below high for 'range' in 'rounds.[1]'");
	REFUSED(RANGE("(0, \"1\")"),
		"b.cfg:2: two finite numbers [low, high] expected for 'range' in 'rounds.[1]'");
	REFUSED(RANGE("[0, 101]"), "b.cfg:2: value out of range for 'range' in 'rounds.[1]' (-100 to 100)");
	assert_string_equal(faults_of(RANGE("(0, 1.5)"), CM_OK), "");
}

/* Names are shown on terminals and pages, so a text that cannot be shown is refused with its line and key. */
static void a_text_that_cannot_be_shown_is_refused(void **state)
{
#define NOT_SHOWN "text that can be shown expected (UTF-8, no control or bidirectional characters) for "
	(void)state;
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\xe2\x80\xae\" } )",
		"b.cfg:2: " NOT_SHOWN "'query' in 'rounds.[1]'");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\\x1b[31m\" } )",
		"b.cfg:2: " NOT_SHOWN "'query' in 'rounds.[1]'");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\xff\" } )",
		"b.cfg:2: " NOT_SHOWN "'query' in 'rounds.[1]'");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" sets = ([\"b\", \"\\n\"]) } )",
		"b.cfg:2: " NOT_SHOWN "'sets' in 'rounds.[1]'");
	assert_string_equal(faults_of("min_batch = 1\nrounds = ( { query = \"\xc3\xa4\" } )", CM_OK), "");
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
			"b.cfg:3: list of lists of strings expected for 'sets' in 'rounds.[1]'\n");
	}
	for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++) {
		(void)snprintf(text, sizeof text, "min_batch = 1\nrounds = ({ query = \"a\"\nat = %s })",
			no_numbers[i]);
		assert_string_equal(faults_of(text, CM_ECONFIG),
			"b.cfg:3: list of finite numbers expected for 'at' in 'rounds.[1]'\n");
	}
	REFUSED("min_batch = 1\nrounds = ({ query = \"a\" at = () })",
		"b.cfg:2: number of items out of range for 'at' in 'rounds.[1]' (1 to 3)");
	REFUSED("min_batch = 1\nrounds = ({ query = \"a\" at = [1, 2, 3, 4] })",
		"b.cfg:2: number of items out of range for 'at' in 'rounds.[1]' (1 to 3)");
	REFUSED("min_batch = 1\nrounds = ({ query = \"a\" sets = () })",
		"b.cfg:2: number of items out of range for 'sets' in 'rounds.[1]' (1 to 3)");
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
			"b.cfg:3: string or finite number expected for 'word' in 'rounds.[1]'\n");
	}
}

static void a_character_may_be_a_tab(void **state)
{
	static const char text[] =
		"min_batch = 1\nrounds = ({ query = \"a\" }, { query = \"b\"; letter = \"\\t\"; "
		"either = ( 1, \"x\", -2.5 ) })";
	struct conf c = { 0 };
	struct cm_err err = { 0 };
	const struct round *r;

	(void)state;
	assert_int_equal(cf_parse(text, "b.cfg", rows, &c, NULL, NULL, &err), CM_OK);
	r = c.rounds.item;
	assert_int_equal(r[0].letter, ';');
	assert_int_equal(r[1].letter, '\t');
	assert_int_equal(r[1].either.n, 3);
	assert_null(r[1].either.item[0].text);
	assert_string_equal(r[1].either.item[1].text, "x");
	assert_true(r[1].either.item[2].number == -2.5);
	cf_free(rows, &c);
	REFUSED("min_batch = 1\nrounds = ({ query = \"a\"\nletter = \"\" })",
		"b.cfg:3: one ASCII character expected for 'letter' in 'rounds.[1]'");
	REFUSED("min_batch = 1\nrounds = ({ query = \"a\"\nletter = \"ab\" })",
		"b.cfg:3: one ASCII character expected for 'letter' in 'rounds.[1]'");
	REFUSED("min_batch = 1\nrounds = ({ query = \"a\"\nletter = \"\xc3\" })",
		"b.cfg:3: one ASCII character expected for 'letter' in 'rounds.[1]'");
	REFUSED("min_batch = 1\nrounds = ({ query = \"a\"\neither = [ 1e999 ] })",
		"b.cfg:3: list of strings and finite numbers expected for 'either' in 'rounds.[1]'");
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

static void what_the_parser_refuses_is_named_by_the_key_that_began_last(void **state)
{
	(void)state;
	/* Not what stands in a comment, a string, or on a later line. */
	REFUSED("min_batch = 1\n/* a = { b = 2\n */ listen = \"c = ( d = 3\"\n}\nbudget = { delta = 0.5 }",
		"b.cfg:4: syntax error at or before 'listen'");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\", values = [ \"x\", \"y\" ] },\n"
		"{ query = \"b\", epsilon0 = 1..2, word = 1 },\n{ query = \"c\" } )",
		"b.cfg:3: syntax error at or before 'word' in 'rounds.[2]'");
	REFUSED("min_batch = 1\nrounds = ( { query = \"a\" },\n{ query = \"b\" }\n{ query : \"c\" } )",
		"b.cfg:4: syntax error at or before 'query' in 'rounds.[2]'");
}

static void broken_or_hostile_text_is_one_line_never_a_crash(void **state)
{
	char *deep = malloc(100002);

	(void)state;
	assert_non_null(deep);
	REFUSED("= 1", "b.cfg:1: syntax error");
	REFUSED("min_batch = ", "b.cfg:1: syntax error at or before 'min_batch'");
	REFUSED("min_batch = 1\nlisten = \"abc\n\n", "b.cfg:2: a string is not closed");
	REFUSED("min_batch = 1\n/* open\n", "b.cfg:2: a comment is not closed");
	REFUSED("min_batch = 1\n\001\002\377", "b.cfg:2: syntax error at or before 'min_batch'");
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
	/* An optional list stands there as a comment. */
	assert_non_null(strstr(text, "\n#rounds = (\n#\t{\n#\t\t# query; required\n#\t\tquery = \"...\";\n"));
}

/* ---- Changed keys ---- */

static char changes[2048];

static void note(void *user, const char *dotted, const char *was, const char *is)
{
	size_t n = strlen(changes);

	assert_ptr_equal(user, changes);
	(void)snprintf(changes + n, sizeof changes - n, "%s: %s -> %s\n", dotted, was, is);
}

/* The keys by which `text` differs from `good`. */
static const char *changed_by(const char *text)
{
	struct conf before = { 0 }, after = { 0 };
	struct cm_err err = { 0 };
	size_t n = 0, lines = 0;

	changes[0] = '\0';
	assert_int_equal(cf_parse(good, "b.cfg", rows, &before, NULL, NULL, &err), CM_OK);
	assert_int_equal(cf_parse(text, "b.cfg", rows, &after, NULL, NULL, &err), CM_OK);
	n = cf_changes(rows, &before, &after, note, changes);
	for (const char *at = changes; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(n, lines);
	cf_free(rows, &before);
	cf_free(rows, &after);
	return changes;
}

static void changed_keys_are_named_with_both_values(void **state)
{
	(void)state;
	assert_string_equal(changed_by(good), "");
	/* Another order, other lines and defaults that are written out change nothing. */
	assert_string_equal(
		changed_by("# moved\nmin_batch = 5 plan = \"/p\" listen = \"[::]:1\" window = \"90s\"\n"
			   "budget = { strict = false delta = 0.000001 }\n"
			   "rounds = ( { epsilon0 = 2.0 query = \"a\" range = [ -1.0, 2.5 ] "
			   "letter = \";\" },\n"
			   "{ query = \"b\" epsilon0 = \"inf\" values = ( \"x\", \"y\" )\n"
			   "sets = ( [ \"x\", \"y\" ], [ \"z\" ] ) at = [ 1.0, 0.5 ] } )\n"),
		"");
	assert_string_equal(
		changed_by(
			"listen = \"[::]:2\" min_batch = 6 window = \"2m\" budget = { delta = 2e-6 }\n"
			"rounds = ( { query = \"a\" epsilon0 = \"inf\" range = [ -1.0, 2.75 ] },\n"
			"{ query = \"c\" epsilon0 = \"inf\" values = ( \"x\", \"y\", \"z\" ) letter = \",\"\n"
			"some = \"one\" sets = ( [ \"x\" ] ) at = [ 1.0 ] word = 0.1 either = ( 2, \"w\" ) } )\n"),
		"listen: \"[::]:1\" -> \"[::]:2\"\n"
		"plan: \"/p\" -> absent\n"
		"min_batch: 5 -> 6\n"
		"window: \"90s\" -> \"2m\"\n"
		"budget.delta: 1e-06 -> 2e-06\n"
		"budget.strict: false -> true\n"
		"rounds.[1].epsilon0: 2 -> inf\n"
		"rounds.[1].range: [-1, 2.5] -> [-1, 2.75]\n"
		"rounds.[2].query: \"b\" -> \"c\"\n"
		"rounds.[2].values: [\"x\", \"y\"] -> [\"x\", \"y\", \"z\"]\n"
		"rounds.[2].some: [] -> [\"one\"]\n"
		"rounds.[2].sets: ([\"x\", \"y\"], [\"z\"]) -> ([\"x\"])\n"
		"rounds.[2].at: [1, 0.5] -> [1]\n"
		"rounds.[2].word: 0 -> 0.1\n"
		"rounds.[2].either: [] -> [2, \"w\"]\n"
		"rounds.[2].letter: \";\" -> \",\"\n");
	assert_string_equal(changed_by("listen = \"[::]:1\" plan = \"/p\" min_batch = 5 window = \"90s\"\n"
				       "budget = { delta = 1e-6 strict = false }\n"),
		"rounds: 2 groups -> 0 groups\n");
	/* Numbers that differ in their last digit only are two. */
	assert_non_null(strstr(changed_by("listen = \"[::]:1\" plan = \"/p\" min_batch = 5 window = \"90s\"\n"
					  "budget = { delta = 1.0000000000000002e-6 strict = false }\n"),
		"budget.delta: 1e-06 -> 1.0000000000000002e-06\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_documented_key_is_accepted),
		cmocka_unit_test(a_file_keeps_its_lines_when_another_is_read),
		cmocka_unit_test(an_absent_key_takes_its_default),
		cmocka_unit_test(a_misspelt_key_is_refused_with_the_nearest_one),
		cmocka_unit_test(every_misspelling_of_every_key_is_refused),
		cmocka_unit_test(every_fault_is_said_not_only_the_first),
		cmocka_unit_test(a_duplicate_key_is_refused),
		cmocka_unit_test(a_string_may_stand_for_a_list_of_one),
		cmocka_unit_test(a_wrong_type_is_refused),
		cmocka_unit_test(a_number_that_is_none_or_out_of_range_is_refused),
		cmocka_unit_test(an_integer_too_large_for_its_type_is_refused_not_wrapped),
		cmocka_unit_test(a_range_that_is_none_is_refused),
		cmocka_unit_test(a_text_that_cannot_be_shown_is_refused),
		cmocka_unit_test(a_list_that_is_none_is_refused),
		cmocka_unit_test(a_word_is_a_string_or_a_finite_number),
		cmocka_unit_test(a_character_may_be_a_tab),
		cmocka_unit_test(a_duration_without_its_unit_is_refused),
		cmocka_unit_test(a_missing_required_key_is_named_with_its_group),
		cmocka_unit_test(what_the_parser_refuses_is_named_by_the_key_that_began_last),
		cmocka_unit_test(broken_or_hostile_text_is_one_line_never_a_crash),
		cmocka_unit_test(the_sample_reads_back),
		cmocka_unit_test(changed_keys_are_named_with_both_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
