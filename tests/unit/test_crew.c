/* test_crew.c - each piece is done once, and all before the end. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm_crew.h"

#define PIECES 500u

/* Written by the pieces of a work. */
struct work {
	unsigned done[PIECES];    /* number of the thread that does the piece */
	uint64_t by[CM_CREW_MAX]; /* number of pieces of each thread, without a lock: only one thread has a
				     number */
	atomic_flag used[CM_CREW_MAX]; /* set while a thread with the number does a piece */
	size_t fails_from;
	atomic_bool doubled;
};

static enum cm_rc piece(void *ctx, unsigned thread, size_t i, struct cm_err *err)
{
	struct work *w = ctx;

	if (atomic_flag_test_and_set(&w->used[thread]))
		atomic_store(&w->doubled, true);
	w->done[i]++;
	w->by[thread]++;
	atomic_flag_clear(&w->used[thread]);
	return i < w->fails_from ? CM_OK : cm_fail(err, CM_EIO, "piece %zu", i);
}

static struct cm_crew *crew(unsigned threads)
{
	struct cm_crew *c = NULL;
	struct cm_err err;

	assert_int_equal(cm_crew_new(threads, &c, &err), CM_OK);
	return c;
}

static void work_is_done_once_and_seen_by_the_caller(void **state)
{
	struct cm_err err;

	(void)state;
	for (unsigned threads = 1; threads <= 17; threads += 4) {
		struct cm_crew *c = crew(threads);

		for (size_t n = 0; n <= PIECES; n = n < 3 ? n + 1 : 2 * n + 90) {
			static struct work w;
			uint64_t sum = 0;

			memset(&w, 0, sizeof w);
			w.fails_from = PIECES;
			assert_int_equal(cm_crew_run(c, piece, &w, n, &err), CM_OK);
			for (size_t i = 0; i < PIECES; i++)
				assert_int_equal(w.done[i], i < n);
			for (unsigned i = 0; i < CM_CREW_MAX; i++)
				sum += w.by[i];
			assert_int_equal(sum, n);
			for (unsigned i = threads; i < CM_CREW_MAX; i++)
				assert_int_equal(w.by[i], 0);
			assert_false(atomic_load(&w.doubled));
		}
		cm_crew_free(c);
	}
}

static void a_failure_is_returned_and_no_piece_begins_after_it(void **state)
{
	static struct work w;
	struct cm_err err;

	(void)state;
	for (unsigned threads = 1; threads <= 9; threads += 4) {
		struct cm_crew *c = crew(threads);

		for (size_t from = 0; from < PIECES; from += 83) {
			memset(&w, 0, sizeof w);
			w.fails_from = from;
			assert_int_equal(cm_crew_run(c, piece, &w, PIECES, &err), CM_EIO);
			assert_memory_equal(err.msg, "piece ", 6);
			assert_true(strtoul(err.msg + 6, NULL, 10) >= from);
			for (size_t i = 0; i <= from; i++)
				assert_int_equal(w.done[i], 1);
		}
		if (threads == 1)
			assert_int_equal(
				w.by[0], 1 + PIECES / 83 * 83); /* those before the last `from`, and it */
		w.fails_from = PIECES;
		assert_int_equal(cm_crew_run(c, piece, &w, PIECES, &err), CM_OK);
		cm_crew_free(c);
	}
}

struct from_elsewhere {
	struct cm_crew *crew;
	struct work *work;
};

static void *run_elsewhere(void *arg)
{
	const struct from_elsewhere *e = arg;
	struct cm_err err;

	return cm_crew_run(e->crew, piece, e->work, PIECES, &err) == CM_OK ? e->work : NULL;
}

/* Run works as a pool of threads does whose next free thread takes the next work. */
static void works_may_come_from_changing_threads(void **state)
{
	static struct work w;
	struct from_elsewhere e = { crew(4), &w };

	(void)state;
	memset(&w, 0, sizeof w);
	w.fails_from = PIECES;
	for (unsigned k = 1; k <= 20; k++) {
		pthread_t thread;
		void *done = NULL;

		assert_int_equal(pthread_create(&thread, NULL, run_elsewhere, &e), 0);
		assert_int_equal(pthread_join(thread, &done), 0);
		assert_ptr_equal(done, &w);
		for (size_t i = 0; i < PIECES; i++)
			assert_int_equal(w.done[i], k);
	}
	assert_false(atomic_load(&w.doubled));
	cm_crew_free(e.crew);
}

static void no_crew_is_too_small_or_too_large(void **state)
{
	struct cm_crew *c = NULL;
	struct cm_err err;

	(void)state;
	assert_int_equal(cm_crew_new(0, &c, &err), CM_EINTERNAL);
	assert_int_equal(cm_crew_new(CM_CREW_MAX + 1, &c, &err), CM_EINTERNAL);
	cm_crew_free(crew(CM_CREW_MAX));
	cm_crew_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_is_done_once_and_seen_by_the_caller),
		cmocka_unit_test(a_failure_is_returned_and_no_piece_begins_after_it),
		cmocka_unit_test(works_may_come_from_changing_threads),
		cmocka_unit_test(no_crew_is_too_small_or_too_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
