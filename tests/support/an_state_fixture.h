/* an_state_fixture.h - the analyzer's state after a ledger's first two records, OPEN and PLAN, and records to
 * go on with. */
#pragma once

#include "an_world.h"

#include "an_budget.h"
#include "an_reserve.h"

struct fixture {
	struct pl_plan plan;
	struct an_state state;
	struct rd_record pin; /* the PLAN record; its plan is owned */
	uint64_t seq;
};

/* The PLAN record that follows from what the state has pinned so far; the caller owns its plan. */
struct rd_record pin_of(const struct an_state *s, const struct pl_plan *plan);

/* The state of world_plan, pinned. */
void open_fixture(struct fixture *d);
void close_fixture(struct fixture *d);

/* The next record of the ledger. */
enum cm_rc take(struct fixture *d, struct rd_record *r);

/* RESERVE of a plan round, as the analyzer makes it; the caller frees it with rd_record_fini. */
struct rd_record reserve(struct fixture *d, uint32_t number, uint8_t id);

/* A record that moves the round with this id on; it had 25 participants. */
struct rd_record move(enum rd_record_kind kind, uint8_t id);
