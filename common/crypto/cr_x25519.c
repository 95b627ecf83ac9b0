/* cr_x25519.c - Diffie-Hellman on Curve25519 through EVP, reusing every object that can be reused. */
#include "cr_x25519.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>

#include "cr_secret.h"

struct cr_x25519 {
	EVP_PKEY_CTX *derive; /* the context in which products are computed, with the private key */
	EVP_PKEY *peer;       /* the other party's key, whose public half is replaced for each product */
	uint8_t secret[CR_X25519_LEN], public_key[CR_X25519_LEN];
};

enum cm_rc cr_x25519_new(const uint8_t secret[CR_X25519_LEN], struct cr_x25519 **out, struct cm_err *err)
{
	struct cr_x25519 *k = calloc(1, sizeof *k);
	EVP_PKEY *own = EVP_PKEY_new_raw_private_key_ex(NULL, "X25519", NULL, secret, CR_X25519_LEN);
	size_t len = CR_X25519_LEN;

	if (!k || !own || EVP_PKEY_get_raw_public_key(own, k->public_key, &len) != 1)
		goto fail;
	k->peer = EVP_PKEY_new_raw_public_key_ex(NULL, "X25519", NULL, k->public_key, CR_X25519_LEN);
	k->derive = EVP_PKEY_CTX_new_from_pkey(NULL, own, NULL);
	if (!k->peer || !k->derive || EVP_PKEY_derive_init(k->derive) != 1)
		goto fail;
	EVP_PKEY_free(own);
	memcpy(k->secret, secret, sizeof k->secret);
	*out = k;
	return CM_OK;
fail:
	EVP_PKEY_free(own);
	cr_x25519_free(k);
	return cm_fail(err, CM_EINTERNAL, "libcrypto cannot prepare an X25519 key (out of memory?)");
}

void cr_x25519_free(struct cr_x25519 *k)
{
	if (!k)
		return;
	EVP_PKEY_CTX_free(k->derive);
	EVP_PKEY_free(k->peer);
	explicit_bzero(k, sizeof *k);
	free(k);
}

const uint8_t *cr_x25519_secret(const struct cr_x25519 *k)
{
	return k->secret;
}

const uint8_t *cr_x25519_public(const struct cr_x25519 *k)
{
	return k->public_key;
}

enum cm_rc cr_x25519_derive(struct cr_x25519 *k, const uint8_t peer[CR_X25519_LEN],
	uint8_t out[CR_X25519_LEN], struct cm_err *err)
{
	static const uint8_t zero[CR_X25519_LEN];
	size_t len = CR_X25519_LEN;

	/* No validation of the peer's key: for this curve it would only check the type that we set
	 * ourselves. */
	if (EVP_PKEY_set1_encoded_public_key(k->peer, peer, CR_X25519_LEN) != 1 ||
		EVP_PKEY_derive_set_peer_ex(k->derive, k->peer, 0) != 1)
		return cm_fail(err, CM_EINTERNAL, "libcrypto cannot set an X25519 peer (out of memory?)");
	/* EVP documents that it fails on a zero product; the comparison here does not rely on that. */
	if (EVP_PKEY_derive(k->derive, out, &len) == 1 && len == CR_X25519_LEN &&
		!cr_equal(out, zero, sizeof zero))
		return CM_OK;
	ERR_clear_error();
	explicit_bzero(out, CR_X25519_LEN);
	return cm_fail(err, CM_EDATA, "a public key of low order");
}
