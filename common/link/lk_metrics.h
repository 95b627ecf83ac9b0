/* lk_metrics.h - the metrics that every daemon exports to Prometheus: build, certificate, links, budget and
 * ledger.  A daemon has one of these and a table of its own (cm_metrics.h); GET /metrics prints both.
 * doc/metrics.md lists every row of both.  Use it on the loop's thread only. */
#pragma once

#include "cm_metrics.h"
#include "cr_files.h"
#include "lk_link.h"
#include "nt_http.h"

struct lk_metrics;

/* role: "shuffler". files: their dates are read now and by lk_metrics_reloaded, and those that do not
 * hold are logged; copied.
 * usage: also export processor time and memory, which vary with a client's readings.  NULL out of memory. */
struct lk_metrics *lk_metrics_new(const char *role, const struct cr_files *files, bool usage);
void lk_metrics_free(struct lk_metrics *m); /* NULL is fine */

/* For lk_handler.counts; valid as long as m. */
struct lk_counts *lk_metrics_counts(struct lk_metrics *m);
/* Certificates were read again, or the old ones were kept because the new ones are invalid. */
void lk_metrics_reloaded(struct lk_metrics *m, bool ok);

/* Why nobody is let in, or lets us in, in one line: of the files that were read last one has expired, or is
 * not valid yet.  NULL: all hold.  Part of what /readyz says.  Valid until the next call. */
const char *lk_metrics_expired(struct lk_metrics *m);

struct lk_metrics_budget {
	double limit, delta; /* epsilon at delta */
	/* The figures of the budget, each NAN if it is not known: epsilon of the slices of all pinned plans,
	 * how much of it is used, and used / limit. */
	double pinned, used, ratio;
	double free; /* share that no plan has pinned, of epsilon or delta the smaller; NAN: not known */
};
void lk_metrics_budget(struct lk_metrics *m, const struct lk_metrics_budget *b);
/* records: entries of the ledger; path: the file that holds the ledger, which this call inspects.  The ledger
 * counts as "ok" as long as the path names the file that it named first, and that file is not empty: a ledger
 * that was moved, deleted or replaced under a running daemon is not ok. */
void lk_metrics_ledger(struct lk_metrics *m, uint64_t records, const char *path);

/* The whole answer to GET /metrics; returns 0, or not 0 out of memory. ready: as GET /readyz; links: number
 * now open. */
int lk_metrics_reply(struct lk_metrics *m, const struct cm_metrics *own, bool ready, size_t links,
	struct nt_http_reply *out);
