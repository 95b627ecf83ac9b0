/* cl_reports.h - stores the sealed reports of the active round until the round is over.
 *
 * A value is randomized once, stored, then sent.  Every retry, also after a crash, sends the stored bytes,
 * because a second randomization of the value would be a second release.  At most one round is active. */
#pragma once

#include "cl_batch.h"
#include "cl_db.h"
#include "cl_ledger.h"

/* The descriptor of the active round, as received. */
struct cl_active {
	struct cm_buf descriptor; /* owned */
	uint8_t signature[PR_SIGNATURE_LEN];
	uint64_t sequence;
	/* every device of the input has its sealed report, so the readings are not needed any more */
	bool whole;
};
void cl_active_fini(struct cl_active *a);
/* Load the active round.  CM_ENOINPUT: no round is active. */
CM_CHECK enum cm_rc cl_reports_active(struct cl_db *db, struct cl_active *out, struct cm_err *err);
/* Read the sequence number of the active round, 0 if there is none, and whether it is complete. */
CM_CHECK enum cm_rc cl_reports_sequence(struct cl_db *db, uint64_t *sequence, struct cm_err *err);
CM_CHECK enum cm_rc cl_reports_is_whole(struct cl_db *db, bool *whole, struct cm_err *err);

/* The documents and the charge with which a round becomes active. */
struct cl_opening {
	const struct rd_descriptor *d;
	/* the descriptor as received; its signature has PR_SIGNATURE_LEN bytes */
	const uint8_t *descriptor, *signature;
	size_t descriptor_len;
	struct cl_charge charge;
};
/* Store the reports of n devices in one transaction, synced to disk on return.  The first call of a round
 * also makes the round active and writes its charge.  salts: 32 bytes per device, which blind its receipt;
 * sealed: n times device_len bytes.  CM_EINTERNAL if a device has a report already; nothing is stored
 * then. */
CM_CHECK enum cm_rc cl_reports_put(struct cl_db *db, const struct cl_opening *o, const struct cl_entry *entry,
	size_t n, const uint8_t *salts, const uint8_t *sealed, size_t device_len, int64_t now_ms,
	struct cm_err *err);
/* Record that the active round is complete: no report will be added. */
CM_CHECK enum cm_rc cl_reports_whole(struct cl_db *db, struct cm_err *err);
/* Mark every stored device as taken in the batch (cl_batch_taken). */
CM_CHECK enum cm_rc cl_reports_taken(struct cl_db *db, struct cl_batch *batch, struct cm_err *err);

/* Load up to max devices without an outcome whose slot is above `after`, in slot order: slot[i], pseudonym
 * and salt at 32 i, sealed at device_len i.  *n 0: none are left. */
CM_CHECK enum cm_rc cl_reports_next(struct cl_db *db, int64_t after, size_t max, size_t device_len,
	int64_t *slot, uint8_t *pseudonyms, uint8_t *salts, uint8_t *sealed, size_t *n, struct cm_err *err);
/* Record the outcomes of n devices; durable at the next put, flush or erase.  After an earlier crash the
 * devices ask again, which is harmless. */
CM_CHECK enum cm_rc cl_reports_answer(
	struct cl_db *db, const int64_t *slot, const uint8_t *outcome, size_t n, struct cm_err *err);
CM_CHECK enum cm_rc cl_reports_flush(struct cl_db *db, struct cm_err *err);

/* The shuffler's answer for a device; values as in Tombola__V1__Outcome. */
enum cl_outcome { CL_UNANSWERED, CL_ACCEPTED, CL_CONFLICT, CL_CLOSED, CL_OVER_LIMIT, CL_OUTCOMES };
/* The outcome as text that follows a number of devices: "closed". */
const char *cl_outcome_words(enum cl_outcome outcome);

struct cl_counts {
	uint64_t by[CL_OUTCOMES]; /* number of devices by enum cl_outcome */
	uint64_t total;
};
/* Read the counts from the note of a round that is over (cl_ledger_over).  A part that is not of its form is
 * not counted. */
void cl_counts_read(const char *note, struct cl_counts *out);
CM_CHECK enum cm_rc cl_reports_counts(struct cl_db *db, struct cl_counts *out, struct cm_err *err);

/* End the active round: the ledger records the counts, and the sealed bytes and salts are overwritten and
 * deleted.  Watched messages (cl_proof.h) may be requested from now on. */
CM_CHECK enum cm_rc cl_reports_erase(
	struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, struct cm_err *err);
