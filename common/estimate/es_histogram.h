/* es_histogram.h - estimates how many participants hold each item, with intervals, from how many messages
 * support it. */
#pragma once

#include "es_estimate.h"
#include "es_honest.h"
#include "es_noise_law.h"

/* The chances with which a message supports an item: a holder's with chance P, another participant's with
 * chance Q < P, and a dummy with chance `blanket`, all independently.  If c of n participants hold the item
 * and there are N dummies, M = Bin(c, P) + Bin(n - c, Q) + Bin(N, blanket) messages support it, and c is
 * estimated by (M - N blanket - n Q) / (P - Q). */
struct es_support {
	double keep, flip; /* P, and 1 - P with all its digits */
	double other;      /* Q */
	double dummies;    /* N, a whole number */
	double blanket;
	/* If noise.mean is not 0, this law replaces Bin(N, blanket); its mean is N blanket, and P = 1, Q =
	 * 0. */
	struct es_noise noise;
	/* sampled: only A = `asked` of the n participants sent a message, 0..n, drawn uniformly.  Then there
	 * are no dummies, and P < 1.  K of the A are holders, a hypergeometric number;
	 * M = Bin(K, P) + Bin(A - K, Q); and c is estimated by n / A (M - A Q) / (P - Q).
	 *
	 * Intervals use Bin(A, Q + (P - Q) c / n) as the law of M.  They are not too short: M is a sum of
	 * independent bits with the same mean, since its generating function has real roots only (Vatutin and
	 * Mikhailov 1982), so that at a distance of one from its mean and beyond its tails are not above the
	 * binomial's (Hoeffding 1956, Theorem 5). */
	bool sampled;
	uint64_t asked;
};

/* Set the label of bin i: its category, or the symbol of none; in the latter case also item->none. */
void es_histogram_name(const struct qy_query *q, uint32_t i, struct qy_item *item);
/* Allocate an item with its label for each bin (qy_query_bins) of a histogram or of places.  CM_EINTERNAL:
 * out of memory.  Free with es_estimate_fini in either case. */
CM_CHECK enum cm_rc es_histogram_items(const struct qy_query *q, struct es_estimate *e, struct cm_err *err);

/* Variance of the estimate when c of the n participants hold the item.  Where s->sampled, it is the variance
 * given that s->asked of them sent a message; s->asked 0 counts as 1. */
double es_support_variance(const struct es_support *s, double n, double c);

/* Estimate n items as es_support_estimate does, where they are one histogram among several that have `joint`
 * items together.  Sets all of item[n] but label and none, and the noise floor.  reports:
 * 1..PR_ROUND_REPORTS_MAX.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc es_support_items(const struct es_support *s, const uint64_t *supports, size_t n,
	uint64_t reports, size_t joint, struct qy_item *item, double *floor, struct cm_err *err);

/* Estimate one item for each category and, if the query has it, for the symbol of none; or for each cell of
 * places.  supports: number of messages that support each.  reports: 1..PR_ROUND_REPORTS_MAX, else CM_EDATA.
 *
 * Intervals hold for each item alone, and for all k together (Sidak: with error 1 - (1 - a)^(1/k) each):
 *   P = 1, Q = 0:                           exact, from quantiles of Bin(N, blanket) or of the noise;
 *   fewer than 100 expected noise messages: exact, all c whose law of M does not reject the M that came;
 *   else:                                   normal, with c = max(estimate, 0) in the variance.
 * Intervals may exceed [0, n]; `projected` does not (es_project.h).  Where nobody was asked, the items are
 * undefined, and their interval is [0, n]. */
CM_CHECK enum cm_rc es_support_estimate(const struct qy_query *q, const struct es_support *s,
	const uint64_t *supports, uint64_t reports, struct es_estimate *out, struct cm_err *err);

/* Set n items of a histogram among `joint`, of `honest` devices.  Between least[i] and most[i] of the
 * messages that support item i are theirs and the dummies'.  s: the law of these messages.  The ends of an
 * interval rise with the number of messages, so the hull ends at the intervals of least[i] and of most[i].
 * honest: 1 or more.  CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc es_support_honest(const struct es_support *s, const uint64_t *least, const uint64_t *most,
	size_t n, uint64_t honest, size_t joint, struct es_honest *out, struct cm_err *err);
