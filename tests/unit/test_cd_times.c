/* test_cd_times.c - until when readings are read, when sending begins, and when each frame is sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cd_times.h"

static void the_time_for_reading_follows_from_what_is_public(void **state)
{
	static const struct {
		struct cd_times_of of;
		int64_t end, last;
	} row[] = {
		{ { 1000, 3601000, 1000, 6, 0, 0, 0 }, 1500, 1500 },
		/* `prepare` is cut to a tenth of the round's time; reading may then go on for ten seconds. */
		{ { 1000, 4000, 1000, 6, 0, 0, 0 }, 1150, 11000 },
		{ { 1000, 3601000, 50, 6, 0, 0, 0 }, 1025, 11000 },
		/* It is at least ten microseconds a device, and more for long values, but at most a quarter
		   of the round's time. */
		{ { 0, 3600000, 1000, 100000, 0, 0, 0 }, 1500, 1500 },
		{ { 0, 3600000, 1000, 10000, 1000, 0, 0 }, 3600, 3600 },
		{ { 0, 10000, 1000, 10000000, 0, 0, 0 }, 2500, 2500 },
		/* Sixteen readings of each device that are held take three times as long. */
		{ { 0, 3600000, 1000, 100000, 0, 0, 16 }, 3700, 3700 },
		{ { 0, 3600000, 1000, 100000, 0, 0, 5 }, 1500, 1500 },
		/* The client's clock is wrong. */
		{ { 9000, 1000, 1000, 6, 0, 0, 0 }, 9000, 19000 },
		/* A round that took long to judge came whole multiples of `prepare` later. */
		{ { 1000, 3601000, 1000, 6, 0, 250, 0 }, 1500, 1500 },
		{ { 1000, 3601000, 1000, 6, 0, 251, 0 }, 2500, 2500 },
		{ { 1000, 3601000, 1000, 6, 0, 3200, 0 }, 5500, 5500 },
		{ { 1000, 3601000, 50, 6, 0, 12000, 0 }, 13025, 23000 },
		/* It was judged until after its deadline. */
		{ { 1000, 11000, 1000, 6, 0, 12000, 0 }, 13000, 13000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const struct cd_times t = cd_times_make(&row[i].of);

		assert_int_equal(t.end_ms, row[i].end);
		assert_int_equal(t.last_ms, row[i].last);
	}
}

static void sending_begins_at_moments_that_were_fixed_before(void **state)
{
	static const struct {
		int64_t from, deadline, step, now, start;
	} cases[] = { { 1000, 101000, 500, 900, 1500 }, { 1000, 101000, 500, 1000, 1500 },
		{ 1000, 101000, 500, 1001, 1500 }, { 1000, 101000, 500, 1500, 1500 },
		{ 1000, 101000, 500, 1501, 2000 }, { 1000, 101000, 500, 9999, 10000 },
		/* A tenth of the round's time, but more than 0. */
		{ 1000, 2000, 500, 1001, 1100 }, { 1000, 1005, 500, 1003, 1003 },
		{ 1000, 900, 500, 1003, 1003 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(cd_send_start(cases[i].from, cases[i].deadline, cases[i].step, cases[i].now),
			cases[i].start);
}

static void nothing_leaves_before_all_is_sealed(void **state)
{
	(void)state;
	assert_false(cd_send_may_begin(0, 0, 3000));
	assert_false(cd_send_may_begin(4, 1000, 3000));
	assert_false(cd_send_may_begin(0, 2999, 3000));
	assert_false(cd_send_may_begin(1, 3000, 3000));
	assert_true(cd_send_may_begin(0, 3000, 3000));
	assert_true(cd_send_may_begin(0, 0, 0));
}

static void spread_moments_are_uniform_over_the_window(void **state)
{
	enum { K = 4, TRIALS = 4000, CELLS = 10 };
	unsigned cell[CELLS] = { 0 };
	double expected = (double)K * TRIALS / CELLS, chi = 0;
	struct cr_rng rng;
	struct cm_err err;

	(void)state;
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	for (unsigned t = 0; t < TRIALS; t++) {
		int64_t now = 0;

		for (unsigned k = K; k > 0; k--) {
			int64_t at = cd_send_spread(now, 1000000, k, &rng);

			assert_true(at >= now && at <= 1000000);
			now = at;
			cell[at >= 1000000 ? CELLS - 1 : at / 100000]++;
		}
	}
	for (unsigned i = 0; i < CELLS; i++)
		chi += (cell[i] - expected) * (cell[i] - expected) / expected;
	/* Order statistics of K uniforms, together uniform: 9 degrees of freedom, above 79 with chance below
	 * 1e-12. */
	assert_true(chi < 79);
	assert_int_equal(cd_send_spread(5, 5, 3, &rng), 5);
	assert_int_equal(cd_send_spread(9, 5, 3, &rng), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_for_reading_follows_from_what_is_public),
		cmocka_unit_test(sending_begins_at_moments_that_were_fixed_before),
		cmocka_unit_test(nothing_leaves_before_all_is_sealed),
		cmocka_unit_test(spread_moments_are_uniform_over_the_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
