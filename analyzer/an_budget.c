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

double an_percent_up(double share)
{
	return isfinite(share) ? ceil(share * 1e4) / 1e2 : share;
}

double an_percent_left(double share)
{
	return share < 1 ? floor((1 - share) * 1e4) / 1e2 : 0;
}

/* Everything that holds budget and was decided before record `before`, anew. */
static enum cm_rc account_before(
	const struct an_state *s, uint64_t before, struct rd_account **out, struct cm_err *err)
{
	struct rd_account *a = rd_account_new_mode(s->plan->epsilon, s->plan->delta, s->plan->mode);
	struct pt_loss loss;
	uint8_t id[PR_ROUND_ID_LEN];
	enum cm_rc rc = a != NULL ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	for (size_t i = 0; rc == CM_OK && i < s->plan->rounds; i++) {
		const struct an_round_state *r = &s->round[i];

		if (!an_round_holds(s, r) || r->decided_seq >= before)
			continue;
		rc = an_round_loss(s, r, &loss, err);
		an_round_account_id(r, id);
		if (rc == CM_OK)
			rc = rd_account_add(a, id, &loss, err);
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
	struct pt_loss loss;
	enum cm_rc rc = pl_round_loss(s->plan, r, &loss, err);

	return rc == CM_OK ? rd_account_judge(a, &loss, out, err) : rc;
}

void an_budget_words(const struct rd_verdict *v, char *out, size_t size)
{
	if (v->adaptive)
		(void)snprintf(out, size, "needs %.2f %% of the filter's budget and %.2f %% is left",
			an_percent_up(v->share), an_percent_left(v->share_spent));
	else
		(void)snprintf(out, size, "needs epsilon %.4f and %.4f is left of %.4f",
			an_round_up(v->epsilon_round), an_round_down(v->left), v->limit);
}

static enum cm_rc refuse(const struct pl_round *r, const struct rd_verdict *v, struct cm_err *err)
{
	char words[120];

	an_budget_words(v, words, sizeof words);
	return cm_fail(err, CM_EBUDGET, "round %u (%s) refused: it %s", r->number, r->query.name, words);
}

enum cm_rc an_budget_decide(
	const struct an_state *s, const struct pl_round *r, struct rd_verdict *out, struct cm_err *err)
{
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	rc = judge(s, r, s->account, out, err);
	if (rc == CM_OK && CM_CHECKED("analyzer.budget") && !out->fits)
		return refuse(r, out, err);
	return rc;
}

enum cm_rc an_budget_explain(const struct an_state *s, const struct an_round_state *r,
	struct an_explanation *out, struct cm_err *err)
{
	return an_budget_explain_until(s, r, NULL, out, err);
}

enum cm_rc an_budget_explain_until(const struct an_state *s, const struct an_round_state *r,
	const atomic_bool *stop, struct an_explanation *out, struct cm_err *err)
{
	const struct pl_round *p = r->plan;
	const struct rd_batch b = pl_round_batch(s->plan, p);
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
		rc = rd_account_largest_epsilon0(
			a, p->protocol, &p->query, &p->request, &b, stop, &out->largest_epsilon0, err);
	rd_account_free(then);
	return rc;
}

static void print_spenders(const struct an_state *s, const struct an_round_state *r, FILE *out)
{
	const char *lead = "  spent by ";
	uint64_t before = r->decided_seq != 0 ? r->decided_seq : UINT64_MAX;

	for (size_t i = 0; i < s->plan->rounds; i++) {
		const struct an_round_state *other = &s->round[i];

		if (!an_round_holds(s, other) || other->decided_seq >= before)
			continue;
		(void)fprintf(out, "%sround %u (%s) %.4f%s\n", lead, other->plan->number,
			other->plan->query.name, an_round_up(other->epsilon_round),
			an_round_counts(other) ? "" : ", left out, which tells something too");
		lead = "           ";
	}
	if (lead[2] == ' ')
		(void)fputs("  these are charges alone: a total is less than their sum\n", out);
}

static void print_epsilons(const struct rd_verdict *v, bool done, FILE *out)
{
	(void)fprintf(out, "epsilon %.4f and %.4f %s left\n", an_round_up(v->epsilon_round),
		an_round_down(v->left), done ? "was" : "is");
	(void)fprintf(out, "  total %s %.4f, %s the plan's %.4f at delta %g\n",
		done ? "after it was" : "would be", an_round_up(v->total), v->fits ? "within" : "above",
		v->limit, v->delta);
}

static void print_shares(const struct rd_verdict *v, bool done, FILE *out)
{
	(void)fprintf(out, "%.2f %% of the filter's budget and %.2f %% %s left\n", an_percent_up(v->share),
		an_percent_left(v->share_spent), done ? "was" : "is");
	(void)fprintf(out,
		"  its own epsilon is %.4f; with it %.2f %% %s spent, and up to 100 %% all rounds together "
		"are "
		"within epsilon %.4f at delta %g\n",
		an_round_up(v->epsilon_round), an_percent_up(v->share_total), done ? "were" : "would be",
		v->limit, v->delta);
}

void an_explanation_print(const struct an_state *s, const struct an_explanation *e, FILE *out)
{
	const struct rd_verdict *v = &e->verdict;
	const struct pl_round *p = e->round->plan;

	bool done = v->fits && e->round->stage != AN_PLANNED;

	(void)fprintf(out, "round %u (%s) %s%s: it %s ", p->number, p->query.name, done ? "is " : "",
		!v->fits ? "refused"
		: done   ? an_stage_name(e->round->stage)
			 : "fits",
		done ? "needed" : "needs");
	(v->adaptive ? print_shares : print_epsilons)(v, done, out);
	print_spenders(s, e->round, out);
	if (v->fits)
		return;
	if (!an_round_counts(e->round))
		(void)fputs("  no report of this round was opened, and nothing was charged\n", out);
	const char *how = v->adaptive ? "add it to the plan as a new round"
				      : "that needs a new plan, agreed by all parties";
	if (e->largest_epsilon0 > 0)
		(void)fprintf(out, "  it would fit with epsilon0 <= %.3g; %s\n", e->largest_epsilon0, how);
	else
		(void)fprintf(out, "  no epsilon0 would fit%s%s\n", v->adaptive ? "" : "; ",
			v->adaptive ? "" : how);
}

enum cm_rc an_budget_share(const struct an_state *s, double *share, struct cm_err *err)
{
	return rd_account_share(s->account, share, err);
}

enum cm_rc an_budget_spent(const struct an_state *s, double *spent, struct cm_err *err)
{
	return rd_account_spent(s->account, spent, err);
}
