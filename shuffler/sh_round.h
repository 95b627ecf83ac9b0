/* sh_round.h - one round of the shuffler: COLLECTING -> SEALED -> RELEASING -> ERASED, or VOID.
 *
 * No clock, no network, no randomness of its own; storage only through the vault and sh_store.h.  Each change
 * of state is durable before it can be seen: the row says what must be, and a restart makes it so. */
#pragma once

#include "cm_sign.h"
#include "rd_manifest.h"
#include "sh_intake.h"
#include "sh_noise.h"
#include "sh_route.h"

/* What all rounds share; borrowed as long as they live. */
struct sh_env {
	const struct sh_store *store;
	const char *key_dir;
	const struct cm_signer *signer; /* the shuffler's: manifests and receipts */
	size_t max_bytes;               /* not yet durable, at most */
};

struct sh_round {
	const struct sh_env *env;
	enum sh_state state;
	struct rd_descriptor d;
	struct cm_buf descriptor; /* as received */
	uint8_t signature[CM_SIGN_LEN];
	struct cm_buf manifest; /* from SEALED on */
	uint8_t manifest_signature[CM_SIGN_LEN];
	struct cm_buf charge;  /* from RELEASING on */
	struct sh_vault vault; /* while the key lives */
	struct sh_intake intake;
	uint64_t dummies; /* messages made by us: those that are durable, and those that were not needed */
	struct sh_route route; /* rounds whose messages have tags */
	uint64_t *noise;       /* rounds with noise, once drawn: sh_noise.h */
	bool cancelled;        /* the ledger has ended it: erase instead of sealing */
	struct cm_buf segment; /* the bucket pulled last, in release order */
	uint32_t segment_bucket;
	bool segment_filled;
};

/* A new round from a descriptor that was verified and judged: key, place and row are durable when it returns.
 * *d is taken over (also on a fault). */
CM_CHECK enum cm_rc sh_round_new(const struct sh_env *env, struct rd_descriptor *d, const uint8_t *bytes,
	size_t len, const uint8_t signature[CM_SIGN_LEN], const struct cm_rng *rng, struct sh_round **out,
	struct cm_err *err);
/* A round from its row, in COLLECTING, SEALED or RELEASING; reads its tags.  CM_ENOINPUT: its key is gone. */
CM_CHECK enum cm_rc sh_round_restore(
	const struct sh_env *env, const struct sh_row *row, struct sh_round **out, struct cm_err *err);
/* Wipes what is in memory; nothing stored changes.  NULL is fine. */
void sh_round_free(struct sh_round *r);

/* Is it time to seal?  Then set intake.closed, let the last commit end, and do the two steps below. */
bool sh_round_due(const struct sh_round *r, int64_t now_ms);
/* First step, long, any thread, nothing else touching the vault: read every bucket and compute its root.
 * *buckets is malloc'd, vault.buckets of them.  CM_EDATA: what is stored is not what was accepted. */
CM_CHECK enum cm_rc sh_round_roots(struct sh_round *r, struct rd_bucket **buckets, struct cm_err *err);
/* Second step: sign the manifest, make SEALED durable - or below the minimum VOID, and destroy key and
 * messages; or ERASED when cancelled.  buckets may be NULL when !sh_round_enough; taken over. */
CM_CHECK enum cm_rc sh_round_seal(struct sh_round *r, struct rd_bucket *buckets, struct cm_err *err);
/* Participants reach the minimum batch, and no class is known to lack any. */
bool sh_round_enough(const struct sh_round *r);

/* A receipt's signature over one Submit and its outcomes. */
CM_CHECK enum cm_rc sh_round_receipt(const struct sh_round *r, const struct sh_submit *s,
	const uint8_t *outcomes, size_t n, uint8_t signature[CM_SIGN_LEN], struct cm_err *err);

/* The charge was verified: make RELEASING durable. */
CM_CHECK enum cm_rc sh_round_release(
	struct sh_round *r, const uint8_t *charge, size_t len, struct cm_err *err);
/* Whole messages of a bucket from message number `offset`, at most max bytes: *out is borrowed until the next
 * call.  CM_EPROTO with *no: not released yet, or no such bucket or offset. */
CM_CHECK enum cm_rc sh_round_pull(struct sh_round *r, uint32_t bucket, uint64_t offset, size_t max,
	struct cm_span *out, struct sh_refusal *no, struct cm_err *err);
/* Destroy key and messages; ERASED is durable first, so that a restart goes on with it. */
CM_CHECK enum cm_rc sh_round_erase(struct sh_round *r, enum sh_state final, struct cm_err *err);
