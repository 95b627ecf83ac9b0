/* acct_group.h - bounds the loss of a group of records: neighbours replace up to `group` records.
 *
 * Proof: replace them one after the other: P_0(A) <= e^e P_1(A) + d <= .. <= e^(g e) P_g(A) + d (1 + e^e +
 * .. + e^((g-1) e)).  So where one record has (e, d), a group of g has (g e, d (e^(g e) - 1) / (e^e - 1)).
 * These are the upper ends; the lower ends are one record's, since a group loses at least as much. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACCT_MOST_GROUP 1000000u

/* acct_epsilon and acct_delta for a group of 1..ACCT_MOST_GROUP records; other sizes are ACCT_EDOMAIN.
 * upper is INFINITY, or 1, where this inequality shows nothing.  Cost: acct_group_epsilon asks acct_epsilon
 * up to 60 times, nearly always about 8. */
ACCT_CHECK enum acct_rc acct_group_epsilon(
	const struct acct_round *rounds, size_t n, unsigned group, double delta, struct acct_bound *eps);
ACCT_CHECK enum acct_rc acct_group_delta(
	const struct acct_round *rounds, size_t n, unsigned group, double epsilon, struct acct_bound *delta);

#ifdef __cplusplus
}
#endif
