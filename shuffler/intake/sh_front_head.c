/* sh_front_head.c - an intake's own link to its head: shares of rounds, claims, signatures. */
#include <string.h>

#include "sh_front_private.h"

#define PING_MS    2000
#define LOST_MS    10000 /* a head that says nothing for so long is taken for lost */
#define AGAIN_MS   200
#define FIRST_MS   200u
#define LONGEST_MS 5000u

void sh_front_say(struct sh_front *f, const Tombola__V1__Frame *frame)
{
	struct cm_err err;

	if (!f->head || !f->head_ready)
		return;
	f->said_ms = cm_clock_mono_ms();
	if (lk_send(f->head, frame, &err) != CM_OK)
		cm_log(CM_LOG_DEBUG, "not sent to the head", CM_S("reason", err.msg));
}

static void say_join(struct sh_front *f)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__IntakeJoin join = TOMBOLA__V1__INTAKE_JOIN__INIT;

	frame.kind_case = TOMBOLA__V1__FRAME__KIND_INTAKE_JOIN;
	frame.intake_join = &join;
	sh_front_say(f, &frame);
}

static void say_ping(struct sh_front *f)
{
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__IntakeBatch batch = TOMBOLA__V1__INTAKE_BATCH__INIT;

	frame.kind_case = TOMBOLA__V1__FRAME__KIND_INTAKE_BATCH;
	frame.intake_batch = &batch;
	sh_front_say(f, &frame);
}

void sh_front_claim(struct peer *p, bool leaves)
{
	struct sh_front *f = p->front;
	Tombola__V1__Frame frame = TOMBOLA__V1__FRAME__INIT;
	Tombola__V1__IntakeClaim claim = TOMBOLA__V1__INTAKE_CLAIM__INIT;

	if (f->at != SHARE_OPEN || f->replaced || (leaves && p->mine != f->share->epoch))
		return;
	claim.epoch = f->share->epoch;
	claim.key_hash = (ProtobufCBinaryData){ sizeof p->who.key_hash, p->who.key_hash };
	claim.leaves = leaves;
	frame.kind_case = TOMBOLA__V1__FRAME__KIND_INTAKE_CLAIM;
	frame.intake_claim = &claim;
	sh_front_say(f, &frame);
}

/* ---- Shares ---- */

void sh_front_end_share(struct sh_front *f, const char *why, bool again)
{
	if (f->share)
		cm_log(CM_LOG_INFO, "reports are not taken for now", CM_S("reason", why));
	sh_share_free(f->next);
	f->next = NULL;
	f->replaced = true;
	f->ask_at_ms = again ? cm_clock_mono_ms() + AGAIN_MS : 0;
	sh_front_replace(f);
}

void sh_front_replace(struct sh_front *f)
{
	if (!f->replaced || f->task_under_way)
		return;
	sh_front_give_up(f, "the shuffler takes reports again soon");
	sh_share_free(f->share);
	f->share = f->next;
	f->next = NULL;
	f->replaced = false;
	f->at = f->share ? SHARE_LOADING : SHARE_NONE;
	/* Epochs are numbered in each round: what was claimed in one says nothing of the next one's. */
	for (struct peer *p = f->peers; p; p = p->next)
		p->mine = 0;
	if (f->share)
		sh_front_start(f, true);
}

/* It takes reports in this epoch, or will.  Beginning anew would drop what has gathered, for which the head
 * has promised places until the next epoch. */
static bool has_share(const struct sh_front *f, uint64_t epoch)
{
	const struct sh_share *mine = f->replaced ? f->next : f->share;

	return epoch > 0 && mine && mine->epoch == epoch;
}

static enum cm_rc take_share(struct sh_front *f, const Tombola__V1__IntakeShare *s, struct cm_err *err)
{
	struct sh_vault_keys keys;
	const struct sh_loan loan = { .descriptor = { s->descriptor.data, s->descriptor.len },
		.epoch = s->epoch,
		.room = s->room,
		.most_of_one = s->most_of_one,
		.keys = &keys };
	struct sh_share *next = NULL;
	enum cm_rc rc = CM_OK;

	if (s->epoch > 0 && (s->keys.len != sizeof keys || s->descriptor.len == 0 || s->epoch > INT64_MAX ||
				    s->room > PR_ROUND_REPORTS_MAX))
		return cm_fail(err, CM_EPROTO, "a share that lacks something");
	if (has_share(f, s->epoch))
		return CM_OK;
	if (s->epoch > 0) {
		memcpy(&keys, s->keys.data, sizeof keys);
		rc = sh_share_new(f->conf.store, &loan, f->conf.max_bytes, &next, err);
		sh_vault_keys_fini(&keys);
	}
	if (rc != CM_OK)
		return rc;
	f->backoff_ms = 0; /* it takes us for an intake */
	sh_share_free(f->next);
	f->next = next;
	f->replaced = true;
	f->ask_at_ms = 0;
	sh_front_replace(f);
	return CM_OK;
}

static void take_claimed(struct sh_front *f, const Tombola__V1__IntakeClaimed *c)
{
	for (struct peer *p = f->peers; p; p = p->next)
		if (c->mine && memcmp(p->who.key_hash, c->key_hash.data, sizeof p->who.key_hash) == 0)
			p->mine = c->epoch;
}

/* ---- The link ---- */

static void on_ready(struct lk_link *l, void *user)
{
	struct sh_front *f = user;

	(void)l;
	f->head_ready = true;
	f->heard_ms = cm_clock_mono_ms();
	cm_log(CM_LOG_INFO, "connected to the head", CM_S("head", f->conf.head));
	say_join(f);
	sh_front_pump(f);
}

static void on_frame(struct lk_link *l, void *user, const Tombola__V1__Frame *frame)
{
	struct sh_front *f = user;
	struct cm_err err = { .code = CM_OK };

	f->heard_ms = cm_clock_mono_ms();
	switch (frame->kind_case) {
	case TOMBOLA__V1__FRAME__KIND_INTAKE_SHARE:
		(void)take_share(f, frame->intake_share, &err);
		break;
	case TOMBOLA__V1__FRAME__KIND_INTAKE_CLAIMED:
		take_claimed(f, frame->intake_claimed);
		break;
	case TOMBOLA__V1__FRAME__KIND_INTAKE_SIGNED:
		sh_front_signed(f, frame->intake_signed);
		break;
	case TOMBOLA__V1__FRAME__KIND_ERROR:
		(void)lk_error(frame->error, &err);
		break;
	default:
		(void)cm_fail(&err, CM_EPROTO, "%s is not for an intake", pr_kind_name(frame));
	}
	if (err.code != CM_OK)
		lk_close(l, &err);
	sh_front_pump(f);
}

static void on_close(struct lk_link *l, void *user, const struct cm_err *why)
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
	sh_front_refuse_all(f, "the shuffler is away");
	sh_front_pump(f);
}

void sh_front_dial(struct sh_front *f, int64_t mono_ms)
{
	const struct lk_handler handler = {
		.on_ready = on_ready, .on_frame = on_frame, .on_close = on_close
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
	if (f->head || f->stopping || mono_ms < f->dial_at_ms)
		return;
	nt_conn_limits_default(&limits);
	limits.idle_ms = 0;
	if (lk_dial(f->loop, f->conf.head, f->conf.up, &limits, &handler, f, &f->head, &why) == CM_OK)
		return;
	f->head = NULL;
	f->dial_at_ms = mono_ms + LONGEST_MS;
	cm_log(CM_LOG_ERROR, "cannot dial the head", CM_S("reason", why.msg));
}
