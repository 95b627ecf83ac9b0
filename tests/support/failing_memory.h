/* failing_memory.h - allocations that fail after so many.  Link with -Wl,--wrap=calloc,--wrap=realloc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

static long fail_after = -1; /* allocations that are granted until all fail; negative: no end */

static bool granted(void)
{
	if (fail_after <= 0)
		return fail_after < 0;
	fail_after--;
	return true;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return granted() ? __real_calloc(n, size) : NULL;
}

void *__wrap_realloc(void *p, size_t size)
{
	return granted() ? __real_realloc(p, size) : NULL;
}
