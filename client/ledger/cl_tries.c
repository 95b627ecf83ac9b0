/* cl_tries.c - stores tries and manifests in the client's database. */
#include "cl_tries.h"

#include <string.h>

#include "cl_db.h"
#include "cl_evidence.h"
#include "cl_ledger.h"
#include "pr_msg.h"

/* ---- Charges ---- */

struct charge_row {
	uint64_t sequence, entry, attempt;
	const uint8_t *descriptor_hash, *round_id, *plan_hash; /* these point into the statement's row */
};

static enum cm_rc read_charge(sqlite3_stmt *st, struct charge_row *r, struct cm_err *err)
{
	uint8_t seal[PR_HASH_LEN];

	r->sequence = (uint64_t)sqlite3_column_int64(st, 0);
	r->entry = (uint64_t)sqlite3_column_int64(st, 1);
	r->attempt = (uint64_t)sqlite3_column_int64(st, 2);
	r->descriptor_hash = sqlite3_column_blob(st, 3);
	r->round_id = sqlite3_column_blob(st, 4);
	r->plan_hash = sqlite3_column_blob(st, 5);
	if (sqlite3_column_bytes(st, 3) != PR_HASH_LEN || sqlite3_column_bytes(st, 4) != PR_ROUND_ID_LEN ||
		sqlite3_column_bytes(st, 5) != PR_HASH_LEN || sqlite3_column_bytes(st, 6) != PR_HASH_LEN ||
		r->entry > UINT32_MAX || r->attempt > UINT32_MAX)
		return cm_fail(err, CM_EDATA, "client.db: a charge of the ledger is damaged");
	cl_ledger_seal(
		r->sequence, r->descriptor_hash, r->round_id, r->plan_hash, r->entry, r->attempt, seal);
	if (memcmp(seal, sqlite3_column_blob(st, 6), sizeof seal) != 0)
		return cm_fail(err, CM_EDATA, "client.db: a charge of the ledger is damaged");
	return CM_OK;
}

typedef void each_charge_fn(void *user, const struct charge_row *r);

/* Visit every charge of the ledger, so that damage to any of them is detected. */
static enum cm_rc each_charge(struct cl_db *db, each_charge_fn *each, void *user, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_prepare(db->sql,
		"SELECT sequence, plan_entry, attempt, descriptor_hash, round_id, plan_hash, seal FROM"
		" ledger WHERE kind = 'charged' ORDER BY entry",
		&st, err);

	while (db_row(st, &rc, err)) {
		struct charge_row r;

		rc = read_charge(st, &r, err);
		if (rc == CM_OK)
			each(user, &r);
	}
	sqlite3_finalize(st);
	return rc;
}

struct last {
	const uint8_t *plan_hash;
	uint32_t entry;
	struct cl_try *out;
};

static void take_last(void *user, const struct charge_row *r)
{
	const struct last *l = user;

	if (r->entry != l->entry || memcmp(r->plan_hash, l->plan_hash, PR_HASH_LEN) != 0 ||
		r->attempt < l->out->attempt)
		return;
	l->out->attempt = (uint32_t)r->attempt;
	memcpy(l->out->round_id, r->round_id, PR_ROUND_ID_LEN);
	memcpy(l->out->descriptor_hash, r->descriptor_hash, PR_HASH_LEN);
}

enum cm_rc cl_try_last(struct cl_db *db, const uint8_t plan_hash[PR_HASH_LEN], uint32_t entry,
	struct cl_try *out, struct cm_err *err)
{
	struct last l = { .plan_hash = plan_hash, .entry = entry, .out = out };

	*out = (struct cl_try){ .attempt = 0 };
	return each_charge(db, take_last, &l, err);
}

enum cm_rc cl_try_entries(struct cl_db *db, const uint8_t plan_hash[PR_HASH_LEN], size_t *count,
	uint32_t *last, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_select(db->sql,
		"SELECT count(DISTINCT plan_entry), max(plan_entry) FROM ledger"
		" WHERE kind = 'charged' AND plan_hash = ?",
		&st, err, DB_BYTES(plan_hash, PR_HASH_LEN));

	if (db_row(st, &rc, err)) {
		*count = (size_t)sqlite3_column_int64(st, 0);
		*last = (uint32_t)sqlite3_column_int64(st, 1);
	}
	sqlite3_finalize(st);
	return rc;
}

/* ---- Manifests ---- */

/* Load the stored descriptor with this hash; CM_ENOINPUT: none.  Free with rd_descriptor_fini after CM_OK. */
static enum cm_rc kept_descriptor(
	struct cl_db *db, const uint8_t hash[PR_HASH_LEN], struct rd_descriptor *out, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_select(db->sql, "SELECT bytes FROM descriptor WHERE hash = ?", &st, err,
		DB_BYTES(hash, PR_HASH_LEN));

	if (!db_row(st, &rc, err) && rc == CM_OK)
		rc = cm_fail(err, CM_ENOINPUT, "the round's descriptor is not kept");
	if (rc == CM_OK)
		rc = rd_descriptor_decode(
			sqlite3_column_blob(st, 0), (size_t)sqlite3_column_bytes(st, 0), out, err);
	if (rc == CM_EPROTO)
		rc = cm_fail(err, CM_EDATA, "client.db: a descriptor is damaged");
	if (rc == CM_OK && memcmp(out->hash, hash, PR_HASH_LEN) != 0) {
		rd_descriptor_fini(out);
		rc = cm_fail(err, CM_EDATA, "client.db: a descriptor is damaged");
	}
	sqlite3_finalize(st);
	return rc;
}

struct of_round {
	const uint8_t *round_id;
	uint8_t descriptor_hash[PR_HASH_LEN];
	bool found;
};

static void take_round(void *user, const struct charge_row *r)
{
	struct of_round *o = user;

	if (memcmp(r->round_id, o->round_id, PR_ROUND_ID_LEN) != 0)
		return;
	memcpy(o->descriptor_hash, r->descriptor_hash, PR_HASH_LEN);
	o->found = true;
}

/* Load the descriptor of a round that this client took part in. */
static enum cm_rc charged_descriptor(struct cl_db *db, const uint8_t round_id[PR_ROUND_ID_LEN],
	struct rd_descriptor *out, struct cm_err *err)
{
	struct of_round o = { .round_id = round_id };
	enum cm_rc rc = each_charge(db, take_round, &o, err);

	if (rc == CM_OK && !o.found)
		return cm_fail(err, CM_ENOINPUT, "no charge of that round");
	return rc == CM_OK ? kept_descriptor(db, o.descriptor_hash, out, err) : rc;
}

/* Find bytes and hash of a stored manifest, owned by *st; CM_ENOINPUT: none. */
static enum cm_rc find_manifest(
	struct cl_db *db, const uint8_t round_id[PR_ROUND_ID_LEN], sqlite3_stmt **st, struct cm_err *err)
{
	enum cm_rc rc = db_select(db->sql, "SELECT bytes, hash FROM manifest WHERE round_id = ?", st, err,
		DB_BYTES(round_id, PR_ROUND_ID_LEN));

	if (!db_row(*st, &rc, err) && rc == CM_OK)
		rc = cm_fail(err, CM_ENOINPUT, "the round's manifest is not kept");
	return rc;
}

static enum cm_rc insert_manifest(struct cl_db *db, const uint8_t round_id[PR_ROUND_ID_LEN],
	const uint8_t *bytes, size_t len, const uint8_t signature[CR_SIGN_LEN], int64_t now_ms,
	struct cm_err *err)
{
	uint8_t hash[PR_HASH_LEN];

	cr_sha256(bytes, len, hash);
	return db_change(db->sql, "INSERT INTO manifest VALUES(?, ?, ?, ?, ?)", err,
		DB_BYTES(round_id, PR_ROUND_ID_LEN), DB_BYTES(bytes, len), DB_BYTES(signature, CR_SIGN_LEN),
		DB_BYTES(hash, sizeof hash), DB_INT(now_ms));
}

enum cm_rc cl_manifest_learn(struct cl_db *db, const char *state_dir, const struct cr_verifier *shuffler,
	const uint8_t round_id[PR_ROUND_ID_LEN], const uint8_t *bytes, size_t len,
	const uint8_t signature[CR_SIGN_LEN], int64_t now_ms, struct cm_err *err)
{
	struct rd_signed told = { .bytes = bytes, .len = len };
	struct rd_manifest m = { .bucket = NULL };
	struct rd_descriptor d;
	sqlite3_stmt *st = NULL;
	char path[CL_EVIDENCE_MAX];
	enum cm_rc rc = charged_descriptor(db, round_id, &d, err);

	if (rc != CM_OK)
		return rc;
	rc = rd_manifest_verify(bytes, len, signature, shuffler, &d, &m, err);
	memcpy(told.signature, signature, CR_SIGN_LEN);
	if (rc == CM_OK)
		rc = cl_evidence_manifests(db, state_dir, d.sequence, round_id, &told, path, err);
	if (rc == CM_OK)
		rc = cl_evidence_void(db, state_dir, &d, &m, &told, path, err);
	rd_manifest_fini(&m);
	rd_descriptor_fini(&d);
	if (rc != CM_OK)
		return rc;
	rc = find_manifest(db, round_id, &st, err);
	sqlite3_finalize(st);
	return rc == CM_ENOINPUT ? insert_manifest(db, round_id, bytes, len, signature, now_ms, err) : rc;
}

/* Parse a stored manifest.  Signature and content were verified before it was stored. */
static enum cm_rc read_manifest(sqlite3_stmt *st, const struct cl_try *t, bool *is_void,
	uint8_t hash[PR_HASH_LEN], struct cm_err *err)
{
	const uint8_t *bytes = sqlite3_column_blob(st, 0);
	size_t len = (size_t)sqlite3_column_bytes(st, 0);
	const Tombola__V1__Manifest *m;
	struct pr_doc doc = { .msg = NULL };
	enum cm_rc rc = CM_EPROTO;

	cr_sha256(bytes, len, hash);
	if (sqlite3_column_bytes(st, 1) == PR_HASH_LEN &&
		memcmp(hash, sqlite3_column_blob(st, 1), PR_HASH_LEN) == 0)
		rc = pr_doc_decode(
			&tombola__v1__manifest__descriptor, bytes, len, PR_MANIFEST_MAX, &doc, err);
	m = (const Tombola__V1__Manifest *)doc.msg;
	if (rc == CM_OK && (m->descriptor_hash.len != PR_HASH_LEN ||
				   memcmp(m->descriptor_hash.data, t->descriptor_hash, PR_HASH_LEN) != 0))
		rc = CM_EPROTO;
	if (rc == CM_OK)
		*is_void = m->void_;
	pr_doc_free(&doc);
	return rc == CM_EPROTO ? cm_fail(err, CM_EDATA, "client.db: a manifest is damaged") : rc;
}

enum cm_rc cl_try_was_void(struct cl_db *db, const struct cl_try *t, bool *is_void, uint8_t hash[PR_HASH_LEN],
	struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = find_manifest(db, t->round_id, &st, err);

	if (rc == CM_OK)
		rc = read_manifest(st, t, is_void, hash, err);
	sqlite3_finalize(st);
	return rc;
}
