/* must.h - ends the process unless something is true, for targets of the fuzzer. */
#pragma once

#include <stdlib.h>

static inline void must(int truth)
{
	if (!truth)
		abort();
}
