/* cr_aead.h - authenticated encryption at rest under a round key: AES-256-GCM.  Needs libcrypto. */
#pragma once

#include "cm_buf.h"
#include "cr_hash.h"
#include "cr_rand.h"
#include "cr_secret.h"

#define CR_BOX_OVERHEAD 28u /* nonce 12, tag 16 */

/* out gets nonce || ciphertext || tag (len + CR_BOX_OVERHEAD bytes).  Random nonces: at most 2^32 boxes a
 * key. */
CM_CHECK enum cm_rc cr_box_seal(const struct cr_key *key, const struct cr_rng *rng, const void *aad,
	size_t aad_len, const uint8_t *data, size_t len, uint8_t *out, struct cm_err *err);
/* data gets len - CR_BOX_OVERHEAD bytes.  CM_EDATA when it is not a box of this key and aad; data is wiped
 * then. */
CM_CHECK enum cm_rc cr_box_open(const struct cr_key *key, const void *aad, size_t aad_len, const uint8_t *box,
	size_t len, uint8_t *data, struct cm_err *err);
