/* cm_noted.c - malloc that remembers its failures. */
#include "cm_noted.h"

#include <stdlib.h>

static _Thread_local bool failed;

void *cm_noted_malloc(size_t n)
{
	void *p = malloc(n);

	failed |= p == NULL;
	return p;
}

bool cm_noted_failure(void)
{
	bool was = failed;

	failed = false;
	return was;
}
