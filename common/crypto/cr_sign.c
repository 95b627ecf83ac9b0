/* cr_sign.c - Ed25519 keys in PEM files, signatures separated by purpose. */
#include "cr_sign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "cm_buf.h"
#include "cm_fault.h"
#include "cr_pem.h"
#include "cr_private_file.h"

#define MAX_PEM  4096u
#define SEED_LEN 32u

struct cr_signer {
	EVP_PKEY *key;
};

struct cr_verifier {
	EVP_PKEY *key;
};

static enum cm_rc load_public(const char *path, EVP_PKEY **out, struct cm_err *err)
{
	uint8_t pem[MAX_PEM];
	BIO *bio = NULL;
	enum cm_rc rc;
	size_t n;

	rc = cr_private_read(path, CR_OURS, pem, sizeof pem, &n, err);
	if (rc != CM_OK)
		return rc;
	bio = BIO_new_mem_buf(pem, (int)n);
	if (bio)
		*out = PEM_read_bio_PUBKEY(bio, NULL, cr_pem_no_password, NULL);
	BIO_free(bio);
	return CM_OK;
}

static enum cm_rc load(const char *path, int secret, EVP_PKEY **out, struct cm_err *err)
{
	EVP_PKEY *key = NULL;
	enum cm_rc rc =
		secret ? cr_pem_private_key(path, CM_CHECKED("sign.mode") ? CR_SECRET : CR_OURS, &key, err)
		       : load_public(path, &key, err);

	if (rc == CM_OK && (!key || !EVP_PKEY_is_a(key, "ED25519")))
		rc = cm_fail(err, CM_EDATA, "%s: no Ed25519 %s key in PEM form", path,
			secret ? "private" : "public");
	ERR_clear_error();
	if (rc == CM_OK)
		*out = key;
	else
		EVP_PKEY_free(key);
	return rc;
}

enum cm_rc cr_signer_load(const char *path, struct cr_signer **out, struct cm_err *err)
{
	struct cr_signer *s = calloc(1, sizeof *s);
	enum cm_rc rc;

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = load(path, 1, &s->key, err);
	if (rc == CM_OK)
		*out = s;
	else
		free(s);
	return rc;
}

enum cm_rc cr_verifier_load(const char *path, struct cr_verifier **out, struct cm_err *err)
{
	struct cr_verifier *v = calloc(1, sizeof *v);
	enum cm_rc rc;

	if (!v)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = load(path, 0, &v->key, err);
	if (rc == CM_OK)
		*out = v;
	else
		free(v);
	return rc;
}

void cr_signer_free(struct cr_signer *s)
{
	if (!s)
		return;
	EVP_PKEY_free(s->key); /* wipes the private half */
	free(s);
}

void cr_verifier_free(struct cr_verifier *v)
{
	if (!v)
		return;
	EVP_PKEY_free(v->key);
	free(v);
}

enum cm_rc cr_sign_keygen(const char *private_path, const char *public_path, struct cm_err *err)
{
	BIO *private_pem = BIO_new(BIO_s_secmem()), *public_pem = BIO_new(BIO_s_mem());
	uint8_t seed[SEED_LEN];
	EVP_PKEY *key = NULL;
	struct cr_rng rng;
	enum cm_rc rc;

	rc = cr_rng_system(&rng, err);
	if (rc != CM_OK)
		goto out;
	rng.fill(rng.ctx, seed, sizeof seed);
	key = EVP_PKEY_new_raw_private_key_ex(NULL, "ED25519", NULL, seed, sizeof seed);
	explicit_bzero(seed, sizeof seed);
	if (!private_pem || !public_pem || !key ||
		PEM_write_bio_PKCS8PrivateKey(private_pem, key, NULL, NULL, 0, NULL, NULL) != 1 ||
		PEM_write_bio_PUBKEY(public_pem, key) != 1) {
		rc = cm_fail(err, CM_EINTERNAL, "libcrypto cannot make an Ed25519 key (out of memory?)");
		goto out;
	}
	/* Write the public file first: a private key without its public half would be the worse
	 * leftover. */
	rc = cr_pem_create(public_path, public_pem, 0644, err);
	if (rc == CM_OK) {
		rc = cr_pem_create(private_path, private_pem, 0600, err);
		if (rc != CM_OK) {
			struct cm_err ignored;

			(void)!cr_private_destroy(public_path, &ignored);
		}
	}
out:
	EVP_PKEY_free(key);
	BIO_free(private_pem);
	BIO_free(public_pem);
	return rc;
}

/* Build purpose || 0x00 || bytes.  Ed25519 hashes the message twice, so all of it must be in memory. */
static enum cm_rc frame(
	struct cm_buf *b, const char *purpose, const void *bytes, size_t len, struct cm_err *err)
{
	cm_buf_init(b, SIZE_MAX);
	if (*purpose == '\0')
		return cm_fail(err, CM_EINTERNAL, "a signature needs a purpose");
	if (cm_buf_put(b, purpose, strlen(purpose) + 1) != CM_OK || cm_buf_put(b, bytes, len) != CM_OK)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	return CM_OK;
}

bool cr_signer_is(const struct cr_signer *s, const struct cr_verifier *v)
{
	return EVP_PKEY_eq(s->key, v->key) == 1;
}

bool cr_verifier_is(const struct cr_verifier *v, const struct cr_verifier *other)
{
	return EVP_PKEY_eq(v->key, other->key) == 1;
}

enum cm_rc cr_sign(const struct cr_signer *s, const char *purpose, const void *bytes, size_t len,
	uint8_t signature[CR_SIGN_LEN], struct cm_err *err)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t signature_len = CR_SIGN_LEN;
	struct cm_buf message;
	enum cm_rc rc;

	rc = frame(&message, purpose, bytes, len, err);
	if (rc == CM_OK &&
		(!ctx || EVP_DigestSignInit(ctx, NULL, NULL, NULL, s->key) != 1 ||
			EVP_DigestSign(ctx, signature, &signature_len, message.data, message.len) != 1 ||
			signature_len != CR_SIGN_LEN))
		rc = cm_fail(err, CM_EINTERNAL, "libcrypto cannot sign (out of memory?)");
	EVP_MD_CTX_free(ctx);
	cm_buf_fini(&message);
	return rc;
}

enum cm_rc cr_verify(const struct cr_verifier *v, const char *purpose, const void *bytes, size_t len,
	const uint8_t signature[CR_SIGN_LEN], struct cm_err *err)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	struct cm_buf message;
	enum cm_rc rc;

	rc = frame(&message, purpose, bytes, len, err);
	if (rc == CM_OK && (!ctx || EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, v->key) != 1))
		rc = cm_fail(err, CM_EINTERNAL, "libcrypto cannot verify (out of memory?)");
	/* libcrypto does not report that memory ran out; malloc's errno does. */
	errno = 0;
	if (rc == CM_OK && EVP_DigestVerify(ctx, signature, CR_SIGN_LEN, message.data, message.len) != 1 &&
		CM_CHECKED("sign.verify"))
		rc = errno == ENOMEM ? cm_fail(err, CM_EINTERNAL, "libcrypto cannot verify: out of memory")
				     : cm_fail(err, CM_EPERM,
					       "the signature on the %s is not by the expected key", purpose);
	ERR_clear_error();
	EVP_MD_CTX_free(ctx);
	cm_buf_fini(&message);
	return rc;
}
