/* seldom.h - what takes long is done with few inputs where volume is wanted (preset fuzz-fast), by a hash: a
 * rule that a fuzzer can learn is followed by all it finds.  Elsewhere with each: the corpus has faults that
 * were mended. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is this one input of so many?  FNV-1a. */
static inline bool seldom(const uint8_t *data, size_t size, uint32_t many)
{
#ifdef TOMBOLA_FUZZ_VOLUME
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < size; i++)
		hash = (uint32_t)((hash ^ data[i]) * UINT64_C(16777619));
	return hash % many == 0;
#else
	(void)data;
	(void)size;
	(void)many;
	return true;
#endif
}
