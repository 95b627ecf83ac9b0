/* pt_hash_analysis.h - counts the categories that hashes support: pt_hash.h. */
#pragma once

#include "pt_hash.h"

/* Add 1 to counts[i] for every category i < bins that the hash takes to the record's cell, one of `cells`.
 * rare: a record may also be NULL, which is all ones after its head and is not counted; all other records
 * are also counted in counts[bins].  Takes one addition and one multiplication for each category.  CM_EDATA
 * for another head, a hash outside the family or a cell out of range. */
CM_CHECK enum cm_rc pt_hash_count(uint32_t bins, uint32_t cells, bool rare, const uint8_t *record,
	uint64_t *counts, struct cm_err *err);
