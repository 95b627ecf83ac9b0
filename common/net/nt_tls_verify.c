/* nt_tls_verify.c (nt_tls.h) - verifies a peer: its chain, its role, and that its CA may issue that
 * role. */
#include <stdio.h>
#include <string.h>

#include "cm_fault.h"
#include "nt_tls_private.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#define NAME_MAX_LEN 64

/* Copy a CN as printable ASCII: a peer chose it, and it is printed in a log. */
static void common_name(const X509_NAME *name, char out[NAME_MAX_LEN + 1])
{
	X509_NAME *n = (X509_NAME *)(uintptr_t)name; /* this parameter is not const in OpenSSL 3.0 */
	int len = !n ? -1 : X509_NAME_get_text_by_NID(n, NID_commonName, out, NAME_MAX_LEN + 1);

	if (len < 0)
		(void)snprintf(out, NAME_MAX_LEN + 1, "(no name)");
	for (char *p = out; *p != '\0'; p++) {
		if (*p < ' ' || *p > '~' || *p == '"')
			*p = '?';
	}
}

static void time_text(const ASN1_TIME *t, char out[32])
{
	struct tm tm;

	if (!t || ASN1_TIME_to_tm(t, &tm) != 1 || strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		(void)snprintf(out, 32, "an unreadable time");
}

/* Say why the chain was not accepted, in an operator's words. */
static enum cm_rc chain_fault(X509_STORE_CTX *sctx, const char *host, struct cm_err *err)
{
	X509 *cert = X509_STORE_CTX_get_current_cert(sctx);
	char name[NAME_MAX_LEN + 1], issuer[NAME_MAX_LEN + 1], when[32];
	int code = X509_STORE_CTX_get_error(sctx);

	if (!cert)
		cert = X509_STORE_CTX_get0_cert(sctx);
	common_name(X509_get_subject_name(cert), name);
	common_name(X509_get_issuer_name(cert), issuer);
	switch (code) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		time_text(X509_get0_notAfter(cert), when);
		return cm_fail(err, CM_EPERM, "certificate \"%s\" refused: it expired at %s", name, when);
	case X509_V_ERR_CERT_NOT_YET_VALID:
		time_text(X509_get0_notBefore(cert), when);
		return cm_fail(err, CM_EPERM, "certificate \"%s\" refused: it is not yet valid, only from %s",
			name, when);
	case X509_V_ERR_CERT_REVOKED:
		return cm_fail(
			err, CM_EPERM, "certificate \"%s\" refused: it was revoked by \"%s\"", name, issuer);
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
		/* OpenSSL found the fault at a CA certificate that the peer sent; name the peer's own
		 * certificate. */
		common_name(X509_get_subject_name(X509_STORE_CTX_get0_cert(sctx)), name);
		return cm_fail(err, CM_EPERM, "certificate \"%s\" refused: unknown CA \"%s\"", name, issuer);
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
		return cm_fail(err, CM_EPERM, "certificate \"%s\" refused: unknown CA \"%s\"", name, issuer);
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
		return cm_fail(err, CM_EPERM,
			"certificate \"%s\" refused: it is self-signed, by no CA we know", name);
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return cm_fail(err, CM_EPERM, "certificate \"%s\" refused: it is not for host \"%.100s\"",
			name, host);
	case X509_V_ERR_UNABLE_TO_GET_CRL:
		return cm_fail(err, CM_EPERM,
			"certificate \"%s\" refused: no revocation list of \"%s\" is at hand", name, issuer);
	case X509_V_ERR_CRL_HAS_EXPIRED:
		return cm_fail(err, CM_EPERM,
			"certificate \"%s\" refused: the revocation list of \"%s\" has expired", name,
			issuer);
	case X509_V_ERR_CRL_NOT_YET_VALID:
		return cm_fail(err, CM_EPERM,
			"certificate \"%s\" refused: the revocation list of \"%s\" is not yet valid (check "
			"the clocks)",
			name, issuer);
	default:
		return cm_fail(err, CM_EPERM, "certificate \"%s\" refused: %s", name,
			X509_verify_cert_error_string(code));
	}
}

static const struct nt_tls_vouch *find_vouch(const struct nt_tls_ctx *ctx, enum cr_role role)
{
	for (size_t i = 0; i < ctx->n_vouch; i++) {
		if (role != CR_ROLE_NONE && ctx->vouch[i].role == role)
			return &ctx->vouch[i];
	}
	return NULL;
}

static bool holds(const STACK_OF(X509) * certs, const X509 *cert)
{
	for (int i = 0; i < sk_X509_num(certs); i++) {
		if (X509_cmp(sk_X509_value(certs, i), cert) == 0)
			return true;
	}
	return false;
}

static enum cm_rc role_fault(const struct nt_tls_ctx *ctx, const struct cr_identity *id, struct cm_err *err)
{
	char wanted[80] = "";
	size_t at = 0;

	for (size_t i = 0; i < ctx->n_vouch && at < sizeof wanted; i++) {
		int n = snprintf(wanted + at, sizeof wanted - at, "%s%s", i > 0 ? " or " : "",
			cr_role_name(ctx->vouch[i].role));
		at += n > 0 ? (size_t)n : 0;
	}
	return cm_fail(err, CM_EPERM, "certificate \"%s\" refused: its role is %s, wanted %s", id->name,
		cr_role_name(id->role), wanted);
}

/* Make the whole decision.  sctx holds the CAs of all roles.  On refusal its error is set to the one whose
 * TLS alert fits (RFC 8446, 6.2): unsupported_certificate for a role, unknown_ca for a CA. */
static enum cm_rc judge(const struct nt_tls_ctx *ctx, X509_STORE_CTX *sctx, const char *host,
	struct cr_identity *id, struct cm_err *err)
{
	X509 *cert = X509_STORE_CTX_get0_cert(sctx);
	struct cm_err claim_err = { .code = CM_OK };
	enum cm_rc claim = cr_identity_from_cert(cert, id, &claim_err);
	const struct nt_tls_vouch *vouch = claim == CM_OK ? find_vouch(ctx, id->role) : NULL;
	const STACK_OF(X509) * chain;
	char issuer[NAME_MAX_LEN + 1];

	/* The claimed role decides which list to ask.  Below, the anchor must be that role's, so a false
	 * claim that avoids the list is refused, too. */
	if (vouch && vouch->crl && CM_CHECKED("net.revoked"))
		(void)X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(sctx), X509_V_FLAG_CRL_CHECK);
	if (X509_verify_cert(sctx) != 1)
		return chain_fault(sctx, host, err);
	if (claim != CM_OK) {
		X509_STORE_CTX_set_error(sctx, X509_V_ERR_INVALID_PURPOSE);
		*err = claim_err;
		err->code = CM_EPERM;
		return CM_EPERM;
	}
	if (CM_CHECKED("net.role") && !vouch) {
		X509_STORE_CTX_set_error(sctx, X509_V_ERR_INVALID_PURPOSE);
		return role_fault(ctx, id, err);
	}
	chain = X509_STORE_CTX_get0_chain(sctx);
	if (CM_CHECKED("net.anchor") && vouch &&
		!holds(vouch->anchors, sk_X509_value(chain, sk_X509_num(chain) - 1))) {
		common_name(X509_get_subject_name(sk_X509_value(chain, sk_X509_num(chain) - 1)), issuer);
		X509_STORE_CTX_set_error(sctx, X509_V_ERR_INVALID_CA);
		return cm_fail(err, CM_EPERM,
			"certificate \"%s\" refused: CA \"%s\" may not vouch for role %s", id->name, issuer,
			cr_role_name(id->role));
	}
	return CM_OK;
}

int nt_tls_on_verify(X509_STORE_CTX *sctx, void *user)
{
	struct nt_tls_ctx *ctx = user;
	SSL *ssl = X509_STORE_CTX_get_ex_data(sctx, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct nt_tls *t = SSL_get_app_data(ssl);
	const unsigned char *alpn;
	unsigned alpn_len;

	if (!ctx->server) {
		/* The server's choice is known before its certificate comes (RFC 8446, 2). */
		SSL_get0_alpn_selected(ssl, &alpn, &alpn_len);
		if (CM_CHECKED("net.alpn") &&
			(alpn_len != strlen(NT_TLS_ALPN) || memcmp(alpn, NT_TLS_ALPN, alpn_len) != 0)) {
			X509_STORE_CTX_set_error(sctx, X509_V_ERR_APPLICATION_VERIFICATION);
			(void)cm_fail(&t->why, CM_EPROTO, "the peer does not speak " NT_TLS_ALPN " (ALPN)");
			return 0;
		}
	}
	return judge(ctx, sctx, t->host, &t->peer, &t->why) == CM_OK;
}

enum cm_rc nt_tls_recheck(const struct nt_tls *t, const struct nt_tls_ctx *ctx, struct cm_err *err)
{
	X509_STORE_CTX *sctx = X509_STORE_CTX_new();
	X509 *cert = SSL_get0_peer_certificate(t->ssl);
	struct cr_identity id;
	enum cm_rc rc;

	ERR_clear_error();
	if (!sctx || !cert ||
		X509_STORE_CTX_init(
			sctx, SSL_CTX_get_cert_store(ctx->ssl), cert, SSL_get_peer_cert_chain(t->ssl)) != 1 ||
		X509_STORE_CTX_set_default(sctx, ctx->server ? "ssl_client" : "ssl_server") != 1) {
		rc = cm_fail(err, CM_EINTERNAL, "cannot check a certificate again: out of memory");
		goto out;
	}
	rc = judge(ctx, sctx, t->host, &id, err);
out:
	X509_STORE_CTX_free(sctx);
	return rc;
}
