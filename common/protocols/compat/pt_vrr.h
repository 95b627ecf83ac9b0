/* pt_vrr.h - vector randomized response: the signs of some coordinates in one message, each flipped alike. */
#pragma once

#include "pt_device.h"

/* size = s coordinates of d, evenly spaced from a uniform start: coordinate t of them is start + floor(t d /
 * s) modulo d, so every coordinate is in s of the d subsets.  keep is a sign's.  A record's value is
 * start * 2^16 + signs. */
#define PT_VRR_SIZE_MAX 16u

/* Does the row answer the question with messages about so many coordinates?  `code` otherwise. */
CM_CHECK enum cm_rc pt_vrr_shape(
	const struct qy_query *q, uint32_t size, enum cm_rc code, struct cm_err *err);
/* Coordinate t of the subset that begins at `start`. */
uint32_t pt_vrr_coordinate(const struct pt_randomizer *p, uint32_t start, uint32_t t);
/* *value: start and signs. */
CM_CHECK enum cm_rc pt_vrr_read(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *value, struct cm_err *err);
