/* test_http.c - the health endpoint on a loop, asked over real sockets by the blocking client in a thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "nt_http.h"

/* ---- one question from a thread of the loop's pool, while the loop answers ---- */

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
	int fd; /* of a caller who is connected already */
};

static void raw_exchange(struct ask *a)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t n = 0;
	ssize_t got;

	a->body = calloc(1, 8192);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in.sin_port = htons((uint16_t)strtoul(strrchr(a->address, ':') + 1, NULL, 10));
	if (a->body != NULL && connect(fd, (struct sockaddr *)&in, sizeof in) == 0 &&
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

	if (a->raw != NULL)
		raw_exchange(a);
	else
		a->rc = nt_http_get(a->address, a->path, a->timeout_ms, &a->status, &a->body, &a->err);
}

static void asked(uv_work_t *work, int status)
{
	struct ask *a = work->data;

	assert_int_equal(status, 0);
	uv_stop(a->work.loop);
}

struct world {
	uv_loop_t loop;
	struct nt_http *http;
	const char *not_ready, *json;
	struct ask ask;
};

static const char *not_ready(void *user)
{
	return ((struct world *)user)->not_ready;
}

static char *status_json(void *user)
{
	const struct world *w = user;

	return w->json != NULL ? strdup(w->json) : NULL;
}

static void world_init_with(struct world *w, const struct nt_http_route *routes, size_t n)
{
	struct nt_http_conf conf = { .address = "127.0.0.1:0",
		.not_ready = not_ready,
		.status_json = status_json,
		.user = w,
		.routes = routes,
		.n_routes = n };
	struct cm_err err;

	memset(w, 0, sizeof *w);
	assert_int_equal(uv_loop_init(&w->loop), 0);
	if (nt_http_new(&w->loop, &conf, &w->http, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_true(nt_http_port(w->http) > 0);
}

static void world_init(struct world *w)
{
	world_init_with(w, NULL, 0);
}

static void world_fini(struct world *w)
{
	nt_http_close(w->http);
	assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&w->loop), 0);
}

static const struct ask *run_ask(struct world *w)
{
	(void)snprintf(w->ask.address, sizeof w->ask.address, "127.0.0.1:%d", nt_http_port(w->http));
	w->ask.timeout_ms = 5000;
	w->ask.work.data = &w->ask;
	assert_int_equal(uv_queue_work(&w->loop, &w->ask.work, do_ask, asked), 0);
	(void)uv_run(&w->loop, UV_RUN_DEFAULT);
	return &w->ask;
}

static void assert_get(struct world *w, const char *path, int status, const char *body)
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

static void assert_raw(struct world *w, const char *request, int status, const char *part)
{
	const struct ask *a;

	memset(&w->ask, 0, sizeof w->ask);
	w->ask.raw = request;
	a = run_ask(w);
	assert_int_equal(a->status, status);
	if (strstr(a->body, part) == NULL)
		fail_msg("no '%s' in '%s'", part, a->body);
	free(w->ask.body);
}

/* ---- the server ---- */

static void a_daemon_that_runs_is_healthy(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	assert_get(&w, "/healthz", 200, "ok\n");
	world_fini(&w);
}

static void readiness_follows_the_daemon_and_says_why_not(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	assert_get(&w, "/readyz", 200, "ready\n");
	w.not_ready = "the ledger is not open";
	assert_get(&w, "/readyz", 503, "the ledger is not open");
	w.not_ready = NULL;
	assert_get(&w, "/readyz", 200, "ready\n");
	world_fini(&w);
}

static void status_is_the_daemons_json_or_nothing(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	w.json = "{\"rounds\":3}";
	assert_get(&w, "/status", 200, "{\"rounds\":3}");
	w.json = NULL;
	assert_get(&w, "/status", 404, "no status here\n");
	world_fini(&w);
}

static void other_paths_are_not_found(void **state)
{
	static const char *const path[] = { "/", "/healthz/", "/../etc/passwd", "/metricsx", "//healthz" };
	struct world w;

	(void)state;
	world_init(&w);
	for (size_t i = 0; i < sizeof path / sizeof path[0]; i++)
		assert_get(&w, path[i], 404, "not found; there are /healthz, /readyz, /status\n");
	world_fini(&w);
}

static void only_get_and_head_are_allowed(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	assert_raw(&w, "POST /healthz HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", 405, "Allow: GET, HEAD");
	assert_raw(&w, "DELETE /status HTTP/1.0\r\n\r\n", 405, "Allow: GET, HEAD");
	assert_raw(&w, "HEAD /healthz HTTP/1.0\r\n\r\n", 200, "Content-Length: 3");
	world_fini(&w);
}

static void nonsense_and_endless_headers_are_refused(void **state)
{
	static char longer[40000];
	struct world w;

	(void)state;
	world_init(&w);
	w.ask.raw = "nonsense\r\n\r\n";
	(void)run_ask(&w);
	assert_true(w.ask.status == 0 || w.ask.status == 400); /* libmicrohttpd hangs up */
	free(w.ask.body);
	memset(longer, 'x', sizeof longer - 1);
	memcpy(longer, "GET /", 5);
	memcpy(longer + sizeof longer - 1 - 13, " HTTP/1.0\r\n\r\n", 13);
	memset(&w.ask, 0, sizeof w.ask);
	w.ask.raw = longer;
	(void)run_ask(&w);
	assert_true(w.ask.status != 200 && w.ask.status != 503);
	free(w.ask.body);
	assert_get(&w, "/healthz", 200, "ok\n");
	world_fini(&w);
}

/* ---- routes ---- */

static int echo(void *user, const char *path, struct nt_http_reply *out)
{
	(void)user;
	out->body = strdup(path);
	out->len = strlen(path);
	return out->body != NULL ? 0 : -1;
}

static int dress(void *user, const char *path, struct nt_http_reply *out)
{
	(void)path;
	assert_string_equal(user, "its own user");
	*out = (struct nt_http_reply){ .status = 202,
		.type = "text/html",
		.body = strdup("<p>"),
		.len = 3,
		.headers = { { "content-security-policy", "default-src 'self'" }, { "X-Colour", "red" } } };
	return 0;
}

static int fail_late(void *user, const char *path, struct nt_http_reply *out)
{
	(void)user, (void)path;
	out->body = strdup("half");
	return 1;
}

static int say_nothing(void *user, const char *path, struct nt_http_reply *out)
{
	(void)user, (void)path, (void)out;
	return 0;
}

static char own_user[] = "its own user";
static const struct nt_http_route routes[] = { { "/exact", echo, NULL }, { "/dressed", dress, own_user },
	{ "/tree/special", say_nothing, NULL }, { "/tree/*", echo, NULL }, { "/fails", fail_late, NULL } };
#define ROUTES (sizeof routes / sizeof routes[0])

static void a_path_goes_to_the_first_route_that_matches(void **state)
{
	static const char missing[] =
		"not found; there are /healthz, /readyz, /status, /exact, /dressed, /tree/special, /tree/*, "
		"/fails\n";
	struct world w;

	(void)state;
	world_init_with(&w, routes, ROUTES);
	assert_get(&w, "/exact", 200, "/exact");
	assert_get(&w, "/exact?query=1", 200, "/exact");
	assert_get(&w, "/exactly", 404, missing);
	assert_get(&w, "/exac", 404, missing);
	assert_get(&w, "/tree/", 200, "/tree/");
	assert_get(&w, "/tree/a/b%20c", 200, "/tree/a/b c");
	assert_get(&w, "/tree/special", 200, "");
	assert_get(&w, "/tree", 404, missing);
	assert_get(&w, "/fails", 500, "no answer could be made\n");
	assert_get(&w, "/healthz", 200, "ok\n");
	world_fini(&w);
}

static void every_reply_is_safe_to_show(void **state)
{
	static const char *const asks[] = { "GET /healthz HTTP/1.0\r\n\r\n", "GET /nowhere HTTP/1.0\r\n\r\n",
		"PUT /healthz HTTP/1.0\r\n\r\n", "GET /exact HTTP/1.0\r\n\r\n",
		"GET /fails HTTP/1.0\r\n\r\n" };
	static const int status[] = { 200, 404, 405, 200, 500 };
	static const char *const headers[] = { "\r\nContent-Security-Policy: default-src 'none';",
		"\r\nX-Content-Type-Options: nosniff\r\n", "\r\nReferrer-Policy: no-referrer\r\n",
		"\r\nCache-Control: no-store\r\n", "\r\nConnection: close\r\n",
		"\r\nContent-Type: text/plain; charset=utf-8\r\n" };
	struct world w;

	(void)state;
	world_init_with(&w, routes, ROUTES);
	for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++)
		for (size_t k = 0; k < sizeof headers / sizeof headers[0]; k++)
			assert_raw(&w, asks[i], status[i], headers[k]);
	world_fini(&w);
}

static void a_reply_may_have_headers_of_its_own(void **state)
{
	struct world w;

	(void)state;
	world_init_with(&w, routes, ROUTES);
	w.ask.raw = "GET /dressed HTTP/1.0\r\n\r\n";
	(void)run_ask(&w);
	assert_int_equal(w.ask.status, 202);
	assert_non_null(strstr(w.ask.body, "\r\ncontent-security-policy: default-src 'self'\r\n"));
	assert_null(strstr(w.ask.body, "Content-Security-Policy"));
	assert_non_null(strstr(w.ask.body, "\r\nX-Colour: red\r\n"));
	assert_non_null(strstr(w.ask.body, "\r\nContent-Type: text/html\r\n"));
	assert_non_null(strstr(w.ask.body, "\r\n\r\n<p>"));
	free(w.ask.body);
	world_fini(&w);
}

static void another_sites_name_for_this_host_is_refused(void **state)
{
	static const char *const ours[] = { "localhost", "localhost:9464", "LOCALHOST", "127.0.0.1:80",
		"[::1]:9464", "[::1]", "192.0.2.7" };
	static const char *const theirs[] = { "example.org", "example.org:9464", "localhost.example.org",
		"127.0.0.1.example.org", "x", "", "[example.org]", "[::1]evil.example",
		"[::1]:80evil.example", "[::1", "[::1]:123456", "[127.0.0.1]", "::1", "localhost:80x",
		"localhost:80:80", "127.0.0.1:-1", "localhost, evil.example",
		"localhost\r\nHost: evil.example", "evil.example\r\nHost: localhost",
		"localhost\r\nHOST: localhost",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
	char ask[200];
	struct world w;

	(void)state;
	world_init(&w);
	for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
		(void)snprintf(ask, sizeof ask, "GET /healthz HTTP/1.0\r\nHost: %s\r\n\r\n", ours[i]);
		assert_raw(&w, ask, 200, "ok");
	}
	for (size_t i = 0; i < sizeof theirs / sizeof theirs[0]; i++) {
		(void)snprintf(ask, sizeof ask, "GET /healthz HTTP/1.0\r\nHost: %s\r\n\r\n", theirs[i]);
		assert_raw(&w, ask, 421, "localhost");
	}
	world_fini(&w);
}

/* ---- callers who are slow, or many ---- */

#define MANY 100u

static int connect_to(const struct world *w)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in.sin_port = htons((uint16_t)nt_http_port(w->http));
	assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof in), 0);
	return fd;
}

static void many_slow_callers_make_room_for_a_quick_one(void **state)
{
	static const char part[] = "GET /healthz HTTP/1.1\r\nX: ";
	struct world w;
	int fd[MANY];
	uint64_t start;

	(void)state;
	world_init(&w);
	for (size_t i = 0; i < MANY; i++) {
		fd[i] = connect_to(&w);
		assert_int_equal(send(fd[i], part, sizeof part - 1, MSG_NOSIGNAL), (ssize_t)sizeof part - 1);
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	start = uv_hrtime();
	for (int i = 0; i < 20; i++)
		assert_get(&w, "/healthz", 200, "ok\n");
	assert_true(uv_hrtime() - start < UINT64_C(2000000000));
	world_fini(&w);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(close(fd[i]), 0);
}

/* A byte every 20 ms: never silent for long, and never done. */
static void drip(uv_work_t *work)
{
	struct ask *a = work->data;
	uint64_t start = uv_hrtime();

	while (send(a->fd, "x", 1, MSG_NOSIGNAL) == 1 && uv_hrtime() - start < UINT64_C(5000000000))
		(void)usleep(20000);
	a->status = (int)((uv_hrtime() - start) / 1000000);
	(void)close(a->fd);
}

static void a_caller_who_drips_is_cut_off(void **state)
{
	struct nt_http_conf conf = { .address = "127.0.0.1:0", .connection_ms = 200 };
	struct world w = { 0 };
	struct cm_err err;

	(void)state;
	assert_int_equal(uv_loop_init(&w.loop), 0);
	assert_int_equal(nt_http_new(&w.loop, &conf, &w.http, &err), CM_OK);
	w.ask.work.data = &w.ask;
	w.ask.fd = connect_to(&w);
	assert_int_equal(uv_queue_work(&w.loop, &w.ask.work, drip, asked), 0);
	(void)uv_run(&w.loop, UV_RUN_DEFAULT);
	assert_true(w.ask.status >= 180 && w.ask.status < 3000);
	world_fini(&w);
}

static int send_much(void *user, const char *path, struct nt_http_reply *out)
{
	(void)user, (void)path;
	out->len = 8u << 20;
	out->body = calloc(1, out->len);
	return out->body != NULL ? 0 : -1;
}

static void callers_who_do_not_read_make_room_too(void **state)
{
	static const struct nt_http_route much[] = { { "/much", send_much, NULL } };
	static const char ask[] = "GET /much HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct world w;
	int fd[MANY];

	(void)state;
	world_init_with(&w, much, 1);
	for (size_t i = 0; i < MANY; i++) {
		fd[i] = connect_to(&w);
		assert_int_equal(send(fd[i], ask, sizeof ask - 1, MSG_NOSIGNAL), (ssize_t)sizeof ask - 1);
		for (int k = 0; k < 5; k++)
			(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	for (int i = 0; i < 20; i++)
		assert_get(&w, "/healthz", 200, "ok\n");
	world_fini(&w);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(close(fd[i]), 0);
}

static void a_body_that_nobody_asked_for_is_read_past(void **state)
{
	static char ask[200000];
	struct world w;

	(void)state;
	world_init(&w);
	memset(ask, 'x', sizeof ask);
	(void)snprintf(ask, 100, "GET /healthz HTTP/1.0\r\nContent-Length: %zu\r\n\r\n", sizeof ask - 100);
	ask[strlen(ask)] = 'x';
	memset(&w.ask, 0, sizeof w.ask);
	w.ask.raw = ask;
	w.ask.raw_len = sizeof ask;
	(void)run_ask(&w);
	assert_int_equal(w.ask.status, 200);
	free(w.ask.body);
	world_fini(&w);
}

static void a_client_that_hangs_does_not_delay_others_or_the_end(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct world w;

	(void)state;
	world_init(&w);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in.sin_port = htons((uint16_t)nt_http_port(w.http));
	assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof in), 0);
	assert_int_equal(send(fd, "GET /he", 7, 0), 7);
	assert_get(&w, "/healthz", 200, "ok\n");
	world_fini(&w);
	(void)close(fd);
}

static void questions_nobody_had_time_for_do_not_delay_the_end(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	static const char ask[] = "GET /status HTTP/1.1\r\nHost: x\r\n\r\n";
	struct world w;
	uint64_t start;
	int fd[8];

	(void)state;
	world_init(&w);
	w.json = "{}";
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	in.sin_port = htons((uint16_t)nt_http_port(w.http));
	for (size_t i = 0; i < 8; i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(fd[i], (struct sockaddr *)&in, sizeof in), 0);
		assert_int_equal(send(fd[i], ask, sizeof ask - 1, MSG_NOSIGNAL), (ssize_t)sizeof ask - 1);
	}
	/* Some may be answered and are kept open by their clients, who do not read; others wait in the
	 * queue. */
	(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	start = uv_hrtime();
	world_fini(&w);
	assert_true(uv_hrtime() - start < UINT64_C(1000000000));
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(close(fd[i]), 0);
}

static void an_address_that_others_can_reach_is_refused_unless_asked_for(void **state)
{
	static const char *const bad[] = { "0.0.0.0:0", "[::]:0", "10.0.0.1:0", "192.168.1.1:0",
		"example.org:0", ":0", "127.0.0.1", "127.0.0.1:99999" };
	struct nt_http_conf conf = { 0 };
	struct nt_http *http;
	struct cm_err err;
	uv_loop_t loop;

	(void)state;
	assert_int_equal(uv_loop_init(&loop), 0);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		conf.address = bad[i];
		assert_int_equal(nt_http_new(&loop, &conf, &http, &err), CM_ECONFIG);
		assert_null(http);
		assert_non_null(strstr(err.msg, bad[i]));
	}
	conf.address = "0.0.0.0:0";
	conf.anywhere = true;
	assert_int_equal(nt_http_new(&loop, &conf, &http, &err), CM_OK);
	nt_http_close(http);
	assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void an_address_in_use_is_said(void **state)
{
	struct nt_http_conf conf = { 0 };
	struct nt_http *second;
	char address[64];
	struct cm_err err;
	struct world w;

	(void)state;
	world_init(&w);
	(void)snprintf(address, sizeof address, "127.0.0.1:%d", nt_http_port(w.http));
	conf.address = address;
	assert_int_equal(nt_http_new(&w.loop, &conf, &second, &err), CM_EUNAVAIL);
	assert_non_null(strstr(err.msg, address));
	world_fini(&w);
}

/* ---- the client, against servers that misbehave ---- */

struct fake {
	int fd;
	char address[64];
	const char *answer;
	size_t repeat;
};

static void fake_init(struct fake *f)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t len = sizeof in;

	f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(f->fd, (struct sockaddr *)&in, sizeof in), 0);
	assert_int_equal(listen(f->fd, 1), 0);
	assert_int_equal(getsockname(f->fd, (struct sockaddr *)&in, &len), 0);
	(void)snprintf(f->address, sizeof f->address, "127.0.0.1:%d", ntohs(in.sin_port));
}

static void serve_once(void *user)
{
	const struct fake *f = user;
	int fd = accept(f->fd, NULL, NULL);
	char request[1024];

	if (recv(fd, request, sizeof request, 0) > 0) {
		for (size_t i = 0; i < f->repeat; i++) {
			if (send(fd, f->answer, strlen(f->answer), MSG_NOSIGNAL) < 0)
				break;
		}
	}
	(void)close(fd);
}

static enum cm_rc get_fake(const char *answer, size_t repeat, struct cm_err *err)
{
	struct fake f = { .answer = answer, .repeat = repeat };
	uv_thread_t thread;
	enum cm_rc rc;
	char *body;
	int status;

	fake_init(&f);
	assert_int_equal(uv_thread_create(&thread, serve_once, &f), 0);
	rc = nt_http_get(f.address, "/x", 5000, &status, &body, err);
	assert_int_equal(uv_thread_join(&thread), 0);
	(void)close(f.fd);
	free(body);
	return rc;
}

static void an_answer_that_is_not_http_is_a_protocol_fault(void **state)
{
	static const char *const bad[] = { "", "hello", "HTTP/1.1 abc no\r\n\r\n",
		"HTTP/1.1 200 OK\r\nno end", "HTTP/2 200 OK\r\n\r\n" };
	struct cm_err err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(get_fake(bad[i], 1, &err), CM_EPROTO);
		assert_non_null(strstr(err.msg, "not HTTP"));
	}
	assert_int_equal(get_fake("HTTP/1.1 200 OK\r\n\r\nfine", 1, &err), CM_OK);
}

static void an_answer_without_end_is_cut_off(void **state)
{
	static char chunk[60000];
	struct cm_err err;

	(void)state;
	memset(chunk, 'x', sizeof chunk - 1);
	assert_int_equal(get_fake(chunk, 1000, &err), CM_EPROTO);
	assert_non_null(strstr(err.msg, "longer than"));
}

static void a_server_that_says_nothing_costs_the_timeout_and_no_more(void **state)
{
	struct fake f = { .fd = -1 };
	uint64_t began = uv_hrtime(), ms;
	struct cm_err err;
	char *body;
	int status;

	(void)state;
	fake_init(&f); /* the kernel connects; nobody answers */
	assert_int_equal(nt_http_get(f.address, "/healthz", 200, &status, &body, &err), CM_EUNAVAIL);
	ms = (uv_hrtime() - began) / 1000000;
	assert_true(ms >= 190 && ms < 5000);
	assert_null(body);
	assert_non_null(strstr(err.msg, "no answer in time"));
	(void)close(f.fd);
}

static void nobody_there_is_unavailable(void **state)
{
	struct fake f;
	struct cm_err err;
	char *body;
	int status;

	(void)state;
	fake_init(&f);
	(void)close(f.fd);
	assert_int_equal(nt_http_get(f.address, "/healthz", 2000, &status, &body, &err), CM_EUNAVAIL);
	assert_non_null(strstr(err.msg, f.address));
	assert_int_equal(nt_http_get("no address", "/healthz", 2000, &status, &body, &err), CM_ECONFIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_daemon_that_runs_is_healthy),
		cmocka_unit_test(readiness_follows_the_daemon_and_says_why_not),
		cmocka_unit_test(status_is_the_daemons_json_or_nothing),
		cmocka_unit_test(other_paths_are_not_found),
		cmocka_unit_test(only_get_and_head_are_allowed),
		cmocka_unit_test(nonsense_and_endless_headers_are_refused),
		cmocka_unit_test(a_path_goes_to_the_first_route_that_matches),
		cmocka_unit_test(every_reply_is_safe_to_show),
		cmocka_unit_test(a_reply_may_have_headers_of_its_own),
		cmocka_unit_test(another_sites_name_for_this_host_is_refused),
		cmocka_unit_test(many_slow_callers_make_room_for_a_quick_one),
		cmocka_unit_test(a_caller_who_drips_is_cut_off),
		cmocka_unit_test(callers_who_do_not_read_make_room_too),
		cmocka_unit_test(a_body_that_nobody_asked_for_is_read_past),
		cmocka_unit_test(a_client_that_hangs_does_not_delay_others_or_the_end),
		cmocka_unit_test(questions_nobody_had_time_for_do_not_delay_the_end),
		cmocka_unit_test(an_address_that_others_can_reach_is_refused_unless_asked_for),
		cmocka_unit_test(an_address_in_use_is_said),
		cmocka_unit_test(an_answer_that_is_not_http_is_a_protocol_fault),
		cmocka_unit_test(an_answer_without_end_is_cut_off),
		cmocka_unit_test(a_server_that_says_nothing_costs_the_timeout_and_no_more),
		cmocka_unit_test(nobody_there_is_unavailable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
