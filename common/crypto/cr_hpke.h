/* cr_hpke.h - sealing a report to the analyzer: HPKE base mode (RFC 9180), single shot.  Needs libcrypto.
 *
 * DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, and AES-128-GCM (suite 1) or ChaCha20-Poly1305 (suite 3; the
 * numbers are the RFC's AEAD ids).  info is fixed for a round, so contexts are made once for a round and
 * reused for each message. */
#pragma once

#include <stdbool.h>

#include "cr_rand.h"
#include "cr_secret.h"

#define CR_HPKE_PUBLIC_LEN 32u
/* what sealing adds to a message: the encapsulation enc of 32 bytes, and a tag of 16 */
#define CR_HPKE_OVERHEAD 48u

enum cr_hpke_suite {
	CR_HPKE_AES128GCM = 1,
	CR_HPKE_CHACHA20POLY1305 = 3,
};

/* Make a fresh X25519 key pair.  The caller wipes the secret half. */
CM_CHECK enum cm_rc cr_hpke_keygen(const struct cr_rng *rng, struct cr_key *secret,
	uint8_t public_key[CR_HPKE_PUBLIC_LEN], struct cm_err *err);

/* Check that messages can be sealed to this key.  CM_EDATA for a point of low order, in any encoding, which
 * gives no shared secret.  Costs one multiplication. */
CM_CHECK enum cm_rc cr_hpke_check_recipient(const uint8_t public_key[CR_HPKE_PUBLIC_LEN], struct cm_err *err);

/* Seals to one recipient with one info, which is copied.  Used by one thread.  CM_EDATA for a public key of
 * low order. */
struct cr_hpke_sealer;
CM_CHECK enum cm_rc cr_hpke_sealer_new(enum cr_hpke_suite suite, const uint8_t public_key[CR_HPKE_PUBLIC_LEN],
	const void *info, size_t info_len, struct cr_hpke_sealer **out, struct cm_err *err);
/* Say that n messages will be sealed, so that it now prepares whatever makes many messages cheaper.
 * Without this call it does so when it pays. */
void cr_hpke_sealer_expect(struct cr_hpke_sealer *s, size_t n);
/* Make another sealer with the recipient and info of `of`, for one other thread.  It only reads what
 * cr_hpke_sealer_expect() prepared in `of`, which must outlive it.  CM_EINTERNAL. */
CM_CHECK enum cm_rc cr_hpke_sealer_like(
	const struct cr_hpke_sealer *of, struct cr_hpke_sealer **out, struct cm_err *err);
void cr_hpke_sealer_free(struct cr_hpke_sealer *s);
/* Seal a message with a fresh ephemeral key: out gets enc || ciphertext || tag, len + CR_HPKE_OVERHEAD
 * bytes. */
CM_CHECK enum cm_rc cr_hpke_seal(struct cr_hpke_sealer *s, const struct cr_rng *rng, const void *aad,
	size_t aad_len, const uint8_t *plain, size_t len, uint8_t *out, struct cm_err *err);
/* The same with a given ephemeral secret (RFC 9180 appendix A vectors). */
CM_CHECK enum cm_rc cr_hpke_seal_with(struct cr_hpke_sealer *s, const struct cr_key *ephemeral,
	const void *aad, size_t aad_len, const uint8_t *plain, size_t len, uint8_t *out, struct cm_err *err);

/* The same for n messages of one length, whose ephemeral secrets are given: sealed message i is at out + i
 * * stride, and has the bytes that cr_hpke_seal_with() makes of plain + i * len.  A message costs less the
 * more there are, up to CR_HPKE_MANY (cr_x25519_many.h). */
#define CR_HPKE_MANY 128u
CM_CHECK enum cm_rc cr_hpke_seal_many(struct cr_hpke_sealer *s, const struct cr_key *ephemeral, size_t n,
	const void *aad, size_t aad_len, const uint8_t *plain, size_t len, uint8_t *out, size_t stride,
	struct cm_err *err);

/* Opens messages, each at the cost of about one X25519.  One for each thread. */
struct cr_hpke_opener;
CM_CHECK enum cm_rc cr_hpke_opener_new(enum cr_hpke_suite suite, const struct cr_key *secret,
	const void *info, size_t info_len, struct cr_hpke_opener **out, struct cm_err *err);
void cr_hpke_opener_free(struct cr_hpke_opener *o);
/* Open a message: plain gets len - CR_HPKE_OVERHEAD bytes.  CM_EDATA: it was not sealed to this key, info
 * and aad, or enc has low order. */
CM_CHECK enum cm_rc cr_hpke_open(struct cr_hpke_opener *o, const void *aad, size_t aad_len,
	const uint8_t *sealed, size_t len, uint8_t *plain, struct cm_err *err);
/* The same for n messages of len bytes each, with one aad.  Message i is opened to plain + i * (len -
 * CR_HPKE_OVERHEAD), or good[i] is false and those bytes are zero.  A message costs less the more there
 * are, up to CR_HPKE_MANY.  CM_EDATA for a length that no message has, else only CM_EINTERNAL. */
CM_CHECK enum cm_rc cr_hpke_open_many(struct cr_hpke_opener *o, const void *aad, size_t aad_len,
	const uint8_t *const *sealed, size_t n, size_t len, uint8_t *plain, bool *good, struct cm_err *err);

/* Choose how X25519 products are computed, by the machine and the variable TOMBOLA_X25519; *line describes
 * the choice for people.  Without this call the first product chooses.  CM_EUSAGE for a bad value of the
 * variable. */
CM_CHECK enum cm_rc cr_hpke_begin(const char **line, struct cm_err *err);
/* The choice in one word: "avx512", "avx2", "lib25519" or "openssl". */
const char *cr_hpke_way(void);
