/* an_range.h - computes how many devices hold a number within a range, from a result of type "ranges".
 *
 * Any range of whole leaves is a union of nodes of the tree; the smallest such set of nodes is added up. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "cm_rc.h"

struct an_range {
	double low, high;    /* ends of the range, exactly as the leaves have them */
	double value;        /* the unbiased estimate */
	double variance;     /* sum of the nodes' variances; an upper bound on the estimate's variance */
	double lower, upper; /* 95 % interval, from a normal distribution with that variance */
	double projected;    /* the same sum over the consistent counts */
	size_t nodes;
};

/* Add up a range.  text is LOW:HIGH.  CM_EUSAGE: it is no range, or its ends are not ends of leaves (err
 * names the nearest), or the result has another type.  CM_EDATA: the result's items do not say what they
 * count. */
CM_CHECK enum cm_rc an_range_sum(
	const json_t *result, const char *text, struct an_range *out, struct cm_err *err);
void an_range_print(const json_t *result, const struct an_range *r, FILE *out);
/* Make the JSON "tombola.range/1"; NULL: out of memory.  Free with json_decref. */
json_t *an_range_json(const json_t *result, const struct an_range *r);
