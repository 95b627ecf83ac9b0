/* cl_metrics.h - Prometheus metrics of a running client: rounds, reports by outcome, budget.
 *
 * Reports are counted when their round is over, never one by one, and no metric is by device, value or query.
 * doc/metrics.md lists every metric.  Call on the loop's thread only.  Every function but
 * cl_metrics_reply accepts NULL and then does nothing. */
#pragma once

#include "cl_loop.h"
#include "lk_metrics.h"

enum cl_phase { CL_ASKING, CL_PREPARING, CL_UPLOADING, CL_ENDING };

struct cl_metrics;
/* setup is borrowed.  NULL if out of memory. */
struct cl_metrics *cl_metrics_new(const struct cl_setup *setup);
void cl_metrics_free(struct cl_metrics *m);
struct lk_counts *cl_metrics_counts(struct cl_metrics *m);
void cl_metrics_reloaded(struct cl_metrics *m, bool ok);
/* Like lk_metrics_expired. */
const char *cl_metrics_expired(struct cl_metrics *m);

/* Count a round that is over or was refused (s->refused). */
void cl_metrics_round(struct cl_metrics *m, const struct cl_summary *s);
/* Count a round that could not be judged, that was passed over, or that was interrupted and will be tried
 * again. */
void cl_metrics_unjudged(struct cl_metrics *m);
void cl_metrics_passed_over(struct cl_metrics *m);
void cl_metrics_interrupted(struct cl_metrics *m);
/* Record how long storing sealed reports durably took. */
void cl_metrics_stored(struct cl_metrics *m, double seconds);
/* Record how many seconds after its arrival all reports of a round were sealed.  Call it when sending
 * begins. */
#define CL_SEALED_METRIC "tombola_client_sealed_seconds"
void cl_metrics_sealed(struct cl_metrics *m, double after);
/* Read budget and ledger from the database: at the start, and whenever the ledger may have grown.  Call it
 * only while no other thread uses db. */
void cl_metrics_ledger(struct cl_metrics *m, struct cl_db *db);

/* The client's state at the moment of the request.  `after` is the sequence number of the last round that
 * is over. */
struct cl_metrics_now {
	enum cl_phase phase; /* as cl_rounds_shown returns it */
	uint64_t after;
	size_t links;
	bool ready;
};
/* Write the metrics; called from nt_http_route.handle. */
int cl_metrics_reply(struct cl_metrics *m, const struct cl_metrics_now *now, struct nt_http_reply *out);
