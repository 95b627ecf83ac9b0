/* an_metrics.h - Prometheus metrics of a running analyzer: rounds by stage, budget, results of opening.
 *
 * No metric is by query or value.  For an open round the metrics say how many reports it needs; nobody tells
 * the analyzer how many have arrived.  doc/metrics.md lists every metric.  Call on the loop's thread
 * only. */
#pragma once

#include "an_ledger_files.h"
#include "an_tally.h"
#include "lk_metrics.h"

enum an_phase {
	AN_PHASE_IDLE,    /* no round of the plan is left to run */
	AN_PHASE_JUDGING, /* judging whether the next round fits the budget */
	AN_PHASE_AWAY,    /* no connection to the shuffler */
	AN_PHASE_TALKING, /* exchanging ledger, announcement or settlement */
	AN_PHASE_WAITING, /* waiting for the round's reports */
	AN_PHASE_OPENING, /* fetching and opening messages */
};

struct an_metrics;
/* conf and ledger files are borrowed.  NULL: out of memory. */
struct an_metrics *an_metrics_new(const struct an_conf *conf, const struct an_ledger_files *files);
void an_metrics_free(struct an_metrics *m); /* accepts NULL */
struct lk_metrics *an_metrics_shared(struct an_metrics *m);

/* Read budget and stages after the ledger files were opened or changed.  Do not call it while a round is
 * being judged. */
void an_metrics_read_ledger(struct an_metrics *m);
/* Record how many seconds it took to store one record; the others: to open one bucket, to judge one
 * round. */
void an_metrics_appended(struct an_metrics *m, double seconds);
void an_metrics_opened(struct an_metrics *m, double seconds);
void an_metrics_judged(struct an_metrics *m, double seconds);
/* Count a published result. */
void an_metrics_published(struct an_metrics *m, const struct an_tally *t);

/* The analyzer's state at the moment of the request. */
struct an_metrics_now {
	enum an_phase phase;
	const struct an_round_state *round; /* the current round; NULL if there is none */
	/* unix time of the shuffler's last frame; 0 if none has come since the start */
	int64_t shuffler_seen_ms;
	int64_t missed_ms; /* the result of an_schedule_missed_ms */
	bool connected, ready;
};
/* Write the metrics; called from nt_http_route.handle. */
int an_metrics_reply(struct an_metrics *m, const struct an_metrics_now *now, struct nt_http_reply *out);
