/* rd_charge.c - the signed charge, after which a shuffler releases the batch. */
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
	if (w->ledger_seq < 3) /* a CHARGE follows at least OPEN and RESERVE */
		return cm_fail(err, CM_EPROTO, "ledger_seq: %llu is too small for a charge",
			(unsigned long long)w->ledger_seq);
	memcpy(c->round_id, w->round_id.data, sizeof c->round_id);
	memcpy(c->descriptor_hash, w->descriptor_hash.data, sizeof c->descriptor_hash);
	memcpy(c->manifest_hash, w->manifest_hash.data, sizeof c->manifest_hash);
	c->ledger_seq = w->ledger_seq;
	memcpy(c->ledger_head, w->ledger_head.data, sizeof c->ledger_head);
	return CM_OK;
}

enum cm_rc rd_charge_verify(const uint8_t *bytes, size_t len, const uint8_t signature[CR_SIGN_LEN],
	const struct cr_verifier *analyzer, struct rd_charge *out, struct cm_err *err)
{
	struct pr_doc doc;
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	if (len > PR_CHARGE_MAX)
		return cm_fail(err, CM_EPROTO, "charge: %zu bytes, at most %u", len, PR_CHARGE_MAX);
	rc = cr_verify(analyzer, RD_PURPOSE_CHARGE, bytes, len, signature, err);
	if (CM_CHECKED("round.charge.signature") && rc != CM_OK)
		return cm_context(err, "charge");
	rc = pr_doc_decode(&tombola__v1__charge__descriptor, bytes, len, PR_CHARGE_MAX, &doc, err);
	if (rc == CM_OK)
		rc = read_all((const Tombola__V1__Charge *)doc.msg, out, err);
	pr_doc_free(&doc);
	return rc == CM_OK ? CM_OK : cm_context(err, "charge");
}
