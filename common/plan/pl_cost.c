/* pl_cost.c - what a plan would spend, before anything is deployed. */
#include <string.h>

#include "pl_plan.h"

/* *least: how many dummies would make a refused round fit, 0 if none would or its protocol has none. */
static enum cm_rc find_dummies(const struct rd_account *a, const struct pl_round *r, const struct rd_batch *b,
	uint32_t *least, struct cm_err *err)
{
	uint32_t low = r->params.dummies, high = PR_MESSAGES_MAX; /* low is too few; high fits, or is none */
	enum cm_rc rc = CM_OK;

	while (rc == CM_OK && high - low > 1) {
		/* From below: answers far above what is needed are of no use. */
		uint32_t mid =
			high == PR_MESSAGES_MAX && 2 * low + 1 < high ? 2 * low + 1 : low + (high - low) / 2;
		struct pt_request request = r->request;
		struct pt_params params;
		struct pt_loss loss;
		struct rd_verdict v = { 0 };
		struct cm_err ignored = { 0 };

		request.dummies = mid;
		request.dummy_chance = 0;
		if (r->protocol->derive(&r->query, &request, &params, &ignored) != CM_OK ||
			rd_loss_of(r->protocol, &params, b, &loss, &ignored) != CM_OK)
			break;
		rc = rd_account_judge(a, &loss, &v, err);
		if (rc == CM_OK && v.fits)
			high = mid;
		else
			low = mid;
	}
	*least = high < PR_MESSAGES_MAX ? high : 0;
	return rc;
}

static enum cm_rc judge(const struct pl_plan *p, const struct pl_round *r, struct rd_account *a,
	struct pl_cost *cost, struct cm_err *err)
{
	uint8_t id[PR_ROUND_ID_LEN] = { 0 };
	const struct rd_batch b = pl_round_batch(p, r);
	struct pt_loss loss;
	enum cm_rc rc = pl_round_loss(p, r, &loss, err);

	cost->messages = r->protocol->messages(&r->params);
	cost->bytes = pl_bytes(r->protocol, &r->params);
	cost->error = r->protocol->expected_error(&r->query, &r->params, r->min_reports);
	if (rc == CM_OK)
		rc = rd_account_judge(a, &loss, &cost->verdict, err);
	if (rc != CM_OK)
		return rc;
	cost->run = cost->verdict.fits;
	if (!cost->run) {
		rc = rd_account_largest_epsilon0(
			a, r->protocol, &r->query, &r->request, &b, NULL, &cost->largest_epsilon0, err);
		return rc == CM_OK ? find_dummies(a, r, &b, &cost->least_dummies, err) : rc;
	}
	cm_put_le32(id, r->number);
	return rd_account_add(a, id, &loss, err);
}

void pl_plan_print_trust(const struct pl_plan *p, FILE *out)
{
	for (size_t i = 0; i < p->rounds; i++)
		if (pt_needs_shuffler(p->round[i].protocol, &p->round[i].params))
			(void)fprintf(out,
				"round %u (%s): its guarantee rests on the shuffler adding %s%llu messages "
				"of "
				"its own\n",
				p->round[i].number, p->round[i].query.name,
				p->round[i].params.shuffler_dummies > 0 ? "" : "up to ",
				(unsigned long long)pt_shuffler_most(&p->round[i].params));
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
