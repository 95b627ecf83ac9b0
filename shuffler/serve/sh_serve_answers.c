/* sh_serve_answers.c (sh_serve_private.h) - answers requests, or refuses them. */
#include <string.h>

#include "sh_serve_private.h"

#define LOUD_REFUSALS 10u /* refusals of one link that are logged as warnings */

/* Send the answer at once if nothing has to be waited for; otherwise queue it. */
static void hold_or_send(struct sh_answer *a, enum sh_wait wait)
{
	struct sh_gate *g = a->peer->gate;
	const struct sh_serve *s = g->server.of;

	if (wait == SH_WAIT_NOT && a->peer->held == 0) {
		sh_answer_send(a);
		return;
	}
	/* It must follow what this peer waits for already, which may be in the later list. */
	const struct sh_round *r = sh_core_collecting(s->conf.core);
	if (wait == SH_WAIT_NOT)
		wait = r ? sh_intake_waits(&r->intake) : SH_WAIT_FLYING;
	sh_answer_hold(a, wait == SH_WAIT_GATHERING ? &g->gathering : &g->flying);
}

void sh_serve_receipt(struct peer *p, const struct sh_receipt *receipt, size_t bytes)
{
	struct sh_answer *a = sh_answer_new(&p->base, receipt->n);

	memcpy(a->round_id, receipt->round_id, PR_ROUND_ID_LEN);
	memcpy(a->signature, receipt->signature, CR_SIGN_LEN);
	memcpy(a->outcomes, receipt->outcomes, receipt->n);
	a->bytes = bytes;
	hold_or_send(a, receipt->wait);
}

bool sh_serve_is_loud(struct peer *p)
{
	return p->refusals++ < LOUD_REFUSALS;
}

void sh_serve_refuse(
	struct peer *p, const Tombola__V1__Frame *frame, const struct sh_refusal *no, const uint8_t *round_id)
{
	sh_metrics_refused(p->serve->conf.metrics, no->code);
	sh_gate_charge(&p->base, SH_QUOTA_BARREN - 1); /* in addition to the frame itself */
	bool loud = no->code != TOMBOLA__V1__ERROR_CODE__ERROR_BUSY && sh_serve_is_loud(p);

	cm_log(loud ? CM_LOG_WARN : CM_LOG_DEBUG, "refused", CM_S("request", pr_kind_name(frame)),
		CM_S("role", cr_role_name(p->base.who.role)), CM_I("code", no->code),
		CM_S("reason", no->text));
	struct sh_answer *a = sh_answer_new(&p->base, 0);
	a->no = *no;
	if (round_id)
		memcpy(a->round_id, round_id, PR_ROUND_ID_LEN);
	hold_or_send(a, SH_WAIT_NOT);
}

bool sh_serve_passed(struct peer *p, const Tombola__V1__Frame *frame, enum cm_rc rc,
	const struct sh_refusal *no, const struct cm_err *err, const uint8_t *round_id)
{
	if (rc == CM_OK)
		return true;
	if (rc != CM_EPROTO)
		sh_gate_fatal(err);
	sh_serve_refuse(p, frame, no, round_id);
	return false;
}

void sh_serve_manifest(struct peer *p)
{
	const struct sh_signed *from = &p->serve->manifest;
	Tombola__V1__SignedManifest manifest = TOMBOLA__V1__SIGNED_MANIFEST__INIT;

	manifest.manifest = BYTES(from->bytes, from->len);
	manifest.signature = BYTES(from->signature, CR_SIGN_LEN);
	sh_gate_send(&p->base, PR_FRAME(MANIFEST, manifest, &manifest));
}

/* Answers are larger than questions: a peer that does not read them is told to wait. */
enum cm_rc sh_serve_check_reads(const struct peer *p, size_t queued, uint32_t retry_ms, struct sh_refusal *no)
{
	if (lk_pending(p->base.link) <= queued)
		return CM_OK;
	return sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, retry_ms,
		"answers to earlier questions are still on their way");
}

enum cm_rc sh_serve_check_waits(const struct peer *p, struct sh_refusal *no)
{
	return p->poll == POLL_NONE ? CM_OK
				    : sh_refuse(no, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, SH_SERVE_RETRY_MS,
					      "one request that waits at a time");
}
