/* qy_query_equal.c - whether two queries ask the same. */
#include <string.h>

#include "qy_query.h"

/* Neither is a NaN. */
static bool same_number(double a, double b)
{
	return a >= b && a <= b;
}

static bool same_texts(char *const *a, uint32_t an, char *const *b, uint32_t bn)
{
	uint32_t i = 0;

	while (an == bn && i < an && strcmp(a[i], b[i]) == 0)
		i++;
	return an == bn && i == an;
}

static bool same_columns(const struct qy_query *a, const struct qy_query *b)
{
	uint32_t i = 0;

	while (a->columns == b->columns && i < a->columns &&
		strcmp(a->column[i].name, b->column[i].name) == 0 &&
		same_texts(a->column[i].category, a->column[i].categories, b->column[i].category,
			b->column[i].categories) &&
		same_number(a->column[i].low, b->column[i].low) &&
		same_number(a->column[i].high, b->column[i].high) && a->column[i].cells == b->column[i].cells)
		i++;
	return a->columns == b->columns && i == a->columns;
}

static bool same_marginals(const struct qy_query *a, const struct qy_query *b)
{
	uint32_t i = 0;

	while (a->marginals == b->marginals && i < a->marginals && a->marginal[i] == b->marginal[i])
		i++;
	return a->marginals == b->marginals && i == a->marginals;
}

static bool same_probabilities(const struct qy_query *a, const struct qy_query *b)
{
	uint32_t i = 0;

	while (a->probabilities == b->probabilities && i < a->probabilities &&
		same_number(a->probability[i], b->probability[i]))
		i++;
	return a->probabilities == b->probabilities && i == a->probabilities;
}

bool qy_query_equal(const struct qy_query *a, const struct qy_query *b)
{
	return a->kind == b->kind && strcmp(a->name, b->name) == 0 && strcmp(a->field, b->field) == 0 &&
	       same_texts(a->category, a->categories, b->category, b->categories) &&
	       same_number(a->low, b->low) && same_number(a->high, b->high) && a->dimension == b->dimension &&
	       same_columns(a, b) && same_marginals(a, b) && same_probabilities(a, b) &&
	       a->leaves == b->leaves && a->fanout == b->fanout && a->bits == b->bits && a->none == b->none &&
	       same_number(a->none_value, b->none_value) && a->none_category == b->none_category;
}
