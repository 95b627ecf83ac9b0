/* sh_metrics.h - Prometheus metrics of a shuffler: rounds, reports by outcome, refusals, commits.
 *
 * Counts of reports change with commits, not with single reports, and no metric is by device, connection or
 * query.  doc/metrics.md lists every metric.  Call on the loop's thread only. */
#pragma once

#include "lk_metrics.h"
#include "sh_core.h"

enum sh_event {
	SH_EVENT_OPENED,
	SH_EVENT_SEALED,
	SH_EVENT_VOID,
	SH_EVENT_LOST,
	SH_EVENT_RELEASED,
	SH_EVENT_ERASED
};

struct sh_metrics;
/* cert: as in lk_metrics_new; ledger: the file of state_dir that lk_metrics_ledger looks at.  Both are
 * copied.  store must be open whenever sh_metrics_reply is called; borrowed.  NULL: out of memory. */
struct sh_metrics *sh_metrics_new(const struct cr_files *files, const char *state_dir, const char *ledger,
	const struct sh_store *store);
void sh_metrics_free(struct sh_metrics *m); /* accepts NULL */
struct lk_metrics *sh_metrics_shared(struct sh_metrics *m);

void sh_metrics_event(struct sh_metrics *m, enum sh_event what, uint64_t rounds);
/* Count the outcomes of one Submit, of which `fresh` are new reports. */
void sh_metrics_outcomes(struct sh_metrics *m, const struct sh_receipt *receipt, uint64_t fresh);
/* Count devices of a round that is sealed or over and did not take them; why: as in rd_left_out.h. */
void sh_metrics_left_out(struct sh_metrics *m, unsigned why, uint64_t devices);
void sh_metrics_refused(struct sh_metrics *m, Tombola__V1__ErrorCode code);
/* Count a batch that was made durable. */
void sh_metrics_committed(struct sh_metrics *m, size_t submissions, size_t messages, double seconds);
void sh_metrics_dummies(struct sh_metrics *m, uint64_t messages);
void sh_metrics_sealed(struct sh_metrics *m, double seconds);
void sh_metrics_analyzer_spoke(struct sh_metrics *m);

/* When a round was last sealed since the start, rounded to a second; 0: never. */
int64_t sh_metrics_last_sealed_ms(const struct sh_metrics *m);

/* The shuffler's state at the moment of the request. */
struct sh_metrics_now {
	const struct sh_core *core;
	uint64_t not_durable; /* reports of the collecting round that are not durable yet */
	size_t waiting_bytes;
	size_t clients, analyzers, intakes; /* number of connections */
	/* since the start: how often a quota paused a connection, and how often junk ended one */
	uint64_t quota_pauses, quota_junks;
	bool paused, ready;
};
/* Write the metrics; called from nt_http_route.handle. */
int sh_metrics_reply(struct sh_metrics *m, const struct sh_metrics_now *now, struct nt_http_reply *out);
