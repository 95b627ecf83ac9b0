/* pt_flame_statement.c - what FLAME claims of its rounds, and what that is worth. */
#include <math.h>
#include <stdio.h>

#include "acct_flame.h"
#include "pt_flame_analysis.h"
#include "pt_mixbins.h"

static struct acct_flame_slot slot_of(const struct pt_randomizer *p)
{
	return (struct acct_flame_slot){ .epsilon = pt_mixbins_guarantee(&p->slots.slot[0].each),
		.bins = p->slots.slot[0].each.bins };
}

static struct acct_flame_sparse sparse_of(
	const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants, uint32_t sent)
{
	return (struct acct_flame_sparse){ .slot = slot_of(p),
		.users = participants,
		.padded = p->shuffler.tag_messages,
		.length = q->dimension,
		.sent = sent };
}

void pt_ss_simple_statement(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
	double delta, char *out, size_t size)
{
	const struct acct_flame_slot slot = slot_of(p);
	double epsilon;

	out[0] = '\0';
	if (acct_flame_simple_theorem1(
		    &slot, q->dimension, participants, delta, ACCT_FLAME_EXACT, &epsilon, NULL) == ACCT_OK)
		(void)snprintf(out, size,
			"FLAME's Theorem 1 gives epsilon %.4g at delta %g, which holds because every "
			"coordinate is a message of its own; what is charged is less",
			epsilon, delta);
}

/* Their value for sending `sent` coordinates, or "none" where the theorem has none. */
static void theorem4(const struct acct_flame_sparse *s, double delta, char *out, size_t size)
{
	double epsilon;

	if (acct_flame_double_theorem4(s, delta, ACCT_FLAME_BENNETT, &epsilon, NULL) == ACCT_OK)
		(void)snprintf(out, size, "%.4g", epsilon);
	else
		(void)snprintf(out, size, "none");
}

void pt_ss_double_statement(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
	double delta, char *out, size_t size)
{
	const struct acct_flame_sparse s = sparse_of(q, p, participants, p->slots.slot[0].count);
	char paper[32];

	theorem4(&s, delta, paper, sizeof paper);
	(void)snprintf(out, size,
		"FLAME's Theorem 4 says epsilon %s at delta %g: paper value (not a guarantee), it counts the "
		"sampling twice; what is charged holds, whether or not the shuffler evens the counts",
		paper, delta);
}

void pt_ss_topk_statement(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
	double delta, char *out, size_t size)
{
	const struct acct_flame_sparse s = sparse_of(q, p, participants, p->topk.size);
	double nu, most, share = 100.0 * p->topk.size / q->dimension;
	char paper[32], index[160] = "none";

	theorem4(&s, delta, paper, sizeof paper);
	if (acct_flame_nu_of(q->dimension, p->topk.size, p->slots.slot[0].each.dummies, &nu, &most, NULL) ==
		ACCT_OK) {
		int len = snprintf(index, sizeof index,
			"nu = %.4g: a coordinate that a device sends was chosen with chance %.4g %%", nu,
			fmin(nu * share, 100));

		if (p->slots.slot[0].each.dummies > 0)
			(void)snprintf(index + len, sizeof index - (size_t)len,
				", and certainly (nu = %.4g) where dummies fall badly", most);
	}
	(void)snprintf(out, size,
		"FLAME says epsilon %s at delta %g: paper value (not a guarantee), since choosing "
		"coordinates by value is no sampling; towards the shuffler there is index privacy only, "
		"%s; that is no differential privacy",
		paper, delta, index);
}
