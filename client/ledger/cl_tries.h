/* cl_tries.h - records which try of each plan entry this client took part in, and whether that try was void.
 *
 * An entry is answered once.  A try ends with one manifest signed by the shuffler.  If the manifest says
 * sealed, the entry is answered, whether or not its answer was released.  If it says VOID, the entry may be
 * tried again.  Without the VOID manifest of its last try a client assumes that the try was released. */
#pragma once

#include "rd_manifest.h"
#include "rd_plan.h"

struct cl_db;

struct cl_try {
	uint32_t attempt; /* number of the try; 0: this client took part in no try of the entry */
	uint8_t round_id[PR_ROUND_ID_LEN], descriptor_hash[PR_HASH_LEN];
};
/* Find the last charged try of the entry.  Reads every charge; CM_EDATA: one is damaged. */
CM_CHECK enum cm_rc cl_try_last(struct cl_db *db, const uint8_t plan_hash[PR_HASH_LEN], uint32_t entry,
	struct cl_try *out, struct cm_err *err);
/* Count the entries of the plan that have a charge.  *last: the highest number of one; 0: there is none. */
CM_CHECK enum cm_rc cl_try_entries(struct cl_db *db, const uint8_t plan_hash[PR_HASH_LEN], size_t *count,
	uint32_t *last, struct cm_err *err);

/* Store the manifest of a round whose descriptor is stored, for the population's life.  CM_EPERM: the
 * shuffler did not sign it.  CM_EPROTO: it is malformed, belongs to another round, differs from a stored
 * manifest of the round, or is VOID although this client's receipts contradict that; the last two are
 * written to a file of evidence in `state_dir` (cl_evidence.h).  CM_ENOINPUT: the descriptor is not
 * stored. */
CM_CHECK enum cm_rc cl_manifest_learn(struct cl_db *db, const char *state_dir,
	const struct cr_verifier *shuffler, const uint8_t round_id[PR_ROUND_ID_LEN], const uint8_t *bytes,
	size_t len, const uint8_t signature[CR_SIGN_LEN], int64_t now_ms, struct cm_err *err);

/* Read whether the stored manifest of this try is void, and its hash.  CM_ENOINPUT: none is stored. */
CM_CHECK enum cm_rc cl_try_was_void(struct cl_db *db, const struct cl_try *t, bool *is_void,
	uint8_t hash[PR_HASH_LEN], struct cm_err *err);
