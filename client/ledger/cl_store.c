/* cl_store.c - stores the sealed reports of a round in the client's database, and erases them. */
#include "cl_store.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cl_proof.h"
#include "rd_receipt.h"

void cl_active_fini(struct cl_active *a)
{
	cm_buf_fini(&a->descriptor);
}

enum cm_rc cl_store_active(struct cl_db *db, struct cl_active *out, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc =
		db_prepare(db->sql, "SELECT descriptor, signature, sequence, whole FROM active", &st, err);

	if (!db_row(st, &rc, err)) {
		if (rc == CM_OK)
			rc = cm_fail(err, CM_ENOINPUT, "no round is active");
	} else if (sqlite3_column_bytes(st, 1) != PR_SIGNATURE_LEN) {
		rc = cm_fail(err, CM_EDATA, "client.db: the active round is damaged");
	} else {
		cm_buf_init(&out->descriptor, PR_DESCRIPTOR_MAX);
		rc = cm_buf_put(
			&out->descriptor, sqlite3_column_blob(st, 0), (size_t)sqlite3_column_bytes(st, 0));
		if (rc != CM_OK)
			rc = cm_fail(err, rc, "client.db: the active round is damaged");
		memcpy(out->signature, sqlite3_column_blob(st, 1), PR_SIGNATURE_LEN);
		out->sequence = (uint64_t)sqlite3_column_int64(st, 2);
		out->whole = sqlite3_column_int(st, 3) != 0;
	}
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_store_sequence(struct cl_db *db, uint64_t *sequence, struct cm_err *err)
{
	int64_t n = 0;
	enum cm_rc rc = db_int(db->sql, "SELECT sequence FROM active", &n, err);

	*sequence = (uint64_t)n;
	return rc;
}

enum cm_rc cl_store_is_whole(struct cl_db *db, bool *whole, struct cm_err *err)
{
	int64_t n = 0;
	enum cm_rc rc = db_int(db->sql, "SELECT whole FROM active", &n, err);

	*whole = n != 0;
	return rc;
}

static enum cm_rc open_round(struct cl_db *db, const struct cl_opening *o, int64_t now_ms, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = cl_ledger_charge(db, o->d, &o->charge, now_ms, err);
	int bad;

	if (rc == CM_OK)
		rc = db_prepare(db->sql, "INSERT INTO active VALUES(1, ?, ?, ?, 0)", &st, err);
	if (rc != CM_OK)
		return rc;
	bad = sqlite3_bind_int64(st, 1, (int64_t)o->d->sequence);
	bad |= sqlite3_bind_blob(st, 2, o->descriptor, (int)o->descriptor_len, SQLITE_STATIC);
	bad |= sqlite3_bind_blob(st, 3, o->signature, PR_SIGNATURE_LEN, SQLITE_STATIC);
	rc = bad != SQLITE_OK ? db_fail(db->sql, err) : db_done(st, err);
	sqlite3_finalize(st);
	return rc;
}

static enum cm_rc insert_device(struct cl_db *db, const uint8_t *pseudonym, const uint8_t *salt,
	const uint8_t *sealed, size_t len, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (sqlite3_bind_blob(db->put, 1, pseudonym, PR_PSEUDONYM_LEN, SQLITE_STATIC) != SQLITE_OK ||
		sqlite3_bind_blob(db->put, 2, salt, RD_SALT_LEN, SQLITE_STATIC) != SQLITE_OK ||
		sqlite3_bind_blob(db->put, 3, sealed, (int)len, SQLITE_STATIC) != SQLITE_OK)
		return db_fail(db->sql, err);
	rc = db_done(db->put, err);
	if (rc != CM_OK && (sqlite3_errcode(db->sql) & 0xff) == SQLITE_CONSTRAINT)
		rc = cm_fail(err, CM_EINTERNAL, "a device would have been randomized twice in one round");
	(void)sqlite3_reset(db->put);
	return rc;
}

static enum cm_rc put_all(struct cl_db *db, const struct cl_opening *o, const struct cl_entry *entry,
	size_t n, const uint8_t *salts, const uint8_t *sealed, size_t device_len, int64_t now_ms,
	struct cm_err *err)
{
	uint64_t sequence = 0;
	enum cm_rc rc = cl_store_sequence(db, &sequence, err);

	if (rc == CM_OK && sequence == 0)
		rc = open_round(db, o, now_ms, err);
	else if (rc == CM_OK && sequence != o->d->sequence)
		rc = cm_fail(err, CM_EINTERNAL, "another round is active");
	for (size_t i = 0; rc == CM_OK && i < n; i++)
		rc = insert_device(db, entry[i].pseudonym, salts + i * RD_SALT_LEN, sealed + i * device_len,
			device_len, err);
	return rc;
}

enum cm_rc cl_store_put(struct cl_db *db, const struct cl_opening *o, const struct cl_entry *entry, size_t n,
	const uint8_t *salts, const uint8_t *sealed, size_t device_len, int64_t now_ms, struct cm_err *err)
{
	enum cm_rc rc = cl_store_flush(db, err);

	if (rc == CM_OK && !db->put)
		rc = db_prepare(db->sql, "INSERT INTO submission(pseudonym, salt, sealed) VALUES(?, ?, ?)",
			&db->put, err);
	if (rc == CM_OK)
		rc = db_run(db->sql, "BEGIN IMMEDIATE", err);
	if (rc != CM_OK)
		return rc;
	rc = put_all(db, o, entry, n, salts, sealed, device_len, now_ms, err);
	if (rc == CM_OK)
		rc = db_run(db->sql, "COMMIT", err);
	if (rc != CM_OK)
		db_rollback(db->sql);
	return rc;
}

enum cm_rc cl_store_whole(struct cl_db *db, struct cm_err *err)
{
	enum cm_rc rc = cl_store_flush(db, err);

	return rc == CM_OK ? db_run(db->sql, "UPDATE active SET whole = 1", err) : rc;
}

enum cm_rc cl_store_taken(struct cl_db *db, struct cl_batch *batch, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_prepare(db->sql, "SELECT pseudonym FROM submission", &st, err);

	while (db_row(st, &rc, err))
		rc = sqlite3_column_bytes(st, 0) == PR_PSEUDONYM_LEN
			     ? cl_batch_taken(batch, sqlite3_column_blob(st, 0), err)
			     : cm_fail(err, CM_EDATA, "client.db: a submission is damaged");
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_store_next(struct cl_db *db, int64_t after, size_t max, size_t device_len, int64_t *slot,
	uint8_t *pseudonyms, uint8_t *salts, uint8_t *sealed, size_t *n, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;
	size_t got = 0;

	if (!db->next)
		rc = db_prepare(db->sql,
			"SELECT slot, pseudonym, sealed, salt FROM submission WHERE slot > ? AND outcome "
			"IS NULL ORDER BY slot LIMIT ?",
			&db->next, err);
	if (rc != CM_OK)
		return rc;
	(void)sqlite3_bind_int64(db->next, 1, after);
	(void)sqlite3_bind_int64(db->next, 2, (int64_t)max);
	while (got < max && db_row(db->next, &rc, err)) {
		if (sqlite3_column_bytes(db->next, 1) != PR_PSEUDONYM_LEN ||
			(size_t)sqlite3_column_bytes(db->next, 2) != device_len ||
			sqlite3_column_bytes(db->next, 3) != RD_SALT_LEN) {
			rc = cm_fail(err, CM_EDATA, "client.db: a submission is damaged");
			break;
		}
		slot[got] = sqlite3_column_int64(db->next, 0);
		memcpy(pseudonyms + got * PR_PSEUDONYM_LEN, sqlite3_column_blob(db->next, 1),
			PR_PSEUDONYM_LEN);
		memcpy(salts + got * RD_SALT_LEN, sqlite3_column_blob(db->next, 3), RD_SALT_LEN);
		memcpy(sealed + got * device_len, sqlite3_column_blob(db->next, 2), device_len);
		got++;
	}
	(void)sqlite3_reset(db->next);
	if (rc == CM_OK)
		*n = got;
	return rc;
}

enum cm_rc cl_store_answer(
	struct cl_db *db, const int64_t *slot, const uint8_t *outcome, size_t n, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (!db->answer)
		rc = db_prepare(
			db->sql, "UPDATE submission SET outcome = ? WHERE slot = ?", &db->answer, err);
	if (rc == CM_OK && !db->open_tx) {
		rc = db_run(db->sql, "BEGIN IMMEDIATE", err);
		db->open_tx = rc == CM_OK;
	}
	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		(void)sqlite3_bind_int(db->answer, 1, outcome[i]);
		(void)sqlite3_bind_int64(db->answer, 2, slot[i]);
		rc = db_done(db->answer, err);
		(void)sqlite3_reset(db->answer);
	}
	return rc;
}

enum cm_rc cl_store_flush(struct cl_db *db, struct cm_err *err)
{
	if (!db->open_tx)
		return CM_OK;
	db->open_tx = false;
	return db_run(db->sql, "COMMIT", err);
}

static_assert((int)CL_ACCEPTED == TOMBOLA__V1__OUTCOME__OUTCOME_ACCEPTED &&
		      (int)CL_CONFLICT == TOMBOLA__V1__OUTCOME__OUTCOME_CONFLICT &&
		      (int)CL_CLOSED == TOMBOLA__V1__OUTCOME__OUTCOME_CLOSED &&
		      (int)CL_OVER_LIMIT == TOMBOLA__V1__OUTCOME__OUTCOME_OVER_LIMIT,
	"outcomes are stored as the wire numbers them");

const char *cl_outcome_words(enum cl_outcome outcome)
{
	static const char *const words[CL_OUTCOMES] = { [CL_UNANSWERED] = "unanswered",
		[CL_ACCEPTED] = "accepted",
		[CL_CONFLICT] = "conflicts",
		[CL_CLOSED] = "closed",
		[CL_OVER_LIMIT] = "over limit" };

	return words[outcome];
}

enum cm_rc cl_store_counts(struct cl_db *db, struct cl_counts *out, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc =
		db_prepare(db->sql, "SELECT outcome, count(*) FROM submission GROUP BY outcome", &st, err);

	*out = (struct cl_counts){ 0 };
	while (db_row(st, &rc, err)) {
		uint64_t outcome = (uint64_t)sqlite3_column_int64(st, 0);
		uint64_t n = (uint64_t)sqlite3_column_int64(st, 1);

		out->by[outcome < CL_OUTCOMES ? outcome : CL_UNANSWERED] += n;
		out->total += n;
	}
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_store_erase(struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, struct cm_err *err)
{
	struct cl_counts counts;
	char note[160];
	size_t used;
	enum cm_rc rc = cl_store_flush(db, err);

	if (rc == CM_OK)
		rc = cl_store_counts(db, &counts, err);
	if (rc == CM_OK)
		rc = db_run(db->sql, "BEGIN IMMEDIATE", err);
	if (rc != CM_OK)
		return rc;
	used = (size_t)snprintf(note, sizeof note, "%" PRIu64 " accepted", counts.by[CL_ACCEPTED]);
	for (enum cl_outcome i = 0; i < CL_OUTCOMES; i++)
		if (i != CL_ACCEPTED && counts.by[i] > 0 && used < sizeof note)
			used += (size_t)snprintf(note + used, sizeof note - used, ", %" PRIu64 " %s",
				counts.by[i], cl_outcome_words(i));
	rc = cl_ledger_over(db, d, now_ms, note, err);
	if (rc == CM_OK)
		rc = cl_proof_begin(db, d, now_ms, err);
	if (rc == CM_OK)
		rc = db_run(db->sql, "DELETE FROM submission; DELETE FROM active; COMMIT", err);
	if (rc != CM_OK) {
		db_rollback(db->sql);
		return rc;
	}
	/* The write-ahead log still holds the bytes.  If a reader prevents truncation, the next opening
	 * truncates it. */
	return db_settle(db->sql, err);
}
