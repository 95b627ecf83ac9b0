/* an_metrics.h - what a running analyzer tells Prometheus: rounds by stage, its budget, what opening found.
 *
 * Nothing here is by query or by value, and of a round that is open it says how many reports it needs, not
 * how many have come, which the analyzer is not told.  doc/metrics.md describes every row.  On the loop only.
 */
#pragma once

#include "an_books.h"
#include "an_tally.h"
#include "lk_metrics.h"

enum an_phase {
	AN_PHASE_IDLE,    /* the plan is through */
	AN_PHASE_JUDGING, /* does the next round fit the budget? */
	AN_PHASE_AWAY,    /* no connection to the shuffler */
	AN_PHASE_TALKING, /* ledger, announcement, settlement */
	AN_PHASE_WAITING, /* for the round's reports */
	AN_PHASE_OPENING, /* fetching and opening them */
};

struct an_metrics;
/* conf and books are borrowed.  NULL out of memory. */
struct an_metrics *an_metrics_new(const struct an_conf *conf, const struct an_books *books);
void an_metrics_free(struct an_metrics *m); /* NULL is fine */
struct lk_metrics *an_metrics_shared(struct an_metrics *m);

/* The books have changed, or were just opened: read budget and stages.  Not while a round is being judged. */
void an_metrics_books(struct an_metrics *m);
/* One record was made durable, one bucket opened, one round judged, which took so long. */
void an_metrics_appended(struct an_metrics *m, double seconds);
void an_metrics_opened(struct an_metrics *m, double seconds);
void an_metrics_judged(struct an_metrics *m, double seconds);
/* A round's result was published. */
void an_metrics_published(struct an_metrics *m, const struct an_tally *t);

/* How the analyzer stands when it is asked. */
struct an_metrics_now {
	enum an_phase phase;
	const struct an_round_state *round; /* at hand; NULL: none */
	int64_t shuffler_seen_ms;           /* unix time of its last frame; 0: not since the start */
	bool connected, ready;
};
/* As cm_http_route.handle. */
int an_metrics_reply(struct an_metrics *m, const struct an_metrics_now *now, struct cm_http_reply *out);
