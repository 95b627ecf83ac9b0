/* cm_oom.c - malloc that records its failures. */
#include "cm_oom.h"

#include <stdlib.h>

static _Thread_local bool failed;

void *cm_oom_malloc(size_t n)
{
	void *p = malloc(n);

	failed |= p == NULL;
	return p;
}

bool cm_oom_happened(void)
{
	bool was = failed;

	failed = false;
	return was;
}
