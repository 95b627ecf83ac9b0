/* sh_front_peers.c - clients of an intake, and for each a link to the head on its behalf. */
#include <stdlib.h>
#include <string.h>

#include "sh_front_private.h"

#define PENDING_MAX (4u << 20) /* bytes queued to one side before the other is paused */
#define HELD_MAX    64u        /* answers to one client that wait for a commit */
#define RETRY_MS    1000u

void sh_front_refuse(struct peer *p, uint32_t retry_ms, const char *why)
{
	struct cm_err err;

	if (!p->link || p->refused)
		return;
	p->refused = true;
	lk_send_error(p->link, TOMBOLA__V1__ERROR_CODE__ERROR_BUSY, why, retry_ms, NULL);
	(void)cm_fail(&err, CM_ELATER, "%s", why);
	if (p->link)
		lk_close(p->link, &err);
}

void sh_front_refuse_all(struct sh_front *f, const char *why)
{
	for (struct peer *p = f->peers, *next; p; p = next) {
		next = p->next;
		sh_front_refuse(p, RETRY_MS, why);
	}
}

void sh_front_drop(struct peer *p)
{
	struct sh_front *f = p->front;

	if (p->link || p->up || p->held > 0)
		return;
	for (struct peer **at = &f->peers; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			break;
		}
	if (p->holder)
		sh_quota_leave(f->quota, p->holder, cm_clock_mono_ms());
	free(p);
}

void sh_front_flow(struct peer *p)
{
	const struct sh_front *f = p->front;

	if (!p->link || p->refused)
		return;
	p->over = sh_quota_wait_ms(f->quota, p->holder, cm_clock_mono_ms()) != 0;
	bool stop = !p->up_ready || f->paused || p->over || p->held >= HELD_MAX ||
		    lk_pending(p->up) > PENDING_MAX;
	if (p->paused == stop)
		return;
	p->paused = stop;
	if (stop)
		lk_pause(p->link);
	else
		lk_resume(p->link);
}

/* ---- Our link on the client's behalf ---- */

static void up_ready(struct lk_link *l, void *user)
{
	struct peer *p = user;
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__OnBehalf of = TOMBOLA__V1__ON_BEHALF__INIT;
	struct cm_err err;

	of.key_hash = (ProtobufCBinaryData){ sizeof p->who.key_hash, p->who.key_hash };
	of.devices = p->who.devices;
	of.name = p->who.name;
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_ON_BEHALF;
	frame.on_behalf = &of;
	if (lk_send(l, &frame, &err) != CM_OK)
		return; /* it is closing and says so itself */
	p->up_ready = true;
	sh_front_flow(p);
}

static void up_frame(struct lk_link *l, void *user, const Tombola__V1__Frame *frame)
{
	struct peer *p = user;
	struct cm_err err;

	if (!p->link || p->refused)
		return;
	lk_expect_silence(p->link, false);
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_RECEIPT)
		p->relayed = false;
	if (lk_send(p->link, frame, &err) == CM_OK && p->link && lk_pending(p->link) > PENDING_MAX)
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
	p->up_ready = false;
	if (why->code != CM_OK)
		cm_log(CM_LOG_DEBUG, "a link to the head ended", CM_S("reason", why->msg));
	sh_front_refuse(p, RETRY_MS, "the shuffler is away");
	sh_front_drop(p);
	sh_front_pump(f);
}

static enum cm_rc dial_up(struct peer *p, struct cm_err *err)
{
	struct sh_front *f = p->front;
	const struct lk_handler handler = {
		.on_ready = up_ready, .on_frame = up_frame, .on_drain = up_drain, .on_close = up_close
	};
	struct nt_conn_limits limits;

	nt_conn_limits_default(&limits);
	limits.idle_ms = 0; /* the head ends what is idle */
	return lk_dial(f->loop, f->conf.head, f->conf.up, &limits, &handler, p, &p->up, err);
}

void sh_front_relay(struct peer *p, const Tombola__V1__Frame *frame)
{
	struct cm_err err;

	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_GET_ROUND)
		lk_expect_silence(p->link, true);
	/* A link that cannot take it is closing, and says so itself. */
	if (p->up && lk_send(p->up, frame, &err) != CM_OK)
		cm_log(CM_LOG_DEBUG, "not passed on", CM_S("reason", err.msg));
}

/* ---- Clients ---- */

void sh_front_on_ready(struct lk_link *l, void *user)
{
	struct sh_front *f = ((struct peer *)user)->front;
	struct peer *p = calloc(1, sizeof *p);
	struct cm_err why;

	if (p)
		*p = (struct peer){ .front = f, .link = l, .who = *lk_peer(l) };
	if (p)
		p->holder = sh_quota_join(f->quota, p->who.key_hash, cm_clock_mono_ms());
	if (!p || !p->holder) {
		free(p);
		(void)cm_fail(&why, CM_EINTERNAL, "out of memory");
		lk_close(l, &why);
		return;
	}
	p->next = f->peers;
	f->peers = p;
	lk_set_user(l, p);
	sh_quota_take(f->quota, p->holder, SH_QUOTA_BARREN, cm_clock_mono_ms());
	if (!f->head_ready || f->stopping || dial_up(p, &why) != CM_OK) {
		p->up = NULL;
		sh_front_refuse(p, RETRY_MS, "the shuffler is away");
		return;
	}
	sh_front_claim(p, false);
	sh_front_flow(p);
}

void sh_front_on_frame(struct lk_link *l, void *user, const Tombola__V1__Frame *frame)
{
	struct peer *p = user;
	struct sh_front *f = p->front;

	(void)l;
	if (p->refused)
		return;
	sh_quota_take(f->quota, p->holder, 1, cm_clock_mono_ms());
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_SUBMIT)
		sh_front_on_submit(p, frame);
	else
		sh_front_relay(p, frame);
	sh_front_flow(p);
	sh_front_pump(f);
}

void sh_front_on_drain(struct lk_link *l, void *user)
{
	struct peer *p = user;

	(void)l;
	if (p != &p->front->unknown && p->up)
		lk_resume(p->up);
}

void sh_front_on_close(struct lk_link *l, void *user, const struct cm_err *why)
{
	struct peer *p = user;
	struct sh_front *f = p->front;
	bool served = p != &f->unknown, others = false;

	cm_log(why->code == CM_OK || why->code == CM_ELATER || (served && why->code != CM_EPERM)
			? CM_LOG_DEBUG
			: CM_LOG_WARN,
		served ? "client disconnected" : "connection refused", CM_S("peer", lk_address(l)),
		CM_S("reason", why->code == CM_OK ? "orderly end" : why->msg));
	if (!served)
		return;
	p->link = NULL;
	for (const struct peer *o = f->peers; o; o = o->next)
		others = others || (o->link && memcmp(o->who.key_hash, p->who.key_hash, 32) == 0);
	if (!others)
		sh_front_claim(p, true);
	if (p->up)
		lk_close(p->up, NULL);
	sh_front_drop(p);
	sh_front_pump(f);
}
