/* cm_rand.h - randomness as an argument, and the CSPRNG behind it.  Needs libcrypto. */
#pragma once

#include <stdint.h>

#include "cm_rc.h"

#define CM_SEED_LEN 32u

/* Where a core's randomness comes from.  fill() writes n uniform bytes; it cannot fail (a generator that can
 * no longer produce ends the process).  Borrowed; one thread at a time. */
struct cm_rng {
	void (*fill)(void *ctx, void *out, size_t n);
	void *ctx;
};

/* The process's CSPRNG: seeded from the kernel, AES-256-CTR, buffered, reseeded after fork and every 2^20
 * bytes; one independent generator per thread.  CM_EINTERNAL when the kernel gives no entropy: start nothing.
 */
CM_CHECK enum cm_rc cm_rng_system(struct cm_rng *out, struct cm_err *err);

/* Test builds (TOMBOLA_MUTANTS) with a number in the environment variable TOMBOLA_TEST_SEED: from here on
 * this thread's generator is determined by that number, `what`, a and b; a warning in the log says once that
 * nothing is private.  Whatever of a round decides its estimate is drawn behind such a point.  Nothing in
 * other builds. */
#define CM_RNG_POINT_WARNING "randomness comes from a seed: nothing is private"
#ifdef TOMBOLA_MUTANTS
void cm_rng_point(const char *what, uint64_t a, uint64_t b);
#else
#define cm_rng_point(what, a, b) ((void)0)
#endif

/* A generator whose whole output is determined by its seed (permutations that must be reproducible after a
 * restart): the AES-256-CTR keystream under the seed from counter 0, however it is cut into calls.  NULL when
 * out of memory.  Wipe with cm_rng_seeded_free; *out borrows it. */
struct cm_rng_seeded;
struct cm_rng_seeded *cm_rng_seeded_new(const uint8_t seed[CM_SEED_LEN], struct cm_rng *out);
void cm_rng_seeded_free(struct cm_rng_seeded *g);

/* Eight bytes, little endian. */
uint64_t cm_rng_u64(const struct cm_rng *rng);
/* Uniform on 0..bound-1 for bound >= 1, exact: rejection sampling (Lemire 2019), never a modulo.  The number
 * of draws does not depend on any secret. */
uint64_t cm_rng_below(const struct cm_rng *rng, uint64_t bound);
/* 1 with probability exactly threshold/2^64, else 0; no branch on the outcome. */
uint64_t cm_rng_bernoulli(const struct cm_rng *rng, uint64_t threshold);
