/* an_round.h - one round's dialogue with the shuffler, from its reservation to its erasure.  No I/O.
 *
 * Frames come in; the owner asks an_round_next what to do and reports back when it is done.  What must be
 * durable before the next frame leaves is an action of its own, so that the order "charged, then released" is
 * visible here and nowhere else:
 *
 *   Witness, ExtendLedger .. -> Announce -> AwaitManifest .. -> append CHARGE -> ExtendLedger -> Release
 *   -> Pull .. (each bucket against its root, then opened) -> publish -> append SETTLE -> ExtendLedger
 *   -> Settle -> erase the key
 *
 * A void round goes from the manifest to append VOID -> ExtendLedger -> Settle -> erase.  A charged round
 * whose batch turns out not to be its manifest's goes on to publish, without an estimate, and is settled:
 * asking again would bring the same bytes.  The dialogue starts from the round's stage in the ledger, so a
 * restarted process continues where the last record stands. */
#pragma once

#include "an_ledger.h"
#include "an_state.h"
#include "pr_msg.h"
#include "rd_manifest.h"

#define AN_BUCKET_BYTES_MAX ((size_t)48 << 20) /* two are held: one arriving, one being opened */
#define AN_PAUSE_MIN_MS     50u
#define AN_PAUSE_MAX_MS     30000u
/* Start of a VOID reason when the shuffler would not take a round for its budget. */
#define AN_REFUSED_BUDGET "refused by the shuffler (budget)"

enum an_act {
	AN_ACT_WAIT,    /* nothing: a frame, or a report on another action, comes next */
	AN_ACT_SEND,    /* send *frame; without a link it may be dropped */
	AN_ACT_PAUSE,   /* an_round_resume after pause_ms */
	AN_ACT_APPEND,  /* append *record, feed it to the state, then an_round_appended */
	AN_ACT_OPEN,    /* open messages of the bucket, then an_round_opened; frames may come meanwhile */
	AN_ACT_PUBLISH, /* make the result durable, then an_round_published */
	AN_ACT_ERASE,   /* destroy the round's key, then an_round_erased */
	AN_ACT_DONE,
};

/* Pointers live until the next call on the round, those of AN_ACT_OPEN until an_round_opened. */
struct an_action {
	enum an_act act;
	const Tombola__V1__Frame *frame;
	uint32_t pause_ms;
	struct rd_record *record;
	const uint8_t *sealed;
	size_t messages;
	uint32_t bucket;
};

/* What is awaited from the shuffler. */
enum an_step {
	AN_AT_WITNESS,
	AN_AT_EXTENDED,
	AN_AT_ANNOUNCED,
	AN_AT_MANIFEST,
	AN_AT_RELEASED,
	AN_AT_SEGMENT,
	AN_AT_SETTLED,
	AN_AT_LOCAL, /* nothing: an action is being done here */
	AN_AT_DONE,
};

struct an_round;
struct an_round_conf {
	const struct an_ledger *ledger; /* borrowed, as all of these */
	struct an_round_state *round;   /* RESERVED, CHARGED, SETTLED or VOID */
	const struct cm_signer *signer;
	const struct cm_verifier *shuffler;
	const char *population;
	uint32_t wait_ms; /* of one long poll, at most PR_WAIT_MAX_MS */
	/* A peer's Error frame as our error. */
	enum cm_rc (*peer_error)(const Tombola__V1__Error *e, struct cm_err *err);
};
CM_CHECK enum cm_rc an_round_new(const struct an_round_conf *conf, struct an_round **out, struct cm_err *err);
void an_round_free(struct an_round *r);

/* The link is up (again): begin the dialogue.  What was verified stays; a half-received bucket starts over.
 */
CM_CHECK enum cm_rc an_round_connected(struct an_round *r, struct cm_err *err);
/* One frame of the shuffler, borrowed.  After any fault the round is dead: free it.
 *   CM_EPERM: its witness of the ledger is not a point of ours, or a signature or an earlier answer
 * disagrees; CM_EPROTO: a frame has no place here; CM_EBUDGET never. */
CM_CHECK enum cm_rc an_round_frame(struct an_round *r, const Tombola__V1__Frame *frame, struct cm_err *err);
/* What to do next; each action is handed out once. */
void an_round_next(struct an_round *r, struct an_action *out);

CM_CHECK enum cm_rc an_round_resume(struct an_round *r, struct cm_err *err);
CM_CHECK enum cm_rc an_round_appended(struct an_round *r, struct cm_err *err);
CM_CHECK enum cm_rc an_round_opened(struct an_round *r, struct cm_err *err);
void an_round_published(struct an_round *r, const uint8_t result_hash[PR_HASH_LEN]);
void an_round_erased(struct an_round *r);

enum an_step an_round_step(const struct an_round *r);
/* Once it arrived, else NULL. */
const struct rd_manifest *an_round_manifest(const struct an_round *r);
/* Why the batch is not the manifest's, in one sentence with its round and bucket: nothing of it may be used.
 * NULL for a batch that is, as far as it has come. */
const char *an_round_spoiled(const struct an_round *r);
/* Why the shuffler would not take the round, as the result its error stands for; CM_OK when it took it. */
enum cm_rc an_round_refusal(const struct an_round *r);
