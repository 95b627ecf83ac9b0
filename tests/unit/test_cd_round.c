/* test_cd_round.c - a round from sealing to erasure: each step with each frame, the times of sending, and
 * what ends a round. */
#include <math.h>

#include "cd_play.h"

/* ---- each step with each frame ---- */

/* Bring a round to the step, with no report awaited but that of an erasure. */
static struct play *reach(enum cd_step step)
{
	struct play *p = play_new(1, 0);
	struct cd_action a;

	run(p, false);
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		cd_round_next(&p->round, p->now, &a);
		if (step == CD_AT_ERASE && p->round.step == step)
			return p;
		if (a.act != CD_ACT_WAIT && a.act != CD_ACT_OVER) {
			carry_out(p, &a, 0);
			if (p->round.step == step && (step == CD_AT_WHOLE || p->sents > 0))
				return p;
		} else if (p->round.step == step) {
			return p;
		} else if (p->round.step == CD_AT_SEAL) {
			sealed(p, 0, step == CD_AT_END ? &fault : NULL);
		} else if (step == CD_AT_CLOSE) {
			say(p, 0, TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND, 0);
		} else if (p->sents > 0) {
			receipt(p, 0, TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED, false);
		} else {
			p->now = a.until_ms;
		}
	}
	fail_msg("step %d is not reached", step);
	return p;
}

/* The next action of the round is to end connection 0, after this pause, for this reason. */
static void expect_drop(struct play *p, uint32_t pause_ms, enum cm_rc why)
{
	struct cd_action a;

	cd_round_next(&p->round, p->now, &a);
	assert_int_equal(a.act, CD_ACT_DROP);
	assert_int_equal(a.connection, 0);
	assert_int_equal(a.pause_ms, pause_ms);
	assert_int_equal(a.why->code, why);
}

static void every_step_knows_what_every_frame_means(void **state)
{
	(void)state;
	for (enum cd_step step = CD_AT_SEAL; step <= CD_AT_OVER; step++)
		for (int kind = 0; kind <= 60; kind++) {
			struct play *p = reach(step);
			Tombola__V1__Receipt empty = TOMBOLA__V1__RECEIPT__INIT;
			Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;

			frame.kind_case = (Tombola__V1__Frame__KindCase)kind;
			frame.receipt = &empty;
			if (kind != TOMBOLA__V1__FRAME__KIND_ERROR) {
				cd_round_frame(&p->round, 0, &frame, p->now);
				assert_int_equal(p->round.step, step);
				if (step <= CD_AT_CLOSE)
					expect_drop(p, 1000, CM_EPROTO);
			}
			play_free(p);
		}
}

static void every_step_knows_what_every_error_means(void **state)
{
	(void)state;
	for (enum cd_step step = CD_AT_SEAL; step <= CD_AT_OVER; step++)
		for (int code = 0; code <= 40; code++) {
			struct play *p = reach(step);
			bool closes = code == TOMBOLA__V1__ERROR_CODE__ERROR_NOT_FOUND ||
				      code == TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED;
			bool again = code == TOMBOLA__V1__ERROR_CODE__ERROR_BUSY ||
				     code == TOMBOLA__V1__ERROR_CODE__ERROR_STORAGE;
			int64_t close_ms = step == CD_AT_CLOSE ? p->round.close_ms : p->now + 2000;

			p->now += step == CD_AT_CLOSE;
			say(p, 0, (Tombola__V1__ErrorCode)code, code % 2 > 0 ? 0 : 7000);
			if (step > CD_AT_CLOSE) {
				assert_int_equal(p->round.step, step);
			} else if (closes) {
				assert_int_equal(p->round.step, CD_AT_CLOSE);
				assert_int_equal(p->round.close_ms, close_ms);
			} else if (again) {
				assert_int_equal(p->round.step, step);
				expect_drop(p, code % 2 > 0 ? 1000 : 7000,
					code == TOMBOLA__V1__ERROR_CODE__ERROR_BUSY ? CM_ELATER
										    : CM_EUNAVAIL);
			} else {
				assert_int_equal(p->round.step, CD_AT_END);
				assert_int_not_equal(p->round.why.code, CM_OK);
			}
			play_free(p);
		}
}

/* ---- times, and what ends a round ---- */

/* Seal and save everything at this time. */
static void seal_all(struct play *p, int64_t now)
{
	(void)pull(p, false);
	p->now = now;
	while (p->parts > 0) {
		assert_false(cd_round_sends(&p->round) || p->whole || p->connected);
		sealed(p, p->parts - 1, NULL);
		(void)pull(p, false);
	}
}

static void sending_begins_at_a_moment_that_does_not_tell_when_all_was_sealed(void **state)
{
	static const struct {
		int64_t sealed, begins; /* after the readings began to be read */
	} row[] = { { 0, 500 }, { 1, 500 }, { 499, 500 }, { 500, 500 }, { 501, 1000 }, { 999, 1000 },
		{ 30100, 30500 } };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct play *p = play_new(i, 0);
		int64_t from = p->now;

		run(p, false);
		seal_all(p, from + row[i].sealed);
		assert_true(p->whole);
		if (row[i].sealed < row[i].begins) {
			assert_int_equal(pull(p, false), from + row[i].begins);
			p->now = from + row[i].begins - 1;
			assert_int_equal(pull(p, false), from + row[i].begins);
			assert_false(p->connected || cd_round_sends(&p->round));
		}
		p->now = from + row[i].begins;
		(void)pull(p, false);
		assert_true(p->connected && cd_round_sends(&p->round));
		play_free(p);
	}
}

static void a_round_that_is_whole_is_sent_at_once_after_a_restart(void **state)
{
	struct play *p = play_new(3, 0);

	(void)state;
	run(p, false);
	seal_all(p, p->now);
	assert_true(p->whole && !p->connected);
	p->now += 123;
	run(p, false);
	(void)pull(p, false);
	assert_true(p->connected);
	play_free(p);
}

static void without_an_answer_the_round_is_kept_for_later(void **state)
{
	struct play *p = play_new(4, 0);

	(void)state;
	run(p, false);
	seal_all(p, p->now);
	p->now = DEADLINE + 4999;
	assert_int_equal(pull(p, false), DEADLINE + 5000);
	assert_true(p->sents > 0);
	p->now++;
	(void)pull(p, false);
	assert_true(p->over && !p->erased);
	assert_int_equal(p->why.code, CM_ELATER);
	/* It is resumed late: three seconds at least. */
	p->now += 60000;
	run(p, false);
	assert_int_equal(pull(p, false), p->now + 3000);
	assert_true(p->sents > 0);
	say(p, 0, TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED, 0);
	assert_int_equal(pull(p, false), p->now + 2000);
	p->now += 2000;
	(void)pull(p, false);
	assert_true(p->over && p->erased);
	assert_int_equal(p->why.code, CM_OK);
	play_free(p);
}

static void a_deadline_while_sealing_leaves_out_what_is_not_begun(void **state)
{
	struct play *p = play_new(5, 0);
	size_t saved = 0;

	(void)state;
	run(p, false);
	assert_int_equal(pull(p, false), DEADLINE);
	p->now = DEADLINE;
	while (p->parts > 0) {
		sealed(p, 0, NULL);
		(void)pull(p, false);
	}
	for (size_t i = 0; i < DEVICES; i++)
		saved += p->device[i].saved;
	/* Two parts of two devices were under way. */
	assert_int_equal(saved, 4);
	assert_true(p->whole);
	play_free(p);
}

static void a_stopped_round_is_erased_and_nothing_is_sealed_or_sent(void **state)
{
	struct play *p = play_new(6, 0);

	(void)state;
	run(p, true);
	(void)pull(p, false);
	assert_true(p->over && p->erased && !p->connected && !p->whole);
	assert_int_equal(p->parts + p->sents, 0);
	play_free(p);
}

static void after_a_fault_what_is_sealed_is_not_saved(void **state)
{
	struct play *p = play_new(7, 0);

	(void)state;
	run(p, false);
	(void)pull(p, false);
	assert_int_equal(p->parts, 2);
	sealed(p, 0, &fault);
	assert_int_equal(pull(p, false), INT64_MAX);
	assert_false(p->over);
	sealed(p, 0, NULL);
	(void)pull(p, false);
	assert_true(p->over && !p->erased && !p->device[0].saved && !p->device[2].saved);
	assert_int_equal(p->why.code, CM_EIO);
	play_free(p);
}

static void the_third_bad_receipt_in_a_row_ends_the_round(void **state)
{
	static const bool bad[] = { true, true, false, true, true, true };
	struct play *p = play_new(8, 0);

	(void)state;
	p->spread_ms = 0;
	run(p, false);
	seal_all(p, p->now);
	p->now += 500;
	for (size_t i = 0; i < sizeof bad; i++) {
		(void)pull(p, false);
		assert_true(!p->over && p->sents == 1);
		receipt(p, 0, TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED, bad[i]);
		(void)pull(p, false);
		if (bad[i] && !p->over) {
			lose(p, 0);
			p->up[0] = true;
			cd_round_up(&p->round, 0);
		}
	}
	assert_true(p->over && !p->erased);
	assert_int_equal(p->why.code, CM_EPERM);
	play_free(p);
}

static void a_round_that_came_late_is_sealed_until_the_shuffler_closes_it(void **state)
{
	struct play *p = play_new(9, 0);

	(void)state;
	p->now = DEADLINE + 10;
	run(p, false);
	assert_int_equal(pull(p, false), DEADLINE + 5000);
	seal_all(p, p->now + 10);
	assert_true(p->whole);
	for (size_t i = 0; i < DEVICES; i++)
		assert_true(p->device[i].saved);
	play_free(p);
}

static void a_moment_of_sending_after_the_end_is_not_awaited(void **state)
{
	struct play *p = play_new(10, 0);

	(void)state;
	/* A step is a tenth of the 59 seconds; the eleventh moment is after the deadline and 5 seconds. */
	p->prepare_ms = 6000;
	run(p, false);
	(void)pull(p, false);
	p->now = DEADLINE - 1;
	(void)pull(p, false);
	seal_all(p, DEADLINE + 100);
	assert_int_equal(pull(p, false), DEADLINE + 5000);
	p->now = DEADLINE + 5000;
	(void)pull(p, false);
	assert_true(p->over && !p->connected && !p->erased);
	assert_int_equal(p->why.code, CM_ELATER);
	play_free(p);
}

/* Send all frames, each answered at once.  Returns the moment of the first, and sets that of the last. */
static int64_t send_all(struct play *p, int64_t *last)
{
	int64_t first = 0, until;

	run(p, false);
	seal_all(p, p->now);
	while (!p->over) {
		until = pull(p, false);
		if (p->sents > 0) {
			*last = p->now;
			first = first > 0 ? first : p->now;
			receipt(p, 0, TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED, false);
		} else if (!p->over) {
			p->now = until;
		}
	}
	assert_true(p->erased);
	assert_int_equal(p->why.code, CM_OK);
	return first;
}

static void frames_are_spread_over_the_time_that_is_configured(void **state)
{
	double sum_first = 0, sum_last = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 400; seed++) {
		struct play *p = play_new(seed, 0);
		int64_t begin = p->now + 500, first, last = 0;

		first = send_all(p, &last);
		assert_true(begin <= first && first <= last && last <= begin + 20000);
		sum_first += (double)(first - begin);
		sum_last += (double)(last - begin);
		play_free(p);
	}
	/* The least and the largest of four uniform draws: 1/5 and 4/5, each with deviation sqrt(2/75). */
	assert_true(fabs(sum_first / 400 - 4000) < 5 * 20000 * 0.1633 / 20);
	assert_true(fabs(sum_last / 400 - 16000) < 5 * 20000 * 0.1633 / 20);
}

static void the_last_tenth_of_the_time_is_kept_for_retries(void **state)
{
	int64_t last_of_all = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct play *p = play_new(seed, 0);
		int64_t last = 0;

		p->spread_ms = 1000000;
		(void)send_all(p, &last);
		last_of_all = last > last_of_all ? last : last_of_all;
		play_free(p);
	}
	/* Sending begins 58.5 seconds before the deadline. */
	assert_true(last_of_all <= DEADLINE - 5850 && last_of_all > DEADLINE - 5850 - 3000);
}

static void what_is_being_sealed_when_the_shuffler_closes_the_round_is_saved(void **state)
{
	struct play *p = play_new(11, 0);

	(void)state;
	run(p, false);
	(void)pull(p, false);
	say(p, 0, TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED, 0);
	(void)pull(p, false);
	sealed(p, 0, NULL);
	(void)pull(p, false);
	assert_true(p->device[0].saved && p->device[1].saved && p->parts == 1);
	/* The end waits for the other part, which is not saved. */
	p->now += 2000;
	(void)pull(p, false);
	assert_false(p->over);
	sealed(p, 0, NULL);
	(void)pull(p, false);
	assert_true(p->over && p->erased && !p->device[2].saved);
	play_free(p);
}

static void an_erasure_that_fails_is_a_fault(void **state)
{
	struct play *p = reach(CD_AT_ERASE);

	(void)state;
	cd_round_done(&p->round, &fault);
	(void)pull(p, false);
	assert_true(p->over);
	assert_int_equal(p->why.code, CM_EIO);
	play_free(p);
}

static void a_round_is_stopped_once_and_in_any_step(void **state)
{
	const struct cm_err later = { .code = CM_ELATER };

	(void)state;
	for (enum cd_step step = CD_AT_SEAL; step <= CD_AT_END; step++) {
		struct play *p = reach(step);

		/* What was sealed just before is not saved any more. */
		if (step == CD_AT_SEAL)
			sealed(p, 0, NULL);
		cd_round_stop(&p->round, &later);
		cd_round_stop(&p->round, &fault);
		(void)pull(p, false);
		while (p->parts > 0) {
			sealed(p, 0, &fault);
			(void)pull(p, false);
		}
		assert_true(p->over && !p->erased);
		assert_int_equal(p->why.code, step == CD_AT_END ? CM_EIO : CM_ELATER);
		assert_true(step > CD_AT_SEAL || !p->device[0].saved);
		cd_round_stop(&p->round, &later);
		(void)pull(p, false);
		assert_int_equal(p->why.code, step == CD_AT_END ? CM_EIO : CM_ELATER);
		play_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step_knows_what_every_frame_means),
		cmocka_unit_test(every_step_knows_what_every_error_means),
		cmocka_unit_test(sending_begins_at_a_moment_that_does_not_tell_when_all_was_sealed),
		cmocka_unit_test(a_round_that_is_whole_is_sent_at_once_after_a_restart),
		cmocka_unit_test(without_an_answer_the_round_is_kept_for_later),
		cmocka_unit_test(a_deadline_while_sealing_leaves_out_what_is_not_begun),
		cmocka_unit_test(a_stopped_round_is_erased_and_nothing_is_sealed_or_sent),
		cmocka_unit_test(after_a_fault_what_is_sealed_is_not_saved),
		cmocka_unit_test(the_third_bad_receipt_in_a_row_ends_the_round),
		cmocka_unit_test(a_round_that_came_late_is_sealed_until_the_shuffler_closes_it),
		cmocka_unit_test(a_moment_of_sending_after_the_end_is_not_awaited),
		cmocka_unit_test(frames_are_spread_over_the_time_that_is_configured),
		cmocka_unit_test(the_last_tenth_of_the_time_is_kept_for_retries),
		cmocka_unit_test(what_is_being_sealed_when_the_shuffler_closes_the_round_is_saved),
		cmocka_unit_test(an_erasure_that_fails_is_a_fault),
		cmocka_unit_test(a_round_is_stopped_once_and_in_any_step),
	};

	return cmocka_run_group_tests(tests, keys_make, keys_free);
}
