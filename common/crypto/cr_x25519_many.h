/* cr_x25519_many.h - many X25519 products at a time, in the fastest way that this machine has.
 *
 * There are four ways, with the same results bit for bit.  In order of preference: our eight lanes
 * (cr_x25519_lanes.h), which take about a sixth of libcrypto's time, and a twentieth with a point's table;
 * our four lanes, half of it, and a sixth with a table; lib25519's batches (cr_x25519_lib25519.h), half of
 * it, if that library is installed and has vectors for this processor; and libcrypto, one product at a
 * time.  None has a branch or an index that depends on a scalar.  Internal to this folder and its tests. */
#pragma once

#include <stdbool.h>

#include "cr_secret.h"
#include "cr_x25519.h"

/* The environment variable that forces one of them: "avx512", "avx2", "lib25519" or "openssl". */
#define CR_X25519_VARIABLE "TOMBOLA_X25519"

/* Choose the way, which may load a library; *line describes it for people.  Without this call the first
 * product chooses.  CM_EUSAGE when the variable has another value, or names a way that this machine
 * lacks. */
CM_CHECK enum cm_rc cr_x25519_begin(const char **line, struct cm_err *err);
/* The way in use, in the word that the variable would have. */
const char *cr_x25519_way(void);
/* Force a way by the variable's word, for tests and measurements.  No other thread may be computing, and no
 * point may have a table, since a table belongs to one way.  Returns false, and changes nothing, when this
 * machine does not have it. */
bool cr_x25519_use(const char *name);

/* out[i] = k's secret * point[i], for any n.  good[i] is false when point[i] has low order (RFC 7748
 * section 6.1), and out[i] is then zero.  Only CM_EINTERNAL. */
CM_CHECK enum cm_rc cr_x25519_points(struct cr_x25519 *k, const uint8_t *const *point, size_t n,
	uint8_t (*out)[CR_X25519_LEN], bool *good, struct cm_err *err);
/* A public point that many scalars are multiplied by. */
struct cr_multiples;
struct cr_x25519_point {
	uint8_t bytes[CR_X25519_LEN];
	struct cr_multiples *table; /* NULL: there is no table yet */
	size_t products;            /* number of products that were asked for */
	bool tried, borrowed;
};
void cr_x25519_point_init(struct cr_x25519_point *p, const uint8_t point[CR_X25519_LEN]);
/* Make the same point for another thread.  It uses the table of `of`, if that has one, so `of` must outlive
 * *p. */
void cr_x25519_point_like(struct cr_x25519_point *p, const struct cr_x25519_point *of);
void cr_x25519_point_fini(struct cr_x25519_point *p);
/* Say that n products of the point will be asked for: makes the table now if it pays, the way has tables,
 * and the point and the memory allow one. */
void cr_x25519_point_expect(struct cr_x25519_point *p, size_t n);
/* public_key[i] = secret[i] * 9, the base point, and out[i] = secret[i] * point, for any n.  CM_EDATA when
 * point has low order; out is then wiped.  After some hundred products of a point, its table is made. */
CM_CHECK enum cm_rc cr_x25519_scalars(const struct cr_key *secret, size_t n, struct cr_x25519_point *point,
	uint8_t (*public_key)[CR_X25519_LEN], uint8_t (*out)[CR_X25519_LEN], struct cm_err *err);
