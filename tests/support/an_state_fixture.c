/* an_state_fixture.c - records as the analyzer makes them, taken by its state one after the other. */
#include "an_state_fixture.h"

#include <string.h>

#include "pl_load.h"
#include "pl_make.h"

struct rd_record pin_of(const struct an_state *s, const struct pl_plan *plan)
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

void open_fixture(struct fixture *d)
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

void close_fixture(struct fixture *d)
{
	cm_buf_fini(&d->pin.plan);
	an_state_fini(&d->state);
	pl_plan_fini(&d->plan);
}

enum cm_rc take(struct fixture *d, struct rd_record *r)
{
	struct cm_err err = { 0 };
	uint8_t head[PR_HASH_LEN] = { 5 };

	r->seq = ++d->seq;
	return an_state_take(&d->state, r, head, &err);
}

struct rd_record reserve(struct fixture *d, uint32_t number, uint8_t id)
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

struct rd_record move(enum rd_record_kind kind, uint8_t id)
{
	struct rd_record r = { .kind = kind, .participants = 25 };

	memset(r.round_id, id, sizeof r.round_id);
	memset(r.manifest_hash, 3, sizeof r.manifest_hash);
	return r;
}
