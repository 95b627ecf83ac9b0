/* sh_metrics.h - what a shuffler tells Prometheus: rounds, reports by outcome, refusals, commits.
 *
 * Counts of reports move with commits, not with single submissions, and nothing here is by device, by
 * connection or by query.  doc/metrics.md describes every row.  On the loop only. */
#pragma once

#include "lk_metrics.h"
#include "sh_core.h"

enum sh_event { SH_EVENT_OPENED, SH_EVENT_SEALED, SH_EVENT_VOID, SH_EVENT_RELEASED, SH_EVENT_ERASED };

struct sh_metrics;
/* cert: as lk_metrics_new; state_dir is copied.  NULL out of memory. */
struct sh_metrics *sh_metrics_new(const char *cert, const char *state_dir);
void sh_metrics_free(struct sh_metrics *m); /* NULL is fine */
struct lk_metrics *sh_metrics_shared(struct sh_metrics *m);

void sh_metrics_event(struct sh_metrics *m, enum sh_event what, uint64_t rounds);
/* One Submit was answered with these outcomes, `fresh` of them new submissions. */
void sh_metrics_outcomes(struct sh_metrics *m, const struct sh_receipt *receipt, uint64_t fresh);
void sh_metrics_refused(struct sh_metrics *m, Tombola__V1__ErrorCode code);
/* A batch is durable. */
void sh_metrics_committed(struct sh_metrics *m, size_t submissions, size_t messages, double seconds);
void sh_metrics_dummies(struct sh_metrics *m, uint64_t messages);
void sh_metrics_sealed(struct sh_metrics *m, double seconds);
void sh_metrics_analyzer_spoke(struct sh_metrics *m);

/* When a round was last sealed since the start, to a second; 0: none was. */
int64_t sh_metrics_last_sealed_ms(const struct sh_metrics *m);

/* How the shuffler stands when it is asked. */
struct sh_metrics_now {
	const struct sh_core *core;
	uint64_t not_durable; /* submissions of the collecting round */
	size_t waiting_bytes;
	size_t clients, analyzers; /* connected */
	bool paused, ready;
};
/* As cm_http_route.handle. */
int sh_metrics_reply(struct sh_metrics *m, const struct sh_metrics_now *now, struct cm_http_reply *out);
