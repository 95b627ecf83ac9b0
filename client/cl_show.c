/* cl_show.c - summaries of rounds, and the client's ledger, for people and for programs. */
#include "cl_show.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cm_clock.h"
#include "cm_table.h"

/* 17 digits bring a double back exactly; JSON has no infinity. */
json_t *cl_json_number(double v)
{
	return isfinite(v) ? json_real(v) : json_string(v > 0 ? "inf" : "nan");
}

void cl_show_rows(const struct cl_rows *r, FILE *out)
{
	char n[32];

	if (r->bad + r->out_of_domain > 0)
		(void)fprintf(out,
			"  %s of %" PRIu64 " rows left out (%" PRIu64 " unreadable, %" PRIu64
			" outside the query's domain), first: %s\n",
			cm_thousands((int64_t)(r->bad + r->out_of_domain), n), r->rows, r->bad,
			r->out_of_domain, r->first_bad);
	if (r->clamped > 0)
		(void)fprintf(out, "  %s values clamped to the query's range\n",
			cm_thousands((int64_t)r->clamped, n));
	if (r->duplicates > 0)
		(void)fprintf(out,
			"  %s further readings of devices that had one: one of each device's was drawn\n",
			cm_thousands((int64_t)r->duplicates, n));
	if (r->over_limit > 0)
		(void)fprintf(out, "  %s rows of devices beyond the limit\n",
			cm_thousands((int64_t)r->over_limit, n));
}

void cl_show_summary(const struct cl_summary *s, FILE *out)
{
	static const char *const outcome[CL_OUTCOMES] = { "unanswered", "accepted", "conflicts", "closed",
		"over limit" };
	char n[32];

	if (s->refused != CM_OK) {
		(void)fprintf(out, "round %" PRIu64 " (%s) refused: %s\n", s->sequence, s->query, s->reason);
		return;
	}
	(void)fprintf(out, "round %" PRIu64 " (%s, %s)%s: %s devices", s->sequence, s->query, s->protocol,
		s->resumed ? ", resumed" : "", cm_thousands((int64_t)s->counts.total, n));
	(void)fprintf(out, ", %s accepted", cm_thousands((int64_t)s->counts.by[1], n));
	for (size_t i = 0; i < CL_OUTCOMES; i++)
		if (i != 1 && s->counts.by[i] > 0)
			(void)fprintf(out, ", %s %s", cm_thousands((int64_t)s->counts.by[i], n), outcome[i]);
	(void)fprintf(out, "\n  epsilon0 %.4g, central epsilon %.4f of this round, %.4f of all\n",
		s->epsilon0, cl_shown_bound(s->epsilon_round), cl_shown_bound(s->epsilon_total));
	if (s->shuffler_dummies > 0)
		(void)fprintf(out,
			"  this rests on the shuffler adding messages of its own, up to %" PRIu64 "\n",
			s->shuffler_dummies);
	cl_show_rows(&s->rows, out);
}

json_t *cl_summary_json(const struct cl_summary *s)
{
	return json_pack(
		"{s:I, s:s, s:s, s:b, s:b, s:s, s:o, s:o, s:o, s:I, s:{s:I, s:I, s:I, s:I, s:I, s:I},"
		" s:{s:I, s:I, s:I, s:I, s:I, s:I, s:s}, s:i, s:I}",
		"sequence", (json_int_t)s->sequence, "query", s->query, "protocol", s->protocol, "resumed",
		s->resumed, "refused", s->refused != CM_OK, "reason", s->reason, "epsilon0",
		cl_json_number(s->epsilon0), "epsilon_round", cl_json_number(s->epsilon_round),
		"epsilon_total", cl_json_number(s->epsilon_total), "shuffler_dummies",
		(json_int_t)s->shuffler_dummies, "devices", "total", (json_int_t)s->counts.total, "accepted",
		(json_int_t)s->counts.by[1], "conflicts", (json_int_t)s->counts.by[2], "closed",
		(json_int_t)s->counts.by[3], "over_limit", (json_int_t)s->counts.by[4], "unanswered",
		(json_int_t)s->counts.by[0], "rows", "read", (json_int_t)s->rows.rows, "bad",
		(json_int_t)s->rows.bad, "out_of_domain", (json_int_t)s->rows.out_of_domain, "clamped",
		(json_int_t)s->rows.clamped, "duplicates", (json_int_t)s->rows.duplicates, "beyond_limit",
		(json_int_t)s->rows.over_limit, "first_bad", s->rows.first_bad, "messages_per_device",
		(int)s->messages, "sealed_bytes", (json_int_t)s->sealed_len);
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
		note != NULL ? note : "", "time_ms", (json_int_t)sqlite3_column_int64(st, 6));
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
	cell[6] = note != NULL ? note : "";
	cm_table_row(table, cell);
}

static enum cm_rc each_entry(struct cl_db *db, json_t *list, struct cm_table *table, struct cm_err *err)
{
	sqlite3_stmt *st = NULL;
	enum cm_rc rc = cl_db_prepare(db,
		"SELECT sequence, query, kind, epsilon_round, epsilon_total, note, time_ms FROM ledger"
		" WHERE kind <> 'seen' ORDER BY entry",
		&st, err);
	int step = SQLITE_DONE;

	while (rc == CM_OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		if (list != NULL)
			(void)json_array_append_new(list, entry_json(st));
		else
			entry_row(st, table);
	}
	if (rc == CM_OK && step != SQLITE_DONE)
		rc = cl_db_fail(db, err);
	sqlite3_finalize(st);
	return rc;
}

/* What the account says. */
struct used {
	double epsilon, share;
	const char *mode;
};

static enum cm_rc print_json(const struct cl_setup *setup, struct cl_db *db, const struct used *used,
	const struct cl_counts *counts, FILE *out, struct cm_err *err)
{
	json_t *list = json_array();
	enum cm_rc rc = each_entry(db, list, NULL, err);
	json_t *all = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:o}", "schema",
		"tombola.client/1", "population", setup->conf.population, "mode", used->mode, "share_spent",
		cl_json_number(used->share), "epsilon_spent", cl_json_number(used->epsilon), "epsilon_limit",
		cl_json_number(setup->policy.max_epsilon), "delta", cl_json_number(setup->policy.delta),
		"stored", (json_int_t)counts->total, "unanswered", (json_int_t)counts->by[0], "ledger", list);

	if (rc == CM_OK && all == NULL)
		rc = cm_fail(err, CM_EINTERNAL, "out of memory");
	if (rc == CM_OK) {
		(void)json_dumpf(all, out, JSON_COMPACT | JSON_REAL_PRECISION(17));
		(void)fputc('\n', out);
	}
	json_decref(all);
	return rc;
}

static enum cm_rc print_text(const struct cl_setup *setup, struct cl_db *db, const struct used *used,
	const struct cl_counts *counts, FILE *out, struct cm_err *err)
{
	static const char *const head[] = { "round", "query", "what", "charged", "total", "when", "note" };
	struct cm_table *table = cm_table_new(">"
					      "<<"
					      ">>"
					      "<<",
		head);
	enum cm_rc rc;

	if (table == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = each_entry(db, NULL, table, err);
	if (rc == CM_OK) {
		cm_table_print(table, out);
		if (rd_mode_filter(used->mode) != 0)
			(void)fprintf(out, "%.2f %% of the budget of epsilon %.4f at delta %.3g, mode %s",
				ceil(1e4 * used->share) / 1e2, setup->policy.max_epsilon, setup->policy.delta,
				used->mode);
		else
			(void)fprintf(out, "epsilon %.4f of %.4f at delta %.3g",
				cl_shown_bound(used->epsilon), setup->policy.max_epsilon,
				setup->policy.delta);
		if (counts->total > 0)
			(void)fprintf(out, "; round under way: %" PRIu64 " of %" PRIu64 " devices unanswered",
				counts->by[0], counts->total);
		(void)fputc('\n', out);
	}
	cm_table_free(table);
	return rc;
}

enum cm_rc cl_show_status(const struct cl_setup *setup, bool json, FILE *out, struct cm_err *err)
{
	struct rd_account *account = NULL;
	struct cl_counts counts = { 0 };
	struct cl_db *db = NULL;
	struct used used = { 0 };
	enum cm_rc rc = cl_db_open_readonly(setup->conf.state_dir, &db, err);

	if (rc != CM_OK)
		return rc;
	rc = cl_ledger_account(db, setup->policy.max_epsilon, setup->policy.delta, &account, err);
	if (rc == CM_OK)
		rc = rd_account_spent(account, &used.epsilon, err);
	if (rc == CM_OK)
		rc = rd_account_share(account, &used.share, err);
	if (rc == CM_OK)
		used.mode = rd_account_mode(account);
	if (rc == CM_OK)
		rc = cl_store_counts(db, &counts, err);
	if (rc == CM_OK)
		rc = (json ? print_json : print_text)(setup, db, &used, &counts, out, err);
	rd_account_free(account);
	cl_db_close(db);
	return rc;
}
