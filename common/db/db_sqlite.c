/* db_sqlite.c - opens SQLite files and runs statements, with errors that name the file. */
#include "db_sqlite.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm_buf.h"

static enum cm_rc fail_at(sqlite3 *db, const char *path, struct cm_err *err)
{
	int code = sqlite3_extended_errcode(db), kind = code & 0xff;
	/* Our statements are constant, so an SQL error means that the file is damaged. */
	bool data = kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB || kind == SQLITE_ERROR;
	bool memory = kind == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM;

	return cm_fail(err,
		memory ? CM_EINTERNAL
		: data ? CM_EDATA
		       : CM_EIO,
		"%s: %s", path, sqlite3_errmsg(db));
}

/* The file's name, or "database" if it is in memory. */
static const char *name_of(sqlite3 *db)
{
	const char *path = db ? sqlite3_db_filename(db, "main") : NULL;

	return path && *path ? path : "database";
}

enum cm_rc db_fail(sqlite3 *db, struct cm_err *err)
{
	return fail_at(db, name_of(db), err);
}

enum cm_rc db_run(sqlite3 *db, const char *sql, struct cm_err *err)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? CM_OK : db_fail(db, err);
}

enum cm_rc db_check(sqlite3 *db, const char *check, struct cm_err *err)
{
	sqlite3_stmt *s;
	enum cm_rc rc = db_prepare(db, check, &s, err);

	if (rc != CM_OK)
		return rc;
	rc = db_step(s, err);
	const char *said = rc == CM_OK ? (const char *)sqlite3_column_text(s, 0) : NULL;
	if (rc == CM_EMORE || (rc == CM_OK && (!said || strcmp(said, "ok") != 0))) {
		const char *line = said ? strrchr(said, '\n') : NULL;
		rc = cm_fail(err, CM_EDATA, "%s: damaged: %s", name_of(db),
			line   ? line + 1
			: said ? said
			       : "no answer");
	}
	(void)sqlite3_finalize(s);
	return rc;
}

#define SUM_ARGS 8

/* The SQL function row_sum: SHA-256 of each argument's type, length and bytes. */
static void row_sum(sqlite3_context *context, int n, sqlite3_value **value)
{
	uint8_t head[SUM_ARGS][9], number[SUM_ARGS][8], sum[CR_HASH_LEN];
	struct cr_span span[2 * SUM_ARGS], *next = span;

	for (int i = 0; i < n && i < SUM_ARGS; i++) {
		struct cr_span bytes = { sqlite3_value_blob(value[i]),
			(size_t)sqlite3_value_bytes(value[i]) };
		head[i][0] = (uint8_t)sqlite3_value_type(value[i]);
		if (head[i][0] == SQLITE_INTEGER) {
			cm_put_le64(number[i], (uint64_t)sqlite3_value_int64(value[i]));
			bytes = (struct cr_span){ number[i], sizeof number[i] };
		}
		cm_put_le64(head[i] + 1, bytes.len);
		*next++ = (struct cr_span){ head[i], sizeof head[i] };
		*next++ = bytes;
	}
	cr_sha256_spans(span, (size_t)(next - span), sum);
	sqlite3_result_blob(context, sum, sizeof sum, SQLITE_TRANSIENT);
}

enum cm_rc db_open(const char *path, const struct db_conf *conf, sqlite3 **out, struct cm_err *err)
{
	int flags = SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_EXRESCODE |
		    (conf->readonly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) |
		    (conf->create ? SQLITE_OPEN_CREATE : 0);

	struct stat st;

	*out = NULL;
	/* Refuse a FIFO, since SQLite would wait until somebody opens its other end. */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return cm_fail(err, CM_EDATA, "%s: not a regular file", path);

	enum cm_rc rc =
		sqlite3_open_v2(path, out, flags, NULL) == SQLITE_OK ? CM_OK : fail_at(*out, path, err);
	if (rc == CM_OK)
		(void)sqlite3_busy_timeout(*out, conf->busy_ms);
	if (rc == CM_OK && sqlite3_create_function(*out, "row_sum", -1,
				   SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL, row_sum,
				   NULL, NULL) != SQLITE_OK)
		rc = fail_at(*out, path, err);
	if (rc != CM_OK) {
		(void)sqlite3_close(*out);
		*out = NULL;
	}
	return rc;
}

enum cm_rc db_set(sqlite3 *db, const char *settings, struct cm_err *err)
{
	const char *path = sqlite3_db_filename(db, "main");
	enum cm_rc rc = db_run(db, settings, err);

	if (rc == CM_OK && path && sqlite3_db_readonly(db, "main") == 1 && access(path, W_OK) == 0)
		rc = cm_fail(err, CM_EDATA, "%s: damaged: its header says that it cannot be written", path);
	return rc;
}

enum cm_rc db_settle(sqlite3 *db, struct cm_err *err)
{
	return db_run(db, "PRAGMA wal_checkpoint(TRUNCATE)", err);
}

enum cm_rc db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, struct cm_err *err)
{
	return sqlite3_prepare_v2(db, sql, -1, out, NULL) == SQLITE_OK ? CM_OK : db_fail(db, err);
}

static int bind_value(sqlite3_stmt *stmt, int at, const struct db_value *v)
{
	switch (v->type) {
	case DB_IS_INT:
		return sqlite3_bind_int64(stmt, at, v->number);
	case DB_IS_DOUBLE:
		return sqlite3_bind_double(stmt, at, v->real);
	case DB_IS_BYTES:
		return sqlite3_bind_blob64(stmt, at, v->data, v->len, SQLITE_STATIC);
	default:
		return sqlite3_bind_text(
			stmt, at, v->data, v->len == SIZE_MAX ? -1 : (int)v->len, SQLITE_STATIC);
	}
}

enum cm_rc db_select_values(sqlite3 *db, const char *sql, const struct db_value *value, size_t n,
	sqlite3_stmt **out, struct cm_err *err)
{
	enum cm_rc rc = db_prepare(db, sql, out, err);

	for (size_t i = 0; rc == CM_OK && i < n; i++)
		if (bind_value(*out, (int)i + 1, &value[i]) != SQLITE_OK)
			rc = db_fail(db, err);
	return rc;
}

enum cm_rc db_change_values(
	sqlite3 *db, const char *sql, const struct db_value *value, size_t n, struct cm_err *err)
{
	sqlite3_stmt *stmt = NULL;
	enum cm_rc rc = db_select_values(db, sql, value, n, &stmt, err);

	if (rc == CM_OK)
		rc = db_done(stmt, err);
	(void)sqlite3_finalize(stmt);
	return rc;
}

/* Where a struct keeps this statement. */
static sqlite3_stmt **kept(const struct db_statement *statement, void *in)
{
	return (sqlite3_stmt **)(void *)((char *)in + statement->at);
}

enum cm_rc db_prepare_all(
	sqlite3 *db, const struct db_statement *statement, size_t n, void *in, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < n; i++)
		rc = db_prepare(db, statement[i].sql, kept(&statement[i], in), err);
	return rc;
}

void db_finalize_all(const struct db_statement *statement, size_t n, void *in)
{
	for (size_t i = 0; i < n; i++) {
		(void)sqlite3_finalize(*kept(&statement[i], in));
		*kept(&statement[i], in) = NULL;
	}
}

enum cm_rc db_step(sqlite3_stmt *stmt, struct cm_err *err)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return CM_OK;
	return rc == SQLITE_DONE ? CM_EMORE : db_fail(sqlite3_db_handle(stmt), err);
}

bool db_row(sqlite3_stmt *stmt, enum cm_rc *rc, struct cm_err *err)
{
	enum cm_rc step = *rc == CM_OK ? db_step(stmt, err) : CM_EMORE;

	if (step != CM_OK && step != CM_EMORE)
		*rc = step;
	return step == CM_OK;
}

enum cm_rc db_done(sqlite3_stmt *stmt, struct cm_err *err)
{
	enum cm_rc rc = db_step(stmt, err);

	if (rc == CM_OK)
		rc = cm_fail(err, CM_EINTERNAL, "a statement gave a row");
	if (rc == CM_EMORE)
		rc = CM_OK;
	(void)sqlite3_reset(stmt);
	(void)sqlite3_clear_bindings(stmt);
	return rc;
}

enum cm_rc db_begin(sqlite3 *db, struct cm_err *err)
{
	sqlite3_mutex_enter(sqlite3_db_mutex(db));
	return db_run(db, "BEGIN IMMEDIATE", err);
}

enum cm_rc db_end(sqlite3 *db, enum cm_rc rc, struct cm_err *err)
{
	if (rc == CM_OK)
		rc = db_run(db, "COMMIT", err);
	if (rc != CM_OK && sqlite3_get_autocommit(db) == 0)
		db_rollback(db);
	sqlite3_mutex_leave(sqlite3_db_mutex(db));
	return rc;
}

void db_rollback(sqlite3 *db)
{
	(void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
}

void db_bind(sqlite3_stmt *stmt, int at, const void *bytes, size_t len)
{
	/* A bind that failed (too long, no memory) leaves NULL, which the NOT NULL columns refuse. */
	if (len > 0)
		(void)sqlite3_bind_blob64(stmt, at, bytes, len, SQLITE_STATIC);
}

struct cr_span db_blob(sqlite3_stmt *stmt, int column)
{
	const void *data = sqlite3_column_blob(stmt, column);

	return (struct cr_span){ data, (size_t)sqlite3_column_bytes(stmt, column) };
}

enum cm_rc db_int(sqlite3 *db, const char *sql, int64_t *out, struct cm_err *err)
{
	sqlite3_stmt *s;
	enum cm_rc rc = db_prepare(db, sql, &s, err);

	*out = 0;
	if (rc != CM_OK)
		return rc;
	rc = db_step(s, err);
	if (rc == CM_OK)
		*out = sqlite3_column_int64(s, 0);
	(void)sqlite3_finalize(s);
	return rc == CM_EMORE ? CM_OK : rc;
}
