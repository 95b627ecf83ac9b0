/* sh_sqlite_db.c - one durable SQLite file: opening it, and statements that say what failed. */
#include "sh_sqlite_db.h"

#include <string.h>
#include <unistd.h>

#include "cm_file.h"

static const char pragmas[] = "PRAGMA page_size=16384;"
			      "PRAGMA locking_mode=EXCLUSIVE;"
			      "PRAGMA journal_mode=WAL;"
			      "PRAGMA synchronous=FULL;"
			      "PRAGMA secure_delete=ON;"
			      "PRAGMA trusted_schema=OFF;"
			      "PRAGMA cell_size_check=ON;"
			      "PRAGMA temp_store=MEMORY;";

static enum cm_rc fail_at(sqlite3 *db, const char *path, struct cm_err *err)
{
	int code = sqlite3_errcode(db), kind = code & 0xff;
	/* Our statements are always the same ones: an error of theirs is one of the file's. */
	bool data = kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB || kind == SQLITE_ERROR;
	bool memory = kind == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM;

	return cm_fail(err,
		memory ? CM_EINTERNAL
		: data ? CM_EDATA
		       : CM_EIO,
		"%s: %s", path, sqlite3_errmsg(db));
}

enum cm_rc sh_db_fail(sqlite3 *db, struct cm_err *err)
{
	return fail_at(db, sqlite3_db_filename(db, "main"), err);
}

enum cm_rc sh_db_run(sqlite3 *db, const char *sql, struct cm_err *err)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? CM_OK : sh_db_fail(db, err);
}

static enum cm_rc check_file(sqlite3 *db, const char *check, struct cm_err *err)
{
	sqlite3_stmt *s;
	enum cm_rc rc = sh_db_prepare(db, check, &s, err);

	if (rc != CM_OK)
		return rc;
	rc = sh_db_step(s, err);
	const char *said = rc == CM_OK ? (const char *)sqlite3_column_text(s, 0) : NULL;
	if (rc == CM_EMORE || (rc == CM_OK && (!said || strcmp(said, "ok") != 0))) {
		const char *line = said ? strrchr(said, '\n') : NULL;
		rc = cm_fail(err, CM_EDATA, "%s: damaged: %s", sqlite3_db_filename(db, "main"),
			line   ? line + 1
			: said ? said
			       : "no answer");
	}
	(void)sqlite3_finalize(s);
	return rc;
}

enum cm_rc sh_db_open(const char *path, const char *check, const char *schema, bool create, sqlite3 **out,
	struct cm_err *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_EXRESCODE |
		    (create ? SQLITE_OPEN_CREATE : 0);

	*out = NULL;
	if (sqlite3_open_v2(path, out, flags, NULL) != SQLITE_OK) {
		enum cm_rc rc = *out ? fail_at(*out, path, err)
				     : cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
		sqlite3_close(*out);
		*out = NULL;
		return rc;
	}
	(void)sqlite3_busy_timeout(*out, 2000);
	enum cm_rc rc = sh_db_run(*out, pragmas, err);
	/* Else it would be noticed by the first write, when reports have come. */
	if (rc == CM_OK && sqlite3_db_readonly(*out, "main") == 1 && access(path, W_OK) == 0)
		rc = cm_fail(err, CM_EDATA, "%s: damaged: its header says that it cannot be written", path);
	if (rc == CM_OK && check)
		rc = check_file(*out, check, err);
	if (rc == CM_OK && create)
		rc = sh_db_run(*out, schema, err);
	/* A process killed inside a commit may leave it whole in the log and not synced: what is read back is
	 * acted on, so it is made durable first. */
	if (rc == CM_OK)
		rc = sh_db_run(*out, "PRAGMA wal_checkpoint(TRUNCATE)", err);
	if (rc == CM_OK && create)
		rc = cm_file_sync_parent(path, err);
	if (rc != CM_OK) {
		sqlite3_close(*out);
		*out = NULL;
	}
	return rc;
}

enum cm_rc sh_db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, struct cm_err *err)
{
	return sqlite3_prepare_v2(db, sql, -1, out, NULL) == SQLITE_OK ? CM_OK : sh_db_fail(db, err);
}

enum cm_rc sh_db_step(sqlite3_stmt *stmt, struct cm_err *err)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return CM_OK;
	return rc == SQLITE_DONE ? CM_EMORE : sh_db_fail(sqlite3_db_handle(stmt), err);
}

enum cm_rc sh_db_done(sqlite3_stmt *stmt, struct cm_err *err)
{
	enum cm_rc rc = sh_db_step(stmt, err);

	if (rc == CM_OK)
		rc = cm_fail(err, CM_EINTERNAL, "a statement gave a row");
	if (rc == CM_EMORE)
		rc = CM_OK;
	(void)sqlite3_reset(stmt);
	(void)sqlite3_clear_bindings(stmt);
	return rc;
}

void sh_db_bind(sqlite3_stmt *stmt, int at, const void *bytes, size_t len)
{
	/* A failed bind (too long, no memory) leaves NULL, which the NOT NULL columns refuse. */
	if (len > 0)
		(void)sqlite3_bind_blob64(stmt, at, bytes, len, SQLITE_STATIC);
}

struct cm_span sh_db_blob(sqlite3_stmt *stmt, int column)
{
	const void *data = sqlite3_column_blob(stmt, column);

	return (struct cm_span){ data, (size_t)sqlite3_column_bytes(stmt, column) };
}
