/* cr_hpke.h - sealing a report to the analyzer: HPKE base mode (RFC 9180), single shot.  Needs libcrypto.
 *
 * DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, and AES-128-GCM (suite 1) or ChaCha20-Poly1305 (suite 3, the RFC's
 * AEAD ids).  info is fixed for a round, so contexts are built per round and reused per message. */
#pragma once

#include "cr_rand.h"
#include "cr_secret.h"

#define CR_HPKE_PUBLIC_LEN 32u
#define CR_HPKE_OVERHEAD   48u /* enc 32, tag 16 */

enum cr_hpke_suite {
	CR_HPKE_AES128GCM = 1,
	CR_HPKE_CHACHA20POLY1305 = 3,
};

/* Fresh X25519 key pair.  The secret half is the caller's to wipe. */
CM_CHECK enum cm_rc cr_hpke_keygen(const struct cr_rng *rng, struct cr_key *secret,
	uint8_t public_key[CR_HPKE_PUBLIC_LEN], struct cm_err *err);

/* CM_OK if messages can be sealed to this key.  CM_EDATA for a point of low order, in any encoding, which
 * gives no shared secret.  Costs one multiplication. */
CM_CHECK enum cm_rc cr_hpke_check_recipient(const uint8_t public_key[CR_HPKE_PUBLIC_LEN], struct cm_err *err);

/* Sealer for one recipient and info.  info copied.  One thread.  CM_EDATA for a low-order public key. */
struct cr_hpke_sealer;
CM_CHECK enum cm_rc cr_hpke_sealer_new(enum cr_hpke_suite suite, const uint8_t public_key[CR_HPKE_PUBLIC_LEN],
	const void *info, size_t info_len, struct cr_hpke_sealer **out, struct cm_err *err);
void cr_hpke_sealer_free(struct cr_hpke_sealer *s);
/* out gets enc || ciphertext || tag: len + CR_HPKE_OVERHEAD bytes, from a fresh ephemeral key. */
CM_CHECK enum cm_rc cr_hpke_seal(struct cr_hpke_sealer *s, const struct cr_rng *rng, const void *aad,
	size_t aad_len, const uint8_t *plain, size_t len, uint8_t *out, struct cm_err *err);
/* The same with the ephemeral secret given (RFC 9180 appendix A vectors). */
CM_CHECK enum cm_rc cr_hpke_seal_with(struct cr_hpke_sealer *s, const struct cr_key *ephemeral,
	const void *aad, size_t aad_len, const uint8_t *plain, size_t len, uint8_t *out, struct cm_err *err);

/* Opener: one per thread.  About one X25519 a message. */
struct cr_hpke_opener;
CM_CHECK enum cm_rc cr_hpke_opener_new(enum cr_hpke_suite suite, const struct cr_key *secret,
	const void *info, size_t info_len, struct cr_hpke_opener **out, struct cm_err *err);
void cr_hpke_opener_free(struct cr_hpke_opener *o);
/* plain gets len - CR_HPKE_OVERHEAD bytes.  CM_EDATA: not sealed to this key, info and aad, or a low-order
 * enc. */
CM_CHECK enum cm_rc cr_hpke_open(struct cr_hpke_opener *o, const void *aad, size_t aad_len,
	const uint8_t *sealed, size_t len, uint8_t *plain, struct cm_err *err);
