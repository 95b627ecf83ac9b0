/* cl_proof.h - checks that the manifests include accepted messages: which ones are watched, which hashes are
 * requested, what the answers prove, and the evidence.  No network, no clock.
 *
 * The client watches a uniform sample of a round's accepted devices, one message each, drawn as receipts
 * arrive; nobody else knows which.  For each it keeps an opening (rd_receipt.h) in client.db until the
 * shuffler has answered or the time for proofs is over.  Then only counts remain, and a file of evidence for
 * every missing message.  The sample does not depend on readings.  Rounds that even out tags are not watched,
 * because the shuffler may drop messages there. */
#pragma once

#include "cl_db.h"
#include "cl_evidence.h"
#include "cr_rand.h"
#include "rd_evidence.h"

/* A client requests proofs for this long after a round's deadline; it is the longest window that a shuffler
 * can have. */
#define CL_PROOF_LIFE_MS INT64_C(604800000)

/* ---- Watching ---- */

/* A uniform sample of `most` items from a stream (reservoir sampling). */
struct cl_watch {
	uint64_t most, seen;
};
/* Choose the place of the stream's next item in the sample: 0..most-1, where it replaces the previous item;
 * -1: it is not sampled. */
int64_t cl_watch_place(struct cl_watch *w, const struct cr_rng *rng);
/* Store an opening at a place, within the transaction of the outcomes (cl_reports_answer).  messages: number
 * of messages per device. */
CM_CHECK enum cm_rc cl_proof_keep(struct cl_db *db, uint64_t sequence, int64_t place,
	const struct rd_opening *opening, uint32_t messages, struct cm_err *err);
/* Record that the active round is over, so that its watched messages, if any, will be requested.  The caller
 * holds the transaction. */
CM_CHECK enum cm_rc cl_proof_begin(
	struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, struct cm_err *err);

/* ---- Asking ---- */

/* A round whose proofs are still incomplete, and the next request for it. */
struct cl_proof {
	uint64_t sequence;
	int64_t until_ms;
	struct cm_buf descriptor; /* owned */
	struct rd_descriptor d;
	/* the first manifest received; len 0 if none was; `stored` owns the bytes */
	struct rd_signed manifest;
	struct cm_buf stored;
	struct rd_manifest m; /* parsed from `manifest` */
	size_t n;             /* number of watched messages among `hashes`; they come first */
	int64_t place[PR_PROOF_HASHES];
	struct rd_opening opening[PR_PROOF_HASHES];
	uint8_t hashes[PR_PROOF_HASHES][PR_HASH_LEN]; /* the hashes to send, padded with random ones */
};
/* The oldest incomplete round with a sequence number above `after`, with the hashes to request next.
 * CM_ENOINPUT: none. */
CM_CHECK enum cm_rc cl_proof_next(struct cl_db *db, uint64_t after, const struct cr_verifier *shuffler,
	const struct cr_rng *rng, struct cl_proof *out, struct cm_err *err);
void cl_proof_fini(struct cl_proof *p);

/* The result of one answer. */
struct cl_proof_result {
	uint64_t included, missing, unanswered;
	bool is_void;  /* the round is void, so it has no proofs */
	bool denied;   /* the round is void with fewer participants than this client has receipts for */
	bool given_up; /* the round is void because it was given up */
	bool done;     /* nothing is left to request for this round */
	char evidence[CL_EVIDENCE_MAX]; /* path of the last file of evidence written; "" if none was */
};
/* Process the round's signed manifest.  CM_EPROTO, CM_EPERM: it is of another round or not signed; nothing
 * changes.  A second manifest that differs from the first is evidence. */
CM_CHECK enum cm_rc cl_proof_manifest(struct cl_db *db, const char *state_dir, struct cl_proof *p,
	const Tombola__V1__SignedManifest *s, const struct cr_verifier *shuffler, struct cl_proof_result *out,
	struct cm_err *err);
/* Process the answer to the hashes of p.  For a message proved absent, the file of evidence is written before
 * its opening is deleted.  An entry that proves nothing counts as unanswered. */
CM_CHECK enum cm_rc cl_proof_answer(struct cl_db *db, const char *state_dir, const struct cl_proof *p,
	const uint8_t *entries, size_t len, struct cl_proof_result *out, struct cm_err *err);
/* Record that the shuffler gives no proofs of this round: its remaining watched messages count as
 * unanswered. */
CM_CHECK enum cm_rc cl_proof_give_up(
	struct cl_db *db, const struct cl_proof *p, struct cl_proof_result *out, struct cm_err *err);

/* ---- Showing ---- */

struct cl_proof_counts {
	/* `waiting` counts messages */
	uint64_t rounds, waiting, included, missing, unanswered, void_rounds;
};
CM_CHECK enum cm_rc cl_proof_counts(struct cl_db *db, struct cl_proof_counts *out, struct cm_err *err);
/* Export the stored signed manifest of a round as a file of evidence, to compare it with another client's.
 * It proves nothing by itself.  CM_ENOINPUT: no such manifest is stored. */
CM_CHECK enum cm_rc cl_proof_export(
	struct cl_db *db, uint64_t sequence, struct cm_buf *out, struct cm_err *err);
