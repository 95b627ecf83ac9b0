/* cm_http.h - a loopback HTTP endpoint for whoever watches or looks on: health, and a daemon's own pages
 * (libmicrohttpd on the loop).
 *
 * GET and HEAD only; anything else is 405, a path nobody answers 404.  GET /healthz, /readyz and /status are
 * built in.  Handlers run on the loop, so they must not block.  A caller can hold at most one connection slot
 * for 30 s (10 s if it sends nothing) and 16 KiB of headers; when all 32 slots are taken the oldest is given
 * to the newcomer, so that slow callers never keep others out and never grow the daemon.
 *
 * Every reply has Content-Security-Policy (nothing may load anything, unless the reply says otherwise),
 * X-Content-Type-Options: nosniff, Referrer-Policy: no-referrer, Cache-Control: no-store and Connection:
 * close. On a loopback address a request whose Host is a name other than localhost gets 421, so that no page
 * of another site reads this one through a name that it points here.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "cm_rc.h"

#define CM_HTTP_HEADERS 4u

/* What a handler fills in; all zero before. */
struct cm_http_reply {
	int status;       /* 200..599; 0: 200 */
	const char *type; /* Content-Type, must outlive the server; NULL: text/plain; charset=utf-8 */
	char *body;       /* malloc'd, freed by the server; NULL: empty */
	size_t len;
	/* More headers, until a NULL name; static text.  One of the names above replaces the default. */
	struct cm_http_header {
		const char *name, *value;
	} headers[CM_HTTP_HEADERS];
};

struct cm_http_route {
	const char *path; /* exact, or ending in '*': every path that begins so */
	/* Fill `out` for `path` (decoded, without the query).  Not 0: 500 is answered, and `out` freed. */
	int (*handle)(void *user, const char *path, struct cm_http_reply *out);
	void *user; /* NULL: the conf's */
};

struct cm_http;
struct cm_http_conf {
	const char *address; /* "127.0.0.1:9464"; anything but a loopback address is CM_ECONFIG unless
				`anywhere` */
	bool anywhere;
	/* Why the daemon is not ready, or NULL when it is; text borrowed until the next call. */
	const char *(*not_ready)(void *user);
	/* Body for GET /status as JSON, malloc'd, freed by the server; NULL: 404.  May be NULL. */
	char *(*status_json)(void *user);
	void *user;
	/* The first that matches answers; borrowed while the server lives. */
	const struct cm_http_route *routes;
	size_t n_routes;
	uint32_t connection_ms; /* that one may last; 0: 30000 */
};
CM_CHECK enum cm_rc cm_http_new(
	uv_loop_t *loop, const struct cm_http_conf *conf, struct cm_http **out, struct cm_err *err);
/* Would cm_http_new take this address?  For check-config. */
CM_CHECK enum cm_rc cm_http_check_address(const char *address, bool anywhere, struct cm_err *err);
void cm_http_close(struct cm_http *h);
int cm_http_port(const struct cm_http *h);

/* Blocking GET of http://address/path for `check` and `status` verbs: status code and body (malloc'd, at most
 * 1 MiB).  CM_EUNAVAIL when nothing answers within timeout_ms. */
CM_CHECK enum cm_rc cm_http_get(
	const char *address, const char *path, int timeout_ms, int *status, char **body, struct cm_err *err);
