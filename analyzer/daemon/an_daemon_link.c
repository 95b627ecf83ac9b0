/* an_daemon_link.c - the link to the shuffler: dials, waits for answers, dials again. */
#include <string.h>

#include "an_daemon_private.h"
#include "cm_clock.h"
#include "cm_log.h"

#define REFUSALS_MAX 5u /* a shuffler killed during a handshake looks like one that refuses */

static void on_timer_closed(uv_handle_t *h)
{
	struct an_daemon *d = h->data;

	d->timers--;
}

static enum cm_rc timer_init(struct an_daemon *d, uv_timer_t *t, struct cm_err *err)
{
	int rc = uv_timer_init(&d->loop, t);

	if (rc != 0)
		return cm_fail(err, CM_EINTERNAL, "timer: %s", uv_strerror(rc));
	t->data = d;
	d->timers++;
	return CM_OK;
}

enum cm_rc an_link_init(struct an_daemon *d, struct cm_err *err)
{
	struct nt_tls_conf tls = { .cert_file = d->conf->tls_cert,
		.key_file = d->conf->tls_key,
		.trust = { { CR_ROLE_SHUFFLER, d->conf->tls_ca, d->conf->tls_crl } } };
	enum cm_rc rc = nt_tls_ctx_new(&tls, &d->tls, err);

	d->backoff_ms = d->conf->reconnect_min_ms;
	d->away_since_ms = cm_clock_mono_ms();
	if (rc == CM_OK)
		rc = timer_init(d, &d->redial, err);
	if (rc == CM_OK)
		rc = timer_init(d, &d->answer, err);
	return rc;
}

void an_link_close(struct an_daemon *d)
{
	if (d->link != NULL)
		an_link_drop(d, &(struct cm_err){ .code = CM_OK });
	for (size_t i = 0; i < 2; i++) {
		uv_timer_t *t = i == 0 ? &d->redial : &d->answer;

		if (t->data != NULL && !uv_is_closing((uv_handle_t *)t))
			uv_close((uv_handle_t *)t, on_timer_closed);
	}
}

static void on_redial(uv_timer_t *t)
{
	an_link_want(t->data);
}

/* The shuffler is away: wait, longer each time, unless the run has waited long enough. */
static void wait_and_redial(struct an_daemon *d, const struct cm_err *why)
{
	int64_t now = cm_clock_mono_ms();
	int64_t wait = d->backoff_ms;
	bool attended = d->run->once || d->run->only != 0;
	struct cm_err e = *why;

	if (d->stopping || d->idle)
		return;
	if (e.code == CM_OK)
		(void)cm_fail(&e, CM_EUNAVAIL, "the shuffler closed the connection");
	d->refusals = e.code == CM_EPERM || e.code == CM_EPROTO ? d->refusals + 1 : 0;
	if (d->run->check ||
		(attended && (now - d->away_since_ms > d->conf->give_up_ms || d->refusals >= REFUSALS_MAX))) {
		an_stop(d, e.code, &e);
		return;
	}
	cm_log(CM_LOG_WARN, "no connection to the shuffler", CM_S("reason", e.msg), CM_I("retry_ms", wait));
	memcpy(d->away, e.msg, sizeof d->away);
	d->backoff_ms = wait * 2 > d->conf->reconnect_max_ms ? d->conf->reconnect_max_ms : wait * 2;
	(void)uv_timer_start(&d->redial, on_redial, (uint64_t)wait, 0);
}

static void on_ready(struct lk_link *l, void *user)
{
	struct an_daemon *d = user;

	if (d->link != l)
		return;
	d->ready = true;
	d->refusals = 0;
	lk_expect_silence(l, true); /* long polls and slow buckets are silent for long; the timer `answer`
				     * limits the silence */
	an_link_answered(d);
	cm_log_flush(); /* forget suppressed messages: the next fault is a new one */
	cm_log(CM_LOG_INFO, "connected to the shuffler", CM_S("address", lk_address(l)),
		CM_S("tls_group", lk_group(l)));
	an_work_connected(d);
}

/* Whether the frame advances the round, or promises to; earlier failures are then over. */
static bool is_progress(const Tombola__V1__Frame *frame)
{
	return frame->kind_case != TOMBOLA__V1__FRAME__KIND_ERROR ||
	       frame->error->code == TOMBOLA__V1__ERROR_CODE__ERROR_BUSY;
}

static void on_frame(struct lk_link *l, void *user, const Tombola__V1__Frame *frame)
{
	struct an_daemon *d = user;

	if (d->link != l)
		return;
	an_link_answered(d);
	d->seen_ms = cm_clock_wall_ms();
	if (is_progress(frame)) {
		d->away[0] = '\0';
		d->backoff_ms = d->conf->reconnect_min_ms;
		d->away_since_ms = cm_clock_mono_ms();
	}
	an_work_frame(d, frame);
}

static void on_close(struct lk_link *l, void *user, const struct cm_err *why)
{
	struct an_daemon *d = user;

	if (d->link != l)
		return; /* we dropped this link, and nothing waits for it */
	d->link = NULL;
	d->ready = false;
	an_link_answered(d);
	wait_and_redial(d, why);
}

void an_link_want(struct an_daemon *d)
{
	const struct lk_handler handler = { .on_ready = on_ready,
		.on_frame = on_frame,
		.on_close = on_close,
		.counts = lk_metrics_counts(an_metrics_shared(d->metrics)) };
	struct nt_conn_limits limits;
	struct cm_err err = { 0 };

	if (d->link != NULL || d->stopping || uv_is_active((uv_handle_t *)&d->redial))
		return;
	nt_conn_limits_default(&limits);
	d->ready = false;
	if (lk_dial(&d->loop, d->conf->shuffler, d->tls, &limits, &handler, d, &d->link, &err) != CM_OK) {
		d->link = NULL;
		if (err.code == CM_ECONFIG || err.code == CM_EUSAGE)
			an_stop(d, err.code, &err);
		else
			wait_and_redial(d, &err);
	}
}

void an_link_drop(struct an_daemon *d, const struct cm_err *why)
{
	struct lk_link *l = d->link;

	if (l == NULL)
		return;
	d->link = NULL; /* on_close of the old link then finds another one and does nothing */
	d->ready = false;
	an_link_answered(d);
	lk_close(l, why);
	if (why->code != CM_OK)
		wait_and_redial(d, why);
}

static void on_no_answer(uv_timer_t *t)
{
	struct cm_err err = { 0 };

	(void)cm_fail(&err, CM_EUNAVAIL, "the shuffler does not answer");
	an_link_drop(t->data, &err);
}

void an_link_answered(struct an_daemon *d)
{
	(void)uv_timer_stop(&d->answer);
}

void an_link_send(struct an_daemon *d, const Tombola__V1__Frame *frame)
{
	struct cm_err err = { 0 };
	int64_t patience = d->conf->answer_ms;

	if (!d->ready)
		return; /* the dialogue restarts with the next link */
	if (frame->kind_case == TOMBOLA__V1__FRAME__KIND_AWAIT_MANIFEST)
		patience += frame->await_manifest->wait_ms;
	if (lk_send(d->link, frame, &err) != CM_OK)
		an_link_drop(d, &err);
	else
		(void)uv_timer_start(&d->answer, on_no_answer, (uint64_t)patience, 0);
}

void an_link_reload(struct an_daemon *d)
{
	struct nt_tls_conf tls = { .cert_file = d->conf->tls_cert,
		.key_file = d->conf->tls_key,
		.trust = { { CR_ROLE_SHUFFLER, d->conf->tls_ca, d->conf->tls_crl } } };
	struct nt_tls_ctx *fresh = NULL;
	struct cm_err err = { 0 };

	if (nt_tls_ctx_new(&tls, &fresh, &err) != CM_OK) {
		cm_log(CM_LOG_ERROR, "certificates not reloaded", CM_S("reason", err.msg));
		lk_metrics_reloaded(an_metrics_shared(d->metrics), false);
		return;
	}
	nt_tls_ctx_free(d->tls);
	d->tls = fresh;
	lk_metrics_reloaded(an_metrics_shared(d->metrics), true);
	cm_log_plain(CM_LOG_INFO, "certificates reloaded");
	/* Close the link, so that the shuffler is verified with the new certificates. */
	if (d->link != NULL) {
		(void)cm_fail(&err, CM_EUNAVAIL, "certificates were reloaded");
		d->backoff_ms = d->conf->reconnect_min_ms;
		an_link_drop(d, &err);
	}
}
