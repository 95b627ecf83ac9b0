/* sh_permute.c - puts records in uniformly random order by Fisher-Yates, and computes the number of
 * buckets. */
#include "sh_permute.h"

#include <assert.h>
#include <string.h>

#include "pr_limits.h"

#define BUCKET_BYTES UINT64_C(524288)

#define STEP 16u /* two records exchange so many bytes at a time, in registers */

/* Exchange two records, which may be the same. */
static void swap(uint8_t *a, uint8_t *b, size_t len)
{
	uint8_t hold[STEP], other[STEP];

	for (; len >= STEP; a += STEP, b += STEP, len -= STEP) {
		memcpy(other, a, STEP);
		memcpy(hold, b, STEP);
		memcpy(a, hold, STEP);
		memcpy(b, other, STEP);
	}
	for (; len > 0; a++, b++, len--) {
		hold[0] = *a;
		*a = *b;
		*b = hold[0];
	}
}

void sh_permute(uint8_t *records, size_t n, size_t len, const struct cr_rng *rng)
{
	assert(len >= 1 && len <= PR_TAG_LEN + PR_SEALED_MAX);
	for (size_t left = n; left > 1; left--)
		swap(records + (left - 1) * len, records + (size_t)cr_rng_below(rng, left) * len, len);
}

void sh_permute_index(uint32_t *index, size_t n, const struct cr_rng *rng)
{
	for (size_t left = n; left > 1; left--) {
		size_t pick = (size_t)cr_rng_below(rng, left);
		uint32_t hold = index[left - 1];
		index[left - 1] = index[pick];
		index[pick] = hold;
	}
}

uint32_t sh_bucket_count(uint64_t messages, size_t len)
{
	/* The product cannot wrap: messages <= 1e8 * 1024, len <= 4146. */
	uint64_t bytes = messages * len;
	uint32_t buckets = 1;

	while (buckets < PR_BUCKETS_MAX && bytes / buckets > BUCKET_BYTES)
		buckets *= 2;
	return buckets;
}
