/* rd_charge.c - the signed charge that makes a shuffler release, and what receipts sign. */
#include <string.h>

#include "cm_fault.h"
#include "pr_msg.h"
#include "rd_manifest.h"
#include "rd_wire.h"

enum cm_rc rd_charge_encode(const struct rd_charge *c, struct cm_buf *out, struct cm_err *err)
{
	Tombola__V1__Charge w = TOMBOLA__V1__CHARGE__INIT;

	w.version = RD_VERSION;
	w.round_id = rd_wire_bytes(c->round_id, sizeof c->round_id);
	w.descriptor_hash = rd_wire_bytes(c->descriptor_hash, sizeof c->descriptor_hash);
	w.manifest_hash = rd_wire_bytes(c->manifest_hash, sizeof c->manifest_hash);
	w.ledger_seq = c->ledger_seq;
	w.ledger_head = rd_wire_bytes(c->ledger_head, sizeof c->ledger_head);
	return pr_doc_encode(&w.base, out, err);
}

static enum cm_rc read_all(const Tombola__V1__Charge *w, struct rd_charge *c, struct cm_err *err)
{
	if (w->version != RD_VERSION)
		return cm_fail(err, CM_EPROTO, "version: %lu, this program knows %u",
			(unsigned long)w->version, RD_VERSION);
	if (w->ledger_seq < 3) /* after OPEN and RESERVE at least */
		return cm_fail(
			err, CM_EPROTO, "ledger_seq: %llu is no charge's", (unsigned long long)w->ledger_seq);
	memcpy(c->round_id, w->round_id.data, sizeof c->round_id);
	memcpy(c->descriptor_hash, w->descriptor_hash.data, sizeof c->descriptor_hash);
	memcpy(c->manifest_hash, w->manifest_hash.data, sizeof c->manifest_hash);
	c->ledger_seq = w->ledger_seq;
	memcpy(c->ledger_head, w->ledger_head.data, sizeof c->ledger_head);
	return CM_OK;
}

enum cm_rc rd_charge_verify(const uint8_t *bytes, size_t len, const uint8_t signature[CM_SIGN_LEN],
	const struct cm_verifier *analyzer, struct rd_charge *out, struct cm_err *err)
{
	struct pr_doc doc;
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	if (len > PR_CHARGE_MAX)
		return cm_fail(err, CM_EPROTO, "charge: %zu bytes, at most %u", len, PR_CHARGE_MAX);
	rc = cm_verify(analyzer, RD_PURPOSE_CHARGE, bytes, len, signature, err);
	if (CM_CHECKED("round.charge.signature") && rc != CM_OK)
		return cm_context(err, "charge");
	rc = pr_doc_decode(&tombola__v1__charge__descriptor, bytes, len, PR_CHARGE_MAX, &doc, err);
	if (rc == CM_OK)
		rc = read_all((const Tombola__V1__Charge *)doc.msg, out, err);
	pr_doc_free(&doc);
	return rc == CM_OK ? CM_OK : cm_context(err, "charge");
}

enum cm_rc rd_receipt_bytes(const uint8_t round_id[PR_ROUND_ID_LEN], const uint8_t *pseudonyms,
	size_t pseudonyms_len, const uint8_t *sealed, size_t sealed_len, const uint8_t *outcomes, size_t n,
	struct cm_buf *out)
{
	const struct cm_span submitted[] = { { pseudonyms, pseudonyms_len }, { sealed, sealed_len } };
	uint8_t hash[CM_HASH_LEN];
	enum cm_rc rc;

	cm_sha256_spans(submitted, 2, hash);
	rc = cm_buf_put(out, round_id, PR_ROUND_ID_LEN);
	if (rc == CM_OK)
		rc = cm_buf_put(out, hash, sizeof hash);
	if (rc == CM_OK)
		rc = cm_buf_put(out, outcomes, n);
	return rc;
}

void rd_submission_digest(const uint8_t pseudonym[PR_PSEUDONYM_LEN], const uint8_t *sealed, size_t len,
	uint8_t digest[PR_HASH_LEN])
{
	const struct cm_span spans[] = { { pseudonym, PR_PSEUDONYM_LEN }, { sealed, len } };

	cm_sha256_spans(spans, 2, digest);
}
