/* nt_dial.c - nt_conn_dial() of nt_conn.h: resolves the host, then tries its addresses in turn, dividing the
 * remaining time among the remaining addresses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nt_conn_private.h"

struct nt_dial {
	struct nt_conn *conn;
	uv_getaddrinfo_t resolve;
	uv_connect_t connect;
	struct addrinfo *found, *trying, *next;
	struct nt_tried tried;
	uint64_t until_ms; /* time of the loop's clock by which dialling and handshake must be over */
	enum { RESOLVING, RESOLVED, TRYING, FAILED, CONNECTED } at;
	bool resolving, retired; /* the resolver is running; a failed socket is closing */
	int rc;                  /* the resolver's result, and then that of the last attempt to connect */
};

static void failed(struct nt_dial *d, const char *why)
{
	d->at = FAILED;
	nt_tried_add(&d->tried, d->trying->ai_addr, why);
}

static uint64_t left_ms(const struct nt_conn *c)
{
	const struct nt_dial *d = c->from;
	uint64_t now = uv_now(c->loop);

	return d->until_ms > now ? d->until_ms - now : 1;
}

/* ---- events ---- */

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
	struct nt_dial *d = req->data;

	d->resolving = false;
	d->found = d->next = status == 0 ? found : NULL;
	d->rc = status;
	d->at = RESOLVED;
	if (d->conn->step == NT_CONN_CLOSING)
		nt_conn_settle_end(d->conn);
	else
		nt_conn_pump(d->conn);
}

static void on_connected(uv_connect_t *req, int status)
{
	struct nt_dial *d = req->data;

	if (d->retired)
		return;
	d->rc = status;
	if (status == 0)
		d->at = CONNECTED;
	else
		failed(d, uv_strerror(status));
	nt_conn_pump(d->conn);
}

static void on_retired(uv_handle_t *h)
{
	struct nt_conn *c = h->data;
	struct nt_dial *d = c->from;

	c->open_handles--;
	c->tcp_open = false;
	d->retired = false;
	if (c->step == NT_CONN_CLOSING)
		nt_conn_settle_end(c);
	else
		nt_conn_pump(c);
}

/* ---- steps ---- */

static void fail(struct nt_conn *c, const char *what, const char *why)
{
	const struct nt_dial *d = c->from;
	size_t n = strlen(c->address);
	struct cm_err err;

	/* An address equal to the one that was dialled is printed once. */
	if (d->tried.n == 1 && strncmp(why, c->address, n) == 0 && strncmp(why + n, ": ", 2) == 0)
		why += n + 2;
	(void)cm_fail(&err, CM_EUNAVAIL, "%s: %s: %s", c->address, what, why);
	nt_conn_shut(c, &err);
}

static void try_next(struct nt_conn *c, struct nt_dial *d)
{
	const struct addrinfo *ai = d->next;
	uint64_t share = 0;

	for (const struct addrinfo *a = ai; a; a = a->ai_next)
		share++;
	share = left_ms(c) / share;
	nt_conn_watch(c, share > 0 ? share : 1);
	d->trying = d->next;
	d->next = ai->ai_next;
	d->at = TRYING;
	d->rc = uv_tcp_init(c->loop, &c->tcp);
	if (d->rc == 0) {
		c->tcp.data = c;
		c->tcp_open = true;
		c->open_handles++;
		d->connect.data = d;
		d->rc = uv_tcp_connect(&d->connect, &c->tcp, ai->ai_addr, on_connected);
	}
	if (d->rc < 0)
		failed(d, uv_strerror(d->rc));
}

/* A socket that failed to connect cannot be used again: close it, and continue in its close callback. */
static void retire(struct nt_conn *c, struct nt_dial *d)
{
	d->retired = true;
	uv_close((uv_handle_t *)&c->tcp, on_retired);
}

static void advance(struct nt_conn *c)
{
	struct nt_dial *d = c->from;

	if (!d || d->retired || d->at == RESOLVING || d->at == TRYING)
		return;
	if (d->at == CONNECTED) {
		nt_conn_watch(c, left_ms(c));
		nt_conn_begin(c);
		return;
	}
	if (d->at == RESOLVED && d->rc < 0) {
		fail(c, "cannot look up the host", uv_strerror(d->rc));
		return;
	}
	if (d->at == FAILED && c->tcp_open && d->next) {
		retire(c, d);
		return;
	}
	while (d->next && !c->tcp_open) {
		try_next(c, d);
		if (d->at == TRYING)
			return;
	}
	if (d->at == FAILED && c->tcp_open && d->next)
		retire(c, d);
	else
		fail(c, "cannot connect", d->tried.text);
}

static void expired(struct nt_conn *c)
{
	struct nt_dial *d = c->from;
	struct cm_err err;

	if (d->at == TRYING) {
		failed(d, "no answer");
		if (d->next) {
			c->deadline_hit = false;
			retire(c, d);
			return;
		}
	}
	if (d->tried.n > 0) {
		fail(c, "cannot connect", d->tried.text);
		return;
	}
	(void)cm_fail(&err, CM_EUNAVAIL, "%s: the host was not looked up within %u ms", c->address,
		(unsigned)c->limits.handshake_ms);
	nt_conn_shut(c, &err);
}

static bool release(struct nt_conn *c)
{
	struct nt_dial *d = c->from;

	if (!d)
		return true;
	if (d->resolving) { /* the resolver's callback will call this function again */
		(void)uv_cancel((uv_req_t *)&d->resolve);
		return false;
	}
	uv_freeaddrinfo(d->found);
	free(d);
	c->from = NULL;
	return true;
}

static const struct nt_origin dialled = { .advance = advance, .expired = expired, .release = release };

enum cm_rc nt_conn_dial(uv_loop_t *loop, const char *address, struct nt_tls_ctx *tls,
	const struct nt_conn_limits *limits, const struct nt_conn_handler *handler, void *user,
	struct nt_conn **out, struct cm_err *err)
{
	static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct nt_conn *c = NULL;
	struct nt_dial *d;
	struct nt_addr addr;
	enum cm_rc rc;
	int n;

	*out = NULL;
	rc = nt_addr_split(address, &addr, err);
	if (rc != CM_OK)
		return rc;
	if (addr.host[0] == '\0' || strcmp(addr.port, "0") == 0)
		return cm_fail(err, CM_ECONFIG, "address '%.100s' has no host or port to dial", address);
	c = nt_conn_make(loop, limits, handler, user, &dialled);
	if (!c)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	(void)snprintf(c->address, sizeof c->address, "%.*s", (int)sizeof c->address - 1, address);
	rc = nt_tls_new(tls, addr.host, &c->tls, err);
	if (rc != CM_OK)
		goto out;
	c->from = d = calloc(1, sizeof *d);
	if (!d) {
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
		goto out;
	}
	d->conn = c;
	d->until_ms = uv_now(loop) + c->limits.handshake_ms;
	d->resolve.data = d;
	n = uv_getaddrinfo(loop, &d->resolve, on_resolved, addr.host, addr.port, &hints);
	if (n < 0) {
		rc = cm_fail(err, CM_EUNAVAIL, "%s: cannot look up the host: %s", address, uv_strerror(n));
		goto out;
	}
	d->resolving = true;
out:
	if (rc == CM_OK)
		*out = c;
	else if (c)
		nt_conn_discard(c);
	return rc;
}

enum cm_rc nt_conn_recheck(const struct nt_conn *c, const struct nt_tls_ctx *ctx, struct cm_err *err)
{
	return c->step == NT_CONN_OPEN ? nt_tls_recheck(c->tls, ctx, err)
				       : cm_fail(err, CM_EPERM, "the connection is not open");
}
