/* cr_x25519_many.c - chooses how X25519 products are made, and makes many of them. */
#include "cr_x25519_many.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "cm_buf.h"
#include "cm_fault.h"
#include "cr_x25519_lanes.h"
#include "cr_x25519_lib25519.h"

#define AT_ONCE ((size_t)CR_LANES * CR_LANES_GROUPS)

/* A product to make; all three are the caller's. */
struct product {
	const uint8_t *scalar, *point;
	uint8_t *out;
};

static const uint8_t base[CR_X25519_LEN] = { 9 };

static bool yes(void)
{
	return true;
}

static void put(struct cr_lanes *group, size_t lane, const uint8_t number[CR_X25519_LEN])
{
	for (size_t i = 0; i < 4; i++)
		group->word[i][lane] = cm_get_le64(number + 8 * i);
}

static void take(const struct cr_lanes *group, size_t lane, uint8_t number[CR_X25519_LEN])
{
	for (size_t i = 0; i < 4; i++)
		cm_put_le64(number + 8 * i, group->word[i][lane]);
}

/* 1..AT_ONCE products.  Lanes that are left compute the last product once more. */
static void make_in_lanes(const struct product *p, size_t n)
{
	/* gcc does not see that all lanes of `groups` are set. */
	struct cr_lanes scalar[CR_LANES_GROUPS] = { 0 }, point[CR_LANES_GROUPS] = { 0 }, out[CR_LANES_GROUPS];
	const size_t groups = (n + CR_LANES - 1) / CR_LANES;

	for (size_t i = 0; i < groups * CR_LANES; i++) {
		const struct product *at = &p[i < n ? i : n - 1];
		struct cr_lanes *s = &scalar[i / CR_LANES];

		put(s, i % CR_LANES, at->scalar);
		s->word[0][i % CR_LANES] &= ~(uint64_t)7;
		s->word[3][i % CR_LANES] &= ((uint64_t)1 << 63) - 1;
		s->word[3][i % CR_LANES] |= (uint64_t)1 << 62;
		put(&point[i / CR_LANES], i % CR_LANES, at->point);
	}
	cr_x25519_lanes(scalar, point, groups, out);
	for (size_t i = 0; i < n; i++)
		take(&out[i / CR_LANES], i % CR_LANES, p[i].out);
	OPENSSL_cleanse(scalar, sizeof scalar);
	OPENSSL_cleanse(out, sizeof out);
}

/* The same by the library.  Products of the base point are another function of it. */
static void make_by_library(const struct product *p, size_t n)
{
	uint8_t scalar[AT_ONCE][CR_X25519_LEN], point[AT_ONCE][CR_X25519_LEN], out[AT_ONCE][CR_X25519_LEN];

	for (int of_base = 0; of_base < 2; of_base++) {
		size_t some = 0, at = 0;

		for (size_t i = 0; i < n; i++)
			if ((p[i].point == base) == of_base) {
				memcpy(scalar[some], p[i].scalar, CR_X25519_LEN);
				memcpy(point[some++], p[i].point, CR_X25519_LEN);
			}
		if (some > 0 && of_base)
			cr_x25519_lib25519_base(scalar[0], some, out[0]);
		else if (some > 0)
			cr_x25519_lib25519(scalar[0], point[0], some, out[0]);
		for (size_t i = 0; i < n; i++)
			if ((p[i].point == base) == of_base)
				memcpy(p[i].out, out[at++], CR_X25519_LEN);
	}
	OPENSSL_cleanse(scalar, sizeof scalar);
	OPENSSL_cleanse(out, sizeof out);
}

/* In order of speed. */
static const struct way {
	const char *name, *line;
	bool (*here)(void), (*first)(void);              /* it can be forced; it is taken unasked */
	void (*make)(const struct product *p, size_t n); /* 1..AT_ONCE products; NULL: libcrypto, alone */
	size_t least;                                    /* fewer products are quicker alone */
} ways[] = {
	{ "avx512", "X25519: eight at a time (AVX-512 IFMA)", cr_x25519_lanes_here, cr_x25519_lanes_here,
		make_in_lanes, 2 },
	{ "lib25519", "X25519: four at a time (lib25519)", cr_x25519_lib25519_here, cr_x25519_lib25519_quick,
		make_by_library, 1 },
	{ "openssl", "X25519: one at a time (OpenSSL)", yes, yes, NULL, 0 },
};
#define WAYS (sizeof ways / sizeof ways[0])

static const struct way *chosen;
static enum cm_rc chosen_rc = CM_OK;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* NULL: the first that is taken unasked. */
static const struct way *find(const char *name)
{
	for (size_t i = 0; i < WAYS; i++)
		if (name ? strcmp(ways[i].name, name) == 0 && ways[i].here() : ways[i].first())
			return &ways[i];
	return NULL;
}

static void choose(void)
{
	const char *name = getenv(CR_X25519_VARIABLE);

	chosen = find(name && *name != '\0' ? name : NULL);
	if (!chosen) {
		chosen_rc = CM_EUSAGE;
		chosen = find(NULL);
	}
}

static const struct way *way(void)
{
	(void)pthread_once(&once, choose);
	return chosen;
}

enum cm_rc cr_x25519_begin(const char **line, struct cm_err *err)
{
	*line = way()->line;
	if (chosen_rc != CM_OK)
		return cm_fail(err, CM_EUSAGE,
			"%s is openssl, avx512 on a processor with AVX-512 IFMA, or lib25519 where that "
			"library is installed, not '%s'",
			CR_X25519_VARIABLE, getenv(CR_X25519_VARIABLE));
	return CM_OK;
}

const char *cr_x25519_way(void)
{
	return way()->name;
}

bool cr_x25519_use(const char *name)
{
	const struct way *found = find(name);

	(void)pthread_once(&once, choose);
	if (found)
		chosen = found;
	return found != NULL;
}

/* Whether a product is not zero, without looking where it is not. */
static bool is_good(const uint8_t out[CR_X25519_LEN])
{
	static const uint8_t zero[CR_X25519_LEN];

	return !cr_equal(out, zero, sizeof zero);
}

/* The product of one point, alone. */
static enum cm_rc one_point(
	struct cr_x25519 *k, const uint8_t *point, uint8_t out[CR_X25519_LEN], bool *good, struct cm_err *err)
{
	enum cm_rc rc = cr_x25519_derive(k, point, out, err);

	*good = rc == CM_OK;
	return rc == CM_EDATA ? CM_OK : rc;
}

enum cm_rc cr_x25519_points(struct cr_x25519 *k, const uint8_t *const *point, size_t n,
	uint8_t (*out)[CR_X25519_LEN], bool *good, struct cm_err *err)
{
	struct product p[AT_ONCE];
	const struct way *w = way();
	enum cm_rc rc = CM_OK;
	size_t at = 0;

	while (w->make && at < n && n - at >= w->least) {
		size_t some = n - at < AT_ONCE ? n - at : AT_ONCE;

		for (size_t i = 0; i < some; i++)
			p[i] = (struct product){ cr_x25519_secret(k), point[at + i], out[at + i] };
		w->make(p, some);
		for (size_t i = 0; i < some; i++)
			good[at + i] = is_good(out[at + i]);
		at += some;
	}
	for (; rc == CM_OK && at < n; at++)
		rc = one_point(k, point[at], out[at], &good[at], err);
	return rc;
}

static enum cm_rc one_scalar(const struct cr_key *secret, const uint8_t point[CR_X25519_LEN],
	uint8_t public_key[CR_X25519_LEN], uint8_t out[CR_X25519_LEN], struct cm_err *err)
{
	struct cr_x25519 *k;
	enum cm_rc rc = cr_x25519_new(secret->bytes, &k, err);

	if (rc != CM_OK)
		return rc;
	memcpy(public_key, cr_x25519_public(k), CR_X25519_LEN);
	rc = cr_x25519_derive(k, point, out, err);
	cr_x25519_free(k);
	return rc;
}

enum cm_rc cr_x25519_scalars(const struct cr_key *secret, size_t n, const uint8_t point[CR_X25519_LEN],
	uint8_t (*public_key)[CR_X25519_LEN], uint8_t (*out)[CR_X25519_LEN], struct cm_err *err)
{
	struct product p[AT_ONCE];
	const struct way *w = way();
	enum cm_rc rc = CM_OK;

	for (size_t at = 0; w->make && at < n;) {
		size_t some = n - at < AT_ONCE / 2 ? n - at : AT_ONCE / 2;

		for (size_t i = 0; i < some; i++) {
			const uint8_t *s = secret[at + i].bytes;

			p[2 * i] = (struct product){ s, base, public_key[at + i] };
			p[2 * i + 1] = (struct product){ s, point, out[at + i] };
		}
		w->make(p, 2 * some);
		at += some;
	}
	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		if (!w->make)
			rc = one_scalar(&secret[i], point, public_key[i], out[i], err);
		else if (!is_good(out[i]))
			rc = cm_fail(err, CM_EDATA, "a public key of low order");
	}
	if (rc != CM_OK)
		OPENSSL_cleanse(out, n * sizeof *out);
	return rc;
}
