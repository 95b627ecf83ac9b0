/* pt_histogram.h - counts of randomized messages to counts of participants, with intervals. */
#pragma once

#include "pt_protocol.h"

/* As pt_protocol.estimate: one item per category, count_w = (M_w - N/k - n Q) / (P - Q).
 *
 * Intervals, pointwise and simultaneous (Sidak: 1 - (1 - a)^(1/k) per bin):
 *   keep_always             exact: quantiles of Binomial(N, 1/k);
 *   fewer than 100 expected noise messages in a bin
 *                           exact: the counts c that Bin(c, P) + Bin(n - c, Q) + Bin(N, 1/k) does not reject;
 *   else                    normal, with c = max(estimate, 0) in the variance.
 * They are not cut to [0, n]; `projected` is (pt_project.h). */
CM_CHECK enum cm_rc pt_histogram_estimate(const struct pt_query *q, const struct pt_params *p,
	const uint64_t *counts, uint64_t reports, struct pt_estimate *out, struct cm_err *err);
