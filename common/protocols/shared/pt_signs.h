/* pt_signs.h - the coordinates of a vector as signs that a device draws: what the rows of vectors share. */
#pragma once

#include "cr_rand.h"
#include "qy_value.h"

/* A sign of mean x / 2^30 - 1, x 0..2^31, as a bit: 1 with chance x / 2^31 exactly.  Constant time. */
uint64_t pt_signs_draw(uint32_t x, const struct cr_rng *rng);

/* value->at[i], whatever i is: all of them are read.  Constant time in i. */
uint32_t pt_signs_pick(const struct qy_query *q, const struct qy_value *value, uint64_t i);

/* Appends "+3" or "-left" and a space, as far as there is room; *used grows by as much. */
void pt_signs_describe(
	const struct qy_query *q, uint32_t coordinate, bool plus, char *out, size_t size, size_t *used);
