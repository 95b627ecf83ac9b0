/* pt_rotated.h - words of a rotated vector: the mean of vectors of bounded length. */
#pragma once

#include "pt_device.h"

/* The least power of two that is not below the dimension. */
uint32_t pt_rotated_padded(uint32_t dimension);
/* The question about the rotated vector. */
struct pt_query pt_rotated_wide(const struct pt_query *q);
/* Does the row answer the question?  `code` otherwise. */
CM_CHECK enum cm_rc pt_rotated_query(const struct pt_query *q, enum cm_rc code, struct cm_err *err);
/* The public sign of coordinate j: the last bit of the mixing function of SplitMix64 (Steele, Lea, Flood
 * 2014). */
uint64_t pt_rotated_sign(uint64_t j);
