/* sh_sqlite.c - implements the store for rounds and witnessed records, in state.db. */
#include "sh_sqlite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cm_fault.h"
#include "cm_file.h"
#include "cm_log.h"
#include "cm_marker.h"
#include "sh_payload_files.h"
#include "sh_sqlite_data.h"
#include "sh_sqlite_file.h"
#include "sh_sqlite_ledger.h"
#include "sh_sqlite_rows.h"

/* user_version is the version of the schema; other versions are refused.  Versions before 3 had no plans. */
#define SCHEMA_VERSION 3

static const char schema[] = SH_SQLITE_ROWS_SCHEMA SH_SQLITE_LEDGER_SCHEMA;

static const char check[] = "PRAGMA integrity_check(1)";

struct files {
	char *rounds, *payloads; /* paths of the folders in which the files are */
	bool readonly;
	sqlite3 *db;
	struct sh_sqlite_rows rows;
	struct sh_sqlite_ledger ledger;
};

static void files_close(void *ctx)
{
	struct files *f = ctx;

	if (!f)
		return;
	sh_sqlite_rows_fini(&f->rows);
	sh_sqlite_ledger_fini(&f->ledger);
	(void)sqlite3_close(f->db);
	free(f->rounds);
	free(f->payloads);
	free(f);
}

static enum cm_rc row_put(void *ctx, const struct sh_row *row, struct cm_err *err)
{
	return sh_sqlite_row_put(&((struct files *)ctx)->rows, row, err);
}

static enum cm_rc row_get(
	void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], sh_row_fn *fn, void *user, struct cm_err *err)
{
	return sh_sqlite_row_get(&((struct files *)ctx)->rows, round_id, fn, user, err);
}

static enum cm_rc row_each(void *ctx, sh_row_fn *fn, void *user, struct cm_err *err)
{
	return sh_sqlite_row_each(&((struct files *)ctx)->rows, fn, user, err);
}

static enum cm_rc records_put(
	void *ctx, uint64_t first, const struct cr_span *records, size_t n, struct cm_err *err)
{
	return sh_sqlite_records_put(&((struct files *)ctx)->ledger, first, records, n, err);
}

static enum cm_rc record_each(void *ctx, sh_record_fn *fn, void *user, struct cm_err *err)
{
	return sh_sqlite_record_each(&((struct files *)ctx)->ledger, fn, user, err);
}

static enum cm_rc record_get(void *ctx, uint64_t seq, sh_record_fn *fn, void *user, struct cm_err *err)
{
	return sh_sqlite_record_get(&((struct files *)ctx)->ledger, seq, fn, user, err);
}

static enum cm_rc pin_put(void *ctx, const struct sh_pin_row *pin, struct cm_err *err)
{
	return sh_sqlite_pin_put(&((struct files *)ctx)->ledger, pin, err);
}

static enum cm_rc pin_each(void *ctx, sh_pin_fn *fn, void *user, struct cm_err *err)
{
	return sh_sqlite_pin_each(&((struct files *)ctx)->ledger, fn, user, err);
}

static enum cm_rc loss_get(void *ctx, struct sh_loss *loss, struct cm_err *err)
{
	return sh_sqlite_loss_get(&((struct files *)ctx)->ledger, loss, err);
}

static enum cm_rc loss_put(void *ctx, const struct sh_loss *loss, struct cm_err *err)
{
	return sh_sqlite_loss_put(&((struct files *)ctx)->ledger, loss, err);
}

static enum cm_rc head_put(void *ctx, const struct sh_head_row *head, struct cm_err *err)
{
	return sh_sqlite_head_put(&((struct files *)ctx)->ledger, head, err);
}

static enum cm_rc head_each(void *ctx, sh_head_fn *fn, void *user, struct cm_err *err)
{
	return sh_sqlite_head_each(&((struct files *)ctx)->ledger, fn, user, err);
}

static enum cm_rc standings_put(void *ctx, const struct sh_standing *standing, size_t n, struct cm_err *err)
{
	return sh_sqlite_standings_put(&((struct files *)ctx)->ledger, standing, n, err);
}

static enum cm_rc standing_get(
	void *ctx, const uint8_t name[PR_HASH_LEN], struct sh_standing *out, struct cm_err *err)
{
	return sh_sqlite_standing_get(&((struct files *)ctx)->ledger, name, out, err);
}

/* Refuse, in the words that SQLite has for files that cannot be written. */
static enum cm_rc refuse_to_write(struct cm_err *err)
{
	return cm_fail(err, CM_EIO, "attempt to write a state that was opened for reading");
}

static enum cm_rc data_open(
	void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], bool create, void **data, struct cm_err *err)
{
	const struct files *f = ctx;

	if (f->readonly)
		return create ? refuse_to_write(err)
			      : sh_sqlite_data_open_readonly(f->rounds, round_id, data, err);
	return sh_sqlite_data_open(f->rounds, round_id, create, data, err);
}

static enum cm_rc data_drop(void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	const struct files *f = ctx;

	return f->readonly ? refuse_to_write(err) : sh_sqlite_data_drop(f->rounds, round_id, err);
}

static enum cm_rc data_erase(
	void *ctx, void *data, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	sh_sqlite_data_close(data);
	return data_drop(ctx, round_id, err);
}

static enum cm_rc data_each(void *ctx, sh_place_fn *fn, void *user, struct cm_err *err)
{
	return sh_sqlite_data_each(((struct files *)ctx)->rounds, fn, user, err);
}

static enum cm_rc payload_add(void *ctx, const uint8_t hash[PR_HASH_LEN], uint64_t offset, const void *bytes,
	size_t len, struct cm_err *err)
{
	const struct files *f = ctx;

	return f->readonly ? refuse_to_write(err)
			   : sh_payload_file_add(f->payloads, hash, offset, bytes, len, err);
}

static enum cm_rc payload_finish(void *ctx, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	const struct files *f = ctx;

	return f->readonly ? refuse_to_write(err) : sh_payload_file_finish(f->payloads, hash, err);
}

static enum cm_rc payload_read(void *ctx, const uint8_t hash[PR_HASH_LEN], uint64_t offset, void *out,
	size_t len, struct cm_err *err)
{
	return sh_payload_file_read(((struct files *)ctx)->payloads, hash, offset, out, len, err);
}

static enum cm_rc payload_drop(void *ctx, const uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	const struct files *f = ctx;

	return f->readonly ? refuse_to_write(err) : sh_payload_file_drop(f->payloads, hash, err);
}

static enum cm_rc payload_each(void *ctx, sh_payload_fn *fn, void *user, struct cm_err *err)
{
	return sh_payload_file_each(((struct files *)ctx)->payloads, fn, user, err);
}

/* Refuse to start with a new store: it would not know the ledger's head, which detects an old copy of the
 * ledger. */
static enum cm_rc say_lost(const char *path, struct cm_err *err)
{
	return cm_fail(err, CM_EDATA,
		"%s: this shuffler has been in service and its state is missing or empty: restore it, or "
		"accept the loss with `tombola-shuffler accept-loss`",
		path);
}

/* in_service: a shuffler ran here before, so a database without a version has replaced a lost one. */
static enum cm_rc check_version(sqlite3 *db, bool in_service, int64_t *version, struct cm_err *err)
{
	int64_t tables;
	enum cm_rc rc = db_int(db, "PRAGMA user_version", version, err);

	/* The tables identify the file, since no checksum covers its version number. */
	if (rc == CM_OK)
		rc = db_int(db, "SELECT count(*) FROM sqlite_master WHERE name IN ('round', 'pin')", &tables,
			err);
	if (rc != CM_OK)
		return rc;
	if (*version > SCHEMA_VERSION)
		return cm_fail(err, CM_EDATA, "state.db: made by a later version of tombola (schema %lld)",
			(long long)*version);
	if (*version == 0 && in_service)
		return say_lost(sqlite3_db_filename(db, "main"), err);
	if (tables == 1)
		return cm_fail(err, CM_EDATA,
			"%s: made by a version without plans: to go on, give the population a new name in "
			"the policies and the plan, and each party a new "
			"state_dir; this one is left as it is",
			sqlite3_db_filename(db, "main"));
	return CM_OK;
}

static enum cm_rc make_tables(sqlite3 *db, const struct sh_loss *loss, struct cm_err *err)
{
	enum cm_rc rc = db_begin(db, err);

	if (rc == CM_OK)
		rc = db_run(db, schema, err);
	if (rc == CM_OK && loss)
		rc = sh_sqlite_loss(db, loss, err);
	if (rc == CM_OK)
		rc = db_run(db, "PRAGMA user_version=3", err);
	return db_end(db, rc, err);
}

static enum cm_rc prepare(struct files *f, struct cm_err *err)
{
	enum cm_rc rc = sh_sqlite_rows_init(&f->rows, f->db, err);

	return rc == CM_OK ? sh_sqlite_ledger_init(&f->ledger, f->db, err) : rc;
}

/* Check before SQLite opens the file: SQLite would create a new database and delete the old one's log. */
static enum cm_rc is_missing(const char *path, bool *missing, struct cm_err *err)
{
	struct stat st;

	if (stat(path, &st) == 0)
		*missing = st.st_size == 0;
	else if (errno == ENOENT)
		*missing = true;
	else
		return cm_fail(err, CM_EIO, "%s: %s", path, strerror(errno));
	return CM_OK;
}

/* loss: the accepted loss of an earlier state; NULL: there is none. */
static enum cm_rc open_files(struct files *f, const char *path, const char *state_dir,
	const struct sh_loss *loss, struct cm_err *err)
{
	struct cm_marker marker;
	bool missing = false;
	int64_t version;

	enum cm_rc rc = cm_marker_read(state_dir, &marker, err);
	if (rc == CM_OK)
		rc = is_missing(path, &missing, err);
	bool in_service = CM_CHECKED("shuffler.in_service") && marker.there && !loss;
	if (rc == CM_OK && missing && in_service)
		rc = say_lost(path, err);
	if (rc == CM_OK)
		rc = cm_file_mkdir(f->rounds, err);
	if (rc == CM_OK)
		rc = cm_file_mkdir(f->payloads, err);
	if (rc == CM_OK)
		rc = sh_sqlite_file(path, check, "", true, &f->db, err);
	if (rc == CM_OK)
		rc = check_version(f->db, in_service, &version, err);
	if (rc == CM_OK)
		rc = make_tables(f->db, loss, err);
	if (rc == CM_OK)
		rc = prepare(f, err);
	if (rc == CM_OK && !missing && !marker.there)
		cm_log(CM_LOG_WARN,
			"the file in-service was missing beside a state, and is made again: without it "
			"the loss of the state would not be noticed",
			CM_S("state_dir", state_dir));
	/* Create the marker when the database is durable, so that a crash cannot make a first start look like
	 * a loss. */
	return rc == CM_OK ? cm_marker_make(state_dir, err) : rc;
}

/* Create nothing; existing files must be complete. */
static enum cm_rc open_readonly(struct files *f, const char *path, const char *state_dir, struct cm_err *err)
{
	struct cm_marker marker;
	bool missing = false;
	int64_t version = 0;

	f->readonly = true;
	enum cm_rc rc = cm_marker_read(state_dir, &marker, err);
	if (rc == CM_OK)
		rc = is_missing(path, &missing, err);
	if (rc == CM_OK && missing)
		return marker.there ? say_lost(path, err)
				    : cm_fail(err, CM_ENOINPUT, "%s: not there yet", path);
	if (rc == CM_OK)
		rc = sh_sqlite_file_readonly(path, check, &f->db, err);
	if (rc == CM_OK)
		rc = check_version(f->db, marker.there, &version, err);
	if (rc == CM_OK && version == 0)
		return cm_fail(err, CM_ENOINPUT, "%s: not made yet", path);
	return rc == CM_OK ? prepare(f, err) : rc;
}

static enum cm_rc open_store(const char *state_dir, bool readonly, const struct sh_loss *loss,
	struct files **out, struct cm_err *err)
{
	struct files *f = calloc(1, sizeof *f);
	char *path = cm_file_join(state_dir, "state.db");
	enum cm_rc rc = CM_OK;

	if (f) {
		f->rounds = cm_file_join(state_dir, "rounds");
		f->payloads = cm_file_join(state_dir, "payloads");
	}
	if (!f || !path || !f->rounds || !f->payloads)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = readonly ? open_readonly(f, path, state_dir, err)
			      : open_files(f, path, state_dir, loss, err);
	free(path);
	if (rc != CM_OK)
		files_close(f);
	else
		*out = f;
	return rc;
}

enum cm_rc sh_sqlite_anew(const char *state_dir, const struct sh_loss *loss, struct cm_err *err)
{
	char *path = cm_file_join(state_dir, "state.db");
	struct files *f = NULL;
	struct cm_marker marker;
	bool missing = false;

	enum cm_rc rc =
		path ? cm_marker_read(state_dir, &marker, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = is_missing(path, &missing, err);
	if (rc == CM_OK && !missing)
		rc = cm_fail(err, CM_EOTHER,
			"%s: exists, so there is no loss to accept (move an unusable file away first)", path);
	if (rc == CM_OK && !marker.there)
		rc = cm_fail(err, CM_EOTHER, "%s: no shuffler has been in service here: no loss to accept",
			state_dir);
	/* Record the loss first, so that every state created after a loss says so. */
	if (rc == CM_OK)
		rc = cm_marker_add_loss(state_dir, err);
	if (rc == CM_OK)
		rc = open_store(state_dir, false, loss, &f, err);
	files_close(f);
	free(path);
	return rc;
}

static enum cm_rc open_as(const char *state_dir, bool readonly, struct sh_store *out, struct cm_err *err)
{
	struct files *f = NULL;

	enum cm_rc rc = open_store(state_dir, readonly, NULL, &f, err);
	if (rc != CM_OK)
		return rc;
	*out = (struct sh_store){
		.ctx = f,
		.close = files_close,
		.row_put = row_put,
		.row_get = row_get,
		.row_each = row_each,
		.records_put = records_put,
		.record_each = record_each,
		.record_get = record_get,
		.pin_put = pin_put,
		.pin_each = pin_each,
		.loss_get = loss_get,
		.loss_put = loss_put,
		.head_put = head_put,
		.head_each = head_each,
		.standings_put = standings_put,
		.standing_get = standing_get,
		.data_open = data_open,
		.data_close = sh_sqlite_data_close,
		.data_runs = sh_sqlite_data_runs,
		.data_commit = sh_sqlite_data_commit,
		.data_replace = sh_sqlite_data_replace,
		.data_buckets = sh_sqlite_data_buckets,
		.data_tags = sh_sqlite_data_tags,
		.data_erase = data_erase,
		.data_drop = data_drop,
		.data_each = data_each,
		.payload_add = payload_add,
		.payload_finish = payload_finish,
		.payload_read = payload_read,
		.payload_drop = payload_drop,
		.payload_each = payload_each,
	};
	return CM_OK;
}

enum cm_rc sh_sqlite_open(const char *state_dir, struct sh_store *out, struct cm_err *err)
{
	return open_as(state_dir, false, out, err);
}

enum cm_rc sh_sqlite_open_readonly(const char *state_dir, struct sh_store *out, struct cm_err *err)
{
	return open_as(state_dir, true, out, err);
}
