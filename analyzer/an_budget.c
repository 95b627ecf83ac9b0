/* an_budget.c - judges the next round against the ledger, and explains the verdict. */
#include "an_budget.h"

#include <math.h>
#include <string.h>

#include "cm_fault.h"

double an_round_up(double epsilon)
{
	return isfinite(epsilon) ? ceil(epsilon * 1e4) / 1e4 : epsilon;
}

double an_round_down(double epsilon)
{
	return isfinite(epsilon) ? floor(epsilon * 1e4) / 1e4 : epsilon;
}

/* Everything that holds budget and was decided before record `before`, anew. */
static enum cm_rc account_before(
	const struct an_state *s, uint64_t before, struct rd_account **out, struct cm_err *err)
{
	struct rd_account *a = rd_account_new(s->plan->epsilon, s->plan->delta);
	struct acct_round cells;
	enum cm_rc rc = a != NULL ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	for (size_t i = 0; rc == CM_OK && i < s->plan->rounds; i++) {
		const struct an_round_state *r = &s->round[i];

		if (!an_round_counts(r) || r->decided_seq >= before)
			continue;
		rc = rd_cells(&r->descriptor, &cells, err);
		if (rc == CM_OK)
			rc = rd_account_add(a, r->descriptor.round_id, &cells, err);
		if (rc != CM_OK)
			(void)cm_context(err, "round %u", r->plan->number);
	}
	if (rc != CM_OK) {
		rd_account_free(a);
		return rc;
	}
	*out = a;
	return CM_OK;
}

static enum cm_rc judge(const struct an_state *s, const struct pl_round *r, const struct rd_account *a,
	struct rd_verdict *out, struct cm_err *err)
{
	struct acct_round cells;
	enum cm_rc rc = pl_round_cells(s->plan, r, &cells, err);

	return rc == CM_OK ? rd_account_judge(a, &cells, out, err) : rc;
}

enum cm_rc an_budget_decide(
	const struct an_state *s, const struct pl_round *r, struct rd_verdict *out, struct cm_err *err)
{
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	rc = judge(s, r, s->account, out, err);
	if (rc == CM_OK && CM_CHECKED("analyzer.budget") && !out->fits)
		return cm_fail(err, CM_EBUDGET,
			"round %u (%s) refused: it needs epsilon %.4f and %.4f is left", r->number,
			r->query.name, an_round_up(out->epsilon_round), an_round_down(out->left));
	return rc;
}

enum cm_rc an_budget_explain(const struct an_state *s, const struct an_round_state *r,
	struct an_explanation *out, struct cm_err *err)
{
	const struct pl_round *p = r->plan;
	struct rd_account *then = NULL, *a = s->account;
	enum cm_rc rc = CM_OK;

	if (r->decided_seq != 0) {
		rc = account_before(s, r->decided_seq, &then, err);
		a = then;
	}
	*out = (struct an_explanation){ .round = r };
	if (rc == CM_OK)
		rc = judge(s, p, a, &out->verdict, err);
	if (rc == CM_OK && !out->verdict.fits)
		rc = rd_account_largest_epsilon0(a, p->protocol, &p->query, &p->request,
			rd_honest(p->min_reports, s->plan->honest_fraction, s->plan->colluders),
			&out->largest_epsilon0, err);
	rd_account_free(then);
	return rc;
}

static void print_spenders(const struct an_state *s, const struct an_round_state *r, FILE *out)
{
	const char *lead = "  spent by ";
	uint64_t before = r->decided_seq != 0 ? r->decided_seq : UINT64_MAX;

	for (size_t i = 0; i < s->plan->rounds; i++) {
		const struct an_round_state *other = &s->round[i];

		if (!an_round_counts(other) || other->decided_seq >= before)
			continue;
		(void)fprintf(out, "%sround %u (%s) %.4f\n", lead, other->plan->number,
			other->plan->query.name, an_round_up(other->epsilon_round));
		lead = "           ";
	}
	if (lead[2] == ' ')
		(void)fputs("  these are charges alone: a total is less than their sum\n", out);
}

void an_explanation_print(const struct an_state *s, const struct an_explanation *e, FILE *out)
{
	const struct rd_verdict *v = &e->verdict;
	const struct pl_round *p = e->round->plan;

	bool done = v->fits && e->round->stage != AN_PLANNED;

	(void)fprintf(out, "round %u (%s) %s%s: it %s epsilon %.4f and %.4f %s left\n", p->number,
		p->query.name, done ? "is " : "",
		!v->fits ? "refused"
		: done   ? an_stage_name(e->round->stage)
			 : "fits",
		done ? "needed" : "needs", an_round_up(v->epsilon_round), an_round_down(v->left),
		done ? "was" : "is");
	(void)fprintf(out, "  total %s %.4f, %s the plan's %.4f at delta %g\n",
		done ? "after it was" : "would be", an_round_up(v->total), v->fits ? "within" : "above",
		v->limit, v->delta);
	print_spenders(s, e->round, out);
	if (v->fits)
		return;
	if (!an_round_counts(e->round))
		(void)fputs("  no report of this round was opened, and nothing was charged\n", out);
	if (e->largest_epsilon0 > 0)
		(void)fprintf(out,
			"  it would fit with epsilon0 <= %.3g; that needs a new plan, agreed by all "
			"parties\n",
			e->largest_epsilon0);
	else
		(void)fputs("  no epsilon0 would fit; that needs a new plan, agreed by all parties\n", out);
}

enum cm_rc an_budget_spent(const struct an_state *s, double *spent, struct cm_err *err)
{
	return rd_account_spent(s->account, spent, err);
}
