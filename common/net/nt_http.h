/* nt_http.h - a loopback HTTP endpoint for monitoring and for a daemon's own pages (libmicrohttpd on the
 * loop).
 *
 * GET and HEAD only; any other method is answered 405, an unknown path 404.  GET /healthz, /readyz and
 * /status are built in.  Handlers run on the loop, so they must not block.  A caller can hold a connection
 * slot for at most 30 s (10 s if it sends nothing) and 16 KiB of headers.  When all 32 slots are taken, a new
 * caller takes the oldest, so that slow callers never keep others out and never grow the daemon.
 *
 * Every reply has Content-Security-Policy (nothing may load anything, unless the reply says otherwise),
 * X-Content-Type-Options: nosniff, Referrer-Policy: no-referrer, Cache-Control: no-store and Connection:
 * close.  On a loopback address, a request is answered 421 when its Host is a name other than localhost, is
 * not a host and port, or is given twice.  So no page of another site can read this one through a DNS name of
 * its own that points here. */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "cm_rc.h"

#define NT_HTTP_HEADERS 4u

/* The reply, which a handler fills in; all zero before. */
struct nt_http_reply {
	int status; /* the HTTP status, 200..599; 0 stands for 200 */
	/* the Content-Type, which must outlive the server; NULL: text/plain; charset=utf-8 */
	const char *type;
	char *body; /* the body, malloc'd; the server frees it; NULL: it is empty */
	size_t len;
	/* Further headers, ended by a NULL name; static text.  A header with one of the names above
	 * replaces the default. */
	struct nt_http_header {
		const char *name, *value;
	} headers[NT_HTTP_HEADERS];
};

struct nt_http_route {
	const char *path; /* the path of the route; if it ends in '*', every path that begins so */
	/* Fill `out` for `path` (decoded, without the query).  If it returns anything but 0, the server
	 * answers 500 and frees `out`. */
	int (*handle)(void *user, const char *path, struct nt_http_reply *out);
	void *user; /* passed to handle(); NULL: the user of the conf */
};

struct nt_http;
struct nt_http_conf {
	/* where to listen, such as "127.0.0.1:9464"; CM_ECONFIG for an address that is not loopback, unless
	 * `anywhere` */
	const char *address;
	bool anywhere;
	/* Return why the daemon is not ready, or NULL when it is; the text is borrowed until the next
	 * call. */
	const char *(*not_ready)(void *user);
	/* Body for GET /status as JSON, malloc'd, freed by the server; NULL: 404.  May be NULL. */
	char *(*status_json)(void *user);
	void *user;
	/* The first route that matches answers; borrowed while the server lives. */
	const struct nt_http_route *routes;
	size_t n_routes;
	uint32_t connection_ms; /* longest life of a connection in milliseconds; 0 stands for 30000 */
};
CM_CHECK enum cm_rc nt_http_new(
	uv_loop_t *loop, const struct nt_http_conf *conf, struct nt_http **out, struct cm_err *err);
/* CM_OK if nt_http_new would accept this address.  For check-config. */
CM_CHECK enum cm_rc nt_http_check_address(const char *address, bool anywhere, struct cm_err *err);
void nt_http_close(struct nt_http *h);
int nt_http_port(const struct nt_http *h);

/* Blocking GET of http://address/path for `check` and `status` verbs: status code and body (malloc'd, at most
 * 1 MiB).  CM_EUNAVAIL when nothing answers within timeout_ms. */
CM_CHECK enum cm_rc nt_http_get(
	const char *address, const char *path, int timeout_ms, int *status, char **body, struct cm_err *err);
