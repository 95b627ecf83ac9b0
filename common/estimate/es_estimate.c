/* es_estimate.c - the memory of an answer. */
#include "es_estimate.h"

#include <stdlib.h>

void es_estimate_fini(struct es_estimate *e)
{
	free(e->item);
	free(e->names);
	*e = (struct es_estimate){ 0 };
}
