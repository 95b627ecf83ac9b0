/* cl_show.c - prints summaries of rounds, the ledger and the counts of proofs, as text and as JSON. */
#include "cl_show.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cl_budget.h"
#include "cl_db.h"
#include "cl_proof.h"
#include "cl_standing.h"
#include "cm_clock.h"
#include "cm_file.h"
#include "cm_round.h"
#include "cm_table.h"

/* 17 digits restore a double exactly.  JSON has no infinity. */
json_t *cl_json_number(double v)
{
	return isfinite(v) ? json_real(v) : json_string(v > 0 ? "inf" : "nan");
}

void cl_show_rows(const struct cl_rows *r, FILE *out)
{
	char n[32];

	if (r->bad + r->out_of_domain > 0)
		(void)fprintf(out,
			"  %s of %" PRIu64 " rows unusable (%" PRIu64 " unreadable, %" PRIu64
			" outside the query's domain), first: %s\n",
			cm_thousands((int64_t)(r->bad + r->out_of_domain), n), r->rows, r->bad,
			r->out_of_domain, r->first_bad);
	if (r->none > 0)
		(void)fprintf(out, "  %s devices without a reading take part all the same\n",
			cm_thousands((int64_t)r->none, n));
	if (r->clamped > 0)
		(void)fprintf(out, "  %s values clamped to the query's range\n",
			cm_thousands((int64_t)r->clamped, n));
	if (r->duplicates > 0)
		(void)fprintf(out,
			"  %s further readings of devices that had one: one of each device's was drawn\n",
			cm_thousands((int64_t)r->duplicates, n));
	if (r->unlisted > 0)
		(void)fprintf(out, "  %s readings of devices that are not listed\n",
			cm_thousands((int64_t)r->unlisted, n));
}

static void show_plan(const struct cl_summary *s, FILE *out)
{
	const struct cl_plan_view *p = &s->plan;

	(void)fprintf(out, "  plan %s (%" PRIu64 "), slice of epsilon %.4g at delta %.3g", p->name, p->number,
		cm_digits_up(p->epsilon, 4), cm_digits_up(p->delta, 3));
	if (p->adaptive)
		(void)fprintf(out, ", adaptive\n");
	else
		(void)fprintf(out, ": entry %" PRIu32 ", try %" PRIu32 "; %zu of %zu entries pinned\n",
			s->entry, s->attempt, p->taken, p->entries);
}

static json_t *plan_json(const struct cl_summary *s)
{
	const struct cl_plan_view *p = &s->plan;

	return p->number == 0 ? json_null()
			      : json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "name", p->name,
					"number", (json_int_t)p->number, "entries", (json_int_t)p->entries,
					"pinned", (json_int_t)p->taken, "entry", (json_int_t)s->entry,
					"attempt", (json_int_t)s->attempt, "epsilon",
					cl_json_number(p->epsilon), "delta", cl_json_number(p->delta));
}

void cl_show_summary(const struct cl_summary *s, bool readings, FILE *out)
{
	char n[32];

	if (s->refused != CM_OK) {
		(void)fprintf(out, "round %" PRIu64 " (%s) refused: %s\n", s->sequence, s->query, s->reason);
		return;
	}
	(void)fprintf(out, "round %" PRIu64 " (%s, %s)%s: %s devices", s->sequence, s->query, s->protocol,
		s->resumed ? ", resumed" : "", cm_thousands((int64_t)s->counts.total, n));
	(void)fprintf(out, ", %s accepted", cm_thousands((int64_t)s->counts.by[CL_ACCEPTED], n));
	for (enum cl_outcome i = 0; i < CL_OUTCOMES; i++)
		if (i != CL_ACCEPTED && s->counts.by[i] > 0)
			(void)fprintf(out, ", %s %s", cm_thousands((int64_t)s->counts.by[i], n),
				cl_outcome_words(i));
	(void)fprintf(out,
		"\n  epsilon0 %.6g, central epsilon %.4f of this round, %.4f of all that is pinned\n",
		cl_shown_bound(s->epsilon0), cl_shown_bound(s->epsilon_round),
		cl_shown_bound(s->epsilon_total));
	if (s->plan.number > 0)
		show_plan(s, out);
	if (s->shuffler_dummies > 0)
		(void)fprintf(out,
			"  this rests on the shuffler adding messages of its own, up to %" PRIu64 "\n",
			s->shuffler_dummies);
	if (readings)
		cl_show_rows(&s->rows, out);
}

json_t *cl_summary_json(const struct cl_summary *s, bool readings)
{
	json_t *all = json_pack(
		"{s:I, s:s, s:s, s:b, s:b, s:s?, s:s, s:o, s:o, s:o, s:I, s:{s:I, s:I, s:I, s:I, "
		"s:I, s:I}, s:i, s:I, s:o}",
		"sequence", (json_int_t)s->sequence, "query", s->query, "protocol", s->protocol, "resumed",
		s->resumed, "refused", s->refused != CM_OK, "key", s->key, "reason", s->reason, "epsilon0",
		cl_json_number(s->epsilon0), "epsilon_round", cl_json_number(s->epsilon_round),
		"epsilon_total", cl_json_number(s->epsilon_total), "shuffler_dummies",
		(json_int_t)s->shuffler_dummies, "devices", "total", (json_int_t)s->counts.total, "accepted",
		(json_int_t)s->counts.by[CL_ACCEPTED], "conflicts", (json_int_t)s->counts.by[CL_CONFLICT],
		"closed", (json_int_t)s->counts.by[CL_CLOSED], "over_limit",
		(json_int_t)s->counts.by[CL_OVER_LIMIT], "unanswered",
		(json_int_t)s->counts.by[CL_UNANSWERED], "messages_per_device", (int)s->messages,
		"sealed_bytes", (json_int_t)s->sealed_len, "plan", plan_json(s));

	if (all && readings)
		(void)json_object_set_new(all, "rows",
			json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "read",
				(json_int_t)s->rows.rows, "bad", (json_int_t)s->rows.bad, "out_of_domain",
				(json_int_t)s->rows.out_of_domain, "clamped", (json_int_t)s->rows.clamped,
				"duplicates", (json_int_t)s->rows.duplicates, "unlisted",
				(json_int_t)s->rows.unlisted, "without_reading", (json_int_t)s->rows.none,
				"first_bad", s->rows.first_bad));
	return all;
}

static json_t *entry_json(sqlite3_stmt *st)
{
	bool charged = sqlite3_column_type(st, 3) != SQLITE_NULL;
	const char *note = (const char *)sqlite3_column_text(st, 5);

	return json_pack("{s:I, s:s, s:s, s:o, s:o, s:s, s:I}", "sequence",
		(json_int_t)sqlite3_column_int64(st, 0), "query", (const char *)sqlite3_column_text(st, 1),
		"kind", (const char *)sqlite3_column_text(st, 2), "epsilon_round",
		charged ? cl_json_number(sqlite3_column_double(st, 3)) : json_null(), "epsilon_total",
		charged ? cl_json_number(sqlite3_column_double(st, 4)) : json_null(), "note",
		note ? note : "", "time_ms", (json_int_t)sqlite3_column_int64(st, 6));
}

static void entry_row(sqlite3_stmt *st, struct cm_table *table)
{
	char sequence[24], round[32] = "", total[32] = "", when[32];
	const char *note = (const char *)sqlite3_column_text(st, 5);
	const char *cell[7];

	(void)snprintf(sequence, sizeof sequence, "%" PRId64, (int64_t)sqlite3_column_int64(st, 0));
	if (sqlite3_column_type(st, 3) != SQLITE_NULL) {
		(void)snprintf(round, sizeof round, "%.4f", cl_shown_bound(sqlite3_column_double(st, 3)));
		(void)snprintf(total, sizeof total, "%.4f", cl_shown_bound(sqlite3_column_double(st, 4)));
	}
	cm_clock_text(sqlite3_column_int64(st, 6), when);
	cell[0] = sequence;
	cell[1] = (const char *)sqlite3_column_text(st, 1);
	cell[2] = (const char *)sqlite3_column_text(st, 2);
	cell[3] = round;
	cell[4] = total;
	cell[5] = when;
	cell[6] = note ? note : "";
	cm_table_row(table, cell);
}

static enum cm_rc each_entry(struct cl_db *db, json_t *list, struct cm_table *table, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = db_prepare(db->sql,
		"SELECT sequence, query, kind, epsilon_round, epsilon_total,"
		" CASE kind WHEN 'charged' THEN NULL ELSE note END, time_ms FROM ledger"
		" WHERE kind <> 'seen' ORDER BY entry",
		&st, err);

	while (db_row(st, &rc, err)) {
		if (list)
			(void)json_array_append_new(list, entry_json(st));
		else
			entry_row(st, table);
	}
	sqlite3_finalize(st);
	return rc;
}

/* ---- status ---- */

struct listing {
	struct cl_db *db;
	FILE *out;
	json_t *list;
};

static enum cm_rc list_plan(void *user, const struct cl_pin *pin, struct cm_err *err)
{
	const struct listing *l = user;
	size_t taken = rd_pin_count(&pin->pin);
	struct cl_plan_use use;
	struct rd_plan plan;
	enum cm_rc rc = cl_plan_find(l->db, pin->plan_hash, &plan, err);

	if (rc == CM_OK)
		rc = cl_budget_of(l->db, pin, &plan, &use, err);
	if (rc != CM_OK) {
		rd_plan_fini(&plan);
		return rc;
	}
	if (l->list)
		(void)json_array_append_new(l->list,
			json_pack("{s:s, s:I, s:s, s:I, s:I, s:I, s:o, s:o, s:o}", "name", plan.name,
				"number", (json_int_t)plan.number, "mode", plan.mode, "entries",
				(json_int_t)plan.entries, "pinned", (json_int_t)taken, "answered",
				(json_int_t)use.answered, "epsilon", cl_json_number(pin->epsilon), "delta",
				cl_json_number(pin->delta), "used", cl_json_number(use.share)));
	else if (pin->adaptive)
		(void)fprintf(l->out,
			"plan %s (%" PRIu64 "), mode %s: slice of epsilon %.4g at delta %.3g, %.2f %% of it "
			"used\n",
			plan.name, plan.number, plan.mode, cm_digits_up(pin->epsilon, 4),
			cm_digits_up(pin->delta, 3), cm_percent_up(use.share, 2));
	else
		(void)fprintf(l->out,
			"plan %s (%" PRIu64 ") pinned: %zu of %zu entries, %zu of them answered; slice of "
			"epsilon %.4g at delta %.3g\n",
			plan.name, plan.number, taken, plan.entries, use.answered,
			cm_digits_up(pin->epsilon, 4), cm_digits_up(pin->delta, 3));
	rd_plan_fini(&plan);
	return CM_OK;
}

static enum cm_rc print_together(struct cl_db *db, FILE *out, struct cm_err *err)
{
	struct rd_together t;
	char words[400];
	enum cm_rc rc = cl_budget_together(db, &t, err);

	rd_together_words(&t, words, sizeof words);
	if (rc == CM_OK)
		(void)fprintf(out, "%s\n", words);
	return rc;
}

static json_t *together_json(const struct rd_together *t)
{
	return json_pack("{s:o, s:I, s:I, s:o}", "epsilon0", cl_json_number(rd_together_epsilon0(t)),
		"reports", (json_int_t)t->reports, "unbounded", (json_int_t)t->unbounded,
		"epsilon0_of_others", cl_json_number(t->epsilon0));
}

static json_t *loss_json(const struct cl_loss *loss)
{
	return json_pack("{s:b, s:b, s:b, s:I}", "lost", loss->lost, "conflict", loss->conflict, "accepted",
		loss->accepted, "closed_plans", (json_int_t)loss->closed_plans);
}

static enum cm_rc print_json(const struct cl_setup *setup, struct cl_db *db, const struct cl_budget *usage,
	const struct cl_counts *counts, FILE *out, struct cm_err *err)
{
	struct listing plans = { db, out, json_array() };
	json_t *list = json_array(), *all;
	struct cl_loss loss = { .lost = false };
	struct rd_together together = { .reports = 0 };
	enum cm_rc rc = each_entry(db, list, NULL, err);

	if (rc == CM_OK)
		rc = cl_pin_each(db, list_plan, &plans, err);
	if (rc == CM_OK)
		rc = cl_loss_read(db, &loss, err);
	if (rc == CM_OK)
		rc = cl_budget_together(db, &together, err);
	all = json_pack("{s:s, s:s, s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "schema", "tombola.client/2",
		"population", setup->conf.population, "population_budget",
		json_pack(RD_FIGURE_PACK(&usage->figure)), "stored", (json_int_t)counts->total, "unanswered",
		(json_int_t)counts->by[CL_UNANSWERED], "ledger", list, "plans", plans.list, "loss",
		loss_json(&loss), "together", together_json(&together));

	if (rc == CM_OK && !all)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK) {
		(void)json_dumpf(all, out, JSON_COMPACT | JSON_REAL_PRECISION(17));
		(void)fputc('\n', out);
	}
	json_decref(all);
	return rc;
}

static enum cm_rc print_loss(struct cl_db *db, FILE *out, struct cm_err *err)
{
	struct cl_loss loss;
	char when[32], words[256];
	enum cm_rc rc = cl_loss_read(db, &loss, err);

	if (rc != CM_OK)
		return rc;
	if (loss.lost) {
		cl_loss_words(&loss, words, sizeof words);
		(void)fprintf(out, "%s\n", words);
	}
	cm_clock_text(loss.accepted_ms, when);
	if (loss.accepted)
		(void)fprintf(out,
			"a loss of the ledger was accepted at %s: plans up to %" PRIu64
			" are closed; reports of rounds that were lost are in no sum below\n",
			when, loss.closed_plans);
	return CM_OK;
}

/* Print the counts of proofs as a line of `status`, or nothing if no message was ever watched. */
static enum cm_rc print_proofs(struct cl_db *db, FILE *out, struct cm_err *err)
{
	struct cl_proof_counts c;
	enum cm_rc rc = cl_proof_counts(db, &c, err);

	if (rc != CM_OK || c.rounds + c.waiting == 0)
		return rc;
	(void)fprintf(out,
		"watched messages: %" PRIu64 " in the manifest, %" PRIu64 " missing, %" PRIu64
		" unanswered, %" PRIu64 " waiting; rounds: %" PRIu64,
		c.included, c.missing, c.unanswered, c.waiting, c.rounds);
	if (c.void_rounds > 0)
		(void)fprintf(out, ", and %" PRIu64 " void", c.void_rounds);
	(void)fputc('\n', out);
	return CM_OK;
}

static enum cm_rc print_text(struct cl_db *db, const struct cl_budget *usage, const struct cl_counts *counts,
	FILE *out, struct cm_err *err)
{
	static const char *const head[] = { "round", "query", "what", "charged", "total", "when", "note" };
	struct cm_table *table = cm_table_new("><<>><<", head);
	struct listing plans = { db, out, NULL };
	struct rd_figure_words words;
	enum cm_rc rc;

	if (!table)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = each_entry(db, NULL, table, err);
	if (rc == CM_OK) {
		cm_table_print(table, out);
		rc = cl_pin_each(db, list_plan, &plans, err);
	}
	if (rc == CM_OK)
		rc = print_loss(db, out, err);
	if (rc == CM_OK) {
		rd_figure_words(&usage->figure, usage->plans, &words);
		(void)fprintf(out, "budget  %s\npinned  %s\nused    %s\nfree    %s\n", words.budget,
			words.pinned, words.used, words.free);
		if (counts->total > 0)
			(void)fprintf(out, "round under way: %" PRIu64 " of %" PRIu64 " devices unanswered\n",
				counts->by[CL_UNANSWERED], counts->total);
		rc = print_together(db, out, err);
	}
	if (rc == CM_OK) {
		rc = print_proofs(db, out, err);
	}
	cm_table_free(table);
	return rc;
}

enum cm_rc cl_show_status(const struct cl_setup *setup, bool json, FILE *out, struct cm_err *err)
{
	struct cl_counts counts = { 0 };
	struct cl_budget usage;
	struct cl_db *db = NULL;
	enum cm_rc rc = cl_db_open_readonly(setup->conf.state_dir, &db, err);

	if (rc != CM_OK)
		return rc;
	rc = cl_budget_read(db, &setup->policy, &usage, err);
	if (rc == CM_OK)
		rc = cl_reports_counts(db, &counts, err);
	if (rc == CM_OK)
		rc = json ? print_json(setup, db, &usage, &counts, out, err)
			  : print_text(db, &usage, &counts, out, err);
	cl_db_close(db);
	return rc;
}

static enum cm_rc print_proofs_json(struct cl_db *db, FILE *out, struct cm_err *err)
{
	struct cl_proof_counts c;
	enum cm_rc rc = cl_proof_counts(db, &c, err);

	if (rc != CM_OK)
		return rc;
	json_t *all = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "schema", "tombola.proofs/1", "rounds",
		(json_int_t)c.rounds, "included", (json_int_t)c.included, "missing", (json_int_t)c.missing,
		"unanswered", (json_int_t)c.unanswered, "waiting", (json_int_t)c.waiting, "void",
		(json_int_t)c.void_rounds);
	if (!all)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	(void)json_dumpf(all, out, JSON_COMPACT);
	(void)fputc('\n', out);
	json_decref(all);
	return CM_OK;
}

enum cm_rc cl_show_proofs(const struct cl_setup *setup, bool json, FILE *out, struct cm_err *err)
{
	struct cl_db *db = NULL;
	enum cm_rc rc = cl_db_open_readonly(setup->conf.state_dir, &db, err);

	if (rc != CM_OK)
		return rc;
	rc = json ? print_proofs_json(db, out, err) : print_proofs(db, out, err);
	cl_db_close(db);
	return rc;
}

enum cm_rc cl_save_manifest(
	const struct cl_setup *setup, uint64_t sequence, const char *path, struct cm_err *err)
{
	struct cl_db *db = NULL;
	struct cm_buf bytes;
	enum cm_rc rc = cl_db_open_readonly(setup->conf.state_dir, &db, err);

	if (rc != CM_OK)
		return rc;
	cm_buf_init(&bytes, PR_EVIDENCE_MAX);
	rc = cl_proof_export(db, sequence, &bytes, err);
	if (rc == CM_OK)
		rc = cm_file_write(path, bytes.data, bytes.len, 0644, err);
	cm_buf_fini(&bytes);
	cl_db_close(db);
	return rc;
}
