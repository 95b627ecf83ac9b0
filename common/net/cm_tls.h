/* cm_tls.h - TLS 1.3 sessions over memory: bytes in, bytes out, no sockets.  Needs libssl.
 *
 * TLS 1.3 only, both sides authenticated, ALPN tombola/1, no tickets, no early data.  After the chain is
 * verified the peer's role is checked, and that its chain ends in the CA which may issue that role: a valid
 * chain is not a role. */
#pragma once

#include <stdbool.h>

#include "cm_buf.h"
#include "cm_pki.h"

#define CM_TLS_ALPN "tombola/1"

/* Which CA may vouch for which roles. */
struct cm_tls_trust {
	enum cm_role role;
	const char *ca_file;
	const char *crl_file; /* NULL: no revocation list */
};

struct cm_tls_conf {
	bool server;
	const char *cert_file, *key_file;
	struct cm_tls_trust trust[3]; /* roles accepted from peers; ends at role CM_ROLE_NONE */
};

/* Certificates, keys and lists as read at one moment.  To reload, build a new one and drop the old:
 * connections keep theirs by reference, new ones use the new (the old CA stops working at once).  Errors name
 * the file: CM_ENOINPUT when it is missing, CM_EPERM for a key that its group or others may read and for
 * anything wrong inside. */
struct cm_tls_ctx;
CM_CHECK enum cm_rc cm_tls_ctx_new(
	const struct cm_tls_conf *conf, struct cm_tls_ctx **out, struct cm_err *err);
void cm_tls_ctx_free(struct cm_tls_ctx *ctx); /* NULL is fine; live sessions keep what they need */

struct cm_tls;
/* A session; host: the name or address the peer's certificate must carry (clients of a server), or NULL.  One
 * thread at a time for a ctx and all its sessions. */
CM_CHECK enum cm_rc cm_tls_new(
	struct cm_tls_ctx *ctx, const char *host, struct cm_tls **out, struct cm_err *err);
void cm_tls_free(struct cm_tls *t);

/* Feed ciphertext from the peer (all of it is taken); plaintext is appended to `plain`, ciphertext to send to
 * `wire`.  On a fault the reason is in err, any alert is in `wire`, and the session is dead: CM_EPERM
 * certificate or role, the peer's or ours (a client that is refused learns it after it believes the handshake
 * done), CM_EPROTO TLS, CM_EDATA when plain is full. */
CM_CHECK enum cm_rc cm_tls_feed(struct cm_tls *t, const uint8_t *data, size_t n, struct cm_buf *plain,
	struct cm_buf *wire, struct cm_err *err);
/* Start the handshake (client) : ciphertext to send is appended to wire. */
CM_CHECK enum cm_rc cm_tls_start(struct cm_tls *t, struct cm_buf *wire, struct cm_err *err);
/* Encrypt n bytes onto wire; only once cm_tls_ready. */
CM_CHECK enum cm_rc cm_tls_send(
	struct cm_tls *t, const uint8_t *data, size_t n, struct cm_buf *wire, struct cm_err *err);
/* close_notify onto wire. */
void cm_tls_shutdown(struct cm_tls *t, struct cm_buf *wire);
/* Handshake done and role verified. */
bool cm_tls_ready(const struct cm_tls *t);
/* The peer said close_notify: an end of stream without it is a truncation. */
bool cm_tls_closed(const struct cm_tls *t);
/* Would ctx accept the peer's certificate now?  After a reload: CM_EPERM with the reason when not.  CM_OK
 * only for a session that is ready. */
CM_CHECK enum cm_rc cm_tls_recheck(const struct cm_tls *t, const struct cm_tls_ctx *ctx, struct cm_err *err);
/* Valid once ready, as long as t. */
const struct cm_identity *cm_tls_peer(const struct cm_tls *t);
