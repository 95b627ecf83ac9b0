/* pt_query.c - what is asked: names, fields, memory. */
#include "pt_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	enum pt_kind kind;
	const char *name;
} kinds[] = { { PT_HISTOGRAM, "histogram" }, { PT_MEAN, "mean" }, { PT_QUANTILES, "quantiles" },
	{ PT_SUM, "sum" }, { PT_VECTOR, "vector" }, { PT_RANGES, "ranges" }, { PT_MARGINALS, "marginals" },
	{ PT_PREFIXES, "prefixes" } };

enum pt_kind pt_kind_at(size_t i)
{
	return i < sizeof kinds / sizeof kinds[0] ? kinds[i].kind : (enum pt_kind)0;
}

const char *pt_kind_name(enum pt_kind kind)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (kinds[i].kind == kind)
			return kinds[i].name;
	}
	return "?";
}

enum pt_kind pt_kind_named(const char *name)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return kinds[i].kind;
	}
	return (enum pt_kind)0;
}

uint32_t pt_value_width(const struct pt_query *q)
{
	return q->kind == PT_VECTOR ? q->dimension : q->kind == PT_MARGINALS ? q->columns : 0;
}

uint32_t pt_query_fields(const struct pt_query *q)
{
	return q->columns > 0 ? q->columns : 1;
}

const char *pt_query_field(const struct pt_query *q, uint32_t i)
{
	return q->columns > 0 ? q->column[i].name : q->field;
}

void pt_query_fields_text(const struct pt_query *q, char *out, size_t size)
{
	static const char more[] = ", ...";
	uint32_t n = pt_query_fields(q);
	size_t used = 0;

	*out = '\0';
	for (uint32_t i = 0; i < n; i++) {
		const char *name = pt_query_field(q, i);
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

void pt_query_fini(struct pt_query *q)
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

bool pt_is_mean(const struct pt_query *q)
{
	return q->kind == PT_MEAN || q->kind == PT_SUM;
}
