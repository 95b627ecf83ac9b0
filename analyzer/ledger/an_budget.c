/* an_budget.c - judges the next round against the ledger, and explains the verdict. */
#include "an_budget.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cm_fault.h"
#include "cm_round.h"

double an_round_up(double epsilon)
{
	return cm_round_up(epsilon, 4);
}

double an_round_down(double epsilon)
{
	return cm_round_down(epsilon, 4);
}

double an_percent_up(double share)
{
	return cm_percent_up(share, 2);
}

double an_percent_left(double share)
{
	return share < 1 ? cm_round_up(100 - an_percent_up(share), 2) : 0;
}

/* Add the entries before this one. */
static enum cm_rc add_entries(
	const struct an_state *s, const struct an_round_state *r, struct rd_account *a, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i + 1 < r->plan->number; i++) {
		uint8_t id[PR_ROUND_ID_LEN] = { 0 };
		struct pt_loss loss;

		if (!s->round[i].entry)
			continue;
		cm_put_le32(id, s->round[i].plan->number);
		rc = pl_round_loss(s->plan, s->round[i].plan, &loss, err);
		if (rc == CM_OK)
			rc = rd_account_add(a, id, &loss, err);
		if (rc != CM_OK)
			(void)cm_context(err, "round %u", s->round[i].plan->number);
	}
	return rc;
}

/* Add every round that holds budget and was decided before r, if r is decided. */
static enum cm_rc add_reserved(
	const struct an_state *s, const struct an_round_state *r, struct rd_account *a, struct cm_err *err)
{
	uint64_t before = r->decided_seq != 0 ? r->decided_seq : UINT64_MAX;
	enum cm_rc rc = CM_OK;

	for (size_t i = 0; rc == CM_OK && i < s->plan->rounds; i++) {
		const struct an_round_state *o = &s->round[i];
		struct pt_loss loss;

		if (!an_round_holds(o) || o->decided_seq >= before)
			continue;
		rc = an_round_loss(s, o, &loss, err);
		if (rc == CM_OK)
			rc = rd_account_add(a, o->descriptor.round_id, &loss, err);
		if (rc != CM_OK)
			(void)cm_context(err, "round %u", o->plan->number);
	}
	return rc;
}

static enum cm_rc account_before(
	const struct an_state *s, const struct an_round_state *r, struct rd_account **out, struct cm_err *err)
{
	struct rd_account *a = rd_account_new_mode(s->plan->epsilon, s->plan->delta, s->plan->mode);
	enum cm_rc rc = !a                     ? cm_fail(err, CM_EINTERNAL, "out of memory")
			: an_state_adaptive(s) ? add_reserved(s, r, a, err)
					       : add_entries(s, r, a, err);

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
	return cm_fail(err, CM_EBUDGET, "round %u (%s) refused: it %s", r->number, r->label, words);
}

/* The verdict on a round according to the signed plan. */
static struct rd_verdict signed_verdict(const struct an_state *s, const struct an_round_state *r)
{
	const struct rd_plan *p = &s->current->signed_plan;
	double spent = an_state_spent_before(s, r);

	return (struct rd_verdict){ .fits = r->entry != NULL,
		.epsilon_round = r->epsilon_round,
		.spent = spent,
		.total = r->epsilon_total,
		.limit = p->epsilon,
		.delta = p->delta,
		.left = p->epsilon > spent ? p->epsilon - spent : 0,
		.share = r->epsilon_round / p->epsilon,
		.share_spent = spent / p->epsilon,
		.share_total = r->epsilon_total / p->epsilon };
}

enum cm_rc an_budget_decide(
	const struct an_state *s, const struct an_round_state *r, struct rd_verdict *out, struct cm_err *err)
{
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	if (!s->current)
		return cm_fail(err, CM_EINTERNAL, "the plan is not pinned");
	if (!an_state_adaptive(s)) {
		*out = signed_verdict(s, r);
		return out->fits ? CM_OK
				 : cm_fail(err, CM_EBUDGET, "round %u (%s) refused: it %s", r->plan->number,
					   r->plan->label, r->reason);
	}
	rc = judge(s, r->plan, s->current->account, out, err);
	if (rc == CM_OK && CM_CHECKED("analyzer.budget") && !out->fits)
		return refuse(r->plan, out, err);
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
	struct rd_account *a = NULL;
	enum cm_rc rc;

	*out = (struct an_explanation){ .round = r };
	if (!s->current)
		return cm_fail(err, CM_EINTERNAL, "the plan is not pinned");
	if (!an_state_adaptive(s))
		out->verdict = signed_verdict(s, r);
	if (!an_state_adaptive(s) && out->verdict.fits)
		return CM_OK;
	rc = account_before(s, r, &a, err);
	if (rc == CM_OK && an_state_adaptive(s))
		rc = judge(s, p, a, &out->verdict, err);
	if (rc == CM_OK && !out->verdict.fits)
		rc = rd_account_largest_epsilon0(
			a, p->protocol, &p->query, &p->request, &b, stop, &out->largest_epsilon0, err);
	rd_account_free(a);
	return rc;
}

bool an_budget_spends(
	const struct an_state *s, const struct an_round_state *other, const struct an_round_state *r)
{
	uint64_t before = r->decided_seq != 0 ? r->decided_seq : UINT64_MAX;

	if (!an_state_adaptive(s))
		return other->entry && other->plan->number < r->plan->number;
	return an_round_holds(other) && other->decided_seq < before;
}

/* Index of the last recurrence of round i in an unbroken run of recurrences that spend. */
static size_t last_spender(const struct an_state *s, const struct an_round_state *r, size_t i)
{
	while (i + 1 < s->plan->rounds && pl_repeats(s->plan, i + 1) &&
		an_budget_spends(s, &s->round[i + 1], r))
		i++;
	return i;
}

static void print_spenders(const struct an_state *s, const struct an_round_state *r, FILE *out)
{
	const char *lead = "  spent by ";

	for (size_t i = 0; i < s->plan->rounds; i++) {
		const struct an_round_state *other = &s->round[i];
		double epsilon = an_round_up(other->epsilon_round);

		if (!an_budget_spends(s, other, r))
			continue;
		size_t last = last_spender(s, r, i);

		if (last > i)
			(void)fprintf(out, "%srounds %u to %u (%s) %.4f each\n", lead, other->plan->number,
				s->round[last].plan->number, other->plan->query.name, epsilon);
		else
			(void)fprintf(out, "%sround %u (%s) %.4f\n", lead, other->plan->number,
				other->plan->label, epsilon);
		lead = "           ";
		i = last;
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
		"are within epsilon %.4f at delta %g\n",
		an_round_up(v->epsilon_round), an_percent_up(v->share_total), done ? "were" : "would be",
		v->limit, v->delta);
}

void an_explanation_print(const struct an_state *s, const struct an_explanation *e, FILE *out)
{
	const struct rd_verdict *v = &e->verdict;
	const struct pl_round *p = e->round->plan;

	bool done = v->fits && !an_round_may_be_tried(e->round);

	(void)fprintf(out, "round %u (%s) %s%s: it %s ", p->number, p->label, done ? "is " : "",
		!v->fits ? "refused"
		: done   ? an_stage_name(e->round->stage)
			 : "fits",
		done ? "needed" : "needs");
	(v->adaptive ? print_shares : print_epsilons)(v, done, out);
	if (e->round->stage == AN_VOID || e->round->stage == AN_WAITING)
		(void)fprintf(out, "  %s: %s\n",
			e->round->stage == AN_VOID ? "why it is void" : "why it waits", e->round->reason);
	else if (an_round_left_out(e->round))
		(void)fprintf(out, "  left out: %s\n", e->round->reason);
	print_spenders(s, e->round, out);
	if (v->fits)
		return;
	if (!an_round_counts(e->round))
		(void)fputs(v->adaptive ? "  no device was asked, and nothing was charged\n"
					: "  it is not in the signed plan: no device will be asked\n",
			out);
	const char *how = v->adaptive ? "add it to the plan as a new round"
				      : "that needs a new plan, with a slice of its own";
	if (e->largest_epsilon0 > 0)
		(void)fprintf(out, "  it would fit with epsilon0 <= %.3g; %s\n", e->largest_epsilon0, how);
	else
		(void)fprintf(out, "  no epsilon0 would fit%s%s\n", v->adaptive ? "" : "; ",
			v->adaptive ? "" : how);
}

double an_budget_answered(const struct an_state *s)
{
	double most = 0;

	if (an_state_adaptive(s))
		return s->current && rd_account_rounds(s->current->account) > 0 ? s->plan->epsilon : 0;
	for (size_t i = 0; i < s->plan->rounds; i++)
		if (s->round[i].decided_seq != 0 && s->round[i].entry)
			most = fmax(most, s->round[i].entry->epsilon_total);
	return most;
}

enum cm_rc an_budget_share(const struct an_state *s, double *share, struct cm_err *err)
{
	*share = 0;
	if (!s->current)
		return CM_OK;
	if (s->current->account)
		return rd_account_share(s->current->account, share, err);
	*share = an_budget_answered(s) / s->plan->epsilon;
	return CM_OK;
}

/* Compute how much of its slice the rounds of one plan use. */
static enum cm_rc used_of(
	const struct an_state *s, const struct an_plan *plan, double *epsilon, struct cm_err *err)
{
	double share = 0;

	*epsilon = 0;
	if (plan->account) {
		enum cm_rc rc = rd_account_share(plan->account, &share, err);

		*epsilon = fmin(share, 1) * plan->signed_plan.epsilon;
		return rc;
	}
	for (size_t i = 0; i < an_state_rounds(s); i++) {
		const struct an_round_state *r = an_state_at(s, i);

		if (r->of == plan && r->decided_seq != 0 && r->entry)
			*epsilon = fmax(*epsilon, r->entry->epsilon_total);
	}
	return CM_OK;
}

enum cm_rc an_budget_figure(
	const struct an_state *s, const struct rd_slices *all, struct rd_figure *out, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;
	double used = 0;

	for (size_t i = 0; rc == CM_OK && i < s->plans; i++) {
		double one;

		rc = used_of(s, s->pinned[i], &one, err);
		used += one;
	}
	rd_figure_make(all, &s->slices, used, out);
	return rc;
}

void an_budget_together(const struct an_state *s, struct rd_together *out)
{
	*out = (struct rd_together){ .reports = 0 };
	for (size_t i = 0; i < an_state_rounds(s); i++) {
		const struct an_round_state *r = an_state_at(s, i);

		if (r->descriptor_bytes.len > 0)
			rd_together_add(out, &r->descriptor, an_round_reports(r), r->plan->label);
	}
}

enum cm_rc an_slice_refused(
	const struct an_state *s, const struct pl_plan *p, double epsilon, double delta, struct cm_err *err)
{
	const struct pl_round *alone = pl_plan_alone(p);

	return cm_fail(err, CM_EBUDGET,
		"plan %s refused: it takes a slice of epsilon %g at delta %g, and earlier plans took %g at %g "
		"of the population's %g at %g; %s%s%s",
		p->name, cm_digits_up(p->epsilon, 6), cm_digits_up(p->delta, 6),
		cm_digits_up(s->slices.epsilon, 6), cm_digits_up(s->slices.delta, 6), epsilon, delta,
		alone ? "colluders leave nobody of round '" : "", alone ? alone->label : "",
		alone ? "' to hide among: lower colluders, or raise min_reports"
		      : "slices are spent whole and add up, whatever was answered");
}
