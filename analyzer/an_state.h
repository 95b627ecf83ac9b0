/* an_state.h - where every round of the plan stands, folded from the ledger.  No I/O.
 *
 * The ledger is the only truth: this is rebuilt from it at every start and fed every record that is appended.
 */
#pragma once

#include "pl_plan.h"
#include "rd_record.h"

enum an_stage {
	AN_PLANNED,
	AN_RESERVED, /* budget set aside, descriptor fixed; perhaps announced */
	AN_CHARGED,  /* may be opened, any number of times, at no further charge */
	AN_SETTLED,  /* its result is durable */
	AN_REFUSED,  /* over the budget, final for this plan */
	AN_VOID,     /* too few reports, or the shuffler would not take it; reservation released */
};
const char *an_stage_name(enum an_stage s);

struct an_round_state {
	const struct pl_round *plan; /* borrowed */
	enum an_stage stage;
	struct rd_descriptor descriptor;  /* from AN_RESERVED on, and in AN_VOID */
	struct cm_buf descriptor_bytes;   /* the bytes that are signed */
	uint64_t decided_seq;             /* of the RESERVE or REFUSE record, 0 while planned */
	uint64_t charge_seq;              /* of the CHARGE record */
	uint8_t charge_head[PR_HASH_LEN]; /* after it */
	int64_t reserved_ms, charged_ms;
	uint8_t manifest_hash[PR_HASH_LEN];
	uint64_t participants;            /* CHARGED and later; VOID: how many took part */
	double epsilon_round;             /* alone; REFUSED: needed */
	double epsilon_total;             /* with everything before; REFUSED: what it would have been */
	uint8_t result_hash[PR_HASH_LEN]; /* SETTLED */
	char reason[PR_TEXT_MAX + 1];     /* VOID, REFUSED; SETTLED: of a round that was given up */
};

struct an_state {
	const struct pl_plan *plan;    /* borrowed */
	struct an_round_state *round;  /* plan->rounds of them */
	bool opened;                   /* the OPEN record is there */
	uint64_t sequence;             /* of the last descriptor, 0 for none */
	uint8_t previous[PR_HASH_LEN]; /* its hash */
	struct rd_account *account;    /* of the rounds that hold budget (an_round_holds); owned */
};

CM_CHECK enum cm_rc an_state_init(struct an_state *s, const struct pl_plan *plan, struct cm_err *err);
void an_state_fini(struct an_state *s);

/* Take the next record of the chain; head is the chain's after it.  CM_ECONFIG when the ledger was opened for
 * another population, mode, budget or (in mode plan) plan, or has decided a round that the plan has not;
 * CM_EDATA for a record that cannot follow (a charge of a round that is not reserved, a second OPEN). */
CM_CHECK enum cm_rc an_state_take(
	struct an_state *s, const struct rd_record *r, const uint8_t head[PR_HASH_LEN], struct cm_err *err);

/* The round with this id, NULL for none. */
struct an_round_state *an_state_find(const struct an_state *s, const uint8_t round_id[PR_ROUND_ID_LEN]);
/* Is it charged, or to be: reserved, charged or settled? */
bool an_round_counts(const struct an_round_state *r);
#define AN_NOTHING_TO_EXTEND "nothing to extend" /* how the reason of a round left out begins */
/* Charged, and given up by an operator: it costs what it costs, and has no result. */
bool an_round_lost(const struct an_round_state *r);
/* Refused not by the budget, which it fitted, but for want of a question? */
bool an_round_left_out(const struct an_round_state *r);
/* Refused by the budget? */
bool an_round_blocked(const struct an_round_state *r);
/* Does it hold budget?  In mode plan a round that was left out does, too: the pairs that compose must not
 * depend on answers, and that there was nothing to ask is one. */
bool an_round_holds(const struct an_state *s, const struct an_round_state *r);
/* What a round that holds budget costs. */
CM_CHECK enum cm_rc an_round_loss(
	const struct an_state *s, const struct an_round_state *r, struct pt_loss *out, struct cm_err *err);
/* Its id in the account: its own, or one that no round has; of a round that is decided. */
void an_round_account_id(const struct an_round_state *r, uint8_t id[PR_ROUND_ID_LEN]);
/* How many rounds stand at this stage. */
size_t an_state_count(const struct an_state *s, enum an_stage stage);
/* How many the budget refused; *last (unless last is NULL): the last of them in the plan, NULL for none. */
size_t an_state_blocked(const struct an_state *s, const struct an_round_state **last);
