/* an_end.h - whether an estimate touches an end of the range that its plan gives. */
#pragma once

#include "es_estimate.h"

/* Readings beyond the range count as its end, so an estimate there may be of numbers in another unit or
 * scale.  Returns the end that item i of e touches, NAN if none:
 * - of a mean, a coordinate, a quantile, or a sum divided by `reports`: its 95 % interval has that end, and
 *   lies in that half of the range, so that it is no wide interval of noise;
 * - of a tree of ranges: the first or last leaf, when its interval lies above that of the leaf beside it. */
double an_at_end(const struct qy_query *q, const struct es_estimate *e, size_t i, uint64_t reports);
