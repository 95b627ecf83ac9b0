/* pt_estimate.c - the memory of an answer. */
#include "pt_estimate.h"

#include <stdlib.h>

void pt_estimate_fini(struct pt_estimate *e)
{
	free(e->item);
	free(e->names);
	*e = (struct pt_estimate){ 0 };
}
