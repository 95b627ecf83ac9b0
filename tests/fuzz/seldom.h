/* seldom.h - what takes long is done with few inputs, by a hash: a rule that a fuzzer can learn is followed
 * by all it finds. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is this one input of so many?  FNV-1a. */
static inline bool seldom(const uint8_t *data, size_t size, uint32_t many)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < size; i++)
		hash = (uint32_t)((hash ^ data[i]) * UINT64_C(16777619));
	return hash % many == 0;
}
