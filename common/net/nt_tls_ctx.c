/* nt_tls_ctx.c (nt_tls.h) - the part that sessions share: certificates, keys and revocation lists, the TLS
 * policy, and how libssl gets their bytes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cm_fault.h"
#include "cm_file.h"
#include "cm_owned.h"
#include "cr_pem.h"
#include "nt_tls_private.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>

/* most bytes of certificates that are accepted from a peer that is not verified yet */
#define PEER_CHAIN_MAX 16384
#define CHAIN_DEPTH    2 /* most intermediates between a certificate and its CA */

/* ---- BIO: the caller's spans instead of a socket or a copy ---- */

static int bio_read(BIO *bio, char *out, int n)
{
	struct nt_tls *t = BIO_get_data(bio);
	size_t take = n < 0 ? 0 : (size_t)n;

	BIO_clear_retry_flags(bio);
	if (t->in_len == 0) {
		BIO_set_retry_read(bio);
		return -1;
	}
	if (take > t->in_len)
		take = t->in_len;
	memcpy(out, t->in, take);
	t->in += take;
	t->in_len -= take;
	return (int)take;
}

static int bio_write(BIO *bio, const char *data, int n)
{
	struct nt_tls *t = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	if (n < 0 || !t->wire || cm_buf_put(t->wire, data, (size_t)n) != CM_OK) {
		t->wire_full = true;
		return -1;
	}
	return n;
}

static long bio_ctrl(BIO *bio, int cmd, long larg, void *parg)
{
	(void)bio, (void)larg, (void)parg;
	return cmd == BIO_CTRL_FLUSH ? 1 : 0;
}

static BIO_METHOD *span_bio(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "tombola span");

	if (!m || BIO_meth_set_read(m, bio_read) != 1 || BIO_meth_set_write(m, bio_write) != 1 ||
		BIO_meth_set_ctrl(m, bio_ctrl) != 1) {
		BIO_meth_free(m);
		return NULL;
	}
	return m;
}

/* ---- certificates, keys and lists ---- */

static void cannot_read(const char *path, const char *what, int e, struct cm_err *err)
{
	char text[80];

	(void)snprintf(text, sizeof text, "cannot read %s", what);
	errno = e;
	(void)(cm_file_fail(err, cm_file_open_code(e), path, text) == CM_OK);
}

/* O_NONBLOCK: a FIFO must not hold up the loop that reloads certificates. */
static FILE *open_pem(const char *path, const char *what, struct cm_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	FILE *f = NULL;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		(void)cm_fail(err, CM_EDATA, "%s: not a regular file", path);
	else if (fd < 0 || !(f = fdopen(fd, "r")))
		cannot_read(path, what, errno, err);
	if (f && cm_owned_check(path, fd, err) != CM_OK) {
		(void)fclose(f);
		return NULL;
	}
	if (!f && fd >= 0)
		(void)close(fd);
	return f;
}

static enum cm_rc load_key(SSL_CTX *ssl, const char *path, const char *cert_path, struct cm_err *err)
{
	const char *name = strrchr(cert_path, '/'); /* two whole paths may not fit a message */
	EVP_PKEY *key = NULL;
	enum cm_rc rc = cr_pem_private_key(path, CM_CHECKED("net.key_mode") ? CR_SECRET : CR_OURS, &key, err);

	if (rc == CM_EDATA)
		err->code = rc = CM_EPERM;
	if (rc == CM_OK && (SSL_CTX_use_PrivateKey(ssl, key) != 1 || SSL_CTX_check_private_key(ssl) != 1))
		rc = cm_fail(err, CM_EPERM,
			"%s: this key does not belong to certificate %s: install both of one pair", path,
			name ? name + 1 : cert_path);
	EVP_PKEY_free(key);
	return rc;
}

static enum cm_rc load_cert(SSL_CTX *ssl, const struct nt_tls_conf *conf, struct cm_err *err)
{
	FILE *f = open_pem(conf->cert_file, "the certificate", err);

	if (!f)
		return err->code;
	(void)fclose(f);
	SSL_CTX_set_default_passwd_cb(ssl, cr_pem_no_password);
	if (SSL_CTX_use_certificate_chain_file(ssl, conf->cert_file) != 1)
		return cm_fail(err, CM_EPERM, "%s: not a PEM certificate (%s)", conf->cert_file,
			ERR_reason_error_string(ERR_peek_last_error()));
	return CM_OK;
}

static enum cm_rc load_own(SSL_CTX *ssl, const struct nt_tls_conf *conf, struct cm_err *err)
{
	enum cm_rc rc = load_cert(ssl, conf, err);

	return rc == CM_OK ? load_key(ssl, conf->key_file, conf->cert_file, err) : rc;
}

/* Did the last PEM read stop at the end of the file, and not at a fault? */
static bool pem_ended(void)
{
	unsigned long e = ERR_peek_last_error();

	return ERR_GET_LIB(e) == ERR_LIB_PEM && ERR_GET_REASON(e) == PEM_R_NO_START_LINE;
}

static enum cm_rc load_anchors(
	X509_STORE *store, const char *path, struct nt_tls_vouch *v, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;
	X509 *cert;
	FILE *f = open_pem(path, "the CA certificate", err);

	if (!f)
		return err->code;
	v->anchors = sk_X509_new_null();
	if (!v->anchors) {
		rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
		goto out;
	}
	ERR_clear_error();
	while ((cert = PEM_read_X509(f, NULL, cr_pem_no_password, NULL))) {
		if (X509_STORE_add_cert(store, cert) != 1 || sk_X509_push(v->anchors, cert) <= 0) {
			X509_free(cert);
			rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
			goto out;
		}
	}
	if (sk_X509_num(v->anchors) == 0 || !pem_ended())
		rc = cm_fail(err, CM_EPERM, "%s: not a file of PEM CA certificates", path);
out:
	(void)fclose(f);
	return rc;
}

static enum cm_rc load_crls(X509_STORE *store, const char *path, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;
	X509_CRL *crl;
	int n = 0;
	FILE *f = open_pem(path, "the revocation list", err);

	if (!f)
		return err->code;
	ERR_clear_error();
	while ((crl = PEM_read_X509_CRL(f, NULL, cr_pem_no_password, NULL))) {
		int added = X509_STORE_add_crl(store, crl);

		X509_CRL_free(crl);
		if (added != 1) {
			rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
			goto out;
		}
		n++;
	}
	if (n == 0 || !pem_ended())
		rc = cm_fail(err, CM_EPERM, "%s: not a file of PEM revocation lists", path);
out:
	(void)fclose(f);
	return rc;
}

static enum cm_rc load_trust(struct nt_tls_ctx *ctx, const struct nt_tls_conf *conf, struct cm_err *err)
{
	X509_STORE *store = SSL_CTX_get_cert_store(ctx->ssl);
	enum cm_rc rc;

	for (size_t i = 0; i < NT_TLS_TRUSTS && conf->trust[i].role != CR_ROLE_NONE; i++) {
		struct nt_tls_vouch *v = &ctx->vouch[i];

		ctx->n_vouch = i + 1;
		v->role = conf->trust[i].role;
		v->crl = conf->trust[i].crl_file;
		rc = load_anchors(store, conf->trust[i].ca_file, v, err);
		if (rc == CM_OK && v->crl)
			rc = load_crls(store, conf->trust[i].crl_file, err);
		if (rc != CM_OK)
			return rc;
	}
	if (ctx->n_vouch == 0)
		return cm_fail(err, CM_EINTERNAL, "TLS: no role is accepted from peers");
	return CM_OK;
}

static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
	unsigned in_len, void *user)
{
	size_t want = strlen(NT_TLS_ALPN);

	(void)ssl, (void)user;
	for (unsigned i = 0; i < in_len; i += in[i] + 1u) {
		if (in[i] == want && in_len - i > want && memcmp(in + i + 1, NT_TLS_ALPN, want) == 0) {
			*out = in + i + 1;
			*out_len = (unsigned char)want;
			return SSL_TLSEXT_ERR_OK;
		}
	}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* For a client without the ALPN extension OpenSSL does not call choose_alpn. */
static int on_client_hello(SSL *ssl, int *alert, void *user)
{
	const unsigned char *ext;
	size_t len;

	(void)user;
	if (CM_CHECKED("net.alpn") &&
		SSL_client_hello_get0_ext(
			ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &ext, &len) != 1) {
		struct nt_tls *t = SSL_get_app_data(ssl);

		(void)cm_fail(&t->why, CM_EPROTO, "the peer does not speak " NT_TLS_ALPN " (no ALPN)");
		*alert = SSL_AD_NO_APPLICATION_PROTOCOL;
		return SSL_CLIENT_HELLO_ERROR;
	}
	return SSL_CLIENT_HELLO_SUCCESS;
}

/* Offer X25519; and, if OpenSSL has it (from 3.5 on), X25519 with ML-KEM-768 before it (4588 of IANA's
 * groups), so that somebody who records the connection today cannot read it with a quantum computer later.
 * "*" puts a key share of each into the first message, so no HelloRetryRequest is needed, whichever of them
 * the peer has. */
static bool set_groups(SSL_CTX *ssl)
{
	return SSL_CTX_set1_groups_list(ssl, "*X25519MLKEM768:*X25519") == 1 ||
	       SSL_CTX_set1_groups_list(ssl, "X25519") == 1;
}

static enum cm_rc set_policy(struct nt_tls_ctx *ctx, struct cm_err *err)
{
	static const unsigned char alpn[] = "\x09" NT_TLS_ALPN;
	SSL_CTX *ssl = ctx->ssl;

	_Static_assert(sizeof alpn - 2 == 9, "the length byte before the ALPN name");
	if (SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) != 1 ||
		SSL_CTX_set_max_proto_version(ssl, TLS1_3_VERSION) != 1 || !set_groups(ssl) ||
		SSL_CTX_set_num_tickets(ssl, 0) != 1 || SSL_CTX_set_max_early_data(ssl, 0) != 1 ||
		SSL_CTX_set_recv_max_early_data(ssl, 0) != 1)
		return cm_fail(err, CM_EINTERNAL, "this OpenSSL has no TLS 1.3 with X25519");
	(void)SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
	(void)SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_max_cert_list(ssl, PEER_CHAIN_MAX);
	SSL_CTX_set_verify_depth(ssl, CHAIN_DEPTH);
	SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_cert_verify_callback(ssl, nt_tls_on_verify, ctx);
	if (ctx->server) {
		SSL_CTX_set_alpn_select_cb(ssl, choose_alpn, NULL);
		SSL_CTX_set_client_hello_cb(ssl, on_client_hello, NULL);
	} else if (SSL_CTX_set_alpn_protos(ssl, alpn, sizeof alpn - 1) != 0) {
		return cm_fail(err, CM_EINTERNAL, "TLS: out of memory");
	}
	return CM_OK;
}

enum cm_rc nt_tls_ctx_new(const struct nt_tls_conf *conf, struct nt_tls_ctx **out, struct cm_err *err)
{
	struct nt_tls_ctx *ctx = calloc(1, sizeof *ctx);
	enum cm_rc rc;

	*out = NULL;
	ERR_clear_error();
	if (!ctx)
		return cm_fail(err, CM_EINTERNAL, "TLS: out of memory");
	ctx->refs = 1;
	ctx->server = conf->server;
	ctx->ssl = SSL_CTX_new(conf->server ? TLS_server_method() : TLS_client_method());
	ctx->bio = span_bio();
	if (!ctx->ssl || !ctx->bio) {
		rc = cm_fail(err, CM_EINTERNAL, "TLS: out of memory");
		goto out;
	}
	rc = set_policy(ctx, err);
	if (rc == CM_OK)
		rc = load_own(ctx->ssl, conf, err);
	if (rc == CM_OK)
		rc = load_trust(ctx, conf, err);
out:
	ERR_clear_error();
	if (rc == CM_OK)
		*out = ctx;
	else
		nt_tls_ctx_drop(ctx);
	return rc;
}

/* ---- every fault ---- */

/* Certificate and key.  Without a certificate the key is read alone. */
static void say_own(SSL_CTX *ssl, const struct nt_tls_conf *conf, nt_tls_say_fn *say, void *user)
{
	bool whole = false;
	EVP_PKEY *key = NULL;
	struct cm_err why;
	enum cm_rc rc = CM_OK;

	if (conf->cert_file && !(whole = load_cert(ssl, conf, &why) == CM_OK))
		say(user, "tls.cert", &why);
	if (conf->key_file)
		rc = whole ? load_key(ssl, conf->key_file, conf->cert_file, &why)
			   : cr_pem_private_key(conf->key_file, CR_SECRET, &key, &why);
	if (rc != CM_OK)
		say(user, "tls.key", &why);
	EVP_PKEY_free(key);
}

/* The CAs and lists of one role.  All services have the same files. */
static void say_trust(X509_STORE *store, const struct nt_tls_trust *t, nt_tls_say_fn *say, void *user)
{
	bool clients = t->role == CR_ROLE_CLIENT;
	struct nt_tls_vouch v = { .anchors = NULL };
	struct cm_err why;

	if (t->ca_file && load_anchors(store, t->ca_file, &v, &why) != CM_OK)
		say(user, clients ? "tls.clients_ca" : "tls.services_ca", &why);
	if (t->crl_file && load_crls(store, t->crl_file, &why) != CM_OK)
		say(user, clients ? "tls.clients_crl" : "tls.services_crl", &why);
	sk_X509_pop_free(v.anchors, X509_free);
}

void nt_tls_faults(const struct nt_tls_conf *conf, nt_tls_say_fn *say, void *user)
{
	SSL_CTX *ssl = SSL_CTX_new(conf->server ? TLS_server_method() : TLS_client_method());
	bool services = false;
	struct cm_err why;

	if (!ssl) {
		(void)cm_fail(&why, CM_EINTERNAL, "TLS: out of memory");
		say(user, "tls", &why);
		return;
	}
	say_own(ssl, conf, say, user);
	for (size_t i = 0; i < NT_TLS_TRUSTS && conf->trust[i].role != CR_ROLE_NONE; i++) {
		if (conf->trust[i].role == CR_ROLE_CLIENT || !services)
			say_trust(SSL_CTX_get_cert_store(ssl), &conf->trust[i], say, user);
		services = services || conf->trust[i].role != CR_ROLE_CLIENT;
	}
	ERR_clear_error();
	SSL_CTX_free(ssl);
}

void nt_tls_ctx_drop(struct nt_tls_ctx *ctx)
{
	if (!ctx || --ctx->refs > 0)
		return;
	for (size_t i = 0; i < NT_TLS_TRUSTS; i++)
		sk_X509_pop_free(ctx->vouch[i].anchors, X509_free);
	SSL_CTX_free(ctx->ssl);
	BIO_meth_free(ctx->bio);
	free(ctx);
}

void nt_tls_ctx_free(struct nt_tls_ctx *ctx)
{
	nt_tls_ctx_drop(ctx);
}
