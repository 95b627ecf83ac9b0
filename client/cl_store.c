/* cl_store.c - sealed submissions in the client's database, from first persisting to erasure. */
#include "cl_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void cl_active_fini(struct cl_active *a)
{
	cm_buf_fini(&a->descriptor);
}

enum cm_rc cl_store_active(struct cl_db *db, struct cl_active *out, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc =
		cl_db_prepare(db, "SELECT descriptor, signature, sequence, whole FROM active", &st, err);
	int step;

	if (rc != CM_OK)
		return rc;
	step = sqlite3_step(st);
	if (step == SQLITE_DONE) {
		rc = cm_fail(err, CM_ENOINPUT, "no round is active");
	} else if (step != SQLITE_ROW) {
		rc = cl_db_fail(db, err);
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

static enum cm_rc open_round(struct cl_db *db, const struct cl_opening *o, int64_t now_ms, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = cl_ledger_charge(db, o->d, &o->charge, now_ms, err);
	int bad;

	if (rc == CM_OK)
		rc = cl_db_prepare(db, "INSERT INTO active VALUES(1, ?, ?, ?, 0)", &st, err);
	if (rc != CM_OK)
		return rc;
	bad = sqlite3_bind_int64(st, 1, (int64_t)o->d->sequence);
	bad |= sqlite3_bind_blob(st, 2, o->descriptor, (int)o->descriptor_len, SQLITE_STATIC);
	bad |= sqlite3_bind_blob(st, 3, o->signature, PR_SIGNATURE_LEN, SQLITE_STATIC);
	rc = bad != SQLITE_OK ? cl_db_fail(db, err) : cl_db_done(db, st, err);
	sqlite3_finalize(st);
	return rc;
}

static enum cm_rc insert_device(
	struct cl_db *db, const uint8_t *pseudonym, const uint8_t *sealed, size_t len, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (sqlite3_bind_blob(db->put, 1, pseudonym, PR_PSEUDONYM_LEN, SQLITE_STATIC) != SQLITE_OK ||
		sqlite3_bind_blob(db->put, 2, sealed, (int)len, SQLITE_STATIC) != SQLITE_OK)
		return cl_db_fail(db, err);
	rc = cl_db_done(db, db->put, err);
	if (rc != CM_OK && sqlite3_errcode(db->sql) == SQLITE_CONSTRAINT)
		rc = cm_fail(err, CM_EINTERNAL, "a device would have been randomized twice in one round");
	(void)sqlite3_reset(db->put);
	return rc;
}

static enum cm_rc put_all(struct cl_db *db, const struct cl_opening *o, const struct cl_entry *entry,
	size_t n, const uint8_t *sealed, size_t device_len, int64_t now_ms, struct cm_err *err)
{
	int64_t sequence = 0;
	enum cm_rc rc = cl_db_int(db, "SELECT sequence FROM active", &sequence, err);

	if (rc == CM_OK && sequence == 0)
		rc = open_round(db, o, now_ms, err);
	else if (rc == CM_OK && (uint64_t)sequence != o->d->sequence)
		rc = cm_fail(err, CM_EINTERNAL, "another round is active");
	for (size_t i = 0; rc == CM_OK && i < n; i++)
		rc = insert_device(db, entry[i].pseudonym, sealed + i * device_len, device_len, err);
	return rc;
}

enum cm_rc cl_store_put(struct cl_db *db, const struct cl_opening *o, const struct cl_entry *entry, size_t n,
	const uint8_t *sealed, size_t device_len, int64_t now_ms, struct cm_err *err)
{
	enum cm_rc rc = cl_store_flush(db, err);

	if (rc == CM_OK && db->put == NULL)
		rc = cl_db_prepare(
			db, "INSERT INTO submission(pseudonym, sealed) VALUES(?, ?)", &db->put, err);
	if (rc == CM_OK)
		rc = cl_db_exec(db, "BEGIN IMMEDIATE", err);
	if (rc != CM_OK)
		return rc;
	rc = put_all(db, o, entry, n, sealed, device_len, now_ms, err);
	if (rc == CM_OK)
		rc = cl_db_exec(db, "COMMIT", err);
	if (rc != CM_OK)
		cl_db_rollback(db);
	return rc;
}

enum cm_rc cl_store_whole(struct cl_db *db, struct cm_err *err)
{
	enum cm_rc rc = cl_store_flush(db, err);

	return rc == CM_OK ? cl_db_exec(db, "UPDATE active SET whole = 1", err) : rc;
}

enum cm_rc cl_store_taken(struct cl_db *db, struct cl_batch *batch, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = cl_db_prepare(db, "SELECT pseudonym FROM submission", &st, err);
	int step = SQLITE_DONE;

	while (rc == CM_OK && (step = sqlite3_step(st)) == SQLITE_ROW)
		rc = sqlite3_column_bytes(st, 0) == PR_PSEUDONYM_LEN
			     ? cl_batch_taken(batch, sqlite3_column_blob(st, 0), err)
			     : cm_fail(err, CM_EDATA, "client.db: a submission is damaged");
	if (rc == CM_OK && step != SQLITE_DONE)
		rc = cl_db_fail(db, err);
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_store_next(struct cl_db *db, int64_t after, size_t max, size_t device_len, int64_t *slot,
	uint8_t *pseudonyms, uint8_t *sealed, size_t *n, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;
	size_t got = 0;
	int step = SQLITE_DONE;

	if (db->next == NULL)
		rc = cl_db_prepare(db,
			"SELECT slot, pseudonym, sealed FROM submission WHERE slot > ? AND outcome IS NULL"
			" ORDER BY slot LIMIT ?",
			&db->next, err);
	if (rc != CM_OK)
		return rc;
	(void)sqlite3_bind_int64(db->next, 1, after);
	(void)sqlite3_bind_int64(db->next, 2, (int64_t)max);
	while (got < max && (step = sqlite3_step(db->next)) == SQLITE_ROW) {
		if (sqlite3_column_bytes(db->next, 1) != PR_PSEUDONYM_LEN ||
			(size_t)sqlite3_column_bytes(db->next, 2) != device_len) {
			rc = cm_fail(err, CM_EDATA, "client.db: a submission is damaged");
			break;
		}
		slot[got] = sqlite3_column_int64(db->next, 0);
		memcpy(pseudonyms + got * PR_PSEUDONYM_LEN, sqlite3_column_blob(db->next, 1),
			PR_PSEUDONYM_LEN);
		memcpy(sealed + got * device_len, sqlite3_column_blob(db->next, 2), device_len);
		got++;
	}
	if (rc == CM_OK && step != SQLITE_ROW && step != SQLITE_DONE)
		rc = cl_db_fail(db, err);
	(void)sqlite3_reset(db->next);
	if (rc == CM_OK)
		*n = got;
	return rc;
}

enum cm_rc cl_store_answer(
	struct cl_db *db, const int64_t *slot, const uint8_t *outcome, size_t n, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (db->answer == NULL)
		rc = cl_db_prepare(db, "UPDATE submission SET outcome = ? WHERE slot = ?", &db->answer, err);
	if (rc == CM_OK && !db->open_tx) {
		rc = cl_db_exec(db, "BEGIN IMMEDIATE", err);
		db->open_tx = rc == CM_OK;
	}
	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		(void)sqlite3_bind_int(db->answer, 1, outcome[i]);
		(void)sqlite3_bind_int64(db->answer, 2, slot[i]);
		rc = cl_db_done(db, db->answer, err);
		(void)sqlite3_reset(db->answer);
	}
	return rc;
}

enum cm_rc cl_store_flush(struct cl_db *db, struct cm_err *err)
{
	if (!db->open_tx)
		return CM_OK;
	db->open_tx = false;
	return cl_db_exec(db, "COMMIT", err);
}

enum cm_rc cl_store_counts(struct cl_db *db, struct cl_counts *out, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc =
		cl_db_prepare(db, "SELECT outcome, count(*) FROM submission GROUP BY outcome", &st, err);
	int step = SQLITE_DONE;

	*out = (struct cl_counts){ 0 };
	while (rc == CM_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		uint64_t outcome = (uint64_t)sqlite3_column_int64(st, 0);
		uint64_t n = (uint64_t)sqlite3_column_int64(st, 1);

		out->by[outcome < CL_OUTCOMES ? outcome : 0] += n;
		out->total += n;
	}
	if (rc == CM_OK && step != SQLITE_DONE)
		rc = cl_db_fail(db, err);
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_store_erase(struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, struct cm_err *err)
{
	static const char *const outcome[CL_OUTCOMES] = { "unanswered", "accepted", "in conflict", "too late",
		"over the limit" };
	struct cl_counts counts;
	char note[160];
	size_t used;
	enum cm_rc rc = cl_store_flush(db, err);

	if (rc == CM_OK)
		rc = cl_store_counts(db, &counts, err);
	if (rc == CM_OK)
		rc = cl_db_exec(db, "BEGIN IMMEDIATE", err);
	if (rc != CM_OK)
		return rc;
	used = (size_t)snprintf(note, sizeof note, "%" PRIu64 " accepted", counts.by[1]);
	for (size_t i = 0; i < CL_OUTCOMES; i++)
		if (i != 1 && counts.by[i] > 0 && used < sizeof note)
			used += (size_t)snprintf(note + used, sizeof note - used, ", %" PRIu64 " %s",
				counts.by[i], outcome[i]);
	rc = cl_ledger_over(db, d, now_ms, note, err);
	if (rc == CM_OK)
		rc = cl_db_exec(db, "DELETE FROM submission; DELETE FROM active; COMMIT", err);
	if (rc != CM_OK) {
		cl_db_rollback(db);
		return rc;
	}
	/* The log still holds the bytes; a reader in the way leaves it to the next opening. */
	return cl_db_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", err);
}
