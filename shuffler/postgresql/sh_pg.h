/* sh_pg.h - one connection to a PostgreSQL server: statements, rows, transactions, COPY, and locks that end
 * with it.
 *
 * All faults have one mapping: CM_EINTERNAL without memory; CM_EDATA for data that the server calls
 * damaged, and for a statement that its tables do not allow, since our statements are always the same;
 * CM_EPERM for a right that the role lacks; otherwise CM_EIO.  After a fault a transaction can only be
 * ended.  After a lost connection, a time-out or a warning of the server every later call returns CM_EIO,
 * too: the next process reads again whatever is in doubt.
 *
 * No call waits for ever: one that makes no progress for SH_PG_WAIT_MS (SH_PG_LONG_MS where a function says
 * so) is a fault; this is shorter than the watchdog of the units.
 *
 * One thread at a time may use a connection. */
#pragma once

#include "cr_hash.h"
#include "sh_pg_params.h"

#define SH_PG_WAIT_MS      40000
#define SH_PG_STATEMENT_MS "30000" /* time after which the server ends a statement */
#define SH_PG_LONG_MS      (6 * 3600 * 1000)

struct sh_pg;

/* How to connect.  Whatever opens connections borrows it for its life. */
struct sh_pg_conf {
	const char *database;    /* libpq's connection string or URI, that sh_pg_params accepts */
	uint32_t standbys;       /* number of synchronous standbys that the server must have */
	bool readonly;           /* each transaction is read-only */
	const char *intake_role; /* for a head with intakes: their role (sh_pg_rights.h); otherwise NULL */
	/* The connection strings of the further servers of the list (sh_pg_servers.h), besides
	 * `database`. */
	char *const *further;
	size_t n_further;
	const char *name; /* for one of these: the name that faults have for it; NULL: "database" */
};

/* Connect, set the session, and check the server (sh_pg_server.c): version 13 or later; fsync and
 * full_page_writes on; as many synchronous standbys as demanded; no standby itself.  CM_EUNAVAIL: it cannot
 * be reached, is starting or lacks standbys now, which may pass; CM_ECONFIG, CM_EPERM: a setting or a login
 * that will not pass by itself. */
CM_CHECK enum cm_rc sh_pg_open(const struct sh_pg_conf *conf, struct sh_pg **out, struct cm_err *err);
/* Ask whether the server still keeps what is committed: fsync, full_page_writes and synchronous_commit are
 * on, and a commit waits for as many standbys as demanded.  All of these can be changed while it runs.
 * CM_EIO: it does not, and nothing that it committed since the last question may be acknowledged. */
CM_CHECK enum cm_rc sh_pg_keeps(struct sh_pg *pg, struct cm_err *err);
/* Is the server on another host? */
bool sh_pg_is_remote(const struct sh_pg *pg);
/* As far as this host knows, has neither side closed the connection?  Asks only the kernel, so another
 * thread may use the connection meanwhile. */
bool sh_pg_is_up(const struct sh_pg *pg);
void sh_pg_close(struct sh_pg *pg); /* accepts NULL; ends its transaction and its locks */

/* ---- Values and rows ---- */

/* A parameter of a statement, $1 first: an int8, or borrowed bytes (len 0: NULL). */
struct sh_pg_value {
	uint8_t number[8]; /* big-endian */
	const void *bytes; /* NULL with len 0: the value is the number */
	size_t len;
	bool is_number;
};
struct sh_pg_value sh_pg_int(int64_t number);
struct sh_pg_value sh_pg_bytes(const void *bytes, size_t len);

#define SH_PG_VALUES_MAX 12u

/* A row of a result, which has int8, bytea and text columns, and no other type. */
struct sh_pg_row;
int64_t sh_pg_row_int(const struct sh_pg_row *row, int column); /* the number in a column; 0 for NULL */
struct cr_span sh_pg_row_bytes(const struct sh_pg_row *row, int column);
/* Is the last column the sum (below) of the others? */
bool sh_pg_row_whole(const struct sh_pg_row *row);
typedef enum cm_rc sh_pg_row_fn(void *user, const struct sh_pg_row *row, struct cm_err *err);

/* SHA-256 of each value's type, length and bytes, as row_sum of db_sqlite.h.  PostgreSQL checks rows only
 * if the administrator asked for checksums of pages, and one flipped bit could turn a collecting round into
 * a void one. */
void sh_pg_sum(const struct sh_pg_value *value, size_t n, uint8_t out[CR_HASH_LEN]);

/* ---- Statements ---- */

/* Did the last fault have this SQLSTATE? */
bool sh_pg_failed_with(const struct sh_pg *pg, const char *state);

/* Run statements without parameters; rows are dropped. */
CM_CHECK enum cm_rc sh_pg_run(struct sh_pg *pg, const char *sql, struct cm_err *err);
/* The same with SH_PG_LONG_MS, also for the server's statement_timeout. */
CM_CHECK enum cm_rc sh_pg_run_long(struct sh_pg *pg, const char *sql, struct cm_err *err);
/* Run one statement, then call fn (NULL: drop the rows) for each row.  fn may use the connection.  A fault of
 * fn ends the visit and is returned.  *n (unless NULL): the number of rows. */
CM_CHECK enum cm_rc sh_pg_query(struct sh_pg *pg, const char *sql, const struct sh_pg_value *value,
	size_t values, sh_pg_row_fn *fn, void *user, size_t *n, struct cm_err *err);
/* The same with the sum of the values as one value more; outside of a transaction, calls sh_pg_keeps
 * afterwards. */
CM_CHECK enum cm_rc sh_pg_put(struct sh_pg *pg, const char *sql, const struct sh_pg_value *value,
	size_t values, struct cm_err *err);
/* The same, handing over rows while they arrive, for more rows than memory should hold.  fn must not use
 * the connection.  Waits SH_PG_LONG_MS for each row, and so does the server for all: the first may have to
 * be searched and sorted, and fn may be slow. */
CM_CHECK enum cm_rc sh_pg_stream(struct sh_pg *pg, const char *sql, const struct sh_pg_value *value,
	size_t values, sh_pg_row_fn *fn, void *user, struct cm_err *err);
/* The number that a query returns; 0 for NULL or no row. */
CM_CHECK enum cm_rc sh_pg_number(struct sh_pg *pg, const char *sql, const struct sh_pg_value *value,
	size_t values, int64_t *out, struct cm_err *err);

/* A transaction.  sh_pg_end commits, or rolls back when rc is a fault, and returns rc or its own fault.  A
 * COMMIT is CM_EIO unless the server says that it is durable (on the standbys, too) and sh_pg_keeps
 * confirms it; the data may then be there or not. It may take as long as the statements before it. */
CM_CHECK enum cm_rc sh_pg_begin(struct sh_pg *pg, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_end(struct sh_pg *pg, enum cm_rc rc, struct cm_err *err);

/* ---- COPY ... FROM STDIN (FORMAT binary) ---- */

/* Begin, add rows, and end; nothing else may be run between.  A row has 2 columns or more. */
CM_CHECK enum cm_rc sh_pg_copy_begin(struct sh_pg *pg, const char *sql, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_copy_row(
	struct sh_pg *pg, const struct sh_pg_value *value, size_t values, struct cm_err *err);
/* rc: if it is a fault, the server drops the rows, and the fault is returned. */
CM_CHECK enum cm_rc sh_pg_copy_end(struct sh_pg *pg, enum cm_rc rc, struct cm_err *err);

/* ---- Who may write ---- */

/* Take the advisory lock of `role` ("state", "standing", "data"), for a round and partition (round_id NULL:
 * for no round), until the connection ends.  Whoever writes takes it on the connection that writes: the
 * server ends the lock and the ability to commit together, and no clock is needed.  `shared`: others may
 * share it.  CM_ELATER: another session has had it for some seconds (sessions of a process that was killed
 * end sooner). */
CM_CHECK enum cm_rc sh_pg_hold(struct sh_pg *pg, const char *role, const uint8_t *round_id,
	uint32_t partition, bool shared, struct cm_err *err);
/* Commit something here, durably on the standbys, too: then everything that this session has read is
 * durable.  A process that was killed during a commit may have left it visible and not yet replicated. */
CM_CHECK enum cm_rc sh_pg_settle(struct sh_pg *pg, struct cm_err *err);
