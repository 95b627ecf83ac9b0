/* lk_metrics.h - the metrics that every daemon exports to Prometheus: build, certificate, links, budget and
 * ledger.  A daemon has one of these and a table of its own (cm_metrics.h); GET /metrics prints both.
 * doc/metrics.md lists every row of both.  Use it on the loop's thread only. */
#pragma once

#include "cm_metrics.h"
#include "cr_files.h"
#include "lk_link.h"
#include "nt_http.h"

/* Bounds of the buckets of histograms: of work that takes milliseconds, and of work that may take minutes.
 * They are the same in every daemon, so that a dashboard can put their times side by side. */
extern const double lk_metrics_seconds[], lk_metrics_minutes[];

struct lk_metrics;

/* Make the metrics of a daemon.  role: such as "shuffler".  files: copied; their dates are read now and in
 * lk_metrics_reloaded, and a file that has expired or is not valid yet is logged.  usage: also export
 * processor time and memory, which vary with a client's readings.  NULL out of memory. */
struct lk_metrics *lk_metrics_new(const char *role, const struct cr_files *files, bool usage);
void lk_metrics_free(struct lk_metrics *m); /* NULL is fine */

/* The counts to put into lk_handler.counts; valid as long as m. */
struct lk_counts *lk_metrics_counts(struct lk_metrics *m);
/* Record that the certificates were read again (ok), or that the old ones were kept because the new ones
 * are invalid. */
void lk_metrics_reloaded(struct lk_metrics *m, bool ok);

/* One line that says which of the files that were read last has expired or is not valid yet, so that this
 * daemon admits nobody or is admitted nowhere.  NULL: all are valid.  /readyz prints it.  Valid until the
 * next call. */
const char *lk_metrics_expired(struct lk_metrics *m);

struct lk_metrics_budget {
	double limit, delta; /* epsilon at delta */
	/* The figures of the budget, each NAN if it is not known: epsilon of the slices of all pinned plans,
	 * how much of it is used, and used / limit. */
	double pinned, used, ratio;
	/* share of the budget that no plan has pinned, of epsilon or of delta, whichever is smaller; NAN:
	 * not known */
	double free;
};
void lk_metrics_budget(struct lk_metrics *m, const struct lk_metrics_budget *b);
/* Set the state of the ledger.  records: number of its entries.  path: the file that holds it, which this
 * call inspects.  The ledger counts as "ok" as long as the path leads to the same file as in the first
 * call, and that file is not empty: a ledger that was moved, deleted or replaced under a running daemon is
 * not ok. */
void lk_metrics_ledger(struct lk_metrics *m, uint64_t records, const char *path);

/* Write the whole answer to GET /metrics; returns 0, or another number if memory ran out.  ready: what GET
 * /readyz answers.  links: number of links that are open now. */
int lk_metrics_reply(struct lk_metrics *m, const struct cm_metrics *own, bool ready, size_t links,
	struct nt_http_reply *out);
