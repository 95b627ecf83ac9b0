/* pt_hash_analysis.h - counts of the categories that hashes support: pt_hash.h. */
#pragma once

#include "pt_hash.h"

/* counts[i] += 1 for every category i < bins that the hash takes to the cell, one of `cells`.  rare: a record
 * may also be NULL, all ones after its head, and counted nowhere; and all others are counted in counts[bins].
 * One addition and one multiplication for each category.  CM_EDATA for another head, no hash of the family or
 * no cell. */
CM_CHECK enum cm_rc pt_hash_count(uint32_t bins, uint32_t cells, bool rare, const uint8_t *record,
	uint64_t *counts, struct cm_err *err);
