/* cl_budget.c - computes how much of the budget is pinned and used. */
#include "cl_budget.h"

#include <inttypes.h>
#include <stdio.h>

#include "cl_ledger.h"
#include "cl_standing.h"
#include "cl_tries.h"
#include "rd_account.h"

enum cm_rc cl_budget_of(
	struct cl_db *db, const struct cl_pin *pin, double *share, size_t *answered, struct cm_err *err)
{
	struct rd_account *account = NULL;
	size_t taken = rd_pin_count(&pin->pin);
	struct rd_plan plan;
	enum cm_rc rc = cl_try_entries(db, pin->plan_hash, answered, err);

	/* A closed plan has no entries to answer, so it counts as fully used. */
	*share = taken > 0 ? (double)*answered / (double)taken : 1;
	if (rc != CM_OK || !pin->adaptive)
		return rc;
	rc = cl_plan_find(db, pin->plan_hash, &plan, err);
	if (rc == CM_OK)
		rc = cl_ledger_account(db, &plan, &account, err);
	if (rc == CM_OK)
		rc = rd_account_share(account, share, err);
	rd_account_free(account);
	rd_plan_fini(&plan);
	return rc;
}

struct summing {
	struct cl_db *db;
	const struct cl_policy *policy;
	struct cl_budget *out;
};

static double part_of(double epsilon, double delta, const struct cl_policy *policy)
{
	return rd_slices_share(
		&(struct rd_slices){ epsilon, delta }, policy->shared.max_epsilon, policy->shared.delta);
}

static enum cm_rc add(void *user, const struct cl_pin *pin, struct cm_err *err)
{
	struct summing *s = user;
	const struct rd_plan slice = { .epsilon = pin->epsilon, .delta = pin->delta };
	size_t answered;
	double share;
	enum cm_rc rc = cl_budget_of(s->db, pin, &share, &answered, err);

	if (rc != CM_OK)
		return rc;
	rd_slices_add(&s->out->slices, &slice);
	s->out->plans++;
	s->out->used += share * part_of(pin->epsilon, pin->delta, s->policy);
	return CM_OK;
}

enum cm_rc cl_budget_read(
	struct cl_db *db, const struct cl_policy *policy, struct cl_budget *out, struct cm_err *err)
{
	struct summing s = { db, policy, out };
	struct cl_loss loss;
	enum cm_rc rc;

	*out = (struct cl_budget){ .plans = 0 };
	rc = cl_pin_each(db, add, &s, err);
	if (rc == CM_OK)
		rc = cl_loss_read(db, &loss, err);
	if (rc != CM_OK)
		return rc;
	out->pinned = part_of(out->slices.epsilon, out->slices.delta, policy);
	/* Until an operator accepts the loss, the whole budget counts as used. */
	if (loss.lost) {
		out->pinned = out->pinned > 1 ? out->pinned : 1;
		out->used = out->used > 1 ? out->used : 1;
	}
	return CM_OK;
}

/* Add the loss of one charge, which is a report of some device. */
static void add_report(void *user, const struct rd_descriptor *d)
{
	char name[PR_TEXT_MAX + 32];

	(void)snprintf(name, sizeof name, "%" PRIu64 " (%s)", d->sequence, d->query.name);
	rd_together_add(user, d, 1, name);
}

enum cm_rc cl_budget_together(struct cl_db *db, struct rd_together *out, struct cm_err *err)
{
	*out = (struct rd_together){ .reports = 0 };
	return cl_ledger_each_charged(db, add_report, out, err);
}
