/* sh_sqlite_rows.c - stores rounds in state.db. */
#include "sh_sqlite_rows.h"

#include <string.h>

#include "db_sqlite.h"

/* SQLite has no checksums of rows.  One flipped bit could turn a collecting round into a void one, whose
 * messages the next start would destroy.  So `sum` is row_sum (db_sqlite.h) of all other columns. */
#define ROW_COLUMNS "id, sequence, state, descriptor, signature, manifest, manifest_signature, charge"
#define ROW_SUM     "row_sum(" ROW_COLUMNS ")"

static const struct db_statement statements[] = {
	/* Inserting a second round with a used sequence number fails; it never replaces the first. */
	{ offsetof(struct sh_sqlite_rows, put),
		"INSERT INTO round(" ROW_COLUMNS ", sum)"
		" VALUES(?1,?2,?3,?4,?5,?6,?7,?8,row_sum(?1,?2,?3,?4,?5,?6,?7,?8))"
		" ON CONFLICT(id) DO UPDATE SET state=excluded.state, manifest=excluded.manifest,"
		" manifest_signature=excluded.manifest_signature, charge=excluded.charge, sum=excluded.sum" },
	{ offsetof(struct sh_sqlite_rows, get),
		"SELECT " ROW_COLUMNS ", sum=" ROW_SUM " FROM round WHERE id=?" },
	{ offsetof(struct sh_sqlite_rows, all),
		"SELECT " ROW_COLUMNS ", sum=" ROW_SUM " FROM round ORDER BY sequence" },
};
#define STATEMENTS (sizeof statements / sizeof *statements)

enum cm_rc sh_sqlite_rows_init(struct sh_sqlite_rows *p, sqlite3 *db, struct cm_err *err)
{
	return db_prepare_all(db, statements, STATEMENTS, p, err);
}

void sh_sqlite_rows_fini(struct sh_sqlite_rows *p)
{
	db_finalize_all(statements, STATEMENTS, p);
}

enum cm_rc sh_sqlite_row_put(struct sh_sqlite_rows *p, const struct sh_row *row, struct cm_err *err)
{
	sqlite3_stmt *s = p->put;

	db_bind(s, 1, row->round_id, PR_ROUND_ID_LEN);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)row->sequence);
	(void)sqlite3_bind_int64(s, 3, row->state);
	db_bind(s, 4, row->descriptor.data, row->descriptor.len);
	db_bind(s, 5, row->signature.data, row->signature.len);
	db_bind(s, 6, row->manifest.data, row->manifest.len);
	db_bind(s, 7, row->manifest_signature.data, row->manifest_signature.len);
	db_bind(s, 8, row->charge.data, row->charge.len);
	return db_done(s, err);
}

static enum cm_rc row_read(sqlite3_stmt *s, struct sh_row *row, struct cm_err *err)
{
	struct cr_span id = db_blob(s, 0);
	int64_t state = sqlite3_column_int64(s, 2);

	if (sqlite3_column_int(s, 8) != 1 || id.len != PR_ROUND_ID_LEN || state < SH_COLLECTING ||
		state > SH_VOID)
		return cm_fail(err, CM_EDATA, "state.db: a round's row is damaged");
	*row = (struct sh_row){ .sequence = (uint64_t)sqlite3_column_int64(s, 1),
		.state = (enum sh_state)state,
		.descriptor = db_blob(s, 3),
		.signature = db_blob(s, 4),
		.manifest = db_blob(s, 5),
		.manifest_signature = db_blob(s, 6),
		.charge = db_blob(s, 7) };
	memcpy(row->round_id, id.data, id.len);
	return CM_OK;
}

static enum cm_rc rows(sqlite3_stmt *s, sh_row_fn *fn, void *user, size_t *n, struct cm_err *err)
{
	struct sh_row row;
	enum cm_rc rc = CM_OK;

	for (*n = 0; db_row(s, &rc, err); ++*n) {
		rc = row_read(s, &row, err);
		if (rc == CM_OK)
			rc = fn(user, &row, err);
	}
	(void)sqlite3_reset(s);
	return rc;
}

enum cm_rc sh_sqlite_row_get(struct sh_sqlite_rows *p, const uint8_t round_id[PR_ROUND_ID_LEN], sh_row_fn *fn,
	void *user, struct cm_err *err)
{
	size_t n;

	db_bind(p->get, 1, round_id, PR_ROUND_ID_LEN);
	enum cm_rc rc = rows(p->get, fn, user, &n, err);
	(void)sqlite3_clear_bindings(p->get);
	return rc == CM_OK && n == 0 ? cm_fail(err, CM_ENOINPUT, "no such round") : rc;
}

enum cm_rc sh_sqlite_row_each(struct sh_sqlite_rows *p, sh_row_fn *fn, void *user, struct cm_err *err)
{
	size_t n;

	return rows(p->all, fn, user, &n, err);
}
