/* test_http_slow.c - callers of the health endpoint who are slow, many, or hang: others are answered all the
 * same. */
#include "http_world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* Others are served; ends the world and closes these connections. */
static void expect_room(struct world *w, const int fd[MANY])
{
	for (int i = 0; i < 20; i++)
		assert_get(w, "/healthz", 200, "ok\n");
	world_fini(w);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(close(fd[i]), 0);
}

static void many_slow_callers_make_room_for_a_quick_one(void **state)
{
	static const char part[] = "GET /healthz HTTP/1.1\r\nX: ";
	struct world w;
	int fd[MANY];

	(void)state;
	world_init(&w);
	for (size_t i = 0; i < MANY; i++) {
		fd[i] = connect_to(&w);
		assert_int_equal(send(fd[i], part, sizeof part - 1, MSG_NOSIGNAL), (ssize_t)sizeof part - 1);
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	expect_room(&w, fd);
}

/* Send a byte every 20 ms until it is cut off: it is never silent for long, and never finishes. */
static void drip(uv_work_t *work)
{
	struct ask *a = work->data;

	while (send(a->fd, "x", 1, MSG_NOSIGNAL) == 1)
		(void)usleep(20000);
	a->status = errno;
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
	assert_true(w.ask.status == EPIPE || w.ask.status == ECONNRESET);
	world_fini(&w);
}

static int send_much(void *user, const char *path, struct nt_http_reply *out)
{
	(void)user, (void)path;
	out->len = 8u << 20;
	out->body = calloc(1, out->len);
	return out->body ? 0 : -1;
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
	expect_room(&w, fd);
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
	world_fini(&w);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(close(fd[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_slow_callers_make_room_for_a_quick_one),
		cmocka_unit_test(a_caller_who_drips_is_cut_off),
		cmocka_unit_test(callers_who_do_not_read_make_room_too),
		cmocka_unit_test(a_body_that_nobody_asked_for_is_read_past),
		cmocka_unit_test(a_client_that_hangs_does_not_delay_others_or_the_end),
		cmocka_unit_test(questions_nobody_had_time_for_do_not_delay_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
