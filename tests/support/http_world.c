/* http_world.c - a server on a loop and its questions from a thread. */
#include "http_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "turning.h"

static void raw_exchange(struct ask *a)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t n = 0;
	ssize_t got;

	a->body = calloc(1, 8192);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in.sin_port = htons((uint16_t)strtoul(strrchr(a->address, ':') + 1, NULL, 10));
	if (a->body && connect(fd, (struct sockaddr *)&in, sizeof in) == 0 &&
		send(fd, a->raw, a->raw_len > 0 ? a->raw_len : strlen(a->raw), MSG_NOSIGNAL) > 0) {
		while (n < 8191 && (got = recv(fd, a->body + n, 8191 - n, 0)) > 0)
			n += (size_t)got;
		a->status = n > 12 ? (int)strtol(a->body + 9, NULL, 10) : 0;
	}
	(void)close(fd);
}

static void do_ask(uv_work_t *work)
{
	struct ask *a = work->data;

	if (a->raw)
		raw_exchange(a);
	else
		a->rc = nt_http_get(a->address, a->path, a->timeout_ms, &a->status, &a->body, &a->err);
}

void asked(uv_work_t *work, int status)
{
	struct ask *a = work->data;

	assert_int_equal(status, 0);
	uv_stop(a->work.loop);
}

static const char *not_ready(void *user)
{
	return ((struct world *)user)->not_ready;
}

static char *status_json(void *user)
{
	const struct world *w = user;

	return w->json ? strdup(w->json) : NULL;
}

void world_init_with(struct world *w, const struct nt_http_route *routes, size_t n)
{
	struct nt_http_conf conf = { .address = "127.0.0.1:0",
		.not_ready = not_ready,
		.status_json = status_json,
		.user = w,
		.routes = routes,
		.n_routes = n,
		.connection_ms = 3600000 };
	struct cm_err err;

	memset(w, 0, sizeof *w);
	assert_int_equal(uv_loop_init(&w->loop), 0);
	if (nt_http_new(&w->loop, &conf, &w->http, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_true(nt_http_port(w->http) > 0);
}

void world_init(struct world *w)
{
	world_init_with(w, NULL, 0);
}

void world_fini(struct world *w)
{
	nt_http_close(w->http);
	assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&w->loop), 0);
}

const struct ask *run_ask(struct world *w)
{
	(void)snprintf(w->ask.address, sizeof w->ask.address, "127.0.0.1:%d", nt_http_port(w->http));
	/* Shorter than the minute after which libmicrohttpd makes room by itself. */
	w->ask.timeout_ms = guard_ms() < 30000 ? (int)guard_ms() : 30000;
	w->ask.work.data = &w->ask;
	assert_int_equal(uv_queue_work(&w->loop, &w->ask.work, do_ask, asked), 0);
	(void)uv_run(&w->loop, UV_RUN_DEFAULT);
	return &w->ask;
}

void assert_get(struct world *w, const char *path, int status, const char *body)
{
	const struct ask *a;

	memset(&w->ask, 0, sizeof w->ask);
	w->ask.path = path;
	a = run_ask(w);
	if (a->rc != CM_OK)
		fail_msg("%s", a->err.msg);
	assert_int_equal(a->status, status);
	assert_string_equal(a->body, body);
	free(w->ask.body);
}

void assert_raw(struct world *w, const char *request, int status, const char *part)
{
	const struct ask *a;

	memset(&w->ask, 0, sizeof w->ask);
	w->ask.raw = request;
	a = run_ask(w);
	assert_int_equal(a->status, status);
	if (!strstr(a->body, part))
		fail_msg("no '%s' in '%s'", part, a->body);
	free(w->ask.body);
}
