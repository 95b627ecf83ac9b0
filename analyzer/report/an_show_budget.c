/* an_show_budget.c - budget, slices and explanations as text and JSON. */
#include <math.h>

#include "an_result.h"
#include "an_show.h"

/* Rounds that fitted the budget and had nothing left to ask. */
static size_t count_left_out(const struct an_state *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->plan->rounds; i++)
		n += an_round_left_out(&s->round[i]);
	return n;
}

/* Where the entries of the plan file stand. */
static void print_entries(const struct an_ledger_files *b, FILE *out)
{
	const struct an_state *s = &b->state;
	size_t left_out = count_left_out(s);

	(void)fprintf(out,
		"rounds  %zu charged, %zu reserved, %zu waiting, %zu refused, %zu void, %zu to come",
		an_state_count(s, AN_SETTLED) + an_state_count(s, AN_CHARGED), an_state_count(s, AN_RESERVED),
		an_state_count(s, AN_WAITING), an_state_count(s, AN_REFUSED) - left_out,
		an_state_count(s, AN_VOID), an_state_count(s, AN_PLANNED));
	if (left_out > 0)
		(void)fprintf(out, ", %zu left out", left_out);
	(void)fputc('\n', out);
	an_tries_print(s, out);
}

/* Composed of all that the signed plan accepted; 0 before it is signed. */
static double accepted(const struct an_state *s)
{
	const struct rd_plan *p = s->current ? &s->current->signed_plan : NULL;

	return p && p->entries > 0 ? p->entry[p->entries - 1].epsilon_total : 0;
}

static void print_slices(const struct an_state *s, FILE *out)
{
	double epsilon = fmax(s->epsilon - s->slices.epsilon, 0);
	double delta = fmax(s->delta - s->slices.delta, 0);

	for (size_t i = 0; i < s->plans; i++) {
		const struct rd_plan *p = &s->pinned[i]->signed_plan;

		(void)fprintf(out, "%s epsilon %g at delta %g by plan %llu (%s)%s\n",
			i == 0 ? "slices " : "       ", p->epsilon, p->delta, (unsigned long long)p->number,
			p->name, s->pinned[i]->current ? ", this one" : "");
	}
	(void)fprintf(out,
		"free    epsilon %.4f at delta %g for other plans%s: slices are spent whole, whatever was answered\n",
		an_round_down(epsilon), delta, epsilon > 0 && delta > 0 ? "" : ", so none fits");
}

enum cm_rc an_budget_print(const struct an_ledger_files *b, FILE *out, struct cm_err *err)
{
	const struct pl_plan *p = &b->plan;
	const struct an_state *s = &b->state;
	struct rd_together together;
	double share = 0;
	char words[400];

	if (an_budget_share(s, &share, err) != CM_OK)
		return err->code;
	(void)fprintf(out, "population %s, unit %s\n", p->population, p->unit);
	if (s->opened)
		(void)fprintf(out, "budget  epsilon %.4f at delta %g, for life\n", s->epsilon, s->delta);
	else
		(void)fputs("budget  no plan has been pinned, nothing is spent\n", out);
	if (s->opened)
		print_slices(s, out);
	(void)fprintf(out, "plan %s, slice of epsilon %.4f at delta %g\n", p->name, p->epsilon, p->delta);
	if (an_state_adaptive(s))
		(void)fprintf(out,
			"mode    adaptive, filter %s: all rounds together stay within the slice\n"
			"spent   %.2f %% of the filter's budget (upper bound)\n"
			"left    %.2f %%\n",
			acct_filter_name(rd_mode_filter(p->mode)), an_percent_up(share),
			an_percent_left(share));
	else if (s->current)
		(void)fprintf(out,
			"entries epsilon %.4f all together (upper bound), %.4f up to the last announced\n",
			an_round_up(accepted(s)), an_round_up(an_budget_answered(s)));
	print_entries(b, out);
	an_budget_together(s, &together);
	rd_together_words(&together, words, sizeof words);
	(void)fprintf(out, "both    %s\n", words);
	pl_plan_print_trust(p, out);
	return CM_OK;
}

static json_t *plans_json(const struct an_state *s)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < s->plans; i++) {
		const struct rd_plan *p = &s->pinned[i]->signed_plan;

		if (json_array_append_new(
			    list, json_pack("{s:I, s:s, s:s, s:o, s:o, s:o, s:I, s:I, s:b}", "number",
					  (json_int_t)p->number, "name", p->name, "mode", p->mode, "epsilon",
					  an_json_real(p->epsilon), "delta", an_json_real(p->delta), "hash",
					  an_json_hex(p->hash, PR_HASH_LEN), "entries",
					  (json_int_t)p->entries, "refused", (json_int_t)p->refusals,
					  "current", (int)s->pinned[i]->current)) != 0) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

static json_t *counts_json(const struct an_state *s)
{
	size_t charged = an_state_count(s, AN_SETTLED) + an_state_count(s, AN_CHARGED);

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "accepted", (json_int_t)charged, "reserved",
		(json_int_t)an_state_count(s, AN_RESERVED), "waiting",
		(json_int_t)an_state_count(s, AN_WAITING), "refused",
		(json_int_t)(an_state_count(s, AN_REFUSED) - count_left_out(s)), "void",
		(json_int_t)an_state_count(s, AN_VOID), "planned", (json_int_t)an_state_count(s, AN_PLANNED),
		"left_out", (json_int_t)count_left_out(s));
}

static json_t *together_json(const struct an_state *s)
{
	struct rd_together t;

	an_budget_together(s, &t);
	return json_pack("{s:o, s:I, s:I, s:o}", "epsilon0", an_json_real(rd_together_epsilon0(&t)),
		"reports", (json_int_t)t.reports, "unbounded", (json_int_t)t.unbounded, "epsilon0_of_others",
		an_json_real(t.epsilon0));
}

enum cm_rc an_budget_json(const struct an_ledger_files *b, json_t **out, struct cm_err *err)
{
	const struct pl_plan *p = &b->plan;
	const struct an_state *s = &b->state;
	const struct rd_chain *chain = an_ledger_chain(b->ledger);
	double limit = s->opened ? s->epsilon : p->epsilon, delta = s->opened ? s->delta : p->delta;
	double spent = s->slices.epsilon, share = 0;

	if (an_budget_share(s, &share, err) != CM_OK)
		return err->code;
	*out = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o}",
		"schema", "tombola.budget/2", "plan", p->name, "population", p->population, "unit", p->unit,
		"mode", p->mode, "epsilon_limit", an_json_real(limit), "delta", an_json_real(delta),
		"epsilon_spent", an_json_real(spent), "epsilon_left",
		an_json_real(limit > spent ? limit - spent : 0), "slice_epsilon", an_json_real(p->epsilon),
		"slice_delta", an_json_real(p->delta), "entries_epsilon", an_json_real(accepted(s)),
		"answered_epsilon", an_json_real(an_budget_answered(s)), "share_spent", an_json_real(share),
		"plans", plans_json(s), "rounds", counts_json(s), "ledger_seq", (json_int_t)chain->seq,
		"ledger_head", an_json_hex(chain->head, PR_HASH_LEN), "together", together_json(s));
	return *out ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

json_t *an_explanation_json(const struct an_state *s, const struct an_explanation *e)
{
	const struct rd_verdict *v = &e->verdict;
	json_t *by = json_array();

	for (size_t i = 0; by && i < s->plan->rounds; i++) {
		const struct an_round_state *o = &s->round[i];

		if (an_budget_spends(s, o, e->round) &&
			json_array_append_new(by, json_pack("{s:i, s:s, s:o}", "round", (int)o->plan->number,
							  "query", o->plan->query.name, "epsilon_round",
							  an_json_real(o->epsilon_round))) != 0) {
			json_decref(by);
			by = NULL;
		}
	}
	return !by ? NULL
		   : json_pack("{s:s, s:i, s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
			       "s:o, s:o, s:s?}",
			     "schema", "tombola.explanation/1", "round", (int)e->round->plan->number, "query",
			     e->round->plan->query.name, "stage", an_stage_name(e->round->stage), "mode",
			     s->plan->mode, "fits", (int)v->fits, "share", an_json_real(v->share),
			     "share_spent", an_json_real(v->share_spent), "share_total",
			     an_json_real(v->share_total), "needed", an_json_real(v->epsilon_round), "left",
			     an_json_real(v->left), "total", an_json_real(v->total), "limit",
			     an_json_real(v->limit), "delta", an_json_real(v->delta), "largest_epsilon0",
			     v->fits ? json_null() : an_json_real(e->largest_epsilon0), "spent_by", by,
			     "reason", e->round->reason[0] != '\0' ? e->round->reason : NULL);
}
