/* an_link.c - keeps the link to the shuffler: dials, waits for answers, dials again. */
#include "an_link.h"

#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"
#include "cm_log.h"
#include "nt_loop.h"

/* most failed handshakes in a row; a shuffler killed during a handshake looks like one that refuses */
#define REFUSALS_MAX 5u

struct an_link {
	struct an_link_conf conf;
	struct an_context *context;
	struct nt_tls_ctx *tls;
	struct lk_link *link;      /* dialling or up; NULL if there is no link */
	bool ready;                /* the shuffler's Hello has arrived */
	bool resting, closed;      /* resting: do not dial until a link is wanted; closed: never dial again */
	unsigned refusals;         /* how many dials in a row failed in TLS */
	int64_t backoff_ms;        /* the next pause before dialling */
	int64_t away_since_ms;     /* monotonic time since when the shuffler is away */
	int64_t seen_ms;           /* unix time of the shuffler's last frame; 0 if none has come */
	char away[320];            /* why the shuffler cannot be reached; empty if it can be */
	uv_timer_t redial, answer; /* `answer` runs until the deadline of an expected answer */
};

static enum cm_rc tls_new(const struct an_link *l, struct nt_tls_ctx **out, struct cm_err *err)
{
	const struct an_conf *conf = l->context->conf;
	struct nt_tls_conf tls = { .cert_file = conf->tls_cert,
		.key_file = conf->tls_key,
		.trust = { { CR_ROLE_SHUFFLER, conf->tls_ca, conf->tls_crl } } };

	return nt_tls_ctx_new(&tls, out, err);
}

enum cm_rc an_link_new(const struct an_link_conf *conf, struct an_link **out, struct cm_err *err)
{
	struct an_link *l = calloc(1, sizeof *l);
	enum cm_rc rc;

	if (!l)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	*out = l; /* the owner closes and frees the link, also after a fault */
	l->conf = *conf;
	l->context = conf->context;
	l->backoff_ms = l->context->conf->reconnect_min_ms;
	l->away_since_ms = cm_clock_mono_ms();
	rc = tls_new(l, &l->tls, err);
	if (rc == CM_OK)
		rc = an_timer_init(l->context, &l->redial, l, err);
	if (rc == CM_OK)
		rc = an_timer_init(l->context, &l->answer, l, err);
	return rc;
}

void an_link_close(struct an_link *l)
{
	if (!l || l->closed)
		return;
	an_link_rest(l);
	l->closed = true;
	an_timer_close(&l->redial);
	an_timer_close(&l->answer);
}

void an_link_free(struct an_link *l)
{
	if (l)
		nt_tls_ctx_free(l->tls);
	free(l);
}

static void answered(struct an_link *l)
{
	(void)uv_timer_stop(&l->answer);
}

static void on_redial(uv_timer_t *t)
{
	an_link_want(t->data);
}

/* The shuffler is away: wait, longer each time, unless the run has waited long enough. */
static void wait_and_redial(struct an_link *l, const struct cm_err *why)
{
	int64_t now = cm_clock_mono_ms();
	int64_t wait = l->backoff_ms;
	bool attended = an_context_attended(l->context);
	struct cm_err e = *why;

	if (l->closed || l->resting)
		return;
	if (e.code == CM_OK)
		(void)cm_fail(&e, CM_EUNAVAIL, "the shuffler closed the connection");
	l->refusals = e.code == CM_EPERM || e.code == CM_EPROTO ? l->refusals + 1 : 0;
	if (l->context->run->check || (attended && (now - l->away_since_ms > l->context->conf->give_up_ms ||
							   l->refusals >= REFUSALS_MAX))) {
		l->conf.on_gone(l->conf.user, &e);
		return;
	}
	cm_log(CM_LOG_WARN, "no connection to the shuffler", CM_S("reason", e.msg), CM_I("retry_ms", wait));
	memcpy(l->away, e.msg, sizeof l->away);
	l->backoff_ms =
		wait * 2 > l->context->conf->reconnect_max_ms ? l->context->conf->reconnect_max_ms : wait * 2;
	(void)uv_timer_start(&l->redial, on_redial, (uint64_t)wait, 0);
}

static void on_ready(struct lk_link *peer, void *user)
{
	struct an_link *l = user;

	if (l->link != peer)
		return;
	l->ready = true;
	l->refusals = 0;
	lk_expect_silence(peer, true); /* long polls and slow buckets are silent for long; the timer `answer`
					* limits the silence */
	answered(l);
	cm_log_flush(); /* forget suppressed messages: the next fault is a new one */
	cm_log(CM_LOG_INFO, "connected to the shuffler", CM_S("address", lk_address(peer)),
		CM_S("tls_group", lk_group(peer)));
	l->conf.on_ready(l->conf.user);
}

/* Whether the frame advances the round or promises to, after which earlier failures no longer count. */
static bool is_progress(const Tombola__V1__Frame *frame)
{
	return frame->kind_case != TOMBOLA__V1__FRAME__KIND_ERROR ||
	       frame->error->code == TOMBOLA__V1__ERROR_CODE__ERROR_BUSY;
}

static void on_frame(struct lk_link *peer, void *user, const Tombola__V1__Frame *frame)
{
	struct an_link *l = user;

	if (l->link != peer)
		return;
	answered(l);
	l->seen_ms = cm_clock_wall_ms();
	if (is_progress(frame)) {
		l->away[0] = '\0';
		l->backoff_ms = l->context->conf->reconnect_min_ms;
		l->away_since_ms = cm_clock_mono_ms();
	}
	l->conf.on_frame(l->conf.user, frame);
}

static void on_close(struct lk_link *peer, void *user, const struct cm_err *why)
{
	struct an_link *l = user;

	if (l->link != peer)
		return; /* we dropped this link, and nothing is waiting for its end */
	l->link = NULL;
	l->ready = false;
	answered(l);
	wait_and_redial(l, why);
}

void an_link_want(struct an_link *l)
{
	const struct lk_handler handler = { .on_ready = on_ready,
		.on_frame = on_frame,
		.on_close = on_close,
		.counts = lk_metrics_counts(an_metrics_shared(l->context->metrics)) };
	struct nt_conn_limits limits;
	struct cm_err err = { 0 };

	if (l->resting)
		l->away_since_ms = cm_clock_mono_ms();
	l->resting = false;
	if (l->link || l->closed || uv_is_active((uv_handle_t *)&l->redial))
		return;
	nt_conn_limits_default(&limits);
	l->ready = false;
	if (lk_dial(&l->context->loop, l->context->conf->shuffler, l->tls, &limits, &handler, l, &l->link,
		    &err) != CM_OK) {
		l->link = NULL;
		if (err.code == CM_ECONFIG || err.code == CM_EUSAGE)
			l->conf.on_gone(l->conf.user, &err);
		else
			wait_and_redial(l, &err);
	}
}

void an_link_drop(struct an_link *l, const struct cm_err *why)
{
	struct lk_link *peer = l->link;

	if (!peer)
		return;
	l->link = NULL; /* on_close of the old link then finds that it is not l->link and does nothing */
	l->ready = false;
	answered(l);
	lk_close(peer, why);
	if (why->code != CM_OK)
		wait_and_redial(l, why);
}

void an_link_rest(struct an_link *l)
{
	l->resting = true;
	if (l->redial.data)
		(void)uv_timer_stop(&l->redial);
	an_link_drop(l, &(struct cm_err){ .code = CM_OK });
}

static void on_no_answer(uv_timer_t *t)
{
	struct cm_err err = { 0 };

	(void)cm_fail(&err, CM_EUNAVAIL, "the shuffler does not answer");
	an_link_drop(t->data, &err);
}

void an_link_send(struct an_link *l, const Tombola__V1__Frame *frame)
{
	struct cm_err err = { 0 };
	int64_t patience = l->context->conf->answer_ms;

	if (!l->ready)
		return; /* the dialogue restarts with the next link */
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_AWAIT_MANIFEST)
		patience += frame->await_manifest->wait_ms;
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_REHEARSE)
		patience += frame->rehearse->wait_ms;
	if (lk_send(l->link, frame, &err) != CM_OK)
		an_link_drop(l, &err);
	else
		(void)uv_timer_start(&l->answer, on_no_answer, (uint64_t)patience, 0);
}

void an_link_reload(struct an_link *l, bool asked)
{
	struct nt_tls_ctx *fresh = NULL;
	struct cm_err err = { 0 };

	if (tls_new(l, &fresh, &err) != CM_OK) {
		cm_log(asked ? CM_LOG_ERROR : CM_LOG_WARN, asked ? "certificates not reloaded" : NT_LOOP_KEPT,
			CM_S("reason", err.msg));
		lk_metrics_reloaded(an_metrics_shared(l->context->metrics), false);
		return;
	}
	nt_tls_ctx_free(l->tls);
	l->tls = fresh;
	lk_metrics_reloaded(an_metrics_shared(l->context->metrics), true);
	cm_log_plain(CM_LOG_INFO, asked ? "certificates reloaded" : NT_LOOP_TAKEN);
	/* Close the link, so that the shuffler is verified with the new certificates.  A link that is up
	 * stays if the files were only replaced and the new ones still accept the shuffler. */
	if (l->link && (asked || !l->ready || lk_recheck(l->link, fresh, &err) != CM_OK)) {
		(void)cm_fail(&err, CM_EUNAVAIL, "certificates were reloaded");
		l->backoff_ms = l->context->conf->reconnect_min_ms;
		an_link_drop(l, &err);
	}
}

bool an_link_ready(const struct an_link *l)
{
	return l->ready;
}

int64_t an_link_seen_ms(const struct an_link *l)
{
	return l->seen_ms;
}

const char *an_link_away(const struct an_link *l)
{
	return l->away;
}
