/* cl_store.h - the sealed submissions of the round this client is in, until the round is over.
 *
 * Randomized once, stored, sent: every retry, also after a crash, sends the bytes that are here, for a fresh
 * randomization of the same value would be a second release.  At most one round is active. */
#pragma once

#include "cl_batch.h"
#include "cl_ledger.h"

/* The descriptor of the active round, as received. */
struct cl_active {
	struct cm_buf descriptor; /* owned */
	uint8_t signature[PR_SIGNATURE_LEN];
	uint64_t sequence;
	bool whole; /* every device of the input has its bytes: the readings are not needed any more */
};
void cl_active_fini(struct cl_active *a);
/* CM_ENOINPUT when no round is active. */
CM_CHECK enum cm_rc cl_store_active(struct cl_db *db, struct cl_active *out, struct cm_err *err);

/* What makes a round active. */
struct cl_opening {
	const struct rd_descriptor *d;
	const uint8_t *descriptor, *signature; /* as received; signature of PR_SIGNATURE_LEN */
	size_t descriptor_len;
	struct cl_charge charge;
};
/* Persist n devices in one transaction, fsynced when it returns; the first of a round also makes it active
 * and writes its charge.  sealed: n times device_len bytes.  A device that has bytes already is CM_EINTERNAL:
 * nothing is stored then. */
CM_CHECK enum cm_rc cl_store_put(struct cl_db *db, const struct cl_opening *o, const struct cl_entry *entry,
	size_t n, const uint8_t *sealed, size_t device_len, int64_t now_ms, struct cm_err *err);
/* Nothing more will be put for the active round. */
CM_CHECK enum cm_rc cl_store_whole(struct cl_db *db, struct cm_err *err);
/* Mark every stored device as taken in the batch. */
CM_CHECK enum cm_rc cl_store_taken(struct cl_db *db, struct cl_batch *batch, struct cm_err *err);

/* Up to max devices without an outcome whose slot is above `after`, in slot order: slot[i], pseudonym at 32
 * i, sealed at device_len i.  *n 0: none now. */
CM_CHECK enum cm_rc cl_store_next(struct cl_db *db, int64_t after, size_t max, size_t device_len,
	int64_t *slot, uint8_t *pseudonyms, uint8_t *sealed, size_t *n, struct cm_err *err);
/* Outcomes of n devices; durable at the next put, flush or erase.  A crash before only makes a device ask
 * again. */
CM_CHECK enum cm_rc cl_store_answer(
	struct cl_db *db, const int64_t *slot, const uint8_t *outcome, size_t n, struct cm_err *err);
CM_CHECK enum cm_rc cl_store_flush(struct cl_db *db, struct cm_err *err);

#define CL_OUTCOMES 5u /* by enum Tombola__V1__Outcome; 0: none yet */
struct cl_counts {
	uint64_t by[CL_OUTCOMES];
	uint64_t total;
};
CM_CHECK enum cm_rc cl_store_counts(struct cl_db *db, struct cl_counts *out, struct cm_err *err);

/* The round is over: the ledger keeps the counts, the sealed bytes are overwritten and gone. */
CM_CHECK enum cm_rc cl_store_erase(
	struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, struct cm_err *err);
