/* sh_round.h - one round of the shuffler: COLLECTING -> SEALED -> RELEASING -> ERASED, or VOID.
 *
 * No clock, no network, no randomness of its own; storage only through the vault and sh_store.h.  Each change
 * of state is durable before a peer can observe it.  The stored row says which state must hold, and a restart
 * completes it. */
#pragma once

#include "cr_sign.h"
#include "rd_manifest.h"
#include "sh_intake.h"
#include "sh_leaves.h"
#include "sh_left_out.h"
#include "sh_marks.h"
#include "sh_noise.h"
#include "sh_route.h"
#include "sh_segments.h"
#include "sh_spread.h"

/* Settings that all rounds share; borrowed for their life. */
struct sh_env {
	const struct sh_store *store;
	const char *key_dir;
	const struct cr_signer *signer; /* the shuffler's signing key, for manifests and receipts */
	size_t max_bytes;               /* most bytes of reports that are not durable yet */
	/* the policy's max_share for rounds that begin: the part of a round's devices that one certificate
	 * may have */
	double max_share;
	/* Most bytes of a released round that are read before the analyzer asks for them, but at least one
	 * bucket.  A reading of the store may bring many buckets at once (sh_vault.h), so it must begin
	 * early. */
	size_t ahead_bytes;
	struct sh_leaves_place leaves;
	bool intakes; /* intakes accept the reports (sh_spread.h), and the store has data_epoch */
};

struct sh_round {
	const struct sh_env *env;
	enum sh_state state;
	struct rd_descriptor d;
	struct cm_buf descriptor; /* the signed descriptor, as it was received */
	uint8_t signature[CR_SIGN_LEN];
	double max_share;       /* of env when the round began, or when this process restored it */
	struct cm_buf manifest; /* the signed manifest; filled from SEALED on */
	uint8_t manifest_signature[CR_SIGN_LEN];
	struct cm_buf charge;  /* the signed charge; filled from RELEASING on */
	struct sh_vault vault; /* where the messages are stored; open while the round's key exists */
	struct sh_intake intake;
	/* Number of devices whose reports are durable, if this process accepts reports itself.  Only the
	 * thread that commits uses it. */
	uint64_t stored;
	bool is_marked; /* when the round was restored, its mark in key_dir said how many devices it had */
	struct sh_mark *mark; /* its mark (sh_marks.h), once the core collects its reports; NULL before */
	/* Says why the round's stored data cannot be read, if so.  A COLLECTING round is then lost; a
	 * RELEASING one waits until an operator intervenes. */
	struct cm_err damage;
	/* epochs and claims, where intakes take the reports: `intake` is filled when it has closed */
	struct sh_spread spread;
	uint64_t dummies; /* dummies made so far: those stored, and those that were not needed */
	/* how messages are dropped by their tags, in rounds whose messages have tags */
	struct sh_route route;
	uint64_t *noise; /* how many dummies each bin gets, in rounds with noise, once drawn: sh_noise.h */
	bool cancelled;  /* the ledger ended the round: it becomes VOID, whatever the number of
			  * participants */
	int64_t seal_ms; /* when sealing began; proofs are given for a fixed time from then */
	uint8_t tree[PR_HASH_LEN];   /* root over the hashes of all messages, computed by sh_round_roots */
	struct sh_segments segments; /* the buckets that were read of it while it is released */
	struct sh_left_out
		left_out; /* devices that are not taken; its manifest has those until it is sealed */
};

/* Create a round from a verified and judged descriptor; key, vault and row are durable on return.  Takes
 * ownership of *d, also on a fault. */
CM_CHECK enum cm_rc sh_round_new(const struct sh_env *env, struct rd_descriptor *d, const uint8_t *bytes,
	size_t len, const uint8_t signature[CR_SIGN_LEN], const struct cr_rng *rng, struct sh_round **out,
	struct cm_err *err);
/* Restore a round from its row, in state COLLECTING, SEALED or RELEASING; loads its tags.  CM_ENOINPUT: its
 * key is gone.  CM_EDATA: it is damaged, or older than what was acknowledged (sh_marks.h).  A collecting
 * round whose rows intakes may have damaged is restored with `damage`. */
CM_CHECK enum cm_rc sh_round_restore(
	const struct sh_env *env, const struct sh_row *row, struct sh_round **out, struct cm_err *err);
/* Is rc the fault of a row that intakes could add?  An intake must not be able to stop the shuffler, so
 * such a row ends only its round.  Data that are missing, or older than what was acknowledged, may come
 * back: they wait for a person. */
bool sh_round_is_damaged(const struct sh_round *r, enum cm_rc rc);
/* Say in *err that this round cannot go on without an operator, and what they can do. */
void sh_round_cannot_go_on(uint64_t sequence, struct cm_err *err);
/* Wipe and free the memory; stored data stays.  Accepts NULL. */
void sh_round_free(struct sh_round *r);

/* Number of buckets of a round. */
uint32_t sh_round_buckets(const struct rd_descriptor *d);
/* Most devices of one certificate in a round of this target: floor(max_share * target), at least 1. */
uint64_t sh_most_of_one(double max_share, uint64_t target);
/* The same of this round. */
uint64_t sh_round_most_of_one(const struct sh_round *r);

/* Count the devices of this certificate that were sent and not taken: over its limit, or closed. */
void sh_round_left_out(
	struct sh_round *r, const struct cr_identity *who, uint64_t over_limit, uint64_t closed);

/* As sh_intake_store; then add these devices to the round's mark (sh_marks.h). */
CM_CHECK enum cm_rc sh_round_commit(
	struct sh_round *r, struct sh_batch *batch, const struct cr_rng *rng, struct cm_err *err);

/* Is it time to seal?  If so, sh_core_task.c commits what has gathered, closes the intake and takes the two
 * steps below. */
bool sh_round_due(const struct sh_round *r, int64_t now_ms);
/* First step; slow; any thread, while no other thread uses the round: read every bucket, compute the roots of
 * the buckets and of the tree, and store the hashes for proofs (sh_leaves.h).  *buckets is malloc'd,
 * vault.buckets of them.  CM_EDATA: the stored messages differ from the accepted ones. */
CM_CHECK enum cm_rc sh_round_roots(struct sh_round *r, struct rd_bucket **buckets, struct cm_err *err);
/* Second step: sign the manifest and make SEALED durable; with too few participants, VOID, as sh_round_over.
 * A round that the ledger cancelled becomes VOID, too, and its manifest states no participants.  Takes
 * ownership of buckets, which may be NULL if the round is cancelled or !sh_route_enough. */
CM_CHECK enum cm_rc sh_round_seal(struct sh_round *r, struct rd_bucket *buckets, struct cm_err *err);

/* Sign a receipt over one Submit and its outcomes. */
CM_CHECK enum cm_rc sh_round_receipt(const struct sh_round *r, const struct sh_submit *s,
	const uint8_t *outcomes, size_t n, uint8_t signature[CR_SIGN_LEN], struct cm_err *err);

/* The same for a Submit whose root an intake has computed.  Any thread. */
CM_CHECK enum cm_rc sh_round_sign(const struct sh_env *env, const uint8_t round_id[PR_ROUND_ID_LEN],
	const uint8_t root[PR_HASH_LEN], uint64_t n, uint8_t signature[CR_SIGN_LEN], struct cm_err *err);

/* Make RELEASING durable, after the charge was verified. */
CM_CHECK enum cm_rc sh_round_release(
	struct sh_round *r, const uint8_t *charge, size_t len, struct cm_err *err);
/* Give whole messages of a bucket from message number `offset`, at most max bytes; *out is borrowed until
 * the next call on r.  CM_EMORE: the bucket is not in memory; ask again when sh_round_wanted has named it
 * and it was read.  CM_EPROTO with *no: it is not released yet, or there is no such bucket or offset. */
CM_CHECK enum cm_rc sh_round_pull(struct sh_round *r, uint32_t bucket, uint64_t offset, size_t max,
	struct cr_span *out, struct sh_refusal *no);
/* The segment to fill now (sh_segments.h), or NULL. */
struct sh_segment *sh_round_wanted(struct sh_round *r);
/* Fill that segment, slowly, on any thread while no other uses the round's vault or this segment.  The
 * caller sets `filled` on the thread that pulls. */
CM_CHECK enum cm_rc sh_round_read(struct sh_round *r, struct sh_segment *s, struct cm_err *err);

/* End the round in three steps, so that nobody waits for the slow one.  First: make the final state
 * durable, so that a restart completes the rest, and then destroy the key.  From then on only this process
 * can still read the messages. */
CM_CHECK enum cm_rc sh_round_over(struct sh_round *r, enum sh_state final, struct cm_err *err);
/* Second, when no thread reads the round any more: wipe its data in memory. */
void sh_round_forget(struct sh_round *r);
/* Third, on any thread: delete the stored messages. */
CM_CHECK enum cm_rc sh_round_erase(struct sh_round *r, struct cm_err *err);
