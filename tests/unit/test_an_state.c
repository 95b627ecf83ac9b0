/* test_an_state.c - the state of rounds follows from the ledger, and only legal records move it. */
#include "an_world.h"

#include <string.h>

#include "an_budget.h"
#include "an_reserve.h"

struct fixture {
	struct pl_plan plan;
	struct an_state state;
	struct rd_record pin; /* the PLAN record; its plan is owned */
	uint64_t seq;
};

/* The PLAN record that follows from what the state has pinned so far. */
static struct rd_record pin_of(const struct an_state *s, const struct pl_plan *plan)
{
	struct rd_record r = { .kind = RD_PLAN };
	uint8_t previous[PR_HASH_LEN];
	uint64_t number = an_state_next_plan(s, previous);
	struct cm_err err = { 0 };

	cm_buf_init(&r.plan, PR_PLAN_MAX);
	if (pl_plan_make(plan, number, previous, NULL, &r.plan, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return r;
}

static void open_fixture(struct fixture *d)
{
	struct cm_err err = { 0 };
	struct rd_record r;
	uint8_t head[PR_HASH_LEN] = { 0 };

	memset(d, 0, sizeof *d);
	assert_int_equal(
		pl_plan_parse((const uint8_t *)world_plan, strlen(world_plan), "p", NULL, &d->plan, &err),
		CM_OK);
	assert_int_equal(an_state_init(&d->state, &d->plan, &err), CM_OK);
	an_open_record(&d->plan, d->plan.epsilon, d->plan.delta, 1, &r);
	r.seq = 1;
	assert_int_equal(an_state_take(&d->state, &r, head, &err), CM_OK);
	d->pin = pin_of(&d->state, &d->plan);
	d->pin.seq = d->seq = 2;
	if (an_state_take(&d->state, &d->pin, head, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

static void close_fixture(struct fixture *d)
{
	cm_buf_fini(&d->pin.plan);
	an_state_fini(&d->state);
	pl_plan_fini(&d->plan);
}

static enum cm_rc take(struct fixture *d, struct rd_record *r)
{
	struct cm_err err = { 0 };
	uint8_t head[PR_HASH_LEN] = { 5 };

	r->seq = ++d->seq;
	return an_state_take(&d->state, r, head, &err);
}

/* RESERVE of a plan round, as the analyzer makes it. */
static struct rd_record reserve(struct fixture *d, uint32_t number, uint8_t id)
{
	static const struct rd_verdict verdict = { .epsilon_round = 1, .total = 2 };
	const struct rd_chain chain = { .seq = d->seq };
	struct an_reservation v = { .round = &d->state.round[number - 1],
		.query = &d->plan.round[number - 1].query,
		.verdict = &verdict,
		.chain = &chain,
		.now_ms = WORLD_NOW };
	struct rd_record r;
	struct cm_err err = { 0 };

	memset(v.round_id, id, sizeof v.round_id);
	memset(v.hpke_key, 9, sizeof v.hpke_key);
	if (an_reserve_record(&d->state, &v, &r, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return r;
}

static struct rd_record move(enum rd_record_kind kind, uint8_t id)
{
	struct rd_record r = { .kind = kind, .participants = 25 };

	memset(r.round_id, id, sizeof r.round_id);
	memset(r.manifest_hash, 3, sizeof r.manifest_hash);
	return r;
}

static void a_round_goes_from_planned_to_settled(void **state)
{
	struct fixture d;
	struct rd_record r, m;

	(void)state;
	open_fixture(&d);
	assert_int_equal(d.state.round[0].stage, AN_PLANNED);
	r = reserve(&d, 1, 7);
	assert_int_equal(take(&d, &r), CM_OK);
	assert_int_equal(d.state.round[0].stage, AN_RESERVED);
	assert_int_equal(d.state.sequence, 1);
	assert_memory_equal(d.state.round[0].descriptor_bytes.data, r.descriptor.data, r.descriptor.len);
	m = move(RD_CHARGE, 7);
	assert_int_equal(take(&d, &m), CM_OK);
	assert_int_equal(d.state.round[0].stage, AN_CHARGED);
	assert_int_equal(d.state.round[0].charge_seq, 4);
	assert_int_equal(d.state.round[0].charge_head[0], 5);
	m = move(RD_SETTLE, 7);
	assert_int_equal(take(&d, &m), CM_OK);
	assert_int_equal(d.state.round[0].stage, AN_SETTLED);
	assert_true(an_round_counts(&d.state.round[0]));
	assert_false(an_round_lost(&d.state.round[0]));
	rd_record_fini(&r);
	close_fixture(&d);
}

static void a_charged_round_that_is_given_up_costs_what_it_costs(void **state)
{
	struct fixture d;
	struct rd_record r, m;

	(void)state;
	open_fixture(&d);
	r = reserve(&d, 1, 7);
	assert_int_equal(take(&d, &r), CM_OK);
	m = move(RD_CHARGE, 7);
	assert_int_equal(take(&d, &m), CM_OK);
	m = move(RD_SETTLE, 7);
	(void)snprintf(m.reason, sizeof m.reason, "lost");
	assert_int_equal(take(&d, &m), CM_OK);
	assert_true(an_round_lost(&d.state.round[0]));
	assert_true(an_round_counts(&d.state.round[0]));
	assert_true(an_round_holds(&d.state.round[0]));
	assert_true(d.state.slices.epsilon == 8 && d.state.slices.delta == 1e-6);
	rd_record_fini(&r);
	close_fixture(&d);
}

static void what_the_descriptor_says_is_what_was_planned(void **state)
{
	struct fixture d;
	struct rd_record r;
	const struct rd_descriptor *got;

	(void)state;
	open_fixture(&d);
	r = reserve(&d, 1, 7);
	assert_int_equal(take(&d, &r), CM_OK);
	got = &d.state.round[0].descriptor;
	assert_string_equal(got->population, "testers");
	assert_int_equal(got->min_batch, 20);
	assert_int_equal(got->target_batch, 40);
	assert_int_equal(got->deadline_ms - got->opens_ms, 60000);
	assert_int_equal(got->randomizer.mixbins.keep, d.plan.round[0].randomizer.mixbins.keep);
	assert_int_equal(got->ledger_seq, 2);
	assert_memory_equal(got->plan_hash, d.state.current->signed_plan.hash, PR_HASH_LEN);
	assert_memory_equal(d.state.current->signed_plan.file_hash, d.plan.digest, PR_HASH_LEN);
	assert_int_equal(got->entry, 1);
	assert_int_equal(got->attempt, 1);
	assert_true(got->privacy.epsilon_total == 2 && got->privacy.epsilon_limit == 8);
	rd_record_fini(&r);
	close_fixture(&d);
}

/* From each stage, each move that is not its own: nothing may follow but what the life cycle names. */
static void illegal_moves_are_damage(void **state)
{
	static const enum rd_record_kind kinds[] = { RD_CHARGE, RD_SETTLE, RD_VOID };
	static const struct {
		enum rd_record_kind path[2];
		unsigned allowed; /* bit i: kinds[i] */
	} stages[] = {
		{ { 0, 0 }, 1u << 0 | 1u << 2 }, /* reserved: charge or void */
		{ { RD_CHARGE, 0 }, 1u << 1 },   /* charged: settle; never void */
		{ { RD_CHARGE, RD_SETTLE }, 0 }, /* settled */
		{ { RD_VOID, 0 }, 0 },           /* waiting: nothing but another try */
	};

	(void)state;
	for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
		for (size_t k = 0; k < 3; k++) {
			struct fixture d;
			struct rd_record r, m;

			open_fixture(&d);
			r = reserve(&d, 1, 7);
			assert_int_equal(take(&d, &r), CM_OK);
			for (size_t i = 0; i < 2 && stages[s].path[i] != 0; i++) {
				m = move(stages[s].path[i], 7);
				assert_int_equal(take(&d, &m), CM_OK);
			}
			m = move(kinds[k], 7);
			assert_int_equal(take(&d, &m), stages[s].allowed & 1u << k ? CM_OK : CM_EDATA);
			rd_record_fini(&r);
			close_fixture(&d);
		}
}

static void records_of_unknown_rounds_are_damage(void **state)
{
	struct fixture d;
	struct rd_record r, m;

	(void)state;
	open_fixture(&d);
	m = move(RD_CHARGE, 7);
	assert_int_equal(take(&d, &m), CM_EDATA);
	r = reserve(&d, 1, 7);
	assert_int_equal(take(&d, &r), CM_OK);
	assert_int_equal(take(&d, &r), CM_EDATA); /* reserved twice */
	m = move(RD_CHARGE, 8);
	assert_int_equal(take(&d, &m), CM_EDATA);
	m = (struct rd_record){ .kind = RD_REFUSE, .plan_round = 4 };
	assert_int_equal(take(&d, &m), CM_EDATA);
	m.plan_round = 0;
	assert_int_equal(take(&d, &m), CM_EDATA);
	rd_record_fini(&r);
	close_fixture(&d);
}

static struct rd_record void_of(uint8_t id, uint8_t manifest, const char *reason)
{
	struct rd_record m = move(RD_VOID, id);

	memset(m.manifest_hash, manifest, sizeof m.manifest_hash);
	(void)snprintf(m.reason, sizeof m.reason, "%s", reason);
	return m;
}

/* The plan allows three tries: each is chained to the VOID manifest of the one before, and the third is the
 * last. */
static void a_void_try_leaves_the_entry_waiting_and_the_last_does_not(void **state)
{
	struct fixture d;
	const struct an_round_state *round;

	(void)state;
	open_fixture(&d);
	round = &d.state.round[0];
	for (uint8_t try = 1; try <= 3; try++) {
		struct rd_record r = reserve(&d, 1, try), m = void_of(try, (uint8_t)(0x30 + try), "few");

		assert_int_equal(take(&d, &r), CM_OK);
		assert_int_equal(round->descriptor.attempt, try);
		if (try > 1) {
			uint8_t before[PR_HASH_LEN];

			memset(before, 0x30 + try - 1, sizeof before);
			assert_memory_equal(round->descriptor.void_manifest, before, PR_HASH_LEN);
		}
		assert_int_equal(take(&d, &m), CM_OK);
		assert_int_equal(round->tries, try);
		assert_int_equal(round->stage, try < 3 ? AN_WAITING : AN_VOID);
		assert_string_equal(round->reason, "few");
		/* Void or not, the slice is spent. */
		assert_true(an_round_holds(round) && d.state.slices.epsilon == 8);
		rd_record_fini(&r);
	}
	assert_int_equal(an_state_count(&d.state, AN_VOID), 1);
	close_fixture(&d);
}

static void a_descriptor_that_nobody_was_asked_to_answer_is_no_try(void **state)
{
	struct fixture d;

	(void)state;
	open_fixture(&d);
	for (uint8_t i = 1; i <= 5; i++) {
		struct rd_record r = reserve(&d, 1, i), m = void_of(i, 0, AN_NOT_TAKEN " (policy): no");

		assert_int_equal(take(&d, &r), CM_OK);
		assert_int_equal(d.state.round[0].descriptor.attempt, 1);
		assert_int_equal(d.state.round[0].descriptor.sequence, i);
		assert_int_equal(take(&d, &m), CM_OK);
		assert_int_equal(d.state.round[0].stage, AN_WAITING);
		assert_int_equal(d.state.round[0].tries, 0);
		rd_record_fini(&r);
	}
	close_fixture(&d);
}

/* It may have been released: nobody can say that it was not. */
static void a_try_without_a_manifest_spends_its_entry(void **state)
{
	struct fixture d;
	struct rd_record r, m = void_of(7, 0, "lost: given up by the operator");

	(void)state;
	open_fixture(&d);
	r = reserve(&d, 1, 7);
	assert_int_equal(take(&d, &r), CM_OK);
	assert_int_equal(take(&d, &m), CM_OK);
	assert_int_equal(d.state.round[0].stage, AN_VOID);
	rd_record_fini(&r);
	r = reserve(&d, 1, 8);
	assert_int_equal(take(&d, &r), CM_EDATA);
	rd_record_fini(&r);
	close_fixture(&d);
}

/* A descriptor whose try, entry, chain or pair is not the plan's cannot be in the ledger. */
static void a_reservation_that_is_not_the_entrys_next_try_is_damage(void **state)
{
	(void)state;
	for (int field = 0; field < 7; field++) {
		struct fixture d;
		struct rd_record r, m = void_of(1, 0x31, "few");
		struct rd_descriptor changed;
		struct cm_err err = { 0 };

		open_fixture(&d);
		r = reserve(&d, 1, 1);
		assert_int_equal(take(&d, &r), CM_OK);
		rd_record_fini(&r);
		assert_int_equal(take(&d, &m), CM_OK);
		r = reserve(&d, 1, 2);
		assert_int_equal(
			rd_descriptor_decode(r.descriptor.data, r.descriptor.len, &changed, &err), CM_OK);
		switch (field) {
		case 0:
			break; /* as it is: taken */
		case 1:
			changed.attempt = 3;
			break;
		case 2:
			changed.void_manifest[0] ^= 1;
			break;
		case 3:
			changed.entry = 2;
			break;
		case 4:
			changed.min_batch--;
			break;
		case 5:
			changed.plan_hash[0] ^= 1;
			break;
		default:
			changed.randomizer.mixbins.keep--;
			break;
		}
		r.descriptor.len = 0;
		assert_int_equal(rd_descriptor_encode(&changed, &r.descriptor, &err), CM_OK);
		assert_int_equal(take(&d, &r), field == 0 ? CM_OK : CM_EDATA);
		rd_descriptor_fini(&changed);
		rd_record_fini(&r);
		close_fixture(&d);
	}
}

static void entries_may_be_answered_in_any_order(void **state)
{
	struct fixture d;
	struct rd_record second, first;

	(void)state;
	open_fixture(&d);
	second = reserve(&d, 2, 7);
	assert_int_equal(take(&d, &second), CM_OK);
	first = reserve(&d, 1, 8);
	assert_int_equal(take(&d, &first), CM_OK);
	rd_record_fini(&first);
	rd_record_fini(&second);
	/* Round 3 is refused by the signed plan itself. */
	assert_int_equal(d.state.round[2].stage, AN_REFUSED);
	assert_null(d.state.round[2].entry);
	assert_non_null(strstr(d.state.round[2].reason, "is left of 8.0000"));
	close_fixture(&d);
}

static void another_population_or_unit_is_refused_by_the_ledger(void **state)
{
	(void)state;
	for (int field = 0; field < 2; field++) {
		struct fixture d;
		struct an_state fresh;
		struct rd_record r;
		struct cm_err err = { 0 };
		uint8_t head[PR_HASH_LEN] = { 0 };

		open_fixture(&d);
		assert_int_equal(an_state_init(&fresh, &d.plan, &err), CM_OK);
		an_open_record(&d.plan, 8, 1e-6, 1, &r);
		r.seq = 1;
		strcpy(field == 0 ? r.population : r.unit, "others");
		assert_int_equal(an_state_take(&fresh, &r, head, &err), CM_ECONFIG);
		an_state_fini(&fresh);
		close_fixture(&d);
	}
}

/* ---- several plans ---- */

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

/* What would be signed is what is signed. */
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

/* Rounds 1 (asked) and 2 (refused) are decided under the first plan; then its file is another. */
static void an_adaptive_plan_may_change_in_what_is_to_come(void **state)
{
	static const char first[] =
		ADAPTIVE("1.0", GDP, ASK("one", "4.0", "30000") ", " ASK("two", "8.0", "30000"));
	static const struct {
		const char *plan;
		enum cm_rc rc;
	} row[] = {
		{ ADAPTIVE("1.0", GDP, ASK("one", "4.0", "30000") ", " ASK("two", "8.0", "30000")), CM_OK },
		{ ADAPTIVE("1.0", GDP,
			  ASK("one", "4.0", "30000") ", " ASK("two", "8.0", "30000") ", " ASK(
				  "three", "1.0", "30000")),
			CM_OK },
		{ ADAPTIVE("1.0", GDP, ASK("one", "4.0", "30000") ", " ASK("two", "2.0", "30000")), CM_OK },
		{ ADAPTIVE("1.0", GDP, ASK("one", "4.1", "30000") ", " ASK("two", "8.0", "30000")),
			CM_ECONFIG },
		{ ADAPTIVE("1.0", GDP, ASK("one", "4.0", "40000") ", " ASK("two", "8.0", "30000")),
			CM_ECONFIG },
		{ ADAPTIVE("1.0", GDP, ASK("uno", "4.0", "30000") ", " ASK("two", "8.0", "30000")),
			CM_ECONFIG },
		{ ADAPTIVE("1.0", GDP, ASK("one", "4.0", "30000") ", " ASK("too", "8.0", "30000")),
			CM_ECONFIG },
		{ ADAPTIVE("1.0", GDP, ASK("one", "4.0", "30000")), CM_ECONFIG },
		{ ADAPTIVE("1.1", GDP, ASK("one", "4.0", "30000") ", " ASK("two", "8.0", "30000")),
			CM_ECONFIG },
		{ ADAPTIVE("1.0", GDP "filter = \"renyi\"\n",
			  ASK("one", "4.0", "30000") ", " ASK("two", "8.0", "30000")),
			CM_ECONFIG },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
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
		world_write(&w, "plan.conf", (const uint8_t *)row[i].plan, strlen(row[i].plan));
		rc = an_ledger_files_open(&w.conf, true, &w.files, &err);
		if (rc != row[i].rc)
			fail_msg("row %zu: %d %s", i, rc, err.msg);
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

static void the_ledger_opens_once_and_first(void **state)
{
	struct fixture d;
	struct an_state fresh;
	struct rd_record r;
	struct cm_err err = { 0 };
	uint8_t head[PR_HASH_LEN] = { 0 };

	(void)state;
	open_fixture(&d);
	an_open_record(&d.plan, 8, 1e-6, 1, &r);
	assert_int_equal(take(&d, &r), CM_EDATA);
	assert_int_equal(an_state_init(&fresh, &d.plan, &err), CM_OK);
	r = move(RD_CHARGE, 7);
	r.seq = 1;
	assert_int_equal(an_state_take(&fresh, &r, head, &err), CM_EDATA);
	an_state_fini(&fresh);
	close_fixture(&d);
}

/* What the ledger on disk folds to is what the process that wrote it held. */
static void a_restart_sees_the_same_state(void **state)
{
	struct world w;
	struct fake f = { .participants = 30, .buckets = 2, .segment = 50 };
	struct cm_err err = { 0 };
	struct an_round_state before;

	(void)state;
	world_make(&w, world_plan, 21);
	assert_int_equal(world_drive(&w, &f, 1, 100000, &err), CM_OK);
	before = w.files.state.round[0];
	world_restart(&w);
	assert_int_equal(w.files.state.round[0].stage, before.stage);
	assert_memory_equal(w.files.state.round[0].result_hash, before.result_hash, PR_HASH_LEN);
	assert_int_equal(w.files.state.round[0].participants, before.participants);
	assert_true(w.files.state.round[0].epsilon_total == before.epsilon_total);
	fake_free(&f);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_round_goes_from_planned_to_settled),
		cmocka_unit_test(a_charged_round_that_is_given_up_costs_what_it_costs),
		cmocka_unit_test(what_the_descriptor_says_is_what_was_planned),
		cmocka_unit_test(illegal_moves_are_damage),
		cmocka_unit_test(records_of_unknown_rounds_are_damage),
		cmocka_unit_test(a_void_try_leaves_the_entry_waiting_and_the_last_does_not),
		cmocka_unit_test(a_descriptor_that_nobody_was_asked_to_answer_is_no_try),
		cmocka_unit_test(a_try_without_a_manifest_spends_its_entry),
		cmocka_unit_test(a_reservation_that_is_not_the_entrys_next_try_is_damage),
		cmocka_unit_test(entries_may_be_answered_in_any_order),
		cmocka_unit_test(another_population_or_unit_is_refused_by_the_ledger),
		cmocka_unit_test(a_plan_must_follow_the_one_before_and_fit_what_is_left),
		cmocka_unit_test(rounds_of_an_earlier_plan_can_be_finished),
		cmocka_unit_test(a_slice_that_does_not_fit_writes_nothing),
		cmocka_unit_test(a_preview_is_the_plan_that_will_be_pinned),
		cmocka_unit_test(the_populations_budget_is_for_life),
		cmocka_unit_test(an_adaptive_plan_may_change_in_what_is_to_come),
		cmocka_unit_test(the_ledger_opens_once_and_first),
		cmocka_unit_test(a_restart_sees_the_same_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
