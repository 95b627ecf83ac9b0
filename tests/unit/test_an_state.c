/* test_an_state.c - the state of rounds follows from the ledger, and only legal records move it. */
#include "an_state_fixture.h"

#include <string.h>

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
	assert_int_equal(got->min_reports, 20);
	assert_int_equal(got->target, 40);
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

/* Try each move from each stage: only those of the life cycle may follow. */
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
		/* The slice is spent, whether the try was void or not. */
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

/* The try may have been released: nobody can say that it was not. */
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
			changed.min_reports--;
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

/* The state computed from the ledger on disk is that which the writing process held. */
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
		cmocka_unit_test(the_ledger_opens_once_and_first),
		cmocka_unit_test(a_restart_sees_the_same_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
