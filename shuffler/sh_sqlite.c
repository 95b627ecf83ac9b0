/* sh_sqlite.c - the embedded store: rounds and witnessed records in state.db. */
#include "sh_sqlite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cm_begun.h"
#include "cm_fault.h"
#include "cm_file.h"
#include "sh_sqlite_data.h"
#include "sh_sqlite_db.h"

/* user_version is the schema's version: a later one is refused, not guessed at.  Version 1 had no sums. */
#define SCHEMA_VERSION 2

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS round(id BLOB PRIMARY KEY, sequence INTEGER NOT NULL UNIQUE,"
	" state INTEGER NOT NULL, descriptor BLOB NOT NULL, signature BLOB NOT NULL, manifest BLOB,"
	" manifest_signature BLOB, charge BLOB, sum BLOB) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS record(seq INTEGER PRIMARY KEY, body BLOB NOT NULL, sum BLOB);";

static const char check[] = "PRAGMA integrity_check(1)";

/* SQLite keeps no checksum of a row, and one bit makes of a round that collects one that is void, whose
 * messages are destroyed at the next start: `sum` is the function below of all other columns. */
#define ROW_COLUMNS "id, sequence, state, descriptor, signature, manifest, manifest_signature, charge"
#define ROW_SUM     "row_sum(" ROW_COLUMNS ")"
#define RECORD_SUM  "row_sum(seq, body)"
#define SUM_ARGS    8

static const char upgrade[] =
	"BEGIN IMMEDIATE;"
	"ALTER TABLE round ADD COLUMN sum BLOB; UPDATE round SET sum = " ROW_SUM ";"
	"ALTER TABLE record ADD COLUMN sum BLOB; UPDATE record SET sum = " RECORD_SUM ";"
	"COMMIT";

struct files {
	char *rounds; /* folder */
	sqlite3 *db;
	sqlite3_stmt *put_row, *get_row, *all_rows, *put_record, *all_records;
};

static void files_close(void *ctx)
{
	struct files *f = ctx;

	if (!f)
		return;
	(void)sqlite3_finalize(f->put_row);
	(void)sqlite3_finalize(f->get_row);
	(void)sqlite3_finalize(f->all_rows);
	(void)sqlite3_finalize(f->put_record);
	(void)sqlite3_finalize(f->all_records);
	(void)sqlite3_close(f->db);
	free(f->rounds);
	free(f);
}

/* SHA-256 of each argument's type, length and bytes. */
static void row_sum(sqlite3_context *context, int n, sqlite3_value **value)
{
	uint8_t head[SUM_ARGS][9], number[SUM_ARGS][8], sum[CM_HASH_LEN];
	struct cm_span span[2 * SUM_ARGS], *next = span;

	for (int i = 0; i < n && i < SUM_ARGS; i++) {
		struct cm_span bytes = { sqlite3_value_blob(value[i]),
			(size_t)sqlite3_value_bytes(value[i]) };
		head[i][0] = (uint8_t)sqlite3_value_type(value[i]);
		if (head[i][0] == SQLITE_INTEGER) {
			cm_put_le64(number[i], (uint64_t)sqlite3_value_int64(value[i]));
			bytes = (struct cm_span){ number[i], sizeof number[i] };
		}
		cm_put_le64(head[i] + 1, bytes.len);
		*next++ = (struct cm_span){ head[i], sizeof head[i] };
		*next++ = bytes;
	}
	cm_sha256_spans(span, (size_t)(next - span), sum);
	sqlite3_result_blob(context, sum, sizeof sum, SQLITE_TRANSIENT);
}

static enum cm_rc row_put(void *ctx, const struct sh_row *row, struct cm_err *err)
{
	struct files *f = ctx;
	sqlite3_stmt *s = f->put_row;

	sh_db_bind(s, 1, row->round_id, PR_ROUND_ID_LEN);
	(void)sqlite3_bind_int64(s, 2, (sqlite3_int64)row->sequence);
	(void)sqlite3_bind_int64(s, 3, row->state);
	sh_db_bind(s, 4, row->descriptor.data, row->descriptor.len);
	sh_db_bind(s, 5, row->signature.data, row->signature.len);
	sh_db_bind(s, 6, row->manifest.data, row->manifest.len);
	sh_db_bind(s, 7, row->manifest_signature.data, row->manifest_signature.len);
	sh_db_bind(s, 8, row->charge.data, row->charge.len);
	return sh_db_done(s, err);
}

static enum cm_rc row_read(sqlite3_stmt *s, struct sh_row *row, struct cm_err *err)
{
	struct cm_span id = sh_db_blob(s, 0);
	int64_t state = sqlite3_column_int64(s, 2);

	if (sqlite3_column_int(s, 8) != 1 || id.len != PR_ROUND_ID_LEN || state < SH_COLLECTING ||
		state > SH_VOID)
		return cm_fail(err, CM_EDATA, "state.db: a round's row is damaged");
	*row = (struct sh_row){ .sequence = (uint64_t)sqlite3_column_int64(s, 1),
		.state = (enum sh_state)state,
		.descriptor = sh_db_blob(s, 3),
		.signature = sh_db_blob(s, 4),
		.manifest = sh_db_blob(s, 5),
		.manifest_signature = sh_db_blob(s, 6),
		.charge = sh_db_blob(s, 7) };
	memcpy(row->round_id, id.data, id.len);
	return CM_OK;
}

static enum cm_rc rows(sqlite3_stmt *s, sh_row_fn *fn, void *user, size_t *n, struct cm_err *err)
{
	struct sh_row row;
	enum cm_rc rc;

	*n = 0;
	while ((rc = sh_db_step(s, err)) == CM_OK) {
		rc = row_read(s, &row, err);
		if (rc == CM_OK)
			rc = fn(user, &row, err);
		if (rc != CM_OK)
			break;
		++*n;
	}
	(void)sqlite3_reset(s);
	return rc == CM_EMORE ? CM_OK : rc;
}

static enum cm_rc row_get(
	void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], sh_row_fn *fn, void *user, struct cm_err *err)
{
	struct files *f = ctx;
	size_t n;

	sh_db_bind(f->get_row, 1, round_id, PR_ROUND_ID_LEN);
	enum cm_rc rc = rows(f->get_row, fn, user, &n, err);
	(void)sqlite3_clear_bindings(f->get_row);
	return rc == CM_OK && n == 0 ? cm_fail(err, CM_ENOINPUT, "no such round") : rc;
}

static enum cm_rc row_each(void *ctx, sh_row_fn *fn, void *user, struct cm_err *err)
{
	struct files *f = ctx;
	size_t n;

	return rows(f->all_rows, fn, user, &n, err);
}

static enum cm_rc records_put(
	void *ctx, uint64_t first, const struct cm_span *records, size_t n, struct cm_err *err)
{
	struct files *f = ctx;
	struct cm_err ignored;

	enum cm_rc rc = sh_db_run(f->db, "BEGIN IMMEDIATE", err);
	if (rc != CM_OK)
		return rc;
	for (size_t i = 0; rc == CM_OK && i < n; i++, first++) {
		(void)sqlite3_bind_int64(f->put_record, 1, (sqlite3_int64)first);
		sh_db_bind(f->put_record, 2, records[i].data, records[i].len);
		rc = sh_db_done(f->put_record, err);
	}
	if (rc == CM_OK)
		rc = sh_db_run(f->db, "COMMIT", err);
	if (rc != CM_OK)
		(void)!sh_db_run(f->db, "ROLLBACK", &ignored);
	return rc;
}

static enum cm_rc record_each(void *ctx, sh_record_fn *fn, void *user, struct cm_err *err)
{
	struct files *f = ctx;
	sqlite3_int64 expect = 1;
	enum cm_rc rc;

	while ((rc = sh_db_step(f->all_records, err)) == CM_OK) {
		struct cm_span body = sh_db_blob(f->all_records, 1);
		if (sqlite3_column_int64(f->all_records, 0) != expect++)
			rc = cm_fail(err, CM_EDATA, "state.db: a witnessed ledger record is missing");
		else if (sqlite3_column_int(f->all_records, 2) != 1)
			rc = cm_fail(err, CM_EDATA, "state.db: a witnessed ledger record is damaged");
		else
			rc = fn(user, body.data, body.len, err);
		if (rc != CM_OK)
			break;
	}
	(void)sqlite3_reset(f->all_records);
	return rc == CM_EMORE ? CM_OK : rc;
}

static enum cm_rc data_open(
	void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], bool create, void **data, struct cm_err *err)
{
	return sh_sqlite_data_open(((struct files *)ctx)->rounds, round_id, create, data, err);
}

static enum cm_rc data_drop(void *ctx, const uint8_t round_id[PR_ROUND_ID_LEN], struct cm_err *err)
{
	return sh_sqlite_data_drop(((struct files *)ctx)->rounds, round_id, err);
}

static enum cm_rc data_each(void *ctx, sh_place_fn *fn, void *user, struct cm_err *err)
{
	return sh_sqlite_data_each(((struct files *)ctx)->rounds, fn, user, err);
}

/* A store made anew has forgotten the ledger's head, and with it what catches an old ledger. */
static enum cm_rc say_lost(const char *path, struct cm_err *err)
{
	return cm_fail(err, CM_EDATA,
		"%s: this shuffler has been in service and its state is missing or empty: restore it, or "
		"accept the loss with `tombola-shuffler accept-loss`",
		path);
}

/* The number that a query gives. */
static enum cm_rc ask(sqlite3 *db, const char *sql, int *out, struct cm_err *err)
{
	sqlite3_stmt *s;
	enum cm_rc rc = sh_db_prepare(db, sql, &s, err);

	*out = 0;
	if (rc != CM_OK)
		return rc;
	rc = sh_db_step(s, err);
	if (rc == CM_OK)
		*out = sqlite3_column_int(s, 0);
	(void)sqlite3_finalize(s);
	return rc == CM_EMORE ? CM_OK : rc;
}

/* in_service: it has been; then a database without a version is a new one in the old one's place. */
static enum cm_rc check_version(sqlite3 *db, bool in_service, struct cm_err *err)
{
	int version, sums;
	enum cm_rc rc = ask(db, "PRAGMA user_version", &version, err);
	if (rc == CM_OK && version == 0 && in_service)
		return say_lost(sqlite3_db_filename(db, "main"), err);
	if (rc == CM_OK && version > SCHEMA_VERSION)
		return cm_fail(
			err, CM_EDATA, "state.db: made by a later version of tombola (schema %d)", version);
	/* The columns say what the file is, not its number, which is no part of any sum. */
	if (rc == CM_OK)
		rc = ask(db, "SELECT count(*) FROM pragma_table_info('round') WHERE name='sum'", &sums, err);
	if (rc == CM_OK && sums == 0)
		rc = sh_db_run(db, upgrade, err);
	return rc == CM_OK ? sh_db_run(db, "PRAGMA user_version=2", err) : rc;
}

static enum cm_rc prepare(struct files *f, struct cm_err *err)
{
	/* A second round with a used sequence number fails; it never replaces the first. */
	static const char put[] =
		"INSERT INTO round(" ROW_COLUMNS ", sum)"
		" VALUES(?1,?2,?3,?4,?5,?6,?7,?8,row_sum(?1,?2,?3,?4,?5,?6,?7,?8))"
		" ON CONFLICT(id) DO UPDATE SET state=excluded.state, manifest=excluded.manifest,"
		" manifest_signature=excluded.manifest_signature, charge=excluded.charge, sum=excluded.sum";
	enum cm_rc rc = sh_db_prepare(f->db, put, &f->put_row, err);

	if (rc == CM_OK)
		rc = sh_db_prepare(f->db, "SELECT " ROW_COLUMNS ", sum=" ROW_SUM " FROM round WHERE id=?",
			&f->get_row, err);
	if (rc == CM_OK)
		rc = sh_db_prepare(f->db,
			"SELECT " ROW_COLUMNS ", sum=" ROW_SUM " FROM round ORDER BY sequence", &f->all_rows,
			err);
	if (rc == CM_OK)
		rc = sh_db_prepare(f->db, "INSERT INTO record(seq, body, sum) VALUES(?1,?2,row_sum(?1,?2))",
			&f->put_record, err);
	if (rc == CM_OK)
		rc = sh_db_prepare(f->db, "SELECT seq, body, sum=" RECORD_SUM " FROM record ORDER BY seq",
			&f->all_records, err);
	return rc;
}

/* Looked at before SQLite is, which would begin a new database and drop the old one's log. */
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

/* anew: in place of a state whose loss is accepted. */
static enum cm_rc open_files(
	struct files *f, const char *path, const char *state_dir, bool anew, struct cm_err *err)
{
	struct cm_begun begun;
	bool missing = false;

	enum cm_rc rc = cm_begun_read(state_dir, &begun, err);
	if (rc == CM_OK)
		rc = is_missing(path, &missing, err);
	bool in_service = CM_CHECKED("shuffler.in_service") && begun.there && !anew;
	if (rc == CM_OK && missing && in_service)
		rc = say_lost(path, err);
	if (rc == CM_OK)
		rc = cm_file_mkdir(f->rounds, err);
	if (rc == CM_OK)
		rc = sh_db_open(path, check, schema, true, &f->db, err);
	if (rc == CM_OK && sqlite3_create_function(f->db, "row_sum", -1,
				   SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL, row_sum,
				   NULL, NULL) != SQLITE_OK)
		rc = sh_db_fail(f->db, err);
	if (rc == CM_OK)
		rc = check_version(f->db, in_service, err);
	if (rc == CM_OK)
		rc = prepare(f, err);
	/* Once it is durable, so that no crash makes a first start look like a loss. */
	return rc == CM_OK ? cm_begun_note(state_dir, err) : rc;
}

static enum cm_rc open_store(const char *state_dir, bool anew, struct files **out, struct cm_err *err)
{
	struct files *f = calloc(1, sizeof *f);
	char *path = cm_file_join(state_dir, "state.db");
	enum cm_rc rc = CM_OK;

	if (f)
		f->rounds = cm_file_join(state_dir, "rounds");
	if (!f || !path || !f->rounds)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = open_files(f, path, state_dir, anew, err);
	free(path);
	if (rc != CM_OK)
		files_close(f);
	else
		*out = f;
	return rc;
}

enum cm_rc sh_sqlite_anew(const char *state_dir, struct cm_err *err)
{
	char *path = cm_file_join(state_dir, "state.db");
	struct files *f = NULL;
	struct cm_begun begun;
	bool missing = false;

	enum cm_rc rc =
		path ? cm_begun_read(state_dir, &begun, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK)
		rc = is_missing(path, &missing, err);
	if (rc == CM_OK && !missing)
		rc = cm_fail(err, CM_EOTHER,
			"%s: is there: no loss to accept (what cannot be used is moved away first)", path);
	if (rc == CM_OK && !begun.there)
		rc = cm_fail(err, CM_EOTHER, "%s: no shuffler has been in service here: no loss to accept",
			state_dir);
	/* Noted first: a state that was begun anew always says so. */
	if (rc == CM_OK)
		rc = cm_begun_lost(state_dir, err);
	if (rc == CM_OK)
		rc = open_store(state_dir, true, &f, err);
	files_close(f);
	free(path);
	return rc;
}

enum cm_rc sh_sqlite_open(const char *state_dir, struct sh_store *out, struct cm_err *err)
{
	struct files *f = NULL;

	enum cm_rc rc = open_store(state_dir, false, &f, err);
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
		.data_open = data_open,
		.data_close = sh_sqlite_data_close,
		.data_commit = sh_sqlite_data_commit,
		.data_replace = sh_sqlite_data_replace,
		.data_bucket = sh_sqlite_data_bucket,
		.data_tags = sh_sqlite_data_tags,
		.data_drop = data_drop,
		.data_each = data_each,
	};
	return CM_OK;
}
