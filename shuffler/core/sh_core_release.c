/* sh_core_release.c - what the analyzer gets of a sealed round: manifest, release, messages, settling. */
#include <string.h>

#include "cm_fault.h"
#include "sh_core_private.h"

enum cm_rc sh_core_manifest(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	struct sh_signed *out, struct sh_refusal *no, struct cm_err *err)
{
	struct sh_past past = { .manifest = out };

	if (round_id_len != PR_ROUND_ID_LEN)
		return sh_core_not_found(no);
	const struct sh_round *r = sh_core_find(c, round_id);
	if (r && r->state == SH_COLLECTING)
		return CM_EMORE;
	enum cm_rc rc = sh_core_look_up(c, round_id, &past, err);
	if (rc == CM_ENOINPUT)
		return sh_core_not_found(no);
	if (rc == CM_OK && out->len == 0)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_ROUND_CLOSED, 0,
			"this round was lost or given up here, and has no manifest");
	return rc;
}

/* A round that cannot be released (again) by this charge: the answer. */
static enum cm_rc release_past(const struct sh_past *past, struct sh_refusal *no)
{
	if (past->same_charge)
		return CM_OK; /* said again */
	switch (past->state) {
	case SH_RELEASING:
	case SH_ERASED:
		return sh_refuse(
			no, TOMBOLA__V1__ERROR_CODE__ERROR_CONFLICT, 0, "this round has another charge");
	case SH_VOID:
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BATCH_TOO_SMALL, 0,
			"fewer than the minimum took part: nothing is released");
	case SH_COLLECTING:
	case SH_SEALED:
		break;
	}
	return sh_refuse(
		no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_BUSY_RETRY_MS, "the round is not sealed yet");
}

static enum cm_rc check_charge(const struct sh_core *c, const struct sh_round *r,
	const struct rd_charge *charge, struct sh_refusal *no)
{
	uint8_t manifest_hash[PR_HASH_LEN];

	if (!CM_CHECKED("shuffler.charge"))
		return CM_OK;
	cr_sha256(r->manifest.data, r->manifest.len, manifest_hash);
	if (memcmp(charge->descriptor_hash, r->d.hash, PR_HASH_LEN) != 0 ||
		memcmp(charge->manifest_hash, manifest_hash, PR_HASH_LEN) != 0)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_CONFLICT, 0,
			"the charge is for another descriptor or manifest");
	return sh_witness_charged(
		c->witness, charge->ledger_seq, charge->ledger_head, charge->round_id, manifest_hash, no);
}

enum cm_rc sh_core_release(struct sh_core *c, struct cr_span bytes, struct cr_span signature,
	uint8_t round_id[PR_ROUND_ID_LEN], struct sh_refusal *no, struct cm_err *err)
{
	struct sh_past past = { .compare = bytes };
	struct rd_charge charge;

	if (signature.len != CR_SIGN_LEN)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_SIGNATURE, 0,
			"charge: a signature has %u bytes", CR_SIGN_LEN);
	enum cm_rc rc =
		rd_charge_verify(bytes.data, bytes.len, signature.data, c->conf.analyzer, &charge, err);
	if (rc == CM_EINTERNAL)
		return rc;
	if (rc != CM_OK)
		return sh_refuse(no,
			rc == CM_EPERM ? TOMBOLA__V1__ERROR_CODE__ERROR_SIGNATURE
				       : TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE,
			0, "%.190s", err->msg);
	memcpy(round_id, charge.round_id, PR_ROUND_ID_LEN);
	struct sh_round *r = sh_core_find(c, round_id);
	if (!r || r->state != SH_SEALED) {
		rc = sh_core_look_up(c, round_id, &past, err);
		return rc == CM_ENOINPUT ? sh_core_not_found(no) : rc == CM_OK ? release_past(&past, no) : rc;
	}
	rc = sh_core_check_heads(c, no);
	if (rc == CM_OK)
		rc = check_charge(c, r, &charge, no);
	return rc == CM_OK ? sh_round_release(r, bytes.data, bytes.len, err) : rc;
}

enum cm_rc sh_core_pull(struct sh_core *c, const uint8_t *round_id, size_t round_id_len, uint32_t bucket,
	uint64_t offset, size_t max, struct cr_span *out, struct sh_refusal *no)
{
	struct sh_round *r = round_id_len == PR_ROUND_ID_LEN ? sh_core_find(c, round_id) : NULL;

	if (r && r->damage.code != CM_OK)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_BUSY_RETRY_MS,
			"what is stored of this round is damaged: restore it, or give the round up");
	return r ? sh_round_pull(r, bucket, offset, max, out, no) : sh_core_not_found(no);
}

enum cm_rc sh_core_settle(struct sh_core *c, const uint8_t *round_id, size_t round_id_len,
	struct sh_refusal *no, struct cm_err *err)
{
	struct sh_past past = { 0 };

	if (round_id_len != PR_ROUND_ID_LEN)
		return sh_core_not_found(no);
	struct sh_round *r = sh_core_find(c, round_id);
	if (!r && sh_core_erases(c, round_id))
		return CM_EMORE;
	if (!r) { /* erased or void: nothing is left to settle */
		enum cm_rc rc = sh_core_look_up(c, round_id, &past, err);
		return rc == CM_ENOINPUT ? sh_core_not_found(no) : rc;
	}
	if (r->cancelled)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_BUSY_RETRY_MS,
			"the round is being erased");
	if (r->state != SH_RELEASING)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_CONFLICT, 0,
			"a round that was not released cannot be settled");
	enum cm_rc rc = sh_round_over(r, SH_ERASED, err);
	if (rc == CM_OK)
		rc = sh_core_over(c, r, err);
	return rc == CM_OK ? CM_EMORE : rc;
}
