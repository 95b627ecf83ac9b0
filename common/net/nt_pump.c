/* nt_pump.c - handles every event of a connection in one function, the pump. */
#include <stdlib.h>

#include "nt_conn_private.h"

#define WRITE_MAX \
	((size_t)256 * 1024) /* plaintext encrypted for one write: bounds the copy in ciphertext \ */
#define PLAIN_MAX \
	((size_t)128 * 1024) /* plaintext of one read of at most 64 KiB, and a record kept from before */
#define KEEPALIVE_S   60u
#define KEEP_CAPACITY 4096u /* an idle connection keeps no buffer larger than this */

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

int nt_conn_read(struct nt_conn *c)
{
	return uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
}

void nt_conn_later(struct nt_conn *c)
{
	if (c->step != NT_CONN_CLOSING)
		(void)uv_idle_start(&c->later, on_later);
}

void nt_conn_watch_idle(struct nt_conn *c, uint64_t ms)
{
	(void)uv_timer_start(&c->idle, on_idle, ms, 0);
}

void nt_conn_watch(struct nt_conn *c, uint64_t ms)
{
	c->deadline_hit = false;
	(void)uv_timer_start(&c->deadline, on_deadline, ms, 0);
}

/* ---- the pump ---- */

static void enter(struct nt_conn *c)
{
	struct cm_err err = { .code = CM_OK };

	if (nt_listener_admit(c, &err) != CM_OK) {
		nt_conn_end(c, &err);
		return;
	}
	nt_listener_shaken(c);
	c->step = NT_CONN_OPEN;
	c->opened = true;
	(void)uv_timer_stop(&c->deadline);
	c->deadline_hit = false;
	if (c->limits.idle_ms > 0)
		nt_conn_watch_idle(c, c->limits.idle_ms);
	if (c->handler.on_open)
		c->handler.on_open(c, c->user);
}

/* Ciphertext in, plaintext to the owner. */
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
	/* err is CM_OK for the peer's close_notify.  An owner that ended it at the peer's last words has the
	 * reason. */
	if (rc != CM_OK || nt_tls_closed(c->tls))
		nt_conn_end(c, nt_conn_closing(c) ? &c->why : &err);
}

/* Encrypt what fits one write. */
static void encrypt(struct nt_conn *c)
{
	size_t n = c->out.len - c->out_at;
	struct cm_err err;

	if (n > WRITE_MAX)
		n = WRITE_MAX;
	if (n > 0) {
		if (nt_tls_send(c->tls, c->out.data + c->out_at, n, &c->wire, &err) != CM_OK) {
			nt_conn_shut(c, &err);
			return;
		}
		c->out_at += n;
	}
	/* Dropping only when half is used keeps the copying linear. */
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
	cm_buf_init(&c->wire, NT_CONN_WIRE_MAX); /* the write owns the bytes now */
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
		nt_end_of_writing(c);
		return;
	}
	if (c->step == NT_CONN_OPEN && c->undrained && nt_conn_pending(c) == 0 && !c->close_wanted) {
		c->undrained = false;
		if (c->handler.on_drain)
			c->handler.on_drain(c, c->user);
	}
	if (c->step == NT_CONN_FLUSHING && c->notified && c->inflight == 0 && c->wire.len == 0) {
		c->step = NT_CONN_LINGERING;
		nt_conn_watch(c, NT_CONN_LINGER_MS);
		c->shutdown.data = c;
		if (c->read_rc < 0 || uv_shutdown(&c->shutdown, (uv_stream_t *)&c->tcp, on_shutdown) < 0)
			nt_conn_shut(c, &c->why);
	}
}

/* The owner's close comes before all other events: its reason is the one to report. */
static void owner_close(struct nt_conn *c)
{
	if (c->abort_wanted)
		nt_conn_shut(c, &c->why);
	else if (c->close_wanted)
		nt_conn_end(c, &c->why);
}

static void owner_resume(struct nt_conn *c)
{
	static const uint8_t nothing[1];

	if (!c->resumed || c->step != NT_CONN_OPEN)
		return;
	c->resumed = false;
	if (c->handler.on_data)
		c->handler.on_data(c, c->user, nothing, 0);
	owner_close(c);
}

void nt_conn_pump(struct nt_conn *c)
{
	if (c->step == NT_CONN_DIALLING && !c->deadline_hit && !c->close_wanted && !c->abort_wanted)
		nt_dial_advance(c);
	if (c->step != NT_CONN_CLOSING)
		owner_close(c);
	if (c->step != NT_CONN_CLOSING && c->deadline_hit)
		nt_end_at_deadline(c);
	if (c->step == NT_CONN_OPEN)
		owner_resume(c);
	if (c->step != NT_CONN_CLOSING && c->in_len > 0)
		receive(c);
	c->in_len = 0;
	if (c->step != NT_CONN_CLOSING && c->read_rc < 0)
		nt_end_of_stream(c);
	if (c->step != NT_CONN_CLOSING && c->idle_hit)
		nt_end_if_idle(c);
	if (c->step != NT_CONN_CLOSING)
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
	rc = nt_conn_read(c);
	if (rc < 0) {
		(void)cm_fail(&err, CM_EUNAVAIL, "cannot read: %s", uv_strerror(rc));
		nt_conn_shut(c, &err);
	} else if (nt_tls_start(c->tls, &c->wire, &err) != CM_OK) {
		nt_conn_shut(c, &err);
	} else {
		transmit(c);
	}
}
