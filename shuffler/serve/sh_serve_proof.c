/* sh_serve_proof.c - what clients ask about sealed rounds: are messages in them?
 *
 * Nothing is counted or logged of what is asked, or answered. */
#include "sh_serve_private.h"

#define PROOF_PAUSE_MS 100 /* between two questions of a connection: each takes some milliseconds */

#define BYTES(p, n) ((ProtobufCBinaryData){ (n), (uint8_t *)(p) })

static const uint8_t *id_of(const ProtobufCBinaryData *id)
{
	return id->len == PR_ROUND_ID_LEN ? id->data : NULL;
}

/* Answers are larger than questions: one that does not read them is told to wait. */
enum cm_rc sh_serve_check_reads(const struct peer *p, size_t queued, uint32_t retry_ms, struct sh_refusal *no)
{
	if (lk_pending(p->link) <= queued)
		return CM_OK;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, retry_ms,
		"answers to earlier questions are still on their way");
}

/* And they take more work than others. */
static enum cm_rc check_pause(struct peer *p, struct sh_refusal *no)
{
	int64_t now = cm_clock_mono_ms();

	if (now < p->proof_from_ms)
		return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, PROOF_PAUSE_MS,
			"the next proof is given in %lld ms", (long long)(p->proof_from_ms - now));
	p->proof_from_ms = now + PROOF_PAUSE_MS;
	return CM_OK;
}

void sh_serve_on_get_proof(struct peer *p, const Tombola__V1__Frame *frame)
{
	const Tombola__V1__GetProof *get = frame->get_proof;
	Tombola__V1__Frame out = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__Proof proof = TOMBOLA__V1__PROOF__INIT;
	struct sh_serve *s = p->serve;
	struct sh_refusal no;
	struct cm_err err = { 0 };
	enum cm_rc rc = CM_OK;

	if (get->hashes.len != (size_t)PR_PROOF_HASHES * PR_HASH_LEN)
		rc = sh_refuse(&no, TOMBOLA__V1__ERROR_CODE__ERROR_BAD_MESSAGE, 0, "hashes: %zu bytes",
			get->hashes.len);
	if (rc == CM_OK)
		rc = sh_serve_check_reads(p, SH_SERVE_QUEUED, SH_SERVE_RETRY_MS, &no);
	if (rc == CM_OK)
		rc = check_pause(p, &no);
	if (rc == CM_OK)
		rc = sh_core_prove(s->conf.core, get->round_id.data, get->round_id.len,
			(const uint8_t(*)[PR_HASH_LEN])get->hashes.data, &s->proof, &no, &err);
	if (!sh_serve_passed(p, frame, rc, &no, &err, id_of(&get->round_id)))
		return;
	proof.round_id = get->round_id;
	proof.entries = BYTES(s->proof.data, s->proof.len);
	out.kind_case = TOMBOLA__V1__FRAME__KIND_PROOF;
	out.proof = &proof;
	sh_serve_send(p, &out);
}
