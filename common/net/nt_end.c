/* nt_end.c - ends a connection, in order or at once; on_close is called once, and the last close callback
 * frees. */
#include <stdlib.h>

#include "nt_conn_private.h"

static void on_closed(uv_handle_t *h)
{
	struct nt_conn *c = h->data;

	c->open_handles--;
	nt_conn_settle_end(c);
}

static void close_handle(uv_handle_t *h)
{
	if (!uv_is_closing(h))
		uv_close(h, on_closed);
}

void nt_conn_shut(struct nt_conn *c, const struct cm_err *why)
{
	if (c->step == NT_CONN_CLOSING)
		return;
	if (c->step < NT_CONN_FLUSHING) { /* otherwise the first reason is kept */
		c->why = *why;
		nt_listener_shaken(c);
	}
	c->step = NT_CONN_CLOSING;
	close_handle((uv_handle_t *)&c->deadline);
	close_handle((uv_handle_t *)&c->idle);
	close_handle((uv_handle_t *)&c->later);
	if (c->tcp_open)
		close_handle((uv_handle_t *)&c->tcp);
	/* The timers' close callbacks come later, so the caller's c is not freed here. */
}

void nt_conn_end(struct nt_conn *c, const struct cm_err *why)
{
	if (c->step >= NT_CONN_FLUSHING)
		return;
	if (c->step == NT_CONN_DIALLING) {
		nt_conn_shut(c, why);
		return;
	}
	c->why = *why;
	nt_listener_shaken(c);
	c->step = NT_CONN_FLUSHING;
	nt_listener_ending(c);
	(void)uv_timer_stop(&c->idle);
	nt_conn_watch(c, c->limits.handshake_ms);
	/* Read on even when the owner had paused: the peer's bytes are dropped now, until its end comes. */
	if (c->paused)
		(void)nt_conn_read(c);
	c->paused = false;
}

static void tell_end(struct nt_conn *c)
{
	struct nt_listener *l = c->listener;

	c->told = true;
	if (c->opened || c->dial) {
		if (c->handler.on_close)
			c->handler.on_close(c, c->user, &c->why);
	} else if (l && l->conf.on_refused) {
		l->conf.on_refused(l->conf.user, c->address, &c->why);
	}
}

void nt_conn_settle_end(struct nt_conn *c)
{
	if (c->step != NT_CONN_CLOSING || c->open_handles > 0)
		return;
	if (!c->told)
		tell_end(c);
	if (!nt_dial_free(c)) /* the resolver still runs, and its callback comes back here */
		return;
	nt_listener_forget(c);
	nt_tls_free(c->tls);
	cm_buf_fini(&c->wire);
	cm_buf_fini(&c->out);
	free(c);
}

void nt_end_of_stream(struct nt_conn *c)
{
	struct cm_err err;

	if (c->step == NT_CONN_HANDSHAKE)
		(void)cm_fail(&err, CM_EUNAVAIL, "the connection ended during the TLS handshake");
	else if (c->read_rc == UV_EOF)
		(void)cm_fail(&err, CM_EUNAVAIL, "the connection was cut: it ended without close_notify");
	else
		(void)cm_fail(&err, CM_EUNAVAIL, "the connection broke: %s", uv_strerror(c->read_rc));
	nt_conn_shut(c, &err);
}

/* A write failed.  The peer's reason (an alert) may still arrive, so reading goes on for a moment. */
void nt_end_of_writing(struct nt_conn *c)
{
	struct cm_err err;

	if (c->step >= NT_CONN_FLUSHING || c->read_rc < 0 || c->paused || c->deadline_hit) {
		(void)cm_fail(&err, CM_EUNAVAIL, "the connection broke: %s", uv_strerror(c->write_rc));
		nt_conn_shut(c, &err);
	} else if (!uv_is_active((uv_handle_t *)&c->deadline) ||
		   uv_timer_get_due_in(&c->deadline) > NT_CONN_LINGER_MS) {
		nt_conn_watch(c, NT_CONN_LINGER_MS);
	}
}

void nt_end_if_idle(struct nt_conn *c)
{
	uint64_t now = uv_now(c->loop), quiet = now - c->heard_ms;
	struct cm_err err;

	c->idle_hit = false;
	if (c->step != NT_CONN_OPEN)
		return;
	/* Received bytes do not restart the timer; compute here how long the peer has been silent. */
	if (c->silent || c->paused) {
		nt_conn_watch_idle(c, c->limits.idle_ms);
	} else if (quiet < c->limits.idle_ms) {
		nt_conn_watch_idle(c, c->limits.idle_ms - quiet);
	} else {
		(void)cm_fail(
			&err, CM_EUNAVAIL, "the peer was silent for %u ms", (unsigned)c->limits.idle_ms);
		nt_conn_end(c, &err);
	}
}

void nt_end_at_deadline(struct nt_conn *c)
{
	struct cm_err err;

	if (c->write_rc < 0 && c->step < NT_CONN_FLUSHING)
		return; /* nt_end_of_writing() reports it */
	if (c->step == NT_CONN_OPEN) {
		(void)cm_fail(&err, CM_EUNAVAIL, "the peer did not greet within %u ms",
			(unsigned)c->limits.handshake_ms);
		nt_conn_end(c, &err);
		return;
	}
	if (c->step == NT_CONN_DIALLING) {
		nt_dial_expired(c);
		return;
	}
	(void)cm_fail(&err, CM_EUNAVAIL, "no TLS handshake within %u ms", (unsigned)c->limits.handshake_ms);
	nt_conn_shut(c, &err);
}
