/* pt_vrr.h - vector randomized response: the signs of some coordinates in one message, each flipped with
 * one chance. */
#pragma once

#include "pt_device.h"

/* size = s coordinates of d, evenly spaced from a uniform start: coordinate t of these is start + floor(t d
 * / s) modulo d, so every coordinate is in s of the d subsets.  keep is the chance of each sign.  A
 * record's value is start * 2^16 + signs. */
#define PT_VRR_SIZE_MAX 16u

/* Check that the row can answer the question with messages about so many coordinates.  If not, returns
 * `code`. */
CM_CHECK enum cm_rc pt_vrr_shape(
	const struct qy_query *q, uint32_t size, enum cm_rc code, struct cm_err *err);
/* Coordinate t of the subset that begins at `start`. */
uint32_t pt_vrr_coordinate(const struct pt_randomizer *p, uint32_t start, uint32_t t);
/* Read the start and the signs of a record, as one *value. */
CM_CHECK enum cm_rc pt_vrr_read(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *value, struct cm_err *err);
