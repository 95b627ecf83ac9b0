/* cm_x25519.c - Diffie-Hellman on Curve25519 through EVP, with everything reusable reused. */
#include "cm_x25519.h"

#include <stdlib.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "cm_secret.h"

struct cm_x25519 {
	EVP_PKEY_CTX *derive; /* initialised on the private key */
	EVP_PKEY *peer;       /* its public key is replaced for each product */
	uint8_t public_key[CM_X25519_LEN];
};

enum cm_rc cm_x25519_new(const uint8_t secret[CM_X25519_LEN], struct cm_x25519 **out, struct cm_err *err)
{
	struct cm_x25519 *k = calloc(1, sizeof *k);
	EVP_PKEY *own = EVP_PKEY_new_raw_private_key_ex(NULL, "X25519", NULL, secret, CM_X25519_LEN);
	size_t len = CM_X25519_LEN;

	if (k == NULL || own == NULL || EVP_PKEY_get_raw_public_key(own, k->public_key, &len) != 1)
		goto fail;
	k->peer = EVP_PKEY_new_raw_public_key_ex(NULL, "X25519", NULL, k->public_key, CM_X25519_LEN);
	k->derive = EVP_PKEY_CTX_new_from_pkey(NULL, own, NULL);
	if (k->peer == NULL || k->derive == NULL || EVP_PKEY_derive_init(k->derive) != 1)
		goto fail;
	EVP_PKEY_free(own);
	*out = k;
	return CM_OK;
fail:
	EVP_PKEY_free(own);
	cm_x25519_free(k);
	return cm_fail(err, CM_EINTERNAL, "libcrypto cannot prepare an X25519 key (out of memory?)");
}

void cm_x25519_free(struct cm_x25519 *k)
{
	if (k == NULL)
		return;
	EVP_PKEY_CTX_free(k->derive);
	EVP_PKEY_free(k->peer);
	free(k);
}

const uint8_t *cm_x25519_public(const struct cm_x25519 *k)
{
	return k->public_key;
}

enum cm_rc cm_x25519_derive(struct cm_x25519 *k, const uint8_t peer[CM_X25519_LEN],
	uint8_t out[CM_X25519_LEN], struct cm_err *err)
{
	static const uint8_t zero[CM_X25519_LEN];
	size_t len = CM_X25519_LEN;

	/* No validation of the peer: for this curve it would only look at the type we gave it. */
	if (EVP_PKEY_set1_encoded_public_key(k->peer, peer, CM_X25519_LEN) != 1 ||
		EVP_PKEY_derive_set_peer_ex(k->derive, k->peer, 0) != 1)
		return cm_fail(err, CM_EINTERNAL, "libcrypto cannot set an X25519 peer (out of memory?)");
	/* EVP fails by itself on a zero product; that is its promise, the comparison is ours. */
	if (EVP_PKEY_derive(k->derive, out, &len) == 1 && len == CM_X25519_LEN &&
		!cm_equal(out, zero, sizeof zero))
		return CM_OK;
	ERR_clear_error();
	OPENSSL_cleanse(out, CM_X25519_LEN);
	return cm_fail(err, CM_EDATA, "a public key of low order");
}
