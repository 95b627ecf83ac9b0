/* test_http_get.c - the blocking client of the health endpoint, against servers that misbehave. */
#include "http_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

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
	fake_init(&f); /* the kernel accepts the connection, and nobody answers */
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
		cmocka_unit_test(an_answer_that_is_not_http_is_a_protocol_fault),
		cmocka_unit_test(an_answer_without_end_is_cut_off),
		cmocka_unit_test(a_server_that_says_nothing_costs_the_timeout_and_no_more),
		cmocka_unit_test(nobody_there_is_unavailable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
