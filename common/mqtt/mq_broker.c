/* mq_broker.c - loads the password and the certificates that a connection to a broker needs. */
#include "mq_broker.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "cm_fault.h"
#include "cm_owned.h"
#include "cr_pem.h"
#include "cr_private_file.h"
#include "cr_secret.h"
#include "nt_addr.h"

enum cm_rc mq_password(const struct mq_broker *conf, char out[MQ_PASSWORD_MAX + 1], struct cm_err *err)
{
	const char *path = conf->password_file;
	size_t n = 0, line;
	enum cm_rc rc = cr_private_read(path, CM_CHECKED("mqtt.password_mode") ? CR_SECRET : CR_OURS,
		(uint8_t *)out, MQ_PASSWORD_MAX, &n, err);

	if (rc != CM_OK)
		return rc;
	out[n] = '\0';
	line = strcspn(out, "\r\n");
	if (line == 0 || line + strspn(out + line, "\r\n") != n)
		rc = cm_fail(err, CM_EDATA, "%s: not a password in one line", path);
	out[line] = '\0';
	return rc;
}

static enum cm_rc tls_fault(struct cm_err *err, const char *path)
{
	return cm_fail(err, CM_ECONFIG, "%s: %s", path, ERR_reason_error_string(ERR_peek_last_error()));
}

static enum cm_rc load_own(SSL_CTX *ctx, const struct mq_broker *conf, struct cm_err *err)
{
	EVP_PKEY *key = NULL;
	enum cm_rc rc = cm_owned_path(conf->cert, err);

	if (rc != CM_OK)
		return rc;
	SSL_CTX_set_default_passwd_cb(ctx, cr_pem_no_password);
	if (SSL_CTX_use_certificate_chain_file(ctx, conf->cert) != 1)
		return tls_fault(err, conf->cert);
	rc = cr_pem_private_key(conf->key, CR_SECRET, &key, err);
	if (rc == CM_OK && (SSL_CTX_use_PrivateKey(ctx, key) != 1 || SSL_CTX_check_private_key(ctx) != 1))
		rc = cm_fail(err, CM_EPERM, "%s: this key does not belong to certificate %s", conf->key,
			conf->cert);
	EVP_PKEY_free(key);
	return rc;
}

static int verify(X509_STORE_CTX *chain, void *refused)
{
	int good = X509_verify_cert(chain);

	if (refused)
		*(int *)refused = good == 1 ? X509_V_OK : X509_STORE_CTX_get_error(chain);
	return good;
}

/* libmosquitto dials an address and would send that as the server name; send the host's name instead. */
static void name_server(const SSL *ssl, int where, int ret)
{
	char *host = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	char *name = nt_addr_numeric(host) ? NULL : host;

	(void)ret;
	if ((where & SSL_CB_HANDSHAKE_START) != 0)
		(void)SSL_set_tlsext_host_name((SSL *)(uintptr_t)ssl, name);
}

enum cm_rc mq_tls(const struct mq_broker *conf, int *refused, SSL_CTX **out, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;
	X509_VERIFY_PARAM *who;
	SSL_CTX *ctx;

	*out = NULL;
	if (!conf->ca)
		return CM_OK;
	ERR_clear_error();
	ctx = SSL_CTX_new(TLS_client_method());
	if (!ctx)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	who = SSL_CTX_get0_param(ctx);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_cert_verify_callback(ctx, verify, refused);
	(void)SSL_CTX_set_app_data(ctx, conf->host);
	SSL_CTX_set_info_callback(ctx, name_server);
	if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
		(nt_addr_numeric(conf->host) ? X509_VERIFY_PARAM_set1_ip_asc(who, conf->host)
					     : X509_VERIFY_PARAM_set1_host(who, conf->host, 0)) != 1)
		rc = tls_fault(err, conf->host);
	else if ((rc = cm_owned_path(conf->ca, err)) != CM_OK)
		;
	else if (SSL_CTX_load_verify_file(ctx, conf->ca) != 1)
		rc = tls_fault(err, conf->ca);
	else if (conf->cert && conf->key)
		rc = load_own(ctx, conf, err);
	ERR_clear_error();
	if (rc != CM_OK) {
		SSL_CTX_free(ctx);
		return rc;
	}
	*out = ctx;
	return CM_OK;
}

bool mq_is_loopback(const char *host)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, host, &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6);
	return strcmp(host, "localhost") == 0;
}

enum cm_rc mq_check(const struct mq_broker *conf, struct cm_err *err)
{
	char password[MQ_PASSWORD_MAX + 1];
	SSL_CTX *ctx = NULL;
	enum cm_rc rc = conf->password_file ? mq_password(conf, password, err) : CM_OK;

	cr_wipe(password, sizeof password);
	if (rc == CM_OK)
		rc = mq_tls(conf, NULL, &ctx, err);
	SSL_CTX_free(ctx);
	return rc;
}
