/* sh_pg.h - one connection to a PostgreSQL server: statements, rows, transactions, COPY, and locks that end
 * with it.
 *
 * All faults have one mapping: CM_EINTERNAL without memory; CM_EDATA for data that the server calls damaged,
 * and for a statement that its tables do not allow, since ours are always the same; CM_EPERM for a right that
 * the role lacks; else CM_EIO.  After a fault a transaction can only be ended, and after a lost connection, a
 * time-out or a warning of the server every later call is CM_EIO, too: what a session has in doubt is read
 * anew by the next process.
 *
 * No call waits for ever: one that makes no progress for SH_PG_WAIT_MS (SH_PG_LONG_MS where a function says
 * so) is a fault, shorter than the watchdog of the units.
 *
 * One thread at a time may use a connection. */
#pragma once

#include "cr_hash.h"
#include "sh_pg_params.h"

#define SH_PG_WAIT_MS      40000
#define SH_PG_STATEMENT_MS "30000" /* after which the server ends a statement */
#define SH_PG_LONG_MS      (6 * 3600 * 1000)

struct sh_pg;

/* How to connect.  Borrowed by what opens connections, for its life. */
struct sh_pg_conf {
	const char *database;    /* libpq's connection string or URI, that sh_pg_params accepts */
	uint32_t standbys;       /* synchronous standbys that the server must have */
	bool readonly;           /* each transaction is read-only */
	const char *intake_role; /* of a head with intakes: their role (sh_pg_rights.h); else NULL */
	/* Of the list of servers (sh_pg_servers.h): the strings of those beside `database`. */
	char *const *further;
	size_t n_further;
	const char *name; /* of one of them: what faults call it; NULL: "database" */
};

/* Connect, set the session, and check the server (sh_pg_server.c): version 13 or later; fsync and
 * full_page_writes on; as many synchronous standbys as demanded; no standby itself.  CM_EUNAVAIL: it cannot
 * be reached, is starting or lacks standbys now, which may pass; CM_ECONFIG, CM_EPERM: a setting or a login
 * that will not pass by itself. */
CM_CHECK enum cm_rc sh_pg_open(const struct sh_pg_conf *conf, struct sh_pg **out, struct cm_err *err);
/* Ask whether the server still keeps what is committed: fsync, full_page_writes and synchronous_commit are
 * on, and a commit waits for as many standbys as demanded.  All of them can be changed while it runs. CM_EIO:
 * it does not, and nothing that it has committed since it was asked last may be acknowledged. */
CM_CHECK enum cm_rc sh_pg_keeps(struct sh_pg *pg, struct cm_err *err);
/* The server is on another host. */
bool sh_pg_is_remote(const struct sh_pg *pg);
/* Neither side has closed the connection, as far as this host knows.  Asks the kernel alone, so another
 * thread may use the connection meanwhile. */
bool sh_pg_is_up(const struct sh_pg *pg);
void sh_pg_close(struct sh_pg *pg); /* accepts NULL; ends its transaction and its locks */

/* ---- Values and rows ---- */

/* A parameter of a statement, $1 first: an int8, or bytes, borrowed (len 0: NULL). */
struct sh_pg_value {
	uint8_t number[8]; /* big-endian */
	const void *bytes; /* NULL with len 0: the number */
	size_t len;
	bool is_number;
};
struct sh_pg_value sh_pg_int(int64_t number);
struct sh_pg_value sh_pg_bytes(const void *bytes, size_t len);

#define SH_PG_VALUES_MAX 12u

/* Row of a result: int8, bytea and text columns, and no other type. */
struct sh_pg_row;
int64_t sh_pg_row_int(const struct sh_pg_row *row, int column); /* 0 for NULL */
struct cr_span sh_pg_row_bytes(const struct sh_pg_row *row, int column);
/* The last column is the sum (below) of the others. */
bool sh_pg_row_whole(const struct sh_pg_row *row);
typedef enum cm_rc sh_pg_row_fn(void *user, const struct sh_pg_row *row, struct cm_err *err);

/* SHA-256 of each value's type, length and bytes, as row_sum of db_sqlite.h: PostgreSQL checks rows only
 * where the administrator asked for checksums of pages, and one flipped bit could turn a collecting round
 * into a void one. */
void sh_pg_sum(const struct sh_pg_value *value, size_t n, uint8_t out[CR_HASH_LEN]);

/* ---- Statements ---- */

/* The last fault had this SQLSTATE. */
bool sh_pg_failed_with(const struct sh_pg *pg, const char *state);

/* Run statements without parameters; rows are dropped. */
CM_CHECK enum cm_rc sh_pg_run(struct sh_pg *pg, const char *sql, struct cm_err *err);
/* The same with SH_PG_LONG_MS, also for the server's statement_timeout. */
CM_CHECK enum cm_rc sh_pg_run_long(struct sh_pg *pg, const char *sql, struct cm_err *err);
/* Run one statement, then call fn (NULL: drop the rows) for each row.  fn may use the connection.  A fault of
 * fn ends the visit and is returned.  *n (unless NULL): the number of rows. */
CM_CHECK enum cm_rc sh_pg_query(struct sh_pg *pg, const char *sql, const struct sh_pg_value *value,
	size_t values, sh_pg_row_fn *fn, void *user, size_t *n, struct cm_err *err);
/* The same with the sum of the values as a further value; outside of a transaction, sh_pg_keeps follows. */
CM_CHECK enum cm_rc sh_pg_put(struct sh_pg *pg, const char *sql, const struct sh_pg_value *value,
	size_t values, struct cm_err *err);
/* The same, row by row while they arrive, for more rows than memory should hold.  fn must not use the
 * connection.  Waits SH_PG_LONG_MS for each row, as the server does for all: the first may have to be
 * searched and sorted, and fn may be slow. */
CM_CHECK enum cm_rc sh_pg_stream(struct sh_pg *pg, const char *sql, const struct sh_pg_value *value,
	size_t values, sh_pg_row_fn *fn, void *user, struct cm_err *err);
/* The number that a query gives; 0 for NULL or no row. */
CM_CHECK enum cm_rc sh_pg_number(struct sh_pg *pg, const char *sql, const struct sh_pg_value *value,
	size_t values, int64_t *out, struct cm_err *err);

/* A transaction; end commits, or rolls back when rc is a fault, and returns rc or its own.  A COMMIT that
 * says anything but that it is durable (on the standbys, too), or that sh_pg_keeps does not confirm, is
 * CM_EIO: it may be there or not.  It may take as long as what was run last. */
CM_CHECK enum cm_rc sh_pg_begin(struct sh_pg *pg, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_end(struct sh_pg *pg, enum cm_rc rc, struct cm_err *err);

/* ---- COPY ... FROM STDIN (FORMAT binary) ---- */

/* Begin, add rows, end; nothing else may be run between.  A row is 2 columns or more. */
CM_CHECK enum cm_rc sh_pg_copy_begin(struct sh_pg *pg, const char *sql, struct cm_err *err);
CM_CHECK enum cm_rc sh_pg_copy_row(
	struct sh_pg *pg, const struct sh_pg_value *value, size_t values, struct cm_err *err);
/* rc: a fault makes the server drop the rows, and is returned. */
CM_CHECK enum cm_rc sh_pg_copy_end(struct sh_pg *pg, enum cm_rc rc, struct cm_err *err);

/* ---- Who may write ---- */

/* Take the advisory lock of `role` ("state", "standing", "data"), for a round and partition (round_id NULL:
 * of none), until the connection ends.  Whoever writes takes it on the connection that writes: the server
 * ends the lock and the ability to commit together, and no clock is asked.  `shared`: beside others that
 * share it.  CM_ELATER: another session has it after some seconds (those of a process that was killed end
 * first). */
CM_CHECK enum cm_rc sh_pg_hold(struct sh_pg *pg, const char *role, const uint8_t *round_id,
	uint32_t partition, bool shared, struct cm_err *err);
/* Commit something here, durably on the standbys too: so what this session has read from others is durable. A
 * process that was killed in a commit may have left it visible and not yet replicated. */
CM_CHECK enum cm_rc sh_pg_settle(struct sh_pg *pg, struct cm_err *err);
