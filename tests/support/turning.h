/* turning.h - turns a loop step by step in a test; a loop that hangs fails the test. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <uv.h>

/* Far longer than anything takes on a machine that others use too; TOMBOLA_TEST_GUARD_MS is for tests that
 * are to fail (tests/scenario/test_mutants.py). */
static inline uint64_t guard_ms(void)
{
	const char *said = getenv("TOMBOLA_TEST_GUARD_MS");

	return said ? strtoull(said, NULL, 10) : 120000;
}

static inline void on_guard(uv_timer_t *t)
{
	(void)t;
	fail_msg("%s", "nothing happened for too long");
}

static inline void turning_start(uv_loop_t *loop, uv_timer_t *guard)
{
	assert_int_equal(uv_loop_init(loop), 0);
	assert_int_equal(uv_timer_init(loop, guard), 0);
	assert_int_equal(uv_timer_start(guard, on_guard, guard_ms(), 0), 0);
}

/* Everything else on the loop must be closed, or close on its own. */
static inline void turning_end(uv_loop_t *loop, uv_timer_t *guard)
{
	uv_ref((uv_handle_t *)guard);
	uv_close((uv_handle_t *)guard, NULL);
	assert_int_equal(uv_run(loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(loop), 0);
}

/* One iteration of a world's loop at a time until the condition holds; the guard ends it otherwise. */
#define RUN_UNTIL(w, condition) \
	while (!(condition))    \
	(void)uv_run(&(w)->loop, UV_RUN_ONCE)
