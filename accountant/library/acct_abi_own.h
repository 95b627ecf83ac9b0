/* acct_abi_own.h - lets bindings make rounds from curves and matrices of their own, and get the composed
 * loss as a distribution.
 *
 * A curve or a matrix is copied into the library and gets a number; the texts `curve:NUMBER,...` and
 * `matrix:NUMBER,...` are rounds wherever acct_abi.h takes a text.  A copy stays until the program ends,
 * and all threads see the same copies.  acct_profile.h and acct_own.h say which numbers are allowed, above
 * all that a curve must dominate. */
#pragma once

#include "acct_abi.h"
#include "acct_export.h"
#include "acct_own.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACCT_MOST_KEPT 100000u

/* Copy a curve or a matrix, and set *number.  delta_swapped and add may be NULL.  Errors are those of the
 * functions of acct_profile.h; ACCT_ELIMIT also after ACCT_MOST_KEPT copies.  why and room as in
 * acct_abi.h. */
ACCT_CHECK enum acct_rc acct_abi_keep_points(const double *epsilon, const double *delta,
	const double *delta_swapped, size_t n, uint64_t *number, char *why, size_t room);
ACCT_CHECK enum acct_rc acct_abi_keep_pmf(double step, const struct acct_pmf *remove,
	const struct acct_pmf *add, uint64_t *number, char *why, size_t room);
ACCT_CHECK enum acct_rc acct_abi_keep_trade_off(
	const double *fpr, const double *fnr, size_t n, uint64_t *number, char *why, size_t room);
ACCT_CHECK enum acct_rc acct_abi_keep_renyi(
	const double *alpha, const double *rdp, size_t n, uint64_t *number, char *why, size_t room);
ACCT_CHECK enum acct_rc acct_abi_keep_matrix(
	const double *p, size_t inputs, size_t outputs, uint64_t *number, char *why, size_t room);

/* acct_export_pld of the account, which must have a round; free *out with acct_pld_fini. */
ACCT_CHECK enum acct_rc acct_abi_export(const struct acct_abi *a, double range, double tail, size_t points,
	struct acct_pld *out, char *why, size_t room);

/* acct_group_epsilon and acct_group_delta of the account. */
ACCT_CHECK enum acct_rc acct_abi_group_epsilon(const struct acct_abi *a, unsigned group, double delta,
	double *lower, double *upper, char *why, size_t room);
ACCT_CHECK enum acct_rc acct_abi_group_delta(const struct acct_abi *a, unsigned group, double epsilon,
	double *lower, double *upper, char *why, size_t room);

#ifdef __cplusplus
}
#endif
