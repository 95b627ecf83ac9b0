/* cm_end.c - how a connection ends: in order or cut short, told once, freed by the last close callback. */
#include <stdlib.h>

#include "cm_conn_private.h"

static void on_closed(uv_handle_t *h)
{
	struct cm_conn *c = h->data;

	c->open_handles--;
	cm_conn_settle_end(c);
}

static void close_handle(uv_handle_t *h)
{
	if (!uv_is_closing(h))
		uv_close(h, on_closed);
}

void cm_conn_shut(struct cm_conn *c, const struct cm_err *why)
{
	if (c->step == CM_CONN_CLOSING)
		return;
	if (c->step < CM_CONN_FLUSHING) { /* else the first reason stands */
		c->why = *why;
		cm_listener_shaken(c);
	}
	c->step = CM_CONN_CLOSING;
	close_handle((uv_handle_t *)&c->deadline);
	close_handle((uv_handle_t *)&c->idle);
	close_handle((uv_handle_t *)&c->later);
	if (c->tcp_open)
		close_handle((uv_handle_t *)&c->tcp);
	/* The timers' close callbacks come later, so nothing is freed under the caller. */
}

void cm_conn_end(struct cm_conn *c, const struct cm_err *why)
{
	if (c->step >= CM_CONN_FLUSHING)
		return;
	if (c->step == CM_CONN_DIALLING) {
		cm_conn_shut(c, why);
		return;
	}
	c->why = *why;
	cm_listener_shaken(c);
	c->step = CM_CONN_FLUSHING;
	(void)uv_timer_stop(&c->idle);
	cm_conn_watch(c, c->limits.handshake_ms);
	/* Read on even when the owner had paused: the peer's bytes are dropped now, and its end is awaited.
	 */
	if (c->paused)
		(void)cm_conn_read(c);
	c->paused = false;
}

static void tell_end(struct cm_conn *c)
{
	struct cm_listener *l = c->listener;

	c->told = true;
	if (c->opened || c->dial != NULL) {
		if (c->handler.on_close != NULL)
			c->handler.on_close(c, c->user, &c->why);
	} else if (l != NULL && l->conf.on_refused != NULL) {
		l->conf.on_refused(l->conf.user, c->address, &c->why);
	}
}

void cm_conn_settle_end(struct cm_conn *c)
{
	if (c->step != CM_CONN_CLOSING || c->open_handles > 0)
		return;
	if (!c->told)
		tell_end(c);
	if (!cm_dial_free(c)) /* the resolver still runs and will come back here */
		return;
	cm_listener_forget(c);
	cm_tls_free(c->tls);
	cm_buf_fini(&c->wire);
	cm_buf_fini(&c->out);
	free(c);
}

void cm_end_of_stream(struct cm_conn *c)
{
	struct cm_err err;

	if (c->step == CM_CONN_HANDSHAKE)
		(void)cm_fail(&err, CM_EUNAVAIL, "the connection ended during the TLS handshake");
	else if (c->read_rc == UV_EOF)
		(void)cm_fail(&err, CM_EUNAVAIL, "the connection was cut: it ended without close_notify");
	else
		(void)cm_fail(&err, CM_EUNAVAIL, "the connection broke: %s", uv_strerror(c->read_rc));
	cm_conn_shut(c, &err);
}

/* A write failed.  The reason may still be on its way in (an alert), so reading goes on for a moment. */
void cm_end_of_writing(struct cm_conn *c)
{
	struct cm_err err;

	if (c->step >= CM_CONN_FLUSHING || c->read_rc < 0 || c->paused || c->deadline_hit) {
		(void)cm_fail(&err, CM_EUNAVAIL, "the connection broke: %s", uv_strerror(c->write_rc));
		cm_conn_shut(c, &err);
	} else if (!uv_is_active((uv_handle_t *)&c->deadline) ||
		   uv_timer_get_due_in(&c->deadline) > CM_CONN_LINGER_MS) {
		cm_conn_watch(c, CM_CONN_LINGER_MS);
	}
}

void cm_end_if_idle(struct cm_conn *c)
{
	uint64_t now = uv_now(c->loop), quiet = now - c->heard_ms;
	struct cm_err err;

	c->idle_hit = false;
	if (c->step != CM_CONN_OPEN)
		return;
	/* The timer is not restarted with every byte; it finds out here. */
	if (c->silent || c->paused) {
		cm_conn_watch_idle(c, c->limits.idle_ms);
	} else if (quiet < c->limits.idle_ms) {
		cm_conn_watch_idle(c, c->limits.idle_ms - quiet);
	} else {
		(void)cm_fail(
			&err, CM_EUNAVAIL, "the peer was silent for %u ms", (unsigned)c->limits.idle_ms);
		cm_conn_end(c, &err);
	}
}

void cm_end_at_deadline(struct cm_conn *c)
{
	struct cm_err err;

	if (c->write_rc < 0 && c->step < CM_CONN_FLUSHING)
		return; /* cm_end_of_writing() says it */
	if (c->step == CM_CONN_OPEN) {
		(void)cm_fail(&err, CM_EUNAVAIL, "the peer did not greet within %u ms",
			(unsigned)c->limits.handshake_ms);
		cm_conn_end(c, &err);
		return;
	}
	if (c->step == CM_CONN_DIALLING)
		(void)cm_fail(
			&err, CM_EUNAVAIL, "no connection within %u ms", (unsigned)c->limits.handshake_ms);
	else
		(void)cm_fail(
			&err, CM_EUNAVAIL, "no TLS handshake within %u ms", (unsigned)c->limits.handshake_ms);
	cm_conn_shut(c, &err);
}
