/* bucket_root.h - a bucket's root from its messages, and a bucket opened that has it. */
#pragma once

#include <stdlib.h>

#include "rd_manifest.h"

static inline void bucket_root(const uint8_t *sealed, size_t n, size_t len, uint8_t root[PR_HASH_LEN])
{
	uint8_t(*hashes)[PR_HASH_LEN] = malloc(n * PR_HASH_LEN + 1);

	if (!hashes)
		abort();
	rd_bucket_hashes(sealed, n, len, hashes);
	rd_bucket_sum((const uint8_t(*)[PR_HASH_LEN])hashes, n, root);
	free(hashes);
}
