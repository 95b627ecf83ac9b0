/* uniform.h - numbers that look drawn, the same ones in every run: xorshift64. */
#pragma once

#include <stdint.h>

/* In [0, 1). */
static inline double uniform(void)
{
	static uint64_t seed = 1;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (double)(seed >> 11) / 9007199254740992.0;
}
