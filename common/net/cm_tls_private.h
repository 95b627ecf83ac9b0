/* cm_tls_private.h - what the cm_tls files share; nobody else includes it. */
#pragma once

#include <openssl/ssl.h>

#include "cm_tls.h"

#define CM_TLS_TRUSTS   3
#define CM_TLS_HOST_MAX 256

/* One accepted role and the only CAs which may vouch for it. */
struct cm_tls_vouch {
	enum cm_role role;
	STACK_OF(X509) * anchors;
	bool crl; /* a revocation list was given: a certificate without an answer from it is refused */
};

struct cm_tls_ctx {
	SSL_CTX *ssl;
	BIO_METHOD *bio;
	bool server;
	unsigned refs; /* the owner's and each session's; one thread */
	struct cm_tls_vouch vouch[CM_TLS_TRUSTS];
	size_t n_vouch;
};

struct cm_tls {
	struct cm_tls_ctx *ctx;
	SSL *ssl;
	const uint8_t *in; /* during a call: ciphertext not yet taken */
	size_t in_len;
	struct cm_buf *wire; /* during a call: where ciphertext goes */
	bool wire_full, ready, closed, dead;
	struct cm_identity peer;
	struct cm_err why; /* what killed the session */
	char host[CM_TLS_HOST_MAX];
};

/* SSL_CTX_set_cert_verify_callback: chain, role and anchor, so that the peer gets an alert for all three. */
int cm_tls_on_verify(X509_STORE_CTX *sctx, void *ctx);
/* BIO over the spans of a struct cm_tls; NULL out of memory. */
BIO_METHOD *cm_tls_bio(void);
void cm_tls_ctx_drop(struct cm_tls_ctx *ctx);
