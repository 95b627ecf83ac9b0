/* pt_equal.c - whether two queries, or two randomizers, are the same. */
#include <string.h>

#include "pt_protocol.h"

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

static bool same_columns(const struct pt_query *a, const struct pt_query *b)
{
	uint32_t i = 0;

	while (a->columns == b->columns && i < a->columns &&
		strcmp(a->column[i].name, b->column[i].name) == 0 &&
		same_texts(a->column[i].category, a->column[i].categories, b->column[i].category,
			b->column[i].categories))
		i++;
	return a->columns == b->columns && i == a->columns;
}

static bool same_marginals(const struct pt_query *a, const struct pt_query *b)
{
	uint32_t i = 0;

	while (a->marginals == b->marginals && i < a->marginals && a->marginal[i] == b->marginal[i])
		i++;
	return a->marginals == b->marginals && i == a->marginals;
}

static bool same_probabilities(const struct pt_query *a, const struct pt_query *b)
{
	uint32_t i = 0;

	while (a->probabilities == b->probabilities && i < a->probabilities &&
		same_number(a->probability[i], b->probability[i]))
		i++;
	return a->probabilities == b->probabilities && i == a->probabilities;
}

bool pt_query_equal(const struct pt_query *a, const struct pt_query *b)
{
	return a->kind == b->kind && strcmp(a->name, b->name) == 0 && strcmp(a->field, b->field) == 0 &&
	       same_texts(a->category, a->categories, b->category, b->categories) &&
	       same_number(a->low, b->low) && same_number(a->high, b->high) && a->dimension == b->dimension &&
	       same_columns(a, b) && same_marginals(a, b) && same_probabilities(a, b) &&
	       a->leaves == b->leaves && a->fanout == b->fanout && a->bits == b->bits;
}

static bool same_slot(const struct pt_slot *a, const struct pt_slot *b)
{
	return a->count == b->count && a->groups == b->groups && a->bins == b->bins &&
	       a->dummies == b->dummies && a->dummy_chance == b->dummy_chance &&
	       a->keep_always == b->keep_always && a->keep == b->keep;
}

static bool same_slots(const struct pt_params *a, const struct pt_params *b)
{
	uint32_t i = 0;

	while (a->slots == b->slots && i < a->slots && same_slot(&a->slot[i], &b->slot[i]))
		i++;
	return a->slots == b->slots && i == a->slots;
}

bool pt_params_equal(const struct pt_params *a, const struct pt_params *b)
{
	return strcmp(a->protocol, b->protocol) == 0 && a->bins == b->bins && a->dummies == b->dummies &&
	       a->dummy_chance == b->dummy_chance && a->keep_always == b->keep_always && a->keep == b->keep &&
	       a->size == b->size && a->other == b->other && a->shuffler_dummies == b->shuffler_dummies &&
	       same_slots(a, b) && a->tags == b->tags && a->tag_messages == b->tag_messages &&
	       a->noise_decay == b->noise_decay && a->noise_mean == b->noise_mean &&
	       memcmp(a->tag_least, b->tag_least, sizeof a->tag_least) == 0;
}
