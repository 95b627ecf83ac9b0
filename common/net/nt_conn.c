/* nt_conn.c - one TLS connection on libuv: the functions that its owner calls. */
#include "nt_conn.h"

#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "cm_fault.h"
#include "nt_conn_private.h"

#define HANDSHAKE_MS   10000u
#define IDLE_MS        120000u
#define MAX_PENDING    ((size_t)8 << 20)
#define MAX_CONNS      1024u
#define MAX_HANDSHAKES 128u

void nt_conn_limits_default(struct nt_conn_limits *l)
{
	*l = (struct nt_conn_limits){
		.handshake_ms = HANDSHAKE_MS,
		.idle_ms = IDLE_MS,
		.max_pending = MAX_PENDING,
		.max_connections = MAX_CONNS,
		.max_handshaking = MAX_HANDSHAKES,
	};
}

/* ---- life ---- */

struct nt_conn *nt_conn_make(uv_loop_t *loop, const struct nt_conn_limits *limits,
	const struct nt_conn_handler *handler, void *user)
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
	cm_buf_init(&c->wire, NT_CONN_WIRE_MAX);
	cm_buf_init(&c->out, c->limits.max_pending);
	c->deadline.data = c->idle.data = c->later.data = c->tcp.data = c;
	/* These three cannot fail, by libuv's documentation. */
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
	struct cm_err none = { .code = CM_OK };

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
		nt_conn_later(c);
		return err->code;
	}
	if (c->out_at > 0) {
		cm_buf_drop(&c->out, c->out_at);
		c->out_at = 0;
	}
	if (cm_buf_put(&c->out, data, n) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	c->undrained = true;
	nt_conn_later(c);
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
		(void)nt_conn_read(c);
	nt_conn_later(c);
}

void nt_conn_close(struct nt_conn *c, const struct cm_err *why)
{
	struct cm_err none = { .code = CM_OK };

	if (nt_conn_closing(c))
		return;
	c->why = why ? *why : none;
	c->close_wanted = true;
	nt_conn_later(c);
}

void nt_conn_abort(struct nt_conn *c, const struct cm_err *why)
{
	if (c->step == NT_CONN_CLOSING)
		return;
	if (!nt_conn_closing(c))
		c->why = *why;
	c->abort_wanted = true;
	nt_conn_later(c);
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
