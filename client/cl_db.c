/* cl_db.c - opens the client's database. */
#include "cl_db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl_device.h"
#include "cl_schema.h"
#include "cm_file.h"
#include "rd_account.h"

static const char settings[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;"
			       "PRAGMA wal_autocheckpoint=4000;";

static bool no_memory(const struct cl_db *db)
{
	return db->sql == NULL || sqlite3_errcode(db->sql) == SQLITE_NOMEM ||
	       sqlite3_extended_errcode(db->sql) == SQLITE_IOERR_NOMEM;
}

enum cm_rc cl_db_fail(struct cl_db *db, struct cm_err *err)
{
	int code = sqlite3_errcode(db->sql);
	const char *path = db->sql != NULL ? sqlite3_db_filename(db->sql, NULL) : NULL;

	return cm_fail(err,
		no_memory(db)                                     ? CM_EINTERNAL
		: code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? CM_EDATA
								  : CM_EIO,
		"%s: %s", path != NULL ? path : "client.db", sqlite3_errmsg(db->sql));
}

enum cm_rc cl_db_exec(struct cl_db *db, const char *sql, struct cm_err *err)
{
	return sqlite3_exec(db->sql, sql, NULL, NULL, NULL) == SQLITE_OK ? CM_OK : cl_db_fail(db, err);
}

void cl_db_rollback(struct cl_db *db)
{
	(void)sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
}

enum cm_rc cl_db_prepare(struct cl_db *db, const char *sql, sqlite3_stmt **out, struct cm_err *err)
{
	return sqlite3_prepare_v2(db->sql, sql, -1, out, NULL) == SQLITE_OK ? CM_OK : cl_db_fail(db, err);
}

enum cm_rc cl_db_done(struct cl_db *db, sqlite3_stmt *st, struct cm_err *err)
{
	return sqlite3_step(st) == SQLITE_DONE ? CM_OK : cl_db_fail(db, err);
}

enum cm_rc cl_db_int(struct cl_db *db, const char *sql, int64_t *out, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = cl_db_prepare(db, sql, &st, err);
	int step;

	if (rc != CM_OK)
		return rc;
	step = sqlite3_step(st);
	*out = step == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		rc = cl_db_fail(db, err);
	sqlite3_finalize(st);
	return rc;
}

static enum cm_rc check_owner(struct cl_db *db, const char *path, const char *population, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	const char *owner;
	enum cm_rc rc;
	int step;

	if (population == NULL)
		return CM_OK;
	rc = cl_db_prepare(db, "SELECT population FROM meta", &st, err);
	if (rc != CM_OK)
		return rc;
	step = sqlite3_step(st);
	owner = step == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0) : NULL;
	if (step == SQLITE_DONE)
		rc = cm_fail(err, CM_EDATA, "%s: has lost its population", path);
	else if (owner == NULL)
		rc = cl_db_fail(db, err);
	else if (strcmp(owner, population) != 0)
		rc = cm_fail(err, CM_ECONFIG, "%s: belongs to population '%.100s'", path, owner);
	sqlite3_finalize(st);
	return rc;
}

/* SQLite gives its files the mode of the database, so that is made first. */
static enum cm_rc make_private(const char *path, struct cm_err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return cm_fail(err, CM_ECREATE, "%s: %s", path, strerror(errno));
	(void)close(fd);
	return CM_OK;
}

/* used: these devices have a secret, which is made after the database. */
static enum cm_rc open_at(const char *path, int flags, const char *population, bool used, struct cl_db **out,
	struct cm_err *err)
{
	struct cl_db *db = calloc(1, sizeof *db);
	int64_t tables = 0, version = 0;
	enum cm_rc rc = CM_OK;

	if (db == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	if (sqlite3_open_v2(path, &db->sql, flags, NULL) != SQLITE_OK)
		rc = no_memory(db) ? cl_db_fail(db, err)
				   : cm_fail(err, flags & SQLITE_OPEN_READONLY ? CM_ENOINPUT : CM_ECREATE,
					     "%s: %s", path, sqlite3_errmsg(db->sql));
	if (rc == CM_OK) {
		(void)sqlite3_busy_timeout(db->sql, 10000);
		rc = cl_db_int(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
	}
	if (rc == CM_OK && !(flags & SQLITE_OPEN_READONLY)) {
		rc = cl_db_exec(db, settings, err);
		/* A new ledger would forget what they have been charged. */
		if (rc == CM_OK && tables == 0 && used)
			rc = cm_fail(err, CM_EDATA,
				"%s: this client's ledger is missing or empty, though its gateway.key is "
				"there; "
				"restore it, or move the folder away to start as new devices",
				path);
		if (rc == CM_OK && tables == 0)
			rc = cl_schema_create(db, population, err);
	}
	if (rc == CM_OK)
		rc = cl_schema_check(db, path, &version, err);
	if (rc == CM_OK)
		rc = check_owner(db, path, population, err);
	if (rc == CM_OK && version < CL_SCHEMA)
		rc = flags & SQLITE_OPEN_READONLY ? cm_fail(err, CM_EDATA,
							    "%s: of an earlier version, and brought up to "
							    "date when the client starts",
							    path)
						  : cl_schema_upgrade(db, err);
	if (rc != CM_OK) {
		cl_db_close(db);
		return rc;
	}
	*out = db;
	return CM_OK;
}

enum cm_rc cl_db_open(const char *state_dir, const char *population, struct cl_db **out, struct cm_err *err)
{
	char *path = cm_file_join(state_dir, "client.db");
	bool used = false;
	enum cm_rc rc;

	*out = NULL;
	if (path == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = cl_device_has_secret(state_dir, &used, err);
	if (rc == CM_OK)
		rc = make_private(path, err);
	if (rc == CM_OK)
		rc = open_at(path, SQLITE_OPEN_READWRITE, population, used, out, err);
	/* What an erased round left in the write-ahead log goes now, should the erasing process have died
	 * there. */
	if (rc == CM_OK)
		rc = cl_db_exec(*out, "PRAGMA wal_checkpoint(TRUNCATE)", err);
	if (rc == CM_OK)
		rc = cm_file_sync_dir(state_dir, err);
	if (rc != CM_OK && *out != NULL) {
		cl_db_close(*out);
		*out = NULL;
	}
	free(path);
	return rc;
}

enum cm_rc cl_db_open_readonly(const char *state_dir, struct cl_db **out, struct cm_err *err)
{
	char *path = cm_file_join(state_dir, "client.db");
	enum cm_rc rc;

	if (path == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = access(path, F_OK) == 0 ? open_at(path, SQLITE_OPEN_READONLY, NULL, false, out, err)
				     : cm_fail(err, CM_ENOINPUT, "%s: %s", path, strerror(errno));
	free(path);
	return rc;
}

void cl_db_close(struct cl_db *db)
{
	if (db == NULL)
		return;
	rd_account_free(db->kept.account);
	sqlite3_finalize(db->put);
	sqlite3_finalize(db->answer);
	sqlite3_finalize(db->next);
	if (db->open_tx)
		(void)sqlite3_exec(db->sql, "COMMIT", NULL, NULL, NULL);
	(void)sqlite3_close(db->sql);
	free(db);
}
