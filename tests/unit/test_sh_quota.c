/* test_sh_quota.c - what one certificate may use: its frames a second, what nothing came of, its bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "sh_quota.h"

static const uint8_t one[32] = { 1 }, other[32] = { 1, 2 };

static struct sh_quota *quota(uint32_t rate, size_t bytes)
{
	struct sh_quota *q = sh_quota_new(&(struct sh_quota_conf){ rate, bytes });

	assert_non_null(q);
	return q;
}

static void a_burst_passes_and_then_one_waits_for_what_is_owed(void **state)
{
	struct sh_quota *q = quota(100, 1000);
	struct sh_holder *h = sh_quota_join(q, one, 5000);

	(void)state;
	sh_quota_take(q, h, 200, 5000); /* two seconds' worth */
	assert_int_equal(sh_quota_wait_ms(q, h, 5000), 0);
	sh_quota_take(q, h, 1, 5000);
	assert_int_equal(sh_quota_wait_ms(q, h, 5000), 10); /* a frame at 100 a second */
	assert_int_equal(sh_quota_wait_ms(q, h, 5009), 1);
	assert_int_equal(sh_quota_wait_ms(q, h, 5010), 0);
	sh_quota_take(q, h, SH_QUOTA_BARREN, 5010);
	assert_int_equal(sh_quota_wait_ms(q, h, 5010), 10 * SH_QUOTA_BARREN);
	/* No debt is longer than a burst, whatever was read at once. */
	sh_quota_take(q, h, 1000000, 5010);
	assert_int_equal(sh_quota_wait_ms(q, h, 5010), 1000 * SH_QUOTA_BURST_S);
	/* A clock that goes back gives nothing and takes nothing. */
	assert_int_equal(sh_quota_wait_ms(q, h, 10), 1000 * SH_QUOTA_BURST_S);
	sh_quota_leave(q, h, 5010);
	sh_quota_free(q);
}

static void in_no_time_does_more_pass_than_a_burst_and_the_rate(void **state)
{
	const int64_t rate = 37;
	struct sh_quota *q = quota((uint32_t)rate, 1000);
	struct sh_holder *h = sh_quota_join(q, one, 0);
	int64_t now = 0, passed = 0;

	(void)state;
	srand(7);
	for (int i = 0; i < 20000; i++) {
		now += rand() % 40;
		while (rand() % 3 > 0 && sh_quota_wait_ms(q, h, now) == 0) {
			sh_quota_take(q, h, 1, now);
			passed++;
		}
		/* The last one may find a bucket that holds less than a frame. */
		assert_true(passed * 1000 <= rate * (1000 * SH_QUOTA_BURST_S + now) + 1000);
	}
	/* A client that always asks gets the rate. */
	int64_t begin = now, before = passed;
	for (; now < begin + 100000; now++)
		while (sh_quota_wait_ms(q, h, now) == 0) {
			sh_quota_take(q, h, 1, now);
			passed++;
		}
	assert_true(passed - before >= rate * 100);
	sh_quota_leave(q, h, now);
	sh_quota_free(q);
}

static void certificates_have_buckets_of_their_own_and_connections_of_one_share_it(void **state)
{
	struct sh_quota *q = quota(10, 1000);
	struct sh_holder *a = sh_quota_join(q, one, 0), *b = sh_quota_join(q, other, 0);

	(void)state;
	assert_ptr_equal(sh_quota_join(q, one, 0), a);
	assert_ptr_not_equal(a, b);
	sh_quota_take(q, a, 25, 0);
	assert_int_equal(sh_quota_wait_ms(q, a, 0), 500);
	assert_int_equal(sh_quota_wait_ms(q, b, 0), 0);
	sh_quota_leave(q, a, 0);
	sh_quota_leave(q, a, 0);
	/* A new connection gets no new bucket before the old one would be full anyway. */
	a = sh_quota_join(q, one, 400);
	assert_int_equal(sh_quota_wait_ms(q, a, 400), 100);
	sh_quota_leave(q, a, 400);
	a = sh_quota_join(q, one, 2500);
	sh_quota_take(q, a, 20, 2500);
	assert_int_equal(sh_quota_wait_ms(q, a, 2500), 0);
	sh_quota_leave(q, a, 2500);
	sh_quota_leave(q, b, 2500);
	sh_quota_free(q);
}

static void bytes_that_are_not_durable_are_waited_for(void **state)
{
	struct sh_quota *q = quota(10, 1000);
	struct sh_holder *a = sh_quota_join(q, one, 0), *b = sh_quota_join(q, other, 0);

	(void)state;
	sh_quota_hold(a, 999);
	assert_int_equal(sh_quota_wait_ms(q, a, 0), 0);
	sh_quota_hold(a, 500);
	assert_int_equal(sh_quota_wait_ms(q, a, 0), -1);
	assert_int_equal(sh_quota_wait_ms(q, b, 0), 0);
	sh_quota_free_bytes(a, 500);
	assert_int_equal(sh_quota_wait_ms(q, a, 0), 0);
	sh_quota_free_bytes(a, 999);
	sh_quota_leave(q, a, 0);
	sh_quota_leave(q, b, 0);
	sh_quota_free(q);
}

static void a_row_of_refusals_is_junk(void **state)
{
	(void)state;
	for (unsigned n = 0; n < SH_QUOTA_JUNK; n++)
		assert_false(sh_quota_is_junk(n));
	assert_true(sh_quota_is_junk(SH_QUOTA_JUNK));
	assert_true(sh_quota_is_junk(SH_QUOTA_JUNK + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_passes_and_then_one_waits_for_what_is_owed),
		cmocka_unit_test(in_no_time_does_more_pass_than_a_burst_and_the_rate),
		cmocka_unit_test(certificates_have_buckets_of_their_own_and_connections_of_one_share_it),
		cmocka_unit_test(bytes_that_are_not_durable_are_waited_for),
		cmocka_unit_test(a_row_of_refusals_is_junk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
