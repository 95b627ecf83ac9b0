/* es_estimate.c - manages the memory of an answer, and makes an item undefined. */
#include "es_estimate.h"

#include <math.h>
#include <stdlib.h>

void es_estimate_fini(struct es_estimate *e)
{
	free(e->item);
	free(e->names);
	*e = (struct es_estimate){ 0 };
}

void es_item_undefined(double low, double high, struct qy_item *item)
{
	item->value = item->projected = (double)NAN;
	item->variance = (double)INFINITY;
	item->lower = item->joint_lower = low;
	item->upper = item->joint_upper = high;
}
