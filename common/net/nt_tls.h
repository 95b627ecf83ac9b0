/* nt_tls.h - TLS 1.3 sessions over memory: bytes in, bytes out, no sockets.  Needs libssl.
 *
 * TLS 1.3 only, both sides authenticated, ALPN tombola/1, no tickets, no early data.  After the chain is
 * verified, the session checks the peer's role and that the chain ends in the CA which may issue that role:
 * a valid chain alone does not prove a role. */
#pragma once

#include <stdbool.h>

#include "cm_buf.h"
#include "cr_pki.h"

#define NT_TLS_ALPN "tombola/1"

/* Roles, each with the CA that may issue its certificates. */
struct nt_tls_trust {
	enum cr_role role;
	const char *ca_file;
	const char *crl_file; /* NULL: no revocation list */
};

struct nt_tls_conf {
	bool server;
	const char *cert_file, *key_file;
	struct nt_tls_trust trust[3]; /* roles accepted from peers; ends at role CR_ROLE_NONE */
};

/* Certificates, keys and lists as read at one time.  To reload, build a new ctx and free the old one:
 * established connections keep the old by reference, new ones use the new (an old CA stops being accepted at
 * once).  Errors name the file: CM_ENOINPUT when it is missing; CM_EPERM for a key that its group or others
 * may read and for any fault in its contents. */
struct nt_tls_ctx;
CM_CHECK enum cm_rc nt_tls_ctx_new(
	const struct nt_tls_conf *conf, struct nt_tls_ctx **out, struct cm_err *err);
/* Call say for every fault of these files, where nt_tls_ctx_new returns the first, with the key that names
 * the file in a configuration: "tls.cert", "tls.key", "tls.services_ca", "tls.services_crl", and likewise for
 * clients.  A path of NULL is passed over. */
typedef void nt_tls_say_fn(void *user, const char *key, const struct cm_err *why);
void nt_tls_faults(const struct nt_tls_conf *conf, nt_tls_say_fn *say, void *user);
void nt_tls_ctx_free(struct nt_tls_ctx *ctx); /* NULL is fine; live sessions keep what they need */

struct nt_tls;
/* Make a session.  host: if we are the client, the name or address that the server's certificate must
 * carry; NULL if we are the server.  A ctx and all its sessions are used by one thread at a time. */
CM_CHECK enum cm_rc nt_tls_new(
	struct nt_tls_ctx *ctx, const char *host, struct nt_tls **out, struct cm_err *err);
void nt_tls_free(struct nt_tls *t);

/* Feed ciphertext from the peer (all of it is taken): appends plaintext to `plain`, and ciphertext to send
 * to `wire`.  On a fault the reason is in err, any alert is in `wire`, and the session has ended: CM_EPERM
 * for a certificate or role, the peer's or ours (a refused client learns this after its own handshake is
 * complete); CM_EPROTO for TLS; CM_EDATA when plain is full. */
CM_CHECK enum cm_rc nt_tls_feed(struct nt_tls *t, const uint8_t *data, size_t n, struct cm_buf *plain,
	struct cm_buf *wire, struct cm_err *err);
/* Start the client's handshake: ciphertext to send is appended to wire. */
CM_CHECK enum cm_rc nt_tls_start(struct nt_tls *t, struct cm_buf *wire, struct cm_err *err);
/* Encrypt n bytes onto wire; only after nt_tls_ready. */
CM_CHECK enum cm_rc nt_tls_send(
	struct nt_tls *t, const uint8_t *data, size_t n, struct cm_buf *wire, struct cm_err *err);
/* Write close_notify onto wire. */
void nt_tls_shutdown(struct nt_tls *t, struct cm_buf *wire);
/* Is the handshake done and the role verified? */
bool nt_tls_ready(const struct nt_tls *t);
/* Has the peer sent close_notify?  An end of the stream without it is a truncation. */
bool nt_tls_closed(const struct nt_tls *t);
/* CM_OK if ctx would accept the peer's certificate now, and the session is ready; else CM_EPERM with the
 * reason.  For use after a reload. */
CM_CHECK enum cm_rc nt_tls_recheck(const struct nt_tls *t, const struct nt_tls_ctx *ctx, struct cm_err *err);
/* The peer's identity, valid once ready, as long as t. */
const struct cr_identity *nt_tls_peer(const struct nt_tls *t);
/* The group of the key exchange by OpenSSL's name ("X25519MLKEM768"); "?" before it is known. */
const char *nt_tls_group(const struct nt_tls *t);
