/* test_an_event.c - results as lines: what no form can carry as it is. */
#include "an_world.h"

#include <stdlib.h>
#include <string.h>

#include "an_event.h"
#include "an_result.h"

static struct world w;
static struct fake f;
static struct an_event e;

/* A settled first round, whose first item is replaced by this one. */
static void settle(const char *item)
{
	struct cm_err err = { 0 };
	json_error_t why;
	json_t *o = json_loads(item, 0, &why);

	assert_non_null(o);
	world_make(&w, world_plan, 31);
	f = (struct fake){ .participants = 30, .buckets = 2, .segment = 50 };
	if (world_drive(&w, &f, 1, 100000, &err) != CM_OK)
		fail_msg("%s", err.msg);
	e = (struct an_event){ .seq = 7, .settled_ms = 5, .r = &w.files.state.round[0] };
	assert_int_equal(an_result_load(w.dir, e.r, &e.result, &err), CM_OK);
	assert_int_equal(json_array_set_new(json_object_get(e.result, "items"), 0, o), 0);
}

static void clear(void)
{
	json_decref(e.result);
	fake_free(&f);
	world_free(&w);
}

/* The first line in this form; free it. */
static char *line(enum an_form form)
{
	struct cm_err err = { 0 };
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	assert_non_null(out);
	assert_int_equal(an_event_print(&e, form, out, &err), CM_OK);
	assert_int_equal(fclose(out), 0);
	*strchr(text, '\n') = '\0';
	return text;
}

static void an_infinite_value_is_null_empty_and_absent(void **state)
{
	char *text;

	(void)state;
	settle("{\"label\": \"a\", \"value\": 1.5, \"variance\": \"nan\", \"lower\": \"-inf\", \"upper\": "
	       "\"inf\", \"below_noise\": false}");
	text = line(AN_FORM_NDJSON);
	assert_non_null(strstr(text, "\"value\":1.5,\"variance\":null,\"lower\":null,\"upper\":null,"));
	assert_non_null(strstr(text, "\"seq\":7,"));
	free(text);
	text = line(AN_FORM_CSV);
	assert_non_null(strstr(text, ",false,\"a\",,,,1.5,,,,,,,,false"));
	free(text);
	text = line(AN_FORM_INFLUX);
	assert_non_null(strstr(text, ",value=1.5,below_noise=false "));
	assert_null(strstr(text, "lower"));
	free(text);
	clear();
}

static void a_label_ends_no_tag_no_cell_and_no_line(void **state)
{
	char *text;

	(void)state;
	settle("{\"label\": \"a,b c=d\\n\\\"\\\\\", \"text\": \"q\\\"\\\\\\n\", \"value\": 2}");
	text = line(AN_FORM_INFLUX);
	assert_non_null(strstr(text, ",label=a\\,b\\ c\\=d\\ \"\\\\  "));
	assert_non_null(strstr(text, ",text=\"q\\\"\\\\ \",value=2i "));
	free(text);
	text = line(AN_FORM_CSV);
	assert_non_null(strstr(text, ",false,\"a,b c=d"));
	free(text);
	clear();
	/* A tag may not be empty. */
	settle("{\"label\": \"\", \"value\": 2.0}");
	text = line(AN_FORM_INFLUX);
	assert_null(strstr(text, "label="));
	free(text);
	clear();
	/* A text of backslashes must not be read as one of fewer; a space follows them, because they would
	 * escape the separator. */
	settle("{\"label\": \"\\\\\\\\\", \"value\": 2.0}");
	text = line(AN_FORM_INFLUX);
	assert_non_null(strstr(text, ",label=\\\\\\  "));
	free(text);
	clear();
}

/* Texts that devices sent, and names in a plan: a spreadsheet must not run any of them. */
static void a_cell_is_no_formula(void **state)
{
	static const char *const row[][2] = { { "=1+1", "\"'=1+1\"" }, { "@SUM(A1)", "\"'@SUM(A1)\"" },
		{ "-2+3+cmd|' /C calc'!A0", "\"'-2+3+cmd|' /C calc'!A0\"" }, { "+A1", "\"'+A1\"" },
		{ "-5", "\"-5\"" }, { "-5..-1", "\"-5..-1\"" }, { "a=1", "\"a=1\"" } };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		char result[120], cell[120], *text;

		(void)snprintf(result, sizeof result, "{\"label\": \"x\", \"text\": \"%s\", \"value\": 2}",
			row[i][0]);
		settle(result);
		text = line(AN_FORM_CSV);
		(void)snprintf(cell, sizeof cell, ",\"x\",%s,", row[i][1]);
		if (!strstr(text, cell))
			fail_msg("%s is not in %s", cell, text);
		free(text);
		clear();
	}
}

static void a_form_has_one_name(void **state)
{
	enum an_form form = AN_FORM_CSV;

	(void)state;
	assert_true(an_form_parse("influx", &form));
	assert_int_equal(form, AN_FORM_INFLUX);
	assert_false(an_form_parse("INFLUX", &form));
	assert_false(an_form_parse("", &form));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_infinite_value_is_null_empty_and_absent),
		cmocka_unit_test(a_label_ends_no_tag_no_cell_and_no_line),
		cmocka_unit_test(a_cell_is_no_formula),
		cmocka_unit_test(a_form_has_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
