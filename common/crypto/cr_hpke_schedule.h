/* cr_hpke_schedule.h - HPKE's keys of messages, base mode, KEM 0x0020 and KDF 0x0001.  Internal to this
 * folder. */
#pragma once

#include "cr_hash.h"
#include "cr_hpke.h"
#include "cr_x25519_many.h"

#define CR_HPKE_KEY_MAX   32u
#define CR_HPKE_NONCE_LEN 12u

struct cr_hpke_kind {
	enum cr_hpke_suite id;
	const char *cipher;
	size_t key_len;
	uint8_t name[10]; /* suite_id: "HPKE", KEM 0x0020, KDF 0x0001, the AEAD */
};

/* The part of a round's key schedule that does not depend on the message. */
struct cr_hpke_schedule {
	const struct cr_hpke_kind *kind;
	uint8_t recipient[CR_HPKE_PUBLIC_LEN];
	uint8_t context[1 + 2 * CR_HASH_LEN]; /* mode || psk_id_hash || info_hash */
	struct cr_hmac_key no_salt;           /* LabeledExtract's key without a salt */
};

/* What keys the AEAD for message 0 of an encapsulation. */
struct cr_hpke_key {
	uint8_t key[CR_HPKE_KEY_MAX], nonce[CR_HPKE_NONCE_LEN];
};

/* CM_EDATA: no such suite. */
CM_CHECK enum cm_rc cr_hpke_schedule_init(struct cr_hpke_schedule *s, enum cr_hpke_suite id,
	const uint8_t recipient[CR_HPKE_PUBLIC_LEN], const void *info, size_t info_len, struct cm_err *err);
/* ExtractAndExpand and KeySchedule of n encapsulations, whose DH products are dh. */
void cr_hpke_derive(const struct cr_hpke_schedule *s, uint8_t (*dh)[CR_X25519_LEN], const uint8_t *const *enc,
	size_t n, struct cr_hpke_key *out);
