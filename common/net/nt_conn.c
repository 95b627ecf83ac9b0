/* nt_conn.c - one TLS connection on libuv: its events, the pump that handles them, its end, and its owner. */
#include "nt_conn.h"

#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "cm_fault.h"
#include "nt_conn_private.h"

#define WIRE_MAX      ((size_t)1024 * 1024) /* most bytes of ciphertext that are waiting to be written */
#define WRITE_MAX     ((size_t)256 * 1024)  /* most bytes of plaintext in one write */
#define PLAIN_MAX     ((size_t)128 * 1024)  /* one read of 64 KiB, and a record kept from before */
#define LINGER_MS     1000u                 /* time for the peer to read our last bytes and close */
#define KEEPALIVE_S   60u
#define KEEP_CAPACITY 4096u /* an idle connection keeps no larger buffer than this */

static const struct cm_err none = { .code = CM_OK };

void nt_conn_limits_default(struct nt_conn_limits *l)
{
	*l = (struct nt_conn_limits){
		.handshake_ms = 10000,
		.idle_ms = 120000,
		.max_pending = (size_t)8 << 20,
		.max_connections = 1024,
		.max_handshaking = 128,
	};
}

struct write {
	uv_write_t req;
	struct nt_conn *conn;
	uint8_t *data;
	size_t len;
};

/* ---- events: record the event, then pump ---- */

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
	(void)h;
	/* Allocated for one read only, so that an idle connection holds no buffer. */
	buf->base = malloc(suggested);
	buf->len = buf->base ? suggested : 0;
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct nt_conn *c = s->data;

	c->in = n > 0 ? (const uint8_t *)buf->base : NULL;
	c->in_len = n > 0 ? (size_t)n : 0;
	c->read_rc = n < 0 ? (int)n : 0;
	nt_conn_pump(c);
	c->in = NULL;
	free(buf->base);
}

static void on_written(uv_write_t *req, int status)
{
	struct write *w = req->data;
	struct nt_conn *c = w->conn;

	c->inflight -= w->len;
	c->write_rc = status < 0 ? status : c->write_rc;
	free(w->data);
	free(w);
	nt_conn_pump(c);
}

static void on_deadline(uv_timer_t *t)
{
	struct nt_conn *c = t->data;

	c->deadline_hit = true;
	nt_conn_pump(c);
}

static void on_idle(uv_timer_t *t)
{
	struct nt_conn *c = t->data;

	c->idle_hit = true;
	nt_conn_pump(c);
}

static void on_later(uv_idle_t *h)
{
	struct nt_conn *c = h->data;

	(void)uv_idle_stop(h);
	nt_conn_pump(c);
}

static void on_shutdown(uv_shutdown_t *req, int status)
{
	struct nt_conn *c = req->data;

	c->write_rc = status < 0 ? status : c->write_rc;
	nt_conn_pump(c);
}

static int start_reading(struct nt_conn *c)
{
	return uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
}

static void later(struct nt_conn *c)
{
	if (c->step != NT_CONN_CLOSING)
		(void)uv_idle_start(&c->later, on_later);
}

static void watch_idle(struct nt_conn *c, uint64_t ms)
{
	(void)uv_timer_start(&c->idle, on_idle, ms, 0);
}

void nt_conn_watch(struct nt_conn *c, uint64_t ms)
{
	c->deadline_hit = false;
	(void)uv_timer_start(&c->deadline, on_deadline, ms, 0);
}

/* ---- the end: on_close is called once, and the last close callback frees ---- */

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
	if (c->step < NT_CONN_FLUSHING) { /* later calls do not replace the first reason */
		c->why = *why;
		if (c->origin->shaken)
			c->origin->shaken(c);
	}
	c->step = NT_CONN_CLOSING;
	close_handle((uv_handle_t *)&c->deadline);
	close_handle((uv_handle_t *)&c->idle);
	close_handle((uv_handle_t *)&c->later);
	if (c->tcp_open)
		close_handle((uv_handle_t *)&c->tcp);
	/* The timers' close callbacks come later, so the caller's c is not freed here. */
}

static void end(struct nt_conn *c, const struct cm_err *why)
{
	if (c->step >= NT_CONN_FLUSHING)
		return;
	if (c->step == NT_CONN_DIALLING) {
		nt_conn_shut(c, why);
		return;
	}
	c->why = *why;
	if (c->origin->shaken)
		c->origin->shaken(c);
	c->step = NT_CONN_FLUSHING;
	if (c->origin->ending)
		c->origin->ending(c);
	(void)uv_timer_stop(&c->idle);
	nt_conn_watch(c, c->limits.handshake_ms);
	/* Read on even if the owner had paused: the peer's bytes are dropped now, until its end comes. */
	if (c->paused)
		(void)start_reading(c);
	c->paused = false;
}

static void tell_end(struct nt_conn *c)
{
	c->told = true;
	if (!c->opened && c->origin->refused)
		c->origin->refused(c);
	else if (c->handler.on_close)
		c->handler.on_close(c, c->user, &c->why);
}

void nt_conn_settle_end(struct nt_conn *c)
{
	if (c->step != NT_CONN_CLOSING || c->open_handles > 0)
		return;
	if (!c->told)
		tell_end(c);
	if (!c->origin->release(c))
		return;
	nt_tls_free(c->tls);
	cm_buf_fini(&c->wire);
	cm_buf_fini(&c->out);
	free(c);
}

static void end_of_stream(struct nt_conn *c)
{
	const bool shaking = c->step == NT_CONN_HANDSHAKE, cut = c->read_rc == UV_EOF;
	struct cm_err err;

	(void)cm_fail(&err, CM_EUNAVAIL, "the connection %s%s",
		shaking ? "ended during the TLS handshake"
		: cut   ? "was cut: it ended without close_notify"
			: "broke: ",
		shaking || cut ? "" : uv_strerror(c->read_rc));
	nt_conn_shut(c, &err);
}

/* A write failed.  The peer's reason (an alert) may still arrive, so reading goes on for a moment. */
static void end_of_writing(struct nt_conn *c)
{
	struct cm_err err;

	if (c->step >= NT_CONN_FLUSHING || c->read_rc < 0 || c->paused || c->deadline_hit) {
		(void)cm_fail(&err, CM_EUNAVAIL, "the connection broke: %s", uv_strerror(c->write_rc));
		nt_conn_shut(c, &err);
	} else if (!uv_is_active((uv_handle_t *)&c->deadline) ||
		   uv_timer_get_due_in(&c->deadline) > LINGER_MS) {
		nt_conn_watch(c, LINGER_MS);
	}
}

static void end_if_idle(struct nt_conn *c)
{
	uint64_t now = uv_now(c->loop), quiet = now - c->heard_ms;
	struct cm_err err;

	c->idle_hit = false;
	if (c->step != NT_CONN_OPEN)
		return;
	/* Received bytes do not restart the timer; compute here how long the peer has been silent. */
	if (c->silent || c->paused) {
		watch_idle(c, c->limits.idle_ms);
	} else if (quiet < c->limits.idle_ms) {
		watch_idle(c, c->limits.idle_ms - quiet);
	} else {
		(void)cm_fail(&err, CM_EUNAVAIL, "the peer was silent for %u ms", c->limits.idle_ms);
		end(c, &err);
	}
}

static void end_at_deadline(struct nt_conn *c)
{
	struct cm_err err;

	if (c->write_rc < 0 && c->step < NT_CONN_FLUSHING)
		return; /* end_of_writing() reports it */
	if (c->step == NT_CONN_OPEN) {
		(void)cm_fail(
			&err, CM_EUNAVAIL, "the peer did not greet within %u ms", c->limits.handshake_ms);
		end(c, &err);
	} else if (c->step == NT_CONN_DIALLING) {
		c->origin->expired(c);
	} else {
		(void)cm_fail(&err, CM_EUNAVAIL, "no TLS handshake within %u ms", c->limits.handshake_ms);
		nt_conn_shut(c, &err);
	}
}

/* ---- the pump ---- */

static void enter(struct nt_conn *c)
{
	struct cm_err err = { .code = CM_OK };

	if (c->origin->admit && c->origin->admit(c, &err) != CM_OK) {
		end(c, &err);
		return;
	}
	if (c->origin->shaken)
		c->origin->shaken(c);
	c->step = NT_CONN_OPEN;
	c->opened = true;
	(void)uv_timer_stop(&c->deadline);
	c->deadline_hit = false;
	if (c->limits.idle_ms > 0)
		watch_idle(c, c->limits.idle_ms);
	if (c->handler.on_open)
		c->handler.on_open(c, c->user);
}

/* Decrypt what came, and give the plaintext to the owner. */
static void receive(struct nt_conn *c)
{
	struct cm_err err = { .code = CM_OK };
	struct cm_buf plain;
	enum cm_rc rc;

	c->heard_ms = uv_now(c->loop);
	if (c->step >= NT_CONN_FLUSHING)
		return;
	cm_buf_init(&plain, PLAIN_MAX);
	rc = nt_tls_feed(c->tls, c->in, c->in_len, &plain, &c->wire, &err);
	if (c->step == NT_CONN_HANDSHAKE && nt_tls_ready(c->tls))
		enter(c);
	if (c->step == NT_CONN_OPEN && plain.len > 0 && !nt_conn_closing(c) && c->handler.on_data)
		c->handler.on_data(c, c->user, plain.data, plain.len);
	cm_buf_fini(&plain);
	/* err is CM_OK for the peer's close_notify.  If the owner has ended the connection at the peer's
	 * last words, its own reason stands. */
	if (rc != CM_OK || nt_tls_closed(c->tls))
		end(c, nt_conn_closing(c) ? &c->why : &err);
}

/* Encrypt as much as fits one write. */
static void encrypt(struct nt_conn *c)
{
	size_t n = c->out.len - c->out_at;
	struct cm_err err;

	if (n > WRITE_MAX)
		n = WRITE_MAX;
	if (n > 0 && nt_tls_send(c->tls, c->out.data + c->out_at, n, &c->wire, &err) != CM_OK) {
		nt_conn_shut(c, &err);
		return;
	}
	c->out_at += n;
	/* Dropping only when half of the buffer is used keeps the copying linear. */
	if (c->out_at >= c->out.len / 2) {
		cm_buf_drop(&c->out, c->out_at);
		c->out_at = 0;
	}
	if (c->out.len == 0 && c->out.cap > KEEP_CAPACITY)
		cm_buf_fini(&c->out);
}

static void write_wire(struct nt_conn *c)
{
	struct write *w = calloc(1, sizeof *w);
	struct cm_err err;
	uv_buf_t buf;
	int rc;

	if (!w) {
		(void)cm_fail(&err, CM_EINTERNAL, "out of memory");
		nt_conn_shut(c, &err);
		return;
	}
	w->req.data = w;
	w->conn = c;
	w->data = c->wire.data;
	w->len = c->wire.len;
	buf = uv_buf_init((char *)w->data, (unsigned)w->len);
	cm_buf_init(&c->wire, WIRE_MAX); /* the write now owns the bytes */
	c->inflight += w->len;
	rc = uv_write(&w->req, (uv_stream_t *)&c->tcp, &buf, 1, on_written);
	if (rc < 0) {
		c->inflight -= w->len;
		c->write_rc = rc;
		free(w->data);
		free(w);
	}
}

/* One write at a time: while it is under way, new bytes are collected for the next one. */
static void transmit(struct nt_conn *c)
{
	if (c->write_rc < 0 || c->inflight > 0 || c->step < NT_CONN_HANDSHAKE || c->step > NT_CONN_FLUSHING)
		return;
	if (nt_tls_ready(c->tls))
		encrypt(c);
	if (c->step == NT_CONN_FLUSHING && !c->notified && (c->out.len == 0 || !nt_tls_ready(c->tls))) {
		nt_tls_shutdown(c->tls, &c->wire);
		c->notified = true;
	}
	if (c->step != NT_CONN_CLOSING && c->wire.len > 0)
		write_wire(c);
}

static void after_transmit(struct nt_conn *c)
{
	if (c->write_rc < 0) {
		end_of_writing(c);
		return;
	}
	if (c->step == NT_CONN_OPEN && c->undrained && nt_conn_pending(c) == 0 && !c->close_wanted) {
		c->undrained = false;
		if (c->handler.on_drain)
			c->handler.on_drain(c, c->user);
	}
	if (c->step == NT_CONN_FLUSHING && c->notified && c->inflight == 0 && c->wire.len == 0) {
		c->step = NT_CONN_LINGERING;
		nt_conn_watch(c, LINGER_MS);
		c->shutdown.data = c;
		if (c->read_rc < 0 || uv_shutdown(&c->shutdown, (uv_stream_t *)&c->tcp, on_shutdown) < 0)
			nt_conn_shut(c, &c->why);
	}
}

/* The owner's close is handled before all other events, since its reason is the one to report. */
static void owner_close(struct nt_conn *c)
{
	if (c->abort_wanted)
		nt_conn_shut(c, &c->why);
	else if (c->close_wanted)
		end(c, &c->why);
}

static void owner_resume(struct nt_conn *c)
{
	if (!c->resumed || c->step != NT_CONN_OPEN)
		return;
	c->resumed = false;
	if (c->handler.on_data)
		c->handler.on_data(c, c->user, (const uint8_t *)"", 0);
	owner_close(c);
}

void nt_conn_pump(struct nt_conn *c)
{
	if (c->step == NT_CONN_DIALLING && !c->deadline_hit && !c->close_wanted && !c->abort_wanted)
		c->origin->advance(c);
	owner_close(c);
	if (c->step != NT_CONN_CLOSING && c->deadline_hit)
		end_at_deadline(c);
	if (c->step == NT_CONN_OPEN)
		owner_resume(c);
	if (c->step != NT_CONN_CLOSING && c->in_len > 0)
		receive(c);
	c->in_len = 0;
	if (c->step != NT_CONN_CLOSING && c->read_rc < 0)
		end_of_stream(c);
	if (c->step != NT_CONN_CLOSING && c->idle_hit)
		end_if_idle(c);
	owner_close(c);
	if (c->step != NT_CONN_CLOSING)
		transmit(c);
	if (c->step != NT_CONN_CLOSING)
		after_transmit(c);
}

void nt_conn_begin(struct nt_conn *c)
{
	struct cm_err err;
	int rc;

	/* We collect frames ourselves, so no delay is needed; a long poll must notice a peer that is gone. */
	(void)uv_tcp_nodelay(&c->tcp, 1);
	(void)uv_tcp_keepalive(&c->tcp, 1, KEEPALIVE_S);
	c->step = NT_CONN_HANDSHAKE;
	rc = start_reading(c);
	if (rc < 0)
		(void)cm_fail(&err, CM_EUNAVAIL, "cannot read: %s", uv_strerror(rc));
	if (rc < 0 || nt_tls_start(c->tls, &c->wire, &err) != CM_OK)
		nt_conn_shut(c, &err);
	else
		transmit(c);
}

/* ---- life ---- */

struct nt_conn *nt_conn_make(uv_loop_t *loop, const struct nt_conn_limits *limits,
	const struct nt_conn_handler *handler, void *user, const struct nt_origin *origin)
{
	struct nt_conn *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->loop = loop;
	nt_conn_limits_default(&c->limits);
	if (limits)
		c->limits = *limits;
	c->handler = *handler;
	c->user = user;
	c->origin = origin;
	cm_buf_init(&c->wire, WIRE_MAX);
	cm_buf_init(&c->out, c->limits.max_pending);
	c->deadline.data = c->idle.data = c->later.data = c->tcp.data = c;
	/* these three cannot fail, as libuv documents */
	(void)uv_timer_init(loop, &c->deadline);
	(void)uv_timer_init(loop, &c->idle);
	(void)uv_idle_init(loop, &c->later);
	c->open_handles = 3;
	c->heard_ms = uv_now(loop);
	nt_conn_watch(c, c->limits.handshake_ms);
	return c;
}

void nt_conn_discard(struct nt_conn *c)
{
	c->told = true;
	nt_conn_shut(c, &none);
}

/* ---- the owner's functions: they record a request and never call back ---- */

void nt_conn_set_user(struct nt_conn *c, void *user)
{
	c->user = user;
}

const struct cr_identity *nt_conn_peer(const struct nt_conn *c)
{
	return nt_tls_peer(c->tls);
}

const char *nt_conn_group(const struct nt_conn *c)
{
	return nt_tls_group(c->tls);
}

const char *nt_conn_address(const struct nt_conn *c)
{
	return c->address;
}

size_t nt_conn_pending(const struct nt_conn *c)
{
	return c->out.len - c->out_at + c->wire.len + c->inflight;
}

size_t nt_conn_unread(const struct nt_conn *c)
{
	uv_os_fd_t fd;
	int sent = 0;

	if (!c->tcp_open || uv_fileno((const uv_handle_t *)&c->tcp, &fd) != 0 ||
		ioctl(fd, SIOCOUTQ, &sent) != 0)
		sent = 0;
	return nt_conn_pending(c) + (size_t)sent;
}

bool nt_conn_closing(const struct nt_conn *c)
{
	return c->step >= NT_CONN_FLUSHING || c->close_wanted || c->abort_wanted;
}

enum cm_rc nt_conn_send(struct nt_conn *c, const uint8_t *data, size_t n, struct cm_err *err)
{
	if (nt_conn_closing(c))
		return cm_fail(err, CM_EIO, "the connection is closed");
	if (CM_CHECKED("net.pending") &&
		(n > c->limits.max_pending || nt_conn_pending(c) > c->limits.max_pending - n)) {
		(void)cm_fail(err, CM_EUNAVAIL, "the peer does not read: more than %zu bytes wait for it",
			c->limits.max_pending);
		c->why = *err;
		c->abort_wanted = true;
		later(c);
		return err->code;
	}
	if (c->out_at > 0) {
		cm_buf_drop(&c->out, c->out_at);
		c->out_at = 0;
	}
	if (cm_buf_put(&c->out, data, n) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	c->undrained = true;
	later(c);
	return CM_OK;
}

void nt_conn_pause(struct nt_conn *c)
{
	if (c->paused || c->step >= NT_CONN_FLUSHING)
		return;
	c->paused = true;
	c->resumed = false;
	if (c->tcp_open)
		(void)uv_read_stop((uv_stream_t *)&c->tcp);
}

void nt_conn_resume(struct nt_conn *c)
{
	if (!c->paused || c->step >= NT_CONN_FLUSHING)
		return;
	c->paused = false;
	c->resumed = true;
	c->heard_ms = uv_now(c->loop);
	if (c->tcp_open)
		(void)start_reading(c);
	later(c);
}

void nt_conn_close(struct nt_conn *c, const struct cm_err *why)
{
	if (nt_conn_closing(c))
		return;
	c->why = why ? *why : none;
	c->close_wanted = true;
	later(c);
}

void nt_conn_abort(struct nt_conn *c, const struct cm_err *why)
{
	if (c->step == NT_CONN_CLOSING)
		return;
	if (!nt_conn_closing(c))
		c->why = *why;
	c->abort_wanted = true;
	later(c);
}

void nt_conn_expect_greeting(struct nt_conn *c, bool on)
{
	if (c->step != NT_CONN_OPEN || c->ungreeted == on)
		return;
	c->ungreeted = on;
	if (on) {
		nt_conn_watch(c, c->limits.handshake_ms);
	} else {
		(void)uv_timer_stop(&c->deadline);
		c->deadline_hit = false;
	}
}

void nt_conn_expect_silence(struct nt_conn *c, bool on)
{
	c->silent = on;
	c->heard_ms = uv_now(c->loop);
}
