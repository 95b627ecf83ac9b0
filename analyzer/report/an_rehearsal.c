/* an_rehearsal.c - prints a rehearsal as tables and JSON. */
#include "an_rehearsal.h"

#include <inttypes.h>
#include <string.h>

#include "an_budget.h"
#include "an_result.h"
#include "cm_table.h"

#define SILENT 3u

static const char *const states[] = { "?", "answered", "declines", [SILENT] = "silent" };

static const char *state_of(const struct an_party *c)
{
	return states[c->state < sizeof states / sizeof states[0] ? c->state : 0];
}

static size_t count(const struct an_rehearsal *r, const struct an_party *p)
{
	size_t n = 0, of = rd_plan_is_adaptive(r->plan) ? 1 : r->plan->entries;

	for (size_t i = 0; i < of; i++)
		n += an_party_takes(r, p, i);
	return n;
}

/* Write how many entries a party would take, such as "3 of 4"; for an adaptive plan "yes" or "no". */
static void say_taken(const struct an_rehearsal *r, const struct an_party *p, char out[64])
{
	if (rd_plan_is_adaptive(r->plan))
		(void)snprintf(out, 64, "%s", an_party_takes(r, p, 0) ? "yes" : "no");
	else
		(void)snprintf(out, 64, "%zu of %zu%s", count(r, p), r->plan->entries,
			p->unfinished ? ", so far" : "");
}

static void print_faults(const char *whose, const struct an_party *p, FILE *out)
{
	for (size_t i = 0; i < p->faults.n; i++) {
		const struct rd_fault *f = &p->faults.fault[i];

		(void)fprintf(out, "%s: ", whose);
		if (f->place[0] != '\0')
			(void)fprintf(out, "%s: ", f->place);
		(void)fprintf(out, "%s", f->text);
		if (f->entry > 0 && f->entries > 1)
			(void)fprintf(out, " (%" PRIu32 " entries, the first is round %" PRIu32 ")",
				f->entries, f->entry);
		else if (f->entry > 0)
			(void)fprintf(out, " (round %" PRIu32 ")", f->entry);
		(void)fputc('\n', out);
	}
}

static void print_clients(const struct an_rehearsal *r, FILE *out)
{
	static const char *const head[] = { "CERTIFICATE", "STATE", "ITS DEVICES", "LISTED", "WOULD ANSWER" };
	struct cm_table *t = cm_table_new("<<>>>", head);

	for (size_t i = 0; i < r->clients; i++) {
		const struct an_party *c = &r->client[i];
		char devices[32], listed[32] = "", taken[64] = "";

		(void)cm_thousands((int64_t)c->devices, devices);
		if (c->state == 1) {
			if (c->listed > 0)
				(void)cm_thousands((int64_t)c->listed, listed);
			else
				(void)snprintf(listed, sizeof listed, "no list");
			say_taken(r, c, taken);
		}
		cm_table_row(t, (const char *const[]){ c->name, state_of(c), devices, listed, taken });
	}
	cm_table_print(t, out);
	cm_table_free(t);
	for (size_t i = 0; i < r->clients; i++) {
		print_faults(r->client[i].name, &r->client[i], out);
		if (r->client[i].state == SILENT)
			(void)fprintf(out,
				"%s: no answer: its log says why; mostly `analyzer_key` of its client.conf is "
				"not this analyzer's\n",
				r->client[i].name);
	}
}

/* ---- Entries; those of one query that come out alike are one row ---- */

static bool alike(const struct an_rehearsal *r, size_t a, size_t b)
{
	const struct rd_entry *x = &r->plan->entry[a], *y = &r->plan->entry[b];
	const struct an_would *v = &r->entry[a], *w = &r->entry[b];

	return strcmp(x->query.name, y->query.name) == 0 && x->min_reports == y->min_reports &&
	       x->target == y->target && v->taken == w->taken && v->participants == w->participants &&
	       v->at_most == w->at_most && v->listed == w->listed;
}

/* The first entry after i that differs from it. */
static size_t group_end(const struct an_rehearsal *r, size_t i)
{
	size_t end = i + 1;

	while (end < r->plan->entries && alike(r, i, end))
		end++;
	return end;
}

static const char *reach_of(const struct an_would *w)
{
	if (!w->taken)
		return "refused";
	return w->reach == AN_REACHED ? "yes" : w->reach == AN_MAYBE ? "perhaps" : "no";
}

static void print_entries(const struct an_rehearsal *r, FILE *out)
{
	static const char *const head[] = { "ROUND", "QUERY", "MIN_REPORTS", "TARGET", "LISTED",
		"WOULD TAKE PART", "REACHED" };
	struct cm_table *t = cm_table_new("<<>>>><", head);

	for (size_t i = 0, end; i < r->plan->entries; i = end) {
		const struct rd_entry *e = &r->plan->entry[i];
		const struct an_would *w = &r->entry[i];
		char number[32], least[32], target[32], listed[32], part[72], most[32];

		end = group_end(r, i);
		if (end > i + 1)
			(void)snprintf(number, sizeof number, "%" PRIu32 "..%" PRIu32, e->number,
				r->plan->entry[end - 1].number);
		else
			(void)snprintf(number, sizeof number, "%" PRIu32, e->number);
		(void)cm_thousands((int64_t)w->participants, part);
		if (w->at_most > w->participants)
			(void)snprintf(part + strlen(part), sizeof part - strlen(part), " to %s",
				cm_thousands((int64_t)w->at_most, most));
		cm_table_row(t, (const char *const[]){ number, e->query.name,
					cm_thousands((int64_t)e->min_reports, least),
					cm_thousands((int64_t)e->target, target),
					cm_thousands((int64_t)w->listed, listed), part, reach_of(w) });
	}
	cm_table_print(t, out);
	cm_table_free(t);
}

/* Print why an entry has too few devices: what each limit leaves out, and which clients gave no answer. */
static void print_missed(
	const struct an_rehearsal *r, const struct pl_plan *plan, const char *file, FILE *out)
{
	for (size_t i = 0, end; i < r->plan->entries; i = end) {
		const struct rd_entry *e = &r->plan->entry[i];
		const struct an_would *w = &r->entry[i];
		const struct pl_round *round = &plan->round[e->number - 1];

		end = group_end(r, i);
		if (w->reach == AN_REACHED)
			continue;
		(void)fprintf(out,
			"%s:%d: round %" PRIu32 " (%s): min_reports is %" PRIu64 ", and %s%" PRIu64
			" would take part",
			file, round->line, e->number, round->label, e->min_reports,
			w->reach == AN_MAYBE           ? "for sure "
			: w->at_most > w->participants ? "at most "
						       : "",
			w->reach == AN_MAYBE ? w->participants : w->at_most);
		if (r->listed > 0)
			(void)fprintf(out, "; %" PRIu64 " devices are listed", r->listed);
		if (w->over_share > 0)
			(void)fprintf(out,
				"; max_share = %g of the shuffler's policy takes at most %" PRIu64
				" devices of one certificate at target %" PRIu64 " and leaves out %" PRIu64,
				r->max_share, rd_share_of(r->max_share, e->target), e->target, w->over_share);
		if (w->over_certificate > 0)
			(void)fprintf(out,
				"; %" PRIu64 " of them are beyond the number in their certificate: `tombola "
				"pki renew --devices`",
				w->over_certificate);
		if (w->reach == AN_MISSED && w->over_share + w->over_certificate == 0 && w->listed > 0 &&
			w->listed < e->min_reports)
			(void)fprintf(out, ": lower min_reports, or add devices");
		if (w->reach == AN_MAYBE)
			(void)fprintf(out, "; clients without a list of devices do not know their number");
		(void)fputc('\n', out);
	}
}

enum cm_rc an_rehearsal_fit(
	const struct an_ledger_files *b, const char *file, int64_t now_ms, FILE *out, struct cm_err *err)
{
	const struct rd_plan *p = &b->state.current->signed_plan;
	size_t over;

	for (size_t i = 0; i < p->refusals; i++) {
		const struct rd_refused *no = &p->refused[i];
		const struct pl_round *round = &b->plan.round[no->number - 1];

		if (i > 0 && pl_repeats(&b->plan, no->number - 1) && no[-1].number == no->number - 1)
			continue;
		(void)fprintf(out,
			"%s:%d: round %u (%s) does not fit the slice of epsilon %g: it needs %.4f, and the "
			"total would be %.4f\n",
			file, round->line, no->number, round->label, p->epsilon,
			an_round_up(no->epsilon_round), an_round_up(no->epsilon_total));
	}
	pl_plan_print_alone(&b->plan, file, out);
	over = now_ms != 0 ? pl_plan_print_over(&b->plan, file, now_ms, out) : 0;
	if (p->entries == 0 && !rd_plan_is_adaptive(p))
		return cm_fail(err, CM_EBUDGET,
			"no round of plan %s fits its slice; nothing is signed, nothing is spent", p->name);
	return over == 0
		       ? CM_OK
		       : cm_fail(err, CM_ECONFIG,
				 "%zu rounds of plan %s are over before they could open; nothing is signed, "
				 "nothing is spent",
				 over, p->name);
}

void an_rehearsal_print(const struct an_rehearsal *r, const struct pl_plan *plan, const char *file, FILE *out)
{
	char taken[64];

	say_taken(r, &r->shuffler, taken);
	(void)fprintf(out,
		"rehearsal of plan %s, number %" PRIu64 " of population %s: nothing is signed, pinned or "
		"spent\n"
		"shuffler   takes %s\n"
		"clients    %" PRIu32 " answered, %" PRIu32 " declined, %" PRIu32 " silent, %" PRIu32
		" not asked (in a round, older, or of another population)\n\n",
		r->plan->name, r->plan->number, r->plan->population, taken, r->answered, r->declined,
		r->silent, r->unasked);
	print_faults("shuffler", &r->shuffler, out);
	if (r->clients > 0) {
		print_clients(r, out);
		(void)fputc('\n', out);
	}
	if (r->plan->entries > 0)
		print_entries(r, out);
	print_missed(r, plan, file, out);
	if (r->answered == 0)
		(void)fprintf(out, "no client answered: who is not connected now is not counted\n");
}

/* ---- JSON ---- */

static json_t *faults_json(const struct rd_faults *faults)
{
	json_t *all = json_array();

	for (size_t i = 0; i < faults->n; i++) {
		const struct rd_fault *f = &faults->fault[i];

		(void)json_array_append_new(
			all, json_pack("{s:I, s:I, s:s, s:s}", "round", (json_int_t)f->entry, "entries",
				     (json_int_t)f->entries, "place", f->place, "text", f->text));
	}
	return all;
}

static json_t *client_json(const struct an_rehearsal *r, const struct an_party *c)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:b, s:o}", "certificate", c->name, "state", state_of(c),
		"devices", (json_int_t)c->devices, "listed", (json_int_t)c->listed, "would_answer",
		(json_int_t)count(r, c), "unfinished", (int)c->unfinished, "faults", faults_json(&c->faults));
}

static json_t *entry_json(const struct an_rehearsal *r, size_t i)
{
	const struct rd_entry *e = &r->plan->entry[i];
	const struct an_would *w = &r->entry[i];

	return json_pack("{s:I, s:s, s:I, s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:s}", "round",
		(json_int_t)e->number, "query", e->query.name, "min_reports", (json_int_t)e->min_reports,
		"target", (json_int_t)e->target, "taken", (int)w->taken, "listed", (json_int_t)w->listed,
		"participants", (json_int_t)w->participants, "at_most", (json_int_t)w->at_most, "over_share",
		(json_int_t)w->over_share, "over_certificate", (json_int_t)w->over_certificate, "reached",
		reach_of(w));
}

json_t *an_rehearsal_json(const struct an_rehearsal *r, const struct pl_plan *plan)
{
	json_t *clients = json_array(), *entries = json_array();

	for (size_t i = 0; i < r->clients; i++)
		(void)json_array_append_new(clients, client_json(r, &r->client[i]));
	for (size_t i = 0; i < r->plan->entries; i++)
		(void)json_array_append_new(entries, entry_json(r, i));
	if (json_array_size(clients) != r->clients || json_array_size(entries) != r->plan->entries) {
		json_decref(clients);
		json_decref(entries);
		return NULL;
	}
	return json_pack("{s:s, s:s, s:I, s:s, s:I, s:b, s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:I}",
		"schema", "tombola.rehearsal/1", "plan", plan->name, "number", (json_int_t)r->plan->number,
		"population", r->plan->population, "would_take", (json_int_t)count(r, &r->shuffler),
		"unfinished", (int)r->shuffler.unfinished, "shuffler_faults",
		faults_json(&r->shuffler.faults), "max_share", an_json_real(r->max_share), "answered",
		(json_int_t)r->answered, "declined", (json_int_t)r->declined, "silent", (json_int_t)r->silent,
		"unasked", (json_int_t)r->unasked, "clients", clients, "entries", entries, "faults",
		(json_int_t)an_rehearse_faults(r));
}
