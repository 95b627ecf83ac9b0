/* cr_sign.h - Ed25519 signatures over opaque bytes (RFC 8032), separated by purpose.  Needs libcrypto. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cm_rc.h"
#include "cr_rand.h"

#define CR_SIGN_LEN 64u

struct cr_signer;   /* a private key, wiped when freed */
struct cr_verifier; /* a public key */

/* Load PEM files: a PKCS#8 private key (CM_EPERM if others may read it), and a SubjectPublicKeyInfo. */
CM_CHECK enum cm_rc cr_signer_load(const char *path, struct cr_signer **out, struct cm_err *err);
CM_CHECK enum cm_rc cr_verifier_load(const char *path, struct cr_verifier **out, struct cm_err *err);
/* Create both files, durable; CM_ECREATE if either exists. */
CM_CHECK enum cm_rc cr_sign_keygen(const char *private_path, const char *public_path, struct cm_err *err);
void cr_signer_free(struct cr_signer *s);
void cr_verifier_free(struct cr_verifier *v);

/* Are the two one key pair? */
bool cr_signer_is(const struct cr_signer *s, const struct cr_verifier *v);
bool cr_verifier_is(const struct cr_verifier *v, const struct cr_verifier *other);

/* Sign purpose || 0x00 || bytes, so that a signature for one purpose is never valid for another (a
 * manifest's never for a charge).  Deterministic. */
CM_CHECK enum cm_rc cr_sign(const struct cr_signer *s, const char *purpose, const void *bytes, size_t len,
	uint8_t signature[CR_SIGN_LEN], struct cm_err *err);
/* CM_EPERM unless this key made the signature over this purpose and these bytes. */
CM_CHECK enum cm_rc cr_verify(const struct cr_verifier *v, const char *purpose, const void *bytes, size_t len,
	const uint8_t signature[CR_SIGN_LEN], struct cm_err *err);
