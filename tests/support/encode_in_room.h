/* encode_in_room.h - calls encode() of a row of pt_device.h for a test, with the room that it works in. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "pt_device.h"

static inline void encode_in_room(const struct pt_device *row, const struct qy_query *q,
	const struct pt_randomizer *p, const struct qy_value *value, const struct cr_rng *rng,
	uint8_t *records)
{
	size_t n = row->room ? row->room(q, p) : 0;
	void *room = n > 0 ? aligned_alloc(64, (n + 63) / 64 * 64) : NULL;

	if (n > 0 && !room)
		abort();
	if (n > 0)
		memset(room, 0, n);
	row->encode(q, p, value, rng, records, room);
	free(room);
}
