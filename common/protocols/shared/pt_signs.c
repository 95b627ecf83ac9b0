/* pt_signs.c - draws the coordinates of a vector as signs. */
#include "pt_signs.h"

#include <stdio.h>

#include "pt_exact.h"

#define LABEL 11 /* bytes of a number of 32 bits in decimal, with its NUL */

uint64_t pt_signs_draw(uint32_t x, const struct cr_rng *rng)
{
	uint64_t draw = cr_rng_u64(rng) >> 33;

	return (draw - x) >> 63;
}

uint32_t pt_signs_pick(const struct qy_query *q, const struct qy_value *value, uint64_t i)
{
	uint32_t x = 0;

	for (uint32_t c = 0; c < q->dimension; c++)
		x |= (uint32_t)pt_equal_mask(c, i) & value->at[c];
	return x;
}

void pt_signs_describe(
	const struct qy_query *q, uint32_t coordinate, bool plus, char *out, size_t size, size_t *used)
{
	char number[LABEL];
	const char *label = number;

	if (q->columns != 0)
		label = q->column[coordinate].name;
	else
		(void)snprintf(number, sizeof number, "%u", (unsigned)coordinate);
	if (*used < size)
		*used += (size_t)snprintf(out + *used, size - *used, "%c%s ", plus ? '+' : '-', label);
}
