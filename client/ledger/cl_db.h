/* cl_db.h - the client's SQLite file, state_dir/client.db.  It holds the ledger, plans, pins, evidence, and
 * the sealed reports of the active round.  WAL, synchronous=FULL, secure_delete.  One thread at a time. */
#pragma once

#include "cl_pseudonym_set.h"
#include "db_sqlite.h"

struct rd_account;

/* Cached account of an adaptive plan, complete up to the ledger's entry `upto`.  For cl_ledger.c only. */
struct cl_kept {
	struct rd_account *account; /* owned; NULL if nothing is cached */
	uint8_t plan_hash[32];
	int64_t upto;
};

struct cl_db {
	sqlite3 *sql;
	bool open_tx;                      /* a transaction holds outcomes that are not yet committed */
	sqlite3_stmt *put, *answer, *next; /* prepared statements of cl_reports.c */
	struct cl_pseudonym_set reported;  /* devices of the active round; for cl_reports.c only */
	struct cl_kept kept;
	/* number of files of evidence: those found in the folder when the database was opened, and those
	 * written since */
	uint64_t evidence;
};

/* Open the database of this population, or create it with mode 0600.  CM_ECONFIG: it belongs to another
 * population.  CM_EDATA: it is no client database of this version, or it is missing while a gateway.key
 * exists, which means that its ledger was lost.  CM_ECREATE, CM_EIO. */
CM_CHECK enum cm_rc cl_db_open(
	const char *state_dir, const char *population, struct cl_db **out, struct cm_err *err);
/* Open the database although its ledger may be lost, as an operator accepted.  If none exists, create one
 * (*anew) whose first record closes the plans up to number `plans` (1..). */
CM_CHECK enum cm_rc cl_db_open_after_loss(const char *state_dir, const char *population, uint64_t plans,
	int64_t now_ms, bool *anew, struct cl_db **out, struct cm_err *err);
/* Open read-only, for `status` beside a running daemon.  CM_ENOINPUT: no database exists.  CM_ELATER: the
 * next start brings it to this version. */
CM_CHECK enum cm_rc cl_db_open_readonly(const char *state_dir, struct cl_db **out, struct cm_err *err);
/* Open a copy in memory of the tables by which a round is judged.  It lacks every record of round `sequence`
 * and all sealed reports.  Changes to the copy are never stored.  The copy is empty if no database exists. */
CM_CHECK enum cm_rc cl_db_copy(const char *state_dir, const char *population, uint64_t sequence,
	struct cl_db **out, struct cm_err *err);
void cl_db_close(struct cl_db *db);
