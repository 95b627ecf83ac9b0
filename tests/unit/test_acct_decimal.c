/* test_acct_decimal.c - sums, products and whole parts of the decimals behind doubles.  What is right was
 * made by hand, or by whole numbers: a decimal of 15 digits is a whole number over a power of ten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "acct_decimal.h"

static void same(double x, double right)
{
	if (x < right || x > right || isnan(x))
		fail_msg("%.17g is not %.17g", x, right);
}

static void a_sum_is_that_of_the_decimals(void **state)
{
	double five = 0, ten = 0, three = 0, tiny = 0;

	(void)state;
	for (int i = 0; i < 10; i++) {
		ten = acct_decimal_add(ten, 0.1);
		five = i < 5 ? acct_decimal_add(five, 0.2) : five;
		three = i < 3 ? acct_decimal_add(three, 0.1) : three;
		tiny = acct_decimal_add(tiny, 1e-7);
	}
	same(five, 1);
	same(ten, 1);
	same(three, 0.3);
	same(tiny, 1e-6);
	same(acct_decimal_add(0.8, 0.2), 1);
	same(acct_decimal_add(0, 0.3), 0.3);
	same(acct_decimal_add(INFINITY, 0.3), INFINITY);
	same(acct_decimal_add(DBL_MAX, DBL_MAX), INFINITY);
	assert_true(isnan(acct_decimal_add(NAN, 1)));
}

/* A sum of more digits than a double has is rounded up, however small what was added is. */
static void what_no_double_is_is_rounded_up(void **state)
{
	(void)state;
	same(acct_decimal_add(1, 1e-17), nextafter(1, 2));
	same(acct_decimal_add(1, 5e-324), nextafter(1, 2));
	same(acct_decimal_add(0.1, 1e-40), nextafter(0.1, 1));
	/* 0.3333333333333333 three times is 0.9999999999999999, which fits 1; with a last 4 it is above 1. */
	same(acct_decimal_times(0.3333333333333333, 3), 0.9999999999999999);
	assert_true(acct_decimal_times(0.3333333333333334, 3) > 1);
}

/* x = a / 10^p and y = b / 10^p add up to (a + b) / 10^p, whose nearest double strtod finds. */
static void random_decimals_add_up_to_theirs(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 50000; i++) {
		long long v[2];
		char text[3][48];
		int power;

		for (int k = 0; k < 2; k++) {
			seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			v[k] = (long long)((seed >> 20) % 400000000000000);
		}
		power = (int)(seed >> 59);
		(void)snprintf(text[0], sizeof text[0], "%llde-%d", v[0], power);
		(void)snprintf(text[1], sizeof text[1], "%llde-%d", v[1], power);
		(void)snprintf(text[2], sizeof text[2], "%llde-%d", v[0] + v[1], power);
		same(acct_decimal_add(strtod(text[0], NULL), strtod(text[1], NULL)), strtod(text[2], NULL));
	}
}

static void a_whole_part_is_that_of_the_decimal(void **state)
{
	static const struct {
		double x;
		uint64_t n, whole;
	} row[] = { { 0.29, 100, 29 }, { 0.7, 10, 7 }, { 0.57, 100, 57 }, { 0.58, 50, 29 },
		{ 0.95, 1000, 950 }, { 0.999, 1000, 999 }, { 1, UINT64_MAX, UINT64_MAX }, { 1, 7, 7 },
		{ 2.5, 3, 7 }, { 1e-300, 5, 0 }, { 1e30, 1, UINT64_MAX }, { 0.3333333333333333, 3, 0 },
		{ 0.3333333333333334, 3, 1 }, { 0, 5, 0 }, { NAN, 5, 0 }, { -1, 5, 0 }, { 0.5, 0, 0 },
		{ INFINITY, 1, UINT64_MAX } };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		if (acct_decimal_floor(row[i].x, row[i].n) != row[i].whole)
			fail_msg("%g of %llu is %llu, not %llu", row[i].x, (unsigned long long)row[i].n,
				(unsigned long long)acct_decimal_floor(row[i].x, row[i].n),
				(unsigned long long)row[i].whole);
	/* Every share of two digits of a hundred. */
	for (uint64_t i = 1; i <= 100; i++)
		assert_int_equal(acct_decimal_floor((double)i / 100, 100), i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sum_is_that_of_the_decimals),
		cmocka_unit_test(what_no_double_is_is_rounded_up),
		cmocka_unit_test(random_decimals_add_up_to_theirs),
		cmocka_unit_test(a_whole_part_is_that_of_the_decimal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
