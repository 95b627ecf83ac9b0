/* nt_http_private.h - the inside of the HTTP endpoint: for nt_http.c and nt_http_answer.c only. */
#pragma once

#include <microhttpd.h>

#include "nt_http.h"

#define NT_HTTP_SLOTS 32u

struct nt_http {
	struct MHD_Daemon *daemon;
	uv_poll_t poll;
	uv_timer_t timer;
	int open_handles;
	bool loopback;
	bool freed; /* a slot became free since the last run */
	struct nt_http_conf conf;
	struct nt_http_slot {
		uint64_t since_ms; /* loop time of the connection's start */
		int fd;            /* -1: free */
	} slot[NT_HTTP_SLOTS];
};

/* libmicrohttpd's access handler. */
enum MHD_Result nt_http_answer(void *user, struct MHD_Connection *conn, const char *url, const char *method,
	const char *version, const char *upload, size_t *upload_size, void **seen);
