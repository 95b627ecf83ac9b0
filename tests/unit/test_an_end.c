/* test_an_end.c - estimates that touch an end of their range, of every kind, made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "an_end.h"

enum { NONE_OF_BOTH, LOW, HIGH };

/* Which end item i touches, of a query with this range. */
static int end_of(const struct qy_query *q, struct qy_item *item, size_t n, size_t i, uint64_t reports)
{
	const struct es_estimate e = { .item = item, .n = n };
	double end = an_at_end(q, &e, i, reports);

	if (isnan(end))
		return NONE_OF_BOTH;
	assert_true(end <= q->low || end >= q->high);
	return end <= q->low ? LOW : HIGH;
}

static int of_interval(enum qy_kind kind, double lower, double upper, uint64_t reports)
{
	const struct qy_query q = { .kind = kind, .low = -10, .high = 30, .dimension = 2 };
	struct qy_item item = { .lower = lower, .upper = upper };

	return end_of(&q, &item, 1, 0, reports);
}

/* The range is -10 to 30, so its middle is 10. */
static void a_number_touches_the_end_that_its_interval_has(void **state)
{
	static const enum qy_kind kinds[] = { QY_MEAN, QY_VECTOR, QY_QUANTILES };

	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		enum qy_kind k = kinds[i];

		assert_int_equal(of_interval(k, -10, 9.9, 0), LOW);
		assert_int_equal(of_interval(k, -12, -11, 0), LOW); /* noise leads beyond the range */
		assert_int_equal(of_interval(k, 10.1, 30, 0), HIGH);
		assert_int_equal(of_interval(k, 31, 35, 0), HIGH);
		assert_int_equal(of_interval(k, -9.9, 9.9, 0), NONE_OF_BOTH);
		assert_int_equal(of_interval(k, 10.1, 29.9, 0), NONE_OF_BOTH);
		/* Both ends, or one with more than that half: the interval says nothing. */
		assert_int_equal(of_interval(k, -10, 30, 0), NONE_OF_BOTH);
		assert_int_equal(of_interval(k, -10, 10.1, 0), NONE_OF_BOTH);
		assert_int_equal(of_interval(k, 9.9, 30, 0), NONE_OF_BOTH);
		assert_int_equal(of_interval(k, -INFINITY, INFINITY, 0), NONE_OF_BOTH);
		assert_int_equal(of_interval(k, (double)NAN, (double)NAN, 0), NONE_OF_BOTH);
	}
}

/* Of 50 reports: the sum's range is -500 to 1500, its middle 500. */
static void a_sum_is_divided_by_its_reports(void **state)
{
	(void)state;
	assert_int_equal(of_interval(QY_SUM, -500, 499, 50), LOW);
	assert_int_equal(of_interval(QY_SUM, 501, 1500, 50), HIGH);
	assert_int_equal(of_interval(QY_SUM, -499, 499, 50), NONE_OF_BOTH);
	assert_int_equal(of_interval(QY_SUM, -500, 501, 50), NONE_OF_BOTH);
	assert_int_equal(of_interval(QY_SUM, -500, 1500, 50), NONE_OF_BOTH);
	/* A single report's range is no sum's. */
	assert_int_equal(of_interval(QY_SUM, 10.1, 30, 50), NONE_OF_BOTH);
	assert_int_equal(of_interval(QY_SUM, -10, 9.9, 1), LOW);
	/* Nobody reported. */
	assert_int_equal(of_interval(QY_SUM, 0, 0, 0), NONE_OF_BOTH);
	assert_int_equal(of_interval(QY_SUM, -2, -1, 0), NONE_OF_BOTH);
}

static void each_item_is_judged_for_itself(void **state)
{
	const struct qy_query q = { .kind = QY_QUANTILES, .low = 0, .high = 1 };
	struct qy_item item[] = { { .lower = -0.1, .upper = 0.1 }, { .lower = 0.3, .upper = 0.6 },
		{ .lower = 0.9, .upper = 1.0 }, { .lower = 0, .upper = 0.1, .none = true } };

	(void)state;
	assert_int_equal(end_of(&q, item, 4, 0, 9), LOW);
	assert_int_equal(end_of(&q, item, 4, 1, 9), NONE_OF_BOTH);
	assert_int_equal(end_of(&q, item, 4, 2, 9), HIGH);
	assert_int_equal(end_of(&q, item, 4, 3, 9), NONE_OF_BOTH); /* devices without a reading */
}

/* A tree of four leaves over two cells, and the devices without a reading. */
static void the_outer_leaves_of_a_tree_touch_when_they_stand_out(void **state)
{
	struct qy_query q = { .kind = QY_RANGES, .low = 0, .high = 8, .leaves = 4, .fanout = 2 };
	struct qy_item item[] = { { .lower = 90, .upper = 99 },
		{ .lower = 10, .upper = 20 }, /* the coarser cells */
		{ .lower = 60, .upper = 70 }, { .lower = 20, .upper = 30 }, { .lower = 5, .upper = 9 },
		{ .lower = 10, .upper = 15 }, { .lower = 80, .upper = 90, .none = true } };

	(void)state;
	for (size_t n = 6; n <= 7; n++) {
		assert_int_equal(end_of(&q, item, n, 0, 9), NONE_OF_BOTH);
		assert_int_equal(end_of(&q, item, n, 1, 9), NONE_OF_BOTH);
		assert_int_equal(end_of(&q, item, n, 2, 9), LOW);
		assert_int_equal(end_of(&q, item, n, 3, 9), NONE_OF_BOTH);
		assert_int_equal(end_of(&q, item, n, 4, 9), NONE_OF_BOTH);
		assert_int_equal(end_of(&q, item, n, 5, 9), HIGH);
	}
	assert_int_equal(end_of(&q, item, 7, 6, 9), NONE_OF_BOTH);
	/* An estimate without its leaves. */
	q.leaves = 8;
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(end_of(&q, item, 6, i, 9), NONE_OF_BOTH);
	q.leaves = 4;
	/* Intervals that meet are no difference. */
	item[2].lower = 30;
	item[5].lower = 9;
	assert_int_equal(end_of(&q, item, 6, 2, 9), NONE_OF_BOTH);
	assert_int_equal(end_of(&q, item, 6, 5, 9), NONE_OF_BOTH);
	/* Two leaves have each other beside them: one stands out whenever numbers are not even. */
	q.leaves = 2;
	item[4].lower = 60;
	item[4].upper = 70;
	assert_int_equal(end_of(&q, item, 6, 4, 9), NONE_OF_BOTH);
}

static void counts_have_no_end(void **state)
{
	static const enum qy_kind kinds[] = { QY_HISTOGRAM, QY_MARGINALS, QY_PREFIXES, QY_SETS, QY_PLACES };

	(void)state;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		assert_int_equal(of_interval(kinds[i], -10, 9, 50), NONE_OF_BOTH);
		assert_int_equal(of_interval(kinds[i], 11, 30, 50), NONE_OF_BOTH);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_touches_the_end_that_its_interval_has),
		cmocka_unit_test(a_sum_is_divided_by_its_reports),
		cmocka_unit_test(each_item_is_judged_for_itself),
		cmocka_unit_test(the_outer_leaves_of_a_tree_touch_when_they_stand_out),
		cmocka_unit_test(counts_have_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
