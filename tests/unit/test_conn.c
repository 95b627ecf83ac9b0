/* test_conn.c - the life of one connection over real loopback sockets: dialling, bytes both ways, silence,
 * its end. */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn_world.h"

/* ---- it works ---- */

static void close_after_four(struct peer *p)
{
	if (!p->server && p->got.len == 4)
		nt_conn_close(p->conn, NULL);
}

static void what_is_sent_comes_back_and_both_ends_close_in_order(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	w.echo = true;
	w.on_data = close_after_four;
	world_listen(&w);
	dial(&w, &c);
	send_text(&c, "echo"); /* queued until TLS is up */
	run_until_closed(&w, 2);
	assert_int_equal(c.opens, 1);
	assert_memory_equal(c.got.data, "echo", 4);
	assert_ended(&c, CM_OK, "");
	assert_ended(&w.server[0], CM_OK, "");
	assert_int_equal(c.drains, 1);
	world_end(&w, &c);
}

static void the_server_knows_the_role_and_the_address(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1);
	assert_int_equal(nt_conn_peer(w.server[0].conn)->role, CR_ROLE_CLIENT);
	assert_memory_equal(nt_conn_address(w.server[0].conn), "127.0.0.1:", 10);
	RUN_UNTIL(&w, c.opens == 1);
	assert_int_equal(nt_conn_peer(c.conn)->role, CR_ROLE_SHUFFLER);
	nt_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	world_end(&w, &c);
}

static void a_megabyte_goes_both_ways(void **state)
{
	size_t n = 1u << 20;
	uint8_t *data = malloc(n);
	struct world w;
	struct peer c;
	struct cm_err err;

	(void)state;
	assert_non_null(data);
	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)(i * 131 + (i >> 9));
	world_init(&w);
	w.echo = true;
	world_listen(&w);
	dial(&w, &c);
	assert_int_equal(nt_conn_send(c.conn, data, n, &err), CM_OK);
	RUN_UNTIL(&w, c.got.len >= n);
	assert_int_equal(c.got.len, n);
	assert_memory_equal(c.got.data, data, n);
	assert_int_equal(nt_conn_pending(c.conn), 0);
	nt_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	free(data);
	world_end(&w, &c);
}

static void what_is_queued_before_a_close_still_arrives(void **state)
{
	static uint8_t data[300000];
	struct world w;
	struct peer c;
	struct cm_err err;

	(void)state;
	world_dial(&w, &c);
	RUN_UNTIL(&w, c.opens == 1);
	assert_int_equal(nt_conn_send(c.conn, data, sizeof data, &err), CM_OK);
	nt_conn_close(c.conn, NULL);
	nt_conn_close(c.conn, NULL);
	assert_int_equal(nt_conn_send(c.conn, data, 1, &err), CM_EIO);
	run_until_closed(&w, 2);
	assert_int_equal(w.server[0].got.len, sizeof data);
	assert_ended(&w.server[0], CM_OK, "");
	world_end(&w, &c);
}

static void frames_of_one_iteration_share_a_write(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_dial(&w, &c);
	RUN_UNTIL(&w, c.opens == 1 && w.n_server == 1);
	for (int i = 0; i < 100; i++)
		send_text(&c, "a frame of some twenty bytes");
	RUN_UNTIL(&w, w.server[0].got.len == 2800);
	assert_int_equal(w.server[0].data_calls, 1);
	nt_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	world_end(&w, &c);
}

static void a_name_with_two_addresses_reaches_the_one_that_listens(void **state)
{
	struct addrinfo *found = NULL;
	struct world w;
	struct peer c;
	char address[64];

	(void)state;
	if (getaddrinfo("localhost", NULL, NULL, &found) != 0) {
		print_message("skipped: this machine has no hosts file that knows localhost\n");
		skip();
	}
	freeaddrinfo(found);
	world_init(&w);
	world_listen(&w); /* on 127.0.0.1 only; localhost may be ::1 first */
	(void)snprintf(address, sizeof address, "localhost:%d", nt_listener_port(w.listener));
	dial_at(&w, &c, address);
	RUN_UNTIL(&w, c.opens == 1 || c.closes == 1);
	assert_int_equal(c.opens, 1);
	nt_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	world_end(&w, &c);
}

/* ---- certificates, over the wire ---- */

static void refused_over_the_wire(const char *client, const char *why, const char *told, bool talkative)
{
	struct world w;
	struct peer c;

	world_init(&w);
	nt_tls_ctx_free(w.client_ctx);
	w.client_ctx = client_ctx(client);
	world_listen(&w);
	dial(&w, &c);
	/* Bytes that the server leaves unread must not destroy its alert on the way. */
	if (talkative)
		send_text(&c, "hello, here is what I have to say before I am refused");
	run_until_closed(&w, 2);
	assert_int_equal(w.n_server, 0);
	assert_int_equal(w.n_refused, 1);
	assert_int_equal(w.refused.code, CM_EPERM);
	assert_non_null(strstr(w.refused.msg, why));
	assert_ended(&c, CM_EPERM, told);
	world_end(&w, &c);
}

static void a_refused_client_hears_why(void **state)
{
	(void)state;
	refused_over_the_wire(
		"rogue-client", "unknown CA", "shuffler refused our certificate: unknown CA", false);
	refused_over_the_wire("expired", "expired at", "shuffler refused our certificate: expired", false);
	refused_over_the_wire("odd", "its role is shuffler, wanted client",
		"shuffler refused our certificate: its role is not accepted there", false);
}

static void a_refused_client_hears_why_even_while_it_talks(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		refused_over_the_wire(
			"rogue-client", "unknown CA", "shuffler refused our certificate: unknown CA", true);
}

static void a_server_of_another_host_is_not_talked_to(void **state)
{
	struct world w;
	struct peer c;
	char address[64];

	(void)state;
	world_init(&w);
	world_listen(&w);
	(void)snprintf(address, sizeof address, "127.1:%d", nt_listener_port(w.listener));
	dial_at(&w, &c, address);
	run_until_closed(&w, 2);
	assert_int_equal(c.opens, 0);
	assert_ended(&c, CM_EPERM, "it is not for host \"127.1\"");
	assert_int_equal(w.n_refused, 1);
	assert_non_null(strstr(w.refused.msg, "refused our certificate"));
	world_end(&w, &c);
}

/* ---- time ---- */

static void a_dialled_stranger_that_says_nothing_is_given_up(void **state)
{
	char address[64];
	int fd;
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	fd = mute_listener(address);
	w.limits.handshake_ms = 3000; /* long enough for a busy machine to look the host up */
	dial_at(&w, &c, address);
	run_until_closed(&w, 1);
	assert_ended(&c, CM_EUNAVAIL, "no TLS handshake within 3000 ms");
	assert_int_equal(c.opens, 0);
	(void)close(fd);
	world_end(&w, &c);
}

static void a_silent_peer_is_closed_after_the_idle_limit(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	w.limits.idle_ms = 150;
	world_listen(&w);
	w.limits.idle_ms = 0; /* the client waits for ever */
	dial(&w, &c);
	run_until_closed(&w, 2);
	assert_ended(&w.server[0], CM_EUNAVAIL, "the peer was silent for 150 ms");
	assert_ended(&c, CM_OK, ""); /* it was told in order */
	world_end(&w, &c);
}

static void expect_silence_on(struct peer *p)
{
	if (p->server)
		nt_conn_expect_silence(p->conn, true);
}

static void a_peer_in_a_long_poll_may_be_silent(void **state)
{
	struct world w;
	struct peer c;
	uint64_t began;

	(void)state;
	world_init(&w);
	w.limits.idle_ms = 80;
	w.on_open = expect_silence_on;
	world_listen(&w);
	w.limits.idle_ms = 0;
	dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1);
	began = uv_now(&w.loop);
	RUN_UNTIL(&w, uv_now(&w.loop) - began > 300);
	assert_int_equal(w.server[0].closes, 0);
	nt_conn_expect_silence(w.server[0].conn, false);
	run_until_closed(&w, 2);
	assert_ended(&w.server[0], CM_EUNAVAIL, "silent");
	world_end(&w, &c);
}

static void nobody_listening_is_said_at_once(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	world_listen(&w);
	nt_listener_close(w.listener);
	w.listener = NULL;
	(void)uv_run(&w.loop, UV_RUN_DEFAULT);
	dial(&w, &c);
	run_until_closed(&w, 1);
	assert_ended(&c, CM_EUNAVAIL, "connection refused");
	world_end(&w, &c);
}

static void a_host_that_does_not_exist_is_said(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	dial_at(&w, &c, "no-such-host.invalid:7000");
	run_until_closed(&w, 1);
	assert_ended(&c, CM_EUNAVAIL, "cannot look up the host");
	world_end(&w, &c);
}

static void a_dial_closed_before_it_connects_ends_once(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_dial(&w, &c);
	nt_conn_close(c.conn, NULL);
	run_until_closed(&w, 1);
	assert_ended(&c, CM_OK, "");
	assert_int_equal(c.opens, 0);
	world_end(&w, &c);
}

static void a_text_that_is_no_address_is_refused(void **state)
{
	static const char *const bad[] = { "", "localhost", "localhost:", "localhost:x", "localhost:70000",
		":7000", "a:b:1", "[::1]", "[::1:1", "[]:1", "localhost:0" };
	struct world w;
	struct peer c;
	struct cm_err err;

	(void)state;
	world_init(&w);
	peer_init(&w, &c);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(
			nt_conn_dial(&w.loop, bad[i], w.client_ctx, NULL, &client_handler, &c, &c.conn, &err),
			CM_ECONFIG);
	assert_int_equal(c.closes, 0);
	world_fini(&w);
}

/* ---- back-pressure ---- */

static void a_paused_connection_reads_nothing_until_it_is_resumed(void **state)
{
	static uint8_t data[200000];
	struct world w;
	struct peer c;
	struct cm_err err;
	uint64_t began;

	(void)state;
	world_init(&w);
	w.on_open = pause_server;
	world_listen(&w);
	dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1 && c.opens == 1);
	assert_int_equal(nt_conn_send(c.conn, data, sizeof data, &err), CM_OK);
	began = uv_now(&w.loop);
	while (uv_now(&w.loop) - began < 100) {
		(void)usleep(5000);
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	/* What came with the last bytes of the handshake may have been read already. */
	assert_true(w.server[0].got.len < sizeof data);
	nt_conn_resume(w.server[0].conn);
	RUN_UNTIL(&w, w.server[0].got.len == sizeof data);
	assert_int_equal(w.server[0].empty_calls, 1);
	nt_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	world_end(&w, &c);
}

static void a_peer_that_does_not_read_is_cut_off_at_the_pending_limit(void **state)
{
	static uint8_t data[100000];
	struct world w;
	struct peer c;
	struct cm_err err = { .code = CM_OK };
	size_t sent = 0;

	(void)state;
	world_init(&w);
	w.limits.max_pending = 1u << 20;
	w.on_open = pause_server;
	world_listen(&w);
	dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1 && c.opens == 1);
	/* The kernel's buffers take some megabytes; after that bytes pile up here. */
	while (nt_conn_send(c.conn, data, sizeof data, &err) == CM_OK) {
		sent += sizeof data;
		assert_true(nt_conn_pending(c.conn) <= w.limits.max_pending + 64 * 1024);
		assert_true(sent < 100u << 20);
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	assert_int_equal(err.code, CM_EUNAVAIL);
	assert_int_equal(nt_conn_send(c.conn, data, 1, &err), CM_EIO);
	RUN_UNTIL(&w, c.closes == 1);
	assert_ended(&c, CM_EUNAVAIL, "the peer does not read");
	nt_conn_resume(w.server[0].conn);
	RUN_UNTIL(&w, w.server[0].closes == 1);
	assert_int_equal(w.server[0].why.code, CM_EUNAVAIL);
	world_end(&w, &c);
}

/* ---- ends that are not in order ---- */

static void an_end_without_close_notify_is_told_from_an_orderly_one(void **state)
{
	struct world w;
	struct peer c;
	uv_os_fd_t fd;

	(void)state;
	world_dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1 && c.opens == 1);
	/* The first member of a connection's handle is private, so we cut it off below libuv. */
	fd = -1;
	for (int i = 3; i < 64 && fd < 0; i++) {
		struct sockaddr_in in;
		socklen_t len = sizeof in;

		if (getpeername(i, (struct sockaddr *)&in, &len) == 0 && in.sin_family == AF_INET &&
			ntohs(in.sin_port) == nt_listener_port(w.listener))
			fd = i;
	}
	assert_true(fd >= 0);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	RUN_UNTIL(&w, w.server[0].closes == 1);
	assert_ended(&w.server[0], CM_EUNAVAIL, "without close_notify");
	RUN_UNTIL(&w, c.closes == 1);
	world_end(&w, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sent_comes_back_and_both_ends_close_in_order),
		cmocka_unit_test(the_server_knows_the_role_and_the_address),
		cmocka_unit_test(a_megabyte_goes_both_ways),
		cmocka_unit_test(what_is_queued_before_a_close_still_arrives),
		cmocka_unit_test(frames_of_one_iteration_share_a_write),
		cmocka_unit_test(a_name_with_two_addresses_reaches_the_one_that_listens),
		cmocka_unit_test(a_refused_client_hears_why),
		cmocka_unit_test(a_refused_client_hears_why_even_while_it_talks),
		cmocka_unit_test(a_server_of_another_host_is_not_talked_to),
		cmocka_unit_test(a_dialled_stranger_that_says_nothing_is_given_up),
		cmocka_unit_test(a_silent_peer_is_closed_after_the_idle_limit),
		cmocka_unit_test(a_peer_in_a_long_poll_may_be_silent),
		cmocka_unit_test(nobody_listening_is_said_at_once),
		cmocka_unit_test(a_host_that_does_not_exist_is_said),
		cmocka_unit_test(a_dial_closed_before_it_connects_ends_once),
		cmocka_unit_test(a_text_that_is_no_address_is_refused),
		cmocka_unit_test(a_paused_connection_reads_nothing_until_it_is_resumed),
		cmocka_unit_test(a_peer_that_does_not_read_is_cut_off_at_the_pending_limit),
		cmocka_unit_test(an_end_without_close_notify_is_told_from_an_orderly_one),
	};

	return cmocka_run_group_tests(tests, world_certs_make, world_certs_drop);
}
