/* co_clip.h - private to common/compute: cuts vectors to a length, and converts their coordinates. */
#pragma once

#include "qy_query.h"

/* Cut a part of a vector: multiply it by min(1, most / length), so that its length in exact arithmetic is
 * at most `most`.  The numbers must be finite, and at most 1e160 in magnitude. */
void co_cut(double *v, size_t n, double most);
/* Convert coordinates within [-L, L] to integers, rounded towards 0. */
void co_coordinates(const struct qy_query *q, const double *v, uint32_t *at);
