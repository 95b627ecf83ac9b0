/* cl_two.h - detects two different manifests of one round and writes both to a file of evidence. */
#pragma once

#include "cl_db.h"
#include "rd_evidence.h"

#define CL_EVIDENCE_MAX 256

/* Compare a verified manifest with the stored ones of its round, whatever they were requested for.  CM_OK:
 * none differs.  CM_EPROTO: one differs; both are then in STATE_DIR/evidence-SEQUENCE-manifests, whose path
 * (cut to fit) is in `path` and in err.  `path` is "" otherwise. */
CM_CHECK enum cm_rc cl_two_manifests(struct cl_db *db, const char *state_dir, uint64_t sequence,
	const uint8_t round_id[PR_ROUND_ID_LEN], const struct rd_signed *told, char path[CL_EVIDENCE_MAX],
	struct cm_err *err);
