/* link_world.h - a loop with a link's server, a client that dials it, and a peer that uses TLS but no links,
 * over real loopback sockets. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "certs.h"
#include "lk_link.h"
#include "turning.h"

/* CAs "clients" and "services", a client "edge", a server "shuffler" of 127.0.0.1. */
extern struct certs certs;
/* For cmocka_run_group_tests. */
int world_certs_make(void **state);
int world_certs_drop(void **state);

/* What one side noted. */
struct side {
	struct world *w;
	struct lk_link *link; /* NULL once closed, and before ready at the server */
	int readies, closes, drains;
	uint64_t frames, errors;
	uint64_t last; /* of the rounds' `after`, which the tests use as a counter */
	bool in_order, pause_each;
	Tombola__V1__ErrorCode error;
	char error_text[256];
	uint32_t retry;
	size_t round_id_len, sealed_len;
	struct cm_err why;
	struct lk_counts counts;
};

struct world {
	uv_loop_t loop;
	uv_timer_t guard;
	struct nt_tls_ctx *server_ctx, *client_ctx;
	struct lk_server *server;
	struct nt_conn_limits limits;
	char address[64];
	struct side s, c;
	/* A peer that writes bytes of its own. */
	struct nt_conn *raw;
	struct cm_buf raw_got;
	int raw_opens, raw_closes;
};

/* A server that waits so long for a handshake, and for a hello; ten seconds. */
void world_init_within(struct world *w, uint32_t handshake_ms);
/* A server that takes so many links of one certificate. */
void world_init_of_one(struct world *w, uint32_t links);
void world_init(struct world *w);
/* The end of every test: nothing is left on the loop, and every link that was ready was closed. */
void world_fini(struct world *w);

/* The client, and the same until both sides are ready. */
void dial(struct world *w);
void connect_both(struct world *w);
/* GetRound{after: i}: the other side notes i as its last, and whether it came in order. */
enum cm_rc send_counter(struct lk_link *l, uint64_t i, struct cm_err *err);
/* Assert that there were n refusals for this reason, and no others. */
void assert_refused(const struct lk_counts *c, enum lk_refused reason, uint64_t n);

/* The peer that writes bytes of its own; Hello{major, minor: 0} as it would write it. */
void dial_raw(struct world *w);
void raw_send(struct world *w, const void *bytes, size_t n);
void raw_hello(struct world *w, uint8_t major);
/* Whether the bytes that it got contain this text. */
bool raw_was_told(const struct world *w, const char *text);
