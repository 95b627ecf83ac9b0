/* cl_db.c - opens the client's database and runs its statements. */
#include "cl_db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cl_device.h"
#include "cl_evidence.h"
#include "cl_schema.h"
#include "cm_file.h"
#include "rd_account.h"

static const char settings[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON;"
			       "PRAGMA wal_autocheckpoint=4000;";

static enum cm_rc check_owner(struct cl_db *db, const char *path, const char *population, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	const char *owner;
	enum cm_rc rc;

	if (!population)
		return CM_OK;
	rc = db_prepare(db->sql, "SELECT population FROM meta", &st, err);
	if (!db_row(st, &rc, err)) {
		sqlite3_finalize(st);
		return rc == CM_OK ? cm_fail(err, CM_EDATA, "%s: has lost its population", path) : rc;
	}
	owner = (const char *)sqlite3_column_text(st, 0);
	if (!owner)
		rc = db_fail(db->sql, err);
	else if (strcmp(owner, population) != 0)
		rc = cm_fail(err, CM_ECONFIG, "%s: belongs to population '%.100s'", path, owner);
	sqlite3_finalize(st);
	return rc;
}

/* SQLite creates its other files with the database's mode, so create the database first with mode 0600. */
static enum cm_rc make_private(const char *path, struct cm_err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return cm_fail(err, CM_ECREATE, "%s: %s", path, strerror(errno));
	(void)close(fd);
	return CM_OK;
}

/* What is known when the database is opened. */
struct opening {
	const char *path, *population; /* a population of NULL allows any */
	bool create, readonly;
	bool used;       /* gateway.key exists, which is created after the database */
	bool anew;       /* result: the database was created without tables */
	uint64_t closed; /* 0, or the number up to which plans are closed because an operator accepted a lost
			  * ledger */
	int64_t now_ms;  /* time of that acceptance */
};

static enum cm_rc open_file(const struct opening *o, struct cl_db *db, struct cm_err *err)
{
	const struct db_conf conf = { .create = o->create, .readonly = o->readonly, .busy_ms = 10000 };
	enum cm_rc rc = db_open(o->path, &conf, &db->sql, err);

	if (rc == CM_EIO)
		rc = err->code = o->readonly ? CM_ENOINPUT : CM_ECREATE;
	return rc;
}

/* Refuse a read-only database without tables: a client may have created the file a moment ago. */
static enum cm_rc check_tables(const struct opening *o, struct cl_db *db, struct cm_err *err)
{
	int64_t tables = 0;
	enum cm_rc rc = db_int(db->sql, "SELECT count(*) FROM sqlite_schema", &tables, err);

	return rc == CM_OK && tables == 0 ? cm_fail(err, CM_ENOINPUT, "%s: empty", o->path) : rc;
}

static enum cm_rc make_tables(struct opening *o, struct cl_db *db, struct cm_err *err)
{
	int64_t tables = 0;
	enum cm_rc rc = db_int(db->sql, "SELECT count(*) FROM sqlite_schema", &tables, err);

	if (rc == CM_OK)
		rc = db_set(db->sql, settings, err);
	if (rc != CM_OK || tables > 0)
		return rc == CM_OK ? cl_schema_upgrade(db, err) : rc;
	/* The devices may have been charged, and a new ledger would not know those charges. */
	if (o->used && o->closed == 0)
		return cm_fail(err, CM_EDATA,
			"%s: this client's ledger is missing or empty, though its gateway.key is there; "
			"restore it, or accept the loss with `tombola-client accept-loss`",
			o->path);
	o->anew = true;
	return cl_schema_create(db, o->population, o->closed, o->now_ms, err);
}

static enum cm_rc open_at(struct opening *o, struct cl_db **out, struct cm_err *err)
{
	struct cl_db *db = calloc(1, sizeof *db);
	enum cm_rc rc;

	if (!db)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = open_file(o, db, err);
	if (rc == CM_OK)
		rc = o->readonly ? check_tables(o, db, err) : make_tables(o, db, err);
	if (rc == CM_OK)
		rc = cl_schema_check(db, o->path, err);
	if (rc == CM_OK)
		rc = check_owner(db, o->path, o->population, err);
	if (rc != CM_OK) {
		cl_db_close(db);
		return rc;
	}
	*out = db;
	return CM_OK;
}

/* Fill the rest of *o and open the file; o->anew says whether it is new. */
static enum cm_rc open_dir(const char *state_dir, struct opening *o, struct cl_db **out, struct cm_err *err)
{
	char *path = cm_file_join(state_dir, "client.db");
	enum cm_rc rc;

	*out = NULL;
	o->path = path;
	if (!path)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = cl_device_has_secret(state_dir, &o->used, err);
	if (rc == CM_OK)
		rc = make_private(path, err);
	if (rc == CM_OK)
		rc = open_at(o, out, err);
	/* Truncate the write-ahead log now, because a process that died after erasing a round may have left
	 * sealed bytes in it. */
	if (rc == CM_OK)
		rc = db_settle((*out)->sql, err);
	if (rc == CM_OK)
		rc = cm_file_sync_dir(state_dir, err);
	if (rc == CM_OK)
		(*out)->evidence = cl_evidence_files(state_dir);
	if (rc != CM_OK && *out) {
		cl_db_close(*out);
		*out = NULL;
	}
	free(path);
	return rc;
}

enum cm_rc cl_db_open(const char *state_dir, const char *population, struct cl_db **out, struct cm_err *err)
{
	struct opening o = { .population = population };

	return open_dir(state_dir, &o, out, err);
}

enum cm_rc cl_db_open_after_loss(const char *state_dir, const char *population, uint64_t plans,
	int64_t now_ms, bool *anew, struct cl_db **out, struct cm_err *err)
{
	struct opening o = { .population = population, .closed = plans, .now_ms = now_ms };
	enum cm_rc rc = open_dir(state_dir, &o, out, err);

	*anew = o.anew;
	return rc;
}

enum cm_rc cl_db_open_readonly(const char *state_dir, struct cl_db **out, struct cm_err *err)
{
	char *path = cm_file_join(state_dir, "client.db");
	struct opening o = { .path = path, .readonly = true };
	enum cm_rc rc;

	if (!path)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = access(path, F_OK) == 0 ? open_at(&o, out, err)
				     : cm_fail(err, CM_ENOINPUT, "%s: %s", path, strerror(errno));
	free(path);
	return rc;
}

/* Copy from the client database at `path`. */
static enum cm_rc copy_rows(struct cl_db *db, const char *path, uint64_t sequence, struct cm_err *err)
{
	static const char *const but_one[] = {
		"INSERT INTO ledger SELECT * FROM file.ledger WHERE kind = 'charged' AND sequence <> ?",
		"INSERT INTO descriptor SELECT * FROM file.descriptor WHERE sequence <> ?", NULL
	};
	enum cm_rc rc = db_change(db->sql, "ATTACH ? AS file", err, DB_TEXT(path));

	for (size_t i = 0; rc == CM_OK && but_one[i]; i++)
		rc = db_change(db->sql, but_one[i], err, DB_INT(sequence));
	return rc == CM_OK ? db_run(db->sql,
				     "INSERT INTO manifest SELECT * FROM file.manifest;"
				     "INSERT INTO plan SELECT * FROM file.plan ORDER BY rowid;"
				     "INSERT INTO pin SELECT * FROM file.pin;"
				     "INSERT INTO loss SELECT * FROM file.loss",
				     err)
			   : rc;
}

enum cm_rc cl_db_copy(const char *state_dir, const char *population, uint64_t sequence, struct cl_db **out,
	struct cm_err *err)
{
	struct opening memory = { .path = ":memory:", .population = population, .create = true };
	char *path = cm_file_join(state_dir, "client.db");
	struct cl_db *file = NULL;
	enum cm_rc rc, there;

	*out = NULL;
	if (!path)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	there = cl_db_open_readonly(state_dir, &file, err);
	rc = there == CM_ENOINPUT ? CM_OK : there;
	if (there == CM_OK)
		rc = check_owner(file, path, population, err);
	if (rc == CM_OK)
		rc = open_at(&memory, out, err);
	if (rc == CM_OK && there == CM_OK)
		rc = copy_rows(*out, path, sequence, err);
	if (rc != CM_OK) {
		cl_db_close(*out);
		*out = NULL;
	}
	cl_db_close(file);
	free(path);
	return rc;
}

void cl_db_close(struct cl_db *db)
{
	if (!db)
		return;
	rd_account_free(db->kept.account);
	sqlite3_finalize(db->put);
	sqlite3_finalize(db->answer);
	sqlite3_finalize(db->next);
	cl_pseudonym_set_fini(&db->reported);
	if (db->open_tx)
		(void)sqlite3_exec(db->sql, "COMMIT", NULL, NULL, NULL);
	(void)sqlite3_close(db->sql);
	free(db);
}
