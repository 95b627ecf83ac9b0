/* sh_core.h - the shuffler: which rounds there are, and what each peer may make of them.
 *
 * Everything a frame can ask for is one function here; no clock, network or log.  Storage is sh_store.h.
 * Functions that take a refusal return CM_EPROTO exactly when *no is filled and nothing changed; any other
 * fault is ours: after CM_EIO, CM_EDATA or CM_EINTERNAL nothing more may be acknowledged. */
#pragma once

#include "sh_policy.h"
#include "sh_round.h"
#include "sh_witness.h"

/* Rounds that are sealed or being released at a time, besides the open one. */
#define SH_ROUNDS_MAX 8u

struct sh_core_conf {
	struct sh_env env;
	const struct sh_policy *policy;
	const struct cm_verifier *analyzer;
	size_t commit_messages; /* a commit waits for so many messages... */
	int64_t commit_wait_ms; /* ...or so long: a small commit is a small crowd at rest */
};

struct sh_core;

/* Everything in conf is borrowed.  Reads the store back: the witnessed ledger, the rounds, their tags; ends
 * erasures that a crash interrupted.  CM_EDATA: the store is damaged. */
CM_CHECK enum cm_rc sh_core_new(const struct sh_core_conf *conf, struct sh_core **out, struct cm_err *err);
void sh_core_free(struct sh_core *c);

/* ---- Clients ---- */

/* The open round with a sequence above `after`, or NULL. */
const struct sh_round *sh_core_offer(const struct sh_core *c, uint64_t after, int64_t now_ms);

struct sh_receipt {
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint8_t outcomes[PR_SUBMISSIONS_MAX];
	size_t n;
	uint8_t signature[CM_SIGN_LEN];
	enum sh_wait wait; /* the commit before which it must not be sent */
};
CM_CHECK enum cm_rc sh_core_submit(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	const struct sh_submit *s, int64_t now_ms, struct sh_receipt *out, struct sh_refusal *no,
	struct cm_err *err);

/* ---- The analyzer ---- */

CM_CHECK enum cm_rc sh_core_population(
	const struct sh_core *c, const char *population, struct sh_refusal *no);
struct rd_chain sh_core_witness(const struct sh_core *c);
CM_CHECK enum cm_rc sh_core_extend(struct sh_core *c, uint64_t first, const struct cm_span *records, size_t n,
	struct sh_refusal *no, struct cm_err *err);
/* verdict: what the account said; filled when the round is new and came so far. */
CM_CHECK enum cm_rc sh_core_announce(struct sh_core *c, struct cm_span descriptor, struct cm_span signature,
	int64_t now_ms, const struct cm_rng *rng, uint8_t round_id[PR_ROUND_ID_LEN],
	struct rd_verdict *verdict, struct sh_refusal *no, struct cm_err *err);

struct sh_signed {
	uint8_t bytes[PR_MANIFEST_MAX];
	size_t len;
	uint8_t signature[CM_SIGN_LEN];
};
/* The manifest; CM_EMORE: still open, wait. */
CM_CHECK enum cm_rc sh_core_manifest(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	struct sh_signed *out, struct sh_refusal *no, struct cm_err *err);
CM_CHECK enum cm_rc sh_core_release(struct sh_core *c, struct cm_span charge, struct cm_span signature,
	uint8_t round_id[PR_ROUND_ID_LEN], struct sh_refusal *no, struct cm_err *err);
/* As sh_round_pull. */
CM_CHECK enum cm_rc sh_core_pull(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	uint32_t bucket, uint64_t offset, size_t max, struct cm_span *out, struct sh_refusal *no,
	struct cm_err *err);
CM_CHECK enum cm_rc sh_core_settle(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	struct sh_refusal *no, struct cm_err *err);

/* ---- Work: commits and sealing, one at a time ---- */

/* The round that is collecting, or NULL. */
struct sh_round *sh_core_collecting(const struct sh_core *c);

enum sh_task {
	SH_TASK_NONE,
	SH_TASK_COMMIT,  /* sh_intake_take, sh_vault_commit on any thread, sh_intake_committed */
	SH_TASK_ROUTE,   /* close the intake; sh_route_step on any thread */
	SH_TASK_BLANKET, /* close the intake; sh_blanket_commit on any thread, sh_blanket_committed */
	SH_TASK_SEAL, /* close the intake; sh_round_roots on any thread if sh_round_enough; sh_core_sealed */
};
/* What to do now while no task is under way; `flush`: commit what there is without waiting for more. */
enum sh_task sh_core_task(struct sh_core *c, bool flush, int64_t now_ms);
/* Milliseconds after which to ask again if nothing else happens; -1: no need. */
int64_t sh_core_wait_ms(const struct sh_core *c, int64_t now_ms);
/* sh_round_seal of the collecting round, and what follows from it. */
CM_CHECK enum cm_rc sh_core_sealed(struct sh_core *c, struct rd_bucket *buckets, struct cm_err *err);

/* ---- For status ---- */
const struct sh_round *sh_core_round(const struct sh_core *c, size_t i); /* live ones; NULL past the last */
/* Live rounds in this state. */
size_t sh_core_count(const struct sh_core *c, enum sh_state state);
/* Sequence number of the live round of this id; 0: there is none. */
uint64_t sh_core_number(const struct sh_core *c, const uint8_t id[PR_ROUND_ID_LEN]);
CM_CHECK enum cm_rc sh_core_spent(const struct sh_core *c, double *epsilon, struct cm_err *err);
/* The part of the budget that is used, and the ledger's mode. */
CM_CHECK enum cm_rc sh_core_share(const struct sh_core *c, double *share, struct cm_err *err);
const char *sh_core_mode(const struct sh_core *c);
/* The policy's max_epsilon and delta. */
double sh_core_limit(const struct sh_core *c);
double sh_core_delta(const struct sh_core *c);
/* Sequence number of the newest round that was announced here, live or not; 0: none. */
uint64_t sh_core_newest(const struct sh_core *c);
