/* db_sqlite.h - opens SQLite files, and runs statements with errors that say what failed.
 *
 * All functions fail alike: CM_EINTERNAL when memory ran out; CM_EDATA for a damaged file, which includes
 * one whose tables do not fit our statements, since these are always the same; otherwise CM_EIO.  Each
 * message names the file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "cm_rc.h"
#include "cr_hash.h"

struct db_conf {
	bool create, readonly;
	int busy_ms; /* how long a statement waits for another process */
};
/* Open a file; *out is NULL after a fault.
 *
 * Statements may call row_sum(...): SHA-256 of each argument's type, length and bytes, at most 8
 * arguments. */
CM_CHECK enum cm_rc db_open(const char *path, const struct db_conf *conf, sqlite3 **out, struct cm_err *err);
/* Run these pragmas on a database that will be written.  CM_EDATA also for a writable file whose header
 * says that it is read-only: otherwise only the first write would notice, when there is something to keep. */
CM_CHECK enum cm_rc db_set(sqlite3 *db, const char *settings, struct cm_err *err);
/* Run a pragma that must answer "ok", else CM_EDATA: SQLite leaves out rows of a damaged file without
 * saying so. */
CM_CHECK enum cm_rc db_check(sqlite3 *db, const char *check, struct cm_err *err);
/* Move the write-ahead log into the file.  A process that is killed inside a commit may leave it complete
 * in the log but not synced: this makes it durable before anybody acts on what is read back.  It also
 * removes from the log what was erased. */
CM_CHECK enum cm_rc db_settle(sqlite3 *db, struct cm_err *err);

/* Run statements that have no result. */
CM_CHECK enum cm_rc db_run(sqlite3 *db, const char *sql, struct cm_err *err);
CM_CHECK enum cm_rc db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **out, struct cm_err *err);

/* The value of a parameter.  Bytes and text are borrowed until the statement is finalized; with NULL the
 * parameter is NULL. */
struct db_value {
	enum { DB_IS_INT, DB_IS_DOUBLE, DB_IS_BYTES, DB_IS_TEXT } type;
	int64_t number;
	double real;
	const void *data;
	size_t len;
};
#define DB_INT(value)       ((struct db_value){ .type = DB_IS_INT, .number = (int64_t)(value) })
#define DB_DOUBLE(value)    ((struct db_value){ .type = DB_IS_DOUBLE, .real = (value) })
#define DB_BYTES(bytes, n)  ((struct db_value){ .type = DB_IS_BYTES, .data = (bytes), .len = (n) })
#define DB_NULL             DB_BYTES(NULL, 0)
#define DB_TEXT(text)       DB_LETTERS(text, SIZE_MAX) /* as far as its NUL */
#define DB_LETTERS(text, n) ((struct db_value){ .type = DB_IS_TEXT, .data = (text), .len = (n) })

/* Prepare a query with the values of its parameters, at least one, in their order.  Finalize *out also after
 * a fault. */
CM_CHECK enum cm_rc db_select_values(sqlite3 *db, const char *sql, const struct db_value *value, size_t n,
	sqlite3_stmt **out, struct cm_err *err);
#define db_select(db, sql, out, err, ...)                                       \
	db_select_values((db), (sql), (const struct db_value[]){ __VA_ARGS__ }, \
		sizeof((const struct db_value[]){ __VA_ARGS__ }) / sizeof(struct db_value), (out), (err))
/* Run a statement that has no result once, with such values. */
CM_CHECK enum cm_rc db_change_values(
	sqlite3 *db, const char *sql, const struct db_value *value, size_t n, struct cm_err *err);
#define db_change(db, sql, err, ...)                                            \
	db_change_values((db), (sql), (const struct db_value[]){ __VA_ARGS__ }, \
		sizeof((const struct db_value[]){ __VA_ARGS__ }) / sizeof(struct db_value), (err))

/* One of the statements that a struct keeps prepared: the offset of its sqlite3_stmt *, and its text. */
struct db_statement {
	size_t at;
	const char *sql;
};
/* Prepare the n statements of the struct `in`, which has NULL for each; and finalize them, those that are
 * NULL too. */
CM_CHECK enum cm_rc db_prepare_all(
	sqlite3 *db, const struct db_statement *statement, size_t n, void *in, struct cm_err *err);
void db_finalize_all(const struct db_statement *statement, size_t n, void *in);

/* Make one step: CM_OK with a row, CM_EMORE when done, otherwise a fault. */
CM_CHECK enum cm_rc db_step(sqlite3_stmt *stmt, struct cm_err *err);
/* For a loop over the rows: true with the next row; false when done, or after a fault, which is then in
 * *rc.  Does nothing while *rc is a fault; the statement may then be NULL. */
bool db_row(sqlite3_stmt *stmt, enum cm_rc *rc, struct cm_err *err);
/* Run to the end, expecting no row; then reset for the next use. */
CM_CHECK enum cm_rc db_done(sqlite3_stmt *stmt, struct cm_err *err);
/* The number that a query returns; 0 for NULL or no row. */
CM_CHECK enum cm_rc db_int(sqlite3 *db, const char *sql, int64_t *out, struct cm_err *err);
/* Report the fault of the call before. */
enum cm_rc db_fail(sqlite3 *db, struct cm_err *err);

/* Begin a transaction that no other thread's statement on this connection can enter.  db_end commits, or
 * rolls back when rc is a fault, and returns rc or its own fault.  Call it also after a begin that
 * failed. */
CM_CHECK enum cm_rc db_begin(sqlite3 *db, struct cm_err *err);
CM_CHECK enum cm_rc db_end(sqlite3 *db, enum cm_rc rc, struct cm_err *err);
/* Undo the open transaction, after a fault that the caller already has. */
void db_rollback(sqlite3 *db);

/* Bind borrowed bytes; len 0 binds NULL. */
void db_bind(sqlite3_stmt *stmt, int at, const void *bytes, size_t len);
/* A column's bytes, valid until the next step. */
struct cr_span db_blob(sqlite3_stmt *stmt, int column);
