/* test_round.c - numbers that people see, rounded in the safe direction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "cm_round.h"

static void same(double x, double right)
{
	if (x < right || x > right || isnan(x))
		fail_msg("%.17g is not %.17g", x, right);
}

static void a_decimal_stays_and_another_number_goes_the_safe_way(void **state)
{
	(void)state;
	for (int i = 0; i <= 10000; i++) { /* 1e4 * 0.07 is above 700 */
		same(cm_round_up(i / 1e4, 4), i / 1e4);
		same(cm_round_down(i / 1e4, 4), i / 1e4);
		same(cm_percent_up(i / 1e4, 2), i / 1e2);
	}
	same(cm_round_up(0.12341, 4), 0.1235);
	same(cm_round_up(0.12349, 4), 0.1235);
	same(cm_round_down(0.12349, 4), 0.1234);
	assert_false(signbit(cm_round_down(0.00008, 4)));
	same(cm_round_up(nextafter(0.3, 1), 4), 0.3001);
	same(cm_percent_up(0.33331, 1), 33.4);
	same(cm_percent_up(INFINITY, 1), INFINITY);
	same(cm_round_up(1e300, 4), 1e300);
	assert_true(isnan(cm_round_up(NAN, 4)));
}

static void significant_digits_go_the_safe_way_whatever_the_exponent(void **state)
{
	(void)state;
	for (int i = 1000; i <= 9999; i++) {
		same(cm_digits_up(i / 1e13, 4), i / 1e13);
		same(cm_digits_down(i / 1e4, 4), i / 1e4);
	}
	same(cm_digits_up(1.0000001e-6, 6), 1.00001e-6);
	same(cm_digits_down(1.0000009e-6, 6), 1e-6);
	same(cm_digits_up(9.9999e-7, 3), 1e-6);
	same(cm_digits_down(9.9999e-7, 3), 9.99e-7);
	same(cm_digits_up(12341, 4), 12350);
	same(cm_digits_up(5e-324, 3), 5e-324);
	same(cm_digits_up(0, 3), 0);
	same(cm_digits_down(INFINITY, 3), INFINITY);
	assert_true(isnan(cm_digits_up(NAN, 3)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_decimal_stays_and_another_number_goes_the_safe_way),
		cmocka_unit_test(significant_digits_go_the_safe_way_whatever_the_exponent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
