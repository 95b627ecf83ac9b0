/* qy_query.c - what is asked: names, fields, memory. */
#include "qy_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	enum qy_kind kind;
	const char *name;
} kinds[] = { { QY_HISTOGRAM, "histogram" }, { QY_MEAN, "mean" }, { QY_QUANTILES, "quantiles" },
	{ QY_SUM, "sum" }, { QY_VECTOR, "vector" }, { QY_RANGES, "ranges" }, { QY_MARGINALS, "marginals" },
	{ QY_PREFIXES, "prefixes" }, { QY_SETS, "sets" }, { QY_PLACES, "places" } };

enum qy_kind qy_kind_at(size_t i)
{
	return i < sizeof kinds / sizeof kinds[0] ? kinds[i].kind : (enum qy_kind)0;
}

const char *qy_kind_name(enum qy_kind kind)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (kinds[i].kind == kind)
			return kinds[i].name;
	}
	return "?";
}

enum qy_kind qy_kind_named(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].kind;
	}
	return (enum qy_kind)0;
}

uint32_t qy_value_width(const struct qy_query *q)
{
	switch (q->kind) {
	case QY_VECTOR:
		return q->dimension;
	case QY_MARGINALS:
		return q->columns;
	case QY_SETS:
		return qy_query_bins(q);
	case QY_HISTOGRAM:
	case QY_MEAN:
	case QY_SUM:
	case QY_QUANTILES:
	case QY_RANGES:
	case QY_PREFIXES:
	case QY_PLACES:
		break;
	}
	return 0;
}

uint32_t qy_query_fields(const struct qy_query *q)
{
	return q->columns > 0 ? q->columns : 1;
}

const char *qy_query_field(const struct qy_query *q, uint32_t i)
{
	return q->columns > 0 ? q->column[i].name : q->field;
}

void qy_query_fields_text(const struct qy_query *q, char *out, size_t size)
{
	static const char more[] = ", ...";
	uint32_t n = qy_query_fields(q);
	size_t used = 0;

	*out = '\0';
	for (uint32_t i = 0; i < n; i++) {
		const char *name = qy_query_field(q, i);
		size_t need = strlen(name) + (i > 0 ? 2 : 0), rest = i + 1 < n ? sizeof more : 1;

		if (used + need + rest > size) {
			(void)snprintf(out + used, size - used, "%s", i > 0 ? more : name);
			return;
		}
		used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "", name);
	}
}

static void free_texts(char **text, uint32_t n)
{
	for (uint32_t i = 0; text && i < n; i++)
		free(text[i]);
	free(text);
}

void qy_query_fini(struct qy_query *q)
{
	free_texts(q->category, q->categories);
	q->category = NULL;
	q->categories = 0;
	for (uint32_t i = 0; q->column && i < q->columns; i++)
		free_texts(q->column[i].category, q->column[i].categories);
	free(q->column);
	q->column = NULL;
	q->columns = 0;
	free(q->marginal);
	q->marginal = NULL;
	q->marginals = 0;
	free(q->probability);
	q->probability = NULL;
	q->probabilities = 0;
}

bool qy_is_mean(const struct qy_query *q)
{
	return q->kind == QY_MEAN || q->kind == QY_SUM;
}
