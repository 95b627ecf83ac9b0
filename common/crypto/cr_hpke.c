/* cr_hpke.c - HPKE base mode, single shot: encapsulation, key schedule, AEAD (RFC 9180
 * sections 4.1, 5.1, 5.2). */
#include "cr_hpke.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>

#include "cm_fault.h"
#include "cr_hpke_schedule.h"

#define ENC_LEN CR_HPKE_PUBLIC_LEN
#define TAG_LEN 16u

_Static_assert(CR_HPKE_OVERHEAD == ENC_LEN + TAG_LEN, "enc and tag");

/* Of a round: its key schedule, and the cipher with its direction, which each message keys again. */
struct box {
	struct cr_hpke_schedule schedule;
	EVP_CIPHER_CTX *aead;
};

struct cr_hpke_sealer {
	struct box box;
	struct cr_x25519_point recipient;
};

struct cr_hpke_opener {
	struct box box;
	struct cr_x25519 *secret;
};

static enum cm_rc box_init(struct box *b, enum cr_hpke_suite id, const uint8_t recipient[ENC_LEN],
	const void *info, size_t info_len, int seal, struct cm_err *err)
{
	EVP_CIPHER *cipher;
	int ok;

	if (cr_hpke_schedule_init(&b->schedule, id, recipient, info, info_len, err) != CM_OK)
		return err->code;
	cipher = EVP_CIPHER_fetch(NULL, b->schedule.kind->cipher, NULL);
	b->aead = EVP_CIPHER_CTX_new();
	ok = cipher && b->aead && EVP_CipherInit_ex2(b->aead, cipher, NULL, NULL, seal, NULL) == 1;
	EVP_CIPHER_free(cipher);
	return ok ? CM_OK
		  : cm_fail(err, CM_EINTERNAL, "libcrypto has no %s (out of memory?)",
			    b->schedule.kind->cipher);
}

static void box_fini(struct box *b)
{
	EVP_CIPHER_CTX_free(b->aead);
}

static int use_key(const struct box *b, const struct cr_hpke_key *k)
{
	return EVP_CipherInit_ex2(b->aead, NULL, k->key, k->nonce, -1, NULL) == 1;
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

/* Every scalar takes a point of low order to zero (scalars are multiples of 8), so one trial product
 * decides. */
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
		rc = box_init(&s->box, suite, public_key, info, info_len, 1, err);
	cr_x25519_point_init(&s->recipient, public_key);
	if (rc == CM_OK)
		*out = s;
	else
		cr_hpke_sealer_free(s);
	return rc;
}

void cr_hpke_sealer_free(struct cr_hpke_sealer *s)
{
	if (!s)
		return;
	box_fini(&s->box);
	cr_x25519_point_fini(&s->recipient);
	explicit_bzero(s, sizeof *s);
	free(s);
}

/* out gets enc || ciphertext || tag, of the encapsulation enc. */
static enum cm_rc encrypt(struct box *s, const uint8_t enc[ENC_LEN], const struct cr_hpke_key *key,
	const void *aad, size_t aad_len, const uint8_t *plain, size_t len, uint8_t *out, struct cm_err *err)
{
	uint8_t *box = out + ENC_LEN, *tag = box + len;
	int n;

	memcpy(out, enc, ENC_LEN);
	if (use_key(s, key) && aead_update(s->aead, aad, aad_len, plain, len, box) &&
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
	const uint8_t *at_enc[CR_HPKE_MANY];
	struct cr_hpke_key key[CR_HPKE_MANY];
	enum cm_rc rc = CM_OK;

	if (len > INT_MAX || aad_len > INT_MAX)
		return cm_fail(err, CM_EINTERNAL, "a message of %zu bytes is too long", len);
	for (size_t at = 0; rc == CM_OK && at < n; at += CR_HPKE_MANY) {
		size_t some = n - at < CR_HPKE_MANY ? n - at : CR_HPKE_MANY;

		rc = cr_x25519_scalars(ephemeral + at, some, &s->recipient, enc, dh, err);
		for (size_t i = 0; i < some; i++)
			at_enc[i] = enc[i];
		if (rc == CM_OK)
			cr_hpke_derive(&s->box.schedule, dh, at_enc, some, key);
		for (size_t i = 0; rc == CM_OK && i < some; i++)
			rc = encrypt(&s->box, enc[i], &key[i], aad, aad_len, plain + (at + i) * len, len,
				out + (at + i) * stride, err);
	}
	explicit_bzero(dh, sizeof dh);
	explicit_bzero(key, sizeof key);
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
		rc = box_init(&o->box, suite, cr_x25519_public(o->secret), info, info_len, 0, err);
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
	box_fini(&o->box);
	cr_x25519_free(o->secret);
	explicit_bzero(o, sizeof *o);
	free(o);
}

/* CM_EDATA, with plain wiped, when it was not sealed to this key, info and aad. */
static enum cm_rc decrypt(struct box *s, const struct cr_hpke_key *key, const void *aad, size_t aad_len,
	const uint8_t *sealed, size_t plain_len, uint8_t *plain, struct cm_err *err)
{
	uint8_t tag[TAG_LEN], none;
	int n, ok;

	memcpy(tag, sealed + ENC_LEN + plain_len, TAG_LEN);
	if (!use_key(s, key))
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
	struct cr_hpke_key key;
	enum cm_rc rc;

	if (!is_length(len, aad_len))
		return cm_fail(err, CM_EDATA, "%zu bytes are no sealed message", len);
	rc = cr_x25519_derive(o->secret, sealed, dh, err);
	if (rc == CM_OK) {
		cr_hpke_derive(&o->box.schedule, &dh, &sealed, 1, &key);
		rc = decrypt(&o->box, &key, aad, aad_len, sealed, len - CR_HPKE_OVERHEAD, plain, err);
	}
	explicit_bzero(dh, sizeof dh);
	explicit_bzero(&key, sizeof key);
	return rc;
}

/* At most CR_HPKE_MANY messages. */
static enum cm_rc open_some(struct cr_hpke_opener *o, const void *aad, size_t aad_len,
	const uint8_t *const *sealed, size_t n, size_t plain_len, uint8_t *plain, bool *good,
	struct cm_err *err)
{
	uint8_t dh[CR_HPKE_MANY][CR_X25519_LEN];
	struct cr_hpke_key key[CR_HPKE_MANY];
	enum cm_rc rc = cr_x25519_points(o->secret, sealed, n, dh, good, err);

	if (rc == CM_OK)
		cr_hpke_derive(&o->box.schedule, dh, sealed, n, key);
	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		uint8_t *at = plain + i * plain_len;

		if (good[i])
			rc = decrypt(&o->box, &key[i], aad, aad_len, sealed[i], plain_len, at, err);
		else if (plain_len > 0)
			memset(at, 0, plain_len);
		good[i] = good[i] && rc == CM_OK;
		rc = rc == CM_EDATA ? CM_OK : rc;
	}
	explicit_bzero(dh, sizeof dh);
	explicit_bzero(key, sizeof key);
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
