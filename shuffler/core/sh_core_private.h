/* sh_core_private.h - the state of the core, shared by the files sh_core*.c. */
#pragma once

#include "sh_core.h"
#include "sh_heads.h"

#define SH_BUSY_RETRY_MS 1000u

/* Cache of the plan read last. */
struct sh_plan_read {
	bool filled;
	struct cm_buf bytes;
	uint8_t signature[CR_SIGN_LEN];
	struct rd_plan whole;
};
/* The round of an adaptive plan whose judgement is wanted, running or done. */
struct sh_judged {
	enum { SH_JUDGE_NONE, SH_JUDGE_WANTED, SH_JUDGE_RUNS, SH_JUDGE_DONE } at;
	uint8_t hash[PR_HASH_LEN];
	struct cm_buf descriptor;
	struct sh_plan *plan;
	enum cm_rc rc;
	struct cm_err err;
	struct rd_verdict verdict;
};

/* Payloads kept at a time: one of each live round, and the one that is put for the next. */
#define SH_PAYLOADS_MAX (SH_ROUNDS_MAX + 2u)

struct sh_core {
	struct sh_core_conf conf;
	struct sh_plans *plans;
	struct sh_witness *witness;
	struct sh_loss loss;
	struct sh_heads heads;      /* as stored */
	enum sh_head_place lacks;   /* whether the witnessed ledger lacks a stated head */
	struct sh_head_row lacking; /* and which one */
	struct sh_plan_read read;
	struct sh_judged judged;
	bool composing;
	size_t intakes;                  /* connected now, where intakes take the reports */
	const struct sh_task *under_way; /* between its begin and its end; NULL: none */
	size_t recounted; /* adaptive plans before this one have been recounted since the start */
	struct sh_round *round[SH_ROUNDS_MAX + 1]; /* live ones, in no order */
	size_t rounds;
	struct sh_round *over[SH_ROUNDS_MAX + 1]; /* whose messages are still to be deleted, in their order */
	size_t overs;
	const struct sh_job *job;                   /* between its begin and its end; NULL: none */
	uint64_t last_sequence;                     /* of the newest descriptor served */
	struct sh_payload payload[SH_PAYLOADS_MAX]; /* as stored */
	size_t payloads;
	struct sh_proofs *proofs; /* rounds whose leaves are kept; sh_core_proof.c */
	size_t n_proofs, room_proofs;
};

/* The live round of this id, or NULL. */
struct sh_round *sh_core_find(const struct sh_core *c, const uint8_t *round_id);
/* Refuse: no such round. */
enum cm_rc sh_core_not_found(struct sh_refusal *no);
/* sh_core_job.c.  A live round is over (sh_round_over): it is no longer found, its payload is dropped, and a
 * job deletes its messages. */
CM_CHECK enum cm_rc sh_core_over(struct sh_core *c, struct sh_round *r, struct cm_err *err);
/* Whether these messages are still to be deleted. */
bool sh_core_erases(const struct sh_core *c, const uint8_t *round_id);

/* sh_core_payload.c.  Find the stored payloads, once the live rounds are known: those of rounds that are over
 * are erased. */
CM_CHECK enum cm_rc sh_core_load_payloads(struct sh_core *c, struct cm_err *err);
/* Erase this payload unless a live round has it. */
CM_CHECK enum cm_rc sh_core_drop_payload(
	struct sh_core *c, const uint8_t hash[PR_HASH_LEN], struct cm_err *err);
/* Refuse a descriptor whose payload is not held whole. */
CM_CHECK enum cm_rc sh_core_check_payload(
	const struct sh_core *c, const struct rd_descriptor *d, struct sh_refusal *no);

/* Erase rounds that the ledger has voided, or has settled without their release.  A collecting round is
 * erased after its last commit. */
CM_CHECK enum cm_rc sh_core_cancel_over(struct sh_core *c, struct cm_err *err);
/* Say in *err that this round needs a person, and what they can do. */
void sh_core_cannot_go_on(uint64_t sequence, struct cm_err *err);

/* sh_core_heads.c.  Load the stored heads, once the ledger is read; judge them again when the ledger has
 * grown. */
CM_CHECK enum cm_rc sh_core_heads_start(struct sh_core *c, struct cm_err *err);
void sh_core_heads_judge(struct sh_core *c);
void sh_core_heads_fini(struct sh_core *c);
/* Whether a client has stated this descriptor, or one that the ledger reserved later.  A round that is not in
 * the store although clients have seen it was served by a state that is lost. */
bool sh_core_heads_reach(const struct sh_core *c, const struct rd_descriptor *d);
/* Refuse to announce or release (CM_EPROTO with *no).  check_fork: a client holds a record that contradicts
 * the witnessed ledger.  check_heads: that, or the ledger lacks a stated record, or more clients must state
 * theirs. */
CM_CHECK enum cm_rc sh_core_check_fork(const struct sh_core *c, struct sh_refusal *no);
CM_CHECK enum cm_rc sh_core_check_heads(const struct sh_core *c, struct sh_refusal *no);

/* sh_core_plans.c: check a new descriptor against its plan.  lost: as for sh_plans_judge.  verdict: as in
 * sh_announced. */
CM_CHECK enum cm_rc sh_core_judge_plan(struct sh_core *c, const struct rd_descriptor *d, struct cr_span bytes,
	bool lost, struct rd_verdict *verdict, struct sh_refusal *no, struct cm_err *err);
void sh_core_plans_fini(struct sh_core *c);

/* Find the stored leaves at the start; register those of a round sealed now. */
CM_CHECK enum cm_rc sh_core_load_proofs(struct sh_core *c, struct cm_err *err);
CM_CHECK enum cm_rc sh_core_keep_proofs(
	struct sh_core *c, const uint8_t round_id[PR_ROUND_ID_LEN], int64_t sealed_ms, struct cm_err *err);
/* When the oldest leaves must be erased; INT64_MAX: none are kept. */
int64_t sh_core_proofs_until(const struct sh_core *c);

/* A copy of a stored row, for rounds that are no longer live. */
struct sh_past {
	enum sh_state state;
	struct sh_signed *manifest; /* may be NULL: not wanted */
	struct cr_span compare;     /* compared with the descriptor or the charge */
	bool same_descriptor, same_charge;
};

/* Look up the row of any round, live or past.  CM_ENOINPUT: none. */
CM_CHECK enum cm_rc sh_core_look_up(
	const struct sh_core *c, const uint8_t *round_id, struct sh_past *p, struct cm_err *err);
