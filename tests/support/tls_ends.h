/* tls_ends.h - two ends of TLS in memory and the wire between them; either may be plain OpenSSL instead. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/ssl.h>

#include "certs.h"
#include "nt_tls.h"

/* CAs "clients", "services" and "rogue", a server "shuffler" (localhost, 127.0.0.1) and a client "edge" that
 * are good, and others that are not, named for what is wrong with them.  A test may add lists and files. */
extern struct certs certs;
/* For cmocka_run_group_tests. */
int ends_certs_make(void **state);
int ends_certs_drop(void **state);
/* The path of NAME.SUFFIX, NULL for NULL. */
const char *file(const char *name, const char *suffix);

struct end {
	struct nt_tls_ctx *ctx;
	struct nt_tls *tls;
	SSL_CTX *raw_ctx; /* a peer that is plain OpenSSL instead */
	SSL *raw;
	struct cm_buf plain, wire;
	enum cm_rc rc;
	struct cm_err err;
};

/* A server that takes clients of "clients" and analyzers of "services"; a client that takes shufflers of
 * "services". */
struct nt_tls_conf server_conf(const char *name);
struct nt_tls_conf client_conf(const char *name);
void end_init(struct end *e, const struct nt_tls_conf *conf, const char *host);
/* Plain OpenSSL with our certificates, for what nt_tls would never do: raw_start, when raw_ctx is as
 * wanted. */
void raw_init(struct end *e, bool server, const char *name);
void raw_start(struct end *e, bool server);
void end_fini(struct end *e);
/* A client of this name and the server, who agree. */
void good_pair(struct end *client, struct end *server, const char *client_name);

/* Bytes that this end is given; nothing more once it has failed. */
void feed(struct end *e, const uint8_t *data, size_t n);
/* Carry bytes both ways, at most `chunk` at a time, until nothing moves. */
void converse(struct end *a, struct end *b, size_t chunk);
/* The same, from the client's first word. */
void shake(struct end *client, struct end *server, size_t chunk);
/* The end has this result, for a reason with this text. */
void assert_says(const struct end *e, enum cm_rc rc, const char *text);
