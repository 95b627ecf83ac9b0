/* sh_sqlite_data.c - stores the messages and tags of rounds in SQLite files: one file for each round,
 * deleted as a whole. */
#include "sh_sqlite_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_buf.h"
#include "cm_file.h"
#include "sh_sqlite_file.h"

/* Blocks of runs are in the table `run`, ordered by id without SH_RUN_BLOCK.  New blocks are always at its
 * end, so that a commit writes only whole pages.  Blocks of other commits are in `block`, ordered by
 * bucket. */
static const char schema[] = "CREATE TABLE IF NOT EXISTS block(bucket INTEGER NOT NULL, id INTEGER NOT NULL,"
			     " body BLOB NOT NULL, PRIMARY KEY(bucket, id)) WITHOUT ROWID;"
			     "CREATE TABLE IF NOT EXISTS run(id INTEGER PRIMARY KEY, body BLOB NOT NULL);"
			     "CREATE TABLE IF NOT EXISTS tags(id INTEGER PRIMARY KEY, body BLOB NOT NULL);";

/* Check the whole file once per restart: rows hidden by a damaged page would be missing from the release. */
static const char check[] = "PRAGMA quick_check(1)";

struct round_data {
	sqlite3 *db;
	sqlite3_stmt *put_block, *put_run, *put_tags, *get_bucket, *get_run, *get_tags, *drop_bucket,
		*drop_run;
	uint64_t runs;
};

#define KEPT(s)  offsetof(struct round_data, s)
#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct db_statement statements[] = {
	{ KEPT(put_block), "INSERT INTO block VALUES(?,?,?)" },
	{ KEPT(put_tags), "INSERT INTO tags VALUES(?,?)" },
	{ KEPT(get_bucket),
		"SELECT id, body, bucket FROM block WHERE bucket>=? AND bucket<? ORDER BY bucket, id" },
	{ KEPT(get_tags), "SELECT id, body FROM tags ORDER BY id" },
	{ KEPT(drop_bucket), "DELETE FROM block WHERE bucket=?" },
};
static const struct db_statement run_statements[] = {
	{ KEPT(put_run), "INSERT INTO run VALUES(?,?)" },
	{ KEPT(get_run), "SELECT id, body FROM run WHERE id>=? AND id<? ORDER BY id" },
	{ KEPT(drop_run), "DELETE FROM run WHERE id=?" },
};

/* The path "ROUNDS/ID.db" + suffix, malloc'd. */
static char *round_path(const char *rounds, const uint8_t *round_id, const char *suffix, struct cm_err *err)
{
	char id[2 * PR_ROUND_ID_LEN + 1], name[2 * PR_ROUND_ID_LEN + 16];

	cm_hex(round_id, PR_ROUND_ID_LEN, id);
	(void)snprintf(name, sizeof name, "%s.db%s", id, suffix);
	char *path = cm_file_join(rounds, name);
	if (!path)
		(void)cm_fail(err, CM_EINTERNAL, "out of memory");
	return path;
}

void sh_sqlite_data_close(void *data)
{
	struct round_data *d = data;

	if (!d)
		return;
	db_finalize_all(statements, COUNT(statements), d);
	db_finalize_all(run_statements, COUNT(run_statements), d);
	(void)sqlite3_close(d->db);
	free(d);
}

enum opening { OPEN_CREATE, OPEN_WRITE, OPEN_READ };

static enum cm_rc open_file(const char *path, enum opening how, sqlite3 **db, struct cm_err *err)
{
	if (how != OPEN_CREATE && access(path, F_OK) != 0 && errno == ENOENT)
		return cm_fail(err, CM_ENOINPUT, "%s: is missing", path);
	if (how == OPEN_READ)
		return sh_sqlite_file_readonly(path, check, db, err);
	enum cm_rc rc =
		sh_sqlite_file(path, how == OPEN_CREATE ? NULL : check, schema, how == OPEN_CREATE, db, err);
	/* The file of a round that an earlier version began has no table of runs. */
	return rc == CM_OK && how == OPEN_WRITE ? db_run(*db, schema, err) : rc;
}

/* Each commit left a row of tags, so a number of runs above theirs is damaged; with it reading would not
 * end. */
static enum cm_rc count_runs(struct round_data *d, struct cm_err *err)
{
	int64_t most = 0, end = 0;

	enum cm_rc rc = db_int(d->db, "SELECT count(*) FROM tags", &most, err);
	if (rc == CM_OK)
		rc = db_int(d->db, "SELECT max(id) + 1 FROM run", &end, err);
	if (rc != CM_OK)
		return rc;
	if (end < 0 || end > most * (int64_t)PR_BUCKETS_MAX)
		return cm_fail(err, CM_EDATA, "%s: damaged: a block of a run that there is not",
			sqlite3_db_filename(d->db, "main"));
	d->runs = ((uint64_t)end + PR_BUCKETS_MAX - 1) / PR_BUCKETS_MAX;
	return CM_OK;
}

/* Prepare the statements about runs.  A file that an earlier version made, opened for reading, has no
 * runs. */
static enum cm_rc prepare_runs(struct round_data *d, struct cm_err *err)
{
	int64_t there = 0;

	enum cm_rc rc = db_int(d->db, "SELECT count(*) FROM sqlite_master WHERE name='run'", &there, err);
	if (rc != CM_OK || there == 0)
		return rc;
	rc = db_prepare_all(d->db, run_statements, COUNT(run_statements), d, err);
	return rc == CM_OK ? count_runs(d, err) : rc;
}

static enum cm_rc open_data(const char *rounds, const uint8_t round_id[PR_ROUND_ID_LEN], enum opening how,
	void **data, struct cm_err *err)
{
	char *path = round_path(rounds, round_id, "", err);
	struct round_data *d = calloc(1, sizeof *d);
	enum cm_rc rc = path && d ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	if (rc == CM_OK)
		rc = open_file(path, how, &d->db, err);
	if (rc == CM_OK)
		rc = db_prepare_all(d->db, statements, COUNT(statements), d, err);
	if (rc == CM_OK)
		rc = prepare_runs(d, err);
	free(path);
	if (rc != CM_OK) {
		sh_sqlite_data_close(d);
		return rc;
	}
	*data = d;
	return CM_OK;
}

enum cm_rc sh_sqlite_data_open(const char *rounds, const uint8_t round_id[PR_ROUND_ID_LEN], bool create,
	void **data, struct cm_err *err)
{
	return open_data(rounds, round_id, create ? OPEN_CREATE : OPEN_WRITE, data, err);
}

enum cm_rc sh_sqlite_data_open_readonly(
	const char *rounds, const uint8_t round_id[PR_ROUND_ID_LEN], void **data, struct cm_err *err)
{
	return open_data(rounds, round_id, OPEN_READ, data, err);
}

/* The row of a bucket's block of a run. */
static sqlite3_int64 row_of(uint64_t run, uint32_t bucket)
{
	return (sqlite3_int64)(SH_RUN_ID(run, bucket) & ~SH_RUN_BLOCK);
}

uint64_t sh_sqlite_data_runs(void *data)
{
	return ((const struct round_data *)data)->runs;
}

static enum cm_rc put_block(struct round_data *d, const struct sh_block *b, struct cm_err *err)
{
	bool run = (b->id & SH_RUN_BLOCK) != 0;
	sqlite3_stmt *s = run ? d->put_run : d->put_block;
	int at = 1;

	if (!run)
		(void)sqlite3_bind_int64(s, at++, b->bucket);
	(void)sqlite3_bind_int64(s, at++, (sqlite3_int64)(b->id & ~SH_RUN_BLOCK));
	db_bind(s, at, b->body, b->len);
	return db_done(s, err);
}

/* *runs becomes the number of runs afterwards. */
static enum cm_rc put_all(struct round_data *d, sh_block_source *next, void *user,
	const struct sh_block *tags, uint64_t *runs, struct cm_err *err)
{
	struct sh_block b;
	enum cm_rc rc;

	while ((rc = next(user, &b, err)) == CM_OK) {
		rc = put_block(d, &b, err);
		if (rc != CM_OK)
			return rc;
		if (b.id & SH_RUN_BLOCK)
			*runs = (b.id & ~SH_RUN_BLOCK) / PR_BUCKETS_MAX + 1;
	}
	if (rc != CM_EMORE)
		return rc;
	(void)sqlite3_bind_int64(d->put_tags, 1, (sqlite3_int64)tags->id);
	db_bind(d->put_tags, 2, tags->body, tags->len);
	return db_done(d->put_tags, err);
}

static enum cm_rc empty_bucket(struct round_data *d, uint32_t bucket, struct cm_err *err)
{
	(void)sqlite3_bind_int64(d->drop_bucket, 1, bucket);
	enum cm_rc rc = db_done(d->drop_bucket, err);
	for (uint64_t run = 0; rc == CM_OK && run < d->runs; run++) {
		(void)sqlite3_bind_int64(d->drop_run, 1, row_of(run, bucket));
		rc = db_done(d->drop_run, err);
	}
	return rc;
}

/* bucket: the bucket to empty first; NULL: there is none. */
static enum cm_rc commit(struct round_data *d, const uint32_t *bucket, sh_block_source *next, void *user,
	const struct sh_block *tags, struct cm_err *err)
{
	uint64_t runs = d->runs;

	enum cm_rc rc = db_run(d->db, "BEGIN IMMEDIATE", err);
	if (rc != CM_OK)
		return rc;
	if (bucket)
		rc = empty_bucket(d, *bucket, err);
	if (rc == CM_OK)
		rc = put_all(d, next, user, tags, &runs, err);
	if (rc == CM_OK)
		rc = db_run(d->db, "COMMIT", err);
	if (rc == CM_OK)
		d->runs = runs;
	else
		db_rollback(d->db);
	return rc;
}

enum cm_rc sh_sqlite_data_commit(
	void *data, sh_block_source *next, void *user, const struct sh_block *tags, struct cm_err *err)
{
	return commit(data, NULL, next, user, tags, err);
}

enum cm_rc sh_sqlite_data_replace(void *data, uint32_t bucket, sh_block_source *next, void *user,
	const struct sh_block *tags, struct cm_err *err)
{
	return commit(data, &bucket, next, user, tags, err);
}

/* Hand every row of a prepared query to fn: (id, body), or (id, body, bucket). */
static enum cm_rc each(sqlite3_stmt *stmt, uint64_t mark, sh_block_fn *fn, void *user, struct cm_err *err)
{
	bool names_bucket = sqlite3_column_count(stmt) == 3;
	enum cm_rc rc = CM_OK;

	while (db_row(stmt, &rc, err)) {
		struct cr_span body = db_blob(stmt, 1);
		uint64_t id = (uint64_t)sqlite3_column_int64(stmt, 0);
		struct sh_block b = { .bucket = (uint32_t)(names_bucket
								   ? (uint64_t)sqlite3_column_int64(stmt, 2)
								   : id % PR_BUCKETS_MAX),
			.id = id | mark,
			.body = body.data,
			.len = body.len };
		rc = fn(user, &b, err);
	}
	(void)sqlite3_reset(stmt);
	return rc;
}

enum cm_rc sh_sqlite_data_buckets(
	void *data, uint32_t first, uint32_t n, sh_block_fn *fn, void *user, struct cm_err *err)
{
	struct round_data *d = data;

	(void)sqlite3_bind_int64(d->get_bucket, 1, first);
	(void)sqlite3_bind_int64(d->get_bucket, 2, (sqlite3_int64)first + n);
	enum cm_rc rc = each(d->get_bucket, 0, fn, user, err);
	for (uint64_t run = 0; rc == CM_OK && run < d->runs; run++) {
		(void)sqlite3_bind_int64(d->get_run, 1, row_of(run, first));
		(void)sqlite3_bind_int64(d->get_run, 2, row_of(run, first) + n);
		rc = each(d->get_run, SH_RUN_BLOCK, fn, user, err);
	}
	return rc;
}

enum cm_rc sh_sqlite_data_tags(void *data, sh_block_fn *fn, void *user, struct cm_err *err)
{
	struct round_data *d = data;

	return each(d->get_tags, 0, fn, user, err);
}

enum cm_rc sh_sqlite_data_drop(
	const char *rounds, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	static const char *const suffix[] = { "-wal", "-shm", "-journal", "" };

	/* Delete the database last: while any of the files exists, a restart knows that something is left to
	 * delete. */
	for (size_t i = 0; i < sizeof suffix / sizeof suffix[0]; i++) {
		char *path = round_path(rounds, round_id, suffix[i], err);
		if (!path)
			return err->code;
		if (unlink(path) != 0 && errno != ENOENT)
			(void)cm_fail(err, CM_EIO, "%s: cannot remove: %s", path, strerror(errno));
		else
			err->code = CM_OK;
		free(path);
		if (err->code != CM_OK)
			return err->code;
	}
	return cm_file_sync_dir(rounds, err);
}

struct places {
	sh_place_fn *fn;
	void *user;
};

static enum cm_rc on_file(void *user, const char *file, struct cm_err *err)
{
	const struct places *p = user;
	uint8_t round_id[PR_ROUND_ID_LEN];
	char name[2 * PR_ROUND_ID_LEN + 1];

	/* Also accept a companion file without its database: deletions may reach the disk in any order. */
	if (strlen(file) < sizeof name - 1 + 3 || strncmp(file + sizeof name - 1, ".db", 3) != 0)
		return CM_OK;
	memcpy(name, file, sizeof name - 1);
	name[sizeof name - 1] = '\0';
	return cm_unhex(name, round_id, sizeof round_id) == CM_OK ? p->fn(p->user, round_id, err) : CM_OK;
}

enum cm_rc sh_sqlite_data_each(const char *rounds, sh_place_fn *fn, void *user, struct cm_err *err)
{
	struct places p = { fn, user };

	return cm_file_each(rounds, on_file, &p, err);
}
