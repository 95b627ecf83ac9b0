/* test_query_kinds.c - queries of several numbers: what is refused, and what a reading becomes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pr_limits.h"
#include "qy_value.h"

static struct cm_err err;

static char *yes_no[] = { (char *)"yes", (char *)"no" };
static char *hex2[] = { (char *)"6", (char *)"7", (char *)"0" };
static char *hex4[] = { (char *)"6162", (char *)"6100" };

static struct qy_query of(enum qy_kind kind)
{
	struct qy_query q = { .kind = kind };

	(void)strcpy(q.name, "q");
	(void)strcpy(q.field, "f");
	return q;
}

static struct qy_query vector(uint32_t dimension)
{
	struct qy_query q = of(QY_VECTOR);

	q.low = -1;
	q.high = 3;
	q.dimension = dimension;
	return q;
}

static struct qy_column xy[2] = { { .name = "x" }, { .name = "y" } };

static struct qy_query vector_of_columns(void)
{
	struct qy_query q = vector(2);

	q.field[0] = '\0';
	q.column = xy;
	q.columns = 2;
	return q;
}

static struct qy_column abc[3];
static uint32_t sets[2];

static struct qy_query marginals(void)
{
	struct qy_query q = of(QY_MARGINALS);

	for (int i = 0; i < 3; i++) {
		abc[i] = (struct qy_column){ .category = yes_no, .categories = 2 };
		(void)snprintf(abc[i].name, sizeof abc[i].name, "%c", 'a' + i);
	}
	sets[0] = 3;
	sets[1] = 4;
	q.field[0] = '\0';
	q.column = abc;
	q.columns = 3;
	q.marginal = sets;
	q.marginals = 2;
	return q;
}

static struct qy_query prefixes(void)
{
	struct qy_query q = of(QY_PREFIXES);

	q.bits = 4;
	q.none = QY_NONE_SYMBOL;
	q.category = hex2;
	q.categories = 3;
	return q;
}

static struct qy_query ranges(void)
{
	struct qy_query q = of(QY_RANGES);

	q.low = 0;
	q.high = 64;
	q.leaves = 64;
	q.fanout = 4;
	return q;
}

static struct qy_query quantiles(double *p, uint32_t n)
{
	struct qy_query q = of(QY_QUANTILES);

	q.high = 1;
	q.probability = p;
	q.probabilities = n;
	return q;
}

static void passes(const struct qy_query *q)
{
	if (qy_query_check(q, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

static void refused(const struct qy_query *q, const char *why)
{
	assert_int_equal(qy_query_check(q, &err), CM_ECONFIG);
	if (!strstr(err.msg, why))
		fail_msg("'%s' does not say '%s'", err.msg, why);
}

#define REFUSED(make, change, why)        \
	do {                              \
		struct qy_query q = make; \
		change;                   \
		refused(&q, why);         \
	} while (0)

static void every_kind_has_a_name_and_a_query_that_passes(void **state)
{
	static double half[] = { 0.5 };
	const struct qy_query all[] = { vector(2), vector(PR_DIMENSION_MAX), vector_of_columns(), marginals(),
		prefixes(), ranges(), quantiles(half, 1), quantiles(NULL, 0) };
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		passes(&all[i]);
	for (; qy_kind_at(n) != 0; n++)
		assert_int_equal(qy_kind_named(qy_kind_name(qy_kind_at(n))), qy_kind_at(n));
	assert_int_equal(n, 10);
	assert_int_equal(qy_kind_named("?"), 0);
}

static void what_a_kind_does_not_have_is_refused(void **state)
{
	static double half[] = { 0.5 };

	(void)state;
	REFUSED(vector(2), (q.category = yes_no, q.categories = 2), "vector has no categories");
	REFUSED(vector(2), q.leaves = 4, "vector has no leaves");
	REFUSED(vector(2), q.fanout = 4, "vector has no leaves");
	REFUSED(vector(2), q.bits = 4, "vector has no bits");
	REFUSED(vector(2), (q.marginal = sets, q.marginals = 1), "vector has no marginals");
	REFUSED(vector(2), (q.probability = half, q.probabilities = 1), "vector has no probabilities");
	REFUSED(marginals(), q.high = 1, "marginals has no range");
	REFUSED(marginals(), q.low = (double)NAN, "marginals has no range");
	REFUSED(marginals(), q.dimension = 3, "marginals has no dimension");
	REFUSED(ranges(), (q.column = xy, q.columns = 2, q.field[0] = '\0'), "ranges has no columns");
	REFUSED(prefixes(), q.high = 1, "prefixes has no range");
	REFUSED(vector(2), q.kind = (enum qy_kind)(QY_VECTOR | QY_SUM), "no kind of question");
	REFUSED(vector_of_columns(), (void)strcpy(q.field, "f"), "both a field and columns");
	REFUSED(vector(2), q.field[0] = '\0', "field is empty");
}

static void vectors_out_of_range_are_refused(void **state)
{
	(void)state;
	REFUSED(vector(1), (void)q, "dimension 1");
	REFUSED(vector(PR_DIMENSION_MAX + 1), (void)q, "dimension 131073");
	REFUSED(vector(2), q.high = -1, "range must be finite");
	REFUSED(vector_of_columns(), q.dimension = 3, "2 columns for dimension 3");
	xy[1].name[0] = 'x';
	REFUSED(vector_of_columns(), (void)q, "column 'x' twice");
	xy[1].name[0] = '\n';
	REFUSED(vector_of_columns(), (void)q, "name of column 1 is empty");
	xy[1].name[0] = 'y';
	xy[1].categories = 2;
	REFUSED(vector_of_columns(), (void)q, "a number has no categories");
	xy[1].categories = 0;
}

static void marginals_out_of_range_are_refused(void **state)
{
	static struct qy_column many[PR_COLUMNS_MAX + 1];

	(void)state;
	REFUSED(marginals(), (q.columns = 1, sets[0] = 1, q.marginals = 1), "1 columns, must be 2 to 32");
	REFUSED(marginals(), q.marginals = 0, "0 marginals");
	REFUSED(marginals(), q.marginals = PR_SLOTS_MAX + 1, "17 marginals");
	REFUSED(marginals(), sets[1] = 0, "marginal 1 is no set");
	REFUSED(marginals(), sets[1] = 8, "marginal 1 is no set");
	REFUSED(marginals(), sets[1] = 3, "marginal 1 twice");
	REFUSED(marginals(), sets[1] = 1, "column 'c' is in no marginal");
	REFUSED(marginals(), abc[2].categories = 1, "column 2: query 'q': 1 categories");
	REFUSED(marginals(), (q.column = many, q.columns = PR_COLUMNS_MAX + 1), "65 columns, at most 64");
	for (uint32_t i = 0; i <= QY_MARGINAL_COLUMNS_MAX; i++) {
		many[i] = (struct qy_column){ .category = yes_no, .categories = 2 };
		(void)snprintf(many[i].name, sizeof many[i].name, "c%u", i);
	}
	REFUSED(marginals(), (q.column = many, q.columns = 33), "33 columns, must be 2 to 32");
	/* 2^12 is the most; with all 32 columns bit 31 is one of them. */
	REFUSED(marginals(), (q.column = many, q.columns = 32, sets[0] = 0x1fff, sets[1] = ~0x1fffu),
		"marginal 0 has more than 4096");
	REFUSED(marginals(), (q.column = many, q.columns = 32, sets[0] = 0x80000fffu), "marginal 0 has more");
	REFUSED(marginals(), (q.column = many, q.columns = 32, sets[0] = 0x80000001u),
		"column 'c1' is in no marginal");
}

static void ranges_and_probabilities_out_of_range_are_refused(void **state)
{
	static double falls[] = { 0.5, 0.25 }, same[] = { 0.5, 0.5 }, zero[] = { 0 }, one[] = { 1 },
		      nan[] = { (double)NAN }, many[PR_PROBABILITIES_MAX + 1];

	(void)state;
	REFUSED(ranges(), q.leaves = 63, "63 leaves of fanout 4");
	REFUSED(ranges(), q.leaves = 2, "2 leaves of fanout 4");
	REFUSED(ranges(), q.leaves = 0, "0 leaves");
	REFUSED(ranges(), q.fanout = 0, "fanout 0");
	REFUSED(ranges(), (q.fanout = 1, q.leaves = 1), "fanout 1");
	REFUSED(ranges(), (q.fanout = 1u << 31, q.leaves = 1u << 31), "leaves of fanout");
	REFUSED(ranges(), (q.fanout = 2, q.leaves = 8192), "8192 leaves");
	REFUSED(quantiles(falls, 2), (void)q, "must rise");
	REFUSED(quantiles(same, 2), (void)q, "must rise");
	REFUSED(quantiles(zero, 1), (void)q, "must rise");
	REFUSED(quantiles(one, 1), (void)q, "must rise");
	REFUSED(quantiles(nan, 1), (void)q, "must rise");
	REFUSED(quantiles(many, PR_PROBABILITIES_MAX + 1), (void)q, "100 probabilities");
}

static void candidates_out_of_range_are_refused(void **state)
{
	static char *upper[] = { (char *)"A" }, *lengthy[] = { (char *)"61" }, *junk[] = { (char *)"g" },
		    *twice[] = { (char *)"6", (char *)"6" }, *null[] = { NULL };

	(void)state;
	REFUSED(prefixes(), q.bits = 0, "0 bits");
	REFUSED(prefixes(), q.bits = 6, "6 bits");
	REFUSED(prefixes(), q.bits = QY_PREFIX_BITS_MAX + 4, "516 bits");
	REFUSED(prefixes(), q.categories = 0, "0 candidates");
	REFUSED(prefixes(), q.categories = PR_CATEGORIES_MAX, "4096 candidates, must be 1 to 4095");
	REFUSED(prefixes(), (q.category = upper, q.categories = 1), "candidate 0 is not 1 lower-case");
	REFUSED(prefixes(), (q.category = lengthy, q.categories = 1), "candidate 0 is not");
	REFUSED(prefixes(), (q.category = junk, q.categories = 1), "candidate 0 is not");
	REFUSED(prefixes(), (q.category = null, q.categories = 1), "candidate 0 is not");
	REFUSED(prefixes(), (q.category = twice, q.categories = 2), "candidate '6' twice");
}

/* ---- readings ---- */

static struct qy_value value;
static uint32_t at[4];
static int clamped;

static enum cm_rc read_text(const struct qy_query *q, const char *text)
{
	return qy_value_read(q, &text, at, &value, &clamped, &err);
}

static void a_vector_is_read_from_one_field(void **state)
{
	static const char *const good[] = { "-1 1 3", "-1,1,3", "-1;1;3", " -1 , 1\t; 3 ", "-1  1\n3",
		"-1.0, 1e0 +3." };
	static const char *const bad[] = { "", " ", "1", "1 2", "1 2 3 4", "1 2 3,", ",1 2 3", "1,,2 3",
		"1-2-3", "1 2 x", "1 2 nan", "1 inf 2", "1 2 1e999", "1 2 3x", "1 2 0x3", "[1,2,3]",
		"1 2 secret" };
	struct qy_query q = vector(3);

	(void)state;
	assert_int_equal(qy_value_width(&q), 3);
	assert_int_equal(qy_query_fields(&q), 1);
	assert_string_equal(qy_query_field(&q, 0), "f");
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		memset(at, 0x55, sizeof at);
		if (read_text(&q, good[i]) != CM_OK)
			fail_msg("'%s': %s", good[i], err.msg);
		assert_ptr_equal(value.at, at);
		assert_int_equal(at[0], 0);
		assert_int_equal(at[1], 1u << 30);
		assert_int_equal(at[2], 1u << 31);
		assert_int_equal(clamped, 0);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (read_text(&q, bad[i]) != CM_EDATA)
			fail_msg("'%s' is taken", bad[i]);
	assert_null(strstr(err.msg, "secret"));
	assert_int_equal(read_text(&q, "-1 1 9"), CM_OK);
	assert_true(clamped && at[2] == 1u << 31);
	assert_int_equal(read_text(&q, "-9 1 3"), CM_OK);
	assert_true(clamped && at[0] == 0);
}

static void a_vector_is_read_from_its_columns(void **state)
{
	static const char *const good[] = { "-1", "9" }, *const bad[] = { "1", "1 " };
	struct qy_query q = vector_of_columns();
	char names[16];

	(void)state;
	assert_int_equal(qy_query_fields(&q), 2);
	assert_string_equal(qy_query_field(&q, 1), "y");
	assert_int_equal(qy_value_read(&q, good, at, &value, &clamped, &err), CM_OK);
	assert_true(at[0] == 0 && at[1] == 1u << 31 && clamped);
	assert_int_equal(qy_value_read(&q, bad, at, &value, &clamped, &err), CM_EDATA);
	assert_string_equal(err.msg, "field 'y' is no finite number");
	qy_query_fields_text(&q, names, sizeof names);
	assert_string_equal(names, "x, y");
	q = marginals();
	qy_query_fields_text(&q, names, sizeof names);
	assert_string_equal(names, "a, b, c");
	qy_query_fields_text(&q, names, 7);
	assert_string_equal(names, "a, ...");
	q = vector(2);
	qy_query_fields_text(&q, names, sizeof names);
	assert_string_equal(names, "f");
}

static void marginals_are_read_as_one_category_per_column(void **state)
{
	static const char *const good[] = { "no", "yes", "no" }, *const bad[] = { "yes", "no", "secret" };
	struct qy_query q = marginals();

	(void)state;
	assert_int_equal(qy_value_width(&q), 3);
	assert_int_equal(qy_value_read(&q, good, at, &value, &clamped, &err), CM_OK);
	assert_true(at[0] == 1 && at[1] == 0 && at[2] == 1 && value.at == at && !clamped);
	assert_int_equal(qy_value_read(&q, bad, at, &value, &clamped, &err), CM_EDATA);
	assert_string_equal(err.msg, "field 'c' is none of the query's categories");
}

static void a_set_is_its_items_in_any_order(void **state)
{
	static const struct {
		const char *text;
		uint32_t at[4];
		const char *shown;
	} rows[] = { { "", { 0 }, "no item" }, { "c1", { 0, 1 }, "c1" }, { "c2;c0", { 1, 0, 1 }, "c0, c2" },
		{ "c0;c0;c1", { 1, 1 }, "c0, c1" }, { "c", { 0 }, "no item" }, { "c11", { 0 }, "no item" },
		{ ";c1;", { 0, 1 }, "c1" }, { "c0, c1", { 0 }, "no item" },
		{ "secret;c2", { 0, 0, 1 }, "c2" }, { "c2; c0", { 1, 0, 1 }, "c0, c2" },
		{ " c1 ;\t;x", { 0, 1 }, "c1" }, { "c 1; ", { 0 }, "no item" } };
	char c0[] = "c0", c1[] = "c1", c2[] = "c2", text[40];
	char *items[] = { c0, c1, c2 }, *words[] = { text, c0 };
	struct qy_query q = of(QY_SETS);

	(void)state;
	q.category = items;
	q.categories = 3;
	q.none = QY_NONE_SYMBOL;
	assert_int_equal(qy_value_width(&q), 4);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		memset(at, 0x55, sizeof at);
		assert_int_equal(read_text(&q, rows[i].text), CM_OK);
		assert_memory_equal(at, rows[i].at, sizeof rows[i].at);
		qy_value_text(&q, &value, text, sizeof text);
		assert_string_equal(text, rows[i].shown);
	}
	qy_value_text(&q, &value, text, 6);
	qy_value_none(&q, NULL, at, &value);
	assert_true(at[0] + at[1] + at[2] == 0 && at[3] == 1);
	qy_value_text(&q, &value, text, sizeof text);
	assert_string_equal(text, QY_NONE_LABEL);
	q.none = QY_NONE_VALUE;
	q.none_category = 2;
	qy_value_none(&q, NULL, at, &value);
	assert_true(at[0] + at[1] == 0 && at[2] == 1);
	assert_int_equal(qy_query_check(&q, &err), CM_OK);
	q.none_category = 3;
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	/* An item could not be told from two. */
	q.none = QY_NONE_EVEN;
	q.none_category = 0;
	(void)snprintf(text, sizeof text, "a;b");
	q.category = words;
	q.categories = 2;
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	assert_string_equal(err.msg, "query 'q': item 'a;b' has a ';', which separates items");
}

static void a_text_is_counted_by_its_first_bits(void **state)
{
	char full[QY_PREFIX_BITS_MAX / 4 + 1], long_text[100], *only[] = { full };
	struct qy_query q = prefixes();

	(void)state;
	assert_int_equal(read_text(&q, "abc"), CM_OK); /* 0x61.. */
	assert_int_equal(value.x, 0);
	assert_null(qy_value_width(&q) == 0 ? NULL : at);
	assert_int_equal(read_text(&q, "pqr"), CM_OK); /* 0x70.. */
	assert_int_equal(value.x, 1);
	assert_int_equal(read_text(&q, "\x01"), CM_OK);
	assert_int_equal(value.x, 2);
	assert_int_equal(read_text(&q, "\xc3\xa9"), CM_OK);
	assert_int_equal(value.x, 3); /* other */
	assert_int_equal(read_text(&q, ""), CM_EDATA);
	q.bits = 16;
	q.category = hex4;
	q.categories = 2;
	assert_int_equal(read_text(&q, "abc"), CM_OK);
	assert_int_equal(value.x, 0);
	assert_int_equal(read_text(&q, "a"), CM_OK); /* zeroes follow */
	assert_int_equal(value.x, 1);
	assert_int_equal(read_text(&q, "b"), CM_OK);
	assert_int_equal(value.x, 2);
	memset(long_text, 'a', sizeof long_text - 1);
	long_text[sizeof long_text - 1] = '\0';
	for (size_t i = 0; i < sizeof full - 1; i++)
		full[i] = i % 2 == 0 ? '6' : '1';
	full[sizeof full - 1] = '\0';
	q.bits = QY_PREFIX_BITS_MAX;
	q.category = only;
	q.categories = 1;
	passes(&q);
	assert_int_equal(read_text(&q, long_text), CM_OK);
	assert_int_equal(value.x, 0);
	long_text[63] = '\0';
	assert_int_equal(read_text(&q, long_text), CM_OK);
	assert_int_equal(value.x, 1);
}

static void numbers_of_other_kinds_are_read_as_a_mean_is(void **state)
{
	struct qy_query q = ranges();

	(void)state;
	assert_int_equal(read_text(&q, "16"), CM_OK);
	assert_true(value.x == (uint64_t)1 << 30 && qy_value_width(&q) == 0);
	q = of(QY_SUM);
	q.high = 64;
	passes(&q);
	assert_int_equal(read_text(&q, "16"), CM_OK);
	assert_true(value.x == (uint64_t)1 << 30);
	assert_int_equal(read_text(&q, "nan"), CM_EDATA);
}

static const char *text_of(const struct qy_query *q, const struct qy_value *v, size_t size)
{
	static char out[64];

	memset(out, 'x', sizeof out);
	qy_value_text(q, v, out, size);
	return out;
}

static void a_value_is_shown_in_few_words(void **state)
{
	static const uint32_t three[] = { 0, 1u << 30, 1u << 31 };
	static uint32_t many[784];
	struct qy_query q = vector(3);
	struct qy_value v = { .at = three };

	(void)state;
	assert_string_equal(text_of(&q, &v, 64), "-1, 1, 3");
	q.dimension = 784;
	v.at = many;
	assert_string_equal(text_of(&q, &v, 32), "-1, -1, -1, ... (784 numbers)");
	for (size_t size = 24; size < 64; size++)
		assert_true(strlen(text_of(&q, &v, size)) < size);
	q = marginals();
	v.at = (const uint32_t[]){ 0, 1, 0 };
	assert_string_equal(text_of(&q, &v, 64), "yes, no, yes");
	q = prefixes();
	v = (struct qy_value){ .x = 1 };
	assert_string_equal(text_of(&q, &v, 64), "7..");
	v.x = 3;
	assert_string_equal(text_of(&q, &v, 64), "another");
	q = ranges();
	v.x = (uint64_t)1 << 31;
	assert_string_equal(text_of(&q, &v, 64), "32");
	q = of(QY_HISTOGRAM);
	q.category = yes_no;
	q.categories = 2;
	v.x = 1;
	assert_string_equal(text_of(&q, &v, 64), "no");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_has_a_name_and_a_query_that_passes),
		cmocka_unit_test(what_a_kind_does_not_have_is_refused),
		cmocka_unit_test(vectors_out_of_range_are_refused),
		cmocka_unit_test(marginals_out_of_range_are_refused),
		cmocka_unit_test(ranges_and_probabilities_out_of_range_are_refused),
		cmocka_unit_test(candidates_out_of_range_are_refused),
		cmocka_unit_test(a_vector_is_read_from_one_field),
		cmocka_unit_test(a_vector_is_read_from_its_columns),
		cmocka_unit_test(marginals_are_read_as_one_category_per_column),
		cmocka_unit_test(a_set_is_its_items_in_any_order),
		cmocka_unit_test(a_text_is_counted_by_its_first_bits),
		cmocka_unit_test(numbers_of_other_kinds_are_read_as_a_mean_is),
		cmocka_unit_test(a_value_is_shown_in_few_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
