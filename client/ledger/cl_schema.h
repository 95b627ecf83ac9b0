/* cl_schema.h - creates and recognises the tables of the client's database, for cl_db.c. */
#pragma once

#include "cl_db.h"

/* Version of the tables.  Versions 1 and 2 had no plans and charged each round by itself.  Version 3 had a
 * row for each sealed report of the active round. */
#define CL_SCHEMA 4

/* Create the tables.  closed: 0, or the number up to which plans are closed because an operator accepted the
 * loss of an earlier ledger. */
CM_CHECK enum cm_rc cl_schema_create(
	struct cl_db *db, const char *population, uint64_t closed, int64_t now_ms, struct cm_err *err);
/* Bring tables of version 3 up to date.  Those of any other version are left unchanged. */
CM_CHECK enum cm_rc cl_schema_upgrade(struct cl_db *db, struct cm_err *err);
/* Check the version.  CM_EDATA: the file is not a client database, or has another version; for an earlier
 * version the text says what to do.  CM_ELATER: it has the version that cl_schema_upgrade brings up to
 * date. */
CM_CHECK enum cm_rc cl_schema_check(struct cl_db *db, const char *path, struct cm_err *err);
