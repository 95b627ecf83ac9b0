/* pt_levels.h - level bins: a bounded number as one level, rounded at random. */
#pragma once

#include "pt_device.h"

/* Round x = X / 2^32 of the range, X 0..2^32, to one of the levels 0..b, whose mean is exactly x*b (b below
 * 2^31). */
uint64_t pt_levels_round(uint64_t x, uint32_t b, const struct cr_rng *rng);
/* The encode() of rows that send a level by MIXBINS. */
void pt_levels_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room);
