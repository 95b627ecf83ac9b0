/* cr_hpke.h - sealing a report to the analyzer: HPKE base mode (RFC 9180), single shot.  Needs libcrypto.
 *
 * DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, and AES-128-GCM (suite 1) or ChaCha20-Poly1305 (suite 3, the RFC's
 * AEAD ids).  info is fixed for a round, so contexts are built per round and reused per message. */
#pragma once

#include <stdbool.h>

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
/* n messages will be sealed: what makes many of them cheaper is made now.  Without a call it is made when it
 * pays. */
void cr_hpke_sealer_expect(struct cr_hpke_sealer *s, size_t n);
/* Another sealer of the same recipient and info, for one other thread.  It borrows what
 * cr_hpke_sealer_expect() made of `of`, which is only read, and must outlive it.  CM_EINTERNAL. */
CM_CHECK enum cm_rc cr_hpke_sealer_like(
	const struct cr_hpke_sealer *of, struct cr_hpke_sealer **out, struct cm_err *err);
void cr_hpke_sealer_free(struct cr_hpke_sealer *s);
/* out gets enc || ciphertext || tag: len + CR_HPKE_OVERHEAD bytes, from a fresh ephemeral key. */
CM_CHECK enum cm_rc cr_hpke_seal(struct cr_hpke_sealer *s, const struct cr_rng *rng, const void *aad,
	size_t aad_len, const uint8_t *plain, size_t len, uint8_t *out, struct cm_err *err);
/* The same with the ephemeral secret given (RFC 9180 appendix A vectors). */
CM_CHECK enum cm_rc cr_hpke_seal_with(struct cr_hpke_sealer *s, const struct cr_key *ephemeral,
	const void *aad, size_t aad_len, const uint8_t *plain, size_t len, uint8_t *out, struct cm_err *err);

/* The same for n messages of one length, whose ephemeral secrets are given: sealed i is at out + i * stride
 * and has the bytes that cr_hpke_seal_with() makes of plain + i * len.  Costs less a message the more there
 * are, up to CR_HPKE_MANY (cr_x25519_many.h). */
#define CR_HPKE_MANY 128u
CM_CHECK enum cm_rc cr_hpke_seal_many(struct cr_hpke_sealer *s, const struct cr_key *ephemeral, size_t n,
	const void *aad, size_t aad_len, const uint8_t *plain, size_t len, uint8_t *out, size_t stride,
	struct cm_err *err);

/* Opener: one per thread.  About one X25519 a message. */
struct cr_hpke_opener;
CM_CHECK enum cm_rc cr_hpke_opener_new(enum cr_hpke_suite suite, const struct cr_key *secret,
	const void *info, size_t info_len, struct cr_hpke_opener **out, struct cm_err *err);
void cr_hpke_opener_free(struct cr_hpke_opener *o);
/* plain gets len - CR_HPKE_OVERHEAD bytes.  CM_EDATA: not sealed to this key, info and aad, or a low-order
 * enc. */
CM_CHECK enum cm_rc cr_hpke_open(struct cr_hpke_opener *o, const void *aad, size_t aad_len,
	const uint8_t *sealed, size_t len, uint8_t *plain, struct cm_err *err);
/* The same for n messages of len bytes each, with one aad.  Message i is opened to
 * plain + i * (len - CR_HPKE_OVERHEAD), or good[i] is false and those bytes are zero.  Costs less a message
 * the more there are, up to CR_HPKE_MANY.  CM_EDATA for a length of no message, else CM_EINTERNAL. */
CM_CHECK enum cm_rc cr_hpke_open_many(struct cr_hpke_opener *o, const void *aad, size_t aad_len,
	const uint8_t *const *sealed, size_t n, size_t len, uint8_t *plain, bool *good, struct cm_err *err);

/* Choose how X25519 products are made, by the machine and TOMBOLA_X25519; *line says it, for people.  Without
 * a call the first product chooses.  CM_EUSAGE for a bad value of the variable. */
CM_CHECK enum cm_rc cr_hpke_begin(const char **line, struct cm_err *err);
/* The same in a word: "avx512", "avx2", "lib25519" or "openssl". */
const char *cr_hpke_way(void);
