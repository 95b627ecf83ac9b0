/* sh_front.c - an intake on the network: its lifetime, its links, and what is due next. */
#include <stdlib.h>
#include <string.h>

#include "sh_front_private.h"

#define PING_MS    2000
#define LOST_MS    10000 /* a head that sends nothing for this long counts as lost */
#define FIRST_MS   200u
#define LONGEST_MS 5000u

/* ---- The link to the head ---- */

static void say_join(struct sh_front *f)
{
	Tombola__V1__IntakeJoin join = TOMBOLA__V1__INTAKE_JOIN__INIT;

	sh_front_say(f, PR_FRAME(INTAKE_JOIN, intake_join, &join));
}

static void say_ping(struct sh_front *f)
{
	Tombola__V1__IntakeBatch batch = TOMBOLA__V1__INTAKE_BATCH__INIT;

	sh_front_say(f, PR_FRAME(INTAKE_BATCH, intake_batch, &batch));
}

static void head_ready(struct lk_link *l, void *user)
{
	struct sh_front *f = user;

	(void)l;
	f->head_ready = true;
	f->heard_ms = cm_clock_mono_ms();
	cm_log(CM_LOG_INFO, "connected to the head", CM_S("head", f->conf.head));
	say_join(f);
	sh_gate_pump(&f->gate);
}

static void head_frame(struct lk_link *l, void *user, const Tombola__V1__Frame *frame)
{
	struct sh_front *f = user;
	struct cm_err err = { .code = CM_OK };

	f->heard_ms = cm_clock_mono_ms();
	switch (frame->kind_case) {
	case TOMBOLA__V1__FRAME__KIND_INTAKE_SHARE:
		(void)!sh_front_take_share(f, frame->intake_share, &err);
		break;
	case TOMBOLA__V1__FRAME__KIND_INTAKE_CLAIMED:
		sh_front_take_claimed(f, frame->intake_claimed);
		break;
	case TOMBOLA__V1__FRAME__KIND_INTAKE_SIGNED:
		sh_front_signed(f, frame->intake_signed);
		break;
	case TOMBOLA__V1__FRAME__KIND_ERROR:
		(void)pr_error(frame->error, &err);
		break;
	default:
		(void)cm_fail(&err, CM_EPROTO, "%s is not for an intake", pr_kind_name(frame));
	}
	if (err.code != CM_OK)
		lk_close(l, &err);
	sh_gate_pump(&f->gate);
}

static void turn_all_away(struct sh_front *f, const char *why)
{
	for (struct peer *p = first_peer(f), *next; p; p = next) {
		next = next_peer(p);
		sh_gate_turn_away(&p->base, why);
	}
}

static void head_close(struct lk_link *l, void *user, const struct cm_err *why)
{
	struct sh_front *f = user;

	(void)l;
	f->head = NULL;
	if (f->head_ready || f->backoff_ms == 0)
		cm_log(CM_LOG_WARN, "the head is away", CM_S("head", f->conf.head),
			CM_S("reason", why->code == CM_OK ? "orderly end" : why->msg));
	f->head_ready = false;
	f->backoff_ms = f->backoff_ms == 0               ? FIRST_MS
			: f->backoff_ms < LONGEST_MS / 2 ? f->backoff_ms * 2
							 : LONGEST_MS;
	f->dial_at_ms = cm_clock_mono_ms() + f->backoff_ms;
	f->asked = f->noting = false;
	sh_front_end_share(f, "the head is away", false);
	turn_all_away(f, "the shuffler is away");
	sh_gate_pump(&f->gate);
}

static void dial(struct sh_front *f, int64_t mono_ms)
{
	const struct lk_handler handler = {
		.on_ready = head_ready, .on_frame = head_frame, .on_close = head_close
	};
	struct nt_conn_limits limits;
	struct cm_err why;

	if (f->head_ready && mono_ms - f->heard_ms >= LOST_MS) {
		(void)cm_fail(&why, CM_EUNAVAIL, "it has said nothing for %d s", LOST_MS / 1000);
		lk_abort(f->head, &why);
		return;
	}
	if (f->head_ready && f->ask_at_ms > 0 && mono_ms >= f->ask_at_ms) {
		f->ask_at_ms = 0;
		say_join(f);
	}
	if (f->head_ready && mono_ms - f->said_ms >= PING_MS)
		say_ping(f);
	if (f->head || f->gate.stopping || mono_ms < f->dial_at_ms)
		return;
	nt_conn_limits_default(&limits);
	limits.idle_ms = 0;
	if (lk_dial(f->gate.loop, f->conf.head, f->conf.up, &limits, &handler, f, &f->head, &why) == CM_OK)
		return;
	f->head = NULL;
	f->dial_at_ms = mono_ms + LONGEST_MS;
	cm_log(CM_LOG_ERROR, "cannot dial the head", CM_S("reason", why.msg));
}

/* ---- Links of clients ---- */

static void on_ready(struct lk_link *l, void *user)
{
	struct sh_gate *g = ((struct sh_peer *)user)->gate;
	struct sh_front *f = g->server.of;
	struct peer *p = (struct peer *)sh_gate_admit(g, l, sizeof *p);
	struct cm_err why;

	if (!p)
		return;
	p->front = f;
	if (!f->head_ready || g->stopping || sh_front_dial_for(p, &why) != CM_OK) {
		sh_gate_turn_away(&p->base, "the shuffler is away");
		return;
	}
	sh_front_claim(p, false);
	sh_front_flow(p);
}

static void on_frame(struct lk_link *l, void *user, const Tombola__V1__Frame *frame)
{
	struct peer *p = user;
	struct sh_front *f = p->front;

	(void)l;
	if (p->base.refused)
		return;
	sh_gate_charge(&p->base, 1);
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_SUBMIT)
		sh_front_on_submit(p, frame);
	else
		sh_front_relay(p, frame);
	sh_front_flow(p);
	sh_gate_pump(&f->gate);
}

static void on_drain(struct lk_link *l, void *user)
{
	struct peer *p = user;

	(void)l;
	if (&p->base != &p->base.gate->unknown && p->up)
		lk_resume(p->up);
}

static void on_close(struct lk_link *l, void *user, const struct cm_err *why)
{
	struct peer *p = user;
	bool others = false;

	if (!sh_gate_left(l, &p->base, why))
		return;
	struct sh_front *f = p->front;
	for (const struct peer *o = first_peer(f); o; o = next_peer(o))
		others = others ||
			 (o->base.link && memcmp(o->base.who.key_hash, p->base.who.key_hash, 32) == 0);
	if (!others)
		sh_front_claim(p, true);
	if (p->up)
		lk_close(p->up, NULL);
	sh_gate_drop(&p->base);
	sh_gate_pump(&f->gate);
}

/* ---- What is to be done ---- */

static int64_t wait_of(const struct sh_front *f, int64_t mono_ms)
{
	int64_t wait = SH_GATE_TICK_MS, batch = sh_front_batch_wait_ms(f, cm_clock_wall_ms());
	const int64_t at[] = { f->ask_at_ms, f->head ? 0 : f->dial_at_ms };

	if (batch >= 0 && batch < wait)
		wait = batch;
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++)
		if (at[i] > 0 && at[i] - mono_ms < wait)
			wait = at[i] > mono_ms ? at[i] - mono_ms : 0;
	return wait;
}

static void finish_stop(struct sh_front *f)
{
	if (f->tasking.under_way || f->asked)
		return;
	sh_front_give_up(f, "this intake is going down");
	if (f->head)
		lk_close(f->head, NULL);
	sh_gate_finish(&f->gate);
}

static int64_t step(void *of, int64_t mono_ms)
{
	struct sh_front *f = of;

	dial(f, mono_ms);
	sh_front_replace(f);
	if (!f->gate.stopping)
		sh_front_batch(f, cm_clock_wall_ms());
	f->gate.paused = f->gate.gathering.receipts >= PR_RECEIPTS_MAX / 2 ||
			 (f->at == SHARE_OPEN && sh_intake_bytes(&f->share->intake) >= f->conf.max_bytes / 2);
	for (struct peer *p = first_peer(f), *next; p; p = next) {
		next = next_peer(p);
		sh_front_flow(p);
	}
	if (f->gate.stopping)
		finish_stop(f);
	return wait_of(f, mono_ms);
}

/* ---- Lifetime ---- */

static void front_free(struct sh_front *f)
{
	sh_front_metrics_free(f);
	sh_share_free(f->share);
	sh_share_free(f->next);
	free(f);
}

enum cm_rc sh_front_new(
	uv_loop_t *loop, const struct sh_front_conf *conf, struct sh_front **out, struct cm_err *err)
{
	struct sh_front *f = calloc(1, sizeof *f);
	struct sh_gate_server server = { .links = { .on_ready = on_ready,
						 .on_frame = on_frame,
						 .on_drain = on_drain,
						 .on_close = on_close },
		.step = step,
		.database = sh_front_database,
		.of = f };

	if (!f)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	f->conf = *conf;
	enum cm_rc rc = sh_front_metrics_new(f, err);
	if (rc == CM_OK) {
		server.metrics = f->shared;
		rc = sh_gate_open(&f->gate, loop, &conf->gate, &server, err);
	}
	if (rc != CM_OK) {
		front_free(f);
		return rc;
	}
	*out = f;
	sh_gate_pump(&f->gate);
	return CM_OK;
}

int sh_front_port(const struct sh_front *f)
{
	return sh_gate_port(&f->gate);
}

void sh_front_reload(struct sh_front *f, struct nt_tls_ctx *tls, struct nt_tls_ctx *up, bool keep)
{
	struct cm_err why;

	f->conf.up = up;
	sh_gate_reload(&f->gate, tls);
	if (keep && f->head_ready && lk_recheck(f->head, up, &why) == CM_OK)
		return;
	(void)cm_fail(&why, CM_EUNAVAIL, "certificates were reloaded");
	if (f->head)
		lk_close(f->head, &why);
}

void sh_front_stop(struct sh_front *f, void (*on_stopped)(void *user), void *user)
{
	sh_gate_stop(&f->gate, on_stopped, user);
}

void sh_front_free(struct sh_front *f)
{
	if (!f)
		return;
	sh_gate_fini(&f->gate);
	front_free(f);
}
