/* conn_world.h - a loop with a listener that records events, and the connections that a test dials to it,
 * over real loopback sockets. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "certs.h"
#include "nt_conn.h"
#include "turning.h"

#define MANY 64 /* connections a listener may have in one test */

/* CAs "clients", "services" and "rogue"; clients "edge", "revoked", "rogue-client" (of that CA), "expired",
 * "odd" (its role is shuffler); the server "shuffler", of localhost and 127.0.0.1. */
extern struct certs certs;
/* For cmocka_run_group_tests. */
int world_certs_make(void **state);
int world_certs_drop(void **state);
/* That server, which lets clients of this CA in unless its revocation list (NULL: none) has them. */
struct nt_tls_ctx *server_ctx(const char *clients_ca, const char *crl);
struct nt_tls_ctx *client_ctx(const char *name);

/* One end.  Whoever dialled frees what it got; the listener's are the world's. */
struct peer {
	struct world *w;
	struct nt_conn *conn; /* NULL once closed */
	bool server;
	int opens, drains, closes;
	struct cm_buf got;
	struct cm_err why;
	size_t data_calls, empty_calls;
};

struct world {
	uv_loop_t loop;
	uv_timer_t guard;
	struct nt_tls_ctx *server_ctx, *client_ctx;
	struct nt_listener *listener;
	struct nt_conn_limits limits;
	char address[64];
	struct peer server[MANY];
	int n_server, n_refused;
	struct cm_err refused;
	bool echo;
	int closes_awaited; /* stop the loop after so many on_close */
	void (*on_data)(struct peer *p);
	void (*on_open)(struct peer *p);
};

/* A server that trusts "clients", the client "edge", limits to be changed before the listener is made. */
void world_init(struct world *w);
void world_listen(struct world *w);
/* The end of every test: each connection was opened and closed once, and nothing is left on the loop. */
void world_fini(struct world *w);

/* For dialling by hand; its user is a peer of peer_init. */
extern const struct nt_conn_handler client_handler;
void peer_init(struct world *w, struct peer *p);
void dial_at(struct world *w, struct peer *p, const char *address);
/* To the world's listener. */
void dial(struct world *w, struct peer *p);
/* A world as it is made, with its listener, and a peer that dials it; and the end of both. */
void world_dial(struct world *w, struct peer *p);
void world_end(struct world *w, struct peer *p);
/* Turn the loop until so many connections of both ends were closed or refused. */
void run_until_closed(struct world *w, int closes);
/* Assert that it was closed once, with this result and a reason that contains this text. */
void assert_ended(const struct peer *p, enum cm_rc rc, const char *text);
void send_text(struct peer *p, const char *text);
/* For on_open: the listener's end reads nothing until it is resumed. */
void pause_server(struct peer *p);
/* A TCP listener on 127.0.0.1 whose connections say nothing of TLS, and its address.  Close it. */
int mute_listener(char address[64]);
/* A TCP connection that says nothing of TLS, from 127.0.0.1 or from this address (in host order).  Close
 * it. */
int plain_socket(const struct world *w);
int plain_socket_from(const struct world *w, uint32_t source);
