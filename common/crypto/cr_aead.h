/* cr_aead.h - authenticated encryption at rest under a round key: AES-256-GCM.  Needs libcrypto. */
#pragma once

#include "cm_buf.h"
#include "cr_hash.h"
#include "cr_rand.h"
#include "cr_secret.h"

#define CR_NONCE_LEN    12u
#define CR_BOX_OVERHEAD 28u /* what sealing adds to a message: a nonce of 12 bytes and a tag of 16 */

/* Seal a box: out gets nonce || ciphertext || tag (len + CR_BOX_OVERHEAD bytes).  Nonces are random: at
 * most 2^32 boxes for a key. */
CM_CHECK enum cm_rc cr_box_seal(const struct cr_key *key, const struct cr_rng *rng, const void *aad,
	size_t aad_len, const uint8_t *data, size_t len, uint8_t *out, struct cm_err *err);
/* Open a box: data gets len - CR_BOX_OVERHEAD bytes.  CM_EDATA when it is not a box of this key and aad;
 * data is then wiped. */
CM_CHECK enum cm_rc cr_box_open(const struct cr_key *key, const void *aad, size_t aad_len, const uint8_t *box,
	size_t len, uint8_t *data, struct cm_err *err);

/* Seals and opens many boxes of one key, which is set up once: for small boxes this is several times as
 * fast as the functions above, which open these boxes, too.  One thread at a time. */
struct cr_boxes;
/* NULL: out of memory.  cr_boxes_free wipes the key, and accepts NULL. */
struct cr_boxes *cr_boxes_new(const struct cr_key *key);
void cr_boxes_free(struct cr_boxes *b);

/* Consecutive nonces that begin at a random one.  Draw anew for each group of boxes whose contents are
 * fixed when the nonce is drawn.  If the memory of the process is copied after that, both copies seal the
 * same contents, and never two contents under one nonce.  With m groups of at most b boxes, two groups
 * overlap with probability below m^2 b / 2^96: 2^-32 for 2^25 groups of 2^13, and as much for 2^32 boxes
 * one by one. */
struct cr_nonces {
	uint8_t next[CR_NONCE_LEN];
};
void cr_nonces_draw(struct cr_nonces *n, const struct cr_rng *rng);
/* The same as cr_box_seal and cr_box_open. */
CM_CHECK enum cm_rc cr_boxes_seal(struct cr_boxes *b, struct cr_nonces *nonces, const void *aad,
	size_t aad_len, const uint8_t *data, size_t len, uint8_t *out, struct cm_err *err);
CM_CHECK enum cm_rc cr_boxes_open(struct cr_boxes *b, const void *aad, size_t aad_len, const uint8_t *box,
	size_t len, uint8_t *data, struct cm_err *err);
