/* nt_tls_private.h - types and functions that the nt_tls files share; no other file includes it. */
#pragma once

#include <openssl/ssl.h>

#include "nt_tls.h"

#define NT_TLS_TRUSTS   3
#define NT_TLS_HOST_MAX 256

/* One accepted role and the only CAs which may certify it. */
struct nt_tls_vouch {
	enum cr_role role;
	STACK_OF(X509) * anchors;
	bool crl; /* a revocation list was given: refuse a certificate that no list covers */
};

struct nt_tls_ctx {
	SSL_CTX *ssl;
	BIO_METHOD *bio;
	bool server;
	unsigned refs; /* number of references, by the owner and by each session; used by one thread */
	struct nt_tls_vouch vouch[NT_TLS_TRUSTS];
	size_t n_vouch;
};

struct nt_tls {
	struct nt_tls_ctx *ctx;
	SSL *ssl;
	const uint8_t *in; /* during a call: ciphertext that has not been taken */
	size_t in_len;
	struct cm_buf *wire; /* during a call: receives ciphertext */
	bool wire_full, ready, closed, dead;
	struct cr_identity peer;
	struct cm_err why; /* the fault that ended the session */
	char host[NT_TLS_HOST_MAX];
};

/* For SSL_CTX_set_cert_verify_callback: verifies chain, role and anchor, so that the peer gets an alert for
 * all three. */
int nt_tls_on_verify(X509_STORE_CTX *sctx, void *ctx);
void nt_tls_ctx_drop(struct nt_tls_ctx *ctx);
