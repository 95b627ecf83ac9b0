/* test_an_range.c - a range is the sum of the fewest nodes, checked by hand; an invalid range is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "an_range.h"

/* From -1 to 8 in levels of `fanout`, `leaves` at the end: node i of a level of n has the value 100 n + i,
 * the variance n, and -i consistently. */
static json_t *tree(unsigned fanout, unsigned leaves)
{
	json_t *items = json_array();

	for (unsigned n = fanout; n <= leaves; n *= fanout)
		for (unsigned i = 0; i < n; i++)
			assert_int_equal(
				json_array_append_new(
					items, json_pack("{s:f, s:f, s:f, s:f, s:f}", "low", -1 + 9. * i / n,
						       "high", -1 + 9. * (i + 1) / n, "value", 100. * n + i,
						       "variance", (double)n, "projected", -(double)i)),
				0);
	return json_pack(
		"{s:s, s:s, s:i, s:o}", "query", "heat", "type", "ranges", "round", 3, "items", items);
}

static void a_range_is_the_sum_of_the_fewest_counts(void **state)
{
	static const struct {
		const char *text;
		double low, high, value, variance, projected;
		size_t nodes;
	} rows[] = {
		{ "-1:8", -1, 8, 300 + 301 + 302, 9, -3, 3 },
		{ "-1:2", -1, 2, 300, 3, 0, 1 },
		{ "0:1", 0, 1, 901, 9, -1, 1 },
		{ "7:8", 7, 8, 908, 9, -8, 1 },
		{ "0:8", 0, 8, 901 + 902 + 301 + 302, 24, -1 - 2 - 1 - 2, 4 },
		{ "1:6", 1, 6, 902 + 301 + 906, 21, -2 - 1 - 6, 3 },
		{ "3:4", 3, 4, 904, 9, -4, 1 },
		{ "0.0000004:0.9999996", 0, 1, 901, 9, -1, 1 },
		{ "-1e0:0x8", -1, 8, 903, 9, -3, 3 },
	};
	json_t *doc = tree(3, 9);

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct cm_err err = { 0 };
		struct an_range r;
		double half = 1.959963984540054 * sqrt(rows[i].variance);

		if (an_range_sum(doc, rows[i].text, &r, &err) != CM_OK)
			fail_msg("%s: %s", rows[i].text, err.msg);
		assert_true(r.low == rows[i].low && r.high == rows[i].high && r.nodes == rows[i].nodes);
		assert_true(r.value == rows[i].value && r.variance == rows[i].variance);
		assert_true(r.projected == rows[i].projected);
		assert_true(fabs(r.value - half - r.lower) < 1e-9 && fabs(r.value + half - r.upper) < 1e-9);
	}
	json_decref(doc);
}

static void refused(const json_t *doc, const char *text, enum cm_rc code, const char *part)
{
	struct cm_err err = { 0 };
	struct an_range r;

	if (an_range_sum(doc, text, &r, &err) != code || !strstr(err.msg, part))
		fail_msg("%s: '%s' does not say '%s'", text, err.msg, part);
}

static void ranges_of_parts_of_leaves_are_refused_with_the_nearest(void **state)
{
	json_t *doc = tree(3, 9);

	(void)state;
	refused(doc, "0:1.5", CM_EUSAGE, "9 leaves from -1 to 8; the nearest whole ones are 0:2");
	refused(doc, "0.1:3", CM_EUSAGE, "are 0:3");
	refused(doc, "-5:3", CM_EUSAGE, "are -1:3");
	refused(doc, "5:1e300", CM_EUSAGE, "are 5:8");
	refused(doc, "0.1:0.2", CM_EUSAGE, "are 0:1");
	refused(doc, "90:91", CM_EUSAGE, "are 7:8");
	refused(doc, "-9:-8", CM_EUSAGE, "are -1:0");
	json_decref(doc);
}

static void what_is_no_range_is_refused(void **state)
{
	static const char *const bad[] = { "", ":", "1", "1:", ":2", "1-2", "2:1", "1:1", "1:2x", "1:2:3",
		"nan:2", "1:inf", "a:b", "1 :2" };
	json_t *doc = tree(2, 4), *other = json_pack("{s:s, s:s}", "query", "q", "type", "mean");

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		refused(doc, bad[i], CM_EUSAGE, "LOW:HIGH");
	refused(other, "1:2", CM_EUSAGE, "q is of type mean, not \"ranges\"");
	json_decref(other);
	json_decref(doc);
}

static void items_that_are_no_tree_are_refused(void **state)
{
	json_t *doc = tree(2, 4), *items = json_object_get(doc, "items");

	(void)state;
	assert_int_equal(json_array_remove(items, 5), 0);
	refused(doc, "-1:8", CM_EDATA, "no tree");
	assert_int_equal(json_object_del(json_array_get(items, 1), "low"), 0);
	refused(doc, "-1:8", CM_EDATA, "older version");
	assert_int_equal(json_array_clear(items), 0);
	refused(doc, "-1:8", CM_EDATA, "no items");
	json_decref(doc);
}

static void it_is_told_in_a_table_and_as_an_object(void **state)
{
	json_t *doc = tree(3, 9), *j;
	struct cm_err err = { 0 };
	struct an_range r;
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	(void)state;
	assert_non_null(f);
	assert_int_equal(an_range_sum(doc, "0:8", &r, &err), CM_OK);
	an_range_print(doc, &r, f);
	assert_int_equal(fclose(f), 0);
	assert_non_null(strstr(text, "heat (round 3)"));
	assert_non_null(strstr(text, "0 to 8"));
	assert_non_null(strstr(text, "2,406"));
	assert_non_null(strstr(text, "the sum of 4 counts"));
	free(text);
	j = an_range_json(doc, &r);
	assert_string_equal(json_string_value(json_object_get(j, "schema")), "tombola.range/1");
	assert_string_equal(json_string_value(json_object_get(j, "query")), "heat");
	assert_int_equal(json_integer_value(json_object_get(j, "counts")), 4);
	assert_true(json_real_value(json_object_get(j, "value")) == 2406);
	assert_true(json_real_value(json_object_get(j, "high")) == 8);
	json_decref(j);
	json_decref(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_is_the_sum_of_the_fewest_counts),
		cmocka_unit_test(ranges_of_parts_of_leaves_are_refused_with_the_nearest),
		cmocka_unit_test(what_is_no_range_is_refused),
		cmocka_unit_test(items_that_are_no_tree_are_refused),
		cmocka_unit_test(it_is_told_in_a_table_and_as_an_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
