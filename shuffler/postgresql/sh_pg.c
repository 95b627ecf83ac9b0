/* sh_pg.c - runs statements on a PostgreSQL connection, with one mapping of their faults, and asks which
 * guarantees the server keeps. */
#include "sh_pg.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cm_clock.h"
#include "cm_fault.h"
#include "sh_pg_private.h"

#define OID_BYTEA 17
#define OID_INT8  20

/* ---- Faults ---- */

static bool class_is(const char *state, const char *class)
{
	return strncmp(state, class, strlen(class)) == 0;
}

static enum cm_rc code_of(const char *state)
{
	if (class_is(state, "42501"))
		return CM_EPERM;
	/* Our statements are constant, so an unknown name in one means that the tables are damaged. */
	return class_is(state, "XX00") || class_is(state, "42") ? CM_EDATA : CM_EIO;
}

enum cm_rc sh_pg_named(const struct sh_pg *pg, struct cm_err *err)
{
	return pg->name ? cm_context(err, "\"%.100s\"", pg->name) : err->code;
}

/* Report the fault of a result (NULL: of the connection). */
static enum cm_rc fault(struct sh_pg *pg, const PGresult *result, struct cm_err *err)
{
	const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
	const char *text = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	char line[240];

	if (!text)
		text = PQerrorMessage(pg->conn);
	(void)snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
	if (PQstatus(pg->conn) != CONNECTION_OK || !state)
		pg->dead = true;
	(void)snprintf(pg->state, sizeof pg->state, "%s", state ? state : "");
	(void)cm_fail(err, state ? code_of(state) : CM_EIO, "database: %s%s%s",
		*line ? line : "the connection was lost", state ? ", SQLSTATE " : "", state ? state : "");
	return sh_pg_named(pg, err);
}

bool sh_pg_failed_with(const struct sh_pg *pg, const char *state)
{
	return strcmp(pg->state, state) == 0;
}

/* CM_OK unless an earlier fault made this connection unusable. */
static enum cm_rc usable(const struct sh_pg *pg, struct cm_err *err)
{
	if (!pg->dead)
		return CM_OK;
	(void)cm_fail(err, CM_EIO, "database: the connection failed before");
	return sh_pg_named(pg, err);
}

/* ---- Waiting ---- */

/* Wait until the socket can be read; with `writing`, or written. */
static enum cm_rc wait_socket(struct sh_pg *pg, bool writing, int64_t until_ms, struct cm_err *err)
{
	struct pollfd fd = { .fd = PQsocket(pg->conn),
		.events = (short)(writing ? POLLIN | POLLOUT : POLLIN) };

	for (;;) {
		int64_t left = until_ms - cm_clock_mono_ms();
		int n = left > 0 ? poll(&fd, 1, left > INT32_MAX ? INT32_MAX : (int)left) : 0;

		if (n > 0)
			return CM_OK;
		if (n == 0 || errno != EINTR)
			break;
	}
	pg->dead = true;
	(void)cm_fail(err, CM_EIO, "database: no answer in time");
	return sh_pg_named(pg, err);
}

/* Send everything that is queued. */
static enum cm_rc flush(struct sh_pg *pg, struct cm_err *err)
{
	int64_t until = cm_clock_mono_ms() + SH_PG_WAIT_MS;
	int left;

	while ((left = PQflush(pg->conn)) > 0) {
		enum cm_rc rc = wait_socket(pg, true, until, err);
		if (rc != CM_OK)
			return rc;
		/* The server may wait until its output is read. */
		if (PQconsumeInput(pg->conn) == 0)
			return fault(pg, NULL, err);
	}
	return left == 0 ? CM_OK : fault(pg, NULL, err);
}

/* Wait for the next result; *out is NULL after the last. */
static enum cm_rc next(struct sh_pg *pg, int wait_ms, PGresult **out, struct cm_err *err)
{
	int64_t until = cm_clock_mono_ms() + wait_ms;

	*out = NULL;
	while (PQisBusy(pg->conn)) {
		enum cm_rc rc = wait_socket(pg, false, until, err);
		if (rc != CM_OK)
			return rc;
		if (PQconsumeInput(pg->conn) == 0)
			return fault(pg, NULL, err);
	}
	*out = PQgetResult(pg->conn);
	return CM_OK;
}

/* Drop the remaining results of a statement; a fault in rc stays. */
static enum cm_rc drain(struct sh_pg *pg, int wait_ms, enum cm_rc rc, struct cm_err *err)
{
	PGresult *result = NULL;
	struct cm_err beside = { 0 };
	struct cm_err *mine = rc == CM_OK ? err : &beside;

	while (!pg->dead) {
		enum cm_rc got = next(pg, wait_ms, &result, mine);
		if (got == CM_OK && !result)
			break;
		/* A COPY that nobody expects would never end. */
		ExecStatusType status = PQresultStatus(result);
		if (got == CM_OK &&
			(status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH)) {
			pg->dead = true;
			got = cm_fail(mine, CM_EINTERNAL, "database: a COPY was left open");
		} else if (got == CM_OK && status == PGRES_FATAL_ERROR) {
			got = fault(pg, result, mine);
		}
		PQclear(result);
		if (got != CM_OK && rc == CM_OK) {
			rc = got;
			mine = &beside;
		}
	}
	/* The server warns if it cannot keep a promise, for example that it stopped waiting for a commit's
	 * standbys. */
	if (rc == CM_OK && pg->warned) {
		pg->dead = true;
		rc = cm_fail(err, CM_EIO, "database: the server warns: %s", pg->warning);
	}
	return rc;
}

/* ---- Values ---- */

struct sh_pg_value sh_pg_int(int64_t number)
{
	struct sh_pg_value v = { .is_number = true };

	cm_put_be32(v.number, (uint32_t)((uint64_t)number >> 32));
	cm_put_be32(v.number + 4, (uint32_t)(uint64_t)number);
	return v;
}

struct sh_pg_value sh_pg_bytes(const void *bytes, size_t len)
{
	return (struct sh_pg_value){ .bytes = len > 0 ? bytes : NULL, .len = len };
}

static int64_t number_at(const uint8_t p[8])
{
	return (int64_t)((uint64_t)cm_get_be32(p) << 32 | cm_get_be32(p + 4));
}

int64_t sh_pg_row_int(const struct sh_pg_row *row, int column)
{
	struct cr_span b = sh_pg_row_bytes(row, column);

	return b.len == 8 ? number_at(b.data) : b.len == 4 ? (int32_t)cm_get_be32(b.data) : 0;
}

struct cr_span sh_pg_row_bytes(const struct sh_pg_row *row, int column)
{
	int len = PQgetlength(row->result, row->at, column);

	return len > 0 ? (struct cr_span){ PQgetvalue(row->result, row->at, column), (size_t)len }
		       : (struct cr_span){ NULL, 0 };
}

void sh_pg_sum(const struct sh_pg_value *value, size_t n, uint8_t out[CR_HASH_LEN])
{
	/* The types as SQLite numbers them. */
	enum { INTEGER = 1, BLOB = 4, NONE = 5 };
	uint8_t head[SH_PG_VALUES_MAX][9], number[SH_PG_VALUES_MAX][8];
	struct cr_span span[2 * SH_PG_VALUES_MAX], *next = span;

	for (size_t i = 0; i < n && i < SH_PG_VALUES_MAX; i++) {
		struct cr_span bytes = { value[i].bytes, value[i].len };

		head[i][0] = value[i].is_number ? INTEGER : bytes.len > 0 ? BLOB : NONE;
		if (value[i].is_number) {
			cm_put_le64(number[i], (uint64_t)number_at(value[i].number));
			bytes = (struct cr_span){ number[i], sizeof number[i] };
		}
		cm_put_le64(head[i] + 1, bytes.len);
		*next++ = (struct cr_span){ head[i], sizeof head[i] };
		*next++ = bytes;
	}
	cr_sha256_spans(span, (size_t)(next - span), out);
}

bool sh_pg_row_whole(const struct sh_pg_row *row)
{
	struct sh_pg_value value[SH_PG_VALUES_MAX];
	uint8_t sum[CR_HASH_LEN];
	int n = PQnfields(row->result) - 1;

	if (n < 1 || n > (int)SH_PG_VALUES_MAX)
		return false;
	for (int i = 0; i < n; i++) {
		struct cr_span b = sh_pg_row_bytes(row, i);
		value[i] = PQftype(row->result, i) == OID_INT8 && b.len > 0 ? sh_pg_int(sh_pg_row_int(row, i))
									    : sh_pg_bytes(b.data, b.len);
	}
	struct cr_span stored = sh_pg_row_bytes(row, n);
	sh_pg_sum(value, (size_t)n, sum);
	return stored.len == sizeof sum && memcmp(stored.data, sum, sizeof sum) == 0;
}

/* ---- Statements ---- */

static enum cm_rc send_values(
	struct sh_pg *pg, const char *sql, const struct sh_pg_value *value, size_t values, struct cm_err *err)
{
	const char *bytes[SH_PG_VALUES_MAX];
	int len[SH_PG_VALUES_MAX], format[SH_PG_VALUES_MAX];
	Oid type[SH_PG_VALUES_MAX];

	enum cm_rc rc = usable(pg, err);
	if (rc != CM_OK)
		return rc;
	if (values > SH_PG_VALUES_MAX)
		return cm_fail(err, CM_EINTERNAL, "database: too many values");
	for (size_t i = 0; i < values; i++) {
		if (value[i].len > INT32_MAX)
			return cm_fail(err, CM_EINTERNAL, "database: a value is too long");
		bytes[i] = value[i].is_number ? (const char *)value[i].number : value[i].bytes;
		len[i] = value[i].is_number ? 8 : (int)value[i].len;
		type[i] = value[i].is_number ? OID_INT8 : OID_BYTEA;
		format[i] = 1;
	}
	pg->warned = false;
	if (PQsendQueryParams(pg->conn, sql, (int)values, type, bytes, len, format, 1) != 1)
		return fault(pg, NULL, err);
	return flush(pg, err);
}

static enum cm_rc run(struct sh_pg *pg, const char *sql, int wait_ms, struct cm_err *err)
{
	enum cm_rc rc = usable(pg, err);

	if (rc != CM_OK)
		return rc;
	pg->warned = false;
	rc = PQsendQuery(pg->conn, sql) == 1 ? flush(pg, err) : fault(pg, NULL, err);
	return drain(pg, wait_ms, rc, err);
}

enum cm_rc sh_pg_run(struct sh_pg *pg, const char *sql, struct cm_err *err)
{
	return run(pg, sql, SH_PG_WAIT_MS, err);
}

/* Set whether the next statements may take longer than SH_PG_STATEMENT_MS. */
static enum cm_rc set_long(struct sh_pg *pg, bool is_long, struct cm_err *err)
{
	if (pg->is_long == is_long)
		return CM_OK;
	pg->is_long = is_long;
	return sh_pg_run(pg,
		is_long ? "SET statement_timeout = 0" : "SET statement_timeout = " SH_PG_STATEMENT_MS, err);
}

enum cm_rc sh_pg_run_long(struct sh_pg *pg, const char *sql, struct cm_err *err)
{
	enum cm_rc rc = set_long(pg, true, err);

	return rc == CM_OK ? run(pg, sql, SH_PG_LONG_MS, err) : rc;
}

enum cm_rc sh_pg_query(struct sh_pg *pg, const char *sql, const struct sh_pg_value *value, size_t values,
	sh_pg_row_fn *fn, void *user, size_t *n, struct cm_err *err)
{
	PGresult *result = NULL;
	enum cm_rc rc = set_long(pg, false, err);

	if (rc == CM_OK)
		rc = send_values(pg, sql, value, values, err);
	if (rc == CM_OK)
		rc = next(pg, SH_PG_WAIT_MS, &result, err);
	ExecStatusType status = PQresultStatus(result);
	if (rc == CM_OK && status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		rc = fault(pg, result, err);
	rc = drain(pg, SH_PG_WAIT_MS, rc, err);
	int rows = rc == CM_OK ? PQntuples(result) : 0;
	for (int i = 0; rc == CM_OK && fn && i < rows; i++)
		rc = fn(user, &(struct sh_pg_row){ result, i }, err);
	if (n)
		*n = (size_t)rows;
	PQclear(result);
	return rc;
}

/* ---- What a server keeps of what it commits ---- */

struct server {
	bool fsync, pages, commits;
	int demanded; /* number of synchronous standbys for which a commit waits */
	bool standby;
	int64_t replicas;
};
/* The first columns, and those that only a start needs. */
#define SETTINGS                                                                                              \
	"SELECT (current_setting('fsync') = 'on')::int4, (current_setting('full_page_writes') = 'on')::int4," \
	" (current_setting('synchronous_commit') = 'on')::int4, current_setting('synchronous_standby_names')"
#define AT_START                                                                 \
	", pg_is_in_recovery()::int4, (SELECT count(*) FROM pg_stat_replication" \
	"  WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum'))"

/* The number of standbys that a commit waits for: [FIRST
 *  ANY] N (...), or a plain list, which means one; "" means none. */
static int demanded_of(const char *names, size_t len)
{
	char text[64];

	(void)snprintf(text, sizeof text, "%.*s", (int)len, names ? names : "");
	const char *at = text + strspn(text, " ");
	if (*at == '\0')
		return 0;
	if (strncasecmp(at, "FIRST", 5) == 0 || strncasecmp(at, "ANY", 3) == 0)
		at += strcspn(at, " 0123456789(");
	at += strspn(at, " ");
	char *end;
	long n = strtol(at, &end, 10);
	return end > at && end[strspn(end, " ")] == '(' && n > 0 && n < 1000 ? (int)n : 1;
}

static enum cm_rc take_server(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	struct server *s = user;
	struct cr_span names = sh_pg_row_bytes(row, 3);

	(void)err;
	s->fsync = sh_pg_row_int(row, 0) == 1;
	s->pages = sh_pg_row_int(row, 1) == 1;
	s->commits = sh_pg_row_int(row, 2) == 1;
	s->demanded = demanded_of(names.data, names.len);
	return CM_OK;
}

static enum cm_rc take_at_start(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	struct server *s = user;

	s->standby = sh_pg_row_int(row, 4) == 1;
	s->replicas = sh_pg_row_int(row, 5);
	return take_server(user, row, err);
}

/* Judge the settings that may change while the server runs. */
static enum cm_rc judge_settings(const struct server *s, uint32_t standbys, struct cm_err *err)
{
	if (!s->fsync || !s->pages || !s->commits)
		return cm_fail(err, CM_ECONFIG,
			"database: %s is off on the server: what was acknowledged could be lost",
			!s->fsync   ? "fsync"
			: !s->pages ? "full_page_writes"
				    : "synchronous_commit");
	if (s->demanded < (int)standbys)
		return cm_fail(err, CM_ECONFIG,
			"database: synchronous_standby_names makes a commit wait for %d standbys, "
			"synchronous_standbys demands %" PRIu32,
			s->demanded, standbys);
	return CM_OK;
}

static enum cm_rc judge(const struct server *s, uint32_t standbys, struct cm_err *err)
{
	if (s->standby)
		return cm_fail(err, CM_EUNAVAIL, "database: the server is a standby");
	enum cm_rc rc = judge_settings(s, standbys, err);
	if (rc == CM_OK && s->replicas < (int64_t)standbys)
		return cm_fail(err, CM_EUNAVAIL,
			"database: %" PRId64
			" synchronous standbys are connected, synchronous_standbys demands "
			"%" PRIu32 " (the role must be a member of pg_monitor to see them)",
			s->replicas, standbys);
	return rc;
}

enum cm_rc sh_pg_check_server(struct sh_pg *pg, struct cm_err *err)
{
	struct server server = { .demanded = 0 };

	enum cm_rc rc = sh_pg_query(pg, SETTINGS AT_START, NULL, 0, take_at_start, &server, NULL, err);
	return rc != CM_OK || judge(&server, pg->standbys, err) == CM_OK ? rc : sh_pg_named(pg, err);
}

enum cm_rc sh_pg_keeps(struct sh_pg *pg, struct cm_err *err)
{
	struct server server = { .demanded = 0 };

	enum cm_rc rc = sh_pg_query(pg, SETTINGS, NULL, 0, take_server, &server, NULL, err);
	if (rc != CM_OK || !CM_CHECKED("shuffler.keeps") ||
		judge_settings(&server, pg->standbys, err) == CM_OK)
		return rc;
	err->code = CM_EIO;
	return sh_pg_named(pg, err);
}

/* ---- Statements of more than one call ---- */

enum cm_rc sh_pg_put(
	struct sh_pg *pg, const char *sql, const struct sh_pg_value *value, size_t values, struct cm_err *err)
{
	struct sh_pg_value all[SH_PG_VALUES_MAX];
	uint8_t sum[CR_HASH_LEN];

	if (values >= SH_PG_VALUES_MAX)
		return cm_fail(err, CM_EINTERNAL, "database: too many values");
	memcpy(all, value, values * sizeof *value);
	sh_pg_sum(value, values, sum);
	all[values] = sh_pg_bytes(sum, sizeof sum);
	enum cm_rc rc = sh_pg_query(pg, sql, all, values + 1, NULL, NULL, NULL, err);
	return rc == CM_OK && PQtransactionStatus(pg->conn) == PQTRANS_IDLE ? sh_pg_keeps(pg, err) : rc;
}

enum cm_rc sh_pg_stream(struct sh_pg *pg, const char *sql, const struct sh_pg_value *value, size_t values,
	sh_pg_row_fn *fn, void *user, struct cm_err *err)
{
	PGresult *result;
	/* The server counts the time until its rows arrive, and the time that fn takes for them. */
	enum cm_rc rc = set_long(pg, true, err);

	if (rc == CM_OK)
		rc = send_values(pg, sql, value, values, err);
	if (rc == CM_OK && PQsetSingleRowMode(pg->conn) != 1)
		rc = cm_fail(err, CM_EINTERNAL, "database: not row by row");
	for (bool more = true; rc == CM_OK && more;) {
		rc = next(pg, SH_PG_LONG_MS, &result, err);
		ExecStatusType status = PQresultStatus(result);
		more = rc == CM_OK && status == PGRES_SINGLE_TUPLE;
		if (more)
			rc = fn(user, &(struct sh_pg_row){ result, 0 }, err);
		else if (rc == CM_OK && status != PGRES_TUPLES_OK)
			rc = fault(pg, result, err);
		PQclear(result);
	}
	return drain(pg, SH_PG_LONG_MS, rc, err);
}

static enum cm_rc take_number(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	(void)err;
	*(int64_t *)user = sh_pg_row_int(row, 0);
	return CM_OK;
}

enum cm_rc sh_pg_number(struct sh_pg *pg, const char *sql, const struct sh_pg_value *value, size_t values,
	int64_t *out, struct cm_err *err)
{
	*out = 0;
	return sh_pg_query(pg, sql, value, values, take_number, out, NULL, err);
}

/* ---- Transactions ---- */

enum cm_rc sh_pg_begin(struct sh_pg *pg, struct cm_err *err)
{
	enum cm_rc rc = set_long(pg, false, err);

	return rc == CM_OK ? sh_pg_run(pg, "BEGIN", err) : rc;
}

enum cm_rc sh_pg_end(struct sh_pg *pg, enum cm_rc rc, struct cm_err *err)
{
	struct cm_err beside = { 0 };

	if (rc == CM_OK && PQtransactionStatus(pg->conn) != PQTRANS_INTRANS)
		rc = cm_fail(err, CM_EIO, "database: the transaction has ended");
	if (rc == CM_OK) {
		rc = run(pg, "COMMIT", pg->is_long ? SH_PG_LONG_MS : SH_PG_WAIT_MS, err);
		if (rc == CM_OK)
			rc = sh_pg_keeps(pg, err);
		/* The commit may be there or not, so nothing may depend on it. */
		if (rc != CM_OK)
			pg->dead = true;
		return rc == CM_OK ? rc : (err->code = CM_EIO);
	}
	if (!pg->dead)
		(void)!sh_pg_run(pg, "ROLLBACK", &beside);
	return rc;
}

/* ---- COPY ... FROM STDIN in the binary format (PostgreSQL's manual, "COPY") ---- */

static enum cm_rc put(struct sh_pg *pg, const void *bytes, size_t len, struct cm_err *err)
{
	int taken;

	while ((taken = PQputCopyData(pg->conn, bytes, (int)len)) == 0) {
		enum cm_rc rc = flush(pg, err);
		if (rc != CM_OK)
			return rc;
	}
	return taken == 1 ? CM_OK : fault(pg, NULL, err);
}

enum cm_rc sh_pg_copy_begin(struct sh_pg *pg, const char *sql, struct cm_err *err)
{
	/* with the NUL that ends the literal */
	static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";
	PGresult *result = NULL;
	enum cm_rc rc = usable(pg, err);

	if (rc != CM_OK)
		return rc;
	pg->warned = false;
	rc = PQsendQuery(pg->conn, sql) == 1 ? flush(pg, err) : fault(pg, NULL, err);
	if (rc == CM_OK)
		rc = next(pg, SH_PG_WAIT_MS, &result, err);
	bool open = rc == CM_OK && PQresultStatus(result) == PGRES_COPY_IN;
	if (rc == CM_OK && !open)
		rc = fault(pg, result, err);
	PQclear(result);
	if (!open)
		return drain(pg, SH_PG_WAIT_MS, rc, err);
	return put(pg, head, sizeof head, err);
}

enum cm_rc sh_pg_copy_row(
	struct sh_pg *pg, const struct sh_pg_value *value, size_t values, struct cm_err *err)
{
	uint8_t head[2 + SH_PG_VALUES_MAX * 12], *at = head;
	enum cm_rc rc = CM_OK;

	*at++ = 0;
	*at++ = (uint8_t)values;
	for (size_t i = 0; rc == CM_OK && i < values; i++) {
		const struct sh_pg_value *v = &value[i];
		cm_put_be32(at, v->is_number ? 8 : v->len > 0 ? (uint32_t)v->len : UINT32_MAX);
		at += 4;
		if (v->is_number) {
			memcpy(at, v->number, sizeof v->number);
			at += sizeof v->number;
			continue;
		}
		rc = put(pg, head, (size_t)(at - head), err);
		at = head;
		if (rc == CM_OK && v->len > 0)
			rc = put(pg, v->bytes, v->len, err);
	}
	return rc == CM_OK && at > head ? put(pg, head, (size_t)(at - head), err) : rc;
}

enum cm_rc sh_pg_copy_end(struct sh_pg *pg, enum cm_rc rc, struct cm_err *err)
{
	static const uint8_t tail[2] = { 0xff, 0xff };
	int done;

	if (pg->dead)
		return rc == CM_OK ? usable(pg, err) : rc;
	if (rc == CM_OK)
		rc = put(pg, tail, sizeof tail, err);
	while ((done = PQputCopyEnd(pg->conn, rc == CM_OK ? NULL : "given up")) == 0) {
		struct cm_err beside;
		enum cm_rc flushed = flush(pg, rc == CM_OK ? err : &beside);
		if (flushed != CM_OK)
			return rc == CM_OK ? flushed : rc;
	}
	if (done < 0)
		return rc == CM_OK ? fault(pg, NULL, err) : rc;
	if (rc == CM_OK)
		rc = flush(pg, err);
	return drain(pg, SH_PG_WAIT_MS, rc, err);
}
