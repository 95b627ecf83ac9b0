/* cm_http_private.h - the HTTP endpoint from the inside: for cm_http.c and cm_http_answer.c only. */
#pragma once

#include <microhttpd.h>

#include "cm_http.h"

#define CM_HTTP_SLOTS 32u

struct cm_http {
	struct MHD_Daemon *daemon;
	uv_poll_t poll;
	uv_timer_t timer;
	int open_handles;
	bool loopback;
	bool freed; /* a slot, since the last run */
	struct cm_http_conf conf;
	struct cm_http_slot {
		uint64_t since_ms; /* loop time of the connection's start */
		int fd;            /* -1: free */
	} slot[CM_HTTP_SLOTS];
};

/* libmicrohttpd's access handler. */
enum MHD_Result cm_http_answer(void *user, struct MHD_Connection *conn, const char *url, const char *method,
	const char *version, const char *upload, size_t *upload_size, void **seen);
