/* certs.c - certificates for tests, made with libcrypto alone. */
#include "certs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#define HOUR_S 3600L

static void need(bool ok, const char *what)
{
	if (!ok) {
		(void)fprintf(stderr, "certs: cannot %s\n", what);
		abort();
	}
}

void certs_init(struct certs *c)
{
	memset(c, 0, sizeof *c);
	(void)snprintf(c->dir, sizeof c->dir, "/tmp/tombola-certs-XXXXXX");
	need(mkdtemp(c->dir) != NULL, "make a directory");
}

void certs_fini(struct certs *c)
{
	DIR *d = opendir(c->dir);
	const struct dirent *e;
	char path[512];

	need(d != NULL, "open the directory");
	while ((e = readdir(d))) {
		(void)snprintf(path, sizeof path, "%s/%s", c->dir, e->d_name);
		(void)unlink(path);
	}
	(void)closedir(d);
	(void)rmdir(c->dir);
}

const char *certs_path(struct certs *c, const char *name, const char *suffix)
{
	char path[128];

	(void)snprintf(path, sizeof path, "%s/%s.%s", c->dir, name, suffix);
	for (unsigned i = 0; i < c->n_paths; i++) {
		if (strcmp(c->path[i], path) == 0)
			return c->path[i];
	}
	need(c->n_paths < sizeof c->path / sizeof c->path[0], "remember so many paths");
	memcpy(c->path[c->n_paths], path, sizeof path);
	return c->path[c->n_paths++];
}

static FILE *open_for(struct certs *c, const char *name, const char *suffix, const char *mode)
{
	FILE *f = fopen(certs_path(c, name, suffix), mode);

	need(f != NULL, "open a file");
	return f;
}

static X509 *read_cert(struct certs *c, const char *name)
{
	FILE *f = open_for(c, name, "crt", "r");
	X509 *cert = PEM_read_X509(f, NULL, NULL, NULL);

	need(cert != NULL, "read a certificate");
	(void)fclose(f);
	return cert;
}

static EVP_PKEY *read_key(struct certs *c, const char *name)
{
	FILE *f = open_for(c, name, "key", "r");
	EVP_PKEY *key = PEM_read_PrivateKey(f, NULL, NULL, NULL);

	need(key != NULL, "read a key");
	(void)fclose(f);
	return key;
}

static void write_pair(struct certs *c, const char *name, X509 *cert, EVP_PKEY *key)
{
	FILE *f = open_for(c, name, "crt", "w");

	need(PEM_write_X509(f, cert) == 1 && fclose(f) == 0, "write a certificate");
	f = open_for(c, name, "key", "w");
	need(fchmod(fileno(f), 0600) == 0, "protect a key");
	need(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1 && fclose(f) == 0, "write a key");
}

static void extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	X509V3_set_ctx_nodb(&ctx);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	need(ext && X509_add_ext(cert, ext, -1) == 1, "add an extension");
	X509_EXTENSION_free(ext);
}

static X509 *blank(const char *cn, EVP_PKEY *key, long from_s, long to_s)
{
	X509 *cert = X509_new();
	uint64_t serial = 0;

	need(cert && RAND_bytes((unsigned char *)&serial, sizeof serial) == 1, "make a certificate");
	need(ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial >> 1) == 1 &&
			X509_set_version(cert, 2) == 1 && X509_set_pubkey(cert, key) == 1 &&
			X509_gmtime_adj(X509_getm_notBefore(cert), from_s) &&
			X509_gmtime_adj(X509_getm_notAfter(cert), to_s) &&
			X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
				(const unsigned char *)cn, -1, -1, 0) == 1,
		"fill a certificate");
	return cert;
}

void certs_ca(struct certs *c, const char *name)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = blank(name, key, -DAY_S, DAY_S);

	need(X509_set_issuer_name(cert, X509_get_subject_name(cert)) == 1, "name an issuer");
	extend(cert, cert, NID_basic_constraints, "critical,CA:TRUE");
	extend(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign");
	extend(cert, cert, NID_subject_key_identifier, "hash");
	need(X509_sign(cert, key, EVP_sha256()) > 0, "sign a CA");
	write_pair(c, name, cert, key);
	X509_free(cert);
	EVP_PKEY_free(key);
}

static void name_leaf(X509 *cert, X509 *issuer, const struct certs_leaf *leaf)
{
	char san[512] = "";
	size_t at = 0;
	const struct {
		const char *type, *value;
	} name[] = { { "URI", leaf->uri[0] }, { "URI", leaf->uri[1] }, { "DNS", leaf->dns },
		{ "IP", leaf->ip } };

	for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
		if (name[i].value)
			at += (size_t)snprintf(san + at, sizeof san - at, "%s%s:%s", at > 0 ? "," : "",
				name[i].type, name[i].value);
	}
	if (at > 0)
		extend(cert, issuer, NID_subject_alt_name, san);
}

void certs_issue(struct certs *c, const struct certs_leaf *leaf)
{
	bool now = leaf->from_s == 0 && leaf->to_s == 0;
	EVP_PKEY *key = EVP_EC_gen("P-256"), *ca_key = leaf->ca ? read_key(c, leaf->ca) : NULL;
	X509 *cert = blank(leaf->cn, key, now ? -HOUR_S : leaf->from_s, now ? HOUR_S : leaf->to_s);
	X509 *ca = leaf->ca ? read_cert(c, leaf->ca) : NULL;
	X509 *issuer = ca ? ca : cert;

	need(X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1, "name an issuer");
	extend(cert, issuer, NID_basic_constraints, "critical,CA:FALSE");
	if (leaf->client_eku || leaf->server_eku)
		extend(cert, issuer, NID_ext_key_usage,
			leaf->client_eku && leaf->server_eku ? "clientAuth,serverAuth"
			: leaf->client_eku                   ? "clientAuth"
							     : "serverAuth");
	if (leaf->padding > 0) {
		char *text = malloc(leaf->padding + 1);

		need(text != NULL, "pad");
		memset(text, 'x', leaf->padding);
		text[leaf->padding] = '\0';
		extend(cert, issuer, NID_netscape_comment, text);
		free(text);
	}
	name_leaf(cert, issuer, leaf);
	need(X509_sign(cert, ca_key ? ca_key : key, EVP_sha256()) > 0, "sign a certificate");
	write_pair(c, leaf->cn, cert, key);
	X509_free(cert);
	X509_free(ca);
	EVP_PKEY_free(key);
	EVP_PKEY_free(ca_key);
}

void certs_make(struct certs *c, const struct certs_leaf *leaf, size_t n)
{
	certs_init(c);
	for (size_t i = 0; i < n; i++) {
		if (leaf[i].ca && access(certs_path(c, leaf[i].ca, "crt"), F_OK) != 0)
			certs_ca(c, leaf[i].ca);
		certs_issue(c, &leaf[i]);
	}
}

void certs_crl(struct certs *c, const char *ca_name, const char *const *revoked, long from_s, long to_s)
{
	X509 *ca = read_cert(c, ca_name);
	EVP_PKEY *key = read_key(c, ca_name);
	X509_CRL *crl = X509_CRL_new();
	ASN1_TIME *from = X509_gmtime_adj(NULL, from_s), *to = X509_gmtime_adj(NULL, to_s);
	FILE *f;

	need(crl && X509_CRL_set_version(crl, 1) == 1 &&
			X509_CRL_set_issuer_name(crl, X509_get_subject_name(ca)) == 1 &&
			X509_CRL_set1_lastUpdate(crl, from) == 1 && X509_CRL_set1_nextUpdate(crl, to) == 1,
		"make a revocation list");
	for (; *revoked; revoked++) {
		X509 *cert = read_cert(c, *revoked);
		X509_REVOKED *entry = X509_REVOKED_new();

		need(entry && X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(cert)) == 1 &&
				X509_REVOKED_set_revocationDate(entry, from) == 1 &&
				X509_CRL_add0_revoked(crl, entry) == 1,
			"revoke");
		X509_free(cert);
	}
	need(X509_CRL_sort(crl) == 1 && X509_CRL_sign(crl, key, EVP_sha256()) > 0, "sign a revocation list");
	f = open_for(c, ca_name, "crl", "w");
	need(PEM_write_X509_CRL(f, crl) == 1 && fclose(f) == 0, "write a revocation list");
	ASN1_TIME_free(from);
	ASN1_TIME_free(to);
	X509_CRL_free(crl);
	X509_free(ca);
	EVP_PKEY_free(key);
}

void certs_text(struct certs *c, const char *name, const char *suffix, const char *text)
{
	FILE *f = open_for(c, name, suffix, "w");

	need(fputs(text, f) >= 0 && fclose(f) == 0, "write a file");
}

void certs_join(struct certs *c, const char *name, const char *suffix, const char *first, const char *second)
{
	FILE *out = open_for(c, name, suffix, "w");
	const char *part[2] = { first, second };

	for (int i = 0; i < 2; i++) {
		FILE *in = fopen(part[i], "r");
		char buf[4096];
		size_t n;

		need(in != NULL, "read a file to join");
		while ((n = fread(buf, 1, sizeof buf, in)) > 0)
			need(fwrite(buf, 1, n, out) == n, "join files");
		(void)fclose(in);
	}
	need(fclose(out) == 0, "join files");
}
