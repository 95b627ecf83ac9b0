/* an_show.c - rounds and budget as tables and JSON. */
#include "an_show.h"

#include <math.h>
#include <string.h>

#include "an_result.h"
#include "cm_table.h"

static void four(char out[24], double v)
{
	if (isfinite(v))
		(void)snprintf(out, 24, "%.4f", v);
	else
		(void)snprintf(out, 24, "inf");
}

static void epsilon0(char out[24], double v)
{
	if (isinf(v))
		(void)snprintf(out, 24, "inf");
	else
		(void)snprintf(out, 24, "%.2f", v);
}

static void round_row(
	struct cm_table *t, const struct an_round_state *r, double limit, bool adaptive, double *total)
{
	char number[16], eps0[24], reports[32] = "-", charged[24], sum[24], left[24];
	bool counts = r->stage == AN_CHARGED || r->stage == AN_SETTLED;

	(void)snprintf(number, sizeof number, "%u", r->plan->number);
	epsilon0(eps0, r->plan->epsilon0);
	if (an_round_lost(r))
		(void)snprintf(reports, sizeof reports, "lost");
	else if (counts || r->stage == AN_VOID)
		(void)cm_thousands((int64_t)r->participants, reports);
	if (an_round_counts(r))
		*total = r->epsilon_total;
	if (counts)
		four(charged, an_round_up(r->epsilon_round));
	else
		(void)snprintf(charged, sizeof charged, "%s",
			r->stage == AN_REFUSED ? "REFUSED"
			: r->stage == AN_VOID  ? "VOID"
					       : an_stage_name(r->stage));
	four(sum, an_round_up(*total));
	four(left, an_round_down(limit - *total > 0 ? limit - *total : 0));
	if (r->stage == AN_PLANNED ||
		adaptive) /* a filter's total is all or nothing: `budget` shows shares */
		(void)snprintf(sum, sizeof sum, "-"), (void)snprintf(left, sizeof left, "-");
	cm_table_row(
		t, (const char *const[]){ number, r->plan->query.name, eps0, reports, charged, sum, left });
}

/* Heads as wide as any cell of the plan may get: rows printed at different times stay in their columns. */
struct widths {
	char reports[40], charged[40], total[40], left[40];
};

static void head_widths(const struct pl_plan *p, struct widths *w)
{
	int most = (int)strlen("reports"), epsilon;
	char text[40];

	for (size_t i = 0; i < p->rounds; i++) {
		const struct pl_round *r = &p->round[i];
		/* Without a target the minimum is the best guess. */
		uint64_t n = r->target < PR_ROUND_REPORTS_MAX ? r->target : r->min_reports;
		int len = (int)strlen(cm_thousands((int64_t)n, text));

		most = len > most ? len : most;
	}
	epsilon = snprintf(text, sizeof text, "%.4f", p->epsilon);
	(void)snprintf(w->reports, sizeof w->reports, "%*s", most, "reports");
	(void)snprintf(w->charged, sizeof w->charged, "%*s", epsilon, "charged");
	(void)snprintf(w->total, sizeof w->total, "%*s", epsilon, "total");
	(void)snprintf(w->left, sizeof w->left, "%*s", epsilon, "left");
}

void an_rounds_print_some(const struct an_books *b, size_t from, size_t to, FILE *out)
{
	const struct pl_plan *p = &b->plan;
	struct widths w = { .reports = "" };
	struct cm_table *t;
	double total = 0;

	head_widths(p, &w);
	t = cm_table_new("><>>>>>",
		(const char *const[]){ "round", "query", "eps0", w.reports, w.charged, w.total, w.left });
	if (t == NULL)
		return;
	if (from == 0)
		(void)fprintf(out, "plan %s  budget epsilon %.3f at delta %g, %sunit %s, %zu rounds\n\n",
			p->name, p->epsilon, p->delta, rd_mode_filter(p->mode) != 0 ? "adaptive, " : "",
			p->unit, p->rounds);
	for (size_t i = 0; i < p->rounds; i++)
		round_row(t, &b->state.round[i], p->epsilon, rd_mode_filter(p->mode) != 0, &total);
	cm_table_print_rows(t, from, to, out);
	cm_table_free(t);
}

void an_rounds_print(const struct an_books *b, FILE *out)
{
	an_rounds_print_some(b, 0, b->plan.rounds, out);
	(void)fputs("\ncharges and totals are upper bounds, rounded up\n", out);
	pl_plan_print_trust(&b->plan, out);
}

static int set_decision(json_t *o, const struct an_round_state *r)
{
	if (r->stage == AN_PLANNED)
		return 0;
	return json_object_set_new(o, "epsilon_round", an_json_real(r->epsilon_round)) |
	       json_object_set_new(o, "epsilon_total", an_json_real(r->epsilon_total));
}

static int set_descriptor(json_t *o, const struct an_round_state *r)
{
	const struct rd_descriptor *d = &r->descriptor;

	if (r->descriptor_bytes.len == 0)
		return 0;
	return json_object_set_new(o, "round_id", an_json_hex(d->round_id, PR_ROUND_ID_LEN)) |
	       json_object_set_new(o, "sequence", json_integer((json_int_t)d->sequence)) |
	       json_object_set_new(o, "descriptor_hash", an_json_hex(d->hash, PR_HASH_LEN)) |
	       json_object_set_new(o, "deadline_ms", json_integer((json_int_t)d->deadline_ms));
}

/* What only some rounds have. */
static int set_count(json_t *o, const char *key, uint64_t n)
{
	return n > 0 ? json_object_set_new(o, key, json_integer((json_int_t)n)) : 0;
}

json_t *an_round_json(const struct an_round_state *r)
{
	const struct pl_round *p = r->plan;
	json_t *o = json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:I, s:I}", "round", (int)p->number, "query",
		p->query.name, "type", pt_kind_name(p->query.kind), "protocol", p->protocol->name, "stage",
		an_stage_name(r->stage), "epsilon0", an_json_real(p->epsilon0), "min_reports",
		(json_int_t)p->min_reports, "reports", (json_int_t)r->participants);

	if (o != NULL && (set_count(o, "shuffler_dummies", p->params.shuffler_dummies) |
				 set_count(o, "shuffler_noise_mean", p->params.noise_mean) |
				 set_count(o, "tag_messages", p->params.tag_messages)) != 0) {
		json_decref(o);
		return NULL;
	}
	if (o != NULL && (set_decision(o, r) != 0 || set_descriptor(o, r) != 0 ||
				 (r->reason[0] != '\0' &&
					 json_object_set_new(o, "reason", json_string(r->reason)) != 0))) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* A round of the plan, with its part of the filter's budget if it holds any of one. */
static json_t *round_json(const struct an_books *b, const struct an_round_state *r)
{
	json_t *o = an_round_json(r);
	struct cm_err err = { 0 };
	double share = 0;

	if (o == NULL || rd_mode_filter(b->plan.mode) == 0 || !an_round_counts(r))
		return o;
	if (rd_account_share_of(b->state.account, r->descriptor.round_id, &share, &err) == CM_OK &&
		json_object_set_new(o, "share", an_json_real(share)) == 0)
		return o;
	json_decref(o);
	return NULL;
}

json_t *an_rounds_json(const struct an_books *b, struct cm_err *err)
{
	json_t *rounds = json_array(), *doc;

	for (size_t i = 0; rounds != NULL && i < b->plan.rounds; i++)
		if (json_array_append_new(rounds, round_json(b, &b->state.round[i])) != 0) {
			json_decref(rounds);
			rounds = NULL;
		}
	doc = rounds == NULL ? NULL
			     : json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "schema", "tombola.rounds/1",
				       "plan", b->plan.name, "population", b->plan.population, "mode",
				       b->plan.mode, "epsilon_limit", an_json_real(b->plan.epsilon), "delta",
				       an_json_real(b->plan.delta), "rounds", rounds);
	if (doc == NULL)
		(void)cm_fail(err, CM_EINTERNAL, "the rounds cannot be shown");
	return doc;
}

/* epsilon after the last round that holds budget, as recorded: an upper bound, and no composition. */
static double recorded(const struct an_state *s)
{
	const struct an_round_state *last = NULL;

	for (size_t i = 0; i < s->plan->rounds; i++)
		if (an_round_holds(s, &s->round[i]) &&
			(last == NULL || s->round[i].decided_seq > last->decided_seq))
			last = &s->round[i];
	return last != NULL ? last->epsilon_total : 0;
}

void an_say(
	const struct an_books *b, const struct an_round_state *current, bool through, char *text, size_t room)
{
	const struct pl_plan *p = &b->plan;
	size_t refused = an_state_blocked(&b->state, NULL);
	int n;

	if (current != NULL)
		n = snprintf(text, room, "round %u of %zu (%s) %s", current->plan->number, p->rounds,
			current->plan->query.name, an_stage_name(current->stage));
	else if (!through)
		n = snprintf(text, room, "judging the plan's next round");
	else if (refused > 0)
		n = snprintf(
			text, room, "the plan is through, the budget refused %zu of its rounds", refused);
	else
		n = snprintf(text, room, "the plan is through");
	if (n < 0 || (size_t)n >= room)
		return;
	if (rd_mode_filter(p->mode) != 0)
		(void)snprintf(text + n, room - (size_t)n, "; filter %s keeps epsilon %g",
			acct_filter_name(rd_mode_filter(p->mode)), p->epsilon);
	else
		(void)snprintf(text + n, room - (size_t)n, "; epsilon %.4f of %g spent or reserved",
			an_round_up(recorded(&b->state)), p->epsilon);
}

enum cm_rc an_budget_print(const struct an_books *b, FILE *out, struct cm_err *err)
{
	const struct pl_plan *p = &b->plan;
	double spent = 0, share = 0;

	if (an_budget_spent(&b->state, &spent, err) != CM_OK ||
		an_budget_share(&b->state, &share, err) != CM_OK)
		return err->code;
	(void)fprintf(out,
		"plan %s, population %s, unit %s\n"
		"budget  epsilon %.4f at delta %g\n",
		p->name, p->population, p->unit, p->epsilon, p->delta);
	if (rd_mode_filter(p->mode) != 0)
		(void)fprintf(out,
			"mode    adaptive, filter %s: all rounds together stay within the budget\n"
			"spent   %.2f %% of the filter's budget (upper bound)\n"
			"left    %.2f %%\n",
			acct_filter_name(rd_mode_filter(p->mode)), an_percent_up(share),
			an_percent_left(share));
	else
		(void)fprintf(out,
			"spent   epsilon %.4f (upper bound)\n"
			"left    epsilon %.4f\n",
			an_round_up(spent), an_round_down(p->epsilon > spent ? p->epsilon - spent : 0));
	(void)fprintf(out, "rounds  %zu charged, %zu reserved, %zu refused, %zu void, %zu to come\n",
		an_state_count(&b->state, AN_SETTLED) + an_state_count(&b->state, AN_CHARGED),
		an_state_count(&b->state, AN_RESERVED), an_state_count(&b->state, AN_REFUSED),
		an_state_count(&b->state, AN_VOID), an_state_count(&b->state, AN_PLANNED));
	pl_plan_print_trust(p, out);
	return CM_OK;
}

enum cm_rc an_budget_json(const struct an_books *b, json_t **out, struct cm_err *err)
{
	const struct pl_plan *p = &b->plan;
	const struct rd_chain *chain = an_ledger_chain(b->ledger);
	double spent = 0, share = 0;
	size_t accepted;
	json_t *rounds;

	if (an_budget_spent(&b->state, &spent, err) != CM_OK ||
		an_budget_share(&b->state, &share, err) != CM_OK)
		return err->code;
	accepted = an_state_count(&b->state, AN_SETTLED) + an_state_count(&b->state, AN_CHARGED);
	rounds = json_pack("{s:I, s:I, s:I, s:I, s:I}", "accepted", (json_int_t)accepted, "reserved",
		(json_int_t)an_state_count(&b->state, AN_RESERVED), "refused",
		(json_int_t)an_state_count(&b->state, AN_REFUSED), "void",
		(json_int_t)an_state_count(&b->state, AN_VOID), "planned",
		(json_int_t)an_state_count(&b->state, AN_PLANNED));
	*out = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "schema",
		"tombola.budget/1", "plan", p->name, "population", p->population, "unit", p->unit, "mode",
		p->mode, "epsilon_limit", an_json_real(p->epsilon), "delta", an_json_real(p->delta),
		"epsilon_spent", an_json_real(spent), "epsilon_left",
		rd_mode_filter(p->mode) != 0 ? json_null()
					     : an_json_real(p->epsilon > spent ? p->epsilon - spent : 0),
		"share_spent", an_json_real(share), "rounds", rounds, "ledger_seq", (json_int_t)chain->seq,
		"ledger_head", an_json_hex(chain->head, PR_HASH_LEN));
	return *out != NULL ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
}

json_t *an_explanation_json(const struct an_state *s, const struct an_explanation *e)
{
	const struct rd_verdict *v = &e->verdict;
	uint64_t before = e->round->decided_seq != 0 ? e->round->decided_seq : UINT64_MAX;
	json_t *by = json_array();

	for (size_t i = 0; by != NULL && i < s->plan->rounds; i++) {
		const struct an_round_state *o = &s->round[i];

		if (an_round_holds(s, o) && o->decided_seq < before &&
			json_array_append_new(by, json_pack("{s:i, s:s, s:o}", "round", (int)o->plan->number,
							  "query", o->plan->query.name, "epsilon_round",
							  an_json_real(o->epsilon_round))) != 0) {
			json_decref(by);
			by = NULL;
		}
	}
	return by == NULL
		       ? NULL
		       : json_pack("{s:s, s:i, s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
				   "s:o, s:o}",
				 "schema", "tombola.explanation/1", "round", (int)e->round->plan->number,
				 "query", e->round->plan->query.name, "stage", an_stage_name(e->round->stage),
				 "mode", s->plan->mode, "fits", (int)v->fits, "share", an_json_real(v->share),
				 "share_spent", an_json_real(v->share_spent), "share_total",
				 an_json_real(v->share_total), "needed", an_json_real(v->epsilon_round),
				 "left", an_json_real(v->left), "total", an_json_real(v->total), "limit",
				 an_json_real(v->limit), "delta", an_json_real(v->delta), "largest_epsilon0",
				 v->fits ? json_null() : an_json_real(e->largest_epsilon0), "spent_by", by);
}
