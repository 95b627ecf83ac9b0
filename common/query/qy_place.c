/* qy_place.c - two numbers of a reading to the cell of a grid, and a cell to its ends. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "qy_query.h"

uint32_t qy_query_cells(const struct qy_query *q)
{
	return q->column[0].cells * q->column[1].cells;
}

static double end(const struct qy_column *c, uint64_t i)
{
	return i == c->cells ? c->high : c->low + (c->high - c->low) / c->cells * (double)i;
}

void qy_place_ends(const struct qy_query *q, uint32_t axis, uint64_t cell, double *low, double *high)
{
	uint64_t i = axis == 0 ? cell % q->column[0].cells : cell / q->column[0].cells;

	*low = end(&q->column[axis], i);
	*high = end(&q->column[axis], i + 1);
}

void qy_place_text(const struct qy_query *q, uint64_t cell, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (uint32_t axis = 0; axis < QY_PLACE_AXES && used < size; axis++) {
		double low, high;

		qy_place_ends(q, axis, cell, &low, &high);
		used += (size_t)snprintf(out + used, size - used, "%s[%.10g, %.10g%s", axis > 0 ? " x " : "",
			low, high, high < q->column[axis].high ? ")" : "]");
	}
}

/* Which part of the axis; by the ends that are shown, so that a cell has its lower end. */
static int read_axis(const struct qy_column *c, const char *text, uint64_t *out, int *clamped)
{
	char *stop;
	double x, part;
	uint64_t i;

	if (!qy_number_read(text, &stop, &x) || *stop != '\0')
		return 0;
	if (x < c->low || x > c->high)
		*clamped = 1;
	x = fmin(fmax(x, c->low), c->high);
	part = floor((x - c->low) / (c->high - c->low) * c->cells);
	i = (uint64_t)fmin(fmax(part, 0), c->cells - 1);
	/* The quotient is rounded, by less than a cell. */
	if (i > 0 && x < end(c, i))
		i--;
	else if (i + 1 < c->cells && x >= end(c, i + 1))
		i++;
	*out = i;
	return 1;
}

uint32_t qy_place_read(const struct qy_query *q, const char *const *text, uint64_t *cell, int *clamped)
{
	uint64_t at[QY_PLACE_AXES] = { 0 };
	uint32_t missing = 0;
	int outside = 0;

	for (uint32_t axis = 0; axis < QY_PLACE_AXES; axis++)
		missing += !text[axis] || !read_axis(&q->column[axis], text[axis], &at[axis], &outside);
	if (missing > 0)
		return missing;
	*cell = at[0] + q->column[0].cells * at[1];
	*clamped = outside;
	return 0;
}
