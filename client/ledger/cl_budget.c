/* cl_budget.c - computes how much of the budget is pinned and used. */
#include "cl_budget.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cl_ledger.h"
#include "cl_standing.h"
#include "cl_tries.h"
#include "rd_account.h"

/* The plan's epsilon up to the last entry that this client reported to, and up to the last that it took. */
static void totals(
	const struct rd_plan *plan, const struct cl_pin *pin, uint32_t last, double *answered, double *taken)
{
	*answered = *taken = 0;
	for (size_t i = 0; i < plan->entries; i++) {
		if (plan->entry[i].number <= last)
			*answered = plan->entry[i].epsilon_total;
		if (rd_pin_has(&pin->pin, i))
			*taken = plan->entry[i].epsilon_total;
	}
}

enum cm_rc cl_budget_of(struct cl_db *db, const struct cl_pin *pin, const struct rd_plan *plan,
	struct cl_plan_use *out, struct cm_err *err)
{
	struct rd_account *account = NULL;
	double answered, taken;
	uint32_t last = 0;
	enum cm_rc rc = cl_try_entries(db, pin->plan_hash, &out->answered, &last, err);

	/* A closed plan has no entries to answer, so it counts as fully used. */
	out->share = 1;
	if (rc == CM_OK && pin->adaptive) {
		rc = cl_ledger_account(db, plan, &account, err);
		if (rc == CM_OK)
			rc = rd_account_share(account, &out->share, err);
		rd_account_free(account);
	} else if (rd_pin_count(&pin->pin) > 0) {
		totals(plan, pin, last, &answered, &taken);
		out->share = rd_pin_used(&pin->pin, answered, taken) / pin->epsilon;
	}
	out->share = fmin(out->share, 1);
	out->epsilon = out->share * pin->epsilon;
	return rc;
}

struct summing {
	struct cl_db *db;
	struct rd_slices slices;
	double used;
	size_t plans;
};

static enum cm_rc add(void *user, const struct cl_pin *pin, struct cm_err *err)
{
	struct summing *s = user;
	const struct rd_plan slice = { .epsilon = pin->epsilon, .delta = pin->delta };
	struct cl_plan_use use;
	struct rd_plan plan;
	enum cm_rc rc = cl_plan_find(s->db, pin->plan_hash, &plan, err);

	if (rc == CM_OK)
		rc = cl_budget_of(s->db, pin, &plan, &use, err);
	rd_plan_fini(&plan);
	if (rc != CM_OK)
		return rc;
	rd_slices_add(&s->slices, &slice);
	s->plans++;
	s->used += use.epsilon;
	return CM_OK;
}

enum cm_rc cl_budget_read(
	struct cl_db *db, const struct cl_policy *policy, struct cl_budget *out, struct cm_err *err)
{
	const struct rd_slices limit = { policy->shared.max_epsilon, policy->shared.delta };
	struct summing s = { .db = db };
	struct cl_loss loss;
	enum cm_rc rc;

	*out = (struct cl_budget){ .plans = 0 };
	rc = cl_pin_each(db, add, &s, err);
	if (rc == CM_OK)
		rc = cl_loss_read(db, &loss, err);
	if (rc != CM_OK)
		return rc;
	if (loss.lost) {
		s.slices.epsilon = fmax(s.slices.epsilon, limit.epsilon);
		s.slices.delta = fmax(s.slices.delta, limit.delta);
		s.used = s.slices.epsilon;
	}
	out->plans = s.plans;
	rd_figure_make(&limit, &s.slices, s.used, &out->figure);
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
