/* test_http.c - the health endpoint: its pages, its routes, its addresses. */
#include "http_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	return out->body ? 0 : -1;
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

/* ---- addresses ---- */

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
		cmocka_unit_test(an_address_that_others_can_reach_is_refused_unless_asked_for),
		cmocka_unit_test(an_address_in_use_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
