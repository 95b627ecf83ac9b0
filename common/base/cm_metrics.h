/* cm_metrics.h - counters, gauges and histograms in a table fixed at compile time, printed as Prometheus text
 * (format 0.0.4).
 *
 * A metric has at most one label, and its row lists every value of that label: a peer's input never creates a
 * series, and a registry never grows.  One thread at a time; no locks, no clock.
 * Cost: an update is one addition (a histogram: a walk over its bounds); printing is linear in the number of
 * series. */
#pragma once

#include "cm_buf.h"

enum cm_metric_kind {
	CM_METRIC_COUNTER, /* a number that only rises, from 0 at the start */
	/* a number that may be anything; NAN, the value at the start, means "not known" and is not
	 * printed */
	CM_METRIC_GAUGE,
	/* counts of the observations up to each bound, the number of all, and their sum */
	CM_METRIC_HISTOGRAM,
	CM_METRIC_INFO, /* the constant 1, with texts as the values of its labels */
};

/* One metric; all strings are static. */
struct cm_metric_row {
	/* name of the metric: tombola_..., in base units; counters end in _total, infos in _info */
	const char *name;
	enum cm_metric_kind kind;
	const char *help;  /* what it says, in one line */
	const char *label; /* name of the label; NULL: the metric has one series and no label */
	/* values of the label, or for an info the names of its labels; NULL after the last */
	const char *const *values;
	/* for a histogram: upper bounds of the buckets, rising, the last one INFINITY */
	const double *bounds;
};

/* Rows without a label. */
#define CM_COUNTER(name, help)                                      \
	{                                                           \
		(name), CM_METRIC_COUNTER, (help), NULL, NULL, NULL \
	}
#define CM_GAUGE(name, help)                                      \
	{                                                         \
		(name), CM_METRIC_GAUGE, (help), NULL, NULL, NULL \
	}

#define CM_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define CM_METRICS_MAX  ((size_t)256 * 1024) /* most bytes of a printed registry, for cm_buf_init */

struct cm_metrics;
/* Make a registry of rows, which are borrowed.  NULL out of memory. */
struct cm_metrics *cm_metrics_new(const struct cm_metric_row *rows, size_t n);
void cm_metrics_free(struct cm_metrics *m); /* NULL is fine */

/* row: index into the table; series: index into its values, 0 without a label. */
void cm_metrics_add(struct cm_metrics *m, size_t row, size_t series, double more);
/* Set the value; also for a counter whose value is counted elsewhere. */
void cm_metrics_set(struct cm_metrics *m, size_t row, size_t series, double value);
/* Set the series of one label value to 1 and all others of the row to 0. */
void cm_metrics_choose(struct cm_metrics *m, size_t row, size_t series);
void cm_metrics_observe(struct cm_metrics *m, size_t row, double value);
/* Set the text of one label of an info; cut at 127 bytes. */
void cm_metrics_info(struct cm_metrics *m, size_t row, size_t label, const char *text);
double cm_metrics_get(const struct cm_metrics *m, size_t row, size_t series);

/* Append every metric, in the table's order; each has its HELP and TYPE even while it has no value. */
CM_CHECK enum cm_rc cm_metrics_print(const struct cm_metrics *m, struct cm_buf *out);
