/* sh_permute.h - uniform order: Fisher-Yates over records of one length, and bucket draws.  No I/O.
 *
 * A uniform bucket per message and a uniform order inside each bucket make a uniform order of all
 * (doc/shuffle.md; Rao 1961, Sandelius 1962).  Draws are exact given a uniform generator: rejection, never a
 * modulo.  What is drawn is secret: it is not logged and scratch memory is wiped. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cm_rand.h"

/* Permute n records of len bytes (1..PR_TAG_LEN + PR_SEALED_MAX) in place.  Fisher-Yates, Durstenfeld's form:
 * O(n). */
void sh_permute(uint8_t *records, size_t n, size_t len, const struct cm_rng *rng);
/* The same for indices. */
void sh_permute_index(uint32_t *index, size_t n, const struct cm_rng *rng);

/* Buckets of a round: the power of two 1..PR_BUCKETS_MAX with which a bucket holds about 512 KiB when
 * `messages` messages of len bytes have come. */
uint32_t sh_bucket_count(uint64_t messages, size_t len);
