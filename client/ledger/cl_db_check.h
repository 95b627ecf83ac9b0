/* cl_db_check.h - verifies at the start that the documents and charges in the client's database are
 * unchanged. */
#pragma once

#include "cl_db.h"

/* Verify every descriptor, manifest and plan against its hash, and every pin and charge against its checksum.
 * Runs at the start, so that no decision rests on damaged records.  CM_EDATA names the damaged record. */
CM_CHECK enum cm_rc cl_db_check(struct cl_db *db, struct cm_err *err);
