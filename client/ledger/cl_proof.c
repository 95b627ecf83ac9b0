/* cl_proof.c - stores watched messages, chooses what to request, and evaluates the answers. */
#include "cl_proof.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cm_fault.h"

int64_t cl_watch_place(struct cl_watch *w, const struct cr_rng *rng)
{
	uint64_t place = w->seen++;

	if (w->most == 0)
		return -1;
	/* Reservoir sampling: the k-th item replaces a held one with probability most / k, so each of k is
	 * held with that probability. */
	if (place >= w->most)
		place = cr_rng_below(rng, w->seen);
	return place < w->most ? (int64_t)place : -1;
}

enum cm_rc cl_proof_keep(struct cl_db *db, uint64_t sequence, int64_t place, const struct rd_opening *opening,
	uint32_t messages, struct cm_err *err)
{
	struct cm_buf bytes;

	cm_buf_init(&bytes, PR_OPENING_MAX);
	enum cm_rc rc = rd_opening_encode(opening, messages, &bytes, err);
	if (rc == CM_OK)
		rc = db_change(db->sql, "INSERT OR REPLACE INTO watched VALUES(?, ?, ?)", err,
			DB_INT(sequence), DB_INT(place), DB_BYTES(bytes.data, bytes.len));
	cm_buf_fini(&bytes);
	return rc;
}

enum cm_rc cl_proof_begin(struct cl_db *db, const struct rd_descriptor *d, int64_t now_ms, struct cm_err *err)
{
	int64_t from = now_ms > d->deadline_ms ? now_ms : d->deadline_ms;

	return db_change(db->sql,
		"INSERT INTO proof(sequence, round_id, descriptor, until_ms) SELECT ?1, ?2, descriptor, ?3 "
		"FROM active WHERE sequence = ?1 AND EXISTS (SELECT 1 FROM watched WHERE sequence = ?1)",
		err, DB_INT(d->sequence), DB_BYTES(d->round_id, PR_ROUND_ID_LEN),
		DB_INT(from + CL_PROOF_LIFE_MS));
}

/* ---- Asking ---- */

void cl_proof_fini(struct cl_proof *p)
{
	cm_buf_fini(&p->descriptor);
	cm_buf_fini(&p->stored);
	rd_descriptor_fini(&p->d);
	rd_manifest_fini(&p->m);
}

static enum cm_rc damaged(struct cm_err *err)
{
	return cm_fail(err, CM_EDATA, "client.db: a round that is to be proved is damaged");
}

/* Read a round's row: descriptor, until_ms, manifest, its signature, sequence. */
static enum cm_rc take_row(
	sqlite3_stmt *st, struct cl_proof *p, const struct cr_verifier *shuffler, struct cm_err *err)
{
	size_t descriptor = (size_t)sqlite3_column_bytes(st, 0),
	       manifest = (size_t)sqlite3_column_bytes(st, 2);

	p->until_ms = sqlite3_column_int64(st, 1);
	p->sequence = (uint64_t)sqlite3_column_int64(st, 4);
	if (cm_buf_put(&p->descriptor, sqlite3_column_blob(st, 0), descriptor) != CM_OK ||
		rd_descriptor_decode(p->descriptor.data, p->descriptor.len, &p->d, err) != CM_OK)
		return damaged(err);
	if (manifest == 0)
		return CM_OK;
	if (sqlite3_column_bytes(st, 3) != CR_SIGN_LEN ||
		cm_buf_put(&p->stored, sqlite3_column_blob(st, 2), manifest) != CM_OK)
		return damaged(err);
	p->manifest = (struct rd_signed){ .bytes = p->stored.data, .len = p->stored.len };
	memcpy(p->manifest.signature, sqlite3_column_blob(st, 3), CR_SIGN_LEN);
	return rd_manifest_verify(p->manifest.bytes, p->manifest.len, p->manifest.signature, shuffler, &p->d,
		       &p->m, err) == CM_OK
		       ? CM_OK
		       : damaged(err);
}

static enum cm_rc load_round(struct cl_db *db, uint64_t after, const struct cr_verifier *shuffler,
	struct cl_proof *p, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_select(db->sql,
		"SELECT descriptor, until_ms, manifest, signature, sequence FROM proof"
		" WHERE descriptor IS NOT NULL AND sequence > ? ORDER BY sequence LIMIT 1",
		&st, err, DB_INT(after));

	if (db_row(st, &rc, err))
		rc = take_row(st, p, shuffler, err);
	else if (rc == CM_OK)
		rc = cm_fail(err, CM_ENOINPUT, "nothing is to be proved");
	sqlite3_finalize(st);
	return rc;
}

static enum cm_rc load_openings(struct cl_db *db, struct cl_proof *p, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_select(db->sql,
		"SELECT place, opening FROM watched WHERE sequence = ? ORDER BY place LIMIT 32", &st, err,
		DB_INT(p->sequence));

	while (p->n < PR_PROOF_HASHES && db_row(st, &rc, err)) {
		p->place[p->n] = sqlite3_column_int64(st, 0);
		if (rd_opening_decode(sqlite3_column_blob(st, 1), (size_t)sqlite3_column_bytes(st, 1),
			    p->d.messages_per_client, &p->opening[p->n], err) != CM_OK)
			rc = damaged(err);
		else
			memcpy(p->hashes[p->n], p->opening[p->n].hash, PR_HASH_LEN);
		p->n++;
	}
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_proof_next(struct cl_db *db, uint64_t after, const struct cr_verifier *shuffler,
	const struct cr_rng *rng, struct cl_proof *out, struct cm_err *err)
{
	*out = (struct cl_proof){ .sequence = 0 };
	cm_buf_init(&out->descriptor, PR_DESCRIPTOR_MAX);
	cm_buf_init(&out->stored, PR_MANIFEST_MAX);
	enum cm_rc rc = load_round(db, after, shuffler, out, err);
	if (rc == CM_OK)
		rc = load_openings(db, out, err);
	if (rc == CM_OK)
		rng->fill(rng->ctx, out->hashes[out->n], (PR_PROOF_HASHES - out->n) * PR_HASH_LEN);
	else
		cl_proof_fini(out);
	return rc;
}

/* ---- Answers ---- */

static enum cm_rc is_done(struct cl_db *db, uint64_t sequence, bool *done, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_select(db->sql, "SELECT descriptor IS NULL FROM proof WHERE sequence = ?", &st,
		err, DB_INT(sequence));

	if (db_row(st, &rc, err))
		*done = sqlite3_column_int(st, 0) != 0;
	else if (rc == CM_OK)
		rc = damaged(err);
	sqlite3_finalize(st);
	return rc;
}

/* Delete one watched message of a round. */
static enum cm_rc forget(struct cl_db *db, uint64_t sequence, int64_t place, struct cm_err *err)
{
	return db_change(db->sql, "DELETE FROM watched WHERE sequence = ? AND place = ?", err,
		DB_INT(sequence), DB_INT(place));
}

static enum cm_rc forget_all(struct cl_db *db, uint64_t sequence, struct cm_err *err)
{
	return db_change(db->sql, "DELETE FROM watched WHERE sequence = ?", err, DB_INT(sequence));
}

/* Add the counts of an answer.  A round without watched messages is then done. */
static enum cm_rc add_counts(
	struct cl_db *db, uint64_t sequence, const struct cl_proof_result *r, struct cm_err *err)
{
	return db_change(db->sql,
		"UPDATE proof SET included = included + ?2, missing = missing + ?3, unanswered = "
		"unanswered + ?4, is_void = ?5, descriptor = CASE WHEN EXISTS (SELECT 1 FROM "
		"watched WHERE sequence = ?1) THEN descriptor END WHERE sequence = ?1",
		err, DB_INT(sequence), DB_INT(r->included), DB_INT(r->missing), DB_INT(r->unanswered),
		DB_INT(r->is_void));
}

/* Delete the messages that an answer settles, those of `p` or all of the round, and add its counts: in one
 * transaction. */
static enum cm_rc settle(
	struct cl_db *db, const struct cl_proof *p, bool all, struct cl_proof_result *out, struct cm_err *err)
{
	enum cm_rc rc = db_run(db->sql, "BEGIN IMMEDIATE", err);

	if (rc != CM_OK)
		return rc;
	if (all)
		rc = forget_all(db, p->sequence, err);
	for (size_t i = 0; rc == CM_OK && !all && i < p->n; i++)
		rc = forget(db, p->sequence, p->place[i], err);
	if (rc == CM_OK)
		rc = add_counts(db, p->sequence, out, err);
	if (rc == CM_OK)
		rc = is_done(db, p->sequence, &out->done, err);
	if (rc == CM_OK)
		rc = db_run(db->sql, "COMMIT", err);
	if (rc != CM_OK)
		db_rollback(db->sql);
	return rc;
}

static enum cm_rc keep_manifest(struct cl_db *db, const struct cl_proof *p, struct cm_err *err)
{
	return db_change(db->sql, "UPDATE proof SET manifest = ?2, signature = ?3 WHERE sequence = ?1", err,
		DB_INT(p->sequence), DB_BYTES(p->manifest.bytes, p->manifest.len),
		DB_BYTES(p->manifest.signature, CR_SIGN_LEN));
}

enum cm_rc cl_proof_manifest(struct cl_db *db, const char *state_dir, struct cl_proof *p,
	const Tombola__V1__SignedManifest *s, const struct cr_verifier *shuffler, struct cl_proof_result *out,
	struct cm_err *err)
{
	struct rd_signed other = { .bytes = s->manifest.data, .len = s->manifest.len };
	struct rd_manifest m;

	*out = (struct cl_proof_result){ .included = 0 };
	if (s->signature.len != CR_SIGN_LEN)
		return cm_fail(err, CM_EPROTO, "the manifest's signature has %zu bytes", s->signature.len);
	memcpy(other.signature, s->signature.data, CR_SIGN_LEN);
	enum cm_rc rc = rd_manifest_verify(other.bytes, other.len, other.signature, shuffler, &p->d, &m, err);
	if (rc != CM_OK)
		return rc;
	rc = cl_evidence_manifests(db, state_dir, p->sequence, p->d.round_id, &other, out->evidence, err);
	if (rc == CM_EPROTO) /* out->evidence has the finding */
		rc = CM_OK;
	if (rc != CM_OK || p->manifest.len > 0) {
		rd_manifest_fini(&m);
		return rc;
	}
	p->m = m;
	rc = cm_buf_put(&p->stored, other.bytes, other.len);
	if (rc != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	p->manifest = other;
	p->manifest.bytes = p->stored.data;
	rc = cl_evidence_void(db, state_dir, &p->d, &m, &p->manifest, out->evidence, err);
	if (rc == CM_EPROTO) {
		out->denied = true;
		rc = CM_OK;
	}
	if (rc == CM_OK)
		rc = keep_manifest(db, p, err);
	if (rc == CM_OK && m.is_void) {
		out->is_void = true;
		out->given_up = m.given_up;
		rc = settle(db, p, true, out, err);
	}
	return rc;
}

enum cm_rc cl_proof_answer(struct cl_db *db, const char *state_dir, const struct cl_proof *p,
	const uint8_t *entries, size_t len, struct cl_proof_result *out, struct cm_err *err)
{
	size_t each = rd_entry_len(p->m.messages);
	struct cm_buf bytes;
	enum cm_rc rc = CM_OK;
	char place[24];

	*out = (struct cl_proof_result){ .included = 0 };
	if (len != PR_PROOF_HASHES * each)
		return cm_fail(err, CM_EPROTO, "a proof of %zu bytes, not %zu", len, PR_PROOF_HASHES * each);
	cm_buf_init(&bytes, PR_EVIDENCE_MAX);
	for (size_t i = 0; rc == CM_OK && i < p->n; i++) {
		const uint8_t *entry = entries + i * each;
		enum rd_found found = rd_entry_check(entry, each, p->hashes[i], p->m.messages, p->m.tree);
		out->included += found == RD_FOUND_IN || !CM_CHECKED("client.proof");
		out->unanswered += found == RD_FOUND_NOT_SAID && CM_CHECKED("client.proof");
		if (found != RD_FOUND_OUT || !CM_CHECKED("client.proof"))
			continue;
		out->missing++;
		bytes.len = 0;
		rc = rd_evidence_missing(&p->manifest,
			(struct cr_span){ p->descriptor.data, p->descriptor.len }, p->d.messages_per_client,
			&p->opening[i], (struct cr_span){ entry, each }, &bytes, err);
		(void)snprintf(place, sizeof place, "%" PRId64, p->place[i]);
		if (rc == CM_OK)
			rc = cl_evidence_write(db, state_dir, p->sequence, place, &bytes, out->evidence, err);
	}
	cm_buf_fini(&bytes);
	return rc == CM_OK ? settle(db, p, false, out, err) : rc;
}

enum cm_rc cl_proof_give_up(
	struct cl_db *db, const struct cl_proof *p, struct cl_proof_result *out, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_select(
		db->sql, "SELECT count(*) FROM watched WHERE sequence = ?", &st, err, DB_INT(p->sequence));

	*out = (struct cl_proof_result){ .included = 0 };
	if (db_row(st, &rc, err))
		out->unanswered = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc == CM_OK ? settle(db, p, true, out, err) : rc;
}

/* ---- Showing ---- */

enum cm_rc cl_proof_counts(struct cl_db *db, struct cl_proof_counts *out, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_prepare(db->sql,
		"SELECT count(*), total(included), total(missing), total(unanswered), total(is_void),"
		" (SELECT count(*) FROM watched) FROM proof",
		&st, err);

	*out = (struct cl_proof_counts){ .rounds = 0 };
	if (db_row(st, &rc, err))
		*out = (struct cl_proof_counts){ .rounds = (uint64_t)sqlite3_column_int64(st, 0),
			.included = (uint64_t)sqlite3_column_int64(st, 1),
			.missing = (uint64_t)sqlite3_column_int64(st, 2),
			.unanswered = (uint64_t)sqlite3_column_int64(st, 3),
			.void_rounds = (uint64_t)sqlite3_column_int64(st, 4),
			.waiting = (uint64_t)sqlite3_column_int64(st, 5) };
	sqlite3_finalize(st);
	return rc;
}

enum cm_rc cl_proof_export(struct cl_db *db, uint64_t sequence, struct cm_buf *out, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_select(db->sql,
		"SELECT manifest, signature FROM proof WHERE sequence = ? AND manifest IS NOT NULL", &st, err,
		DB_INT(sequence));

	if (!db_row(st, &rc, err)) {
		if (rc == CM_OK)
			rc = cm_fail(
				err, CM_ENOINPUT, "no manifest of round %" PRIu64 " is known here", sequence);
	} else if (sqlite3_column_bytes(st, 1) != CR_SIGN_LEN) {
		rc = damaged(err);
	} else {
		struct rd_signed s = { .bytes = sqlite3_column_blob(st, 0),
			.len = (size_t)sqlite3_column_bytes(st, 0) };

		memcpy(s.signature, sqlite3_column_blob(st, 1), CR_SIGN_LEN);
		rc = rd_evidence_two(&s, NULL, out, err);
	}
	sqlite3_finalize(st);
	return rc;
}
