/* sh_core.h - the shuffler's state machine: its rounds, and a function for each request that a peer may
 * make.
 *
 * No clock, network or log; storage is behind sh_store.h.  A function that takes a refusal `no` returns
 * CM_EPROTO if and only if it fills *no; then nothing changed.  Any other fault is the shuffler's own:
 * after CM_EIO, CM_EDATA or CM_EINTERNAL nothing more may be acknowledged. */
#pragma once

#include "sh_heads.h"
#include "sh_judge.h"
#include "sh_payloads.h"
#include "sh_proofs.h"

struct sh_core_conf {
	struct sh_env env;
	const struct sh_policy *policy;
	const struct cr_verifier *analyzer;
	/* Commit when this number of messages has gathered, or when the first of them has waited this long.
	 * The reports of one commit hide each other in storage, so small commits are avoided. */
	size_t commit_messages;
	int64_t commit_wait_ms;
};

struct sh_core;

/* Create the core.  Everything in conf is borrowed.  Reads the witnessed ledger, the rounds and their tags
 * from the store, and completes erasures that a crash interrupted.  CM_EDATA: the store is damaged. */
CM_CHECK enum cm_rc sh_core_new(const struct sh_core_conf *conf, struct sh_core **out, struct cm_err *err);
void sh_core_free(struct sh_core *c);
/* The policy that conf points to has other values now.  From here on rounds, plans and rehearsals are judged
 * by them.  What is pinned stays pinned, and an open round keeps its max_share.  What a composition under way
 * finds by the old values is not used: it is composed anew. */
void sh_core_reconsider(struct sh_core *c);

/* Find the faults that sh_core_new would find, and change nothing: the store may be open for reading alone.
 * `say` is called for each round that cannot go on; this does not make the check itself fail. */
typedef void sh_core_finding_fn(void *user, const struct cm_err *why);
CM_CHECK enum cm_rc sh_core_check(
	const struct sh_core_conf *conf, sh_core_finding_fn *say, void *user, struct cm_err *err);

/* ---- Clients ---- */

/* The open round with a sequence number above `after`, or NULL. */
const struct sh_round *sh_core_offer(const struct sh_core *c, uint64_t after, int64_t now_ms);

struct sh_receipt {
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint8_t outcomes[PR_SUBMISSIONS_MAX];
	size_t n;
	uint8_t signature[CR_SIGN_LEN];
	enum sh_wait wait; /* the commit that must be durable before the receipt is sent */
};
CM_CHECK enum cm_rc sh_core_submit(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	const struct sh_submit *s, int64_t now_ms, struct sh_receipt *out, struct sh_refusal *no,
	struct cm_err *err);

/* Write a proof entry (rd_tree.h) for each of PR_PROOF_HASHES hashes to *out.  CM_EPROTO with *no: BUSY while
 * the round is open; NOT_FOUND if its leaves were never kept or are erased. */
CM_CHECK enum cm_rc sh_core_prove(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	const uint8_t (*hashes)[PR_HASH_LEN], struct cm_buf *out, struct sh_refusal *no, struct cm_err *err);
/* Erase the leaves of rounds whose window for proofs is over; call whenever the clock has moved. */
CM_CHECK enum cm_rc sh_core_expire(struct sh_core *c, int64_t now_ms, struct cm_err *err);

/* Like sh_payloads_get, for the open round.  CM_EPROTO with *no also if the round is over. */
CM_CHECK enum cm_rc sh_core_get_payload(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	const struct sh_part *part, uint8_t *out, size_t *out_len, struct sh_refusal *no, struct cm_err *err);

/* Like sh_judge_plan. */
CM_CHECK enum cm_rc sh_core_plan(struct sh_core *c, const uint8_t *hash, size_t hash_len,
	struct sh_plan_signed *out, struct sh_refusal *no, struct cm_err *err);
/* The signed standing of a certificate, or, if that is of a later round, of the gateway that its client names
 * (NULL: none).  It covers every report whose receipt may have been sent. */
struct sh_standing_signed {
	struct sh_standing standing;
	uint8_t signature[CR_SIGN_LEN];
};
CM_CHECK enum cm_rc sh_core_standing(const struct sh_core *c, const uint8_t key_hash[PR_HASH_LEN],
	const uint8_t *gateway, struct sh_standing_signed *out, struct cm_err *err);

/* Like sh_heads_state. */
CM_CHECK enum cm_rc sh_core_state_head(struct sh_core *c, const struct cr_identity *who,
	struct cr_span descriptor, struct cr_span signature, enum sh_stated *what, struct cm_err *err);

/* ---- The analyzer ---- */

/* Like sh_heads_check_loss and sh_heads_lacking. */
CM_CHECK enum cm_rc sh_core_check_loss(const struct sh_core *c, struct sh_refusal *no);
const struct sh_head_row *sh_core_lacks(const struct sh_core *c);

CM_CHECK enum cm_rc sh_core_population(
	const struct sh_core *c, const char *population, struct sh_refusal *no);
struct rd_chain sh_core_witness(const struct sh_core *c);
CM_CHECK enum cm_rc sh_core_extend(
	struct sh_core *c, const struct sh_extend *e, struct sh_refusal *no, struct cm_err *err);
/* Like sh_payloads_put. */
CM_CHECK enum cm_rc sh_core_put_payload(struct sh_core *c, const struct sh_put *put, uint64_t *held,
	struct sh_refusal *no, struct cm_err *err);
/* The request Announce (borrowed), and its result.
 *
 * A shuffler restored from a copy older than an open round ends that round as lost if the analyzer says
 * `again`, if a client has stated a descriptor that follows the round (sh_heads.h), or if the round's mark is
 * still beside its key (sh_marks.h: the store went back alone).  With none of them it begins the round
 * anew:
 *
 * - An honest analyzer leaves `again` out only if it crashed before it noted the shuffler's answer, or its
 *   note is lost (STATE_DIR/announced).  It reads one batch, which has each device once, with the bytes that
 *   the device randomized once.  A report that the lost state acknowledged may be missing; the client's proof
 *   of inclusion then fails, and says so.
 * - A dishonest analyzer may have read the lost state's batch already.  It then learns which messages are in
 * both batches, a smaller crowd than either.  If the second batch is VOID, a device that lacks the first
 * manifest answers another try of an entry that was released.  So against such an analyzer the budget holds
 * only while the shuffler's state does not go back.
 *
 * Later statements of clients cannot show that the round was taken before: a client may have learnt of the
 * round from this state, and if one client's word ended a round, any client could end every round. */
struct sh_announce {
	struct cr_span descriptor, signature;
	bool again; /* the analyzer states that it announced this round before */
};
struct sh_announced {
	uint8_t round_id[PR_ROUND_ID_LEN];
	/* Set for a new round that passed all checks before that of its loss.  In adaptive modes it has the
	 * round's loss beside those of the plan's earlier rounds.  In mode plan it has the loss that the
	 * analyzer states, and whether the slices of all plans fit the policy's budget. */
	struct rd_verdict verdict;
	/* This shuffler accepted the round before it lost its state, and with it the round's reports.  The
	 * round ends here without a manifest, and its entry is spent. */
	bool lost;
};
/* Process an Announce.  BUSY while the round waits for sh_core_compose. */
CM_CHECK enum cm_rc sh_core_announce(struct sh_core *c, const struct sh_announce *a, int64_t now_ms,
	const struct cr_rng *rng, struct sh_announced *out, struct sh_refusal *no, struct cm_err *err);

struct sh_signed {
	uint8_t bytes[PR_MANIFEST_MAX];
	size_t len;
	uint8_t signature[CR_SIGN_LEN];
};
/* The round's manifest.  CM_EMORE: the round is still open. */
CM_CHECK enum cm_rc sh_core_manifest(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	struct sh_signed *out, struct sh_refusal *no, struct cm_err *err);
CM_CHECK enum cm_rc sh_core_release(struct sh_core *c, struct cr_span charge, struct cr_span signature,
	uint8_t round_id[PR_ROUND_ID_LEN], struct sh_refusal *no, struct cm_err *err);
/* Like sh_round_pull.  CM_EMORE: ask again when a job has ended. */
CM_CHECK enum cm_rc sh_core_pull(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	uint32_t bucket, uint64_t offset, size_t max, struct cr_span *out, struct sh_refusal *no);
/* Destroy the round's key and messages, since the analyzer has its result.  CM_EMORE: the key is destroyed,
 * and the messages are still to be deleted; ask again when a job has ended. */
CM_CHECK enum cm_rc sh_core_settle(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	struct sh_refusal *no, struct cm_err *err);

/* ---- Work: commits and sealing, one task at a time ---- */

/* The round that is collecting, or NULL. */
struct sh_round *sh_core_collecting(const struct sh_core *c);
/* Number of accepted submissions that are not durable yet, and that a crash would lose. */
size_t sh_core_not_durable(const struct sh_core *c);

enum sh_task_kind {
	SH_TASK_NONE,
	SH_TASK_EPOCH,   /* begin an epoch: intakes take the reports (sh_spread.h) */
	SH_TASK_CLOSE,   /* close the data to intakes, and load the tags that they stored */
	SH_TASK_COMMIT,  /* make the gathered submissions durable */
	SH_TASK_ROUTE,   /* one step of sh_route.h */
	SH_TASK_BLANKET, /* one slice of sh_blanket.h */
	SH_TASK_SEAL,    /* compute the roots, sign the manifest; or end the round as void */
};
/* Which tasks are begun, and when. */
enum sh_pace {
	SH_PACE_GATHER, /* a commit waits for more submissions, as sh_core_conf says */
	SH_PACE_FLUSH,  /* a commit is made at once of all that have gathered */
	SH_PACE_STOP,   /* likewise, and no other task is begun */
};

/* A task between its begin and its end, in the caller's memory.  Only `slow` and `kind` concern the
 * caller. */
struct sh_task {
	enum sh_task_kind kind;
	bool slow;                 /* sh_core_task_run has work to do */
	struct sh_round *round;    /* borrowed */
	uint64_t participants;     /* the round's participants when the task began */
	size_t submissions;        /* number of submissions in `batch` */
	struct sh_batch batch;     /* SH_TASK_COMMIT */
	uint32_t dummies;          /* SH_TASK_BLANKET: dummies of this slice */
	struct rd_bucket *buckets; /* SH_TASK_SEAL; NULL: the round becomes void */
	int64_t began_ms;
	struct sh_epoch epoch; /* SH_TASK_EPOCH, SH_TASK_CLOSE */
	struct sh_tags tags;   /* SH_TASK_CLOSE, as `counts` */
	struct sh_counts counts;
	enum cm_rc rc;
	struct cm_err err;
};

/* The result of a task. */
struct sh_task_done {
	enum sh_task_kind kind;
	/* numbers that a commit made durable; answers that waited for them may be sent */
	size_t submissions, messages;
	uint32_t dummies; /* number of dummies that a slice added */
	/* The round that was sealed.  damage: why it was lost instead; CM_OK if it was not. query: the name
	 * of its query, borrowed until the next job begins. */
	uint64_t sequence, participants;
	bool is_void;
	struct cm_err damage;
	const char *query;
	struct sh_round *round; /* that round, borrowed until the next job begins */
};

/* The task that sh_core_task_begin would begin. */
enum sh_task_kind sh_core_task_next(const struct sh_core *c, enum sh_pace pace, int64_t now_ms);
/* On the event loop: choose the next task, move what it needs into *t, and close the intake if no
 * submission may follow.  Returns t->kind.  Unless that is SH_TASK_NONE, call sh_core_task_end before the
 * next begin. */
enum sh_task_kind sh_core_task_begin(struct sh_core *c, enum sh_pace pace, int64_t now_ms, struct sh_task *t);
/* If t->slow, on any thread: do the slow work.  It uses the task, the store, the round's vault and, if the
 * round is closed, its `route`, `noise` and `tree`; the loop uses none of these until the task's end.  rng
 * NULL: the system's. */
void sh_core_task_run(struct sh_task *t, const struct cr_rng *rng);
/* On the event loop: apply the task's result.  Frees what the task holds, also after a fault. */
CM_CHECK enum cm_rc sh_core_task_end(
	struct sh_core *c, struct sh_task *t, struct sh_task_done *done, struct cm_err *err);
/* Milliseconds after which to look for a task again if nothing else happens; -1: no need. */
int64_t sh_core_wait_ms(const struct sh_core *c, int64_t now_ms);

/* ---- Jobs, beside the tasks: for rounds that are released or over, one at a time ---- */

/* Like sh_job_begin and sh_job_end; call sh_job_run between them. */
enum sh_job_kind sh_core_job_begin(struct sh_core *c, bool erasures, struct sh_job *j);
CM_CHECK enum cm_rc sh_core_job_end(struct sh_core *c, struct sh_job *j, struct cm_err *err);

/* Ask whether the store still keeps its data (`keeps` in sh_store.h); call it while a round is live and no
 * job runs. */
CM_CHECK enum cm_rc sh_core_keeps(const struct sh_core *c, struct cm_err *err);

/* ---- Composing, beside the tasks ---- */

/* Like sh_judge_begin and sh_judge_end; call sh_compose_run between them on a worker thread of its own. */
CM_CHECK enum cm_rc sh_core_compose(struct sh_core *c, struct sh_compose **out, struct cm_err *err);
CM_CHECK enum cm_rc sh_core_composed(struct sh_core *c, struct sh_compose *w, struct cm_err *err);

/* As sh_judge_wants. */
bool sh_core_compose_waits(const struct sh_core *c);
/* What would become of a plan. */
struct sh_rehearse *sh_core_rehearse(struct sh_core *c);

/* ---- For status ---- */
/* only live rounds; NULL past the last */
const struct sh_round *sh_core_round(const struct sh_core *c, size_t i);
/* Number of live rounds in this state. */
size_t sh_core_count(const struct sh_core *c, enum sh_state state);
/* Sequence number of the live round with this id; 0 if there is none. */
uint64_t sh_core_number(const struct sh_core *c, const uint8_t id[PR_ROUND_ID_LEN]);
/* The slices that pinned plans took from the policy's max_epsilon and delta; each is spent whole at the
 * pin. */
struct rd_slices sh_core_taken(const struct sh_core *c);
/* The figures of the budget, and the number of pinned plans (sh_plans_figure). */
struct rd_figure sh_core_figure(const struct sh_core *c, size_t *plans);
const struct sh_policy *sh_core_policy(const struct sh_core *c);
/* Plan i of the ledger; NULL past the last. */
const struct sh_plan *sh_core_plan_at(const struct sh_core *c, size_t i);
/* What clients have stated about the ledger. */
struct sh_hearing sh_core_hearing(const struct sh_core *c);
/* Sequence number of the newest round announced here, live or not; 0 if there is none. */
uint64_t sh_core_newest(const struct sh_core *c);
