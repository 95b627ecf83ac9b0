/* test_conn_abort.c - ending a connection at once, whatever it is doing, and counting what its peer has not
 * taken. */
#include <string.h>
#include <unistd.h>

#include "conn_world.h"
#include "nt_conn_private.h"

/* More than a socket holds whose other end does not read, less than may be queued. */
#define MUCH ((size_t)7 << 20)

/* The kernel does not tell the loop what the peer took. */
#define LOOK_UNTIL(w, condition)                         \
	while (!(condition)) {                           \
		(void)uv_run(&(w)->loop, UV_RUN_NOWAIT); \
		(void)usleep(1000);                      \
	}

static const struct cm_err first = { .code = CM_EUNAVAIL, .msg = "the first reason" },
			   other = { .code = CM_EIO, .msg = "another reason" };

/* A listener whose connections are not read, and a client whose peer has MUCH to read. */
static void queue_much(struct world *w, struct peer *c)
{
	static uint8_t data[MUCH];
	struct cm_err err;

	world_init(w);
	/* Longer than any test takes: a connection that ends was not ended by a timer. */
	w->limits.handshake_ms = 3600000;
	w->on_open = pause_server;
	world_listen(w);
	dial(w, c);
	RUN_UNTIL(w, c->opens == 1 && w->n_server == 1);
	assert_int_equal(nt_conn_send(c->conn, data, sizeof data, &err), CM_OK);
}

/* The peer reads now: it finds an end without close_notify, and never gets what was queued. */
static void cut_off(struct world *w, struct peer *c)
{
	cm_buf_fini(&c->got);
	c->conn = NULL;
	nt_conn_resume(w->server[0].conn);
	RUN_UNTIL(w, w->server[0].closes == 1);
	assert_int_equal(w->server[0].why.code, CM_EUNAVAIL);
	assert_true(w->server[0].got.len < MUCH);
	world_fini(w);
}

/* ---- in each state ---- */

static void a_dial_is_aborted(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_dial(&w, &c);
	assert_int_equal(c.conn->step, NT_CONN_DIALLING);
	nt_conn_abort(c.conn, &first);
	nt_conn_abort(c.conn, &other);
	assert_true(nt_conn_closing(c.conn));
	assert_int_equal(c.closes, 0); /* not from within the call */
	run_until_closed(&w, 1);
	assert_ended(&c, first.code, first.msg);
	assert_int_equal(c.opens, 0);
	world_end(&w, &c);
}

/* The other end accepts and says nothing of TLS. */
static void a_handshake_is_aborted(void **state)
{
	char address[64];
	int fd;
	struct cm_err err;
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	w.limits.handshake_ms = 3600000;
	fd = mute_listener(address);
	dial_at(&w, &c, address);
	send_text(&c, "queued");
	RUN_UNTIL(&w, c.conn->step == NT_CONN_HANDSHAKE && c.conn->wire.len == 0);
	nt_conn_abort(c.conn, &first);
	assert_int_equal(nt_conn_send(c.conn, (const uint8_t *)"more", 4, &err), CM_EIO);
	run_until_closed(&w, 1);
	assert_ended(&c, first.code, first.msg);
	assert_int_equal(c.opens, 0);
	(void)close(fd);
	world_end(&w, &c);
}

static void an_open_connection_is_aborted_and_its_queue_discarded(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	queue_much(&w, &c);
	assert_int_equal(c.conn->step, NT_CONN_OPEN);
	nt_conn_abort(c.conn, &first);
	nt_conn_close(c.conn, NULL);
	run_until_closed(&w, 1);
	assert_ended(&c, first.code, first.msg);
	assert_int_equal(c.drains, 0);
	cut_off(&w, &c);
}

static void a_close_that_waits_for_its_peer_is_aborted(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	queue_much(&w, &c);
	nt_conn_close(c.conn, &first);
	RUN_UNTIL(&w, c.conn->step == NT_CONN_FLUSHING);
	nt_conn_abort(c.conn, &other);
	run_until_closed(&w, 1);
	assert_ended(&c, first.code, first.msg); /* the reason for which it had begun to end */
	cut_off(&w, &c);
}

/* A close and an abort in one iteration of the loop. */
static void a_close_that_has_not_begun_is_aborted(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	queue_much(&w, &c);
	nt_conn_close(c.conn, &first);
	nt_conn_abort(c.conn, &other);
	run_until_closed(&w, 1);
	assert_ended(&c, first.code, first.msg);
	cut_off(&w, &c);
}

/* All is written, but the peer has not ended its direction: without the abort it would have a second for
 * that. */
static void a_connection_that_lingers_is_aborted(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_init(&w);
	w.on_open = pause_server;
	world_listen(&w);
	dial(&w, &c);
	RUN_UNTIL(&w, c.opens == 1 && w.n_server == 1);
	nt_conn_close(c.conn, &first);
	RUN_UNTIL(&w, c.conn->step == NT_CONN_LINGERING);
	nt_conn_abort(c.conn, &other);
	/* A wait would be one of these iterations. */
	for (int i = 0; i < 8 && c.closes == 0; i++)
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	assert_ended(&c, first.code, first.msg);
	nt_conn_resume(w.server[0].conn);
	RUN_UNTIL(&w, w.server[0].closes == 1);
	assert_ended(&w.server[0], CM_OK, ""); /* close_notify had been sent */
	world_end(&w, &c);
}

static void abort_once_more(struct nt_conn *c, void *user, const struct cm_err *why)
{
	struct peer *p = user;

	assert_int_equal(c->step, NT_CONN_CLOSING);
	nt_conn_abort(c, &other);
	client_handler.on_close(c, p, why);
}

static void what_has_ended_is_not_aborted_again(void **state)
{
	struct nt_conn_handler handler = client_handler;
	struct cm_err err;
	struct world w;
	struct peer c;

	(void)state;
	handler.on_close = abort_once_more;
	world_init(&w);
	world_listen(&w);
	peer_init(&w, &c);
	assert_int_equal(
		nt_conn_dial(&w.loop, w.address, w.client_ctx, &w.limits, &handler, &c, &c.conn, &err),
		CM_OK);
	RUN_UNTIL(&w, c.opens == 1 && w.n_server == 1);
	nt_conn_abort(c.conn, &first);
	run_until_closed(&w, 2);
	assert_ended(&c, first.code, first.msg);
	world_end(&w, &c);
}

/* Abort within the callbacks of the listener's end, whose owner may find that its peer breaks a rule. */
static void abort_it(struct peer *p)
{
	if (p->server)
		nt_conn_abort(p->conn, &first);
}

static void a_server_aborts_when_it_is_opened_or_told_something(void **state)
{
	struct world w;
	struct peer c;

	for (int on_data = 0; on_data < 2; on_data++) {
		(void)state;
		world_init(&w);
		w.on_open = on_data ? NULL : abort_it;
		w.on_data = on_data ? abort_it : NULL;
		world_listen(&w);
		dial(&w, &c);
		send_text(&c, "hello");
		run_until_closed(&w, 2);
		assert_ended(&w.server[0], first.code, first.msg);
		assert_int_equal(w.server[0].data_calls, on_data);
		assert_int_equal(c.why.code, CM_EUNAVAIL);
		world_end(&w, &c);
	}
}

/* ---- what is not taken ---- */

static void what_waits_for_a_connection_is_unread(void **state)
{
	struct world w;
	struct peer c;

	(void)state;
	world_dial(&w, &c);
	assert_int_equal(nt_conn_unread(c.conn), 0);
	send_text(&c, "echo"); /* there is no socket yet */
	assert_int_equal(nt_conn_pending(c.conn), 4);
	assert_int_equal(nt_conn_unread(c.conn), 4);
	nt_conn_abort(c.conn, &first);
	run_until_closed(&w, 1);
	world_end(&w, &c);
}

static void what_the_peer_does_not_read_is_unread_until_it_does(void **state)
{
	struct world w;
	struct peer c;
	size_t before;

	(void)state;
	queue_much(&w, &c);
	assert_true(nt_conn_unread(c.conn) >= MUCH);
	/* Some of it is in the kernel, which the queue alone does not count. */
	LOOK_UNTIL(&w, nt_conn_unread(c.conn) > nt_conn_pending(c.conn));
	before = nt_conn_unread(c.conn);
	nt_conn_resume(w.server[0].conn);
	LOOK_UNTIL(&w, nt_conn_unread(c.conn) < before);
	LOOK_UNTIL(&w, nt_conn_unread(c.conn) == 0);
	assert_int_equal(nt_conn_pending(c.conn), 0);
	LOOK_UNTIL(&w, w.server[0].got.len == MUCH);
	nt_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	world_end(&w, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dial_is_aborted),
		cmocka_unit_test(a_handshake_is_aborted),
		cmocka_unit_test(an_open_connection_is_aborted_and_its_queue_discarded),
		cmocka_unit_test(a_close_that_waits_for_its_peer_is_aborted),
		cmocka_unit_test(a_close_that_has_not_begun_is_aborted),
		cmocka_unit_test(a_connection_that_lingers_is_aborted),
		cmocka_unit_test(what_has_ended_is_not_aborted_again),
		cmocka_unit_test(a_server_aborts_when_it_is_opened_or_told_something),
		cmocka_unit_test(what_waits_for_a_connection_is_unread),
		cmocka_unit_test(what_the_peer_does_not_read_is_unread_until_it_does),
	};

	return cmocka_run_group_tests(tests, world_certs_make, world_certs_drop);
}
