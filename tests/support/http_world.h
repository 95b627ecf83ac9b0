/* http_world.h - the health endpoint on a loop, asked over real sockets by a blocking client in a thread. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "nt_http.h"

/* One question from a thread of the loop's pool, while the loop answers. */
struct ask {
	uv_work_t work;
	char address[64];
	const char *path;
	const char *raw; /* sent as it is instead of a GET */
	size_t raw_len;  /* 0: all of it */
	int timeout_ms;
	enum cm_rc rc;
	int status;
	char *body;
	struct cm_err err;
	int fd; /* socket of a caller who is connected already */
};

struct world {
	uv_loop_t loop;
	struct nt_http *http;
	const char *not_ready, *json;
	struct ask ask;
};

/* A server at a free port of 127.0.0.1, with the routes given or none.  Its connections last longer than any
 * test: what ends was not ended by a timer. */
void world_init_with(struct world *w, const struct nt_http_route *routes, size_t n);
void world_init(struct world *w);
/* Closes the server and the loop; fails the test if anything is left open. */
void world_fini(struct world *w);

/* Ask what w->ask says and run the loop until it is answered; the caller frees w->ask.body. */
const struct ask *run_ask(struct world *w);
/* For uv_queue_work: stops the loop. */
void asked(uv_work_t *work, int status);
/* Assert that GET path is answered with this status and body. */
void assert_get(struct world *w, const char *path, int status, const char *body);
/* Assert that these bytes are answered with this status and an answer that contains `part`. */
void assert_raw(struct world *w, const char *request, int status, const char *part);
