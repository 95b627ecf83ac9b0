/* test_link_server.c - a server of links: what it counts and logs of those that never become one, and its
 * end. */
#include <stdio.h>
#include <string.h>

#include <unistd.h>

#include "cm_clock.h"
#include "cm_log.h"
#include "link_world.h"

static int64_t ahead_ms; /* how far this process's clock is ahead */

int64_t __real_cm_clock_mono_ms(void);
int64_t __wrap_cm_clock_mono_ms(void);

int64_t __wrap_cm_clock_mono_ms(void)
{
	return __real_cm_clock_mono_ms() + ahead_ms;
}

/* ---- who never becomes a link ---- */

static void a_connection_that_never_was_a_link_is_counted_by_why(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	dial_raw(&w);
	raw_hello(&w, 2);
	RUN_UNTIL(&w, w.raw_closes == 1 && w.s.counts.refused[LK_REFUSED_PROTOCOL] == 1);
	assert_refused(&w.s.counts, LK_REFUSED_PROTOCOL, 1);
	assert_int_equal(w.s.counts.links, 0);
	(void)snprintf(w.address, sizeof w.address, "127.0.0.1:1"); /* nobody there */
	dial(&w);
	RUN_UNTIL(&w, w.c.closes == 1);
	assert_refused(&w.c.counts, LK_REFUSED_NETWORK, 1);
	world_fini(&w);
}

static void a_refused_certificate_is_counted_on_both_sides(void **state)
{
	struct nt_tls_conf cc = {
		.cert_file = certs_path(&certs, "edge", "crt"),
		.key_file = certs_path(&certs, "edge", "key"),
		.trust = { { CR_ROLE_ANALYZER, certs_path(&certs, "services", "crt"), NULL } },
	};
	struct cm_err err;
	struct world w;

	(void)state;
	world_init(&w);
	nt_tls_ctx_free(w.client_ctx);
	assert_int_equal(nt_tls_ctx_new(&cc, &w.client_ctx, &err), CM_OK);
	dial(&w);
	RUN_UNTIL(&w, w.c.closes == 1 && w.s.counts.refused[LK_REFUSED_CERTIFICATE] == 1);
	assert_refused(&w.s.counts, LK_REFUSED_CERTIFICATE, 1);
	assert_refused(&w.c.counts, LK_REFUSED_CERTIFICATE, 1);
	world_fini(&w);
}

static void one_for_whom_there_is_no_place_learns_why(void **state)
{
	struct cm_err err;
	struct world w;

	(void)state;
	world_init_of_one(&w, 1);
	connect_both(&w);
	struct lk_link *first = w.c.link;
	for (int i = 1; i <= 3; i++) {
		dial(&w);
		RUN_UNTIL(&w, w.c.closes == i && w.s.counts.refused[LK_REFUSED_LIMIT] == (uint64_t)i);
		assert_int_equal(w.c.why.code, CM_ELATER);
		assert_string_equal(w.c.why.msg, "busy: this certificate has 1 connections already");
	}
	assert_refused(&w.s.counts, LK_REFUSED_LIMIT, 3);
	assert_int_equal(w.s.readies, 1);
	/* The link that exists is not disturbed; when it ends, its place is free. */
	w.c.link = first;
	assert_int_equal(send_counter(first, 1, &err), CM_OK);
	RUN_UNTIL(&w, w.s.frames == 1);
	lk_close(first, NULL);
	RUN_UNTIL(&w, w.s.closes == 1 && w.c.closes == 4);
	dial(&w);
	RUN_UNTIL(&w, w.s.readies == 2);
	world_fini(&w);
}

static void a_bad_peer_does_not_disturb_a_good_one(void **state)
{
	static const uint8_t length[] = { 0xff, 0xff, 0xff, 0xff };
	struct world w;
	struct cm_err err;

	(void)state;
	world_init(&w);
	connect_both(&w);
	dial_raw(&w);
	raw_send(&w, length, sizeof length);
	RUN_UNTIL(&w, w.raw_closes == 1);
	assert_int_equal(w.c.closes + w.s.closes, 0);
	assert_int_equal(send_counter(w.c.link, 1, &err), CM_OK);
	RUN_UNTIL(&w, w.s.frames == 1);
	world_fini(&w);
}

static void on_stranger_shut(uv_handle_t *h)
{
	(void)h;
}

static void on_stranger_up(uv_connect_t *r, int status)
{
	assert_int_equal(status, 0);
	uv_close((uv_handle_t *)r->handle, on_stranger_shut);
}

/* Lines of the log while `n` strangers connect and go away again. */
static unsigned lines_of_strangers(struct world *w, unsigned n, char *text, size_t max)
{
	static uv_tcp_t tcp[40];
	static uv_connect_t up[40];
	FILE *to = tmpfile();
	struct sockaddr_in sa;
	int kept = dup(STDERR_FILENO);
	unsigned lines = 0;
	size_t len;

	assert_non_null(to);
	assert_true(kept >= 0 && dup2(fileno(to), STDERR_FILENO) >= 0);
	assert_int_equal(uv_ip4_addr("127.0.0.1", lk_server_port(w->server), &sa), 0);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(uv_tcp_init(&w->loop, &tcp[i]), 0);
		assert_int_equal(uv_tcp_connect(&up[i], &tcp[i], (struct sockaddr *)&sa, on_stranger_up), 0);
	}
	/* A good peer stands behind them in the queue: when it is ready, they have been handled. */
	connect_both(w);
	lk_server_close(w->server, true);
	RUN_UNTIL(w, w->c.closes == 1 && w->s.closes == 1);
	cm_log_flush();
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	assert_int_equal(close(kept), 0);
	rewind(to);
	len = fread(text, 1, max - 1, to);
	text[len] = '\0';
	assert_int_equal(fclose(to), 0);
	for (const char *c = text; (c = strchr(c, '\n')); c++)
		lines++;
	return lines;
}

static void a_flood_of_strangers_is_counted_not_told_one_by_one(void **state)
{
	char text[16384];
	struct world w;

	(void)state;
	world_init(&w);
	cm_log_init("shuffler", CM_LOG_WARN, CM_LOG_TEXT);
	assert_in_range(lines_of_strangers(&w, 40, text, sizeof text), 2, 30);
	assert_non_null(strstr(text, "more connections refused"));
	w.server = NULL;
	world_fini(&w);
}

/* The time that the loop's clock shows; 0: the real one. */
static uint64_t clock_ms;
uint64_t __real_uv_now(const uv_loop_t *loop);
uint64_t __wrap_uv_now(const uv_loop_t *loop);

uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
	return clock_ms > 0 ? clock_ms : __real_uv_now(loop);
}

/* Count how often the log has this text. */
static unsigned said(FILE *log, const char *what)
{
	static char text[65536];
	unsigned n = 0;

	cm_log_flush();
	rewind(log);
	text[fread(text, 1, sizeof text - 1, log)] = '\0';
	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

static uint64_t refused_so_far(const struct world *w)
{
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof w->s.counts.refused / sizeof w->s.counts.refused[0]; i++)
		n += w->s.counts.refused[i];
	return n;
}

static void a_flood_that_goes_on_is_told_of_ever_more_seldom(void **state)
{
	/* Windows of 1, 2 and 4 s: the third flood falls into the second window, the fifth into the third. */
	static const unsigned told[] = { 10, 20, 20, 30, 30 };
	static uv_tcp_t tcp[20];
	static uv_connect_t up[20];
	struct sockaddr_in sa;
	struct world w;
	FILE *log = tmpfile();
	int kept = dup(STDERR_FILENO);

	(void)state;
	clock_ms = 1000000;
	world_init(&w);
	cm_log_init("shuffler", CM_LOG_WARN, CM_LOG_TEXT);
	assert_non_null(log);
	assert_true(kept >= 0 && dup2(fileno(log), STDERR_FILENO) >= 0);
	assert_int_equal(uv_ip4_addr("127.0.0.1", lk_server_port(w.server), &sa), 0);
	for (size_t flood = 0; flood < sizeof told / sizeof told[0]; flood++, clock_ms += 1100) {
		for (unsigned i = 0; i < 20; i++) {
			assert_int_equal(uv_tcp_init(&w.loop, &tcp[i]), 0);
			assert_int_equal(
				uv_tcp_connect(&up[i], &tcp[i], (struct sockaddr *)&sa, on_stranger_up), 0);
		}
		RUN_UNTIL(&w, refused_so_far(&w) == 20 * (flood + 1));
		assert_int_equal(said(log, " from="), told[flood]);
	}
	assert_int_equal(said(log, "more connections refused"), 2);
	cm_log_flush();
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	assert_int_equal(close(kept) | fclose(log), 0);
	world_fini(&w);
	clock_ms = 0;
}

/* ---- its end ---- */

static void closing_the_server_with_its_links_ends_them_in_order(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	connect_both(&w);
	lk_server_close(w.server, true);
	w.server = NULL;
	RUN_UNTIL(&w, w.c.closes == 1 && w.s.closes == 1);
	assert_int_equal(w.c.why.code, CM_OK);
	world_fini(&w);
}

static void closing_the_server_alone_leaves_its_links(void **state)
{
	struct cm_err err;
	struct world w;

	(void)state;
	world_init(&w);
	connect_both(&w);
	lk_server_close(w.server, false);
	w.server = NULL;
	assert_int_equal(send_counter(w.c.link, 1, &err), CM_OK);
	RUN_UNTIL(&w, w.s.frames == 1);
	lk_close(w.s.link, NULL);
	RUN_UNTIL(&w, w.c.closes == 1 && w.s.closes == 1);
	world_fini(&w);
}

/* ---- time ---- */

static void a_frame_that_does_not_end_ends_its_link(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	dial_raw(&w);
	raw_hello(&w, 1);
	RUN_UNTIL(&w, w.s.readies == 1);
	raw_send(&w, "\0\20\0\0", 4); /* a frame of a MiB, a byte each second */
	for (ahead_ms = 0; w.raw && !nt_conn_closing(w.raw); ahead_ms += 1000) {
		raw_send(&w, "\x52", 1);
		(void)uv_run(&w.loop, UV_RUN_ONCE);
	}
	RUN_UNTIL(&w, w.raw_closes == 1 && w.s.closes == 1);
	assert_true(ahead_ms > 4 * (int64_t)w.limits.idle_ms);
	assert_int_equal(w.s.why.code, CM_EUNAVAIL);
	assert_non_null(strstr(w.s.why.msg, "a frame did not end within 600 s"));
	ahead_ms = 0;
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_that_never_was_a_link_is_counted_by_why),
		cmocka_unit_test(a_refused_certificate_is_counted_on_both_sides),
		cmocka_unit_test(one_for_whom_there_is_no_place_learns_why),
		cmocka_unit_test(a_bad_peer_does_not_disturb_a_good_one),
		cmocka_unit_test(closing_the_server_with_its_links_ends_them_in_order),
		cmocka_unit_test(closing_the_server_alone_leaves_its_links),
		cmocka_unit_test(a_flood_of_strangers_is_counted_not_told_one_by_one),
		cmocka_unit_test(a_flood_that_goes_on_is_told_of_ever_more_seldom),
		cmocka_unit_test(a_frame_that_does_not_end_ends_its_link),
	};

	cm_log_init("test", CM_LOG_ERROR, CM_LOG_TEXT);
	return cmocka_run_group_tests(tests, world_certs_make, world_certs_drop);
}
