/* cm_sign.h - Ed25519 signatures over opaque bytes (RFC 8032), separated by purpose.  Needs libcrypto. */
#pragma once

#include <stdint.h>

#include "cm_rand.h"
#include "cm_rc.h"

#define CM_SIGN_LEN        64u
#define CM_SIGN_PUBLIC_LEN 32u

struct cm_signer;   /* a private key, wiped when freed */
struct cm_verifier; /* a public key */

/* PEM files: PKCS#8 private key (CM_EPERM if others may read it) and SubjectPublicKeyInfo. */
CM_CHECK enum cm_rc cm_signer_load(const char *path, struct cm_signer **out, struct cm_err *err);
CM_CHECK enum cm_rc cm_verifier_load(const char *path, struct cm_verifier **out, struct cm_err *err);
CM_CHECK enum cm_rc cm_verifier_new(
	const uint8_t public_key[CM_SIGN_PUBLIC_LEN], struct cm_verifier **out, struct cm_err *err);
/* Create both files, durable; CM_ECREATE if either exists. */
CM_CHECK enum cm_rc cm_sign_keygen(const char *private_path, const char *public_path, struct cm_err *err);
void cm_signer_free(struct cm_signer *s);
void cm_verifier_free(struct cm_verifier *v);
void cm_signer_public(const struct cm_signer *s, uint8_t out[CM_SIGN_PUBLIC_LEN]);

/* Signature over purpose || 0x00 || bytes, so that a manifest can never pass for a charge.  Deterministic. */
CM_CHECK enum cm_rc cm_sign(const struct cm_signer *s, const char *purpose, const void *bytes, size_t len,
	uint8_t signature[CM_SIGN_LEN], struct cm_err *err);
/* CM_EPERM when the signature is not that key's over that purpose and bytes. */
CM_CHECK enum cm_rc cm_verify(const struct cm_verifier *v, const char *purpose, const void *bytes, size_t len,
	const uint8_t signature[CM_SIGN_LEN], struct cm_err *err);
