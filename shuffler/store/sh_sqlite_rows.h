/* sh_sqlite_rows.h - stores rounds in state.db; part of sh_sqlite.c. */
#pragma once

#include <sqlite3.h>

#include "sh_store.h"

/* The table; sh_sqlite.c defines the SQL function row_sum. */
#define SH_SQLITE_ROWS_SCHEMA                                                                        \
	"CREATE TABLE IF NOT EXISTS round(id BLOB PRIMARY KEY, sequence INTEGER NOT NULL UNIQUE,"    \
	" state INTEGER NOT NULL, descriptor BLOB NOT NULL, signature BLOB NOT NULL, manifest BLOB," \
	" manifest_signature BLOB, charge BLOB, sum BLOB) WITHOUT ROWID;"

struct sh_sqlite_rows {
	sqlite3_stmt *put, *get, *all;
};

CM_CHECK enum cm_rc sh_sqlite_rows_init(struct sh_sqlite_rows *p, sqlite3 *db, struct cm_err *err);
void sh_sqlite_rows_fini(struct sh_sqlite_rows *p); /* accepts a zeroed struct */

/* As declared in sh_store.h. */
CM_CHECK enum cm_rc sh_sqlite_row_put(struct sh_sqlite_rows *p, const struct sh_row *row, struct cm_err *err);
CM_CHECK enum cm_rc sh_sqlite_row_get(struct sh_sqlite_rows *p, const uint8_t round_id[PR_ROUND_ID_LEN],
	sh_row_fn *fn, void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_sqlite_row_each(
	struct sh_sqlite_rows *p, sh_row_fn *fn, void *user, struct cm_err *err);
