/* an_tables.c - prints rounds, budget, slices and explanations as text and JSON. */
#include "an_tables.h"

#include <math.h>
#include <string.h>

#include "an_result.h"
#include "an_schedule.h"
#include "cm_clock.h"
#include "cm_round.h"
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

static const char *instant(int64_t wall_ms, char out[32])
{
	if (wall_ms > 0)
		cm_clock_text(wall_ms, out);
	else
		(void)snprintf(out, 32, "-");
	return out;
}

static void round_row(struct cm_table *t, const struct an_round_state *r, double limit, bool adaptive,
	int64_t now_ms, double *total)
{
	char number[16], eps0[24], reports[32] = "-", charged[24], sum[24], left[24], opened[32], ended[32];
	bool counts = r->stage == AN_CHARGED || r->stage == AN_SETTLED;

	(void)snprintf(number, sizeof number, "%u", r->plan->number);
	epsilon0(eps0, r->plan->epsilon0);
	if (an_round_lost(r))
		(void)snprintf(reports, sizeof reports, "lost");
	else if (counts || r->stage == AN_VOID)
		(void)cm_thousands((int64_t)r->participants, reports);
	if (an_round_holds(r))
		*total = r->epsilon_total;
	if (counts)
		four(charged, an_round_up(r->epsilon_round));
	else
		(void)snprintf(charged, sizeof charged, "%s",
			an_round_left_out(r)         ? "left out"
			: r->stage == AN_REFUSED     ? "REFUSED"
			: r->stage == AN_VOID        ? "VOID"
			: an_round_missed(r, now_ms) ? "missed"
			: an_round_waits(r)          ? "payload"
						     : an_stage_name(r->stage));
	four(sum, an_round_up(*total));
	four(left, an_round_down(limit - *total > 0 ? limit - *total : 0));
	if (!r->of || adaptive) /* a filter has no total for each round; `budget` shows shares instead */
		(void)snprintf(sum, sizeof sum, "-"), (void)snprintf(left, sizeof left, "-");
	cm_table_row(t, (const char *const[]){ number, r->plan->label, eps0, reports, charged, sum, left,
				instant(r->descriptor_bytes.len > 0 ? r->descriptor.opens_ms : 0, opened),
				instant(r->ended_ms, ended) });
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

/* times: print the two last columns, opened and ended; a table that grows while its rounds end does without
 * them. */
static void print_rows(
	const struct an_ledger_files *b, size_t from, size_t to, bool times, int64_t now_ms, FILE *out)
{
	const struct pl_plan *p = &b->plan;
	struct widths w = { .reports = "" };
	struct cm_table *t;
	double total = 0;

	head_widths(p, &w);
	t = cm_table_new(
		times ? "><>>>>><<" : "><>>>>>", (const char *const[]){ "round", "query", "eps0", w.reports,
							 w.charged, w.total, w.left, "opened", "ended" });
	if (!t)
		return;
	if (from == 0)
		(void)fprintf(out, "plan %s  budget epsilon %.*f at delta %g, %sunit %s, %zu round%s\n\n",
			p->name, p->exact ? 4 : 3, p->epsilon, p->delta,
			rd_mode_filter(p->mode) != 0 ? "adaptive, " : "", p->unit, p->rounds,
			p->rounds == 1 ? "" : "s");
	for (size_t i = 0; i < p->rounds; i++)
		round_row(t, &b->state.round[i], p->epsilon, rd_mode_filter(p->mode) != 0, now_ms, &total);
	cm_table_print_rows(t, from, to, out);
	cm_table_free(t);
}

void an_rounds_print_some(const struct an_ledger_files *b, size_t from, size_t to, int64_t now_ms, FILE *out)
{
	print_rows(b, from, to, false, now_ms, out);
}

/* For rounds that needed more than one try: print how each try ended. */
static void print_tries(const struct an_state *s, FILE *out)
{
	for (size_t i = 0; i < s->plan->rounds; i++) {
		const struct an_round_state *r = &s->round[i];

		if (r->stage == AN_WAITING)
			(void)fprintf(out, "round %u (%s) waits after %u of %u tries: %s\n", r->plan->number,
				r->plan->label, r->tries, r->of->signed_plan.tries, r->reason);
		else if (r->entry && r->tries > 1)
			(void)fprintf(out, "round %u (%s) was tried %u times\n", r->plan->number,
				r->plan->label, r->tries);
	}
}

static void print_waiting(const struct an_state *s, FILE *out)
{
	size_t n = an_schedule_waiting(s), i = 0;

	while (n > 0 && !an_round_waits(&s->round[i]))
		i++;
	if (n > 0)
		(void)fprintf(out, "%zu round%s for a payload; the next: round run %s --payload FILE\n", n,
			n == 1 ? " waits" : "s wait", s->round[i].plan->label);
}

/* Print the rounds of the plans before and after the plan file's. */
static void print_others(const struct an_state *s, FILE *out)
{
	for (size_t i = 0; i < s->others; i++) {
		const struct an_round_state *r = &s->other[i]->state;

		(void)fprintf(out, "plan %llu (%s), round %u (%s): %s%s%s\n",
			(unsigned long long)r->of->signed_plan.number, r->of->signed_plan.name,
			r->plan->number, r->plan->label, an_stage_name(r->stage),
			r->reason[0] != '\0' ? ": " : "", r->reason);
	}
}

void an_rounds_print(const struct an_ledger_files *b, int64_t now_ms, FILE *out)
{
	print_rows(b, 0, b->plan.rounds, true, now_ms, out);
	(void)fputs("\ncharges and totals are upper bounds, rounded up; times are those of the last try, in "
		    "UTC\n",
		out);
	an_schedule_print(&b->state, now_ms, out);
	print_tries(&b->state, out);
	print_waiting(&b->state, out);
	print_others(&b->state, out);
	pl_plan_print_trust(&b->plan, out);
}

static int set_decision(json_t *o, const struct an_round_state *r)
{
	if (!r->entry && r->stage == AN_PLANNED)
		return 0;
	return json_object_set_new(o, "epsilon_round", an_json_real(r->epsilon_round)) |
	       json_object_set_new(o, "epsilon_total", an_json_real(r->epsilon_total));
}

static int set_tries(json_t *o, const struct an_round_state *r)
{
	if (!r->of)
		return 0;
	return json_object_set_new(o, "holds", json_boolean(an_round_holds(r))) |
	       json_object_set_new(o, "plan", json_integer((json_int_t)r->of->signed_plan.number)) |
	       (!r->entry ? 0
			  : json_object_set_new(o, "tries", json_integer((json_int_t)r->tries)) |
				       json_object_set_new(o, "tries_limit",
					       json_integer((json_int_t)r->of->signed_plan.tries)));
}

/* Put which recurrence of a query the round is, and when it may open. */
static int set_schedule(json_t *o, const struct an_round_state *r, int64_t now_ms)
{
	const struct pl_round *p = r->plan;
	int64_t opens = an_round_opens_ms(r), closes;
	int bad = 0;

	if (p->recurrence > 0)
		bad = json_object_set_new(o, "recurrence", json_integer(p->recurrence)) |
		      json_object_set_new(o, "recurrences", json_integer(p->recurrences));
	if (opens == INT64_MIN || opens == INT64_MAX)
		return bad;
	closes = opens + p->every_ms;
	return bad | json_object_set_new(o, "opens_ms", json_integer((json_int_t)opens)) |
	       json_object_set_new(o, "closes_ms", json_integer((json_int_t)closes)) |
	       json_object_set_new(o, "missed", json_boolean(an_round_missed(r, now_ms)));
}

static int set_payload(json_t *o, const struct an_round_state *r)
{
	const struct rd_descriptor *d = &r->descriptor;
	const struct pl_round *p = r->plan;

	if (!qy_computes(&p->computing))
		return 0;
	return json_object_set_new(o, "compute", json_string(p->computing.map)) |
	       json_object_set_new(o, "payload_max", json_integer((json_int_t)p->payload_max)) |
	       json_object_set_new(o, "payload_bytes", json_integer((json_int_t)d->payload_size)) |
	       json_object_set_new(o, "payload_hash",
		       d->payload_size > 0 ? an_json_hex(d->payload_hash, PR_HASH_LEN) : json_null()) |
	       json_object_set_new(o, "waits_for_payload", json_boolean(an_round_waits(r)));
}

static int set_descriptor(json_t *o, const struct an_round_state *r)
{
	const struct rd_descriptor *d = &r->descriptor;

	if (r->descriptor_bytes.len == 0)
		return 0;
	return json_object_set_new(o, "round_id", an_json_hex(d->round_id, PR_ROUND_ID_LEN)) |
	       json_object_set_new(o, "sequence", json_integer((json_int_t)d->sequence)) |
	       json_object_set_new(o, "descriptor_hash", an_json_hex(d->hash, PR_HASH_LEN)) |
	       json_object_set_new(o, "opened_ms", json_integer((json_int_t)d->opens_ms)) |
	       json_object_set_new(o, "deadline_ms", json_integer((json_int_t)d->deadline_ms)) |
	       (r->ended_ms > 0 ? json_object_set_new(o, "ended_ms", json_integer((json_int_t)r->ended_ms))
				: 0);
}

/* Put a number that only some rounds have; 0 is left out. */
static int set_count(json_t *o, const char *key, uint64_t n)
{
	return n > 0 ? json_object_set_new(o, key, json_integer((json_int_t)n)) : 0;
}

json_t *an_round_json(const struct an_round_state *r, int64_t now_ms)
{
	const struct pl_round *p = r->plan;
	json_t *o = json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:I, s:I}", "round", (int)p->number, "query",
		p->query.name, "type", qy_kind_name(p->query.kind), "protocol", p->randomizer.row->name,
		"stage", an_stage_name(r->stage), "epsilon0", an_json_real(p->epsilon0), "min_reports",
		(json_int_t)p->min_reports, "reports", (json_int_t)r->participants);

	if (o && (set_count(o, "shuffler_dummies", p->randomizer.shuffler.dummies) |
			 set_count(o, "shuffler_noise_mean", p->randomizer.shuffler.noise_mean) |
			 set_count(o, "tag_messages", p->randomizer.shuffler.tag_messages)) != 0) {
		json_decref(o);
		return NULL;
	}
	if (o && (set_schedule(o, r, now_ms) != 0 || set_decision(o, r) != 0 || set_tries(o, r) != 0 ||
			 set_payload(o, r) != 0 || set_descriptor(o, r) != 0 ||
			 (r->reason[0] != '\0' &&
				 json_object_set_new(o, "reason", json_string(r->reason)) != 0))) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* Make the JSON of a round of the plan, with its part of the filter's budget if it holds any. */
static json_t *round_json(const struct an_round_state *r, int64_t now_ms)
{
	json_t *o = an_round_json(r, now_ms);
	struct cm_err err = { 0 };
	double share = 0;

	if (!o || !r->of || !r->of->account || !an_round_holds(r))
		return o;
	if (rd_account_share_of(r->of->account, r->descriptor.round_id, &share, &err) == CM_OK &&
		json_object_set_new(o, "share", an_json_real(share)) == 0)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *list_json(const struct an_ledger_files *b, size_t from, size_t to, int64_t now_ms)
{
	json_t *list = json_array();

	for (size_t i = from; list && i < to; i++)
		if (json_array_append_new(list, round_json(an_state_at(&b->state, i), now_ms)) != 0) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

json_t *an_rounds_json(const struct an_ledger_files *b, int64_t now_ms, struct cm_err *err)
{
	size_t own = b->plan.rounds;
	json_t *rounds = list_json(b, 0, own, now_ms),
	       *others = list_json(b, own, an_state_rounds(&b->state), now_ms);
	json_t *doc =
		!rounds || !others
			? NULL
			: json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:O, s:O}", "schema", "tombola.rounds/1",
				  "plan", b->plan.name, "population", b->plan.population, "mode",
				  b->plan.mode, "epsilon_limit", an_json_real(b->plan.epsilon), "delta",
				  an_json_real(b->plan.delta), "rounds", rounds, "other_plans", others);

	json_decref(rounds);
	json_decref(others);
	if (!doc)
		(void)cm_fail(err, CM_EINTERNAL, "the rounds cannot be shown");
	return doc;
}

void an_say(const struct an_ledger_files *b, const struct an_round_state *current,
	const struct an_round_state *next, bool through, char *text, size_t room)
{
	char at[32];
	const struct pl_plan *p = &b->plan;
	size_t refused = an_state_blocked(&b->state, NULL);
	int n;

	if (current) {
		n = snprintf(text, room, "round %u of %zu (%s) %s", current->plan->number, p->rounds,
			current->plan->label, an_stage_name(current->stage));
	} else if (next) {
		cm_clock_text(an_round_opens_ms(next), at);
		n = snprintf(text, room, "waiting until %s, when %s opens", at, next->plan->label);
	} else if (!through) {
		n = snprintf(text, room, "judging the plan's next round");
	} else if (refused > 0) {
		n = snprintf(
			text, room, "the plan is through, the budget refused %zu of its rounds", refused);
	} else {
		n = snprintf(text, room, "the plan is through");
	}
	if (n < 0 || (size_t)n >= room)
		return;
	if (rd_mode_filter(p->mode) != 0)
		(void)snprintf(text + n, room - (size_t)n, "; filter %s keeps epsilon %g",
			acct_filter_name(rd_mode_filter(p->mode)), p->epsilon);
	else
		(void)snprintf(text + n, room - (size_t)n, "; epsilon %.4f of %g answered or announced",
			an_round_up(an_budget_answered(&b->state)), p->epsilon);
}

/* Count the rounds that fitted the budget and had nothing left to ask. */
static size_t count_left_out(const struct an_state *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->plan->rounds; i++)
		n += an_round_left_out(&s->round[i]);
	return n;
}

/* Print the state of the entries of the plan file. */
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
	print_tries(s, out);
}

/* The epsilon of all rounds that the signed plan accepted, composed; 0 before the plan is signed. */
static double accepted(const struct an_state *s)
{
	const struct rd_plan *p = s->current ? &s->current->signed_plan : NULL;

	return p && p->entries > 0 ? p->entry[p->entries - 1].epsilon_total : 0;
}

/* Print the limit, what is pinned, used and free, and the slices. */
static void print_figure(const struct an_state *s, const struct rd_figure *f, FILE *out)
{
	struct rd_figure_words words;

	rd_figure_words(f, s->plans, &words);
	(void)fprintf(out, "budget  %s\npinned  %s\n", words.budget, words.pinned);
	for (size_t i = 0; i < s->plans; i++) {
		const struct rd_plan *p = &s->pinned[i]->signed_plan;

		(void)fprintf(out, "        epsilon %g at delta %g by plan %llu (%s)%s\n",
			cm_digits_up(p->epsilon, 6), cm_digits_up(p->delta, 6), (unsigned long long)p->number,
			p->name, s->pinned[i]->current ? ", this one" : "");
	}
	(void)fprintf(out, "used    %s\nfree    %s\n", words.used, words.free);
}

enum cm_rc an_budget_print(const struct an_ledger_files *b, FILE *out, struct cm_err *err)
{
	const struct pl_plan *p = &b->plan;
	const struct an_state *s = &b->state;
	const struct rd_slices all = an_ledger_files_budget(b);
	struct rd_together together;
	struct rd_figure figure;
	double share = 0;
	char words[400];

	if (an_budget_share(s, &share, err) != CM_OK || an_budget_figure(s, &all, &figure, err) != CM_OK)
		return err->code;
	(void)fprintf(out, "population %s, unit %s\n", p->population, p->unit);
	if (s->opened)
		print_figure(s, &figure, out);
	else
		(void)fputs("budget  no plan has been pinned, nothing is spent\n", out);
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
	const struct rd_slices all = an_ledger_files_budget(b);
	struct rd_figure f;
	double share = 0;

	if (an_budget_share(s, &share, err) != CM_OK || an_budget_figure(s, &all, &f, err) != CM_OK)
		return err->code;
	*out = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o}",
		"schema", "tombola.budget/3", "plan", p->name, "population", p->population, "unit", p->unit,
		"mode", p->mode, "slice_epsilon", an_json_real(p->epsilon), "slice_delta",
		an_json_real(p->delta), "entries_epsilon", an_json_real(accepted(s)), "answered_epsilon",
		an_json_real(an_budget_answered(s)), "share_spent", an_json_real(share), "plans",
		plans_json(s), "rounds", counts_json(s), "ledger_seq", (json_int_t)chain->seq, "ledger_head",
		an_json_hex(chain->head, PR_HASH_LEN), "together", together_json(s), "population_budget",
		json_pack(RD_FIGURE_PACK(&f)));
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
