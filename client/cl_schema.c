/* cl_schema.c - the tables of the client's database. */
#include "cl_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rd_loss_text.h"

#define APPLICATION 0x746f6d63 /* "tomc" */

#define COLUMNS                                                                                        \
	"(entry INTEGER PRIMARY KEY, kind TEXT NOT NULL CHECK(kind IN ('seen', 'refused', 'charged', " \
	"'over')),"                                                                                    \
	" time_ms INTEGER NOT NULL, sequence INTEGER NOT NULL, descriptor_hash BLOB NOT NULL,"         \
	" round_id BLOB NOT NULL, query TEXT NOT NULL, ledger_seq INTEGER NOT NULL,"                   \
	" ledger_head BLOB NOT NULL, loss TEXT, epsilon_round REAL, epsilon_total REAL, note TEXT) STRICT;"

/* The ledger only grows: triggers refuse to change it. */
#define GUARDS                                                                                            \
	"CREATE UNIQUE INDEX one_descriptor ON ledger(sequence) WHERE kind = 'seen';"                     \
	"CREATE UNIQUE INDEX one_charge ON ledger(sequence) WHERE kind = 'charged';"                      \
	"CREATE TRIGGER no_update BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'append-only'); END;" \
	"CREATE TRIGGER no_delete BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'append-only'); END;"

/* A device has one row a round (UNIQUE), so that nothing can randomize its value twice; `slot` is the order
 * of sending. */
static const char tables[] =
	"BEGIN IMMEDIATE;"
	"CREATE TABLE meta(one INTEGER PRIMARY KEY CHECK(one = 1), population TEXT NOT NULL) STRICT;"
	"CREATE TABLE ledger" COLUMNS GUARDS
	"CREATE TABLE active(one INTEGER PRIMARY KEY CHECK(one = 1), sequence INTEGER NOT NULL,"
	" descriptor BLOB NOT NULL, signature BLOB NOT NULL, whole INTEGER NOT NULL) STRICT;"
	"CREATE TABLE submission(slot INTEGER PRIMARY KEY, pseudonym BLOB NOT NULL UNIQUE,"
	" sealed BLOB NOT NULL, outcome INTEGER) STRICT;";

/* Dropping a table fires no trigger. */
static const char from_1[] =
	"CREATE TABLE anew" COLUMNS "INSERT INTO anew SELECT entry, kind, time_ms, sequence, "
	"descriptor_hash, round_id, query, ledger_seq,"
	" ledger_head, CASE WHEN kind = 'charged' THEN loss_of(others, dummies, cells) END, epsilon_round,"
	" epsilon_total, note FROM ledger;"
	"DROP TABLE ledger; ALTER TABLE anew RENAME TO ledger;" GUARDS;

static enum cm_rc commit(struct cl_db *db, struct cm_err *err)
{
	char stamp[96];

	(void)snprintf(stamp, sizeof stamp, "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT;",
		APPLICATION, CL_SCHEMA);
	return cl_db_exec(db, stamp, err);
}

enum cm_rc cl_schema_create(struct cl_db *db, const char *population, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = cl_db_exec(db, tables, err);

	if (rc == CM_OK)
		rc = cl_db_prepare(db, "INSERT INTO meta VALUES(1, ?)", &st, err);
	if (rc == CM_OK && sqlite3_bind_text(st, 1, population, -1, SQLITE_STATIC) != SQLITE_OK)
		rc = cl_db_fail(db, err);
	if (rc == CM_OK)
		rc = cl_db_done(db, st, err);
	sqlite3_finalize(st);
	return rc == CM_OK ? commit(db, err) : rc;
}

enum cm_rc cl_schema_check(struct cl_db *db, const char *path, int64_t *version, struct cm_err *err)
{
	int64_t application = 0;
	enum cm_rc rc = cl_db_int(db, "PRAGMA application_id", &application, err);

	if (rc == CM_OK)
		rc = cl_db_int(db, "PRAGMA user_version", version, err);
	if (rc == CM_OK && (application != APPLICATION || *version < 1 || *version > CL_SCHEMA))
		rc = cm_fail(err, CM_EDATA, "%s: no client database of this version", path);
	return rc;
}

/* ---- version 1 ---- */

/* "omega:u:v omega:u:v ..." */
static bool take_cells(const char *text, struct acct_round *r)
{
	while (*text != '\0') {
		struct acct_cell *c = &r->cell[r->cells];
		double *part[3] = { &c->omega, &c->u, &c->v };

		if (r->cells == ACCT_MAX_CELLS)
			return false;
		for (int i = 0; i < 3; i++) {
			char *end;

			*part[i] = strtod(text, &end);
			if (end == text || (i < 2 && *end != ':') || (i == 2 && *end != ' ' && *end != '\0'))
				return false;
			text = *end == '\0' ? end : end + 1;
		}
		r->cells++;
	}
	return r->cells > 0;
}

/* SQL: loss_of(others, dummies, cells). */
static void loss_of(sqlite3_context *ctx, int n, sqlite3_value **value)
{
	const char *cells = (const char *)sqlite3_value_text(value[2]);
	struct acct_round r = { .count = 1 };
	struct pt_loss loss = { .parts = 1 };
	struct cm_buf text;
	struct cm_err err;
	bool read;

	(void)n;
	cm_buf_init(&text, RD_LOSS_TEXT_MAX);
	r.others = (uint64_t)sqlite3_value_int64(value[0]);
	r.dummies = (uint64_t)sqlite3_value_int64(value[1]);
	read = cells != NULL && take_cells(cells, &r);
	loss.part[0] = r;
	if (read && rd_loss_put(&loss, &text, &err) == CM_OK) {
		sqlite3_result_text(ctx, (const char *)text.data, (int)text.len, SQLITE_TRANSIENT);
	} else {
		sqlite3_result_error(ctx, "a charge of the ledger is damaged", -1);
		sqlite3_result_error_code(ctx, SQLITE_CORRUPT);
	}
	cm_buf_fini(&text);
}

enum cm_rc cl_schema_upgrade(struct cl_db *db, struct cm_err *err)
{
	int64_t version = 0;
	enum cm_rc rc = cl_db_exec(db, "BEGIN IMMEDIATE", err);

	if (rc != CM_OK)
		return rc;
	/* Another process may have done it meanwhile. */
	rc = cl_db_int(db, "PRAGMA user_version", &version, err);
	if (rc == CM_OK && version == 1 &&
		sqlite3_create_function(db->sql, "loss_of", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
			loss_of, NULL, NULL) != SQLITE_OK)
		rc = cl_db_fail(db, err);
	if (rc == CM_OK && version == 1)
		rc = cl_db_exec(db, from_1, err);
	if (rc == CM_OK)
		rc = commit(db, err);
	if (rc != CM_OK)
		cl_db_rollback(db);
	return rc;
}
