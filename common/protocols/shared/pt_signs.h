/* pt_signs.h - the coordinates of a vector as signs that a device draws: what the rows about vectors
 * share. */
#pragma once

#include "cr_rand.h"
#include "qy_value.h"

/* Draw a sign of mean x / 2^30 - 1, x 0..2^31, as a bit: 1 with chance exactly x / 2^31.  Constant time. */
uint64_t pt_signs_draw(uint32_t x, const struct cr_rng *rng);

/* value->at[i].  All coordinates are read, so the time and the addresses do not depend on i. */
uint32_t pt_signs_pick(const struct qy_query *q, const struct qy_value *value, uint64_t i);

/* Append "+3" or "-left" and a space, as far as there is room; *used grows accordingly. */
void pt_signs_describe(
	const struct qy_query *q, uint32_t coordinate, bool plus, char *out, size_t size, size_t *used);
