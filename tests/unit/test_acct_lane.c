/* test_acct_lane.c - elementary functions of several numbers at a time are as exact as acct_lane.h says,
 * against long double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "acct_lane.h"
#include "uniform.h"

#define ULP   0x1p-53L
#define TRIES 200000

/* A number of either sign whose size is between e^low and e^high. */
static double sized(double low, double high)
{
	return (uniform() < 0.5 ? -1 : 1) * exp(low + (high - low) * uniform());
}

static void draw(acct_lanes *x, double low, double high)
{
	for (int i = 0; i < ACCT_LANES; i++)
		(*x)[i] = sized(low, high);
}

static void close_to(double got, long double want, long double allowed)
{
	if (!(fabsl((long double)got - want) <= allowed * ULP))
		fail_msg("%.17g is not %.20Lg", got, want);
}

static void exponentials(void **state)
{
	acct_lanes x, y;

	(void)state;
	for (int k = 0; k < TRIES; k++) {
		draw(&x, -40, log(ACCT_LANE_EXP));
		acct_lane_exp(&x, &y);
		for (int i = 0; i < ACCT_LANES; i++)
			close_to(y[i], expl((long double)x[i]), 2 * expl((long double)x[i]));
	}
	x = (acct_lanes){ 0, -0.0, ACCT_LANE_EXP, -ACCT_LANE_EXP };
	acct_lane_exp(&x, &y);
	for (int i = 0; i < ACCT_LANES; i++)
		close_to(y[i], expl((long double)x[i]), 2 * expl((long double)x[i]));
}

static void sines_and_cosines(void **state)
{
	acct_lanes x, s, c;

	(void)state;
	for (int k = 0; k < TRIES; k++) {
		draw(&x, -40, k % 2 ? log(1e6) : log(ACCT_LANE_TURN));
		if (k % 16 == 0) /* near a quarter turn one of them is small */
			x[0] = round(x[0] / 1e9) * acos(0);
		acct_lane_turn(&x, &s, &c);
		for (int i = 0; i < ACCT_LANES; i++) {
			long double at = x[i], size = fabsl(at),
				    allowed = 2 + (size > 1e6L ? 1.5L * size : 0);

			close_to(s[i], sinl(at), size < 0.7L ? 2 * fabsl(sinl(at)) : allowed);
			close_to(c[i], cosl(at), allowed);
		}
	}
}

static void logarithms(void **state)
{
	acct_lanes x, y;

	(void)state;
	for (int k = 0; k < TRIES; k++) {
		draw(&x, k % 2 ? -40 : -3, k % 2 ? 230 : 1);
		for (int i = 0; i < ACCT_LANES; i++)
			x[i] = x[i] > -1 + 1e-12 ? x[i] : -1 + 1e-12 + uniform();
		acct_lane_log1p(&x, &y);
		for (int i = 0; i < ACCT_LANES; i++)
			close_to(y[i], log1pl((long double)x[i]), 2 * fabsl(log1pl((long double)x[i])));
	}
	x = (acct_lanes){ 0, -1 + 1e-12, 1e100, 0.4142135623730951 };
	acct_lane_log1p(&x, &y);
	for (int i = 0; i < ACCT_LANES; i++)
		close_to(y[i], log1pl((long double)x[i]), 2 * fabsl(log1pl((long double)x[i])));
}

static void angles(void **state)
{
	acct_lanes x, y, a;

	(void)state;
	for (int k = 0; k < TRIES; k++) {
		draw(&y, k % 2 ? -30 : -1, k % 2 ? 30 : 1);
		draw(&x, k % 2 ? -30 : -1, k % 2 ? 30 : 1);
		acct_lane_atan2(&y, &x, &a);
		for (int i = 0; i < ACCT_LANES; i++) {
			long double want = atan2l((long double)y[i], (long double)x[i]);

			close_to(a[i], want, 4 * fabsl(want));
		}
	}
	y = (acct_lanes){ 0, 0, 1, -1 };
	x = (acct_lanes){ 1, -1, 0, 0 };
	acct_lane_atan2(&y, &x, &a);
	for (int i = 0; i < ACCT_LANES; i++)
		close_to(a[i], atan2l((long double)y[i], (long double)x[i]), 4 * 4);
}

static void ranges(void **state)
{
	acct_lanes x = { 1, 2, 3, 4 };

	(void)state;
	assert_true(acct_lane_within(&x, 1, 4));
	assert_false(acct_lane_within(&x, 1, 3.5));
	assert_false(acct_lane_within(&x, 1.5, 4));
	for (int i = 0; i < ACCT_LANES; i++) {
		acct_lanes y = x;

		y[i] = NAN;
		assert_false(acct_lane_within(&y, -INFINITY, INFINITY));
	}
}

/* Beyond the ranges of the polynomials, and where the last lanes are empty. */
static void polar_numbers(void **state)
{
	const double logs[] = { 0, -1, 800, -800, 3, 700, -700, 1e-9, -2, 5, 1 };
	const double phases[] = { 0, 1, 2, 3, 1e15, -1e15, 4e16, -3e17, 100, -1e6, 7 };
	double re[11], im[11], size[11];

	(void)state;
	for (size_t n = 1; n <= 11; n++) {
		acct_lane_polar(n, logs, phases, re, im, size);
		for (size_t i = 0; i < n; i++) {
			long double r = expl((long double)logs[i]), t = phases[i],
				    allowed = 6 + (fabsl(t) > 1e6L ? 3 * fabsl(t) : 0);

			if (logs[i] > 709) {
				assert_true(isinf(size[i]));
				continue;
			}
			close_to(size[i], r, 4 * r + 1e-290L);
			close_to(re[i], r * cosl(t), allowed * r + 1e-290L);
			close_to(im[i], r * sinl(t), allowed * r + 1e-290L);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exponentials),
		cmocka_unit_test(sines_and_cosines),
		cmocka_unit_test(logarithms),
		cmocka_unit_test(angles),
		cmocka_unit_test(ranges),
		cmocka_unit_test(polar_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
