/* cm_dial.c - from "host:port" to a connected socket: resolve, try each address in turn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_conn_private.h"

struct cm_dial {
	struct cm_conn *conn;
	uv_getaddrinfo_t resolve;
	uv_connect_t connect;
	struct addrinfo *found, *next;
	enum { RESOLVING, RESOLVED, TRYING, FAILED, CONNECTED } at;
	bool resolving, retired; /* the resolver runs; a failed socket is closing */
	int rc;                  /* why the last attempt failed */
};

/* ---- events ---- */

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
	struct cm_dial *d = req->data;

	d->resolving = false;
	d->found = d->next = found;
	d->rc = status;
	d->at = RESOLVED;
	if (d->conn->step == CM_CONN_CLOSING)
		cm_conn_settle_end(d->conn);
	else
		cm_conn_pump(d->conn);
}

static void on_connected(uv_connect_t *req, int status)
{
	struct cm_dial *d = req->data;

	d->rc = status;
	d->at = status == 0 ? CONNECTED : FAILED;
	cm_conn_pump(d->conn);
}

static void on_retired(uv_handle_t *h)
{
	struct cm_conn *c = h->data;

	c->open_handles--;
	c->tcp_open = false;
	c->dial->retired = false;
	if (c->step == CM_CONN_CLOSING)
		cm_conn_settle_end(c);
	else
		cm_conn_pump(c);
}

/* ---- steps ---- */

static void fail(struct cm_conn *c, const char *what, int rc)
{
	struct cm_err err;

	(void)cm_fail(&err, CM_EUNAVAIL, "%s: %s: %s", c->address, what, uv_strerror(rc));
	cm_conn_shut(c, &err);
}

static void try_next(struct cm_conn *c, struct cm_dial *d)
{
	const struct addrinfo *ai = d->next;

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
		d->at = FAILED;
}

/* A socket that failed to connect cannot be used again: close it, and go on from its close callback. */
static void retire(struct cm_conn *c, struct cm_dial *d)
{
	d->retired = true;
	uv_close((uv_handle_t *)&c->tcp, on_retired);
}

void cm_dial_advance(struct cm_conn *c)
{
	struct cm_dial *d = c->dial;

	if (d == NULL || d->retired || d->at == RESOLVING || d->at == TRYING)
		return;
	if (d->at == CONNECTED) {
		cm_conn_begin(c);
		return;
	}
	if (d->at == RESOLVED && d->rc < 0) {
		fail(c, "cannot look up the host", d->rc);
		return;
	}
	if (d->at == FAILED && c->tcp_open && d->next != NULL) {
		retire(c, d);
		return;
	}
	while (d->next != NULL && !c->tcp_open) {
		try_next(c, d);
		if (d->at == TRYING)
			return;
	}
	if (d->at == FAILED && c->tcp_open && d->next != NULL)
		retire(c, d);
	else
		fail(c, "cannot connect", d->rc);
}

bool cm_dial_free(struct cm_conn *c)
{
	struct cm_dial *d = c->dial;

	if (d == NULL)
		return true;
	if (d->resolving) {
		(void)uv_cancel((uv_req_t *)&d->resolve);
		return false;
	}
	uv_freeaddrinfo(d->found);
	free(d);
	c->dial = NULL;
	return true;
}

enum cm_rc cm_conn_dial(uv_loop_t *loop, const char *address, struct cm_tls_ctx *tls,
	const struct cm_conn_limits *limits, const struct cm_conn_handler *handler, void *user,
	struct cm_conn **out, struct cm_err *err)
{
	static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct cm_conn *c = NULL;
	struct cm_addr addr;
	enum cm_rc rc;
	int n;

	*out = NULL;
	rc = cm_addr_split(address, &addr, err);
	if (rc != CM_OK)
		return rc;
	if (addr.host[0] == '\0' || strcmp(addr.port, "0") == 0)
		return cm_fail(err, CM_ECONFIG, "address '%.100s' is nothing to dial", address);
	c = cm_conn_make(loop, limits, handler, user);
	if (c == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	(void)snprintf(c->address, sizeof c->address, "%.*s", (int)sizeof c->address - 1, address);
	rc = cm_tls_new(tls, addr.host, &c->tls, err);
	if (rc != CM_OK)
		goto out;
	c->dial = calloc(1, sizeof *c->dial);
	if (c->dial == NULL) {
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
		goto out;
	}
	c->dial->conn = c;
	c->dial->resolve.data = c->dial;
	n = uv_getaddrinfo(loop, &c->dial->resolve, on_resolved, addr.host, addr.port, &hints);
	if (n < 0) {
		rc = cm_fail(err, CM_EUNAVAIL, "%s: cannot look up the host: %s", address, uv_strerror(n));
		goto out;
	}
	c->dial->resolving = true;
out:
	if (rc == CM_OK)
		*out = c;
	else if (c != NULL)
		cm_conn_discard(c);
	return rc;
}
