/* sh_plans.h - the plans of the ledger, this shuffler's pin of each, and the tries of their entries.  No I/O.
 *
 * A plan's record is checked on arrival and stored.  Which entries the shuffler accepts is decided once, on a
 * worker thread (sh_compose.h), and stored durably: the pin.  From then on the slice is spent, and judging an
 * entry is a look-up.  If a slice does not fit beside the slices pinned before, no entry of the plan is
 * accepted and the slice is not spent.
 *
 * One round at a time tries an entry.  A sealed manifest spends the entry; after a VOID manifest the next try
 * must name that manifest. */
#pragma once

#include "rd_account.h"
#include "rd_figure.h"
#include "rd_record.h"
#include "sh_policy.h"

/* Stored in state.db: never renumber. */
enum sh_pin_state {
	SH_PIN_WAITS,  /* waits for its composition */
	SH_PIN_TAKEN,  /* pinned: the entries that fit are accepted; the slice is spent */
	SH_PIN_SLICE,  /* rejected: the slice does not fit the policy's budget */
	SH_PIN_COST,   /* rejected: more entries than max_plan_entries */
	SH_PIN_POLICY, /* rejected: the policy allows none of its entries, or not its mode */
	SH_PIN_CLOSED, /* closed by a loss: the slice is spent, and no entry is accepted any more */
	SH_PIN_FAILED, /* rejected: the composition failed.  Never stored, so a restart tries again */
};

const char *sh_pin_state_name(enum sh_pin_state state);

/* The last try of an entry. */
struct sh_try {
	uint32_t entry, attempt;
	bool open, is_void;                 /* open: the try is in progress; is_void: it ended with a VOID
					     * manifest */
	uint8_t manifest_hash[PR_HASH_LEN]; /* hash of the VOID manifest */
};

/* A round of an adaptive plan that was announced here.  It counts, void or not (doc/accounting.md, 8). */
struct sh_counted {
	uint8_t round_id[PR_ROUND_ID_LEN];
	bool in_account;
};

/* The more cautious of the shuffler's and the plan's assumptions about honest participants.  Stored with
 * the pin, behind its bits: f64, u64, little-endian. */
#define SH_BELIEF_LEN 16u
struct sh_belief {
	double honest_fraction;
	uint64_t colluders;
};
struct sh_belief sh_plans_belief(const struct sh_policy *policy, const struct rd_plan *whole);
void sh_belief_put(const struct sh_belief *b, uint8_t out[SH_BELIEF_LEN]);

struct sh_total {
	uint32_t number;
	double epsilon;
};

struct sh_plan {
	/* the plan's hash; it must be the first member, because it is the tree's key */
	uint8_t hash[PR_HASH_LEN];
	/* number of its PLAN record in the ledger, and its number among the population's plans */
	uint64_t record, number;
	char name[65], mode[RD_MODE_LEN];
	double epsilon, delta; /* the slice */
	size_t entries;
	enum sh_pin_state state;
	unsigned failures;  /* failed compositions so far */
	struct rd_pin *pin; /* set if the state is SH_PIN_TAKEN and the mode is plan; owned */
	/* for each entry its number and the loss of the entries up to it, as the plan states them; owned */
	struct sh_total *total;
	/* The belief when the plan was pinned; 0 and UINT64_MAX for pins that older versions stored without
	 * it. */
	struct sh_belief belief;
	struct sh_try *tried;
	size_t tries, tries_cap;
	/* For adaptive plans: the filter's account, which a worker thread may be using (sh_compose.h), and
	 * the rounds. */
	struct rd_account *account;
	struct sh_counted *counted;
	size_t rounds, rounds_cap;
	double share; /* share of the filter's budget in use at the last judgement */
};

struct sh_plans;

/* closed_to: plans up to this ledger record are closed (sh_store.h).  policy is borrowed. */
CM_CHECK enum cm_rc sh_plans_new(
	const struct sh_policy *policy, uint64_t closed_to, struct sh_plans **out, struct cm_err *err);
/* Change closed_to; only before the first plan is added. */
void sh_plans_close_to(struct sh_plans *p, uint64_t closed_to);
void sh_plans_free(struct sh_plans *p);

/* The last plan of the chain of plans. */
struct sh_plan_tail {
	uint64_t number; /* 0 if there is no plan yet */
	uint8_t hash[PR_HASH_LEN];
};
struct sh_plan_tail sh_plans_tail(const struct sh_plans *p);
/* Check that this PLAN record is the next plan after *tail: signature, population, number, predecessor.
 * Advances *tail.  CM_EPROTO, CM_EPERM: err says what is wrong. */
CM_CHECK enum cm_rc sh_plans_check(const struct sh_plans *p, struct sh_plan_tail *tail,
	const struct rd_record *r, const struct cr_verifier *analyzer, struct cm_err *err);
/* Add a record that was checked or that comes from the store.  CM_EDATA: it is no plan. */
CM_CHECK enum cm_rc sh_plans_add(struct sh_plans *p, const struct rd_record *r, struct cm_err *err);

/* The plan with this hash or ledger record, or NULL; plan i in the ledger's order, NULL past the last. */
struct sh_plan *sh_plans_find(const struct sh_plans *p, const uint8_t hash[PR_HASH_LEN]);
struct sh_plan *sh_plans_of_record(const struct sh_plans *p, uint64_t record);
struct sh_plan *sh_plans_at(const struct sh_plans *p, size_t i);
/* The first plan that waits for its composition, or NULL. */
struct sh_plan *sh_plans_waiting(struct sh_plans *p);
bool sh_plan_is_adaptive(const struct sh_plan *plan);

/* A plan as it is before it is in the ledger: without a record. */
struct sh_plan sh_plan_of(const struct rd_plan *whole);

/* Decide about a plan as far as possible without composing; SH_PIN_WAITS: it must be composed. */
enum sh_pin_state sh_plans_decide(const struct sh_plans *p, const struct sh_plan *plan);
/* Apply a decision that is durable or comes from the store; for SH_PIN_TAKEN this spends the slice.  taken:
 * the bits of rd_pin, and the belief. */
CM_CHECK enum cm_rc sh_plans_pinned(struct sh_plans *p, struct sh_plan *plan, enum sh_pin_state state,
	double epsilon, struct cr_span taken, struct cm_err *err);
/* Add up the slices of all pinned plans. */
struct rd_slices sh_plans_taken(const struct sh_plans *p);

/* Check whether the plan as a whole was taken.  CM_EMORE: it waits for its composition.  CM_EPROTO with *no:
 * it was not. */
CM_CHECK enum cm_rc sh_plans_refused(
	const struct sh_plans *p, const struct sh_plan *plan, struct sh_refusal *no);
/* Check whether plan, pin, belief and tries allow this round to be announced.  whole: the decoded plan.
 * lost: the shuffler accepted the round before it lost its state; the round will end at once, so the tries
 * before it do not matter.  CM_EMORE: the plan waits for its composition.  CM_EPROTO with *no: they do
 * not. */
CM_CHECK enum cm_rc sh_plans_judge(const struct sh_plans *p, const struct sh_plan *plan,
	const struct rd_plan *whole, const struct rd_descriptor *d, bool lost, struct sh_refusal *no);
/* Record that a round of the plan was announced, now or before a restart. */
CM_CHECK enum cm_rc sh_plans_began(struct sh_plans *p, const struct rd_descriptor *d, struct cm_err *err);
/* Record the end of a round: sealed (manifest NULL) or void by this manifest. */
void sh_plans_ended(struct sh_plans *p, const struct rd_descriptor *d, const struct cr_span *void_manifest);

/* The figures of the policy's budget.  *plans: number of pinned plans, closed ones included. */
struct rd_figure sh_plans_figure(const struct sh_plans *p, size_t *plans);
