/* cr_x25519_many.h - many X25519 products at a time, in the fastest way that this machine has.
 *
 * There are four ways, with the same results bit for bit, in the order in which they are taken: our eight
 * lanes (cr_x25519_lanes.h), about a sixth of libcrypto's time, and a twentieth from tables of a point; our
 * four, half of it, and a sixth from tables; lib25519's batches (cr_x25519_lib25519.h), half of it, where
 * that library is installed and has vectors for this processor; and libcrypto's, one product at a time.  None
 * has a branch or an index that depends on a scalar.  Internal to this folder and its tests. */
#pragma once

#include <stdbool.h>

#include "cr_secret.h"
#include "cr_x25519.h"

/* The environment variable that forces one of them: "avx512", "avx2", "lib25519" or "openssl". */
#define CR_X25519_VARIABLE "TOMBOLA_X25519"

/* The way is chosen at the first product, or here, which may load a library; *line says which, for people.
 * CM_EUSAGE when the variable has another value, or names what this machine lacks. */
CM_CHECK enum cm_rc cr_x25519_begin(const char **line, struct cm_err *err);
/* The way in use, by the variable's value for it. */
const char *cr_x25519_way(void);
/* Force a way by the variable's value, for tests and measurements: no other thread may be computing, and no
 * point may have a table, which is of one way.  false, and nothing changes, when this machine does not have
 * it. */
bool cr_x25519_use(const char *name);

/* out[i] = k's secret * point[i] for any n.  good[i] is false when point[i] has low order (RFC 7748 section
 * 6.1); out[i] is zero then.  CM_EINTERNAL only. */
CM_CHECK enum cm_rc cr_x25519_points(struct cr_x25519 *k, const uint8_t *const *point, size_t n,
	uint8_t (*out)[CR_X25519_LEN], bool *good, struct cm_err *err);
/* A point that many scalars are multiplied by.  It is public. */
struct cr_multiples;
struct cr_x25519_point {
	uint8_t bytes[CR_X25519_LEN];
	struct cr_multiples *table; /* NULL: it has none */
	size_t products;            /* that were asked for */
	bool tried, borrowed;
};
void cr_x25519_point_init(struct cr_x25519_point *p, const uint8_t point[CR_X25519_LEN]);
/* The same point for another thread, with the table of `of`, if that has one: it must outlive *p. */
void cr_x25519_point_like(struct cr_x25519_point *p, const struct cr_x25519_point *of);
void cr_x25519_point_fini(struct cr_x25519_point *p);
/* n products of the point will be asked for: make the table now if it pays, where the way has tables, and the
 * point and the memory allow one. */
void cr_x25519_point_expect(struct cr_x25519_point *p, size_t n);
/* public_key[i] = secret[i] * 9, the base point, and out[i] = secret[i] * point, for any n.  CM_EDATA when
 * point has low order; out is wiped then.  After some hundred products of a point it has a table. */
CM_CHECK enum cm_rc cr_x25519_scalars(const struct cr_key *secret, size_t n, struct cr_x25519_point *point,
	uint8_t (*public_key)[CR_X25519_LEN], uint8_t (*out)[CR_X25519_LEN], struct cm_err *err);
