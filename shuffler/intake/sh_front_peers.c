/* sh_front_peers.c (sh_front_private.h) - sends an intake's frames to its head.
 *
 * For each client there is a link on its behalf; claims go over our own link. */
#include "sh_front_private.h"

#define PENDING_MAX (4u << 20) /* bytes queued to one side before the other is paused */

void sh_front_flow(struct peer *p)
{
	p->base.blocked = !p->up_ready || lk_pending(p->up) > PENDING_MAX;
	sh_gate_flow(&p->base);
}

/* ---- Our own link ---- */

void sh_front_say(struct sh_front *f, const Tombola__V1__Frame *frame)
{
	struct cm_err err;

	if (!f->head || !f->head_ready)
		return;
	f->said_ms = cm_clock_mono_ms();
	if (lk_send(f->head, frame, &err) != CM_OK)
		cm_log(CM_LOG_DEBUG, "not sent to the head", CM_S("reason", err.msg));
}

void sh_front_claim(struct peer *p, bool leaves)
{
	struct sh_front *f = p->front;
	Tombola__V1__IntakeClaim claim = TOMBOLA__V1__INTAKE_CLAIM__INIT;

	if (f->at != SHARE_OPEN || f->replaced || (leaves && p->mine != f->share->epoch))
		return;
	claim.epoch = f->share->epoch;
	claim.key_hash = (ProtobufCBinaryData){ sizeof p->base.who.key_hash, p->base.who.key_hash };
	claim.leaves = leaves;
	sh_front_say(f, PR_FRAME(INTAKE_CLAIM, intake_claim, &claim));
}

/* ---- Our link on the client's behalf ---- */

static void up_ready(struct lk_link *l, void *user)
{
	struct peer *p = user;
	Tombola__V1__OnBehalf of = TOMBOLA__V1__ON_BEHALF__INIT;
	struct cm_err err;

	of.key_hash = (ProtobufCBinaryData){ sizeof p->base.who.key_hash, p->base.who.key_hash };
	of.devices = p->base.who.devices;
	of.name = p->base.who.name;
	if (lk_send(l, PR_FRAME(ON_BEHALF, on_behalf, &of), &err) != CM_OK)
		return; /* it is closing, and reports that itself */
	p->up_ready = true;
	sh_front_flow(p);
}

static void up_frame(struct lk_link *l, void *user, const Tombola__V1__Frame *frame)
{
	struct peer *p = user;
	struct cm_err err;

	if (!p->base.link || p->base.refused)
		return;
	lk_expect_silence(p->base.link, false);
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_RECEIPT)
		p->relayed = false;
	if (lk_send(p->base.link, frame, &err) == CM_OK && p->base.link &&
		lk_pending(p->base.link) > PENDING_MAX)
		lk_pause(l);
}

static void up_drain(struct lk_link *l, void *user)
{
	(void)l;
	sh_front_flow(user);
}

static void up_close(struct lk_link *l, void *user, const struct cm_err *why)
{
	struct peer *p = user;
	struct sh_front *f = p->front;

	(void)l;
	p->up = NULL;
	p->up_ready = p->base.kept = false;
	if (why->code != CM_OK)
		cm_log(CM_LOG_DEBUG, "a link to the head ended", CM_S("reason", why->msg));
	sh_gate_turn_away(&p->base, "the shuffler is away");
	sh_gate_drop(&p->base);
	sh_gate_pump(&f->gate);
}

enum cm_rc sh_front_dial_for(struct peer *p, struct cm_err *err)
{
	struct sh_front *f = p->front;
	const struct lk_handler handler = {
		.on_ready = up_ready, .on_frame = up_frame, .on_drain = up_drain, .on_close = up_close
	};
	struct nt_conn_limits limits;

	nt_conn_limits_default(&limits);
	limits.idle_ms = 0; /* the head ends idle links, so we need no limit */
	enum cm_rc rc = lk_dial(f->gate.loop, f->conf.head, f->conf.up, &limits, &handler, p, &p->up, err);
	if (rc != CM_OK)
		p->up = NULL;
	p->base.kept = rc == CM_OK;
	return rc;
}

void sh_front_relay(struct peer *p, const Tombola__V1__Frame *frame)
{
	struct cm_err err;

	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_GET_ROUND)
		lk_expect_silence(p->base.link, true);
	/* a link that cannot queue it is closing, and reports that itself */
	if (p->up && lk_send(p->up, frame, &err) != CM_OK)
		cm_log(CM_LOG_DEBUG, "not passed on", CM_S("reason", err.msg));
}
