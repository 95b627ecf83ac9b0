/* sh_permute.h - uniformly random order: Fisher-Yates over records of one length, and the number of buckets.
 * No I/O.
 *
 * Sending each message to a uniform bucket and ordering each bucket uniformly gives a uniform order of all
 * (doc/shuffle.md; Rao 1961, Sandelius 1962).  Draws are exact given a uniform generator: by rejection, never
 * by a modulo.  The drawn values are secret: they are never logged, and scratch memory is wiped. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cr_rand.h"

/* Permute n records of len bytes (1..PR_TAG_LEN + PR_SEALED_MAX) in place.  Fisher-Yates in Durstenfeld's
 * form: O(n). */
void sh_permute(uint8_t *records, size_t n, size_t len, const struct cr_rng *rng);
/* Permute n indices in the same way. */
void sh_permute_index(uint32_t *index, size_t n, const struct cr_rng *rng);

/* Number of buckets of a round: the power of two in 1..PR_BUCKETS_MAX with which a bucket holds about 512 KiB
 * when all `messages` messages of len bytes have arrived. */
uint32_t sh_bucket_count(uint64_t messages, size_t len);
