/* pt_marginals.c - counts of combinations of several fields' categories: each marginal is a slot of
 * MIXBINS. */
#include "pt_marginals.h"

#include "pr_limits.h"
#include "pt_rows.h"
#include "pt_slots.h"

bool pt_marginals_has(const struct qy_query *q, uint32_t marginal, uint32_t column)
{
	return (q->marginal[marginal] >> column & 1) != 0;
}

uint32_t pt_marginals_faces(const struct qy_query *q, uint32_t column)
{
	return q->column[column].categories + qy_query_symbols(q);
}

uint32_t pt_marginals_combinations(const struct qy_query *q, uint32_t i)
{
	uint32_t k = 1;

	for (uint32_t c = 0; c < q->columns && k <= PR_CATEGORIES_MAX; c++)
		k *= pt_marginals_has(q, i, c) ? pt_marginals_faces(q, c) : 1;
	return k;
}

enum cm_rc pt_marginals_query(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != QY_MARGINALS)
		return cm_fail(err, code, "%s: answers marginals only", row->name);
	for (uint32_t i = 0; i < q->marginals; i++) {
		uint32_t k = pt_marginals_combinations(q, i);

		if (k < 2 || k > PR_CATEGORIES_MAX)
			return cm_fail(err, code,
				"%s: marginal %u has fewer than 2 combinations, or more than %u", row->name,
				i + 1, PR_CATEGORIES_MAX);
	}
	return CM_OK;
}

void pt_marginals_slots(const struct qy_query *q, struct pt_randomizer *p)
{
	p->slots.kinds = q->marginals;
	for (uint32_t i = 0; i < q->marginals; i++)
		p->slots.slot[i] = (struct pt_slot){
			.count = 1, .groups = 1, .each.bins = pt_marginals_combinations(q, i)
		};
}

enum cm_rc pt_marginals_fit(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	if (p->slots.kinds != q->marginals)
		rc = cm_fail(err, CM_EPROTO, "%s: %u slots for %u marginals", p->row->name, p->slots.kinds,
			q->marginals);
	for (uint32_t i = 0; rc == CM_OK && i < q->marginals; i++)
		if (p->slots.slot[i].count != 1 || p->slots.slot[i].groups != 1 ||
			p->slots.slot[i].each.bins != pt_marginals_combinations(q, i))
			rc = cm_fail(
				err, CM_EPROTO, "%s: slot %u is not its marginal's", p->row->name, i + 1);
	return rc;
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_marginals_query(p->row, q, CM_EPROTO, err);

	if (rc == CM_OK)
		rc = pt_slots_check(p, err);
	return rc == CM_OK ? pt_marginals_fit(q, p, err) : rc;
}

/* The index of the combination, in which the last column of the set runs fastest.  The strides are
 * public. */
uint64_t pt_marginals_word(const struct qy_query *q, const struct pt_randomizer *p,
	const struct qy_value *value, uint32_t i, uint32_t group, const struct cr_rng *rng, void *room)
{
	uint64_t index = 0;

	(void)p;
	(void)group;
	(void)rng;
	(void)room;
	for (uint32_t c = 0; c < q->columns; c++)
		if (pt_marginals_has(q, i, c))
			index = index * pt_marginals_faces(q, c) + value->at[c];
	return index;
}

static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	pt_slots_encode(q, p, value, pt_marginals_word, rng, records, room);
}

const struct pt_device pt_device_marginals = {
	.name = "marginals",
	.summary = "a slot of mixbins for each combination of fields: marginal counts",
	.parameters = &pt_slots_layout,
	.kinds = QY_MARGINALS,
	.none_symbol = QY_MARGINALS,
	.check = check,
	.encode = encode,
	PT_SLOTS_DEVICE,
};
