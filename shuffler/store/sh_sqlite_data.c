/* sh_sqlite_data.c - stores the messages and tags of rounds in SQLite files, one per round, deleted as a
 * whole. */
#include "sh_sqlite_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_buf.h"
#include "cm_file.h"
#include "sh_sqlite_file.h"

static const char schema[] = "CREATE TABLE IF NOT EXISTS block(bucket INTEGER NOT NULL, id INTEGER NOT NULL,"
			     " body BLOB NOT NULL, PRIMARY KEY(bucket, id)) WITHOUT ROWID;"
			     "CREATE TABLE IF NOT EXISTS tags(id INTEGER PRIMARY KEY, body BLOB NOT NULL);";

/* Check the whole file once per restart: rows hidden by a damaged page would be missing from the release. */
static const char check[] = "PRAGMA quick_check(1)";

struct round_data {
	sqlite3 *db;
	sqlite3_stmt *put_block, *put_tags, *get_bucket, *get_tags, *drop_bucket;
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
	(void)sqlite3_finalize(d->put_block);
	(void)sqlite3_finalize(d->put_tags);
	(void)sqlite3_finalize(d->get_bucket);
	(void)sqlite3_finalize(d->get_tags);
	(void)sqlite3_finalize(d->drop_bucket);
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
	return sh_sqlite_file(path, how == OPEN_CREATE ? NULL : check, schema, how == OPEN_CREATE, db, err);
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
		rc = db_prepare(d->db, "INSERT INTO block VALUES(?,?,?)", &d->put_block, err);
	if (rc == CM_OK)
		rc = db_prepare(d->db, "INSERT INTO tags VALUES(?,?)", &d->put_tags, err);
	if (rc == CM_OK)
		rc = db_prepare(
			d->db, "SELECT id, body FROM block WHERE bucket=? ORDER BY id", &d->get_bucket, err);
	if (rc == CM_OK)
		rc = db_prepare(d->db, "SELECT id, body FROM tags ORDER BY id", &d->get_tags, err);
	if (rc == CM_OK)
		rc = db_prepare(d->db, "DELETE FROM block WHERE bucket=?", &d->drop_bucket, err);
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

static enum cm_rc put_all(struct round_data *d, sh_block_source *next, void *user,
	const struct sh_block *tags, struct cm_err *err)
{
	struct sh_block b;
	enum cm_rc rc;

	while ((rc = next(user, &b, err)) == CM_OK) {
		(void)sqlite3_bind_int64(d->put_block, 1, b.bucket);
		(void)sqlite3_bind_int64(d->put_block, 2, (sqlite3_int64)b.id);
		db_bind(d->put_block, 3, b.body, b.len);
		rc = db_done(d->put_block, err);
		if (rc != CM_OK)
			return rc;
	}
	if (rc != CM_EMORE)
		return rc;
	(void)sqlite3_bind_int64(d->put_tags, 1, (sqlite3_int64)tags->id);
	db_bind(d->put_tags, 2, tags->body, tags->len);
	return db_done(d->put_tags, err);
}

/* bucket: the bucket to empty first; NULL: none. */
static enum cm_rc commit(struct round_data *d, const uint32_t *bucket, sh_block_source *next, void *user,
	const struct sh_block *tags, struct cm_err *err)
{
	enum cm_rc rc = db_run(d->db, "BEGIN IMMEDIATE", err);
	if (rc != CM_OK)
		return rc;
	if (bucket) {
		(void)sqlite3_bind_int64(d->drop_bucket, 1, *bucket);
		rc = db_done(d->drop_bucket, err);
	}
	if (rc == CM_OK)
		rc = put_all(d, next, user, tags, err);
	if (rc == CM_OK)
		rc = db_run(d->db, "COMMIT", err);
	if (rc != CM_OK)
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

/* Hand every row (id, body) of a prepared query to fn. */
static enum cm_rc each(sqlite3_stmt *stmt, uint32_t bucket, sh_block_fn *fn, void *user, struct cm_err *err)
{
	enum cm_rc rc;

	while ((rc = db_step(stmt, err)) == CM_OK) {
		struct cr_span body = db_blob(stmt, 1);
		struct sh_block b = { .bucket = bucket,
			.id = (uint64_t)sqlite3_column_int64(stmt, 0),
			.body = body.data,
			.len = body.len };
		rc = fn(user, &b, err);
		if (rc != CM_OK)
			break;
	}
	(void)sqlite3_reset(stmt);
	return rc == CM_EMORE ? CM_OK : rc;
}

enum cm_rc sh_sqlite_data_bucket(void *data, uint32_t bucket, sh_block_fn *fn, void *user, struct cm_err *err)
{
	struct round_data *d = data;

	(void)sqlite3_bind_int64(d->get_bucket, 1, bucket);
	return each(d->get_bucket, bucket, fn, user, err);
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
