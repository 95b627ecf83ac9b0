/* cl_ledger.c - implements the client's ledger in its database. */
#include "cl_ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cl_db.h"
#include "cm_fault.h"
#include "rd_loss_text.h"

#define KEY_BYTES 8u /* of the hash of a certificate's key, that a charge notes */
#define KEY_NOTE  (4 + 2 * KEY_BYTES + 1)

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
	/* When round `sequence` was reserved, a record was added after ledger_seq.  So the ledger of a
	 * later round must be longer. */
	if (d->ledger_seq <= ledger_seq)
		return cm_fail(err, CM_EPERM,
			"the analyzer's ledger went back: %" PRIu64 " records at round %" PRIu64 ", %" PRIu64
			" at round %" PRIu64,
			d->ledger_seq, d->sequence, ledger_seq, sequence);
	return CM_OK;
}

/* Check the descriptor against earlier ones.  CM_EMORE: the same descriptor was seen before. */
static enum cm_rc check_sequence(struct cl_db *db, const struct rd_descriptor *d, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc;

	rc = db_select(db->sql, "SELECT descriptor_hash FROM ledger WHERE kind = 'seen' AND sequence = ?",
		&st, err, DB_INT(d->sequence));
	if (db_row(st, &rc, err))
		rc = memcmp(sqlite3_column_blob(st, 0), d->hash, PR_HASH_LEN) == 0
			     ? CM_EMORE
			     : cm_fail(err, CM_EPERM,
				       "two descriptors for sequence number %" PRIu64
				       ": this one is not the one seen before",
				       d->sequence);
	sqlite3_finalize(st);
	if (rc != CM_OK)
		return rc;
	rc = db_prepare(db->sql,
		"SELECT sequence, descriptor_hash, ledger_seq FROM ledger WHERE kind = 'seen'"
		" ORDER BY sequence DESC LIMIT 1",
		&st, err);
	if (db_row(st, &rc, err))
		rc = check_against_last(st, d, err);
	sqlite3_finalize(st);
	return rc;
}

/* What an entry has beside the round.  The columns of a charge are NULL in any other. */
struct entry {
	struct db_value loss, epsilon_round, epsilon_total, note, seal;
};

/* Insert an entry.  The table's unique indexes refuse a sequence number that is seen or charged twice. */
static enum cm_rc insert(struct cl_db *db, const char *kind, const struct rd_descriptor *d, int64_t now_ms,
	const struct entry *e, struct cm_err *err)
{
	return db_change(db->sql,
		"INSERT INTO ledger(kind, time_ms, sequence, descriptor_hash, round_id, query, ledger_seq, "
		"ledger_head, plan_hash, plan_entry, attempt, loss, epsilon_round, epsilon_total, note, "
		"seal) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		err, DB_TEXT(kind), DB_INT(now_ms), DB_INT(d->sequence), DB_BYTES(d->hash, PR_HASH_LEN),
		DB_BYTES(d->round_id, PR_ROUND_ID_LEN), DB_TEXT(d->query.name), DB_INT(d->ledger_seq),
		DB_BYTES(d->ledger_head, PR_HASH_LEN), DB_BYTES(d->plan_hash, PR_HASH_LEN), DB_INT(d->entry),
		DB_INT(d->attempt), e->loss, e->epsilon_round, e->epsilon_total, e->note, e->seal);
}

static enum cm_rc entry_with_note(struct cl_db *db, const char *kind, const struct rd_descriptor *d,
	int64_t now_ms, const char *note, struct cm_err *err)
{
	const struct entry e = { DB_NULL, DB_NULL, DB_NULL, DB_TEXT(note), DB_NULL };

	return insert(db, kind, d, now_ms, &e, err);
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
		rc = entry_with_note(db, "seen", d, now_ms, NULL, err);
	/* Unreachable unless a test removes the check above. */
	if (rc == CM_EIO && (sqlite3_errcode(db->sql) & 0xff) == SQLITE_CONSTRAINT)
		rc = CM_OK;
	return rc;
}

enum cm_rc cl_ledger_keep(struct cl_db *db, const struct rd_descriptor *d, const uint8_t *bytes, size_t len,
	const uint8_t signature[PR_SIGNATURE_LEN], struct cm_err *err)
{
	return db_change(db->sql,
		"INSERT OR IGNORE INTO descriptor SELECT ?1, ?2, ?3, ?4"
		" WHERE (SELECT count(*) FROM descriptor WHERE sequence = ?2) < 2",
		err, DB_BYTES(d->hash, PR_HASH_LEN), DB_INT(d->sequence), DB_BYTES(bytes, len),
		DB_BYTES(signature, PR_SIGNATURE_LEN));
}

enum cm_rc cl_ledger_newest(
	struct cl_db *db, struct cm_buf *out, uint8_t signature[PR_SIGNATURE_LEN], struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_prepare(
		db->sql, "SELECT bytes, signature FROM descriptor ORDER BY sequence DESC LIMIT 1", &st, err);

	out->len = 0;
	if (db_row(st, &rc, err)) {
		if (sqlite3_column_bytes(st, 1) != PR_SIGNATURE_LEN)
			rc = cm_fail(err, CM_EDATA, "client.db: a descriptor is damaged");
		else
			memcpy(signature, sqlite3_column_blob(st, 1), PR_SIGNATURE_LEN);
		if (rc == CM_OK && cm_buf_put(out, sqlite3_column_blob(st, 0),
					   (size_t)sqlite3_column_bytes(st, 0)) != CM_OK)
			rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	}
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_ledger_refuse(
	struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, const char *why, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc =
		db_select(db->sql, "SELECT 1 FROM ledger WHERE kind = 'refused' AND descriptor_hash = ?", &st,
			err, DB_BYTES(d->hash, PR_HASH_LEN));
	bool known = db_row(st, &rc, err);

	sqlite3_finalize(st);
	return rc == CM_OK && !known ? entry_with_note(db, "refused", d, now_ms, why, err) : rc;
}

enum cm_rc cl_ledger_over(
	struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, const char *note, struct cm_err *err)
{
	return entry_with_note(db, "over", d, now_ms, note, err);
}

void cl_ledger_seal(uint64_t sequence, const uint8_t descriptor_hash[PR_HASH_LEN],
	const uint8_t round_id[PR_ROUND_ID_LEN], const uint8_t plan_hash[PR_HASH_LEN], uint64_t plan_entry,
	uint64_t attempt, uint8_t out[PR_HASH_LEN])
{
	uint8_t numbers[24];
	const struct cr_span parts[] = { { numbers, sizeof numbers }, { descriptor_hash, PR_HASH_LEN },
		{ round_id, PR_ROUND_ID_LEN }, { plan_hash, PR_HASH_LEN } };

	cm_put_le64(numbers, sequence);
	cm_put_le64(numbers + 8, plan_entry);
	cm_put_le64(numbers + 16, attempt);
	cr_sha256_spans(parts, sizeof parts / sizeof parts[0], out);
}

/* Write the note of a charge, which says under which key the reports were sent: "key " and hex. */
static void key_note(const uint8_t key_hash[PR_HASH_LEN], char out[KEY_NOTE])
{
	memcpy(out, "key ", 5);
	cm_hex(key_hash, KEY_BYTES, out + 4);
}

enum cm_rc cl_ledger_charge(struct cl_db *db, const struct rd_descriptor *d, const struct cl_charge *charge,
	int64_t now_ms, struct cm_err *err)
{
	char key[KEY_NOTE] = "";
	uint8_t seal[PR_HASH_LEN];
	struct cm_buf text;
	enum cm_rc rc;

	cl_ledger_seal(d->sequence, d->hash, d->round_id, d->plan_hash, d->entry, d->attempt, seal);
	cm_buf_init(&text, RD_LOSS_TEXT_MAX);
	rc = rd_loss_put(&charge->loss, &text, err);
	if (charge->key_hash)
		key_note(charge->key_hash, key);
	const struct entry e = { DB_LETTERS(text.data, text.len), DB_DOUBLE(charge->epsilon_round),
		DB_DOUBLE(charge->epsilon_total), DB_TEXT(charge->key_hash ? key : NULL),
		DB_BYTES(seal, sizeof seal) };
	if (rc == CM_OK)
		rc = insert(db, "charged", d, now_ms, &e, err);
	cm_buf_fini(&text);
	return rc;
}

static enum cm_rc add_charge(struct rd_account *a, sqlite3_stmt *st, struct cm_err *err)
{
	struct pt_loss loss;
	const char *text = (const char *)sqlite3_column_text(st, 1);
	enum cm_rc rc = text && sqlite3_column_bytes(st, 0) == PR_ROUND_ID_LEN
				? rd_loss_take(text, (size_t)sqlite3_column_bytes(st, 1), &loss, err)
				: CM_EDATA;

	if (rc == CM_EDATA)
		rc = cm_fail(err, CM_EDATA, "client.db: a charge of the ledger is damaged");
	return rc == CM_OK ? rd_account_add(a, sqlite3_column_blob(st, 0), &loss, err) : rc;
}

/* Add the plan's charges in entries after *upto to the account, and advance *upto. */
static enum cm_rc add_charges(
	struct cl_db *db, const struct rd_plan *plan, struct rd_account *a, int64_t *upto, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_select(db->sql,
		"SELECT round_id, loss, entry FROM ledger WHERE kind = 'charged' AND entry > ? AND"
		" plan_hash = ? ORDER BY entry",
		&st, err, DB_INT(*upto), DB_BYTES(plan->hash, PR_HASH_LEN));

	while (db_row(st, &rc, err)) {
		rc = add_charge(a, st, err);
		*upto = sqlite3_column_int64(st, 2);
	}
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_ledger_account(
	struct cl_db *db, const struct rd_plan *plan, struct rd_account **out, struct cm_err *err)
{
	struct rd_account *a = rd_account_new_mode(plan->epsilon, plan->delta, plan->mode);
	int64_t upto = 0;
	enum cm_rc rc =
		a ? add_charges(db, plan, a, &upto, err) : cm_fail(err, CM_EINTERNAL, "out of memory");

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
	struct cl_db *db, const struct rd_plan *plan, struct rd_account **out, struct cm_err *err)
{
	struct cl_kept *k = &db->kept;
	enum cm_rc rc;

	/* Entries never change, but an open transaction may be rolled back, so an account with its entries
	 * must not be reused. */
	if (k->account && (k->upto == INT64_MAX || sqlite3_get_autocommit(db->sql) == 0 ||
				  memcmp(k->plan_hash, plan->hash, PR_HASH_LEN) != 0))
		drop_kept(db);
	if (!k->account) {
		k->account = rd_account_new_mode(plan->epsilon, plan->delta, plan->mode);
		k->upto = 0;
		memcpy(k->plan_hash, plan->hash, PR_HASH_LEN);
	}
	rc = k->account ? add_charges(db, plan, k->account, &k->upto, err)
			: cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc != CM_OK) {
		drop_kept(db);
		return rc;
	}
	*out = k->account;
	if (sqlite3_get_autocommit(db->sql) == 0)
		k->upto = INT64_MAX; /* do not reuse this account */
	return CM_OK;
}

/* Count the charges whose column compares as `column_is` with the value. */
static enum cm_rc count_charged(
	struct cl_db *db, const char *column_is, int64_t value, uint64_t *out, struct cm_err *err)
{
	char sql[128];
	int64_t n = 0;
	enum cm_rc rc;

	(void)snprintf(sql, sizeof sql, "SELECT count(*) FROM ledger WHERE kind = 'charged' AND %s %" PRId64,
		column_is, value);
	rc = db_int(db->sql, sql, &n, err);
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
	enum cm_rc rc = db_int(db->sql, "SELECT max(sequence) FROM ledger WHERE kind = 'over'", &n, err);

	if (rc == CM_OK)
		*sequence = (uint64_t)n;
	return rc;
}

enum cm_rc cl_ledger_any(struct cl_db *db, bool *charged, struct cm_err *err)
{
	int64_t n = 0;
	enum cm_rc rc =
		db_int(db->sql, "SELECT EXISTS(SELECT 1 FROM ledger WHERE kind = 'charged')", &n, err);

	*charged = n != 0;
	return rc;
}

enum cm_rc cl_ledger_other_key(struct cl_db *db, uint64_t sequence, const uint8_t key_hash[PR_HASH_LEN],
	bool *other, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	char key[KEY_NOTE];
	enum cm_rc rc = db_select(db->sql, "SELECT note FROM ledger WHERE kind = 'charged' AND sequence = ?",
		&st, err, DB_INT(sequence));

	*other = false;
	key_note(key_hash, key);
	if (db_row(st, &rc, err) && sqlite3_column_type(st, 0) != SQLITE_NULL)
		*other = strcmp((const char *)sqlite3_column_text(st, 0), key) != 0;
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_ledger_charge_of(
	struct cl_db *db, uint64_t sequence, double *epsilon_round, double *epsilon_total, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_select(db->sql,
		"SELECT epsilon_round, epsilon_total FROM ledger WHERE kind = 'charged' AND sequence = ?",
		&st, err, DB_INT(sequence));

	*epsilon_round = *epsilon_total = 0;
	if (db_row(st, &rc, err)) {
		*epsilon_round = sqlite3_column_double(st, 0);
		*epsilon_total = sqlite3_column_double(st, 1);
	}
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_ledger_extent(struct cl_db *db, int64_t *records, int64_t *over_ms, struct cm_err *err)
{
	enum cm_rc rc = db_int(db->sql, "SELECT count(*) FROM ledger", records, err);

	return rc == CM_OK
		       ? db_int(db->sql, "SELECT max(time_ms) FROM ledger WHERE kind = 'over'", over_ms, err)
		       : rc;
}

enum cm_rc cl_ledger_each_charged(struct cl_db *db, cl_charged_fn *each, void *user, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_prepare(db->sql,
		"SELECT d.bytes FROM ledger l LEFT JOIN descriptor d ON d.hash = l.descriptor_hash"
		" WHERE l.kind = 'charged' ORDER BY l.entry",
		&st, err);

	while (db_row(st, &rc, err)) {
		struct rd_descriptor d;

		if (rd_descriptor_decode(sqlite3_column_blob(st, 0), (size_t)sqlite3_column_bytes(st, 0), &d,
			    err) != CM_OK) {
			rc = cm_fail(err, CM_EDATA, "client.db: the descriptor of a charge is damaged");
			break;
		}
		each(user, &d);
		rd_descriptor_fini(&d);
	}
	sqlite3_finalize(st);
	return rc;
}
