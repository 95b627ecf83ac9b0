/* an_history.c - prints all answers to one query, as a table, CSV or JSON. */
#include "an_history.h"

#include <stdlib.h>
#include <string.h>

#include "an_result.h"
#include "an_result_show.h"
#include "an_schedule.h"
#include "cm_clock.h"
#include "cm_table.h"

struct point {
	const struct an_round_state *r;
	int64_t time_ms; /* time at which it opened or, if it was missed, should have opened */
};

/* Whether the round is past: answered, or a gap. */
static bool is_past(const struct an_round_state *r, const struct an_history *h, struct point *out)
{
	bool missed = an_round_missed(r, h->now_ms);

	if (!missed && r->stage != AN_SETTLED && r->stage != AN_VOID)
		return false;
	*out = (struct point){ r, missed ? an_round_opens_ms(r) : r->descriptor.opens_ms };
	return out->time_ms >= h->since_ms;
}

static const char *word(const struct an_round_state *r)
{
	return an_round_lost(r) ? "lost" : an_round_may_be_tried(r) ? "missed" : an_stage_name(r->stage);
}

static int by_time(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	if (x->time_ms != y->time_ms)
		return x->time_ms < y->time_ms ? -1 : 1;
	return (x->r->decided_seq > y->r->decided_seq) - (x->r->decided_seq < y->r->decided_seq);
}

/* Collect the past rounds.  The caller frees *out. */
static enum cm_rc collect(const struct an_state *s, const struct an_history *h, struct point **out, size_t *n,
	struct cm_err *err)
{
	bool known = false;

	*n = 0;
	*out = calloc(an_state_rounds(s), sizeof **out);
	if (!*out)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	for (size_t i = 0; i < an_state_rounds(s); i++) {
		const struct an_round_state *r = an_state_at(s, i);

		if (strcmp(r->plan->query.name, h->query) != 0)
			continue;
		known = true;
		*n += is_past(r, h, &(*out)[*n]);
	}
	if (!known)
		return cm_fail(
			err, CM_EUSAGE, "no plan has a query '%.64s' (round list shows them)", h->query);
	qsort(*out, *n, sizeof **out, by_time);
	return CM_OK;
}

/* Load a round's result; *out is NULL for a gap. */
static enum cm_rc load(
	const struct an_ledger_files *b, const struct point *p, json_t **out, struct cm_err *err)
{
	*out = NULL;
	return p->r->stage == AN_SETTLED ? an_result_load(b->state_dir, p->r, out, err) : CM_OK;
}

static json_t *point_json(const struct point *p, json_t *result)
{
	char at[32];
	json_t *o;

	cm_clock_text(p->time_ms, at);
	o = json_pack("{s:I, s:i, s:s, s:s, s:I}", "plan",
		(json_int_t)(p->r->of ? p->r->of->signed_plan.number : 0), "round", (int)p->r->plan->number,
		"stage", word(p->r), "time", at, "time_ms", (json_int_t)p->time_ms);
	if (o && ((p->r->plan->recurrence > 0 &&
			  json_object_set_new(o, "recurrence", json_integer(p->r->plan->recurrence)) != 0) ||
			 (result && json_object_set(o, "result", result) != 0))) {
		json_decref(o);
		o = NULL;
	}
	return o;
}

static enum cm_rc print_json(const struct an_ledger_files *b, const struct an_history *h,
	const struct point *p, size_t n, FILE *out, struct cm_err *err)
{
	json_t *rounds = json_array(), *doc = NULL, *result;
	enum cm_rc rc = rounds ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		rc = load(b, &p[i], &result, err);
		if (rc == CM_OK && json_array_append_new(rounds, point_json(&p[i], result)) != 0)
			rc = cm_fail(err, CM_EINTERNAL, "out of memory");
		json_decref(result);
	}
	if (rc == CM_OK) {
		doc = json_pack("{s:s, s:s, s:O}", "schema", "tombola.history/1", "query", h->query, "rounds",
			rounds);
		rc = an_json_print(doc, 0, out, err);
	}
	json_decref(doc);
	json_decref(rounds);
	return rc;
}

static enum cm_rc print_csv(
	const struct an_ledger_files *b, const struct point *p, size_t n, FILE *out, struct cm_err *err)
{
	json_t *result;
	enum cm_rc rc = CM_OK;

	(void)fputs("time,plan,round,recurrence,stage,", out);
	an_result_csv_head(out);
	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		const struct an_round_state *r = p[i].r;
		char at[32], lead[96];

		cm_clock_text(p[i].time_ms, at);
		(void)snprintf(lead, sizeof lead, "%s,%llu,%u,%u,%s,", at,
			(unsigned long long)(r->of ? r->of->signed_plan.number : 0), r->plan->number,
			r->plan->recurrence, word(r));
		rc = load(b, &p[i], &result, err);
		if (rc == CM_OK)
			an_result_csv_rows(result, lead, out);
		json_decref(result);
	}
	return rc;
}

/* Why a round has no rows: it is a gap, its batch gives no estimate, or its counts do not differ
 * significantly from zero. */
static const char *why_none(const struct an_round_state *r, const json_t *result)
{
	if (!result || an_round_lost(r))
		return word(r);
	return json_object_get(result, "fault") ? "no estimate" : "below the noise floor";
}

static enum cm_rc print_table(const struct an_ledger_files *b, const struct an_history *h,
	const struct point *p, size_t n, FILE *out, struct cm_err *err)
{
	struct cm_table *t = cm_table_new("<<<>>",
		(const char *const[]){ "opened", "round", "item", "estimate", "95% interval (joint)" });
	json_t *result;
	enum cm_rc rc = t ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");

	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		char at[32];

		cm_clock_text(p[i].time_ms, at);
		rc = load(b, &p[i], &result, err);
		if (rc == CM_OK &&
			!an_result_rows(result, (const char *const[]){ at, p[i].r->plan->label }, h->all, t))
			cm_table_row(t, (const char *const[]){ at, p[i].r->plan->label, "-",
						why_none(p[i].r, result), "-" });
		json_decref(result);
	}
	if (rc == CM_OK)
		cm_table_print(t, out);
	if (t)
		cm_table_free(t);
	return rc;
}

enum cm_rc an_history_print(
	const struct an_ledger_files *b, const struct an_history *h, FILE *out, struct cm_err *err)
{
	struct point *p = NULL;
	size_t n = 0;
	enum cm_rc rc = collect(&b->state, h, &p, &n, err);

	if (rc == CM_OK && h->form == AN_HISTORY_JSON)
		rc = print_json(b, h, p, n, out, err);
	else if (rc == CM_OK && h->form == AN_HISTORY_CSV)
		rc = print_csv(b, p, n, out, err);
	else if (rc == CM_OK)
		rc = print_table(b, h, p, n, out, err);
	free(p);
	return rc;
}
