/* test_acct_state_memory.c - the composed loss of a growing list of rounds: within its bound of memory, and
 * when memory runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <stdbool.h>

#include "acct_examples.h"
#include "acct_state.h"
#include "acct_states.h"

/* ---- memory: counted, and running out ---- */

void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);

static size_t live;
static long fail_after = -1;

static bool granted(void)
{
	if (fail_after > 0)
		fail_after--;
	return fail_after != 0;
}

void *__wrap_calloc(size_t n, size_t size)
{
	void *p = granted() ? __real_calloc(n, size) : NULL;

	live += p ? malloc_usable_size(p) : 0;
	return p;
}

void *__wrap_realloc(void *p, size_t size)
{
	size_t before = p ? malloc_usable_size(p) : 0;
	void *q = granted() ? __real_realloc(p, size) : NULL;

	if (q)
		live += malloc_usable_size(q) - before;
	return q;
}

void __wrap_free(void *p)
{
	live -= p ? malloc_usable_size(p) : 0;
	__real_free(p);
}

/* ---- */

static void memory_stays_within_its_bound(void **state)
{
	size_t before = live;
	struct acct_state *s = new_state(1e-6);

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		struct acct_round r = generic(0.8 + 0.002 * i, 20000 + i);

		(void)with(s, &r);
		add(s, r);
	}
	(void)with(s, NULL);
	/* 60 rounds, and products of 2^16 points at most. */
	assert_true(live - before < 60 * 30000 + 100 * 65536);
	for (unsigned i = 0; i < 200; i++) /* candidates leave nothing behind */
		add(s, generic(0.8, 20000));
	(void)with(s, NULL);
	size_t full = live;
	for (unsigned i = 0; i < 20; i++) {
		struct acct_round r = generic(1.2 + 0.001 * i, 20000 + i);
		(void)with(s, &r);
	}
	assert_true(live < full + 200000);
	acct_state_free(s);
	assert_int_equal(live, before);
}

static void without_memory_there_is_no_answer_and_no_damage(void **state)
{
	struct acct_state *s = new_state(1e-6);
	struct acct_round r = generic(2, 4000);
	struct acct_bound want, b;
	long n;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		add(s, generic(1, 3000 + i));
	want = with(s, &r);
	acct_state_rebuild(s);
	for (n = 1; n < 400; n++) {
		fail_after = n;
		enum acct_rc rc = acct_state_epsilon(s, &r, &b);
		fail_after = -1;
		if (rc == ACCT_OK)
			break;
		assert_int_equal(rc, ACCT_ENOMEM);
		assert_int_equal(acct_state_rounds(s), 3);
	}
	assert_in_range(n, 10, 399);
	agree(with(s, &r), want);
	agree(want, with(s, &r));
	acct_state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_stays_within_its_bound),
		cmocka_unit_test(without_memory_there_is_no_answer_and_no_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
