/* pl_cost.c - judges every round of a plan, assuming that the fitting rounds before it took place. */
#include "pl_cost.h"

#include "pl_make.h"

/* Find how many dummies would make a refused round fit; 0 if no number would or its protocol has none. */
static enum cm_rc find_dummies(const struct rd_account *a, const struct pl_round *r, const struct rd_batch *b,
	uint32_t *least, struct cm_err *err)
{
	/* With `low` dummies the round does not fit.  With `high` it fits, or no number of dummies is
	 * enough. */
	uint32_t low = (uint32_t)pt_parameter(&r->randomizer, "dummies"), high = PR_BLANKET_MAX;
	enum cm_rc rc = CM_OK;

	while (rc == CM_OK && high - low > 1) {
		/* Search from below: answers far above what is needed are of no use. */
		uint32_t mid =
			high == PR_BLANKET_MAX && 2 * low + 1 < high ? 2 * low + 1 : low + (high - low) / 2;
		struct pt_request request = r->request;
		struct pt_randomizer p;
		struct pt_loss loss;
		struct rd_verdict v = { 0 };
		struct cm_err ignored = { 0 };

		request.dummies = mid;
		request.dummy_chance = 0;
		if (pt_derive(r->protocol, &r->query, &request, &p, &ignored) != CM_OK ||
			rd_loss_of(&p, b, &loss, &ignored) != CM_OK)
			break;
		rc = rd_account_judge(a, &loss, &v, err);
		if (rc == CM_OK && v.fits)
			high = mid;
		else
			low = mid;
	}
	*least = high < PR_BLANKET_MAX ? high : 0;
	return rc;
}

struct costing {
	const struct pl_plan *p;
	struct pl_cost *cost;
};

static enum cm_rc judged(
	void *user, size_t i, const struct rd_account *a, const struct rd_verdict *v, struct cm_err *err)
{
	const struct costing *c = user;
	const struct pl_round *r = &c->p->round[i];
	const struct rd_batch b = pl_round_batch(c->p, r);
	struct pl_cost *cost = &c->cost[i];
	enum cm_rc rc;

	if (!v->fits && pl_repeats(c->p, i) && !cost[-1].run) {
		*cost = cost[-1];
		return CM_OK;
	}
	*cost = (struct pl_cost){ .verdict = *v,
		.run = v->fits,
		.messages = r->randomizer.row->messages(&r->randomizer),
		.bytes = pl_bytes(r->protocol, &r->randomizer),
		.error = pt_expected_error(&r->query, &r->randomizer, r->min_reports) };
	if (cost->run)
		return CM_OK;
	rc = rd_account_largest_epsilon0(
		a, r->protocol, &r->query, &r->request, &b, NULL, &cost->largest_epsilon0, err);
	return rc == CM_OK ? find_dummies(a, r, &b, &cost->least_dummies, err) : rc;
}

enum cm_rc pl_plan_cost(const struct pl_plan *p, struct pl_cost *cost, struct cm_err *err)
{
	struct costing c = { .p = p, .cost = cost };

	return pl_plan_accept(p, NULL, judged, &c, err);
}
