/* cl_ledger.c - the client's own ledger, in its database. */
#include "cl_ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_fault.h"
#include "rd_loss_text.h"

static enum cm_rc check_against_last(sqlite3_stmt *last, const struct rd_descriptor *d, struct cm_err *err)
{
	uint64_t sequence = (uint64_t)sqlite3_column_int64(last, 0);
	uint64_t ledger_seq = (uint64_t)sqlite3_column_int64(last, 2);
	const void *hash = sqlite3_column_blob(last, 1);

	if (d->sequence < sequence)
		return cm_fail(err, CM_EPERM,
			"sequence went back: round %" PRIu64 " is offered after round %" PRIu64, d->sequence,
			sequence);
	if (d->sequence == sequence + 1 && memcmp(d->previous, hash, PR_HASH_LEN) != 0)
		return cm_fail(err, CM_EPERM,
			"round %" PRIu64 " does not follow the descriptor seen for round %" PRIu64,
			d->sequence, sequence);
	/* Round `sequence` reserved a record after ledger_seq, so a later round's ledger is longer. */
	if (d->ledger_seq <= ledger_seq)
		return cm_fail(err, CM_EPERM,
			"the analyzer's ledger went back: %" PRIu64 " records at round %" PRIu64 ", %" PRIu64
			" at round %" PRIu64,
			d->ledger_seq, d->sequence, ledger_seq, sequence);
	return CM_OK;
}

/* The mode of the rounds seen so far, as the first one had it; plan when there is none. */
enum cm_rc cl_ledger_mode(struct cl_db *db, char mode[RD_MODE_LEN], struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	const char *noted = NULL;
	enum cm_rc rc = cl_db_prepare(
		db, "SELECT note FROM ledger WHERE kind = 'seen' ORDER BY entry LIMIT 1", &st, err);
	int step = rc == CM_OK ? sqlite3_step(st) : SQLITE_ERROR;

	if (rc == CM_OK && step == SQLITE_ROW)
		noted = (const char *)sqlite3_column_text(st, 0);
	else if (rc == CM_OK && step != SQLITE_DONE)
		rc = cl_db_fail(db, err);
	if (rc == CM_OK && noted != NULL && !rd_mode_is_known(noted))
		rc = cm_fail(err, CM_EDATA, "client.db: a mode of the ledger is damaged");
	if (rc == CM_OK)
		(void)snprintf(mode, RD_MODE_LEN, "%s", noted != NULL ? noted : RD_MODE_PLAN);
	sqlite3_finalize(st);
	return rc;
}

/* Modes compose by different theorems: one ledger keeps its own. */
static enum cm_rc check_mode(struct cl_db *db, const struct rd_descriptor *d, struct cm_err *err)
{
	char mode[RD_MODE_LEN] = "";
	int64_t seen = 0;
	enum cm_rc rc = cl_db_int(db, "SELECT count(*) FROM ledger WHERE kind = 'seen'", &seen, err);

	if (rc == CM_OK)
		rc = cl_ledger_mode(db, mode, err);
	if (rc == CM_OK && seen > 0 && strcmp(mode, d->mode) != 0)
		rc = cm_fail(err, CM_EPERM, "the ledger's mode is %s, this round's is %s", mode, d->mode);
	return rc;
}

/* CM_EMORE: seen before, the same. */
static enum cm_rc check_sequence(struct cl_db *db, const struct rd_descriptor *d, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc;
	int step;

	rc = cl_db_prepare(
		db, "SELECT descriptor_hash FROM ledger WHERE kind = 'seen' AND sequence = ?", &st, err);
	if (rc != CM_OK)
		return rc;
	(void)sqlite3_bind_int64(st, 1, (int64_t)d->sequence);
	step = sqlite3_step(st);
	if (step == SQLITE_ROW)
		rc = memcmp(sqlite3_column_blob(st, 0), d->hash, PR_HASH_LEN) == 0
			     ? CM_EMORE
			     : cm_fail(err, CM_EPERM,
				       "two descriptors for sequence number %" PRIu64
				       ": this one is not the one seen before",
				       d->sequence);
	else if (step != SQLITE_DONE)
		rc = cl_db_fail(db, err);
	sqlite3_finalize(st);
	if (rc != CM_OK)
		return rc;
	rc = cl_db_prepare(db,
		"SELECT sequence, descriptor_hash, ledger_seq FROM ledger WHERE kind = 'seen'"
		" ORDER BY sequence DESC LIMIT 1",
		&st, err);
	if (rc != CM_OK)
		return rc;
	step = sqlite3_step(st);
	if (step == SQLITE_ROW)
		rc = check_against_last(st, d, err);
	else if (step != SQLITE_DONE)
		rc = cl_db_fail(db, err);
	sqlite3_finalize(st);
	return rc;
}

/* Prepared insert of an entry with its common columns bound; the caller binds 9.. and steps.  Sequence
 * numbers seen or charged twice break the table's unique indexes. */
static enum cm_rc entry(struct cl_db *db, const char *kind, const struct rd_descriptor *d, int64_t now_ms,
	sqlite3_stmt **out, struct cm_err *err)
{
	enum cm_rc rc = cl_db_prepare(db,
		"INSERT INTO ledger(kind, time_ms, sequence, descriptor_hash, round_id, query, ledger_seq,"
		" ledger_head, loss, epsilon_round, epsilon_total, note)"
		" VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		out, err);
	int bad;

	if (rc != CM_OK)
		return rc;
	bad = sqlite3_bind_text(*out, 1, kind, -1, SQLITE_STATIC);
	bad |= sqlite3_bind_int64(*out, 2, now_ms);
	bad |= sqlite3_bind_int64(*out, 3, (int64_t)d->sequence);
	bad |= sqlite3_bind_blob(*out, 4, d->hash, PR_HASH_LEN, SQLITE_STATIC);
	bad |= sqlite3_bind_blob(*out, 5, d->round_id, PR_ROUND_ID_LEN, SQLITE_STATIC);
	bad |= sqlite3_bind_text(*out, 6, d->query.name, -1, SQLITE_STATIC);
	bad |= sqlite3_bind_int64(*out, 7, (int64_t)d->ledger_seq);
	bad |= sqlite3_bind_blob(*out, 8, d->ledger_head, PR_HASH_LEN, SQLITE_STATIC);
	if (bad == SQLITE_OK)
		return CM_OK;
	rc = cl_db_fail(db, err);
	sqlite3_finalize(*out);
	*out = NULL;
	return rc;
}

static enum cm_rc entry_with_note(struct cl_db *db, const char *kind, const struct rd_descriptor *d,
	int64_t now_ms, const char *note, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = entry(db, kind, d, now_ms, &st, err);

	if (rc != CM_OK)
		return rc;
	if (note != NULL && sqlite3_bind_text(st, 12, note, -1, SQLITE_STATIC) != SQLITE_OK)
		rc = cl_db_fail(db, err);
	else
		rc = cl_db_done(db, st, err);
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_ledger_see(struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (d->sequence == 0 || d->sequence > INT64_MAX || d->ledger_seq > INT64_MAX)
		return cm_fail(err, CM_EPERM, "a sequence number outside 1..2^63-1");
	if (CM_CHECKED("client.sequence"))
		rc = check_sequence(db, d, err);
	if (rc == CM_EMORE)
		return CM_OK;
	if (rc == CM_OK)
		rc = check_mode(db, d, err);
	if (rc == CM_OK)
		rc = entry_with_note(
			db, "seen", d, now_ms, strcmp(d->mode, RD_MODE_PLAN) == 0 ? NULL : d->mode, err);
	/* Only with the check above removed can a second one get here. */
	if (rc == CM_EIO && sqlite3_errcode(db->sql) == SQLITE_CONSTRAINT)
		rc = CM_OK;
	return rc;
}

enum cm_rc cl_ledger_refuse(
	struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, const char *why, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = cl_db_prepare(
		db, "SELECT 1 FROM ledger WHERE kind = 'refused' AND descriptor_hash = ?", &st, err);
	int step = SQLITE_ERROR;

	if (rc == CM_OK && sqlite3_bind_blob(st, 1, d->hash, PR_HASH_LEN, SQLITE_STATIC) == SQLITE_OK)
		step = sqlite3_step(st);
	if (rc == CM_OK && step != SQLITE_ROW && step != SQLITE_DONE)
		rc = cl_db_fail(db, err);
	sqlite3_finalize(st);
	return rc == CM_OK && step == SQLITE_DONE ? entry_with_note(db, "refused", d, now_ms, why, err) : rc;
}

enum cm_rc cl_ledger_over(
	struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, const char *note, struct cm_err *err)
{
	return entry_with_note(db, "over", d, now_ms, note, err);
}

enum cm_rc cl_ledger_charge(struct cl_db *db, const struct rd_descriptor *d, const struct cl_charge *charge,
	int64_t now_ms, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	struct cm_buf text;
	enum cm_rc rc;
	int bad;

	cm_buf_init(&text, RD_LOSS_TEXT_MAX);
	rc = rd_loss_put(&charge->loss, &text, err);
	if (rc == CM_OK)
		rc = entry(db, "charged", d, now_ms, &st, err);
	if (rc == CM_OK) {
		bad = sqlite3_bind_text(st, 9, (const char *)text.data, (int)text.len, SQLITE_STATIC);
		bad |= sqlite3_bind_double(st, 10, charge->epsilon_round);
		bad |= sqlite3_bind_double(st, 11, charge->epsilon_total);
		rc = bad != SQLITE_OK ? cl_db_fail(db, err) : cl_db_done(db, st, err);
	}
	sqlite3_finalize(st);
	cm_buf_fini(&text);
	return rc;
}

static enum cm_rc add_charge(struct rd_account *a, sqlite3_stmt *st, struct cm_err *err)
{
	struct pt_loss loss;
	const char *text = (const char *)sqlite3_column_text(st, 1);
	enum cm_rc rc = text != NULL && sqlite3_column_bytes(st, 0) == PR_ROUND_ID_LEN
				? rd_loss_take(text, (size_t)sqlite3_column_bytes(st, 1), &loss, err)
				: CM_EDATA;

	if (rc == CM_EDATA)
		rc = cm_fail(err, CM_EDATA, "client.db: a charge of the ledger is damaged");
	return rc == CM_OK ? rd_account_add(a, sqlite3_column_blob(st, 0), &loss, err) : rc;
}

/* Add the charges of entries after *upto, which moves on. */
static enum cm_rc add_charges(struct cl_db *db, struct rd_account *a, int64_t *upto, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = cl_db_prepare(db,
		"SELECT round_id, loss, entry FROM ledger WHERE kind = 'charged' AND entry > ? ORDER BY "
		"entry",
		&st, err);
	int step = SQLITE_DONE;

	if (rc == CM_OK && sqlite3_bind_int64(st, 1, *upto) != SQLITE_OK)
		rc = cl_db_fail(db, err);
	while (rc == CM_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		rc = add_charge(a, st, err);
		*upto = sqlite3_column_int64(st, 2);
	}
	if (rc == CM_OK && step != SQLITE_DONE)
		rc = cl_db_fail(db, err);
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_ledger_account(
	struct cl_db *db, double limit, double delta, struct rd_account **out, struct cm_err *err)
{
	struct rd_account *a;
	char mode[RD_MODE_LEN];
	int64_t upto = 0;
	enum cm_rc rc = cl_ledger_mode(db, mode, err);

	if (rc != CM_OK)
		return rc;
	a = rd_account_new_mode(limit, delta, mode);
	rc = a != NULL ? add_charges(db, a, &upto, err) : cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc != CM_OK) {
		rd_account_free(a);
		return rc;
	}
	*out = a;
	return CM_OK;
}

static void drop_kept(struct cl_db *db)
{
	rd_account_free(db->kept.account);
	db->kept = (struct cl_kept){ 0 };
}

enum cm_rc cl_ledger_kept(
	struct cl_db *db, double limit, double delta, struct rd_account **out, struct cm_err *err)
{
	struct cl_kept *k = &db->kept;
	char mode[RD_MODE_LEN];
	enum cm_rc rc = cl_ledger_mode(db, mode, err);

	if (rc != CM_OK)
		return rc;
	/* Entries never change, but those of an open transaction may yet be undone. */
	if (k->account != NULL &&
		(k->upto == INT64_MAX || sqlite3_get_autocommit(db->sql) == 0 || k->limit != limit ||
			k->delta != delta || strcmp(rd_account_mode(k->account), mode) != 0))
		drop_kept(db);
	if (k->account == NULL)
		*k = (struct cl_kept){ rd_account_new_mode(limit, delta, mode), limit, delta, 0 };
	rc = k->account != NULL ? add_charges(db, k->account, &k->upto, err)
				: cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc != CM_OK) {
		drop_kept(db);
		return rc;
	}
	*out = k->account;
	if (sqlite3_get_autocommit(db->sql) == 0)
		k->upto = INT64_MAX; /* not good for another question */
	return CM_OK;
}

/* Charges for which `column_is` holds of the value. */
static enum cm_rc count_charged(
	struct cl_db *db, const char *column_is, int64_t value, uint64_t *out, struct cm_err *err)
{
	char sql[128];
	int64_t n = 0;
	enum cm_rc rc;

	(void)snprintf(sql, sizeof sql, "SELECT count(*) FROM ledger WHERE kind = 'charged' AND %s %" PRId64,
		column_is, value);
	rc = cl_db_int(db, sql, &n, err);
	if (rc == CM_OK)
		*out = (uint64_t)n;
	return rc;
}

enum cm_rc cl_ledger_charged(struct cl_db *db, uint64_t sequence, bool *charged, struct cm_err *err)
{
	uint64_t n = 0;
	enum cm_rc rc = count_charged(db, "sequence =", (int64_t)sequence, &n, err);

	if (rc == CM_OK)
		*charged = n > 0;
	return rc;
}

enum cm_rc cl_ledger_recent(struct cl_db *db, int64_t since_ms, uint64_t *rounds, struct cm_err *err)
{
	return count_charged(db, "time_ms >=", since_ms, rounds, err);
}

enum cm_rc cl_ledger_last(struct cl_db *db, uint64_t *sequence, struct cm_err *err)
{
	int64_t n = 0;
	enum cm_rc rc = cl_db_int(db, "SELECT max(sequence) FROM ledger WHERE kind = 'over'", &n, err);

	if (rc == CM_OK)
		*sequence = (uint64_t)n;
	return rc;
}

enum cm_rc cl_ledger_any(struct cl_db *db, bool *charged, struct cm_err *err)
{
	int64_t n = 0;
	enum cm_rc rc = cl_db_int(db, "SELECT EXISTS(SELECT 1 FROM ledger WHERE kind = 'charged')", &n, err);

	*charged = n != 0;
	return rc;
}
