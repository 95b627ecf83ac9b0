/* fuzz_sign.h - signatures that cost a hash, in place of Ed25519's: what is fuzzed is what is signed, and who
 * is believed.  Link with --wrap=cr_sign,--wrap=cr_verify.  A key is a byte, its two halves the same
 * address. */
#pragma once

#include <string.h>

#include "cr_hash.h"
#include "cr_sign.h"

enum cm_rc __wrap_cr_sign(const struct cr_signer *s, const char *purpose, const void *bytes, size_t len,
	uint8_t signature[CR_SIGN_LEN], struct cm_err *err);
enum cm_rc __wrap_cr_verify(const struct cr_verifier *v, const char *purpose, const void *bytes, size_t len,
	const uint8_t signature[CR_SIGN_LEN], struct cm_err *err);

static inline struct cr_signer *fuzz_signer(uint8_t *key)
{
	return (struct cr_signer *)(void *)key;
}

static inline struct cr_verifier *fuzz_verifier(uint8_t *key)
{
	return (struct cr_verifier *)(void *)key;
}

static inline void fuzz_signature(
	const void *key, const char *purpose, const void *bytes, size_t len, uint8_t out[CR_SIGN_LEN])
{
	const struct cr_span spans[] = { { key, 1 }, { purpose, strlen(purpose) + 1 }, { bytes, len } };

	cr_sha256_spans(spans, 3, out);
	memcpy(out + CR_HASH_LEN, out, CR_SIGN_LEN - CR_HASH_LEN);
}

enum cm_rc __wrap_cr_sign(const struct cr_signer *s, const char *purpose, const void *bytes, size_t len,
	uint8_t signature[CR_SIGN_LEN], struct cm_err *err)
{
	(void)err;
	fuzz_signature(s, purpose, bytes, len, signature);
	return CM_OK;
}

enum cm_rc __wrap_cr_verify(const struct cr_verifier *v, const char *purpose, const void *bytes, size_t len,
	const uint8_t signature[CR_SIGN_LEN], struct cm_err *err)
{
	uint8_t good[CR_SIGN_LEN];

	fuzz_signature(v, purpose, bytes, len, good);
	return memcmp(good, signature, sizeof good) == 0 ? CM_OK : cm_fail(err, CM_EPERM, "not that key's");
}
