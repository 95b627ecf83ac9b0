/* test_sh_job.c - buckets are read and messages deleted beside the loop, in bounded memory, and in the same
 * order whatever is asked. */
#include "sh_steps.h"

#include <string.h>

#define DEVICES 3000u

/* The store of the play, which ends the test when it is slow on the loop. */
static struct sh_store inner;
static bool on_loop;
static size_t readings, erasures;

static enum cm_rc buckets(
	void *data, uint32_t first, uint32_t n, sh_block_fn *fn, void *user, struct cm_err *err)
{
	assert_false(on_loop);
	readings++;
	return inner.data_buckets(data, first, n, fn, user, err);
}

static enum cm_rc erase(void *ctx, void *data, const uint8_t *round_id, struct cm_err *err)
{
	assert_false(on_loop);
	erasures++;
	return inner.data_erase(ctx, data, round_id, err);
}

static enum cm_rc drop(void *ctx, const uint8_t *round_id, struct cm_err *err)
{
	(void)ctx;
	(void)round_id;
	(void)err;
	fail_msg("a round that is open is dropped at a start alone");
	return CM_EINTERNAL;
}

static int set_up(void **state)
{
	(void)steps_set_up(state);
	inner = play.store;
	play.store.data_buckets = buckets;
	play.store.data_erase = erase;
	play.store.data_drop = drop;
	on_loop = true;
	readings = erasures = 0;
	return 0;
}

static void run_job(struct sh_job *j)
{
	on_loop = false;
	sh_job_run(j);
	on_loop = true;
	assert_int_equal(sh_core_job_end(play.core, j, &play.err), CM_OK);
}

static enum sh_job_kind next_job(void)
{
	struct sh_job j;

	if (sh_core_job_begin(play.core, false, &j) != SH_JOB_NONE)
		run_job(&j);
	return j.kind;
}

static void work(void)
{
	struct sh_task_done done;
	struct sh_task t;

	while (sh_core_task_begin(play.core, SH_PACE_FLUSH, play.now_ms, &t) != SH_TASK_NONE) {
		on_loop = false;
		if (t.slow)
			sh_core_task_run(&t, &play.work_rng);
		on_loop = true;
		assert_int_equal(sh_core_task_end(play.core, &t, &done, &play.err), CM_OK);
	}
}

static enum cm_rc settle(void)
{
	return sh_core_settle(play.core, play.d.round_id, PR_ROUND_ID_LEN, &play.no, &play.err);
}

static enum cm_rc pull(uint32_t bucket, uint64_t offset, struct cr_span *part)
{
	return sh_core_pull(
		play.core, play.d.round_id, PR_ROUND_ID_LEN, bucket, offset, 5000, part, &play.no);
}

/* A round of eight buckets, released. */
static void released(void)
{
	sh_play_round(&play, &(struct sh_wish){ .target = 40000 });
	steps_submit(1, 0, DEVICES);
	play.now_ms = play.d.deadline_ms;
	work();
	sh_play_manifest(&play);
	assert_int_equal(play.manifest.buckets, 8);
	sh_play_charge(&play);
	assert_int_equal(sh_play_release(&play), CM_OK);
	readings = 0;
}

static void nothing_is_read_before_it_is_asked_for(void **state)
{
	struct cr_span part;

	(void)state;
	released();
	assert_int_equal(next_job(), SH_JOB_NONE);
	steps_refused(pull(8, 0, &part), ERROR(BAD_MESSAGE));
	assert_int_equal(next_job(), SH_JOB_NONE);
	assert_int_equal(readings, 0);
}

static void the_bucket_asked_for_is_read_first_and_then_the_next(void **state)
{
	const struct sh_round *r;
	struct cr_span part;
	struct sh_job j;

	(void)state;
	released();
	r = sh_core_round(play.core, 0);
	for (uint32_t b = 0; b < 8; b++) {
		/* The first bucket is not read yet; each other one was read while the one before was sent. */
		assert_int_equal(pull(b, 0, &part), b == 0 ? CM_EMORE : CM_OK);
		if (b == 0) {
			assert_int_equal(next_job(), SH_JOB_READ);
			assert_int_equal(pull(b, 0, &part), CM_OK);
		}
		assert_int_equal(sh_core_job_begin(play.core, false, &j), b < 7 ? SH_JOB_READ : SH_JOB_NONE);
		if (b == 7)
			break;
		assert_int_equal(j.segment->bucket, b + 1);
		/* While a bucket is read, the one before it is sent. */
		for (uint64_t at = 0; at < play.manifest.bucket[b].messages; at++)
			assert_int_equal(pull(b, at, &part), CM_OK);
		run_job(&j);
		for (size_t i = 0; i < SH_SEGMENTS; i++)
			assert_true(!r->segments.segment[i].filled || r->segments.segment[i].bucket == b ||
				    r->segments.segment[i].bucket == b + 1);
		assert_int_equal(next_job(), SH_JOB_NONE); /* and no third */
	}
}

/* Small buckets: so many bytes ahead, and one bucket more that ends beyond them. */
static void buckets_are_read_ahead_up_to_so_many_bytes(void **state)
{
	const struct sh_round *r;
	struct cr_span part;

	(void)state;
	sh_play_stop(&play);
	play.ahead_bytes = 60000;
	sh_play_start(&play);
	inner = play.store;
	play.store.data_buckets = buckets;
	released();
	r = sh_core_round(play.core, 0);
	for (uint32_t b = 0; b < 8; b++) {
		size_t ahead = 0, before = 0;
		while (pull(b, 0, &part) == CM_EMORE)
			assert_int_equal(next_job(), SH_JOB_READ);
		while (next_job() == SH_JOB_READ)
			;
		uint32_t last = b;
		for (size_t i = 0; i < SH_SEGMENTS; i++) {
			const struct sh_segment *s = &r->segments.segment[i];
			assert_true(!s->filled || s->bucket >= b); /* what was sent is wiped */
			assert_true(s->filled || !s->bytes.data);
			ahead += s->filled && s->bucket > b ? s->bytes.len : 0;
			last = s->filled && s->bucket > last ? s->bucket : last;
		}
		for (size_t i = 0; i < SH_SEGMENTS; i++)
			if (r->segments.segment[i].filled && r->segments.segment[i].bucket == last)
				before = ahead - r->segments.segment[i].bytes.len;
		assert_true(last == 7 || (ahead >= 60000 && before < 60000));
	}
}

/* Any bucket, any offset, jobs or none in between: each part is what the round in its order has there. */
static void the_order_does_not_depend_on_what_is_asked(void **state)
{
	struct cm_buf whole;
	size_t first[9] = { 0 }, len;

	(void)state;
	released();
	len = rd_sealed_len(&play.d);
	cm_buf_init(&whole, 16u << 20);
	for (uint32_t b = 0; b < 8; b++) {
		struct cr_span part = { NULL, 1 };
		for (uint64_t at = 0; part.len > 0; at += part.len / len) {
			while (pull(b, at, &part) == CM_EMORE)
				assert_int_equal(next_job(), SH_JOB_READ);
			assert_int_equal(cm_buf_put(&whole, part.data, part.len), CM_OK);
		}
		first[b + 1] = whole.len / len;
	}
	steps_each_once(&whole, DEVICES);
	for (unsigned i = 0; i < 400; i++) {
		uint32_t b = (uint32_t)cr_rng_below(&play.rng, 8);
		uint64_t at = cr_rng_below(&play.rng, play.manifest.bucket[b].messages + 1);
		struct cr_span part;
		while (pull(b, at, &part) == CM_EMORE)
			assert_int_equal(next_job(), SH_JOB_READ);
		assert_true(part.len <= 5000 && (at == play.manifest.bucket[b].messages) == (part.len == 0));
		if (part.len > 0)
			assert_memory_equal(part.data, whole.data + (first[b] + at) * len, part.len);
		if (cr_rng_below(&play.rng, 2) == 0)
			(void)next_job();
	}
	cm_buf_fini(&whole);
}

static void a_round_that_is_settled_while_it_is_read_is_erased_after_it(void **state)
{
	struct cr_span part;
	struct sh_job j;

	(void)state;
	released();
	assert_int_equal(pull(0, 0, &part), CM_EMORE);
	assert_int_equal(sh_core_job_begin(play.core, false, &j), SH_JOB_READ);
	assert_int_equal(settle(), CM_EMORE);
	/* Nobody else can read it any more, and nobody gets more of it. */
	assert_false(steps_file_exists("keys", ".key"));
	assert_true(steps_file_exists("rounds", ".db"));
	steps_refused(pull(0, 0, &part), ERROR(NOT_FOUND));
	assert_int_equal(settle(), CM_EMORE);
	run_job(&j);
	steps_refused(pull(0, 0, &part), ERROR(NOT_FOUND));
	assert_int_equal(settle(), CM_EMORE);
	/* The same when the shuffler is stopped. */
	assert_int_equal(sh_core_job_begin(play.core, true, &j), SH_JOB_ERASE);
	for (size_t i = 0; i < SH_SEGMENTS; i++)
		assert_null(j.round->segments.segment[i].bytes.data);
	assert_null(j.round->vault.boxes);
	assert_int_equal(settle(), CM_EMORE);
	run_job(&j);
	assert_int_equal(erasures, 1);
	assert_int_equal(settle(), CM_OK);
	assert_false(steps_file_exists("rounds", ".db"));
	assert_int_equal(next_job(), SH_JOB_NONE);
}

/* The next round is announced, filled and sealed while the messages of the last one are deleted. */
static void an_erasure_keeps_no_other_round_waiting(void **state)
{
	struct sh_job j;

	(void)state;
	released();
	assert_int_equal(settle(), CM_EMORE);
	assert_int_equal(sh_core_job_begin(play.core, false, &j), SH_JOB_ERASE);
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	steps_accepted(1, 0, 10);
	play.now_ms = play.d.deadline_ms;
	work();
	sh_play_manifest(&play);
	assert_int_equal(play.manifest.participants, 10);
	run_job(&j);
	assert_int_equal(erasures, 1);
	sh_play_charge(&play);
	assert_int_equal(sh_play_release(&play), CM_OK);
}

static void a_void_round_is_erased_beside_the_loop(void **state)
{
	(void)state;
	sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
	steps_submit(1, 0, 3);
	play.now_ms = play.d.deadline_ms;
	work();
	sh_play_manifest(&play);
	assert_true(play.manifest.is_void);
	assert_false(steps_file_exists("keys", ".key"));
	assert_int_equal(settle(), CM_EMORE);
	assert_int_equal(next_job(), SH_JOB_ERASE);
	assert_false(steps_file_exists("rounds", ".db"));
	assert_int_equal(settle(), CM_OK);
}

static void a_start_deletes_what_was_still_to_be_deleted(void **state)
{
	(void)state;
	released();
	assert_int_equal(settle(), CM_EMORE);
	play.store.data_drop = inner.data_drop;
	sh_play_stop(&play);
	assert_true(steps_file_exists("rounds", ".db"));
	sh_play_start(&play);
	assert_false(steps_file_exists("rounds", ".db"));
	assert_int_equal(settle(), CM_OK);
}

/* Rounds that are over count until their messages are deleted: what waits is bounded. */
static void there_are_so_many_rounds_and_no_more(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SH_ROUNDS_MAX; i++) {
		sh_play_round(&play, &(struct sh_wish){ .min_reports = 10 });
		play.now_ms = play.d.deadline_ms;
		work();
	}
	sh_play_describe(&play, &(struct sh_wish){ .min_reports = 10 });
	assert_int_equal(sh_play_reserve(&play), CM_OK);
	steps_refused(sh_play_announce(&play), ERROR(BUSY));
	assert_int_equal(next_job(), SH_JOB_ERASE);
	assert_int_equal(sh_play_announce(&play), CM_OK);
}

#define JOB_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, steps_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOB_TEST(nothing_is_read_before_it_is_asked_for),
		JOB_TEST(the_bucket_asked_for_is_read_first_and_then_the_next),
		JOB_TEST(buckets_are_read_ahead_up_to_so_many_bytes),
		JOB_TEST(the_order_does_not_depend_on_what_is_asked),
		JOB_TEST(a_round_that_is_settled_while_it_is_read_is_erased_after_it),
		JOB_TEST(an_erasure_keeps_no_other_round_waiting),
		JOB_TEST(a_void_round_is_erased_beside_the_loop),
		JOB_TEST(a_start_deletes_what_was_still_to_be_deleted),
		JOB_TEST(there_are_so_many_rounds_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
