/* cr_hpke_schedule.c - HPKE's derivation of a message's key (RFC 9180 sections 4, 4.1 and 5.1), of one or of
 * sixteen at a time. */
#include "cr_hpke_schedule.h"

#include <stdlib.h>
#include <string.h>

#include "cr_hash_lanes.h"
#include "cr_secret.h"

#define ENC_LEN     CR_HPKE_PUBLIC_LEN
#define NONCE_LEN   CR_HPKE_NONCE_LEN
#define MAX_LABELED 160u

static const struct cr_hpke_kind suites[] = {
	{ CR_HPKE_AES128GCM, "AES-128-GCM", 16, { 'H', 'P', 'K', 'E', 0, 0x20, 0, 1, 0, 1 } },
	{ CR_HPKE_CHACHA20POLY1305, "ChaCha20-Poly1305", 32, { 'H', 'P', 'K', 'E', 0, 0x20, 0, 1, 0, 3 } },
};

/* suite_id of the KEM's own derivations (section 4.1). */
static const uint8_t kem_name[5] = { 'K', 'E', 'M', 0, 0x20 };

/* Bytes collected for one HMAC: faster than many short updates. */
struct labeled {
	uint8_t bytes[MAX_LABELED];
	size_t len;
};

static void append(struct labeled *l, const void *bytes, size_t n)
{
	if (n > sizeof l->bytes - l->len)
		abort(); /* only the labels and lengths of this file come here */
	if (n > 0)
		memcpy(l->bytes + l->len, bytes, n);
	l->len += n;
}

static void append_label(struct labeled *l, const uint8_t *name, size_t name_len, const char *label)
{
	append(l, "HPKE-v1", 7);
	append(l, name, name_len);
	append(l, label, strlen(label));
}

/* LabeledExtract (section 4). */
static void extract(const struct cr_hmac_key *salt, const uint8_t *name, size_t name_len, const char *label,
	const void *ikm, size_t ikm_len, uint8_t out[CR_HASH_LEN])
{
	struct labeled l = { .len = 0 };

	append_label(&l, name, name_len, label);
	const struct cr_span spans[] = { { l.bytes, l.len }, { ikm, ikm_len } };

	cr_hmac_with(salt, spans, 2, out);
}

/* What LabeledExpand (section 4) hashes for at most one hash block. */
static void append_expand(struct labeled *l, const uint8_t *name, size_t name_len, const char *label,
	const uint8_t *info, size_t info_len, size_t out_len)
{
	const uint8_t length[2] = { 0, (uint8_t)out_len }, first = 1;

	append(l, length, sizeof length);
	append_label(l, name, name_len, label);
	append(l, info, info_len);
	append(l, &first, 1);
}

static void expand(const struct cr_hmac_key *prk, const uint8_t *name, size_t name_len, const char *label,
	const uint8_t *info, size_t info_len, uint8_t *out, size_t out_len)
{
	struct labeled l = { .len = 0 };
	uint8_t block[CR_HASH_LEN];

	append_expand(&l, name, name_len, label, info, info_len, out_len);
	cr_hmac_with(prk, &(struct cr_span){ l.bytes, l.len }, 1, block);
	memcpy(out, block, out_len);
	explicit_bzero(block, sizeof block);
}

enum cm_rc cr_hpke_schedule_init(struct cr_hpke_schedule *s, enum cr_hpke_suite id,
	const uint8_t recipient[ENC_LEN], const void *info, size_t info_len, struct cm_err *err)
{
	for (size_t i = 0; i < sizeof suites / sizeof suites[0]; i++)
		if (suites[i].id == id)
			s->kind = &suites[i];
	if (!s->kind)
		return cm_fail(err, CM_EDATA, "unknown HPKE suite %d", (int)id);
	memcpy(s->recipient, recipient, sizeof s->recipient);
	s->context[0] = 0; /* mode_base */
	cr_hmac_key_init(&s->no_salt, NULL, 0);
	extract(&s->no_salt, s->kind->name, sizeof s->kind->name, "psk_id_hash", NULL, 0, s->context + 1);
	extract(&s->no_salt, s->kind->name, sizeof s->kind->name, "info_hash", info, info_len,
		s->context + 1 + CR_HASH_LEN);
	return CM_OK;
}

static void kem_context_of(
	const struct cr_hpke_schedule *s, const uint8_t enc[ENC_LEN], uint8_t context[2 * ENC_LEN])
{
	memcpy(context, enc, ENC_LEN);
	memcpy(context + ENC_LEN, s->recipient, ENC_LEN);
}

/* ExtractAndExpand and KeySchedule, of the encapsulation enc with this DH product. */
static void derive(const struct cr_hpke_schedule *s, const uint8_t dh[CR_X25519_LEN],
	const uint8_t enc[ENC_LEN], struct cr_hpke_key *out)
{
	const uint8_t *name = s->kind->name;
	const size_t name_len = sizeof s->kind->name;
	uint8_t prk[CR_HASH_LEN], shared[CR_HASH_LEN], kem_context[2 * ENC_LEN];
	struct cr_hmac_key under;

	kem_context_of(s, enc, kem_context);
	extract(&s->no_salt, kem_name, sizeof kem_name, "eae_prk", dh, CR_X25519_LEN, prk);
	cr_hmac_key_init(&under, prk, sizeof prk);
	expand(&under, kem_name, sizeof kem_name, "shared_secret", kem_context, sizeof kem_context, shared,
		sizeof shared);
	cr_hmac_key_init(&under, shared, sizeof shared);
	extract(&under, name, name_len, "secret", NULL, 0, prk);
	cr_hmac_key_init(&under, prk, sizeof prk);
	expand(&under, name, name_len, "key", s->context, sizeof s->context, out->key, s->kind->key_len);
	expand(&under, name, name_len, "base_nonce", s->context, sizeof s->context, out->nonce,
		sizeof out->nonce);
	cr_hmac_key_fini(&under);
	explicit_bzero(prk, sizeof prk);
	explicit_bzero(shared, sizeof shared);
}

/* The same of CR_HASH_LANES encapsulations together; of the last one again where there are only n. */
static void derive_lanes(const struct cr_hpke_schedule *s, uint8_t (*dh)[CR_X25519_LEN],
	const uint8_t *const *enc, size_t n, struct cr_hpke_key *out)
{
	const uint8_t *name = s->kind->name;
	const size_t name_len = sizeof s->kind->name;
	struct labeled l[CR_HASH_LANES], same = { .len = 0 };
	struct cr_hmac_keys under;
	struct cr_hashes prk, nonce;

	for (size_t i = 0; i < CR_HASH_LANES; i++) {
		l[i].len = 0;
		append_label(&l[i], kem_name, sizeof kem_name, "eae_prk");
		append(&l[i], dh[i < n ? i : n - 1], CR_X25519_LEN);
	}
	cr_hmac_keys_same(&under, &s->no_salt);
	cr_hmac_lanes(&under, l[0].bytes, sizeof *l, l[0].len, &prk);
	cr_hmac_keys_init(&under, &prk);
	for (size_t i = 0; i < CR_HASH_LANES; i++) {
		uint8_t kem_context[2 * ENC_LEN];

		l[i].len = 0;
		kem_context_of(s, enc[i < n ? i : n - 1], kem_context);
		append_expand(&l[i], kem_name, sizeof kem_name, "shared_secret", kem_context,
			sizeof kem_context, CR_HASH_LEN);
	}
	cr_hmac_lanes(&under, l[0].bytes, sizeof *l, l[0].len, &prk);
	cr_hmac_keys_init(&under, &prk);
	append_label(&same, name, name_len, "secret");
	cr_hmac_lanes(&under, same.bytes, 0, same.len, &prk);
	cr_hmac_keys_init(&under, &prk);
	same.len = 0;
	append_expand(&same, name, name_len, "key", s->context, sizeof s->context, s->kind->key_len);
	cr_hmac_lanes(&under, same.bytes, 0, same.len, &prk);
	same.len = 0;
	append_expand(&same, name, name_len, "base_nonce", s->context, sizeof s->context, NONCE_LEN);
	cr_hmac_lanes(&under, same.bytes, 0, same.len, &nonce);
	for (size_t i = 0; i < n; i++) {
		cr_hashes_get(&prk, i, out[i].key, s->kind->key_len);
		cr_hashes_get(&nonce, i, out[i].nonce, NONCE_LEN);
	}
	explicit_bzero(l, sizeof l);
	explicit_bzero(&under, sizeof under);
	explicit_bzero(&prk, sizeof prk);
	explicit_bzero(&nonce, sizeof nonce);
}

/* Each the way that is sooner. */
void cr_hpke_derive(const struct cr_hpke_schedule *s, uint8_t (*dh)[CR_X25519_LEN], const uint8_t *const *enc,
	size_t n, struct cr_hpke_key *out)
{
	const bool lanes = cr_hash_lanes_here();

	for (size_t at = 0, some; at < n; at += some) {
		some = n - at < CR_HASH_LANES ? n - at : CR_HASH_LANES;
		if (lanes && some >= CR_HASH_LANES / 2)
			derive_lanes(s, dh + at, enc + at, some, out + at);
		else
			for (size_t i = at; i < at + some; i++)
				derive(s, dh[i], enc[i], &out[i]);
	}
	if (lanes && n >= CR_HASH_LANES / 2)
		cr_wipe_stack();
}
