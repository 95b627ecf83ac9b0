/* an_range.h - how many hold a number of a range, from a result of type "ranges".
 *
 * Any range of whole leaves is a union of nodes of the tree; the fewest are added up. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "cm_rc.h"

struct an_range {
	double low, high;    /* as the leaves have them */
	double value;        /* unbiased */
	double variance;     /* the sum of the nodes': at least its own */
	double lower, upper; /* 95 %, normal, by that variance */
	double projected;    /* the same of the consistent counts */
	size_t nodes;
};

/* text is LOW:HIGH.  CM_EUSAGE: it is no range, or not of whole leaves, and which are the nearest; or the
 * result is of another type.  CM_EDATA: its items do not say what they count. */
CM_CHECK enum cm_rc an_range_sum(
	const json_t *result, const char *text, struct an_range *out, struct cm_err *err);
void an_range_print(const json_t *result, const struct an_range *r, FILE *out);
/* "tombola.range/1"; NULL out of memory.  Free with json_decref. */
json_t *an_range_json(const json_t *result, const struct an_range *r);
