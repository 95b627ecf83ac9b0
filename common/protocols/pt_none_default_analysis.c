/* pt_none_default_analysis.c - how devices without a valid reading take part where a plan does not say it. */
#include "pt_protocol.h"

/* Does the row have the symbol for this question, or, for NULL, one of those that "auto" chooses from? */
static bool has_symbol(const struct pt_protocol *row, const struct qy_query *q)
{
	if (row)
		return (row->device->none_symbol & (unsigned)q->kind) != 0;
	for (size_t i = 0; (row = pt_row(i)); i++)
		if (row->automatic != 0 && (row->device->none_symbol & (unsigned)q->kind) != 0)
			return true;
	return false;
}

void pt_none_default(const struct pt_protocol *row, struct qy_query *q)
{
	q->none = has_symbol(row, q) ? QY_NONE_SYMBOL : q->low < q->high ? QY_NONE_VALUE : QY_NONE_EVEN;
	q->none_category = 0;
	/* Halves first: the sum of two finite numbers may not be finite. */
	q->none_value = q->none == QY_NONE_VALUE ? q->low / 2 + q->high / 2 : 0;
}
