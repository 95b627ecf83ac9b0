/* cm_http.h - a loopback HTTP endpoint for health: GET /healthz and /readyz (libmicrohttpd on the loop). */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "cm_rc.h"

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
};
CM_CHECK enum cm_rc cm_http_new(
	uv_loop_t *loop, const struct cm_http_conf *conf, struct cm_http **out, struct cm_err *err);
/* Would cm_http_new take this address?  For check-config. */
CM_CHECK enum cm_rc cm_http_check_address(const char *address, struct cm_err *err);
void cm_http_close(struct cm_http *h);
int cm_http_port(const struct cm_http *h);

/* Blocking GET of http://address/path for `check` and `status` verbs: status code and body (malloc'd, at most
 * 1 MiB).  CM_EUNAVAIL when nothing answers within timeout_ms. */
CM_CHECK enum cm_rc cm_http_get(
	const char *address, const char *path, int timeout_ms, int *status, char **body, struct cm_err *err);
