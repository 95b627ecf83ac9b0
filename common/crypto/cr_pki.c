/* cr_pki.c - reads a certificate: its file, its holder's identity, and facts about it for people. */
#include "cr_pki.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "cm_buf.h"
#include "cm_fault.h"
#include "cr_hash.h"
#include "cr_pem.h"
#include "cr_pki_cert.h"
#include "cr_private_file.h"

#define MAX_PEM     65536u
#define ROLE_URI    "tombola:role:"
#define DEVICES_URI "tombola:devices:"

static const char *const role_names[] = {
	[CR_ROLE_NONE] = "none",
	[CR_ROLE_CLIENT] = "client",
	[CR_ROLE_SHUFFLER] = "shuffler",
	[CR_ROLE_ANALYZER] = "analyzer",
	[CR_ROLE_INTAKE] = "intake",
};

const char *cr_role_name(enum cr_role role)
{
	return (unsigned)role < sizeof role_names / sizeof role_names[0] ? role_names[role] : "none";
}

bool cr_role_listens(enum cr_role role)
{
	return role == CR_ROLE_SHUFFLER || role == CR_ROLE_INTAKE;
}

static enum cr_role parse_role(const char *name, size_t len)
{
	for (enum cr_role r = CR_ROLE_CLIENT; r <= CR_ROLE_INTAKE; r++)
		if (strlen(role_names[r]) == len && memcmp(role_names[r], name, len) == 0)
			return r;
	return CR_ROLE_NONE;
}

enum cr_role cr_role_parse(const char *name)
{
	return parse_role(name, strlen(name));
}

/* Read a decimal 1..CR_PKI_MAX_DEVICES without leading zeros; 0 for any other text. */
static uint32_t parse_devices(const char *text, size_t len)
{
	uint32_t n = 0;

	if (len == 0 || len > 8 || text[0] == '0')
		return 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		n = n * 10 + (uint32_t)(text[i] - '0');
	}
	return n <= CR_PKI_MAX_DEVICES ? n : 0;
}

/* The facts in the URIs read so far. */
struct claims {
	unsigned roles, counts; /* how many URIs of each kind were read */
	enum cr_role role;
	uint32_t devices;
};

/* Read one URI, which need not end in NUL and may contain NULs. */
static void read_uri(const char *uri, size_t len, struct claims *c)
{
	const size_t role_at = sizeof ROLE_URI - 1, devices_at = sizeof DEVICES_URI - 1;

	if (len >= role_at && memcmp(uri, ROLE_URI, role_at) == 0) {
		c->roles++;
		c->role = parse_role(uri + role_at, len - role_at);
	} else if (len >= devices_at && memcmp(uri, DEVICES_URI, devices_at) == 0) {
		c->counts++;
		c->devices = parse_devices(uri + devices_at, len - devices_at);
	}
}

/* Read the alternative names.  Returns false when the extension occurs more than once or cannot be
 * parsed. */
static bool read_names(const STACK_OF(X509_EXTENSION) * extensions, struct claims *c)
{
	int critical;
	GENERAL_NAMES *names = X509V3_get_d2i(extensions, NID_subject_alt_name, &critical, NULL);

	if (!names)
		return critical == -1;
	for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);

		if (name->type == GEN_URI)
			read_uri((const char *)ASN1_STRING_get0_data(name->d.uniformResourceIdentifier),
				(size_t)ASN1_STRING_length(name->d.uniformResourceIdentifier), c);
	}
	GENERAL_NAMES_free(names);
	return true;
}

/* Copy what fits, and replace bytes that could disturb a log by '?'.  NULL counts as the empty text. */
static void copy_printable(const ASN1_STRING *text, char *out, size_t size)
{
	size_t n = !text ? 0 : (size_t)ASN1_STRING_length(text);

	if (n > size - 1)
		n = size - 1;
	for (size_t i = 0; i < n; i++) {
		uint8_t c = ASN1_STRING_get0_data(text)[i];

		out[i] = '?';
		if (c >= ' ' && c < 127 && c != '"' && c != '\\')
			out[i] = (char)c;
	}
	out[n] = '\0';
}

static void read_common_name(X509 *cert, char out[65])
{
	X509_NAME *subject = X509_get_subject_name(cert);
	int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);

	copy_printable(at < 0 ? NULL : X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)), out, 65);
}

static enum cm_rc read_key_hash(X509 *cert, uint8_t out[CR_HASH_LEN], struct cm_err *err)
{
	uint8_t *der = NULL;
	int len = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(cert), &der);

	if (len <= 0)
		return cm_fail(err, CM_EPERM, "the certificate's public key cannot be read");
	cr_sha256(der, (size_t)len, out);
	OPENSSL_free(der);
	return CM_OK;
}

enum cm_rc cr_identity_from_cert(X509 *cert, struct cr_identity *out, struct cm_err *err)
{
	struct claims c = { .role = CR_ROLE_NONE };
	struct cr_identity id = { .devices = 1 };

	ERR_clear_error();
	if (!read_names(X509_get0_extensions(cert), &c))
		return cm_fail(err, CM_EPERM, "the certificate's alternative names cannot be read");
	if (CM_CHECKED("pki.role") && (c.roles != 1 || c.role == CR_ROLE_NONE))
		return cm_fail(err, CM_EPERM, "the certificate names %s",
			c.roles == 0  ? "no tombola:role"
			: c.roles > 1 ? "more than one tombola:role"
				      : "an unknown tombola:role");
	if (c.counts > 1 || (c.counts == 1 && (c.devices == 0 || c.role != CR_ROLE_CLIENT)))
		return cm_fail(
			err, CM_EPERM, "the certificate's tombola:devices is malformed or not for its role");
	id.role = c.role;
	if (c.counts == 1)
		id.devices = c.devices;
	read_common_name(cert, id.name);
	if (read_key_hash(cert, id.key_hash, err) != CM_OK)
		return err->code;
	*out = id;
	return CM_OK;
}

enum cm_rc cr_pki_request_claims(X509_REQ *request, enum cr_role *role, uint32_t *devices, struct cm_err *err)
{
	STACK_OF(X509_EXTENSION) *extensions = X509_REQ_get_extensions(request);
	struct claims c = { .role = CR_ROLE_NONE };
	bool good = read_names(extensions, &c);

	sk_X509_EXTENSION_pop_free(extensions, X509_EXTENSION_free);
	ERR_clear_error();
	if (!good)
		return cm_fail(err, CM_EPERM, "the alternative names that it asks for cannot be read");
	if (c.roles > 1 || (c.roles == 1 && c.role == CR_ROLE_NONE))
		return cm_fail(err, CM_EPERM, "it asks for %s",
			c.roles > 1 ? "more than one tombola:role" : "an unknown tombola:role");
	if (c.counts > 1 || (c.counts == 1 && c.devices == 0))
		return cm_fail(err, CM_EPERM, "the tombola:devices that it asks for is malformed");
	*role = c.role;
	*devices = c.devices;
	return CM_OK;
}

enum cm_rc cr_pki_cert_load(const char *path, X509 **out, struct cm_err *err)
{
	uint8_t *pem = malloc(MAX_PEM);
	BIO *bio = NULL;
	enum cm_rc rc;
	size_t n;

	if (!pem)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
	rc = cr_private_read(path, CR_ANYBODYS, pem, MAX_PEM, &n, err);
	if (rc != CM_OK)
		goto out;
	bio = BIO_new_mem_buf(pem, (int)n);
	if (!bio)
		rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", path);
	else if (!(*out = PEM_read_bio_X509(bio, NULL, cr_pem_no_password, NULL)))
		rc = cm_fail(err, CM_EDATA, "%s: no certificate in PEM form", path);
	ERR_clear_error();
out:
	BIO_free(bio);
	free(pem);
	return rc;
}

static void print_name(const X509_NAME *name, char *out, size_t size)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;
	long n = 0;

	if (bio && X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253) >= 0)
		n = BIO_get_mem_data(bio, &text);
	if (n < 0)
		n = 0;
	if ((size_t)n >= size)
		n = (long)size - 1;
	if (n > 0)
		memcpy(out, text, (size_t)n);
	out[n] = '\0';
	BIO_free(bio);
}

/* Append one host to a list of `size` bytes; a list that is full ends in ",...". */
static void add_host(char *list, size_t size, const char *host)
{
	static const char more[] = ",...";
	size_t used = strlen(list), room = size - sizeof more - used;

	if (used >= sizeof more && strcmp(list + used - (sizeof more - 1), more) == 0)
		return;
	if (strlen(host) + 1 > room)
		host = more + 1;
	(void)snprintf(list + used, size - used, "%s%s", used > 0 ? "," : "", host);
}

/* Write the text of a DNS name or an address; false for other names. */
static bool host_text(const GENERAL_NAME *name, char *out, size_t size)
{
	if (name->type == GEN_DNS) {
		copy_printable(name->d.dNSName, out, size);
		return true;
	}
	if (name->type != GEN_IPADD)
		return false;
	int len = ASN1_STRING_length(name->d.iPAddress);

	return (len == 4 || len == 16) &&
	       inet_ntop(len == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name->d.iPAddress), out,
		       (socklen_t)size);
}

static void read_hosts(X509 *cert, char *out, size_t size)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);

	for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
		char host[256];

		if (host_text(sk_GENERAL_NAME_value(names, i), host, sizeof host))
			add_host(out, size, host);
	}
	GENERAL_NAMES_free(names);
}

/* Read a time as Unix seconds; false for an invalid time. */
static bool read_time(const ASN1_TIME *t, int64_t *out)
{
	struct tm tm;

	if (ASN1_TIME_to_tm(t, &tm) != 1)
		return false;
	*out = (int64_t)timegm(&tm);
	return true;
}

enum cm_rc cr_pki_show(const char *cert_path, struct cr_pki_info *out, struct cm_err *err)
{
	struct cr_pki_info info = { .identity = { .devices = 1 } };
	uint8_t digest[CR_HASH_LEN];
	X509 *cert = NULL;
	struct cm_err none;
	enum cm_rc rc;

	rc = cr_pki_cert_load(cert_path, &cert, err);
	if (rc != CM_OK)
		return rc;
	if (cr_identity_from_cert(cert, &info.identity, &none) != CM_OK) {
		read_common_name(cert, info.identity.name);
		rc = read_key_hash(cert, info.identity.key_hash, err);
	}
	info.is_ca = X509_check_ca(cert) == 1;
	print_name(X509_get_subject_name(cert), info.subject, sizeof info.subject);
	print_name(X509_get_issuer_name(cert), info.issuer, sizeof info.issuer);
	read_hosts(cert, info.hosts, sizeof info.hosts);
	if (rc == CM_OK && (X509_digest(cert, EVP_sha256(), digest, NULL) != 1 ||
				   !read_time(X509_get0_notBefore(cert), &info.not_before) ||
				   !read_time(X509_get0_notAfter(cert), &info.not_after)))
		rc = cm_fail(err, CM_EDATA, "%s: a malformed certificate", cert_path);
	X509_free(cert);
	ERR_clear_error();
	if (rc != CM_OK)
		return rc;
	cm_hex(digest, sizeof digest, info.sha256);
	*out = info;
	return CM_OK;
}
