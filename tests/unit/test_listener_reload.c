/* test_listener_reload.c - a listener whose certificates are loaded anew, or that goes, and the connections
 * that it had. */
#include <string.h>

#include <sys/socket.h>
#include <unistd.h>

#include "conn_world.h"

static void a_reload_closes_the_revoked_and_refuses_it_from_then_on(void **state)
{
	static const char *const revoked[] = { "revoked", NULL };
	struct nt_tls_ctx *old, *bad_ctx = client_ctx("revoked"), *good_ctx;
	struct world w;
	struct peer good, bad, again;

	(void)state;
	certs_crl(&certs, "clients", revoked, -60, DAY_S);
	world_init(&w);
	world_listen(&w);
	good_ctx = w.client_ctx;
	dial(&w, &good);
	w.client_ctx = bad_ctx;
	dial(&w, &bad);
	RUN_UNTIL(&w, w.n_server == 2 && good.opens == 1 && bad.opens == 1);
	old = w.server_ctx;
	w.server_ctx = server_ctx("clients", "clients");
	nt_listener_reload(w.listener, w.server_ctx);
	nt_tls_ctx_free(old);
	RUN_UNTIL(&w, bad.closes == 1);
	RUN_UNTIL(&w, w.server[0].closes + w.server[1].closes == 1);
	assert_int_equal(good.closes, 0);
	assert_non_null(strstr(
		w.server[0].closes ? w.server[0].why.msg : w.server[1].why.msg, "revoked by \"clients\""));
	dial(&w, &again);
	RUN_UNTIL(&w, again.closes == 1);
	assert_ended(&again, CM_EPERM, "shuffler refused our certificate: revoked");
	cm_buf_fini(&again.got);
	w.client_ctx = good_ctx;
	dial(&w, &again);
	RUN_UNTIL(&w, w.n_server == 3);
	nt_conn_close(again.conn, NULL);
	nt_conn_close(good.conn, NULL);
	run_until_closed(&w, 4);
	nt_tls_ctx_free(bad_ctx);
	cm_buf_fini(&good.got);
	cm_buf_fini(&bad.got);
	cm_buf_fini(&again.got);
	world_fini(&w);
}

static void a_reload_makes_the_old_ca_useless_at_once(void **state)
{
	struct nt_tls_ctx *old, *old_client, *new_client = client_ctx("rogue-client");
	struct world w;
	struct peer c, again;

	(void)state;
	world_init(&w);
	world_listen(&w);
	old_client = w.client_ctx;
	dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1 && c.opens == 1);
	old = w.server_ctx;
	w.server_ctx = server_ctx("rogue", NULL);
	nt_listener_reload(w.listener, w.server_ctx);
	nt_tls_ctx_free(old);
	RUN_UNTIL(&w, c.closes == 1 && w.server[0].closes == 1);
	assert_ended(&w.server[0], CM_EPERM, "unknown CA");
	dial(&w, &again);
	RUN_UNTIL(&w, again.closes == 1);
	assert_ended(&again, CM_EPERM, "unknown CA");
	cm_buf_fini(&again.got);
	w.client_ctx = new_client;
	dial(&w, &again);
	RUN_UNTIL(&w, w.n_server == 2);
	nt_conn_close(again.conn, NULL);
	run_until_closed(&w, 2);
	nt_tls_ctx_free(old_client);
	cm_buf_fini(&c.got);
	cm_buf_fini(&again.got);
	world_fini(&w);
}

static void a_handshake_under_way_is_judged_by_the_new_certificates(void **state)
{
	struct nt_tls_ctx *old;
	struct world w;
	struct peer c;

	(void)state;
	world_dial(&w, &c);
	/* Run until the client believes that it is connected; the server has yet to read its certificate. */
	RUN_UNTIL(&w, c.opens == 1);
	if (w.n_server == 0) {
		old = w.server_ctx;
		w.server_ctx = server_ctx("rogue", NULL);
		nt_listener_reload(w.listener, w.server_ctx);
		nt_tls_ctx_free(old);
		RUN_UNTIL(&w, w.n_refused == 1);
		assert_int_equal(w.n_server, 0);
		assert_non_null(strstr(w.refused.msg, "unknown CA"));
		RUN_UNTIL(&w, c.closes == 1);
	} else {
		fail_msg("%s", "the server was in before the client: the test proves nothing");
	}
	world_end(&w, &c);
}

static void connections_outlive_their_listener(void **state)
{
	struct world w;
	struct peer c;
	int fd;

	(void)state;
	world_init(&w);
	w.echo = true;
	world_listen(&w);
	dial(&w, &c);
	RUN_UNTIL(&w, w.n_server == 1 && c.opens == 1);
	fd = plain_socket(&w);
	(void)uv_run(&w.loop, UV_RUN_ONCE);
	nt_listener_close(w.listener);
	w.listener = NULL;
	for (int i = 0; i < 5; i++)
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	send_text(&c, "still here");
	RUN_UNTIL(&w, c.got.len == 10);
	assert_int_equal(w.n_refused, 0);
	nt_conn_close(c.conn, NULL);
	run_until_closed(&w, 2);
	(void)close(fd);
	world_end(&w, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reload_closes_the_revoked_and_refuses_it_from_then_on),
		cmocka_unit_test(a_reload_makes_the_old_ca_useless_at_once),
		cmocka_unit_test(a_handshake_under_way_is_judged_by_the_new_certificates),
		cmocka_unit_test(connections_outlive_their_listener),
	};

	return cmocka_run_group_tests(tests, world_certs_make, world_certs_drop);
}
