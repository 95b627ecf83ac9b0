/* test_cl_proof.c - watched messages: a uniform sample, kept with the outcomes, and answered for. */
#include "cl_world.h"

#include "cl_proof.h"
#include "cl_watched.h"
#include "rd_sort.h"
#include "rd_tree.h"

/* ---- the sample ---- */

static void each_of_a_stream_is_watched_with_the_same_chance(void **state)
{
	enum { STREAM = 12, MOST = 4, RUNS = 60000 };
	unsigned held[STREAM] = { 0 };

	(void)state;
	for (unsigned run = 0; run < RUNS; run++) {
		struct cl_watch w = { .most = MOST };
		unsigned at[MOST] = { 0 };

		for (unsigned i = 0; i < STREAM; i++) {
			int64_t place = cl_watch_place(&w, &world.rng);

			assert_true(place < MOST && (i >= MOST || place == i));
			if (place >= 0)
				at[place] = i;
		}
		for (unsigned i = 0; i < MOST; i++)
			held[at[i]]++;
	}
	/* Each place gets a third of 60,000: a deviation of 7.2 standard deviations of 115.5 has probability
	 * 1e-12. */
	for (unsigned i = 0; i < STREAM; i++)
		assert_in_range(held[i], RUNS / 3 - 831, RUNS / 3 + 831);
	struct cl_watch none = { .most = 0 };
	assert_int_equal(cl_watch_place(&none, &world.rng), -1);
}

/* ---- answers ---- */

static void an_honest_manifest_answers_for_all_in_requests_of_one_length(void **state)
{
	struct cl_proof_result r;
	struct cl_proof p;
	struct held h;

	(void)state;
	watch(OWN);
	assert_int_equal(counts().waiting, OWN);
	hold(&h, false);
	answer(&h, &r);
	assert_int_equal(r.included, PR_PROOF_HASHES);
	assert_false(r.done);
	cl_world_restart(&world);
	answer(&h, &r);
	assert_int_equal(r.included, OWN - PR_PROOF_HASHES);
	assert_int_equal(r.missing + r.unanswered, 0);
	assert_true(r.done);
	assert_int_equal(
		cl_proof_next(world.db, 0, world.shuffler.verifier, &world.rng, &p, &err), CM_ENOINPUT);
	assert_int_equal(counts().included, OWN);
	assert_int_equal(counts().waiting, 0);
	let_go(&h);
}

static void nothing_is_asked_of_a_round_in_which_nothing_is_watched(void **state)
{
	struct cl_proof p;

	(void)state;
	watch(0);
	assert_int_equal(
		cl_proof_next(world.db, 0, world.shuffler.verifier, &world.rng, &p, &err), CM_ENOINPUT);
	assert_int_equal(counts().rounds, 0);
}

static void a_void_round_settles_it_and_a_silent_shuffler_leaves_it_unanswered(void **state)
{
	for (int is_void = 0; is_void < 2; is_void++) {
		struct cl_proof_result r;
		Tombola__V1__SignedManifest s;
		struct cl_proof p;
		struct held h;

		if (is_void) {
			(void)tear_down(state);
			(void)set_up(state);
		}
		watch(OWN);
		hold(&h, is_void);
		s = frame(&h);
		load(&p);
		if (is_void)
			assert_int_equal(cl_proof_manifest(world.db, world.dir, &p, &s,
						 world.shuffler.verifier, &r, &err),
				CM_OK);
		else
			assert_int_equal(cl_proof_give_up(world.db, &p, &r, &err), CM_OK);
		assert_true(r.done);
		assert_int_equal(r.unanswered, is_void ? 0 : OWN);
		assert_int_equal(counts().void_rounds, is_void);
		assert_int_equal(counts().unanswered, is_void ? 0 : OWN);
		assert_int_equal(counts().waiting, 0);
		cl_proof_fini(&p);
		let_go(&h);
	}
}

static void a_manifest_of_another_key_or_round_and_a_proof_of_another_length_change_nothing(void **state)
{
	struct cl_proof_result r;
	struct cl_proof p;
	struct held h;
	uint8_t few[100] = { 1 };

	(void)state;
	watch(OWN);
	hold(&h, false);
	Tombola__V1__SignedManifest s = frame(&h);
	load(&p);
	h.signature[5] ^= 1;
	assert_int_equal(
		cl_proof_manifest(world.db, world.dir, &p, &s, world.shuffler.verifier, &r, &err), CM_EPERM);
	h.signature[5] ^= 1;
	assert_int_equal(
		cl_proof_manifest(world.db, world.dir, &p, &s, world.shuffler.verifier, &r, &err), CM_OK);
	assert_int_equal(cl_proof_answer(world.db, world.dir, &p, few, sizeof few, &r, &err), CM_EPROTO);
	assert_int_equal(counts().waiting, OWN);
	cl_proof_fini(&p);
	let_go(&h);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_of_a_stream_is_watched_with_the_same_chance),
		TEST(an_honest_manifest_answers_for_all_in_requests_of_one_length),
		TEST(nothing_is_asked_of_a_round_in_which_nothing_is_watched),
		TEST(a_void_round_settles_it_and_a_silent_shuffler_leaves_it_unanswered),
		TEST(a_manifest_of_another_key_or_round_and_a_proof_of_another_length_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
