/* cl_evidence.h - detects two different manifests of one round, and a VOID manifest that contradicts this
 * client's receipts; writes files of evidence. */
#pragma once

#include "cl_db.h"
#include "rd_evidence.h"

#define CL_EVIDENCE_MAX 256

/* Compare a verified manifest with the stored ones of its round, whatever they were requested for.  CM_OK:
 * none differs.  CM_EPROTO: one differs; both are then in STATE_DIR/evidence-SEQUENCE-manifests, and `path`
 * (cut to fit) and err name that file.  `path` is "" otherwise. */
CM_CHECK enum cm_rc cl_evidence_manifests(struct cl_db *db, const char *state_dir, uint64_t sequence,
	const uint8_t round_id[PR_ROUND_ID_LEN], const struct rd_signed *told, char path[CL_EVIDENCE_MAX],
	struct cm_err *err);
/* Compare a verified VOID manifest of the round with the receipts that this client got.  CM_OK: they do not
 * contradict it; a manifest of a round that was given up contradicts none.  CM_EPROTO: it states fewer
 * participants than devices of this client were accepted.  It is then in STATE_DIR/evidence-SEQUENCE-void
 * (path and err as above), with openings of watched messages.  The file convicts the shuffler if these come
 * from enough devices. */
CM_CHECK enum cm_rc cl_evidence_void(struct cl_db *db, const char *state_dir, const struct rd_descriptor *d,
	const struct rd_manifest *m, const struct rd_signed *told, char path[CL_EVIDENCE_MAX],
	struct cm_err *err);

/* Write STATE_DIR/evidence-SEQUENCE-WHAT unless the file exists, and count it in db. */
CM_CHECK enum cm_rc cl_evidence_write(struct cl_db *db, const char *state_dir, uint64_t sequence,
	const char *what, const struct cm_buf *bytes, char path[CL_EVIDENCE_MAX], struct cm_err *err);
/* Count the files of evidence in the folder.  Returns 0 if it cannot be read. */
uint64_t cl_evidence_files(const char *state_dir);
