/* pt_rotated.h - words of rotated vectors: the mean of vectors of bounded length (doc/protocols/vectors.md).
 *
 * Integers.  With x in units of L / 2^30, and d2 = 2^m, numbers are halved floor(m / 2) times after the first
 * transform, rounded down.  The second gives z, a coordinate times 2^ceil(m / 2), cut to most = 2^62 / scale.
 * Its sign is +1 with chance floor((z + most) scale / 2^32) / 2^31.  scale is 2^32 L / (c 2^ceil(m / 2)),
 * rounded down.  The length is measured without the last 8 bits of each x.  Group g of a slot is group g mod
 * G of rotation g div G, G = ceil(d2 / (s w)).  Sign j of pass t of rotation r is the last bit of
 * SplitMix64's mix of (2 r + t) 2^32 + j. */
#pragma once

#include "pt_device.h"

#define PT_ROTATIONS_MAX 256u

/* The number of coordinates of a rotated vector, d2: the least power of two above the dimension. */
uint32_t pt_rotated_padded(uint32_t dimension);
/* The query that a round asks of rotated vectors: the coordinates of each of R rotations, filled up to
 * whole groups.  Coordinate k of rotation r is number r * (dimension / R) + k. */
struct qy_query pt_rotated_wide(const struct qy_query *q, const struct pt_randomizer *p);
/* The number of rotations R, from the groups of the parameters; 0 if these are not whole rotations. */
uint32_t pt_rotated_rotations(const struct qy_query *q, const struct pt_randomizer *p);
/* Check that the row answers the question.  If not, returns `code`. */
CM_CHECK enum cm_rc pt_rotated_query(const struct qy_query *q, enum cm_rc code, struct cm_err *err);
/* Where coordinates are cut for this scale: c sqrt(d2) / L, in standard deviations of a rotated
 * coordinate. */
double pt_rotated_cut(const struct qy_query *q, uint64_t scale);
