/* test_listener.c - which connections a listener accepts: strangers, many of one address, limits, and turns
 * of the loop. */
#include <string.h>

#include <sys/socket.h>
#include <unistd.h>

#include "conn_world.h"

static bool no_memory; /* fails allocations that our own objects make with calloc */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return no_memory ? NULL : __real_calloc(n, size);
}

static void an_address_in_use_is_said(void **state)
{
	struct nt_listener_conf conf;
	struct nt_listener *second;
	struct cm_err err;
	struct world w;

	(void)state;
	world_init(&w);
	world_listen(&w);
	conf = (struct nt_listener_conf){ .address = w.address, .tls = w.server_ctx, .limits = w.limits };
	assert_int_equal(nt_listener_new(&w.loop, &conf, &second, &err), CM_EUNAVAIL);
	assert_non_null(strstr(err.msg, w.address));
	assert_non_null(strstr(err.msg, "address already in use"));
	world_fini(&w);
}

/* ---- strangers ---- */

static void a_stranger_that_says_nothing_is_dropped_after_the_handshake_limit(void **state)
{
	struct world w;
	uint64_t began;
	int fd;

	(void)state;
	world_init(&w);
	w.limits.handshake_ms = 150;
	w.limits.idle_ms = 0; /* the handshake has its own limit */
	world_listen(&w);
	fd = plain_socket(&w);
	began = uv_now(&w.loop);
	run_until_closed(&w, 1);
	assert_int_equal(w.n_refused, 1);
	assert_int_equal(w.refused.code, CM_EUNAVAIL);
	assert_non_null(strstr(w.refused.msg, "no TLS handshake within 150 ms"));
	assert_true(uv_now(&w.loop) - began >= 150);
	(void)close(fd);
	world_fini(&w);
}

static void a_byte_now_and_then_does_not_prolong_the_handshake(void **state)
{
	struct world w;
	int fd, sent = 0;

	(void)state;
	world_init(&w);
	w.limits.handshake_ms = 200;
	world_listen(&w);
	fd = plain_socket(&w);
	w.closes_awaited = 1;
	while (w.n_refused == 0 && sent < 100) {
		/* A ClientHello that never ends: record header, then a byte each 20 ms. */
		static const uint8_t hello[] = { 0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3 };
		uint8_t byte = sent < (int)sizeof hello ? hello[sent] : 0;

		(void)send(fd, &byte, 1, MSG_NOSIGNAL);
		sent++;
		(void)usleep(20000);
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	assert_true(sent < 50);
	assert_int_equal(w.n_refused, 1);
	assert_non_null(strstr(w.refused.msg, "no TLS handshake within"));
	(void)close(fd);
	world_fini(&w);
}

static void an_end_during_the_handshake_is_a_refusal(void **state)
{
	struct world w;
	int fd;

	(void)state;
	world_init(&w);
	world_listen(&w);
	fd = plain_socket(&w);
	(void)close(fd);
	run_until_closed(&w, 1);
	assert_int_equal(w.n_refused, 1);
	assert_non_null(strstr(w.refused.msg, "ended during the TLS handshake"));
	world_fini(&w);
}

static void bytes_that_are_not_tls_end_that_connection_only(void **state)
{
	struct world w;
	struct peer c;
	int fd;

	(void)state;
	world_dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1);
	fd = plain_socket(&w);
	assert_int_equal(send(fd, "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
	RUN_UNTIL(&w, w.n_refused == 1);
	assert_int_equal(w.refused.code, CM_EPROTO);
	assert_int_equal(w.server[0].closes, 0);
	(void)close(fd);
	nt_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	world_end(&w, &c);
}

/* ---- floods ---- */

static void half_open_connections_beyond_the_limit_are_refused(void **state)
{
	int fd[20];
	struct world w;

	(void)state;
	world_init(&w);
	w.limits.max_handshaking = 5;
	world_listen(&w);
	for (size_t i = 0; i < 20; i++)
		fd[i] = plain_socket(&w);
	RUN_UNTIL(&w, w.n_refused == 15);
	assert_int_equal(w.refused.code, CM_ELATER);
	assert_non_null(strstr(w.refused.msg, "too many handshakes"));
	for (size_t i = 0; i < 20; i++)
		(void)close(fd[i]);
	RUN_UNTIL(&w, w.n_refused == 20);
	world_fini(&w);
}

/* Number of connections that are accepted: libuv of 1.45 and later accepts one of those that wait each time
 * it turns. */
static void accept_all(struct world *w)
{
	for (int i = 0; i < 32; i++)
		(void)uv_run(&w->loop, UV_RUN_NOWAIT);
}

static void a_good_peer_displaces_an_overdue_stranger(void **state)
{
	uint64_t began;
	struct world w;
	struct peer c;
	int fd[2];

	(void)state;
	world_init(&w);
	w.limits.max_handshaking = 2;
	world_listen(&w);
	fd[0] = plain_socket(&w);
	fd[1] = plain_socket(&w);
	accept_all(&w);
	began = uv_now(&w.loop);
	while (uv_now(&w.loop) - began < 1100) {
		(void)usleep(50000);
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	assert_int_equal(w.n_refused, 0);
	dial(&w, &c);
	RUN_UNTIL(&w, c.opens == 1 || c.closes == 1);
	RUN_UNTIL(&w, w.n_server == 1 && w.n_refused == 1);
	assert_int_equal(c.opens, 1);
	assert_non_null(strstr(w.refused.msg, "the TLS handshake was slow"));
	nt_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	(void)close(fd[0]);
	(void)close(fd[1]);
	world_end(&w, &c);
}

/* A peer whose handshake is slow keeps its place: it is one connection of its address, and the crowd's are
 * many. */
static void a_crowd_does_not_displace_an_overdue_peer_of_another_address(void **state)
{
	uint64_t began;
	struct world w;
	int fd[5];
	char byte;

	(void)state;
	world_init(&w);
	w.limits.max_handshaking = 3;
	world_listen(&w);
	fd[0] = plain_socket(&w);
	fd[1] = plain_socket_from(&w, INADDR_LOOPBACK + 1);
	fd[2] = plain_socket_from(&w, INADDR_LOOPBACK + 1);
	accept_all(&w);
	began = uv_now(&w.loop);
	while (uv_now(&w.loop) - began < 1100) {
		(void)usleep(50000);
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	for (int i = 3; i < 5; i++) {
		fd[i] = plain_socket_from(&w, INADDR_LOOPBACK + 1);
		RUN_UNTIL(&w, w.n_refused == i - 2);
		assert_non_null(strstr(w.refused.msg, "the TLS handshake was slow"));
		assert_int_equal(recv(fd[0], &byte, 1, MSG_DONTWAIT), -1);
		assert_int_equal(recv(fd[i - 2], &byte, 1, 0), 0);
	}
	for (size_t i = 0; i < 5; i++)
		(void)close(fd[i]);
	RUN_UNTIL(&w, w.n_refused == 5);
	world_fini(&w);
}

/* The latest connection of the address with most is closed; an address with as many as the newcomer's keeps
 * all. */
static void a_crowd_from_one_address_makes_room_for_others(void **state)
{
	struct world w;
	int fd[8];

	(void)state;
	world_init(&w);
	w.limits.max_handshaking = 4;
	world_listen(&w);
	for (size_t i = 0; i < 5; i++)
		fd[i] = plain_socket_from(&w, INADDR_LOOPBACK + 1);
	RUN_UNTIL(&w, w.n_refused == 1);
	assert_non_null(strstr(w.refused.msg, "too many handshakes"));
	fd[5] = plain_socket(&w);
	RUN_UNTIL(&w, w.n_refused == 2);
	assert_non_null(strstr(w.refused.msg, "one of many TLS handshakes from its address"));
	fd[6] = plain_socket(&w);
	RUN_UNTIL(&w, w.n_refused == 3);
	assert_non_null(strstr(w.refused.msg, "one of many"));
	fd[7] = plain_socket(&w);
	RUN_UNTIL(&w, w.n_refused == 4);
	assert_non_null(strstr(w.refused.msg, "too many handshakes"));
	for (size_t i = 0; i < 8; i++)
		(void)close(fd[i]);
	RUN_UNTIL(&w, w.n_refused == 8);
	world_fini(&w);
}

/* However many connections wait, those that are connected have their turn in between. */
static void few_are_accepted_in_one_turn_of_the_loop(void **state)
{
	struct world w;
	int fd[200], turns = 0;

	(void)state;
	world_init(&w);
	w.limits.max_connections = 0;
	world_listen(&w);
	for (size_t i = 0; i < 200; i++)
		fd[i] = plain_socket(&w);
	while (w.n_refused < 200) {
		int before = w.n_refused;

		(void)uv_run(&w.loop, UV_RUN_ONCE);
		assert_true(w.n_refused - before <= 64);
		turns++;
	}
	assert_true(turns >= 4);
	for (size_t i = 0; i < 200; i++)
		(void)close(fd[i]);
	/* A connection waits for its turn while the listener closes. */
	for (size_t i = 0; i < 70; i++)
		fd[i] = plain_socket(&w);
	for (int before = w.n_refused; w.n_refused == before;)
		(void)uv_run(&w.loop, UV_RUN_ONCE);
	world_fini(&w);
	for (size_t i = 0; i < 70; i++)
		(void)close(fd[i]);
}

static void who_comes_when_there_is_no_memory_does_not_keep_later_ones_out(void **state)
{
	struct world w;
	struct peer late;
	int fd[70];

	(void)state;
	world_init(&w);
	world_listen(&w);
	no_memory = true;
	for (size_t i = 0; i < 70; i++)
		fd[i] = plain_socket(&w);
	RUN_UNTIL(&w, w.n_refused == 70);
	assert_string_equal(w.refused.msg, "out of memory");
	no_memory = false;
	dial(&w, &late);
	RUN_UNTIL(&w, w.n_server == 1);
	nt_conn_close(late.conn, NULL);
	run_until_closed(&w, 2);
	cm_buf_fini(&late.got);
	/* A connection is being turned away while the listener closes. */
	no_memory = true;
	for (size_t i = 0; i < 2; i++) {
		(void)close(fd[i]);
		fd[i] = plain_socket(&w);
	}
	for (int before = w.n_refused; w.n_refused == before;)
		(void)uv_run(&w.loop, UV_RUN_ONCE);
	no_memory = false;
	world_fini(&w);
	for (size_t i = 0; i < 70; i++)
		(void)close(fd[i]);
}

static void connections_beyond_the_limit_are_refused_and_room_comes_back(void **state)
{
	struct world w;
	struct peer c[3], late;

	(void)state;
	world_init(&w);
	w.limits.max_connections = 3;
	world_listen(&w);
	for (size_t i = 0; i < 3; i++)
		dial(&w, &c[i]);
	RUN_UNTIL(&w, w.n_server == 3);
	dial(&w, &late);
	RUN_UNTIL(&w, late.closes == 1);
	assert_int_equal(late.why.code, CM_EUNAVAIL);
	assert_non_null(strstr(w.refused.msg, "too many connections"));
	cm_buf_fini(&late.got);
	nt_conn_close(c[0].conn, NULL);
	RUN_UNTIL(&w, w.server[0].closes + w.server[1].closes + w.server[2].closes == 1 && c[0].closes == 1);
	dial(&w, &late);
	RUN_UNTIL(&w, w.n_server == 4);
	nt_conn_close(late.conn, NULL);
	nt_conn_close(c[1].conn, NULL);
	nt_conn_close(c[2].conn, NULL);
	run_until_closed(&w, 6);
	for (size_t i = 0; i < 3; i++)
		cm_buf_fini(&c[i].got);
	cm_buf_fini(&late.got);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stranger_that_says_nothing_is_dropped_after_the_handshake_limit),
		cmocka_unit_test(a_byte_now_and_then_does_not_prolong_the_handshake),
		cmocka_unit_test(an_address_in_use_is_said),
		cmocka_unit_test(half_open_connections_beyond_the_limit_are_refused),
		cmocka_unit_test(a_good_peer_displaces_an_overdue_stranger),
		cmocka_unit_test(a_crowd_does_not_displace_an_overdue_peer_of_another_address),
		cmocka_unit_test(a_crowd_from_one_address_makes_room_for_others),
		cmocka_unit_test(few_are_accepted_in_one_turn_of_the_loop),
		cmocka_unit_test(who_comes_when_there_is_no_memory_does_not_keep_later_ones_out),
		cmocka_unit_test(connections_beyond_the_limit_are_refused_and_room_comes_back),
		cmocka_unit_test(an_end_during_the_handshake_is_a_refusal),
		cmocka_unit_test(bytes_that_are_not_tls_end_that_connection_only),
	};

	return cmocka_run_group_tests(tests, world_certs_make, world_certs_drop);
}
