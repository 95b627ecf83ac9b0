/* test_cd_walk.c - any order of answers, faults, restarts and power cuts of a round: what was saved is sent,
 * and nothing that shows depends on a value. */
#include "cd_play.h"

#define WALKS 400u

/* One thing happens, or time passes until the round wants something at `until`. */
static void happen(struct play *p, int64_t until)
{
	unsigned connection = (unsigned)draw(p, CONNECTIONS);
	uint64_t what = draw(p, 16), code = draw(p, 17), rare = draw(p, 24);
	struct cm_err why = fault;

	if (what < 5 && p->parts > 0) {
		sealed(p, draw(p, p->parts), rare == 0 ? &fault : NULL);
	} else if (what < 8 && p->sents > 0) {
		receipt(p, draw(p, p->sents), rare < 4 ? 1 + (uint8_t)rare : 1, rare > 20);
	} else if (what < 10 && p->ending[connection]) {
		lose(p, connection);
	} else if (what < 10 && !p->up[connection] && (p->connected || connection == 0)) {
		p->up[connection] = true;
		cd_round_up(&p->round, connection);
	} else if (what == 10 && p->up[connection]) {
		lose(p, connection);
	} else if (what == 11 && p->up[connection] && rare < 6) {
		say(p, connection, (Tombola__V1__ErrorCode)code, (uint32_t)code * 100);
	} else if (what == 12 && rare == 0) {
		cd_round_stop(&p->round, &why);
	} else if (what == 13 && rare == 0) {
		run(p, false);
	} else {
		int64_t some = 1 + (int64_t)draw(p, 4000);

		p->now = until - p->now < some ? until : p->now + some;
	}
}

/* Play one round to its end, over as many runs as it takes; returns the trace of what shows outside. */
static uint64_t walk(uint64_t seed, uint8_t value, uint64_t *steps)
{
	struct play *p = play_new(seed, value);
	uint64_t shown;

	run(p, false);
	for (unsigned i = 0; !p->erased; i++, ++*steps) {
		int64_t until = pull(p, true);

		assert_true(i < STEPS_MAX);
		if (p->erased)
			break;
		if (p->over) {
			assert_int_not_equal(p->why.code, CM_OK);
			p->now += 500;
			run(p, p->conflict);
			continue;
		}
		/* It waits for something that comes, or for a time. */
		assert_true(until > p->now);
		assert_true(until < INT64_MAX || p->parts > 0);
		happen(p, until);
	}
	shown = p->trace;
	play_free(p);
	return shown;
}

static void in_any_order_what_is_saved_is_sent_and_no_time_depends_on_a_value(void **state)
{
	uint64_t steps = 0;

	(void)state;
	for (uint64_t seed = 0; seed < WALKS; seed++)
		assert_int_equal(walk(seed, 1, &steps), walk(seed, 2, &steps));
	/* A walk has some steps on average, or the walks tell nothing. */
	assert_true(steps > 2 * WALKS * 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_any_order_what_is_saved_is_sent_and_no_time_depends_on_a_value),
	};

	return cmocka_run_group_tests(tests, keys_make, keys_free);
}
