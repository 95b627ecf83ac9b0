/* cl_metrics.h - what a running client tells Prometheus: rounds, reports by outcome, its budget.
 *
 * Reports are counted when their round is over, never one by one, and nothing here is by device, by value or
 * by query.  doc/metrics.md describes every row.  On the loop only; every function but the
 * last takes NULL and does nothing. */
#pragma once

#include "cl_run.h"
#include "lk_metrics.h"

enum cl_phase { CL_ASKING, CL_PREPARING, CL_UPLOADING, CL_ENDING };

struct cl_metrics;
/* setup is borrowed.  NULL out of memory. */
struct cl_metrics *cl_metrics_new(const struct cl_setup *setup);
void cl_metrics_free(struct cl_metrics *m);
struct lk_counts *cl_metrics_counts(struct cl_metrics *m);
void cl_metrics_reloaded(struct cl_metrics *m, bool ok);

/* A round is over, or was refused: s->refused. */
void cl_metrics_round(struct cl_metrics *m, const struct cl_summary *s);
/* A round that could not be judged at all, was passed over, or broke off and is tried again. */
void cl_metrics_unjudged(struct cl_metrics *m);
void cl_metrics_passed_over(struct cl_metrics *m);
void cl_metrics_interrupted(struct cl_metrics *m);
/* Sealed reports were made durable. */
void cl_metrics_stored(struct cl_metrics *m, double seconds);
/* Read budget and ledger back: at the start, and whenever the ledger may have grown.  Only while nobody else
 * uses db. */
void cl_metrics_ledger(struct cl_metrics *m, struct cl_db *db);

/* How the client stands when it is asked; after: number of the last round that is over. */
struct cl_metrics_now {
	enum cl_phase phase;
	uint64_t after;
	size_t links;
	bool ready;
};
/* As cm_http_route.handle. */
int cl_metrics_reply(struct cl_metrics *m, const struct cl_metrics_now *now, struct cm_http_reply *out);
