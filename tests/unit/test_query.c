/* test_query.c - queries and readings: what is refused, and where a number lands. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "qy_value.h"

/* Reads a value of a query of one number from one field. */
static enum cm_rc read_one(
	const struct qy_query *q, const char *text, struct qy_value *out, int *clamped, struct cm_err *err)
{
	return qy_value_read(q, &text, NULL, out, clamped, err);
}

static struct qy_query mean(double low, double high)
{
	struct qy_query q = { .kind = QY_MEAN, .low = low, .high = high };

	(void)strcpy(q.name, "v3-mean");
	(void)strcpy(q.field, "V3");
	return q;
}

static char *three[] = { (char *)"High", (char *)"Low", (char *)"Fpv.Open" };

static struct qy_query histogram(char **category, uint32_t n)
{
	struct qy_query q = { .kind = QY_HISTOGRAM, .category = category, .categories = n };

	(void)strcpy(q.name, "state");
	(void)strcpy(q.field, "Class");
	return q;
}

static void well_formed_queries_pass(void **state)
{
	struct qy_query h = histogram(three, 3), m = mean(-1.5, 1e300);
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(qy_query_check(&h, &err), CM_OK);
	assert_int_equal(qy_query_check(&m, &err), CM_OK);
}

static void a_bad_name_or_field_is_refused(void **state)
{
	static const char *const bad[] = { "", "State", "a b", "a/b", "\xc3\xa9", "a\n" };
	struct qy_query q = mean(0, 1);
	struct cm_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		(void)strcpy(q.name, bad[i]);
		assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	}
	memset(q.name, 'a', sizeof q.name);
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	q = mean(0, 1);
	q.field[0] = '\0';
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	(void)strcpy(q.field, "a\tb");
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	memset(q.field, 'a', sizeof q.field);
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	q = mean(0, 1);
	q.kind = (enum qy_kind)3;
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
}

static void a_bad_range_is_refused(void **state)
{
	static const double bad[][2] = { { 1, 1 }, { 2, 1 }, { NAN, 1 }, { 0, NAN }, { -INFINITY, 0 },
		{ 0, INFINITY }, { -1.7e308, 1.7e308 } };
	struct cm_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct qy_query q = mean(bad[i][0], bad[i][1]);

		assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
		assert_string_equal(err.msg, "query 'v3-mean': range must be finite, low below high");
	}
}

static void bad_categories_are_refused(void **state)
{
	char *twice[] = { (char *)"a", (char *)"b", (char *)"a" }, *empty[] = { (char *)"a", (char *)"" };
	char *control[] = { (char *)"a", (char *)"b\033[2J" }, *null[] = { (char *)"a", NULL }, big[300];
	char *lengthy[] = { (char *)"a", big };
	struct cm_err err = { 0 };
	struct qy_query q;

	(void)state;
	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	q = histogram(twice, 3);
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	assert_string_equal(err.msg, "query 'state': category 'a' twice");
	q = histogram(empty, 2);
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	q = histogram(control, 2);
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	q = histogram(null, 2);
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	q = histogram(lengthy, 2);
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	q = histogram(three, 1);
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
	q = histogram(three, 4097);
	assert_int_equal(qy_query_check(&q, &err), CM_ECONFIG);
}

static void a_category_is_its_index_and_a_stranger_is_refused(void **state)
{
	struct qy_query q = histogram(three, 3);
	struct qy_value v = { .x = 99 };
	struct cm_err err = { 0 };
	int clamped = 7;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(read_one(&q, three[i], &v, &clamped, &err), CM_OK);
		assert_int_equal(v.x, i);
		assert_int_equal(clamped, 0);
	}
	assert_int_equal(read_one(&q, "high", &v, &clamped, &err), CM_EDATA);
	assert_int_equal(read_one(&q, "High ", &v, &clamped, &err), CM_EDATA);
	assert_int_equal(read_one(&q, "", &v, &clamped, &err), CM_EDATA);
	assert_int_equal(read_one(&q, "secret reading", &v, &clamped, &err), CM_EDATA);
	assert_null(strstr(err.msg, "secret"));
}

static void a_number_lands_on_its_part_of_the_range(void **state)
{
	struct qy_query q = mean(-10, 30);
	struct qy_value v;
	struct cm_err err = { 0 };
	int clamped;

	(void)state;
	assert_int_equal(read_one(&q, "-10", &v, &clamped, &err), CM_OK);
	assert_true(v.x == 0 && !clamped);
	assert_int_equal(read_one(&q, "30.0", &v, &clamped, &err), CM_OK);
	assert_true(v.x == (uint64_t)1 << 32 && !clamped);
	assert_int_equal(read_one(&q, "0", &v, &clamped, &err), CM_OK);
	assert_true(v.x == (uint64_t)1 << 30 && !clamped);
	assert_int_equal(read_one(&q, "1e9", &v, &clamped, &err), CM_OK);
	assert_true(v.x == (uint64_t)1 << 32 && clamped);
	assert_int_equal(read_one(&q, "-10.001", &v, &clamped, &err), CM_OK);
	assert_true(v.x == 0 && clamped);
}

static void text_that_is_no_finite_number_is_refused(void **state)
{
	static const char *const bad[] = { "", " ", "x", "1x", "1 ", "nan", "inf", "-inf", "1e999", "1,5",
		"0x15", "0X1p3", "infinity", "nan(1)", "--1", "+", ".", "-.e1" };
	struct qy_query q = mean(0, 1);
	struct qy_value v;
	struct cm_err err = { 0 };
	int clamped;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(read_one(&q, bad[i], &v, &clamped, &err), CM_EDATA);
	assert_string_equal(err.msg, "field 'V3' is no finite number");
}

static void finishing_frees_every_category_and_may_be_repeated(void **state)
{
	struct qy_query q = mean(0, 1);

	(void)state;
	qy_query_fini(&q);
	q.categories = 2;
	q.category = calloc(2, sizeof *q.category);
	q.columns = 1;
	q.column = calloc(1, sizeof *q.column);
	q.marginals = q.probabilities = 1;
	q.marginal = calloc(1, sizeof *q.marginal);
	q.probability = calloc(1, sizeof *q.probability);
	assert_true(q.category && q.column && q.marginal && q.probability);
	q.category[0] = strdup("a");
	q.column[0].categories = 1;
	q.column[0].category = calloc(1, sizeof *q.column[0].category);
	assert_non_null(q.column[0].category);
	q.column[0].category[0] = strdup("b");
	qy_query_fini(&q);
	assert_true(!q.category && !q.column && !q.marginal && !q.probability);
	assert_true(q.categories + q.columns + q.marginals + q.probabilities == 0);
	qy_query_fini(&q);
}

/* A text with very many items is read against a query with very many, within a second of processor time:
 * comparing one by one would take half a minute. */
static void a_long_set_takes_the_time_of_its_length(void **state)
{
	enum { ITEMS = 4000, LONG = 4000000 };
	static char name[ITEMS][8], text[LONG + 16], *item[ITEMS];
	static uint32_t at[ITEMS];
	struct qy_query q = { .kind = QY_SETS, .category = item, .categories = ITEMS };
	clock_t began;
	size_t len = 0;

	(void)state;
	/* In an order of their own. */
	for (unsigned i = 0; i < ITEMS; i++) {
		(void)snprintf(name[i], sizeof name[i], "a%u", i * 1237 % ITEMS);
		item[i] = name[i];
	}
	/* All even items, after some that are no items: beginnings of items, items with more behind them,
	 * nothing. */
	while (len < LONG - 8 * ITEMS)
		len += (size_t)sprintf(text + len, "a;a12345;;");
	for (unsigned i = 0; i < ITEMS; i += 2)
		len += (size_t)sprintf(text + len, "a%u;", i);
	began = clock();
	qy_set_read(&q, text, at);
	assert_true((double)(clock() - began) / CLOCKS_PER_SEC < 5);
	for (unsigned i = 0; i < ITEMS; i++)
		assert_int_equal(at[i], i * 1237 % ITEMS % 2 == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(well_formed_queries_pass),
		cmocka_unit_test(a_bad_name_or_field_is_refused),
		cmocka_unit_test(a_bad_range_is_refused),
		cmocka_unit_test(bad_categories_are_refused),
		cmocka_unit_test(a_category_is_its_index_and_a_stranger_is_refused),
		cmocka_unit_test(a_number_lands_on_its_part_of_the_range),
		cmocka_unit_test(text_that_is_no_finite_number_is_refused),
		cmocka_unit_test(a_long_set_takes_the_time_of_its_length),
		cmocka_unit_test(finishing_frees_every_category_and_may_be_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
