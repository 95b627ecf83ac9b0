/* cr_pki_sign.c - certifies keys that were made elsewhere, by their requests (cr_pki.h). */
#define _GNU_SOURCE /* tdestroy */
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/evp.h>

#include "cm_fault.h"
#include "cm_file.h"
#include "cr_hash.h"
#include "cr_pki_cert.h"
#include "cr_private_file.h"
#include "cr_private_many.h"

/* A key that has a certificate, and the file of that. */
struct known {
	uint8_t key[CR_HASH_LEN];
	char path[];
};

struct cr_pki_signer {
	struct cr_pki_subject given; /* its name is each request's own */
	char *hosts, *ca_dir;
	struct cr_pki_pair ca;
	void *known;                             /* tree of struct known */
	struct cr_private_many *records, *files; /* not handed out yet */
};

static enum cm_rc no_memory(struct cm_err *err)
{
	ERR_clear_error();
	return cm_fail(err, CM_EINTERNAL, "out of memory");
}

static int by_key(const void *a, const void *b)
{
	return memcmp(((const struct known *)a)->key, ((const struct known *)b)->key, CR_HASH_LEN);
}

/* SHA-256 of the key as certificates hold it. */
static enum cm_rc hash_of(EVP_PKEY *key, uint8_t out[CR_HASH_LEN], struct cm_err *err)
{
	uint8_t *der = NULL;
	int len = i2d_PUBKEY(key, &der);

	if (len <= 0)
		return no_memory(err);
	cr_sha256(der, (size_t)len, out);
	OPENSSL_free(der);
	return CM_OK;
}

static enum cm_rc remember(struct cr_pki_signer *s, EVP_PKEY *key, const char *path, struct cm_err *err)
{
	struct known *new = malloc(sizeof *new + strlen(path) + 1), **node;

	if (!new)
		return no_memory(err);
	strcpy(new->path, path);
	if (hash_of(key, new->key, err) != CM_OK) {
		free(new);
		return err->code;
	}
	node = tsearch(new, &s->known, by_key);
	if (!node || *node != new)
		free(new); /* the same key again, as a renewed certificate has it */
	return !node ? no_memory(err) : CM_OK;
}

static enum cm_rc on_kept(void *user, const char *path, X509 *kept, struct cm_err *err)
{
	EVP_PKEY *key = X509_get0_pubkey(kept);

	return !key ? cm_fail(err, CM_EDATA, "%s: its public key cannot be read", path)
		    : remember(user, key, path, err);
}

/* The keys of one CA's certificates; a CA that is not on this host has none here. */
static enum cm_rc learn(struct cr_pki_signer *s, const char *dir, enum cr_role role, struct cm_err *err)
{
	char *ca_dir = cm_file_join(dir, cr_pki_ca_of(role));
	char *path = !ca_dir ? NULL : cm_file_join(ca_dir, "ca.crt");
	X509 *ca = NULL;
	enum cm_rc rc = !path ? no_memory(err) : cr_pki_cert_load(path, &ca, err);

	if (rc == CM_OK)
		rc = cr_pki_issued_each(ca_dir, ca, on_kept, s, err);
	X509_free(ca);
	free(path);
	free(ca_dir);
	return rc == CM_ENOINPUT ? CM_OK : rc;
}

enum cm_rc cr_pki_signer_new(const char *dir, enum cr_role role, const char *hosts, uint32_t devices,
	int days, struct cr_pki_signer **out, struct cm_err *err)
{
	struct cr_pki_signer *s = calloc(1, sizeof *s);
	enum cm_rc rc;

	if (!s)
		return no_memory(err);
	s->given = (struct cr_pki_subject){ .name = "any", .role = role, .devices = devices, .days = days };
	s->records = cr_private_many_new();
	s->files = cr_private_many_new();
	s->given.hosts = s->hosts = !hosts ? NULL : strdup(hosts);
	if (!s->records || !s->files || (hosts && !s->hosts))
		rc = no_memory(err);
	else
		rc = cr_pki_subject_check(&s->given, err);
	if (rc == CM_OK)
		rc = cr_pki_ca_load(dir, role, days, &s->ca, &s->ca_dir, err);
	if (rc == CM_OK)
		rc = cr_pki_issued_begin(s->ca_dir, err);
	if (rc == CM_OK)
		rc = learn(s, dir, CR_ROLE_CLIENT, err);
	if (rc == CM_OK)
		rc = learn(s, dir, CR_ROLE_SHUFFLER, err);
	if (rc == CM_OK)
		*out = s;
	else
		cr_pki_signer_free(s);
	return rc;
}

void cr_pki_signer_free(struct cr_pki_signer *s)
{
	if (!s)
		return;
	tdestroy(s->known, free);
	cr_private_many_free(s->records);
	cr_private_many_free(s->files);
	cr_pki_pair_fini(&s->ca);
	free(s->hosts);
	free(s->ca_dir);
	free(s);
}

/* One key in two certificates would be one participant under two names. */
static enum cm_rc check_new(const struct cr_pki_signer *s, EVP_PKEY *key, struct cm_err *err)
{
	struct known asked;
	struct known *const *found;

	if (hash_of(key, asked.key, err) != CM_OK)
		return err->code;
	found = tfind(&asked, &s->known, by_key);
	return !found || !CM_CHECKED("pki.request_twice")
		       ? CM_OK
		       : cm_fail(err, CM_EPERM, "its key has a certificate already: %s", (*found)->path);
}

enum cm_rc cr_pki_signer_hand_out(struct cr_pki_signer *s, struct cm_err *err)
{
	/* Records first: a certificate that is not recorded is not revoked with its key. */
	enum cm_rc rc = cr_private_many_commit(s->records, err);

	if (rc == CM_OK && (rc = cr_private_many_commit(s->files, err)) != CM_OK)
		cr_private_many_undo(s->records);
	cr_private_many_free(s->records);
	cr_private_many_free(s->files);
	s->records = cr_private_many_new();
	s->files = cr_private_many_new();
	return rc == CM_OK && (!s->records || !s->files) ? no_memory(err) : rc;
}

/* The certificate of this key, to the file `path`. */
static enum cm_rc certify(struct cr_pki_signer *s, const struct cr_pki_subject *given, EVP_PKEY *key,
	const char *path, struct cm_err *err)
{
	enum cm_rc rc = cr_pki_subject_check(given, err);
	X509 *cert = NULL;
	struct stat st;

	if (rc == CM_OK)
		rc = check_new(s, key, err);
	if (rc == CM_OK && lstat(path, &st) == 0)
		rc = cm_fail(err, CM_ECREATE, "%s is there already", path);
	if (rc == CM_OK)
		rc = cr_pki_cert_make(given, key, &s->ca, &cert, err);
	if (rc == CM_OK)
		rc = remember(s, key, path, err);
	/* In this order: where the second fails a record is too many, and no certificate without one. */
	if (rc == CM_OK)
		rc = cr_pki_issued_add(s->records, s->ca_dir, cert, err);
	if (rc == CM_OK)
		rc = cr_pki_cert_add(s->files, cert, path, err);
	X509_free(cert);
	return rc;
}

enum cm_rc cr_pki_signer_sign(struct cr_pki_signer *s, const char *request_path, const char *name,
	const char *out_dir, struct cm_err *err)
{
	struct cr_pki_subject given = s->given;
	char *path = cr_private_path(out_dir, name, ".crt");
	EVP_PKEY *key = NULL;
	enum cm_rc rc = !path ? no_memory(err) : cr_pki_request_load(request_path, &given, &key, err);

	given.name = name;
	if (rc == CM_OK && certify(s, &given, key, path, err) != CM_OK)
		rc = cm_context(err, "%s", request_path);
	EVP_PKEY_free(key);
	free(path);
	return rc;
}
