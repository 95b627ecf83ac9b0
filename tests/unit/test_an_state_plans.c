/* test_an_state_plans.c - one population, several plans: each follows the last and fits what is left. */
#include "an_state_fixture.h"
#include "pl_load.h"
#include "pl_make.h"

#include <string.h>

#define SMALL(name, limit, eps)                                                                           \
	"name = \"" name "\"\npopulation = \"testers\"\nbudget = { epsilon = " limit ", delta = 1e-7 }\n" \
	"rounds = ( { query = \"q-" name                                                                  \
	"\", type = \"histogram\", protocol = \"grr\", field = \"Class\",\n"                              \
	"    epsilon0 = " eps ", min_reports = 20, target = 40, values = [\"a\", \"b\", \"c\"] } )\n"

static void a_plan_must_follow_the_one_before_and_fit_what_is_left(void **state)
{
	static const char one[] = SMALL("one", "3.0", "1.0"), two[] = SMALL("two", "2.0", "1.0");
	uint8_t head[PR_HASH_LEN] = { 0 };

	(void)state;
	for (int field = 0; field < 5; field++) {
		struct pl_plan first, second;
		struct an_state s;
		struct rd_record open, pin, next;
		struct cm_err err = { 0 };
		struct rd_plan p;
		enum cm_rc rc;

		assert_int_equal(
			pl_plan_parse((const uint8_t *)one, strlen(one), "p", NULL, &first, &err), CM_OK);
		assert_int_equal(
			pl_plan_parse((const uint8_t *)two, strlen(two), "p", NULL, &second, &err), CM_OK);
		assert_int_equal(an_state_init(&s, &second, &err), CM_OK);
		an_open_record(&first, field == 1 ? 4.999 : 5.0, 2e-7, 1, &open);
		open.seq = 1;
		assert_int_equal(an_state_take(&s, &open, head, &err), CM_OK);
		pin = pin_of(&s, &first);
		pin.seq = 2;
		assert_int_equal(an_state_take(&s, &pin, head, &err), CM_OK);
		assert_null(s.current); /* the first plan is not the plan file's */
		assert_int_equal(s.others, 1);
		next = pin_of(&s, &second);
		next.seq = 3;
		assert_int_equal(rd_plan_decode(next.plan.data, next.plan.len, &p, &err), CM_OK);
		if (field == 2)
			p.previous[0] ^= 1;
		if (field == 3)
			p.number = 3;
		if (field == 4)
			strcpy(p.population, "others");
		next.plan.len = 0;
		assert_int_equal(rd_plan_encode(&p, &next.plan, &err), CM_OK);
		rc = an_state_take(&s, &next, head, &err);
		assert_int_equal(rc, field == 0 ? CM_OK : CM_EDATA);
		assert_true(s.slices.epsilon == (field == 0 ? 5.0 : 3.0));
		assert_int_equal(s.current != NULL, field == 0);
		if (field == 0) {
			assert_ptr_equal(an_state_query(&s, "q-two"), &s.round[0]);
			assert_ptr_equal(an_state_query(&s, "q-one"), &s.other[0]->state);
			assert_null(an_state_query(&s, "q-three"));
			assert_int_equal(an_state_rounds(&s), 2);
		}
		rd_plan_fini(&p);
		cm_buf_fini(&pin.plan);
		cm_buf_fini(&next.plan);
		an_state_fini(&s);
		pl_plan_fini(&first);
		pl_plan_fini(&second);
	}
}

/* A charged round of the plan before is finished under the new one, and its result stays beside the new
 * one's. */
static void rounds_of_an_earlier_plan_can_be_finished(void **state)
{
	struct world w;
	struct fake f = { .participants = 30, .buckets = 2, .segment = 50 };
	struct cm_err err = { 0 };
	struct an_round_state *r;
	uint8_t id[PR_ROUND_ID_LEN];

	(void)state;
	world_make_within(&w, SMALL("one", "3.0", "1.0"), 31, 5.0, 1e-6);
	/* The process dies after the charge: on the way are witness, extend, announce, await, charge. */
	for (unsigned actions = 1; w.files.state.round[0].stage != AN_CHARGED; actions++)
		assert_int_equal(world_drive(&w, &f, 1, actions, &err), CM_EMORE);
	memcpy(id, w.files.state.round[0].descriptor.round_id, PR_ROUND_ID_LEN);
	world_replan(&w, SMALL("two", "2.0", "1.0"));
	world_pin(&w);
	assert_int_equal(w.files.state.plans, 2);
	r = an_state_find(&w.files.state, id);
	assert_non_null(r);
	assert_int_equal(r->stage, AN_CHARGED);
	assert_true(r != w.files.state.round && !r->of->current);
	assert_int_equal(world_drive_round(&w, &f, r, 100000, &err), CM_OK);
	assert_int_equal(an_state_find(&w.files.state, id)->stage, AN_SETTLED);
	assert_int_equal(world_drive(&w, &f, 1, 100000, &err), CM_OK);
	assert_int_equal(w.files.state.round[0].stage, AN_SETTLED);
	assert_int_equal(w.files.state.round[0].descriptor.sequence, 2);
	assert_int_equal(world_remove(&w, "results/round-0001.json"), 0);
	assert_int_equal(world_remove(&w, "results/plan-2-round-0001.json"), 0);
	fake_free(&f);
	world_free(&w);
}

static void a_slice_that_does_not_fit_writes_nothing(void **state)
{
	struct world w;
	struct cm_err err = { 0 };
	struct cm_buf plan;
	uint8_t previous[PR_HASH_LEN];
	uint64_t number, before;

	(void)state;
	world_make_within(&w, SMALL("one", "3.0", "1.0"), 32, 5.0, 1e-6);
	world_replan(&w, SMALL("two", "2.1", "1.0"));
	assert_null(w.files.state.current);
	assert_int_equal(an_ledger_files_slice(&w.files, &err), CM_EBUDGET);
	assert_non_null(strstr(err.msg, "slice of epsilon 2.1"));
	assert_non_null(strstr(err.msg, "earlier plans took 3"));
	cm_buf_init(&plan, PR_PLAN_MAX);
	number = an_state_next_plan(&w.files.state, previous);
	assert_int_equal(number, 2);
	assert_int_equal(pl_plan_make(&w.files.plan, number, previous, NULL, &plan, &err), CM_OK);
	before = an_ledger_chain(w.files.ledger)->seq;
	assert_int_equal(
		an_ledger_files_pin(&w.files, &plan, w.analyzer.signer, WORLD_NOW, &err), CM_EBUDGET);
	assert_int_equal(an_ledger_files_preview(&w.files, NULL, &err), CM_EBUDGET);
	assert_int_equal(an_ledger_chain(w.files.ledger)->seq, before);
	cm_buf_fini(&plan);
	world_free(&w);
}

/* The plan that is signed is the one that was shown before. */
static void a_preview_is_the_plan_that_will_be_pinned(void **state)
{
	struct world w;
	uint8_t hash[PR_HASH_LEN];
	struct cm_err err = { 0 };

	(void)state;
	world_make_within(&w, SMALL("one", "3.0", "1.0"), 33, 5.0, 1e-6);
	world_replan(&w, SMALL("two", "2.0", "1.0"));
	assert_int_equal(an_ledger_files_preview(&w.files, NULL, &err), CM_OK);
	memcpy(hash, w.files.state.current->signed_plan.hash, PR_HASH_LEN);
	world_restart(&w);
	world_pin(&w);
	assert_memory_equal(w.files.state.current->signed_plan.hash, hash, PR_HASH_LEN);
	world_restart(&w);
	assert_memory_equal(w.files.state.current->signed_plan.hash, hash, PR_HASH_LEN);
	world_free(&w);
}

static void the_populations_budget_is_for_life(void **state)
{
	struct world w;
	struct cm_err err = { 0 };

	(void)state;
	world_make_within(&w, SMALL("one", "3.0", "1.0"), 34, 5.0, 1e-6);
	an_ledger_files_close(&w.files);
	w.conf.epsilon = 6.0;
	assert_int_equal(an_ledger_files_open(&w.conf, false, &w.files, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "for life"));
	world_free(&w);
}

#define ADAPTIVE(limit, mode, rounds)                                                                   \
	"name = \"a\"\npopulation = \"testers\"\nbudget = { epsilon = " limit ", delta = 1e-6 }\n" mode \
	"rounds = (" rounds ")\n"
#define ASK(name, eps, most)                                                                              \
	"{ query = \"" name "\", type = \"histogram\", field = \"C\", epsilon0 = " eps ", target = " most \
	", min_reports = 20000, values = [\"a\", \"b\", \"c\"] }"
#define GDP "mode = \"adaptive\"\n"

static const struct {
	const char *plan;
	enum cm_rc rc;
} changed[] = {
	{ ADAPTIVE("1.0", GDP, ASK("one", "4.0", "30000") ", " ASK("two", "8.0", "30000")), CM_OK },
	{ ADAPTIVE("1.0", GDP,
		  ASK("one", "4.0", "30000") ", " ASK("two", "8.0", "30000") ", " ASK(
			  "three", "1.0", "30000")),
		CM_OK },
	{ ADAPTIVE("1.0", GDP, ASK("one", "4.0", "30000") ", " ASK("two", "2.0", "30000")), CM_OK },
	{ ADAPTIVE("1.0", GDP, ASK("one", "4.1", "30000") ", " ASK("two", "8.0", "30000")), CM_ECONFIG },
	{ ADAPTIVE("1.0", GDP, ASK("one", "4.0", "40000") ", " ASK("two", "8.0", "30000")), CM_ECONFIG },
	{ ADAPTIVE("1.0", GDP, ASK("uno", "4.0", "30000") ", " ASK("two", "8.0", "30000")), CM_ECONFIG },
	{ ADAPTIVE("1.0", GDP, ASK("one", "4.0", "30000") ", " ASK("too", "8.0", "30000")), CM_ECONFIG },
	{ ADAPTIVE("1.0", GDP, ASK("one", "4.0", "30000")), CM_ECONFIG },
	{ ADAPTIVE("1.1", GDP, ASK("one", "4.0", "30000") ", " ASK("two", "8.0", "30000")), CM_ECONFIG },
	{ ADAPTIVE("1.0", GDP "filter = \"renyi\"\n",
		  ASK("one", "4.0", "30000") ", " ASK("two", "8.0", "30000")),
		CM_ECONFIG },
};

/* Rounds 1 (asked) and 2 (refused) are decided under the first plan; then its file is another. */
static void an_adaptive_plan_may_change_in_what_is_to_come(void **state)
{
	static const char first[] =
		ADAPTIVE("1.0", GDP, ASK("one", "4.0", "30000") ", " ASK("two", "8.0", "30000"));

	(void)state;
	for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
		struct world w;
		struct cm_err err = { 0 };
		double before = 0, after = 0;
		enum cm_rc rc;

		world_make(&w, first, 9);
		assert_int_equal(world_decide(&w, 1, &err), CM_OK);
		assert_int_equal(world_decide(&w, 2, &err), CM_EBUDGET);
		assert_non_null(strstr(err.msg, "% of the filter's budget"));
		assert_int_equal(an_budget_share(&w.files.state, &before, &err), CM_OK);
		assert_true(before > 0 && before < 1);
		an_ledger_files_close(&w.files);
		world_write(&w, "plan.conf", (const uint8_t *)changed[i].plan, strlen(changed[i].plan));
		rc = an_ledger_files_open(&w.conf, true, &w.files, &err);
		if (rc != changed[i].rc)
			fail_msg("changed %zu: %d %s", i, rc, err.msg);
		if (rc == CM_OK) {
			assert_int_equal(w.files.state.round[0].stage, AN_RESERVED);
			assert_int_equal(w.files.state.round[1].stage, AN_REFUSED);
			assert_int_equal(an_budget_share(&w.files.state, &after, &err), CM_OK);
			assert_true(before == after);
		}
		if (rc == CM_OK && w.files.plan.rounds == 3) {
			assert_int_equal(world_decide(&w, 3, &err), CM_OK);
			assert_memory_equal(w.files.state.round[2].descriptor.plan_hash,
				w.files.state.current->signed_plan.hash, PR_HASH_LEN);
			assert_string_equal(w.files.state.round[2].descriptor.mode, "adaptive.gdp");
		}
		world_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plan_must_follow_the_one_before_and_fit_what_is_left),
		cmocka_unit_test(rounds_of_an_earlier_plan_can_be_finished),
		cmocka_unit_test(a_slice_that_does_not_fit_writes_nothing),
		cmocka_unit_test(a_preview_is_the_plan_that_will_be_pinned),
		cmocka_unit_test(the_populations_budget_is_for_life),
		cmocka_unit_test(an_adaptive_plan_may_change_in_what_is_to_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
