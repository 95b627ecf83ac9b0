/* qy_none_words.c - how a query says what devices without a valid reading do: bins, and words. */
#include <stdio.h>

#include "qy_query.h"

uint32_t qy_query_symbols(const struct qy_query *q)
{
	return q->none == QY_NONE_SYMBOL && q->kind != QY_PREFIXES;
}

uint32_t qy_query_bins(const struct qy_query *q)
{
	return q->kind == QY_PLACES ? qy_query_cells(q) : q->categories + qy_query_symbols(q);
}

void qy_query_none_word(const struct qy_query *q, char *out, size_t size)
{
	if (q->none == QY_NONE_SYMBOL)
		(void)snprintf(out, size, "symbol");
	else if (q->none == QY_NONE_EVEN)
		(void)snprintf(out, size, "even");
	else if (q->kind == QY_HISTOGRAM || q->kind == QY_SETS)
		(void)snprintf(out, size, QY_NONE_CATEGORY "%s", q->category[q->none_category]);
	else
		(void)snprintf(out, size, "%.6g", q->none_value);
}

void qy_query_none_text(const struct qy_query *q, char *out, size_t size)
{
	static const char who[] = "devices without a reading";
	bool of_range = q->kind != QY_HISTOGRAM && q->kind != QY_MARGINALS && q->kind != QY_SETS &&
			q->kind != QY_PLACES;

	if (q->kind == QY_PREFIXES)
		(void)snprintf(out, size, "%s count among the texts that begin with no candidate", who);
	else if (q->none == QY_NONE_SYMBOL)
		(void)snprintf(out, size, "%s are counted apart", who);
	else if (q->none == QY_NONE_EVEN)
		(void)snprintf(out, size, "%s count as a %s drawn evenly", who,
			of_range               ? "number of the range"
			: q->kind == QY_SETS   ? "set of one item"
			: q->kind == QY_PLACES ? "cell"
					       : "category");
	else if (of_range)
		(void)snprintf(out, size, "%s count as %.6g", who, q->none_value);
	else
		(void)snprintf(out, size, "%s count as '%s'", who, q->category[q->none_category]);
}
