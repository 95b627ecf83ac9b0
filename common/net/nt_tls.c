/* nt_tls.c - one TLS session over memory: takes bytes in, gives bytes out. */
#include "nt_tls.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cr_libcrypto.h"
#include "nt_addr.h"
#include "nt_tls_private.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#define RECORD_MAX 16384 /* plaintext bytes of one TLS record (RFC 8446, 5.1) */
/* the alerts from bad_certificate to access_denied are about a certificate (RFC 8446, 6.2) */
#define ALERT_CERT_LOW  42
#define ALERT_CERT_HIGH 49
#define ALERT_NO_CERT   116

/* ---- life ---- */

static enum cm_rc set_host(struct nt_tls *t, const char *host, struct cm_err *err)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(t->ssl);
	int ok;

	if (strlen(host) >= sizeof t->host || *host == '\0')
		return cm_fail(err, CM_ECONFIG, "host name '%.100s' is empty or too long", host);
	memcpy(t->host, host, strlen(host) + 1);
	X509_VERIFY_PARAM_set_hostflags(
		param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	if (nt_addr_numeric(host))
		ok = X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1;
	else
		ok = X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 &&
		     SSL_set_tlsext_host_name(t->ssl, host) == 1;
	return ok ? CM_OK : cm_fail(err, CM_ECONFIG, "host name '%.100s' cannot be in a certificate", host);
}

enum cm_rc nt_tls_new(struct nt_tls_ctx *ctx, const char *host, struct nt_tls **out, struct cm_err *err)
{
	struct nt_tls *t = calloc(1, sizeof *t);
	enum cm_rc rc = CM_OK;
	BIO *bio = NULL;

	*out = NULL;
	ERR_clear_error();
	if (!t)
		return cm_fail(err, CM_EINTERNAL, "TLS: out of memory");
	cr_libcrypto_fresh();
	t->ctx = ctx;
	ctx->refs++;
	t->ssl = SSL_new(ctx->ssl);
	bio = BIO_new(ctx->bio);
	if (!t->ssl || !bio) {
		BIO_free(bio);
		rc = cm_fail(err, CM_EINTERNAL, "TLS: out of memory");
		goto out;
	}
	BIO_set_data(bio, t);
	BIO_set_init(bio, 1);
	SSL_set_bio(t->ssl, bio, bio);
	SSL_set_app_data(t->ssl, t);
	if (ctx->server)
		SSL_set_accept_state(t->ssl);
	else
		SSL_set_connect_state(t->ssl);
	if (host)
		rc = set_host(t, host, err);
out:
	if (rc == CM_OK)
		*out = t;
	else
		nt_tls_free(t);
	return rc;
}

void nt_tls_free(struct nt_tls *t)
{
	if (!t)
		return;
	SSL_free(t->ssl);
	nt_tls_ctx_drop(t->ctx);
	free(t);
}

/* ---- faults ---- */

/* The peer sends the same alert for an expired certificate and for an expired list (RFC 8446, 6.2, has no
 * other). */
static const char *expired(const struct nt_tls *t, char text[160])
{
	const X509 *own = SSL_get_certificate(t->ssl);
	const ASN1_TIME *ends = own ? X509_get0_notAfter(own) : NULL;
	char when[32];
	struct tm tm;

	if (!ends || X509_cmp_current_time(ends) <= 0 || ASN1_TIME_to_tm(ends, &tm) != 1 ||
		strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return "expired";
	(void)snprintf(text, 160,
		"expired; but it is valid until %s, so a revocation list or CA there has expired, or a clock is "
		"wrong",
		when);
	return text;
}

static enum cm_rc alert_fault(const struct nt_tls *t, int alert, struct cm_err *err)
{
	const char *who = t->peer.role == CR_ROLE_NONE ? "the peer" : cr_role_name(t->peer.role);
	const char *text;
	char more[160];

	if ((alert < ALERT_CERT_LOW || alert > ALERT_CERT_HIGH) && alert != ALERT_NO_CERT)
		return cm_fail(err, CM_EPROTO, "%s ended TLS: %s (alert %d)", who,
			SSL_alert_desc_string_long(alert), alert);
	switch (alert) {
	case SSL_AD_UNSUPPORTED_CERTIFICATE:
		text = "its role is not accepted there";
		break;
	case SSL_AD_UNKNOWN_CA:
		text = "unknown CA, or not the CA for its role";
		break;
	case SSL_AD_CERTIFICATE_EXPIRED:
		text = expired(t, more);
		break;
	case SSL_AD_CERTIFICATE_REVOKED:
		text = "revoked";
		break;
	case SSL_AD_BAD_CERTIFICATE:
		text = "not yet valid, not for this host, or malformed";
		break;
	case SSL_AD_CERTIFICATE_REQUIRED:
		text = "none was sent";
		break;
	default:
		text = SSL_alert_desc_string_long(alert);
		break;
	}
	return cm_fail(err, CM_EPERM, "%s refused our certificate: %s (alert %d)", who, text, alert);
}

/* End the session, and set the reason. */
static enum cm_rc fault(struct nt_tls *t, struct cm_err *err)
{
	unsigned long e = ERR_peek_error();
	int reason = ERR_GET_REASON(e);
	const char *text = ERR_reason_error_string(e);

	t->dead = true;
	if (t->why.code == CM_OK) { /* no callback has set a more exact reason */
		if (t->wire_full)
			(void)cm_fail(&t->why, CM_EPROTO, "the peer does not read: its TLS answers pile up");
		else if (ERR_GET_LIB(e) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET &&
			 reason <= SSL_AD_REASON_OFFSET + 255)
			(void)alert_fault(t, reason - SSL_AD_REASON_OFFSET, &t->why);
		else if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
			(void)cm_fail(&t->why, CM_EPERM, "the peer sent no certificate");
		else if (reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_WRONG_SSL_VERSION)
			(void)cm_fail(&t->why, CM_EPROTO, "the peer does not speak TLS 1.3");
		else if (reason == SSL_R_NO_APPLICATION_PROTOCOL)
			(void)cm_fail(&t->why, CM_EPROTO, "the peer does not speak " NT_TLS_ALPN " (ALPN)");
		else
			(void)cm_fail(&t->why, CM_EPROTO, "TLS failed: %s", text ? text : "unknown fault");
	}
	ERR_clear_error();
	*err = t->why;
	return err->code;
}

/* ---- bytes ---- */

static enum cm_rc handshake(struct nt_tls *t, struct cm_err *err)
{
	int n;

	ERR_clear_error();
	n = SSL_do_handshake(t->ssl);
	if (n == 1) {
		t->ready = true;
		return CM_OK;
	}
	if (SSL_get_error(t->ssl, n) == SSL_ERROR_WANT_READ)
		return CM_OK;
	return fault(t, err);
}

static enum cm_rc read_all(struct nt_tls *t, struct cm_buf *plain, struct cm_err *err)
{
	while (!t->closed) {
		size_t room = plain->max - plain->len, got = 0;
		uint8_t *at = cm_buf_room(plain, room < RECORD_MAX ? room : RECORD_MAX);
		int n;

		if (!at || room == 0) {
			if (at && t->in_len == 0 && SSL_pending(t->ssl) == 0)
				return CM_OK; /* the buffer is full, and nothing is left to read */
			t->dead = true;
			(void)cm_fail(&t->why, CM_EDATA, "TLS: no room for the plaintext");
			*err = t->why;
			return err->code;
		}
		ERR_clear_error();
		n = SSL_read_ex(t->ssl, at, room < RECORD_MAX ? room : RECORD_MAX, &got);
		if (n == 1) {
			plain->len += got;
			continue;
		}
		switch (SSL_get_error(t->ssl, n)) {
		case SSL_ERROR_WANT_READ:
			return CM_OK;
		case SSL_ERROR_ZERO_RETURN:
			t->closed = true;
			break;
		default:
			return fault(t, err);
		}
	}
	return CM_OK;
}

enum cm_rc nt_tls_feed(struct nt_tls *t, const uint8_t *data, size_t n, struct cm_buf *plain,
	struct cm_buf *wire, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (t->dead) {
		*err = t->why;
		return err->code;
	}
	t->in = data;
	t->in_len = n;
	t->wire = wire;
	if (!t->ready)
		rc = handshake(t, err);
	if (rc == CM_OK && t->ready)
		rc = read_all(t, plain, err);
	t->in = NULL;
	t->in_len = 0;
	t->wire = NULL;
	return rc;
}

enum cm_rc nt_tls_start(struct nt_tls *t, struct cm_buf *wire, struct cm_err *err)
{
	enum cm_rc rc;

	t->wire = wire;
	rc = handshake(t, err);
	t->wire = NULL;
	return rc;
}

enum cm_rc nt_tls_send(
	struct nt_tls *t, const uint8_t *data, size_t n, struct cm_buf *wire, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (t->dead || !t->ready)
		return cm_fail(err, CM_EINTERNAL, "TLS: nothing can be sent on this session");
	t->wire = wire;
	while (rc == CM_OK && n > 0) {
		size_t done = 0;

		ERR_clear_error();
		if (SSL_write_ex(t->ssl, data, n, &done) != 1) {
			rc = fault(t, err);
			break;
		}
		data += done;
		n -= done;
	}
	t->wire = NULL;
	return rc;
}

void nt_tls_shutdown(struct nt_tls *t, struct cm_buf *wire)
{
	if (t->dead || !t->ready)
		return;
	t->wire = wire;
	ERR_clear_error();
	/* 0 or 1: close_notify was written; -1: there was no room, and the peer sees a truncation */
	(void)SSL_shutdown(t->ssl);
	ERR_clear_error();
	t->wire = NULL;
}

bool nt_tls_ready(const struct nt_tls *t)
{
	return t->ready && !t->dead;
}

bool nt_tls_closed(const struct nt_tls *t)
{
	return t->closed;
}

const struct cr_identity *nt_tls_peer(const struct nt_tls *t)
{
	return &t->peer;
}

const char *nt_tls_group(const struct nt_tls *t)
{
	SSL *ssl = t->ssl;
	int id = (int)SSL_get_negotiated_group(ssl);
	const char *name = id != NID_undef ? SSL_group_to_name(ssl, id) : NULL;

	return name ? name : "?";
}
