/* cl_metrics.c - lists the client's metrics, and sets their values. */
#include "cl_metrics.h"

#include <math.h>
#include <stdlib.h>

#include "cl_budget.h"
#include "cl_db.h"
#include "cl_standing.h"
#include "cm_clock.h"
#include "cm_file.h"

/* READINGS is last and shown only if the configuration allows it, because it depends on the readings. */
enum {
	ROUNDS,
	REFUSED,
	REPORTS,
	MESSAGES,
	STORE_SECONDS,
	PHASE,
	LAST_NUMBER,
	LAST_TIME,
	STOPPED,
	SEALED,
	EVIDENCE,
	READINGS,
	ROWS
};

enum { DONE, WAS_REFUSED, PASSED_OVER, INTERRUPTED };
static const char *const outcomes[] = { "done", "refused", "passed_over", "interrupted", NULL };
enum { BUDGET, POLICY, INVALID };
static const char *const refusals[] = { "budget", "policy", "invalid", NULL };
/* Names of the members of enum cl_outcome, in its order. */
static const char *const reports[] = { "unanswered", "accepted", "conflict", "closed", "over_limit", NULL };
enum { STANDING, CONFLICT };
static const char *const stops[] = { "standing", "conflict", NULL };
static const char *const readings[] = { "read", "bad", "out_of_domain", "clamped", "duplicate", "unlisted",
	"none", NULL };
static const char *const phases[] = { "asking", "preparing", "uploading", "ending", NULL };

static const struct cm_metric_row rows[ROWS] = {
	[ROUNDS] = { "tombola_client_rounds_total", CM_METRIC_COUNTER, "Rounds by outcome for this client.",
		"outcome", outcomes, NULL },
	[REFUSED] = { "tombola_client_rounds_refused_total", CM_METRIC_COUNTER,
		"Rounds that this client took no part in, by why.", "reason", refusals, NULL },
	[REPORTS] = { "tombola_client_reports_total", CM_METRIC_COUNTER,
		"Reports of rounds that are over, by the shuffler's answer.", "outcome", reports, NULL },
	[MESSAGES] = { "tombola_client_messages_total", CM_METRIC_COUNTER,
		"Sealed messages of those reports.", NULL, NULL, NULL },
	[STORE_SECONDS] = { "tombola_client_store_duration_seconds", CM_METRIC_HISTOGRAM,
		"Time to make sealed reports durable before they are sent.", NULL, NULL, lk_metrics_seconds },
	[PHASE] = { "tombola_client_phase", CM_METRIC_GAUGE, "1 for the client's current phase.", "phase",
		phases, NULL },
	[LAST_NUMBER] = { "tombola_client_last_round_number", CM_METRIC_GAUGE,
		"Sequence number of the last round that is over here, done or refused.", NULL, NULL, NULL },
	[LAST_TIME] = { "tombola_client_last_done_timestamp_seconds", CM_METRIC_GAUGE,
		"When a round that this client took part in was last over, in unix seconds.", NULL, NULL,
		NULL },
	[STOPPED] = { "tombola_client_stopped", CM_METRIC_GAUGE,
		"1 while this client answers nothing until an operator's accept-loss, by what the shuffler "
		"said.",
		"by", stops, NULL },
	[SEALED] = { CL_SEALED_METRIC, CM_METRIC_GAUGE,
		"From when the last round came until all its reports were sealed; readings are read until a "
		"fixed moment before, so it does not depend on them.",
		NULL, NULL, NULL },
	[EVIDENCE] = { "tombola_client_evidence_files", CM_METRIC_GAUGE,
		"Files of evidence against the shuffler in the state folder, by the last start and since.",
		NULL, NULL, NULL },
	[READINGS] = { "tombola_client_readings_total", CM_METRIC_COUNTER,
		"Readings of rounds that are over, those of them that were unusable or changed, and devices "
		"without a reading.",
		"what", readings, NULL },
};

struct cl_metrics {
	const struct cl_setup *setup;
	struct lk_metrics *shared;
	struct cm_metrics *table;
	char *db_file;
	uint64_t records;
};

struct cl_metrics *cl_metrics_new(const struct cl_setup *setup)
{
	const struct cr_files files = cl_setup_files(setup);
	struct cl_metrics *m = calloc(1, sizeof *m);

	if (!m)
		return NULL;
	m->setup = setup;
	m->shared = lk_metrics_new("client", &files, cl_setup_shows(setup));
	m->table = cm_metrics_new(rows, cl_setup_shows(setup) ? ROWS : READINGS);
	m->db_file = cm_file_join(setup->conf.state_dir, "client.db");
	if (!m->shared || !m->table || !m->db_file) {
		cl_metrics_free(m);
		return NULL;
	}
	return m;
}

void cl_metrics_free(struct cl_metrics *m)
{
	if (!m)
		return;
	lk_metrics_free(m->shared);
	cm_metrics_free(m->table);
	free(m->db_file);
	free(m);
}

struct lk_counts *cl_metrics_counts(struct cl_metrics *m)
{
	return m ? lk_metrics_counts(m->shared) : NULL;
}

void cl_metrics_reloaded(struct cl_metrics *m, bool ok)
{
	if (m)
		lk_metrics_reloaded(m->shared, ok);
}

const char *cl_metrics_expired(struct cl_metrics *m)
{
	return m ? lk_metrics_expired(m->shared) : NULL;
}

/* ---- events ---- */

static void count_refused(struct cl_metrics *m, enum cm_rc why)
{
	cm_metrics_add(m->table, ROUNDS, WAS_REFUSED, 1);
	cm_metrics_add(m->table, REFUSED, why == CM_EBUDGET ? BUDGET : why == CM_EPERM ? POLICY : INVALID, 1);
}

void cl_metrics_round(struct cl_metrics *m, const struct cl_summary *s)
{
	const struct cl_rows *r = &s->rows;
	const uint64_t rows_by[] = { r->rows, r->bad, r->out_of_domain, r->clamped, r->duplicates,
		r->unlisted, r->none };

	if (!m)
		return;
	if (s->refused != CM_OK) {
		count_refused(m, s->refused);
		return;
	}
	cm_metrics_add(m->table, ROUNDS, DONE, 1);
	for (size_t i = 0; i < CL_OUTCOMES; i++)
		cm_metrics_add(m->table, REPORTS, i, (double)s->counts.by[i]);
	cm_metrics_add(m->table, MESSAGES, 0, (double)s->counts.total * s->messages);
	for (size_t i = 0; cl_setup_shows(m->setup) && i < sizeof rows_by / sizeof rows_by[0]; i++)
		cm_metrics_add(m->table, READINGS, i, (double)rows_by[i]);
}

void cl_metrics_unjudged(struct cl_metrics *m)
{
	if (m)
		count_refused(m, CM_EPROTO);
}

void cl_metrics_passed_over(struct cl_metrics *m)
{
	if (m)
		cm_metrics_add(m->table, ROUNDS, PASSED_OVER, 1);
}

void cl_metrics_interrupted(struct cl_metrics *m)
{
	if (m)
		cm_metrics_add(m->table, ROUNDS, INTERRUPTED, 1);
}

void cl_metrics_stored(struct cl_metrics *m, double duration)
{
	if (m)
		cm_metrics_observe(m->table, STORE_SECONDS, duration);
}

void cl_metrics_sealed(struct cl_metrics *m, double after)
{
	if (m)
		cm_metrics_set(m->table, SEALED, 0, after);
}

void cl_metrics_ledger(struct cl_metrics *m, struct cl_db *db)
{
	const struct cl_policy *policy = m ? &m->setup->policy : NULL;
	struct lk_metrics_budget b = {
		.pinned = (double)NAN, .used = (double)NAN, .ratio = (double)NAN, .free = (double)NAN
	};
	struct cl_budget usage;
	int64_t records = 0, over_ms = 0;
	struct cl_loss loss;
	struct cm_err unused;

	if (!m || !db)
		return;
	b.limit = policy->shared.max_epsilon;
	b.delta = policy->shared.delta;
	if (cl_budget_read(db, policy, &usage, &unused) == CM_OK) {
		b.pinned = usage.figure.pinned;
		b.used = usage.figure.used;
		b.ratio = usage.figure.ratio;
		b.free = rd_figure_free(&usage.figure);
	}
	lk_metrics_budget(m->shared, &b);
	cm_metrics_set(m->table, EVIDENCE, 0, (double)db->evidence);
	if (cl_loss_read(db, &loss, &unused) == CM_OK) {
		cm_metrics_set(m->table, STOPPED, STANDING, loss.lost && !loss.conflict);
		cm_metrics_set(m->table, STOPPED, CONFLICT, loss.lost && loss.conflict);
	}
	if (cl_ledger_extent(db, &records, &over_ms, &unused) != CM_OK)
		return;
	m->records = (uint64_t)records;
	if (over_ms > 0)
		cm_metrics_set(m->table, LAST_TIME, 0, floor((double)over_ms / 1e3));
}

/* ---- answering a request ---- */

int cl_metrics_reply(struct cl_metrics *m, const struct cl_metrics_now *now, struct nt_http_reply *out)
{
	cm_metrics_choose(m->table, PHASE, now->phase);
	cm_metrics_set(m->table, LAST_NUMBER, 0, (double)now->after);
	lk_metrics_ledger(m->shared, m->records, m->db_file);
	return lk_metrics_reply(m->shared, m->table, now->ready, now->links, out);
}
