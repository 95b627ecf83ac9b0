/* co_clip.h - private to common/compute: vectors cut to a length, and their coordinates. */
#pragma once

#include "qy_query.h"

/* A part of a vector: multiply it by min(1, most / length), so that its length in exact arithmetic is at most
 * `most`.  Numbers are finite, at most 1e160 in magnitude. */
void co_cut(double *v, size_t n, double most);
/* Coordinates within [-L, L] to integers, rounded towards 0. */
void co_coordinates(const struct qy_query *q, const double *v, uint32_t *at);
