/* an_end.h - finds estimates that touch an end of the range that their plan gives. */
#pragma once

#include "es_estimate.h"

/* Readings beyond the range count as its end, so an estimate at an end may mean that numbers have another
 * unit or scale.  Returns the end that item i of e touches, or NAN if it touches none:
 * - a mean, a coordinate, a quantile, or a sum divided by `reports` touches an end that its 95 % interval
 *   has, if the whole interval lies in that half of the range; a wide interval of noise does not count;
 * - the first or last leaf of a tree of ranges touches its end if its interval lies above that of the leaf
 *   beside it. */
double an_at_end(const struct qy_query *q, const struct es_estimate *e, size_t i, uint64_t reports);
