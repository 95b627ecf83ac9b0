/* cr_rand.h - a source of random bytes that is passed as an argument, and the process's CSPRNG, which needs
 * libcrypto.  Single draws need no library (cr_draw.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cm_rc.h"

#define CR_SEED_LEN 32u

/* A source of random bytes for a core.  fill() writes n uniform bytes; it cannot fail (a generator that can
 * no longer produce ends the process).  Borrowed; one thread at a time. */
struct cr_rng {
	void (*fill)(void *ctx, void *out, size_t n);
	void *ctx;
};

/* Get the process's CSPRNG: seeded from the kernel, AES-256-CTR, buffered, one independent generator for
 * each thread.  CM_EINTERNAL when the kernel gives no entropy: the caller must not start.
 *
 * This call reseeds the generator, so every piece of work (a commit, a seal, the reports of some devices)
 * begins with it.  A fork reseeds it, too, and so does every 2^14 bytes.  Each draw of 12 bytes and more -
 * keys, nonces, ids - also mixes in fresh entropy of the kernel, which knows when its virtual machine was
 * cloned or restored (vmgenid).  So copies of a running machine share no key or nonce; they can share only
 * numbers of the piece of work during which the copy was made. */
CM_CHECK enum cm_rc cr_rng_system(struct cr_rng *out, struct cm_err *err);

/* In test builds (TOMBOLA_MUTANTS) with a number in the environment variable TOMBOLA_TEST_SEED: from here on
 * that number, `what`, a and b determine the output of this thread's generator.  A warning in the log says
 * once that nothing is private.  Every draw of a round that affects its estimate comes after such a call.  No
 * effect in other builds. */
#define CR_RNG_POINT_WARNING "randomness comes from a seed: nothing is private"
#ifdef TOMBOLA_MUTANTS
void cr_rng_point(const char *what, uint64_t a, uint64_t b);
#else
#define cr_rng_point(what, a, b) ((void)0)
#endif

/* A generator whose whole output is determined by its seed, for permutations that must be the same after a
 * restart.  It is the AES-256-CTR keystream under the seed from counter 0, however the output is divided
 * among calls.  NULL when out of memory.  Wipe it with cr_rng_seeded_free; *out borrows it. */
struct cr_rng_seeded;
struct cr_rng_seeded *cr_rng_seeded_new(const uint8_t seed[CR_SEED_LEN], struct cr_rng *out);
void cr_rng_seeded_free(struct cr_rng_seeded *g);

/* Eight bytes, read as a little endian number. */
uint64_t cr_rng_u64(const struct cr_rng *rng);
/* Fill out with n such numbers. */
void cr_rng_u64s(const struct cr_rng *rng, uint64_t *out, size_t n);
/* A uniform number of 0..bound-1, for bound >= 1.  It is exact: rejection sampling (Lemire 2019), never a
 * modulo.  The number of draws does not depend on any secret. */
uint64_t cr_rng_below(const struct cr_rng *rng, uint64_t bound);
/* 1 with probability exactly threshold/2^64, else 0; no branch on the outcome. */
uint64_t cr_rng_bernoulli(const struct cr_rng *rng, uint64_t threshold);
