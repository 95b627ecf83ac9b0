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
	uint8_t clamped[CR_LIB25519_MANY][CR_X25519_LEN], masked[CR_LIB25519_MANY][CR_X25519_LEN];

	memcpy(clamped, scalar, n * CR_X25519_LEN);
	for (size_t i = 0; i < n; i++)
		clamp(clamped[i]);
	if (point) {
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

/* The base point, two others, the same not canonical (9 + 2^255 - 19, with bit 255), and two of low order. */
static const uint8_t check_points[6][CR_X25519_LEN] = {
	{ 9 },
	{ 0xe6, 0xdb, 0x68, 0x67, 0x58, 0x30, 0x30, 0xdb, 0x35, 0x94, 0xc1, 0xa4, 0x24, 0xb1, 0x5f, 0x7c,
		0x72, 0x66, 0x24, 0xec, 0x26, 0xb3, 0x35, 0x3b, 0x10, 0xa9, 0x03, 0xa6, 0xd0, 0xab, 0x1c,
		0x4c },
	{ 2 },
	{ 0xf6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff },
	{ 0 },
	{ 1 },
};
#define CHECKS (sizeof check_points / sizeof check_points[0])

static bool is_right(void)
{
	uint8_t scalar[CHECKS][CR_X25519_LEN], product[CHECKS][CR_X25519_LEN], public_key[CR_X25519_LEN];
	uint8_t want[CR_X25519_LEN];
	struct cr_x25519 *k;
	struct cm_err err;
	bool right;

	for (size_t i = 0; i < CHECKS; i++)
		memset(scalar[i], 0xa5, CR_X25519_LEN);
	if (cr_x25519_new(scalar[0], &k, &err) != CM_OK)
		return false;
	cr_x25519_lib25519_base(scalar[0], 1, public_key);
	right = memcmp(public_key, cr_x25519_public(k), CR_X25519_LEN) == 0;
	cr_x25519_lib25519(scalar[0], check_points[0], CHECKS, product[0]);
	for (size_t i = 0; i < CHECKS; i++) {
		if (cr_x25519_derive(k, check_points[i], want, &err) != CM_OK)
			memset(want, 0, sizeof want);
		right = right && memcmp(product[i], want, sizeof want) == 0;
	}
	cr_x25519_free(k);
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
