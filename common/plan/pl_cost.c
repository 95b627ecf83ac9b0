/* pl_cost.c - what a plan would spend, before anything is deployed. */
#include <string.h>

#include "pl_plan.h"

static enum cm_rc judge(const struct pl_plan *p, const struct pl_round *r, struct rd_account *a,
	struct pl_cost *cost, struct cm_err *err)
{
	uint8_t id[PR_ROUND_ID_LEN] = { 0 };
	uint64_t honest = rd_honest(r->min_reports, p->honest_fraction, p->colluders);
	struct acct_round cells;
	enum cm_rc rc = pl_round_cells(p, r, &cells, err);

	if (rc == CM_OK)
		rc = rd_account_judge(a, &cells, &cost->verdict, err);
	if (rc != CM_OK)
		return rc;
	cost->run = cost->verdict.fits;
	if (!cost->run)
		return rd_account_largest_epsilon0(
			a, r->protocol, &r->query, &r->request, honest, &cost->largest_epsilon0, err);
	cm_put_le32(id, r->number);
	return rd_account_add(a, id, &cells, err);
}

void pl_plan_print_trust(const struct pl_plan *p, FILE *out)
{
	for (size_t i = 0; i < p->rounds; i++)
		if (p->round[i].params.shuffler_dummies > 0)
			(void)fprintf(out,
				"round %u (%s): its guarantee rests on the shuffler adding %llu messages of its own\n",
				p->round[i].number, p->round[i].query.name,
				(unsigned long long)p->round[i].params.shuffler_dummies);
}

enum cm_rc pl_plan_cost(const struct pl_plan *p, struct pl_cost *cost, struct cm_err *err)
{
	struct rd_account *a = rd_account_new_mode(p->epsilon, p->delta, p->mode);
	enum cm_rc rc = a != NULL ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	for (size_t i = 0; rc == CM_OK && i < p->rounds; i++) {
		cost[i] = (struct pl_cost){ 0 };
		rc = judge(p, &p->round[i], a, &cost[i], err);
		if (rc != CM_OK)
			(void)cm_context(err, "round %u", p->round[i].number);
	}
	rd_account_free(a);
	return rc;
}
