/* an_state.h - computes from the ledger's records which plans it has, and the stage of each of their
 * rounds.  No I/O.
 *
 * Only the ledger is authoritative: this state is computed from it at every start and updated with every
 * appended record.  At most one of its plans is that of the plan file.  The rounds of the others are kept
 * so that charged ones can be finished and shown. */
#pragma once

#include "pl_plan.h"
#include "rd_record.h"

enum an_stage {
	AN_PLANNED,
	AN_RESERVED, /* the descriptor is fixed, perhaps announced; reports are awaited at this stage alone */
	AN_CHARGED,  /* may be opened, any number of times, at no further charge */
	AN_SETTLED,  /* its result is durable */
	AN_REFUSED,  /* above the budget, or left out; final for this plan */
	AN_VOID,     /* never answered, and not tried again */
	AN_WAITING,  /* mode plan: the last try was void or refused by the shuffler; may be tried again */
};
const char *an_stage_name(enum an_stage s);

/* A plan pinned in the ledger. */
struct an_plan {
	struct rd_plan signed_plan;
	/* in adaptive modes the account of the rounds that hold budget; NULL in mode plan */
	struct rd_account *account;
	bool current;      /* it is the plan of the plan file */
	int64_t pinned_ms; /* time of the PLAN record; 0 if the ledger does not have the plan */
};

struct an_round_state {
	const struct pl_round *plan; /* borrowed: from the plan file, or derived from what the ledger
				      * holds */
	const struct an_plan *of;    /* borrowed; NULL until the plan is pinned */
	/* the round's entry in that plan, borrowed; NULL if it was refused, or in an adaptive mode */
	const struct rd_entry *entry;
	enum an_stage stage;
	uint32_t tries;                     /* number of tries that ended with a manifest */
	bool lost;                          /* one further try, the last, ended without a manifest */
	uint8_t void_manifest[PR_HASH_LEN]; /* manifest of the last try, if that was void */
	struct rd_descriptor descriptor;    /* descriptor of the last try; filled from AN_RESERVED on */
	struct cm_buf descriptor_bytes;     /* the signed bytes of that descriptor */
	/* number of the last RESERVE record, or of the REFUSE record; 0 if there is none */
	uint64_t decided_seq;
	uint64_t charge_seq;              /* number of the CHARGE record */
	uint8_t charge_head[PR_HASH_LEN]; /* the ledger's head after the CHARGE record */
	int64_t charged_ms;
	int64_t ended_ms; /* time at which the last try was settled or void; 0 if it is under way */
	uint8_t manifest_hash[PR_HASH_LEN];
	uint64_t participants; /* number of participants of the last try that ended */
	double epsilon_round;  /* loss of this round; if REFUSED, the loss that it would have had */
	/* loss together with the rounds before it; if REFUSED, what the total would have been */
	double epsilon_total;
	uint8_t result_hash[PR_HASH_LEN]; /* if SETTLED, the hash of the result */
	/* if VOID, WAITING or REFUSED, or SETTLED because the round was given up */
	char reason[PR_TEXT_MAX + 1];
};

/* A round of a plan other than the plan file's. */
struct an_other {
	struct pl_round planned; /* derived from the ledger; borrows its query from the descriptor */
	struct an_round_state state;
};

struct an_state {
	const struct pl_plan *plan;   /* the plan file, borrowed */
	struct an_round_state *round; /* plan->rounds elements */
	bool opened;                  /* the ledger has an OPEN record */
	double epsilon, delta;        /* budget of the population, if `opened` */
	struct rd_slices slices;      /* the slices that the plans took from that budget */
	struct an_plan **pinned;      /* all plans in order; owned */
	size_t plans, plans_room;
	const struct an_plan *current; /* the plan file's plan; NULL until it is pinned */
	struct an_other **other;       /* rounds of other plans than the plan file's; owned */
	size_t others, others_room;
	uint64_t sequence;             /* sequence number of the last descriptor; 0 if there is none */
	uint8_t previous[PR_HASH_LEN]; /* hash of that descriptor */
};

CM_CHECK enum cm_rc an_state_init(struct an_state *s, const struct pl_plan *plan, struct cm_err *err);
void an_state_fini(struct an_state *s);

/* Apply the next record of the chain; head: the chain's head after it.  CM_ECONFIG: the ledger belongs to
 * another population, or the plan file differs from its pinned plan, or lacks or changes a decided round of
 * an adaptive plan.  CM_EDATA: the record cannot follow here (a charge of a round that is not reserved, a
 * second OPEN, a try without the VOID manifest of the previous one). */
CM_CHECK enum cm_rc an_state_take(
	struct an_state *s, const struct rd_record *r, const uint8_t head[PR_HASH_LEN], struct cm_err *err);
/* Apply the signed plan in these bytes, as a PLAN record does.  Also used for a plan that is not in the
 * ledger yet, to preview it. */
CM_CHECK enum cm_rc an_state_pin(struct an_state *s, const uint8_t *bytes, size_t len, struct cm_err *err);
/* Number of the next plan.  `previous`: hash of the last plan, all zeros if there is none. */
uint64_t an_state_next_plan(const struct an_state *s, uint8_t previous[PR_HASH_LEN]);

/* Find the round of any plan whose last try has this id.  NULL if there is none. */
struct an_round_state *an_state_find(const struct an_state *s, const uint8_t round_id[PR_ROUND_ID_LEN]);
/* Find the round with this query: in the plan file, otherwise in the last plan that has one; NULL if there
 * is none.  "temperature#7" names the seventh recurrence; "temperature" the one with the newest result or,
 * if none has one, the first. */
struct an_round_state *an_state_query(const struct an_state *s, const char *query);
/* All rounds of all plans, i < an_state_rounds: first those of the plan file. */
size_t an_state_rounds(const struct an_state *s);
struct an_round_state *an_state_at(const struct an_state *s, size_t i);

bool an_state_adaptive(const struct an_state *s);
/* Whether the round is charged or may become so: reserved, charged or settled. */
bool an_round_counts(const struct an_round_state *r);
/* The reason of a round that was left out begins with this text. */
#define AN_NOTHING_TO_EXTEND "nothing to extend"
/* The reason begins with this text if the shuffler refused to announce a descriptor. */
#define AN_NOT_TAKEN "refused by the shuffler"
/* The reason begins with this text if the shuffler refused because of its clock. */
#define AN_REFUSED_CLOCK AN_NOT_TAKEN " (clock)"
/* Whether the shuffler refused the round's last descriptor, so that no client was asked to answer it. */
bool an_round_not_taken(const struct an_round_state *r);
/* Whether it did so because of its clock, which may agree with ours by now. */
bool an_round_refused_by_clock(const struct an_round_state *r);
/* Number of tries to which devices may have reported. */
uint64_t an_round_reports(const struct an_round_state *r);
/* Whether the round was charged and then given up by an operator: its charge stays and it has no result. */
bool an_round_lost(const struct an_round_state *r);
/* Whether the round was refused because it had nothing to ask, though it fitted the budget. */
bool an_round_left_out(const struct an_round_state *r);
/* In mode plan, epsilon of the signed entries before this round of the plan file; 0 if there are none. */
double an_state_spent_before(const struct an_state *s, const struct an_round_state *r);
/* Whether the budget refused the round. */
bool an_round_blocked(const struct an_round_state *r);
/* Whether the budget also refused the recurrence before it; one message covers all of them. */
bool an_round_blocked_again(const struct an_state *s, const struct an_round_state *r);
/* Whether the round may be tried (again). */
bool an_round_may_be_tried(const struct an_round_state *r);
/* Whether the round is over, or can never run. */
bool an_round_ended(const struct an_round_state *r);
/* Whether the round holds budget.  Every entry of a pinned plan does, at every stage.  In an adaptive plan
 * every round does that was not refused, also a void one. */
bool an_round_holds(const struct an_round_state *r);
/* The privacy loss of a round. */
CM_CHECK enum cm_rc an_round_loss(
	const struct an_state *s, const struct an_round_state *r, struct pt_loss *out, struct cm_err *err);
/* Number of rounds of the plan file at this stage. */
size_t an_state_count(const struct an_state *s, enum an_stage stage);
/* Number of rounds that the budget refused.  *last (last may be NULL) is the last of them in the plan, NULL
 * if there is none. */
size_t an_state_blocked(const struct an_state *s, const struct an_round_state **last);
