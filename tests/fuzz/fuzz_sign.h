/* fuzz_sign.h - signatures that cost a hash, in place of Ed25519's: what is fuzzed is what is signed, and who
 * is believed.  Link with --wrap=cm_sign,--wrap=cm_verify.  A key is a byte, its two halves the same address.
 */
#pragma once

#include <string.h>

#include "cm_hash.h"
#include "cm_sign.h"

enum cm_rc __wrap_cm_sign(const struct cm_signer *s, const char *purpose, const void *bytes, size_t len,
	uint8_t signature[CM_SIGN_LEN], struct cm_err *err);
enum cm_rc __wrap_cm_verify(const struct cm_verifier *v, const char *purpose, const void *bytes, size_t len,
	const uint8_t signature[CM_SIGN_LEN], struct cm_err *err);

static inline struct cm_signer *fuzz_signer(uint8_t *key)
{
	return (struct cm_signer *)(void *)key;
}

static inline struct cm_verifier *fuzz_verifier(uint8_t *key)
{
	return (struct cm_verifier *)(void *)key;
}

static inline void fuzz_signature(
	const void *key, const char *purpose, const void *bytes, size_t len, uint8_t out[CM_SIGN_LEN])
{
	const struct cm_span spans[] = { { key, 1 }, { purpose, strlen(purpose) + 1 }, { bytes, len } };

	cm_sha256_spans(spans, 3, out);
	memcpy(out + CM_HASH_LEN, out, CM_SIGN_LEN - CM_HASH_LEN);
}

enum cm_rc __wrap_cm_sign(const struct cm_signer *s, const char *purpose, const void *bytes, size_t len,
	uint8_t signature[CM_SIGN_LEN], struct cm_err *err)
{
	(void)err;
	fuzz_signature(s, purpose, bytes, len, signature);
	return CM_OK;
}

enum cm_rc __wrap_cm_verify(const struct cm_verifier *v, const char *purpose, const void *bytes, size_t len,
	const uint8_t signature[CM_SIGN_LEN], struct cm_err *err)
{
	uint8_t good[CM_SIGN_LEN];

	fuzz_signature(v, purpose, bytes, len, good);
	return memcmp(good, signature, sizeof good) == 0 ? CM_OK : cm_fail(err, CM_EPERM, "not that key's");
}
