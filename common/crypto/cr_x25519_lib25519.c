/* cr_x25519_lib25519.c - loads lib25519, checks it against libcrypto, and wipes what it leaves. */
#include "cr_x25519_lib25519.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include <openssl/crypto.h>

#include "cm_fault.h"

#define SONAME "lib25519.so.1"

/* The library's functions, as lib25519.h declares them; its names say the curve, so a later version keeps
 * them. */
static struct {
	void (*points)(unsigned char *, const unsigned char *, const unsigned char *, long long);
	void (*base)(unsigned char *, const unsigned char *);
	const char *(*implementation)(void);
} lib;

static bool here;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ISO C has no conversion of dlsym()'s pointer to one of a function; POSIX has their bytes alike. */
static bool find(void *library, const char *name, void *function, size_t len)
{
	void *at = dlsym(library, name);

	memcpy(function, &at, len);
	return at != NULL;
}

static bool load(void)
{
	void *library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);

	return library && find(library, "lib25519_nPbatch_montgomery25519", &lib.points, sizeof lib.points) &&
	       find(library, "lib25519_nG_montgomery25519", &lib.base, sizeof lib.base) &&
	       find(library, "lib25519_nPbatch_montgomery25519_implementation", &lib.implementation,
		       sizeof lib.implementation);
}

static void clamp(uint8_t scalar[CR_X25519_LEN])
{
	scalar[0] &= 0xf8;
	scalar[31] = (uint8_t)((scalar[31] & 0x7f) | 0x40);
}

/* point NULL: the base point. */
static __attribute__((noinline)) void multiply(
	const uint8_t *scalar, const uint8_t *point, size_t n, uint8_t *product)
{
	uint8_t clamped[CR_LIB25519_MANY][CR_X25519_LEN];

	memcpy(clamped, scalar, n * CR_X25519_LEN);
	for (size_t i = 0; i < n; i++)
		clamp(clamped[i]);
	if (point) {
		uint8_t masked[CR_LIB25519_MANY][CR_X25519_LEN];

		memcpy(masked, point, n * CR_X25519_LEN);
		for (size_t i = 0; i < n; i++)
			masked[i][31] &= 0x7f;
		lib.points(product, clamped[0], masked[0], (long long)n);
	} else {
		for (size_t i = 0; i < n; i++)
			lib.base(product + i * CR_X25519_LEN, clamped[i]);
	}
	OPENSSL_cleanse(clamped, sizeof clamped);
}

/* Called where multiply() was called, so that this array lies over its frame and the library's; it is larger
 * than both, as test_x25519_secret sees. */
static __attribute__((noinline)) void wipe_stack(void)
{
	uint8_t stack[32768];

	OPENSSL_cleanse(stack, sizeof stack);
}

void cr_x25519_lib25519(const uint8_t *scalar, const uint8_t *point, size_t n, uint8_t *product)
{
	multiply(scalar, point, n, product);
	wipe_stack();
}

void cr_x25519_lib25519_base(const uint8_t *scalar, size_t n, uint8_t *product)
{
	multiply(scalar, NULL, n, product);
	wipe_stack();
}

/* ---- the check of a library that was just loaded ---- */

/* The base point, two others, some not canonical (2^255 - 19 and more, or bit 255), and all of low order. */
static const uint8_t check_points[][CR_X25519_LEN] = {
	{ 9 },
	{ 0xe6, 0xdb, 0x68, 0x67, 0x58, 0x30, 0x30, 0xdb, 0x35, 0x94, 0xc1, 0xa4, 0x24, 0xb1, 0x5f, 0x7c,
		0x72, 0x66, 0x24, 0xec, 0x26, 0xb3, 0x35, 0x3b, 0x10, 0xa9, 0x03, 0xa6, 0xd0, 0xab, 0x1c,
		0x4c },
	{ 2 },
	{ 0xf6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff },
	{ 0xef, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0x7f },
	{ 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0x7f },
	{ 0xe6, 0xdb, 0x68, 0x67, 0x58, 0x30, 0x30, 0xdb, 0x35, 0x94, 0xc1, 0xa4, 0x24, 0xb1, 0x5f, 0x7c,
		0x72, 0x66, 0x24, 0xec, 0x26, 0xb3, 0x35, 0x3b, 0x10, 0xa9, 0x03, 0xa6, 0xd0, 0xab, 0x1c,
		0xcc },
	{ 0 },
	{ 1 },
	{ 0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
		0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8,
		0x00 },
	{ 0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
		0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11,
		0x57 },
	{ 0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0x7f },
	{ 0xed, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0x7f },
	{ 0xee, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff },
	{ 0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
		0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8,
		0x80 },
};
#define EDGES (sizeof check_points / sizeof check_points[0])

struct check {
	uint8_t scalar[CR_LIB25519_MANY][CR_X25519_LEN], point[CR_LIB25519_MANY][CR_X25519_LEN];
	uint8_t public_key[CR_LIB25519_MANY][CR_X25519_LEN], product[CR_LIB25519_MANY][CR_X25519_LEN];
};

/* As many products as a call has at most, each of another scalar and another point, by libcrypto; the
 * first scalar is given.  A public key is the next scalar, and EDGES further on a point: they look random,
 * and are the same at each start. */
static bool set_check(struct check *c)
{
	for (size_t i = 0; i < CR_LIB25519_MANY; i++) {
		struct cr_x25519 *k;
		struct cm_err err;

		memcpy(c->point[i], i < EDGES ? check_points[i] : c->public_key[i - EDGES], CR_X25519_LEN);
		if (cr_x25519_new(c->scalar[i], &k, &err) != CM_OK)
			return false;
		memcpy(c->public_key[i], cr_x25519_public(k), CR_X25519_LEN);
		if (cr_x25519_derive(k, c->point[i], c->product[i], &err) != CM_OK)
			memset(c->product[i], 0, CR_X25519_LEN);
		cr_x25519_free(k);
		if (i + 1 < CR_LIB25519_MANY)
			memcpy(c->scalar[i + 1], c->public_key[i], CR_X25519_LEN);
	}
	return true;
}

/* In a full call, and in one that is no multiple of the vectors' length. */
static bool is_right(void)
{
	static const size_t calls[2] = { CR_LIB25519_MANY, EDGES };
	uint8_t got[CR_LIB25519_MANY][CR_X25519_LEN];
	struct check c = { .scalar = { { [0] = 0xa5, [31] = 0xa5 } } }; /* not clamped */
	bool right = set_check(&c);

	for (size_t i = 0; right && i < 2; i++) {
		cr_x25519_lib25519_base(c.scalar[0], calls[i], got[0]);
		right = memcmp(got, c.public_key, calls[i] * CR_X25519_LEN) == 0;
		cr_x25519_lib25519(c.scalar[0], c.point[0], calls[i], got[0]);
		right = right && memcmp(got, c.product, calls[i] * CR_X25519_LEN) == 0;
	}
	return right;
}

static void begin(void)
{
	here = load() && (is_right() || !CM_CHECKED("x25519.library"));
}

bool cr_x25519_lib25519_here(void)
{
	(void)pthread_once(&once, begin);
	return here;
}

bool cr_x25519_lib25519_quick(void)
{
	return cr_x25519_lib25519_here() && strstr(lib.implementation(), "avx2");
}
