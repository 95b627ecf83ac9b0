/* test_an_state.c - the state of rounds follows from the ledger, and only legal records move it. */
#include "an_world.h"

#include <string.h>

#include "an_budget.h"
#include "an_reserve.h"

struct desk {
	struct pl_plan plan;
	struct an_state state;
	uint64_t seq;
};

static void open_desk(struct desk *d)
{
	struct cm_err err = { 0 };
	struct rd_record r;
	uint8_t head[PR_HASH_LEN] = { 0 };

	memset(d, 0, sizeof *d);
	assert_int_equal(
		pl_plan_parse((const uint8_t *)world_plan, strlen(world_plan), "p", NULL, &d->plan, &err),
		CM_OK);
	assert_int_equal(an_state_init(&d->state, &d->plan, &err), CM_OK);
	an_open_record(&d->plan, 1, &r);
	r.seq = d->seq = 1;
	assert_int_equal(an_state_take(&d->state, &r, head, &err), CM_OK);
}

static void close_desk(struct desk *d)
{
	an_state_fini(&d->state);
	pl_plan_fini(&d->plan);
}

static enum cm_rc take(struct desk *d, struct rd_record *r)
{
	struct cm_err err = { 0 };
	uint8_t head[PR_HASH_LEN] = { 5 };

	r->seq = ++d->seq;
	return an_state_take(&d->state, r, head, &err);
}

/* RESERVE of a plan round, as the analyzer makes it. */
static struct rd_record reserve(struct desk *d, uint32_t number, uint8_t id)
{
	static const struct rd_verdict verdict = { .epsilon_round = 1, .total = 2 };
	const struct rd_chain chain = { .seq = d->seq };
	struct an_reservation v = { .round = &d->plan.round[number - 1],
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
	struct desk d;
	struct rd_record r, m;

	(void)state;
	open_desk(&d);
	assert_int_equal(d.state.round[0].stage, AN_PLANNED);
	r = reserve(&d, 1, 7);
	assert_int_equal(take(&d, &r), CM_OK);
	assert_int_equal(d.state.round[0].stage, AN_RESERVED);
	assert_int_equal(d.state.sequence, 1);
	assert_memory_equal(d.state.round[0].descriptor_bytes.data, r.descriptor.data, r.descriptor.len);
	m = move(RD_CHARGE, 7);
	assert_int_equal(take(&d, &m), CM_OK);
	assert_int_equal(d.state.round[0].stage, AN_CHARGED);
	assert_int_equal(d.state.round[0].charge_seq, 3);
	assert_int_equal(d.state.round[0].charge_head[0], 5);
	m = move(RD_SETTLE, 7);
	assert_int_equal(take(&d, &m), CM_OK);
	assert_int_equal(d.state.round[0].stage, AN_SETTLED);
	assert_true(an_round_counts(&d.state.round[0]));
	assert_false(an_round_lost(&d.state.round[0]));
	rd_record_fini(&r);
	close_desk(&d);
}

static void a_charged_round_that_is_given_up_costs_what_it_costs(void **state)
{
	struct desk d;
	struct rd_record r, m;
	double before = 0, after = 0;
	struct cm_err err = { 0 };

	(void)state;
	open_desk(&d);
	r = reserve(&d, 1, 7);
	assert_int_equal(take(&d, &r), CM_OK);
	m = move(RD_CHARGE, 7);
	assert_int_equal(take(&d, &m), CM_OK);
	assert_int_equal(rd_account_spent(d.state.account, &before, &err), CM_OK);
	m = move(RD_SETTLE, 7);
	(void)snprintf(m.reason, sizeof m.reason, "lost");
	assert_int_equal(take(&d, &m), CM_OK);
	assert_true(an_round_lost(&d.state.round[0]));
	assert_true(an_round_counts(&d.state.round[0]));
	assert_int_equal(rd_account_spent(d.state.account, &after, &err), CM_OK);
	assert_true(before > 0 && before == after);
	rd_record_fini(&r);
	close_desk(&d);
}

static void what_the_descriptor_says_is_what_was_planned(void **state)
{
	struct desk d;
	struct rd_record r;
	const struct rd_descriptor *got;

	(void)state;
	open_desk(&d);
	r = reserve(&d, 1, 7);
	assert_int_equal(take(&d, &r), CM_OK);
	got = &d.state.round[0].descriptor;
	assert_string_equal(got->population, "testers");
	assert_int_equal(got->min_batch, 20);
	assert_int_equal(got->target_batch, 40);
	assert_int_equal(got->deadline_ms - got->opens_ms, 60000);
	assert_int_equal(got->params.keep, d.plan.round[0].params.keep);
	assert_int_equal(got->ledger_seq, 1);
	assert_memory_equal(got->plan_hash, d.plan.digest, PR_HASH_LEN);
	assert_true(got->privacy.epsilon_total == 2 && got->privacy.epsilon_limit == 8);
	rd_record_fini(&r);
	close_desk(&d);
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
		{ { RD_VOID, 0 }, 0 },           /* void */
	};

	(void)state;
	for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
		for (size_t k = 0; k < 3; k++) {
			struct desk d;
			struct rd_record r, m;

			open_desk(&d);
			r = reserve(&d, 1, 7);
			assert_int_equal(take(&d, &r), CM_OK);
			for (size_t i = 0; i < 2 && stages[s].path[i] != 0; i++) {
				m = move(stages[s].path[i], 7);
				assert_int_equal(take(&d, &m), CM_OK);
			}
			m = move(kinds[k], 7);
			assert_int_equal(take(&d, &m), stages[s].allowed & 1u << k ? CM_OK : CM_EDATA);
			rd_record_fini(&r);
			close_desk(&d);
		}
}

static void records_of_unknown_rounds_are_damage(void **state)
{
	struct desk d;
	struct rd_record r, m;

	(void)state;
	open_desk(&d);
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
	close_desk(&d);
}

static void a_void_round_holds_no_budget(void **state)
{
	struct desk d;
	struct rd_record r, m;

	(void)state;
	open_desk(&d);
	r = reserve(&d, 1, 7);
	assert_int_equal(take(&d, &r), CM_OK);
	assert_true(an_round_counts(&d.state.round[0]));
	m = move(RD_VOID, 7);
	strcpy(m.reason, "few");
	assert_int_equal(take(&d, &m), CM_OK);
	assert_false(an_round_counts(&d.state.round[0]));
	assert_string_equal(d.state.round[0].reason, "few");
	assert_int_equal(an_state_count(&d.state, AN_VOID), 1);
	assert_int_equal(an_state_count(&d.state, AN_PLANNED), 2);
	rd_record_fini(&r);
	close_desk(&d);
}

static void another_plan_or_budget_is_refused_by_the_ledger(void **state)
{
	(void)state;
	for (int field = 0; field < 6; field++) {
		struct desk d;
		struct an_state fresh;
		struct rd_record r;
		struct cm_err err = { 0 };
		uint8_t head[PR_HASH_LEN] = { 0 };

		open_desk(&d);
		assert_int_equal(an_state_init(&fresh, &d.plan, &err), CM_OK);
		an_open_record(&d.plan, 1, &r);
		r.seq = 1;
		switch (field) {
		case 0:
			strcpy(r.population, "others");
			break;
		case 1:
			strcpy(r.mode, "adaptive");
			break;
		case 2:
			r.epsilon_limit *= 1.0000000000000002;
			break;
		case 3:
			r.delta = 1e-5;
			break;
		case 4:
			strcpy(r.unit, "person");
			break;
		default:
			r.plan_hash[31] ^= 1;
			break;
		}
		assert_int_equal(an_state_take(&fresh, &r, head, &err), CM_ECONFIG);
		an_state_fini(&fresh);
		close_desk(&d);
	}
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
		{ ADAPTIVE("1.0", "", ASK("one", "4.0", "30000") ", " ASK("two", "8.0", "30000")),
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
		assert_int_equal(an_budget_share(&w.books.state, &before, &err), CM_OK);
		assert_true(before > 0 && before < 1);
		an_books_close(&w.books);
		world_write(&w, "plan.conf", (const uint8_t *)row[i].plan, strlen(row[i].plan));
		rc = an_books_open(&w.conf, true, &w.books, &err);
		if (rc != row[i].rc)
			fail_msg("row %zu: %d %s", i, rc, err.msg);
		if (rc == CM_OK) {
			assert_int_equal(w.books.state.round[0].stage, AN_RESERVED);
			assert_int_equal(w.books.state.round[1].stage, AN_REFUSED);
			assert_int_equal(an_budget_share(&w.books.state, &after, &err), CM_OK);
			assert_true(before == after);
		}
		if (rc == CM_OK && w.books.plan.rounds == 3) {
			assert_int_equal(world_decide(&w, 3, &err), CM_OK);
			assert_memory_equal(w.books.state.round[2].descriptor.plan_hash, w.books.plan.digest,
				PR_HASH_LEN);
			assert_string_equal(w.books.state.round[2].descriptor.mode, "adaptive.gdp");
		}
		world_free(&w);
	}
}

static void the_ledger_opens_once_and_first(void **state)
{
	struct desk d;
	struct an_state fresh;
	struct rd_record r;
	struct cm_err err = { 0 };
	uint8_t head[PR_HASH_LEN] = { 0 };

	(void)state;
	open_desk(&d);
	an_open_record(&d.plan, 1, &r);
	assert_int_equal(take(&d, &r), CM_EDATA);
	assert_int_equal(an_state_init(&fresh, &d.plan, &err), CM_OK);
	r = move(RD_CHARGE, 7);
	r.seq = 1;
	assert_int_equal(an_state_take(&fresh, &r, head, &err), CM_EDATA);
	an_state_fini(&fresh);
	close_desk(&d);
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
	before = w.books.state.round[0];
	world_restart(&w);
	assert_int_equal(w.books.state.round[0].stage, before.stage);
	assert_memory_equal(w.books.state.round[0].result_hash, before.result_hash, PR_HASH_LEN);
	assert_int_equal(w.books.state.round[0].participants, before.participants);
	assert_true(w.books.state.round[0].epsilon_total == before.epsilon_total);
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
		cmocka_unit_test(a_void_round_holds_no_budget),
		cmocka_unit_test(another_plan_or_budget_is_refused_by_the_ledger),
		cmocka_unit_test(an_adaptive_plan_may_change_in_what_is_to_come),
		cmocka_unit_test(the_ledger_opens_once_and_first),
		cmocka_unit_test(a_restart_sees_the_same_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
