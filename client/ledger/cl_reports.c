/* cl_reports.c - stores the sealed reports of a round in the client's database, and erases them. */
#include "cl_reports.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_proof.h"
#include "rd_receipt.h"

void cl_active_fini(struct cl_active *a)
{
	cm_buf_fini(&a->descriptor);
}

enum cm_rc cl_reports_active(struct cl_db *db, struct cl_active *out, struct cm_err *err)
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

enum cm_rc cl_reports_sequence(struct cl_db *db, uint64_t *sequence, struct cm_err *err)
{
	int64_t n = 0;
	enum cm_rc rc = db_int(db->sql, "SELECT sequence FROM active", &n, err);

	*sequence = (uint64_t)n;
	return rc;
}

enum cm_rc cl_reports_is_whole(struct cl_db *db, bool *whole, struct cm_err *err)
{
	int64_t n = 0;
	enum cm_rc rc = db_int(db->sql, "SELECT whole FROM active", &n, err);

	*whole = n != 0;
	return rc;
}

static enum cm_rc open_round(struct cl_db *db, const struct cl_opening *o, int64_t now_ms, struct cm_err *err)
{
	enum cm_rc rc = cl_ledger_charge(db, o->d, &o->charge, now_ms, err);

	return rc == CM_OK ? db_change(db->sql, "INSERT INTO active VALUES(1, ?, ?, ?, 0)", err,
				     DB_INT(o->d->sequence), DB_BYTES(o->descriptor, o->descriptor_len),
				     DB_BYTES(o->signature, PR_SIGNATURE_LEN))
			   : rc;
}

static enum cm_rc damaged(struct cm_err *err)
{
	return cm_fail(err, CM_EDATA, "client.db: a stored report is damaged");
}

/* Count the devices whose pseudonyms a column holds.  CM_EDATA: it is empty, or its length is no multiple
 * of PR_PSEUDONYM_LEN. */
static enum cm_rc names_in(sqlite3_stmt *st, int column, size_t *n, struct cm_err *err)
{
	size_t len = (size_t)sqlite3_column_bytes(st, column);

	*n = len / PR_PSEUDONYM_LEN;
	return *n > 0 && *n * PR_PSEUDONYM_LEN == len ? CM_OK : damaged(err);
}

/* ---- Storing ---- */

/* Read the pseudonyms of the devices that are stored already. */
static enum cm_rc load_reported(struct cl_db *db, struct cm_err *err)
{
	struct cl_pseudonym_set *reported = &db->reported;
	sqlite3_stmt *st = NULL;
	bool unused;
	size_t n;
	enum cm_rc rc = db_prepare(db->sql, "SELECT first, pseudonyms FROM reports ORDER BY first", &st, err);

	cl_pseudonym_set_fini(reported);
	reported->next = 1;
	while (db_row(st, &rc, err)) {
		rc = names_in(st, 1, &n, err);
		for (size_t i = 0; rc == CM_OK && i < n; i++)
			rc = cl_pseudonym_set_add(reported,
				(const uint8_t *)sqlite3_column_blob(st, 1) + i * PR_PSEUDONYM_LEN, &unused,
				err);
		reported->next = sqlite3_column_int64(st, 0) + (int64_t)n;
	}
	sqlite3_finalize(st);
	return rc;
}

/* *is: whether this device is in the store.  Reads all pseudonyms. */
static enum cm_rc is_stored(
	struct cl_db *db, const uint8_t pseudonym[PR_PSEUDONYM_LEN], bool *is, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	size_t n;
	enum cm_rc rc = db_prepare(db->sql, "SELECT pseudonyms FROM reports", &st, err);

	*is = false;
	while (!*is && db_row(st, &rc, err)) {
		rc = names_in(st, 0, &n, err);
		for (size_t i = 0; rc == CM_OK && i < n; i++)
			*is = *is ||
			      memcmp((const uint8_t *)sqlite3_column_blob(st, 0) + i * PR_PSEUDONYM_LEN,
				      pseudonym, PR_PSEUDONYM_LEN) == 0;
	}
	sqlite3_finalize(st);
	return rc;
}

/* Refuse a device that has a report in the store, or comes twice in the entries. */
static enum cm_rc check_once(struct cl_db *db, const struct cl_entry *entry, size_t n, struct cm_err *err)
{
	enum cm_rc rc = db->reported.next > 0 ? CM_OK : load_reported(db, err);

	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		bool twice = false;

		rc = cl_pseudonym_set_add(&db->reported, entry[i].pseudonym, &twice, err);
		if (rc != CM_OK || !twice)
			continue;
		rc = is_stored(db, entry[i].pseudonym, &twice, err);
		for (size_t j = 0; j < i; j++)
			twice = twice ||
				memcmp(entry[i].pseudonym, entry[j].pseudonym, PR_PSEUDONYM_LEN) == 0;
		if (rc == CM_OK && twice)
			rc = cm_fail(
				err, CM_EINTERNAL, "a device would have been randomized twice in one round");
	}
	return rc;
}

/* Insert the devices as one row. */
static enum cm_rc insert(struct cl_db *db, const struct cl_entry *entry, size_t n, const uint8_t *salts,
	const uint8_t *sealed, size_t device_len, struct cm_err *err)
{
	uint8_t *names = malloc(n * PR_PSEUDONYM_LEN);
	enum cm_rc rc;
	int bad;

	if (!names)
		return cm_fail(err, CM_EINTERNAL, "out of memory for %zu devices", n);
	for (size_t i = 0; i < n; i++)
		memcpy(names + i * PR_PSEUDONYM_LEN, entry[i].pseudonym, PR_PSEUDONYM_LEN);
	bad = sqlite3_bind_int64(db->put, 1, db->reported.next);
	bad |= sqlite3_bind_zeroblob(db->put, 2, (int)n);
	bad |= sqlite3_bind_blob64(db->put, 3, names, n * PR_PSEUDONYM_LEN, SQLITE_STATIC);
	bad |= sqlite3_bind_blob64(db->put, 4, salts, n * RD_SALT_LEN, SQLITE_STATIC);
	bad |= sqlite3_bind_blob64(db->put, 5, sealed, n * device_len, SQLITE_STATIC);
	rc = bad != SQLITE_OK ? db_fail(db->sql, err) : db_done(db->put, err);
	free(names);
	db->reported.next += (int64_t)n;
	return rc;
}

static enum cm_rc put_all(struct cl_db *db, const struct cl_opening *o, const struct cl_entry *entry,
	size_t n, const uint8_t *salts, const uint8_t *sealed, size_t device_len, int64_t now_ms,
	struct cm_err *err)
{
	uint64_t sequence = 0;
	enum cm_rc rc = cl_reports_sequence(db, &sequence, err);

	if (rc == CM_OK && sequence == 0)
		rc = open_round(db, o, now_ms, err);
	else if (rc == CM_OK && sequence != o->d->sequence)
		rc = cm_fail(err, CM_EINTERNAL, "another round is active");
	if (rc == CM_OK)
		rc = check_once(db, entry, n, err);
	return rc == CM_OK && n > 0 ? insert(db, entry, n, salts, sealed, device_len, err) : rc;
}

enum cm_rc cl_reports_put(struct cl_db *db, const struct cl_opening *o, const struct cl_entry *entry,
	size_t n, const uint8_t *salts, const uint8_t *sealed, size_t device_len, int64_t now_ms,
	struct cm_err *err)
{
	enum cm_rc rc = cl_reports_flush(db, err);

	if (rc == CM_OK && !db->put)
		rc = db_prepare(db->sql, "INSERT INTO reports VALUES(?, ?, ?, ?, ?)", &db->put, err);
	if (rc == CM_OK)
		rc = db_run(db->sql, "BEGIN IMMEDIATE", err);
	if (rc != CM_OK)
		return rc;
	rc = put_all(db, o, entry, n, salts, sealed, device_len, now_ms, err);
	if (rc == CM_OK)
		rc = db_run(db->sql, "COMMIT", err);
	if (rc != CM_OK) {
		db_rollback(db->sql);
		cl_pseudonym_set_fini(&db->reported); /* it has pseudonyms that were not stored */
	}
	return rc;
}

enum cm_rc cl_reports_whole(struct cl_db *db, struct cm_err *err)
{
	enum cm_rc rc = cl_reports_flush(db, err);

	cl_pseudonym_set_fini(&db->reported);
	return rc == CM_OK ? db_run(db->sql, "UPDATE active SET whole = 1", err) : rc;
}

enum cm_rc cl_reports_taken(struct cl_db *db, struct cl_batch *batch, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	size_t n;
	enum cm_rc rc = db_prepare(db->sql, "SELECT pseudonyms FROM reports", &st, err);

	while (db_row(st, &rc, err)) {
		rc = names_in(st, 0, &n, err);
		for (size_t i = 0; rc == CM_OK && i < n; i++)
			rc = cl_batch_taken(batch,
				(const uint8_t *)sqlite3_column_blob(st, 0) + i * PR_PSEUDONYM_LEN, err);
	}
	sqlite3_finalize(st);
	return rc;
}

/* ---- Sending ---- */

/* Where cl_reports_next puts what it reads. */
struct loading {
	int64_t after;
	size_t max, device_len, got;
	int64_t *slot;
	uint8_t *pseudonyms, *salts, *sealed;
};

/* Take those devices of a row that are still to be sent, as far as there is room. */
static enum cm_rc take_row(sqlite3_stmt *st, struct loading *l, struct cm_err *err)
{
	int64_t first = sqlite3_column_int64(st, 0);
	const uint8_t *outcome = sqlite3_column_blob(st, 1), *pseudonym = sqlite3_column_blob(st, 2),
		      *salt = sqlite3_column_blob(st, 3), *sealed = sqlite3_column_blob(st, 4);
	size_t n;

	if (names_in(st, 2, &n, err) != CM_OK || (size_t)sqlite3_column_bytes(st, 1) != n ||
		(size_t)sqlite3_column_bytes(st, 3) != n * RD_SALT_LEN ||
		(size_t)sqlite3_column_bytes(st, 4) != n * l->device_len)
		return damaged(err);
	for (size_t i = 0; i < n && l->got < l->max; i++) {
		if (outcome[i] != CL_UNANSWERED || first + (int64_t)i <= l->after)
			continue;
		l->slot[l->got] = first + (int64_t)i;
		memcpy(l->pseudonyms + l->got * PR_PSEUDONYM_LEN, pseudonym + i * PR_PSEUDONYM_LEN,
			PR_PSEUDONYM_LEN);
		memcpy(l->salts + l->got * RD_SALT_LEN, salt + i * RD_SALT_LEN, RD_SALT_LEN);
		memcpy(l->sealed + l->got * l->device_len, sealed + i * l->device_len, l->device_len);
		l->got++;
	}
	return CM_OK;
}

enum cm_rc cl_reports_next(struct cl_db *db, int64_t after, size_t max, size_t device_len, int64_t *slot,
	uint8_t *pseudonyms, uint8_t *salts, uint8_t *sealed, size_t *n, struct cm_err *err)
{
	struct loading l = { after, max, device_len, 0, slot, pseudonyms, salts, sealed };
	enum cm_rc rc = CM_OK;

	/* Begin at the row that has the next device. */
	if (!db->next)
		rc = db_prepare(db->sql,
			"SELECT first, outcomes, pseudonyms, salts, sealed FROM reports WHERE first >= "
			"(SELECT coalesce(max(first), 0) FROM reports WHERE first <= ? + 1) ORDER BY first",
			&db->next, err);
	if (rc != CM_OK)
		return rc;
	(void)sqlite3_bind_int64(db->next, 1, after);
	while (l.got < max && db_row(db->next, &rc, err))
		rc = take_row(db->next, &l, err);
	(void)sqlite3_reset(db->next);
	if (rc == CM_OK)
		*n = l.got;
	return rc;
}

/* Write the outcomes of the first of n devices, those that one row holds; *done: how many these are. */
static enum cm_rc answer_row(struct cl_db *db, const int64_t *slot, const uint8_t *outcome, size_t n,
	size_t *done, struct cm_err *err)
{
	int64_t first = 0, end = 0;
	sqlite3_blob *blob = NULL;
	enum cm_rc rc = CM_OK;

	(void)sqlite3_bind_int64(db->answer, 1, slot[0]);
	if (db_row(db->answer, &rc, err)) {
		first = sqlite3_column_int64(db->answer, 0);
		end = first + sqlite3_column_int64(db->answer, 1);
	}
	(void)sqlite3_reset(db->answer);
	if (rc == CM_OK && slot[0] >= end)
		rc = cm_fail(err, CM_EINTERNAL, "an outcome of a report that is not stored");
	if (rc != CM_OK)
		return rc;
	for (*done = 1; *done < n && slot[*done] == slot[*done - 1] + 1 && slot[*done] < end;)
		++*done;
	if (sqlite3_blob_open(db->sql, "main", "reports", "outcomes", first, 1, &blob) != SQLITE_OK ||
		sqlite3_blob_write(blob, outcome, (int)*done, (int)(slot[0] - first)) != SQLITE_OK)
		rc = db_fail(db->sql, err);
	if (sqlite3_blob_close(blob) != SQLITE_OK && rc == CM_OK)
		rc = db_fail(db->sql, err);
	return rc;
}

enum cm_rc cl_reports_answer(
	struct cl_db *db, const int64_t *slot, const uint8_t *outcome, size_t n, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (!db->answer)
		rc = db_prepare(db->sql,
			"SELECT first, length(outcomes) FROM reports WHERE first <= ? ORDER BY first DESC "
			"LIMIT 1",
			&db->answer, err);
	if (rc == CM_OK && !db->open_tx) {
		rc = db_run(db->sql, "BEGIN IMMEDIATE", err);
		db->open_tx = rc == CM_OK;
	}
	for (size_t i = 0, done = 0; rc == CM_OK && i < n; i += done)
		rc = answer_row(db, slot + i, outcome + i, n - i, &done, err);
	return rc;
}

enum cm_rc cl_reports_flush(struct cl_db *db, struct cm_err *err)
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

enum cm_rc cl_reports_counts(struct cl_db *db, struct cl_counts *out, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_prepare(db->sql, "SELECT outcomes FROM reports", &st, err);

	*out = (struct cl_counts){ 0 };
	while (db_row(st, &rc, err)) {
		const uint8_t *outcome = sqlite3_column_blob(st, 0);
		int n = sqlite3_column_bytes(st, 0);

		for (int i = 0; i < n; i++)
			out->by[outcome[i] < CL_OUTCOMES ? outcome[i] : CL_UNANSWERED]++;
		out->total += (uint64_t)n;
	}
	sqlite3_finalize(st);
	return rc;
}

void cl_counts_read(const char *note, struct cl_counts *out)
{
	*out = (struct cl_counts){ 0 };
	for (const char *at = note; at; at = strstr(at, ", ")) {
		char *words;
		uint64_t n;

		at += at > note ? 2 : 0;
		n = strtoull(at, &words, 10);
		for (enum cl_outcome i = 0; i < CL_OUTCOMES; i++) {
			size_t len = strlen(cl_outcome_words(i));

			if (words == at || *words != ' ' ||
				strncmp(words + 1, cl_outcome_words(i), len) != 0 ||
				(words[1 + len] != ',' && words[1 + len] != '\0'))
				continue;
			out->by[i] += n;
			out->total += n;
		}
	}
}

enum cm_rc cl_reports_erase(
	struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, struct cm_err *err)
{
	struct cl_counts counts;
	char note[160];
	size_t used;
	enum cm_rc rc = cl_reports_flush(db, err);

	if (rc == CM_OK)
		rc = cl_reports_counts(db, &counts, err);
	if (rc == CM_OK)
		rc = db_run(db->sql, "BEGIN IMMEDIATE", err);
	cl_pseudonym_set_fini(&db->reported);
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
		rc = db_run(db->sql, "DELETE FROM reports; DELETE FROM active; COMMIT", err);
	if (rc != CM_OK) {
		db_rollback(db->sql);
		return rc;
	}
	/* The write-ahead log still holds the bytes.  If a reader prevents truncation, the next opening
	 * truncates it. */
	return db_settle(db->sql, err);
}
