/* an_end.c - finds estimates that touch an end of their range. */
#include "an_end.h"

#include <math.h>

static double of_number(const struct qy_query *q, const struct qy_item *it, double scale)
{
	double low = q->low * scale, high = q->high * scale, middle = low + (high - low) / 2;

	if (it->lower <= low && it->upper < middle)
		return q->low;
	if (it->upper >= high && it->lower > middle)
		return q->high;
	return NAN;
}

/* The leaves are the last items of the answer; the counts of devices without a reading follow them. */
static double of_leaf(const struct qy_query *q, const struct es_estimate *e, size_t i)
{
	size_t items = 0;

	while (items < e->n && !e->item[items].none)
		items++;
	if (q->leaves < 3 || items < q->leaves)
		return NAN;
	size_t first = items - q->leaves, last = items - 1;
	if (i == first && e->item[i].lower > e->item[i + 1].upper)
		return q->low;
	if (i == last && e->item[i].lower > e->item[i - 1].upper)
		return q->high;
	return NAN;
}

double an_at_end(const struct qy_query *q, const struct es_estimate *e, size_t i, uint64_t reports)
{
	const struct qy_item *it = &e->item[i];

	if (it->none)
		return NAN;
	switch (q->kind) {
	case QY_MEAN:
	case QY_VECTOR:
	case QY_QUANTILES:
		return of_number(q, it, 1);
	case QY_SUM:
		return reports > 0 ? of_number(q, it, (double)reports) : NAN;
	case QY_RANGES:
		return of_leaf(q, e, i);
	default:
		return NAN;
	}
}
