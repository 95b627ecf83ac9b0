/* an_round.h - one round's dialogue with the shuffler, from its reservation to its erasure.  No I/O.
 *
 * Frames come in; the owner asks an_round_next what to do and reports back when it is done.  What must be
 * durable before the next frame leaves is an action of its own, so that the order "charged, then released" is
 * visible here and nowhere else:
 *
 *   Witness, ExtendLedger .. -> PutPayload .. -> Announce -> AwaitManifest ..
 *   -> append CHARGE -> ExtendLedger -> Release -> Pull .. (each bucket against its root, then opened)
 *   -> publish -> append SETTLE -> ExtendLedger -> Settle -> erase the key
 *
 * A void round goes from the manifest to append VOID -> ExtendLedger -> Settle -> erase.  A charged round
 * whose batch turns out not to be its manifest's goes on to publish, without an estimate, and is settled:
 * asking again would bring the same bytes.  The dialogue starts from the round's stage in the ledger, so a
 * restarted process continues where the last record stands. */
#pragma once

#include "an_ledger.h"
#include "an_state.h"
#include "pr_msg.h"
#include "rd_evidence.h"
#include "rd_manifest.h"

#define AN_BUCKET_BYTES_MAX ((size_t)48 << 20) /* two buckets are held: one arriving, one being opened */
#define AN_PAUSE_MIN_MS     50u
#define AN_PAUSE_MAX_MS     30000u
/* How the VOID reason begins if the shuffler refused a round for its budget. */
#define AN_REFUSED_BUDGET AN_NOT_TAKEN " (budget)"
#define AN_CLOCK_PAUSE_MS 2000u /* between announcements that the shuffler refuses by its clock */

enum an_act {
	AN_ACT_WAIT,    /* nothing to do: a frame, or the report on another action, comes next */
	AN_ACT_SEND,    /* send *frame; without a link it may be dropped */
	AN_ACT_PAUSE,   /* wait pause_ms, then call an_round_resume */
	AN_ACT_APPEND,  /* append *record, apply it to the state, then call an_round_appended */
	AN_ACT_OPEN,    /* compare `root`, open `messages` of the bucket, then call an_round_opened; frames
			 * may arrive meanwhile */
	AN_ACT_PUBLISH, /* make the result durable, then call an_round_published */
	AN_ACT_ERASE,   /* destroy the round's key, then call an_round_erased */
	AN_ACT_DONE,
};

/* Pointers are valid until the next call on the round; those of AN_ACT_OPEN until an_round_opened. */
struct an_action {
	enum an_act act;
	const Tombola__V1__Frame *frame;
	uint32_t pause_ms;
	const char *waits; /* for AN_ACT_PAUSE: why the shuffler accepts no ledger now, or not the round by
			    * its clock, printable; NULL: no special reason, or the same as before */
	struct rd_record *record;
	const uint8_t *sealed;
	size_t messages;
	uint32_t bucket;
	const uint8_t *root; /* of AN_ACT_OPEN: the one that the manifest gives the bucket */
};

/* The answer that is expected from the shuffler. */
enum an_step {
	AN_AT_WITNESS,
	AN_AT_EXTENDED,
	AN_AT_PAYLOAD,
	AN_AT_ANNOUNCED,
	AN_AT_MANIFEST,
	AN_AT_RELEASED,
	AN_AT_SEGMENT,
	AN_AT_SETTLED,
	AN_AT_LOCAL, /* no answer is awaited: an action is running in this process */
	AN_AT_DONE,
};

struct an_round;
struct an_round_conf {
	const struct an_ledger *ledger; /* borrowed, as are all pointers here */
	struct an_round_state *round;   /* RESERVED, CHARGED, SETTLED, VOID or WAITING */
	const struct cr_signer *signer;
	const struct cr_verifier *shuffler;
	const char *population;
	struct cr_span payload; /* of a round that has one; len 0: it is lost, and if the shuffler does not
				 * have it either, the round ends before anybody was asked */
	bool announced;         /* the shuffler accepted the round in an earlier run (an_announced.h) */
	uint32_t wait_ms;       /* duration of one long poll, at most PR_WAIT_MAX_MS */
	/* Store the round's manifest durably; called before anything follows from it (an_kept.h). */
	enum cm_rc (*keep)(void *user, const struct rd_signed *manifest, struct cm_err *err);
	void *user;
	int64_t (*wall_ms)(void); /* the clock */
	/* Convert a peer's Error frame into our error. */
	enum cm_rc (*peer_error)(const Tombola__V1__Error *e, struct cm_err *err);
};
CM_CHECK enum cm_rc an_round_new(const struct an_round_conf *conf, struct an_round **out, struct cm_err *err);
void an_round_free(struct an_round *r);

/* The link is up (again): begin the dialogue.  What was verified is kept; a bucket received in part is
 * requested again. */
CM_CHECK enum cm_rc an_round_connected(struct an_round *r, struct cm_err *err);
/* Process one frame of the shuffler, borrowed.  After any fault the round is unusable: free it.  CM_EPERM:
 * the shuffler's witness is no point of our ledger, or a signature or an earlier answer disagrees.
 * CM_EPROTO: the frame is not expected here.  Never CM_EBUDGET. */
CM_CHECK enum cm_rc an_round_frame(struct an_round *r, const Tombola__V1__Frame *frame, struct cm_err *err);
/* The next action; each is handed out once. */
void an_round_next(struct an_round *r, struct an_action *out);

CM_CHECK enum cm_rc an_round_resume(struct an_round *r, struct cm_err *err);
CM_CHECK enum cm_rc an_round_appended(struct an_round *r, struct cm_err *err);
/* right: the bucket has its root, and was opened (an_open_bucket).  root: of the tree over all messages
 * (an_open_root) after the last bucket, otherwise NULL. */
CM_CHECK enum cm_rc an_round_opened(struct an_round *r, bool right, const uint8_t *root, struct cm_err *err);
void an_round_published(struct an_round *r, const uint8_t result_hash[PR_HASH_LEN]);
void an_round_erased(struct an_round *r);

/* Whether the shuffler has accepted the round, now or earlier. */
bool an_round_announced(const struct an_round *r);
enum an_step an_round_step(const struct an_round *r);
/* The manifest once it has arrived; NULL before. */
const struct rd_manifest *an_round_manifest(const struct an_round *r);
/* Why the batch contradicts its manifest, in one sentence with round and bucket; no part of such a batch may
 * be used.  NULL: it agrees as far as it has arrived. */
const char *an_round_spoiled(const struct an_round *r);
