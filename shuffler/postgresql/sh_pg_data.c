/* sh_pg_data.c - stores the messages and tags of a round in tables of a partition, which are dropped as a
 * whole. */
#include "sh_pg_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cm_fault.h"
#include "sh_pg_private.h"
#include "sh_pg_rights.h"

#define NAME_MAX_LEN 48u /* "block_", 32 digits, "_", 10 digits */
#define SQL_MAX      640u

struct sh_pg_data {
	struct sh_pg *pg;
	char name[NAME_MAX_LEN]; /* name of the tables, after "block_" or "tags_" */
	uint64_t runs;
	bool readonly, indexed;
	bool of_several; /* other servers have partitions of this round, too */
	uint8_t round_id[PR_ROUND_ID_LEN];
	uint32_t partition;
	int64_t epoch; /* the epoch for whose commits it was joined; 0: it was not joined */
};

/* A commit of an intake delays the next epoch, so the server ends those of a process that has stopped. */
#define JOINED "SET idle_in_transaction_session_timeout = 8000"
/* After this time sessions are ended.  The server itself never ends a COPY whose rows do not come. */
#define COMMITS_WAIT_MS "12000"

static void make_name(const uint8_t *round_id, uint32_t partition, char name[NAME_MAX_LEN])
{
	char hex[2 * PR_ROUND_ID_LEN + 1];

	cm_hex(round_id, PR_ROUND_ID_LEN, hex);
	(void)snprintf(name, NAME_MAX_LEN, "%s_%" PRIu32, hex, partition);
}

/* ---- Opening ---- */

/* Bodies are ciphertext, which cannot be compressed.  Vacuum would only read data that are soon dropped. */
static enum cm_rc make_tables(
	struct sh_pg_data *d, const uint8_t *round_id, uint32_t partition, struct cm_err *err)
{
	static const char tables[] =
		"CREATE TABLE IF NOT EXISTS tombola.block_%s(bucket int8 NOT NULL, id int8 NOT NULL, body bytea NOT NULL)"
		" WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off, toast_tuple_target = 8160);"
		"ALTER TABLE tombola.block_%s ALTER COLUMN body SET STORAGE EXTERNAL;"
		"CREATE TABLE IF NOT EXISTS tombola.tags_%s(id int8 NOT NULL, runs int8 NOT NULL, devices int8 NOT NULL,"
		" body bytea NOT NULL)"
		" WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off, toast_tuple_target = 8160);"
		"ALTER TABLE tombola.tags_%s ALTER COLUMN body SET STORAGE EXTERNAL";
	const struct sh_pg_value row[] = { sh_pg_bytes(round_id, PR_ROUND_ID_LEN), sh_pg_int(partition) };
	char sql[SQL_MAX + 4 * NAME_MAX_LEN];

	(void)snprintf(sql, sizeof sql, tables, d->name, d->name, d->name, d->name);
	enum cm_rc rc = sh_pg_begin(d->pg, err);
	if (rc == CM_OK)
		rc = sh_pg_query(d->pg,
			"INSERT INTO tombola.data(round, partition) VALUES($1,$2) ON CONFLICT DO NOTHING",
			row, 2, NULL, NULL, NULL, err);
	if (rc == CM_OK)
		rc = sh_pg_run(d->pg, sql, err);
	return sh_pg_end(d->pg, rc, err);
}

static enum cm_rc take_runs(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	struct sh_pg_data *d = user;
	int64_t runs = sh_pg_row_int(row, 0), commits = sh_pg_row_int(row, 1);

	(void)err;
	/* Each commit made at most one run.  An intake's role may have added a row with a false number: the
	 * next run then gets a number that no other has, and the round's key does not open that row
	 * (sh_vault.h). */
	runs = runs > commits ? commits : runs;
	d->runs = runs > 0 ? (uint64_t)runs : 0;
	return CM_OK;
}

/* Check that the tables are as they were made: both of them, their columns, and the number of runs. */
static enum cm_rc check_tables(struct sh_pg_data *d, struct cm_err *err)
{
	static const char columns[] =
		"SELECT count(*) FROM pg_attribute WHERE attrelid IN (to_regclass('tombola.block_%s'),"
		" to_regclass('tombola.tags_%s')) AND attnum > 0 AND NOT attisdropped AND attnotnull";
	char sql[SQL_MAX];
	int64_t n = 0;

	(void)snprintf(sql, sizeof sql, columns, d->name, d->name);
	enum cm_rc rc = sh_pg_number(d->pg, sql, NULL, 0, &n, err);
	if (rc == CM_OK && n != 7)
		rc = cm_fail(err, CM_EDATA, "database: block_%s or tags_%s is missing or damaged", d->name,
			d->name);
	(void)snprintf(
		sql, sizeof sql, "SELECT coalesce(max(runs), 0), count(*) FROM tombola.tags_%s", d->name);
	if (rc == CM_OK)
		rc = sh_pg_query(d->pg, sql, NULL, 0, take_runs, d, NULL, err);
	(void)snprintf(
		sql, sizeof sql, "SELECT (to_regclass('tombola.bucket_%s') IS NOT NULL)::int4", d->name);
	if (rc == CM_OK)
		rc = sh_pg_number(d->pg, sql, NULL, 0, &n, err);
	d->indexed = n == 1;
	return rc;
}

static enum cm_rc find(struct sh_pg_data *d, const uint8_t *round_id, uint32_t partition, struct cm_err *err)
{
	const struct sh_pg_value row[] = { sh_pg_bytes(round_id, PR_ROUND_ID_LEN), sh_pg_int(partition) };
	int64_t n = 0;

	enum cm_rc rc = sh_pg_number(
		d->pg, "SELECT count(*) FROM tombola.data WHERE round=$1 AND partition=$2", row, 2, &n, err);
	return rc == CM_OK && n == 0
		       ? cm_fail(err, CM_ENOINPUT, "database: the data of round %s is missing", d->name)
		       : rc;
}

/* If the intake's rights were taken back while it began, its epoch is over. */
static enum cm_rc over_if_denied(const struct sh_pg_data *d, enum cm_rc rc, struct cm_err *err)
{
	return rc != CM_OK && d->pg && sh_pg_failed_with(d->pg, "42501")
		       ? cm_fail(err, CM_ELATER, "the epoch of round %s is over", d->name)
		       : rc;
}

enum cm_rc sh_pg_data_open(const struct sh_pg_conf *conf, const uint8_t round_id[PR_ROUND_ID_LEN],
	uint32_t partition, enum sh_pg_opening how, struct sh_pg_data **out, struct cm_err *err)
{
	struct sh_pg_data *d = calloc(1, sizeof *d);

	if (!d)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	make_name(round_id, partition, d->name);
	memcpy(d->round_id, round_id, PR_ROUND_ID_LEN);
	d->partition = partition;
	d->readonly = how == SH_PG_READ;
	enum cm_rc rc = sh_pg_open(conf, &d->pg, err);
	if (rc == CM_OK && how == SH_PG_JOIN)
		rc = sh_pg_run(d->pg, JOINED, err);
	if (rc == CM_OK && how != SH_PG_READ && how != SH_PG_JOIN)
		rc = sh_pg_hold(d->pg, "data", round_id, partition, false, err);
	if (rc == CM_OK && how == SH_PG_CREATE)
		rc = make_tables(d, round_id, partition, err);
	if (rc == CM_OK)
		rc = find(d, round_id, partition, err);
	if (rc == CM_OK)
		rc = check_tables(d, err);
	if (how == SH_PG_JOIN)
		rc = over_if_denied(d, rc, err);
	/* The last commit of a killed process, which we rely on, may not be replicated yet. */
	if (rc == CM_OK && how == SH_PG_WRITE)
		rc = sh_pg_settle(d->pg, err);
	if (rc != CM_OK)
		sh_pg_data_close(d);
	else
		*out = d;
	/* A store that is running does not wait for a server. */
	return rc == CM_EUNAVAIL && how != SH_PG_READ ? (err->code = CM_EIO) : rc;
}

void sh_pg_data_close(struct sh_pg_data *d)
{
	if (!d)
		return;
	sh_pg_close(d->pg);
	free(d);
}

bool sh_pg_data_is_up(const struct sh_pg_data *d)
{
	return sh_pg_is_up(d->pg);
}

uint64_t sh_pg_data_runs(const struct sh_pg_data *d)
{
	return d->runs;
}

/* ---- Epochs ---- */

void sh_pg_data_join(struct sh_pg_data *d, uint64_t epoch)
{
	d->epoch = (int64_t)epoch;
}

/* Take the lock of a round's epoch until the transaction ends.  Statements of a transaction see what was
 * committed before each of them began (read committed), so the next one sees everything that the lock has
 * waited for. */
static enum cm_rc lock_epoch(struct sh_pg_data *d, const char *kind, struct cm_err *err)
{
	char sql[SQL_MAX];

	(void)snprintf(sql, sizeof sql,
		"SELECT pg_advisory_xact_lock%s(hashtextextended('tombola epoch %s', 0))", kind, d->name);
	return sh_pg_run(d->pg, sql, err);
}

/* The first statements of a commit for one epoch. */
static enum cm_rc check_epoch(struct sh_pg_data *d, struct cm_err *err)
{
	const struct sh_pg_value row[] = { sh_pg_bytes(d->round_id, PR_ROUND_ID_LEN), sh_pg_int(d->partition),
		sh_pg_int(d->epoch) };
	int64_t n = 0;

	enum cm_rc rc = lock_epoch(d, "_shared", err);
	if (rc == CM_OK)
		rc = sh_pg_number(d->pg,
			"SELECT count(*) FROM tombola.data WHERE round=$1 AND partition=$2 AND epoch=$3 AND closed=0",
			row, 3, &n, err);
	return rc == CM_OK && n == 0 ? cm_fail(err, CM_ELATER, "the epoch of round %s is over", d->name) : rc;
}

static enum cm_rc take_epoch(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	struct sh_epoch *e = user;

	(void)err;
	e->number = (uint64_t)sh_pg_row_int(row, 0);
	return CM_OK;
}

/* End the sessions that have the lock of this round's epoch: what they have not committed is not stored. */
static enum cm_rc end_commits(struct sh_pg_data *d, struct cm_err *err)
{
	static const char end[] =
		"SELECT count(pg_terminate_backend(pid)) FROM pg_locks WHERE locktype = 'advisory' AND granted"
		" AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
		" AND objsubid = 1 AND pid <> pg_backend_pid()"
		" AND ((classid::int8 << 32) | objid::int8) = hashtextextended('tombola epoch %s', 0)";
	char sql[SQL_MAX];
	int64_t n = 0;

	(void)snprintf(sql, sizeof sql, end, d->name);
	return sh_pg_number(d->pg, sql, NULL, 0, &n, err);
}

/* Begin a transaction that has the lock exclusively. */
static enum cm_rc begin_alone(struct sh_pg_data *d, const char *wait, struct cm_err *err)
{
	enum cm_rc rc = sh_pg_begin(d->pg, err);

	if (rc == CM_OK)
		rc = sh_pg_run(d->pg, wait, err);
	return rc == CM_OK ? lock_epoch(d, "", err) : rc;
}

enum cm_rc sh_pg_data_epoch(
	struct sh_pg_data *d, bool close, uint64_t number, struct sh_epoch *out, struct cm_err *err)
{
	/* The next number of this database; or the one that the database of the state has given. */
	static const char next[] =
		"WITH next AS (UPDATE tombola.meta SET settled = settled + 1 RETURNING settled)"
		" UPDATE tombola.data SET epoch = CASE $3 WHEN 0 THEN (SELECT settled FROM next) ELSE epoch END,"
		" closed = $3 WHERE round=$1 AND partition=$2 AND closed=0 RETURNING epoch";
	static const char given[] =
		"UPDATE tombola.data SET epoch = CASE $3 WHEN 0 THEN $4 ELSE epoch END, closed = $3"
		" WHERE round=$1 AND partition=$2 AND closed=0 AND ($3=1 OR epoch < $4) RETURNING epoch";
	const struct sh_pg_value row[] = { sh_pg_bytes(d->round_id, PR_ROUND_ID_LEN), sh_pg_int(d->partition),
		sh_pg_int(close), sh_pg_int((int64_t)number) };
	char sql[SQL_MAX];
	int64_t n = 0;
	size_t changed = 0;

	*out = (struct sh_epoch){ .number = 0 };
	enum cm_rc rc = begin_alone(d, "SET LOCAL lock_timeout = " COMMITS_WAIT_MS, err);
	if (rc != CM_OK && sh_pg_failed_with(d->pg, "55P03")) { /* SQLSTATE lock_not_available */
		(void)!sh_pg_end(d->pg, rc, err);
		rc = end_commits(d, err);
		if (rc == CM_OK)
			rc = begin_alone(d, "SET LOCAL lock_timeout = 25000", err);
	}
	if (rc == CM_OK)
		rc = sh_pg_query(d->pg, d->partition == 0 ? next : given, row, d->partition == 0 ? 3 : 4,
			take_epoch, out, &changed, err);
	/* No sum is too large, whatever an intake has written. */
	(void)snprintf(sql, sizeof sql,
		"SELECT coalesce(sum(least(greatest(devices, 0), 4294967295)), 0)::int8 FROM tombola.tags_%s",
		d->name);
	if (rc == CM_OK)
		rc = sh_pg_number(d->pg, sql, NULL, 0, &n, err);
	out->closed = changed == 0;
	out->devices = n > 0 ? (uint64_t)n : 0;
	if (rc == CM_OK && (close || !out->closed))
		rc = sh_pg_rights_round(d->pg, d->name, close, err);
	rc = sh_pg_end(d->pg, rc, err);
	return rc == CM_OK && close ? sh_pg_rights_ended(d->pg, d->name, err) : rc;
}

/* ---- Writing ---- */

static enum cm_rc put_blocks(
	struct sh_pg_data *d, sh_block_source *next, void *user, uint64_t *runs, struct cm_err *err)
{
	char sql[SQL_MAX];
	struct sh_block b;

	(void)snprintf(sql, sizeof sql, "COPY tombola.block_%s FROM STDIN (FORMAT binary)", d->name);
	enum cm_rc rc = sh_pg_copy_begin(d->pg, sql, err);
	if (rc != CM_OK)
		return rc;
	while ((rc = next(user, &b, err)) == CM_OK) {
		const struct sh_pg_value row[] = { sh_pg_int(b.bucket), sh_pg_int((int64_t)b.id),
			sh_pg_bytes(b.body, b.len) };
		rc = sh_pg_copy_row(d->pg, row, 3, err);
		if (rc != CM_OK)
			break;
		if (b.id & SH_RUN_BLOCK)
			*runs = (b.id & ~SH_RUN_BLOCK) / PR_BUCKETS_MAX + 1;
	}
	return sh_pg_copy_end(d->pg, rc == CM_EMORE ? CM_OK : rc, err);
}

/* From this commit on, the parts of the bucket on other servers do not count any more, which is noted here:
 * no transaction spans two servers. */
static enum cm_rc empty_bucket(struct sh_pg_data *d, uint32_t bucket, struct cm_err *err)
{
	const struct sh_pg_value numbers[] = { sh_pg_int(bucket), sh_pg_int(SH_PG_ALONE(bucket)) };
	char sql[SQL_MAX];

	(void)snprintf(sql, sizeof sql, "DELETE FROM tombola.block_%s WHERE bucket=$1", d->name);
	enum cm_rc rc = sh_pg_query(d->pg, sql, numbers, 1, NULL, NULL, NULL, err);
	(void)snprintf(sql, sizeof sql,
		"INSERT INTO tombola.block_%s SELECT $1, 0, '' WHERE NOT EXISTS"
		" (SELECT FROM tombola.block_%s WHERE bucket=$1)",
		d->name, d->name);
	if (rc == CM_OK && d->of_several)
		rc = sh_pg_query(d->pg, sql, numbers + 1, 1, NULL, NULL, NULL, err);
	return rc;
}

enum cm_rc sh_pg_data_commit(struct sh_pg_data *d, const uint32_t *bucket, sh_block_source *next, void *user,
	const struct sh_block *tags, struct cm_err *err)
{
	char sql[SQL_MAX];
	uint64_t runs = d->runs;

	enum cm_rc rc = sh_pg_begin(d->pg, err);
	if (rc == CM_OK && d->epoch > 0)
		rc = check_epoch(d, err);
	if (rc == CM_OK && bucket)
		rc = empty_bucket(d, *bucket, err);
	if (rc == CM_OK)
		rc = put_blocks(d, next, user, &runs, err);
	const struct sh_pg_value row[] = { sh_pg_int((int64_t)tags->id), sh_pg_int((int64_t)runs),
		sh_pg_int(tags->devices), sh_pg_bytes(tags->body, tags->len) };
	(void)snprintf(sql, sizeof sql, "INSERT INTO tombola.tags_%s VALUES($1,$2,$3,$4)", d->name);
	if (rc == CM_OK)
		rc = sh_pg_query(d->pg, sql, row, 4, NULL, NULL, NULL, err);
	rc = sh_pg_end(d->pg, rc, err);
	if (rc == CM_OK)
		d->runs = runs;
	return rc;
}

/* ---- Reading ---- */

struct blocks {
	sh_block_fn *fn;
	void *user;
};

static enum cm_rc take_block(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	const struct blocks *b = user;
	struct cr_span body = sh_pg_row_bytes(row, 1);
	struct sh_block block = { .bucket = (uint32_t)sh_pg_row_int(row, 2),
		.id = (uint64_t)sh_pg_row_int(row, 0),
		.body = body.data,
		.len = body.len };

	return b->fn(b->user, &block, err);
}

/* Make the index when a bucket is first read: one sort for all buckets.  An intake's role may have added a
 * block that has another one's number: the round's key does not open it. */
static enum cm_rc make_index(struct sh_pg_data *d, struct cm_err *err)
{
	char sql[SQL_MAX];

	(void)snprintf(sql, sizeof sql,
		"CREATE INDEX IF NOT EXISTS bucket_%s ON tombola.block_%s(bucket, id)", d->name, d->name);
	enum cm_rc rc = sh_pg_run_long(d->pg, sql, err);
	if (rc != CM_OK && sh_pg_rights_make_way(d->pg, d->name))
		rc = sh_pg_run_long(d->pg, sql, err);
	d->indexed = rc == CM_OK;
	return rc;
}

enum cm_rc sh_pg_data_buckets(
	void *data, uint32_t first, uint32_t n, sh_block_fn *fn, void *user, struct cm_err *err)
{
	static const char *const which[] = { "id >= 0", "id < 0" }; /* runs come last */
	struct sh_pg_data *d = data;
	const struct sh_pg_value numbers[] = { sh_pg_int(first), sh_pg_int((int64_t)first + n) };
	struct blocks b = { fn, user };
	char sql[SQL_MAX];

	enum cm_rc rc = d->indexed || d->readonly ? CM_OK : make_index(d, err);
	for (size_t i = 0; rc == CM_OK && i < 2; i++) {
		(void)snprintf(sql, sizeof sql,
			"SELECT id, body, bucket FROM tombola.block_%s WHERE bucket>=$1 AND bucket<$2 AND %s"
			" ORDER BY bucket, id",
			d->name, which[i]);
		rc = sh_pg_stream(d->pg, sql, numbers, 2, take_block, &b, err);
	}
	return rc;
}

enum cm_rc sh_pg_data_tags(struct sh_pg_data *d, sh_block_fn *fn, void *user, struct cm_err *err)
{
	struct blocks b = { fn, user };
	char sql[SQL_MAX];

	(void)snprintf(sql, sizeof sql, "SELECT id, body, 0::int8 FROM tombola.tags_%s ORDER BY id", d->name);
	enum cm_rc rc = sh_pg_stream(d->pg, sql, NULL, 0, take_block, &b, err);
	return d->epoch > 0 ? over_if_denied(d, rc, err) : rc;
}

/* ---- Of the other partitions of a round, which are on other servers ---- */

struct parts {
	sh_pg_part_fn *fn;
	void *user;
};

static enum cm_rc take_part(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	const struct parts *p = user;
	int64_t partition = sh_pg_row_int(row, 0);

	return partition > 0 && partition <= UINT32_MAX
		       ? p->fn(p->user, (uint32_t)partition, sh_pg_row_bytes(row, 1), err)
		       : cm_fail(err, CM_EDATA, "database: the number of a partition is damaged");
}

enum cm_rc sh_pg_data_parts(struct sh_pg_data *d, sh_pg_part_fn *fn, void *user, struct cm_err *err)
{
	const struct sh_pg_value id = sh_pg_bytes(d->round_id, PR_ROUND_ID_LEN);
	struct parts parts = { fn, user };

	return sh_pg_query(d->pg,
		"SELECT d.partition, p.name FROM tombola.data d"
		" LEFT JOIN tombola.place p ON p.here = 0 AND p.number = d.partition"
		" WHERE d.round=$1 AND d.partition <> 0 ORDER BY d.partition",
		&id, 1, take_part, &parts, NULL, err);
}

enum cm_rc sh_pg_data_part_add(struct sh_pg_data *d, uint32_t partition, struct cm_err *err)
{
	const struct sh_pg_value row[] = { sh_pg_bytes(d->round_id, PR_ROUND_ID_LEN), sh_pg_int(partition) };

	return sh_pg_query(d->pg, "INSERT INTO tombola.data(round, partition) VALUES($1,$2)", row, 2, NULL,
		NULL, NULL, err);
}

struct at {
	int64_t epoch, closed;
};

static enum cm_rc take_at(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	(void)err;
	*(struct at *)user = (struct at){ sh_pg_row_int(row, 0), sh_pg_row_int(row, 1) };
	return CM_OK;
}

static enum cm_rc ask_at(struct sh_pg_data *d, struct at *at, struct cm_err *err)
{
	const struct sh_pg_value row[] = { sh_pg_bytes(d->round_id, PR_ROUND_ID_LEN),
		sh_pg_int(d->partition) };

	/* Without a row: the round was erased meanwhile, which counts as closed. */
	*at = (struct at){ .closed = 1 };
	return sh_pg_query(d->pg, "SELECT epoch, closed FROM tombola.data WHERE round=$1 AND partition=$2",
		row, 2, take_at, at, NULL, err);
}

enum cm_rc sh_pg_data_is_closed(struct sh_pg_data *d, bool *out, struct cm_err *err)
{
	struct at at;
	enum cm_rc rc = ask_at(d, &at, err);

	*out = at.closed != 0;
	return rc;
}

enum cm_rc sh_pg_data_is_now(struct sh_pg_data *d, struct cm_err *err)
{
	struct at at;
	enum cm_rc rc = ask_at(d, &at, err);

	bool now = at.closed == 0 && at.epoch == d->epoch;

	if (rc != CM_OK || !(CM_CHECKED("shuffler.epoch") && !now))
		return rc;
	if (at.closed == 0 && at.epoch < d->epoch) {
		(void)cm_fail(err, CM_EIO,
			"database: not the server that the head writes to: epoch %" PRId64
			" of round %s has not begun here",
			d->epoch, d->name);
		return sh_pg_named(d->pg, err);
	}
	return cm_fail(err, CM_ELATER, "the epoch of round %s is over", d->name);
}

void sh_pg_data_of_several(struct sh_pg_data *d)
{
	d->of_several = true;
}

struct alone {
	uint32_t first, n;
	bool *alone;
};

static enum cm_rc take_alone(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	const struct alone *a = user;
	int64_t bucket = SH_PG_ALONE(sh_pg_row_int(row, 0)) - a->first;

	if (bucket < 0 || bucket >= a->n)
		return cm_fail(err, CM_EDATA, "database: the number of a bucket is damaged");
	a->alone[bucket] = true;
	return CM_OK;
}

enum cm_rc sh_pg_data_alone(struct sh_pg_data *d, uint32_t first, uint32_t n, bool *alone, struct cm_err *err)
{
	const struct sh_pg_value range[] = { sh_pg_int(SH_PG_ALONE((int64_t)first + n - 1)),
		sh_pg_int(SH_PG_ALONE(first)) };
	struct alone a = { first, n, alone };
	char sql[SQL_MAX];

	(void)snprintf(sql, sizeof sql, "SELECT bucket FROM tombola.block_%s WHERE bucket BETWEEN $1 AND $2",
		d->name);
	return sh_pg_query(d->pg, sql, range, 2, take_alone, &a, NULL, err);
}

/* ---- Of all rounds: erasure, and which there are ---- */

struct drops {
	struct sh_pg *pg;
	const uint8_t *round_id;
};

static enum cm_rc drop_partition(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	const struct drops *x = user;
	char name[NAME_MAX_LEN], sql[SQL_MAX];

	make_name(x->round_id, (uint32_t)sh_pg_row_int(row, 0), name);
	(void)snprintf(sql, sizeof sql, "DROP TABLE IF EXISTS tombola.block_%s, tombola.tags_%s", name, name);
	return sh_pg_run_long(x->pg, sql, err);
}

/* The server unlinks the files one after the other as it commits. */
static enum cm_rc drop(struct sh_pg *pg, const uint8_t *round_id, struct cm_err *err)
{
	const struct sh_pg_value id = sh_pg_bytes(round_id, PR_ROUND_ID_LEN);
	struct drops x = { pg, round_id };

	enum cm_rc rc = sh_pg_begin(pg, err);
	if (rc == CM_OK)
		rc = sh_pg_query(pg, "DELETE FROM tombola.data WHERE round=$1 RETURNING partition", &id, 1,
			drop_partition, &x, NULL, err);
	return sh_pg_end(pg, rc, err);
}

enum cm_rc sh_pg_data_drop(struct sh_pg *pg, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	char hex[2 * PR_ROUND_ID_LEN + 1];
	enum cm_rc rc = drop(pg, round_id, err);

	cm_hex(round_id, PR_ROUND_ID_LEN, hex);
	return rc != CM_OK && sh_pg_rights_make_way(pg, hex) ? drop(pg, round_id, err) : rc;
}

enum cm_rc sh_pg_data_erase(struct sh_pg_data *d, struct cm_err *err)
{
	return sh_pg_data_drop(d->pg, d->round_id, err);
}

struct places {
	sh_place_fn *fn;
	void *user;
};

static enum cm_rc take_place(void *user, const struct sh_pg_row *row, struct cm_err *err)
{
	const struct places *p = user;
	struct cr_span id = sh_pg_row_bytes(row, 0);

	return id.len == PR_ROUND_ID_LEN
		       ? p->fn(p->user, id.data, err)
		       : cm_fail(err, CM_EDATA, "database: the id of a round's data is damaged");
}

enum cm_rc sh_pg_data_each(struct sh_pg *pg, sh_place_fn *fn, void *user, struct cm_err *err)
{
	struct places p = { fn, user };

	return sh_pg_query(
		pg, "SELECT DISTINCT round FROM tombola.data ORDER BY 1", NULL, 0, take_place, &p, NULL, err);
}
