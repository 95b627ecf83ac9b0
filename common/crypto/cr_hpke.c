/* cr_hpke.c - HPKE base mode, single shot: encapsulation, key schedule, AEAD (RFC 9180
 * sections 4.1, 5.1, 5.2). */
#include "cr_hpke.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>

#include "cm_fault.h"
#include "cr_hash.h"
#include "cr_x25519_many.h"

#define ENC_LEN     CR_HPKE_PUBLIC_LEN
#define TAG_LEN     16u
#define NONCE_LEN   12u
#define MAX_KEY_LEN 32u
#define CONTEXT_LEN (1u + 2u * CR_HASH_LEN)
#define MAX_LABELED 160u

_Static_assert(CR_HPKE_OVERHEAD == ENC_LEN + TAG_LEN, "enc and tag");

struct suite {
	enum cr_hpke_suite id;
	const char *cipher;
	size_t key_len;
	uint8_t name[10]; /* suite_id of RFC 9180: "HPKE", KEM 0x0020, KDF 0x0001, and the AEAD's number */
};

static const struct suite suites[] = {
	{ CR_HPKE_AES128GCM, "AES-128-GCM", 16, { 'H', 'P', 'K', 'E', 0, 0x20, 0, 1, 0, 1 } },
	{ CR_HPKE_CHACHA20POLY1305, "ChaCha20-Poly1305", 32, { 'H', 'P', 'K', 'E', 0, 0x20, 0, 1, 0, 3 } },
};

/* The suite_id of the KEM's own derivations (section 4.1). */
static const uint8_t kem_name[5] = { 'K', 'E', 'M', 0, 0x20 };

/* The part of a round's key schedule that does not depend on the message. */
struct schedule {
	const struct suite *suite;
	uint8_t recipient[CR_HPKE_PUBLIC_LEN];
	/* the context that keys are derived for: mode || psk_id_hash || info_hash */
	uint8_t context[CONTEXT_LEN];
	struct cr_hmac_key no_salt; /* the key of LabeledExtract when there is no salt */
	EVP_CIPHER_CTX *aead;       /* cipher and direction are set; the key is set anew for each message */
};

struct cr_hpke_sealer {
	struct schedule schedule;
	struct cr_x25519_point recipient;
};

struct cr_hpke_opener {
	struct schedule schedule;
	struct cr_x25519 *secret;
};

/* Bytes collected for one HMAC, which is faster than many short updates. */
struct labeled {
	uint8_t bytes[MAX_LABELED];
	size_t len;
};

static void append(struct labeled *l, const void *bytes, size_t n)
{
	if (n > sizeof l->bytes - l->len)
		abort(); /* cannot happen: only the labels and lengths of this file are used here */
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

/* LabeledExpand (section 4) to at most one hash block. */
static void expand(const struct cr_hmac_key *prk, const uint8_t *name, size_t name_len, const char *label,
	const uint8_t *info, size_t info_len, uint8_t *out, size_t out_len)
{
	const uint8_t length[2] = { 0, (uint8_t)out_len }, first = 1;
	struct labeled l = { .len = 0 };
	uint8_t block[CR_HASH_LEN];

	append(&l, length, sizeof length);
	append_label(&l, name, name_len, label);
	append(&l, info, info_len);
	append(&l, &first, 1);
	cr_hmac_with(prk, &(struct cr_span){ l.bytes, l.len }, 1, block);
	memcpy(out, block, out_len);
	explicit_bzero(block, sizeof block);
}

static enum cm_rc schedule_aead(struct schedule *s, int seal, struct cm_err *err)
{
	EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, s->suite->cipher, NULL);
	int ok;

	s->aead = EVP_CIPHER_CTX_new();
	ok = cipher && s->aead && EVP_CipherInit_ex2(s->aead, cipher, NULL, NULL, seal, NULL) == 1;
	EVP_CIPHER_free(cipher);
	return ok ? CM_OK
		  : cm_fail(err, CM_EINTERNAL, "libcrypto has no %s (out of memory?)", s->suite->cipher);
}

static enum cm_rc schedule_init(struct schedule *s, enum cr_hpke_suite id, const uint8_t recipient[ENC_LEN],
	const void *info, size_t info_len, int seal, struct cm_err *err)
{
	for (size_t i = 0; i < sizeof suites / sizeof suites[0]; i++)
		if (suites[i].id == id)
			s->suite = &suites[i];
	if (!s->suite)
		return cm_fail(err, CM_EDATA, "unknown HPKE suite %d", (int)id);
	memcpy(s->recipient, recipient, sizeof s->recipient);
	s->context[0] = 0; /* mode_base has the number 0 */
	cr_hmac_key_init(&s->no_salt, NULL, 0);
	extract(&s->no_salt, s->suite->name, sizeof s->suite->name, "psk_id_hash", NULL, 0, s->context + 1);
	extract(&s->no_salt, s->suite->name, sizeof s->suite->name, "info_hash", info, info_len,
		s->context + 1 + CR_HASH_LEN);
	return schedule_aead(s, seal, err);
}

static void schedule_fini(struct schedule *s)
{
	EVP_CIPHER_CTX_free(s->aead);
}

/* ExtractAndExpand and KeySchedule: set the AEAD's key for message 0 of the encapsulation enc with this DH
 * product. */
static int schedule_key(struct schedule *s, const uint8_t dh[CR_X25519_LEN], const uint8_t enc[ENC_LEN])
{
	const uint8_t *name = s->suite->name;
	const size_t name_len = sizeof s->suite->name;
	uint8_t prk[CR_HASH_LEN], shared[CR_HASH_LEN], kem_context[2 * ENC_LEN];
	uint8_t key[MAX_KEY_LEN], nonce[NONCE_LEN];
	struct cr_hmac_key under;
	int ok;

	memcpy(kem_context, enc, ENC_LEN);
	memcpy(kem_context + ENC_LEN, s->recipient, ENC_LEN);
	extract(&s->no_salt, kem_name, sizeof kem_name, "eae_prk", dh, CR_X25519_LEN, prk);
	cr_hmac_key_init(&under, prk, sizeof prk);
	expand(&under, kem_name, sizeof kem_name, "shared_secret", kem_context, sizeof kem_context, shared,
		sizeof shared);
	cr_hmac_key_init(&under, shared, sizeof shared);
	extract(&under, name, name_len, "secret", NULL, 0, prk);
	cr_hmac_key_init(&under, prk, sizeof prk);
	expand(&under, name, name_len, "key", s->context, sizeof s->context, key, s->suite->key_len);
	expand(&under, name, name_len, "base_nonce", s->context, sizeof s->context, nonce, sizeof nonce);
	ok = EVP_CipherInit_ex2(s->aead, NULL, key, nonce, -1, NULL) == 1;
	cr_hmac_key_fini(&under);
	explicit_bzero(prk, sizeof prk);
	explicit_bzero(shared, sizeof shared);
	explicit_bzero(key, sizeof key);
	explicit_bzero(nonce, sizeof nonce);
	return ok;
}

static int aead_update(
	EVP_CIPHER_CTX *ctx, const void *aad, size_t aad_len, const uint8_t *in, size_t len, uint8_t *out)
{
	int n;

	if (aad_len > 0 && EVP_CipherUpdate(ctx, NULL, &n, aad, (int)aad_len) != 1)
		return 0;
	return len == 0 || EVP_CipherUpdate(ctx, out, &n, in, (int)len) == 1;
}

enum cm_rc cr_hpke_keygen(const struct cr_rng *rng, struct cr_key *secret,
	uint8_t public_key[CR_HPKE_PUBLIC_LEN], struct cm_err *err)
{
	struct cr_x25519 *k;
	enum cm_rc rc;

	rng->fill(rng->ctx, secret->bytes, sizeof secret->bytes);
	rc = cr_x25519_new(secret->bytes, &k, err);
	if (rc != CM_OK) {
		cr_key_fini(secret);
		return rc;
	}
	memcpy(public_key, cr_x25519_public(k), CR_HPKE_PUBLIC_LEN);
	cr_x25519_free(k);
	return CM_OK;
}

/* Every scalar is a multiple of 8 and takes a point of low order to zero, so one trial product decides. */
enum cm_rc cr_hpke_check_recipient(const uint8_t public_key[CR_HPKE_PUBLIC_LEN], struct cm_err *err)
{
	static const uint8_t any[CR_X25519_LEN] = { 1 };
	uint8_t product[CR_X25519_LEN];
	struct cr_x25519 *k;
	enum cm_rc rc = cr_x25519_new(any, &k, err);

	if (rc != CM_OK)
		return rc;
	rc = cr_x25519_derive(k, public_key, product, err);
	cr_x25519_free(k);
	return rc;
}

enum cm_rc cr_hpke_sealer_new(enum cr_hpke_suite suite, const uint8_t public_key[CR_HPKE_PUBLIC_LEN],
	const void *info, size_t info_len, struct cr_hpke_sealer **out, struct cm_err *err)
{
	struct cr_hpke_sealer *s = calloc(1, sizeof *s);
	enum cm_rc rc;

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = cr_hpke_check_recipient(public_key, err);
	if (rc == CM_OK)
		rc = schedule_init(&s->schedule, suite, public_key, info, info_len, 1, err);
	cr_x25519_point_init(&s->recipient, public_key);
	if (rc == CM_OK)
		*out = s;
	else
		cr_hpke_sealer_free(s);
	return rc;
}

void cr_hpke_sealer_expect(struct cr_hpke_sealer *s, size_t n)
{
	cr_x25519_point_expect(&s->recipient, n);
}

enum cm_rc cr_hpke_sealer_like(
	const struct cr_hpke_sealer *of, struct cr_hpke_sealer **out, struct cm_err *err)
{
	struct cr_hpke_sealer *s = calloc(1, sizeof *s);

	if (!s)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	s->schedule = of->schedule;
	cr_x25519_point_like(&s->recipient, &of->recipient);
	if (schedule_aead(&s->schedule, 1, err) != CM_OK) {
		cr_hpke_sealer_free(s);
		return err->code;
	}
	*out = s;
	return CM_OK;
}

void cr_hpke_sealer_free(struct cr_hpke_sealer *s)
{
	if (!s)
		return;
	schedule_fini(&s->schedule);
	cr_x25519_point_fini(&s->recipient);
	explicit_bzero(s, sizeof *s);
	free(s);
}

/* Seal: out gets enc || ciphertext || tag, for the encapsulation enc with this DH product. */
static enum cm_rc encrypt(struct schedule *s, const uint8_t enc[ENC_LEN], const uint8_t dh[CR_X25519_LEN],
	const void *aad, size_t aad_len, const uint8_t *plain, size_t len, uint8_t *out, struct cm_err *err)
{
	uint8_t *box = out + ENC_LEN, *tag = box + len;
	int n;

	memcpy(out, enc, ENC_LEN);
	if (schedule_key(s, dh, enc) && aead_update(s->aead, aad, aad_len, plain, len, box) &&
		EVP_CipherFinal_ex(s->aead, tag, &n) == 1 &&
		EVP_CIPHER_CTX_ctrl(s->aead, EVP_CTRL_AEAD_GET_TAG, (int)TAG_LEN, tag) == 1)
		return CM_OK;
	return cm_fail(err, CM_EINTERNAL, "libcrypto cannot encrypt (out of memory?)");
}

enum cm_rc cr_hpke_seal_many(struct cr_hpke_sealer *s, const struct cr_key *ephemeral, size_t n,
	const void *aad, size_t aad_len, const uint8_t *plain, size_t len, uint8_t *out, size_t stride,
	struct cm_err *err)
{
	uint8_t enc[CR_HPKE_MANY][ENC_LEN], dh[CR_HPKE_MANY][CR_X25519_LEN];
	enum cm_rc rc = CM_OK;

	if (len > INT_MAX || aad_len > INT_MAX)
		return cm_fail(err, CM_EINTERNAL, "a message of %zu bytes is too long", len);
	for (size_t at = 0; rc == CM_OK && at < n; at += CR_HPKE_MANY) {
		size_t some = n - at < CR_HPKE_MANY ? n - at : CR_HPKE_MANY;

		rc = cr_x25519_scalars(ephemeral + at, some, &s->recipient, enc, dh, err);
		for (size_t i = 0; rc == CM_OK && i < some; i++)
			rc = encrypt(&s->schedule, enc[i], dh[i], aad, aad_len, plain + (at + i) * len, len,
				out + (at + i) * stride, err);
	}
	explicit_bzero(dh, sizeof dh);
	return rc;
}

enum cm_rc cr_hpke_seal_with(struct cr_hpke_sealer *s, const struct cr_key *ephemeral, const void *aad,
	size_t aad_len, const uint8_t *plain, size_t len, uint8_t *out, struct cm_err *err)
{
	return cr_hpke_seal_many(s, ephemeral, 1, aad, aad_len, plain, len, out, len + CR_HPKE_OVERHEAD, err);
}

enum cm_rc cr_hpke_seal(struct cr_hpke_sealer *s, const struct cr_rng *rng, const void *aad, size_t aad_len,
	const uint8_t *plain, size_t len, uint8_t *out, struct cm_err *err)
{
	struct cr_key ephemeral;
	enum cm_rc rc;

	rng->fill(rng->ctx, ephemeral.bytes, sizeof ephemeral.bytes);
	rc = cr_hpke_seal_with(s, &ephemeral, aad, aad_len, plain, len, out, err);
	cr_key_fini(&ephemeral);
	return rc;
}

enum cm_rc cr_hpke_opener_new(enum cr_hpke_suite suite, const struct cr_key *secret, const void *info,
	size_t info_len, struct cr_hpke_opener **out, struct cm_err *err)
{
	struct cr_hpke_opener *o = calloc(1, sizeof *o);
	enum cm_rc rc;

	if (!o)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = cr_x25519_new(secret->bytes, &o->secret, err);
	if (rc == CM_OK)
		rc = schedule_init(&o->schedule, suite, cr_x25519_public(o->secret), info, info_len, 0, err);
	if (rc == CM_OK)
		*out = o;
	else
		cr_hpke_opener_free(o);
	return rc;
}

void cr_hpke_opener_free(struct cr_hpke_opener *o)
{
	if (!o)
		return;
	schedule_fini(&o->schedule);
	cr_x25519_free(o->secret);
	explicit_bzero(o, sizeof *o);
	free(o);
}

/* Open: CM_EDATA, with plain wiped, when the message was not sealed to this key, info and aad. */
static enum cm_rc decrypt(struct schedule *s, const uint8_t dh[CR_X25519_LEN], const void *aad,
	size_t aad_len, const uint8_t *sealed, size_t plain_len, uint8_t *plain, struct cm_err *err)
{
	uint8_t tag[TAG_LEN], none;
	int n, ok;

	memcpy(tag, sealed + ENC_LEN + plain_len, TAG_LEN);
	if (!schedule_key(s, dh, sealed))
		return cm_fail(err, CM_EINTERNAL, "libcrypto refused a key");
	ok = aead_update(s->aead, aad, aad_len, sealed + ENC_LEN, plain_len, plain) &&
	     EVP_CIPHER_CTX_ctrl(s->aead, EVP_CTRL_AEAD_SET_TAG, (int)TAG_LEN, tag) == 1 &&
	     (EVP_CipherFinal_ex(s->aead, &none, &n) == 1 || !CM_CHECKED("hpke.tag"));
	if (ok)
		return CM_OK;
	/* The cipher writes plaintext before it has checked the tag: wipe it. */
	if (plain_len > 0)
		explicit_bzero(plain, plain_len);
	ERR_clear_error();
	return cm_fail(err, CM_EDATA, "not sealed to this key and round, or altered");
}

static bool is_length(size_t len, size_t aad_len)
{
	return len >= CR_HPKE_OVERHEAD && len <= INT_MAX && aad_len <= INT_MAX;
}

enum cm_rc cr_hpke_open(struct cr_hpke_opener *o, const void *aad, size_t aad_len, const uint8_t *sealed,
	size_t len, uint8_t *plain, struct cm_err *err)
{
	uint8_t dh[CR_X25519_LEN];
	enum cm_rc rc;

	if (!is_length(len, aad_len))
		return cm_fail(err, CM_EDATA, "%zu bytes are no sealed message", len);
	rc = cr_x25519_derive(o->secret, sealed, dh, err);
	if (rc == CM_OK)
		rc = decrypt(&o->schedule, dh, aad, aad_len, sealed, len - CR_HPKE_OVERHEAD, plain, err);
	explicit_bzero(dh, sizeof dh);
	return rc;
}

/* Open at most CR_HPKE_MANY messages. */
static enum cm_rc open_some(struct cr_hpke_opener *o, const void *aad, size_t aad_len,
	const uint8_t *const *sealed, size_t n, size_t plain_len, uint8_t *plain, bool *good,
	struct cm_err *err)
{
	uint8_t dh[CR_HPKE_MANY][CR_X25519_LEN];
	enum cm_rc rc = cr_x25519_points(o->secret, sealed, n, dh, good, err);

	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		uint8_t *at = plain + i * plain_len;

		if (good[i])
			rc = decrypt(&o->schedule, dh[i], aad, aad_len, sealed[i], plain_len, at, err);
		else if (plain_len > 0)
			memset(at, 0, plain_len);
		good[i] = good[i] && rc == CM_OK;
		rc = rc == CM_EDATA ? CM_OK : rc;
	}
	explicit_bzero(dh, sizeof dh);
	return rc;
}

enum cm_rc cr_hpke_open_many(struct cr_hpke_opener *o, const void *aad, size_t aad_len,
	const uint8_t *const *sealed, size_t n, size_t len, uint8_t *plain, bool *good, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (!is_length(len, aad_len))
		return cm_fail(err, CM_EDATA, "%zu bytes are no sealed message", len);
	for (size_t at = 0; rc == CM_OK && at < n; at += CR_HPKE_MANY) {
		size_t some = n - at < CR_HPKE_MANY ? n - at : CR_HPKE_MANY;

		rc = open_some(o, aad, aad_len, sealed + at, some, len - CR_HPKE_OVERHEAD,
			plain + at * (len - CR_HPKE_OVERHEAD), good + at, err);
	}
	return rc;
}

enum cm_rc cr_hpke_begin(const char **line, struct cm_err *err)
{
	return cr_x25519_begin(line, err);
}

const char *cr_hpke_way(void)
{
	return cr_x25519_way();
}
