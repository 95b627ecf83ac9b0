/* acct_profile.h - makes privacy curves for rounds of event ACCT_PROFILE (acct.h) from the output of other
 * tools: privacy-loss distributions, trade-off curves, Renyi curves.
 *
 * The numbers are not verified.  Their author must make sure that the curve is an upper bound for every two
 * neighbours that differ in one replaced record.  A distribution that was rounded optimistically, or that
 * holds for added records only, is no such bound.  All further computations here are rounded up.
 *
 * Ownership: *out owns its arrays; free it with acct_profile_free after rounds and states that use it. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A privacy-loss distribution on the losses (lower + i) * step, as dp_accounting's DensePLDPmf has it. */
struct acct_pmf {
	long lower;
	/* masses of the losses under the first input; what is missing to a sum of 1 is added to
	 * `infinite` */
	const double *p;
	size_t size; /* 1..ACCT_MAX_POINTS */
	double infinite;
};

/* Make the curve of a privacy-loss distribution.  remove: the losses of P against Q; add: those of Q
 * against P, NULL if they are the same.  ACCT_EDOMAIN: a mass is negative, the masses exceed 1 by more than
 * 1e-6, or step is not in (0, 690].  *out is `exact`. */
ACCT_CHECK enum acct_rc acct_profile_of_pmf(
	double step, const struct acct_pmf *remove, const struct acct_pmf *add, struct acct_profile **out);

/* The curve of the pair whose trade-off function is straight between the given errors of the first and the
 * second kind, n >= 1 points each in [0, 1]; (0, 1) and (1, 0) are added. *out is `exact`. */
ACCT_CHECK enum acct_rc acct_profile_of_trade_off(
	const double *fpr, const double *fnr, size_t n, struct acct_profile **out);

/* Make the curve that follows from divergences rdp, in [0, inf), of n >= 1 orders in (1, ACCT_MOST_ORDER]:
 * at every epsilon the least delta that one of them gives (Canonne, Kamath, Steinke 2020, Proposition 12).
 * *out is not `exact`. */
ACCT_CHECK enum acct_rc acct_profile_of_renyi(
	const double *alpha, const double *rdp, size_t n, struct acct_profile **out);

/* Make a curve from a copy of its points; delta[1] may be NULL.  *out is not `exact`. */
ACCT_CHECK enum acct_rc acct_profile_of_points(
	const double *epsilon, const double *const delta[2], size_t n, struct acct_profile **out);

/* Make the curve for one replaced record from a curve for one added or removed record, since to replace a
 * record is to remove it and add another.  delta(2 eps) = (1 + e^eps) times the larger direction of p.
 * *out is not `exact`. */
ACCT_CHECK enum acct_rc acct_profile_replaced(const struct acct_profile *p, struct acct_profile **out);

void acct_profile_free(struct acct_profile *p); /* NULL is fine */

#ifdef __cplusplus
}
#endif
