/* test_sh_overdue.c - the end of a round that was over before the shuffler started waits, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sh_overdue.h"

#define NOW 1000

static bool waits(struct sh_overdue *l, int64_t over_ms, bool enough, int64_t mono_ms)
{
	bool begun;

	return sh_overdue_waits(l, over_ms, enough, mono_ms, &begun);
}

static void a_round_that_was_over_waits_for_half_a_minute(void **state)
{
	struct sh_overdue l = { 0 };
	bool begun;

	(void)state;
	assert_true(sh_overdue_waits(&l, 0, false, NOW, &begun));
	assert_true(begun);
	assert_true(sh_overdue_waits(&l, 29999, false, NOW + SH_OVERDUE_WAIT_MS - 1, &begun));
	assert_false(begun);
	assert_false(waits(&l, 30000, false, NOW + SH_OVERDUE_WAIT_MS));
	/* The seal was decided: the next round's end does not wait for it. */
	assert_false(waits(&l, 5, false, NOW + SH_OVERDUE_WAIT_MS + 1));
}

static void a_clock_that_is_set_back_ends_the_wait(void **state)
{
	struct sh_overdue l = { 0 };

	(void)state;
	assert_true(waits(&l, 3600000, false, NOW));
	assert_false(waits(&l, -5000, false, NOW + 10));
	assert_false(waits(&l, 1, false, NOW + 20));
}

static void enough_reports_or_a_round_in_time_do_not_wait(void **state)
{
	struct sh_overdue full = { 0 }, early = { 0 }, filled = { 0 };

	(void)state;
	assert_false(waits(&full, 10, true, NOW));
	assert_false(waits(&full, 10, false, NOW));
	assert_false(waits(&early, -1, false, NOW));
	assert_false(waits(&early, 10, false, NOW));
	assert_true(waits(&filled, 10, false, NOW));
	assert_false(waits(&filled, 20, true, NOW + 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_round_that_was_over_waits_for_half_a_minute),
		cmocka_unit_test(a_clock_that_is_set_back_ends_the_wait),
		cmocka_unit_test(enough_reports_or_a_round_in_time_do_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
