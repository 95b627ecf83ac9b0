/* cl_db.h - the client's one SQLite file, state_dir/client.db: its ledger and the submissions of the round it
 * is in.  WAL, synchronous=FULL, secure_delete.  One thread at a time. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"

struct rd_account;

/* The ledger's account as of its newest entry `upto`, for cl_ledger.c alone. */
struct cl_kept {
	struct rd_account *account; /* owned; NULL: none */
	double limit, delta;
	int64_t upto;
};

struct cl_db {
	sqlite3 *sql;
	bool open_tx;                      /* outcomes not yet committed */
	sqlite3_stmt *put, *answer, *next; /* of cl_store */
	struct cl_kept kept;
};

/* Open, or create 0600, for this population; a file of an earlier version is brought up to date.  CM_ECONFIG
 * if the file belongs to another one, CM_EDATA if it is no client database, or would be a new one beside a
 * gateway.key (its ledger was lost); CM_ECREATE, CM_EIO. */
CM_CHECK enum cm_rc cl_db_open(
	const char *state_dir, const char *population, struct cl_db **out, struct cm_err *err);
/* Read-only, for `status` beside a running daemon.  CM_ENOINPUT when there is none, CM_EDATA when it is of an
 * earlier version. */
CM_CHECK enum cm_rc cl_db_open_readonly(const char *state_dir, struct cl_db **out, struct cm_err *err);
void cl_db_close(struct cl_db *db);

/* SQL without result rows; a failure is CM_EIO, CM_EDATA of a damaged file, CM_EINTERNAL without memory. */
CM_CHECK enum cm_rc cl_db_exec(struct cl_db *db, const char *sql, struct cm_err *err);
/* Undo the open transaction, after a fault that is already in the caller's hands. */
void cl_db_rollback(struct cl_db *db);
CM_CHECK enum cm_rc cl_db_prepare(struct cl_db *db, const char *sql, sqlite3_stmt **out, struct cm_err *err);
/* Step a statement that gives no row. */
CM_CHECK enum cm_rc cl_db_done(struct cl_db *db, sqlite3_stmt *st, struct cm_err *err);
/* The current SQLite fault as CM_EIO. */
enum cm_rc cl_db_fail(struct cl_db *db, struct cm_err *err);
/* The one integer that sql gives; 0 for NULL or no row. */
CM_CHECK enum cm_rc cl_db_int(struct cl_db *db, const char *sql, int64_t *out, struct cm_err *err);
