/* sh_sqlite_ledger.h - stores witnessed records, pins, standings, heads and the accepted loss in state.db;
 * part of sh_sqlite.c. */
#pragma once

#include <sqlite3.h>

#include "sh_store.h"

/* The tables; sh_sqlite.c defines the SQL function row_sum. */
#define SH_SQLITE_LEDGER_SCHEMA                                                                            \
	"CREATE TABLE IF NOT EXISTS record(seq INTEGER PRIMARY KEY, body BLOB NOT NULL, sum BLOB);"        \
	"CREATE TABLE IF NOT EXISTS pin(record INTEGER PRIMARY KEY, state INTEGER NOT NULL,"               \
	" epsilon BLOB NOT NULL, taken BLOB, sum BLOB NOT NULL);"                                          \
	"CREATE TABLE IF NOT EXISTS standing(name BLOB PRIMARY KEY, sequence INTEGER NOT NULL,"            \
	" descriptor BLOB NOT NULL, sum BLOB NOT NULL) WITHOUT ROWID;"                                     \
	"CREATE TABLE IF NOT EXISTS head(name BLOB PRIMARY KEY, devices INTEGER NOT NULL,"                 \
	" seq INTEGER NOT NULL, before BLOB NOT NULL, descriptor BLOB NOT NULL, sum BLOB NOT NULL)"        \
	" WITHOUT ROWID;"                                                                                  \
	"CREATE TABLE IF NOT EXISTS closed(id INTEGER PRIMARY KEY, record INTEGER NOT NULL, sum BLOB NOT " \
	"NULL);"

struct sh_sqlite_ledger {
	sqlite3 *db; /* the open state.db, borrowed; it has the tables and row_sum */
	sqlite3_stmt *put_record, *get_record, *all_records, *put_pin, *all_pins, *put_standing,
		*get_standing, *put_head, *all_heads;
};

CM_CHECK enum cm_rc sh_sqlite_ledger_init(struct sh_sqlite_ledger *p, sqlite3 *db, struct cm_err *err);
void sh_sqlite_ledger_fini(struct sh_sqlite_ledger *p); /* accepts a zeroed struct */

/* As declared in sh_store.h. */
CM_CHECK enum cm_rc sh_sqlite_records_put(struct sh_sqlite_ledger *p, uint64_t first,
	const struct cr_span *records, size_t n, struct cm_err *err);
CM_CHECK enum cm_rc sh_sqlite_record_get(
	struct sh_sqlite_ledger *p, uint64_t seq, sh_record_fn *fn, void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_sqlite_record_each(
	struct sh_sqlite_ledger *p, sh_record_fn *fn, void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_sqlite_pin_put(
	struct sh_sqlite_ledger *p, const struct sh_pin_row *pin, struct cm_err *err);
CM_CHECK enum cm_rc sh_sqlite_pin_each(
	struct sh_sqlite_ledger *p, sh_pin_fn *fn, void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_sqlite_loss_get(struct sh_sqlite_ledger *p, struct sh_loss *loss, struct cm_err *err);
CM_CHECK enum cm_rc sh_sqlite_loss_put(
	struct sh_sqlite_ledger *p, const struct sh_loss *loss, struct cm_err *err);
CM_CHECK enum cm_rc sh_sqlite_head_put(
	struct sh_sqlite_ledger *p, const struct sh_head_row *head, struct cm_err *err);
CM_CHECK enum cm_rc sh_sqlite_head_each(
	struct sh_sqlite_ledger *p, sh_head_fn *fn, void *user, struct cm_err *err);
CM_CHECK enum cm_rc sh_sqlite_standings_put(
	struct sh_sqlite_ledger *p, const struct sh_standing *standing, size_t n, struct cm_err *err);
CM_CHECK enum cm_rc sh_sqlite_standing_get(struct sh_sqlite_ledger *p, const uint8_t name[PR_HASH_LEN],
	struct sh_standing *out, struct cm_err *err);
/* sh_sqlite_loss_put within the caller's transaction. */
CM_CHECK enum cm_rc sh_sqlite_loss(sqlite3 *db, const struct sh_loss *loss, struct cm_err *err);
