/* es_histogram.h - support counts to counts of participants, with intervals. */
#pragma once

#include "es_estimate.h"
#include "es_noise_law.h"

/* How messages support an item: those of its c holders with chance P each, of the n - c others with chance
 * Q < P, and each of N dummies with chance `blanket`, all independent:
 * M = Bin(c, P) + Bin(n - c, Q) + Bin(N, blanket), and c is estimated by (M - N blanket - n Q) / (P - Q). */
struct es_support {
	double keep, flip; /* P, and 1 - P in its own precision */
	double other;      /* Q */
	double dummies;    /* N, a whole number */
	double blanket;
	/* Where its mean is not 0, the dummies have another law, N blanket its mean: P = 1 and Q = 0 then. */
	struct es_noise noise;
	/* Only A = `asked` of the n, 0 to n, sent a message, drawn evenly whatever they hold; there are no
	 * dummies and P < 1.  K of the A are holders, a hypergeometric number,
	 * M = Bin(K, P) + Bin(A - K, Q), and c is estimated by n / A (M - A Q) / (P - Q).  Intervals take
	 * Bin(A, Q + (P - Q) c / n) for M: M is a sum of independent bits with the same mean (its generating
	 * function has real roots only, Vatutin and Mikhailov 1982), so one from its mean on outwards its
	 * tails are not above the binomial's (Hoeffding 1956, Theorem 5). */
	bool sampled;
	uint64_t asked;
};

/* Label of bin i: its category's, or that of the symbol of none, which item->none says, too. */
void es_histogram_name(const struct qy_query *q, uint32_t i, struct qy_item *item);
/* An item with its label for each of qy_query_bins of a histogram or of places.  CM_EINTERNAL out of memory:
 * then, too, e is es_estimate_fini's. */
CM_CHECK enum cm_rc es_histogram_items(const struct qy_query *q, struct es_estimate *e, struct cm_err *err);

/* Variance of the estimate when c of the n participants hold the item.  Where s->sampled, it is the variance
 * given that s->asked of them sent a message; s->asked 0 counts as 1. */
double es_support_variance(const struct es_support *s, double n, double c);

/* As es_support_estimate, for n items that are a histogram of their own among `joint` items in all:
 * everything of item[n] but label and none, and the noise floor.  `reports` as below.  CM_EINTERNAL out of
 * memory. */
CM_CHECK enum cm_rc es_support_items(const struct es_support *s, const uint64_t *supports, size_t n,
	uint64_t reports, size_t joint, struct qy_item *item, double *floor, struct cm_err *err);

/* One item per category, and of the symbol of none if there is one, or per cell of places, from its supports.
 * `reports` 1..PR_ROUND_REPORTS_MAX, else CM_EDATA.
 *
 * Intervals, pointwise and simultaneous (Sidak: 1 - (1 - a)^(1/k) each of k):
 *   P = 1, Q = 0                 exact: quantiles of Bin(N, blanket), or of the noise;
 *   fewer than 100 expected noise messages
 *                                exact: the counts c whose law of M does not reject what was seen;
 *   else                         normal, with c = max(estimate, 0) in the variance.
 * They are not cut to [0, n]; `projected` is (es_project.h).  Where nobody was asked, the items are undefined
 * and the interval is [0, n]. */
CM_CHECK enum cm_rc es_support_estimate(const struct qy_query *q, const struct es_support *s,
	const uint64_t *supports, uint64_t reports, struct es_estimate *out, struct cm_err *err);
