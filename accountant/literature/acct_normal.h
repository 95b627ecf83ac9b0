/* acct_normal.h - the normal limit of the privacy loss (Dong, Roth, Su 2022): many rounds among many
 * reports lose about as much as one Gaussian mechanism.  APPROXIMATE: no error bound is known.
 *
 * The n rounds are borrowed, and within the ranges of acct.h.  ACCT_EDOMAIN: participants are sampled, or a
 * central event is not normal noise; *why points to a static sentence.  On error the answer is untouched.
 * Not installed. */
#pragma once

#include "acct.h"

/* delta at epsilon [0, inf). */
ACCT_CHECK enum acct_rc acct_normal_delta(
	const struct acct_round *rounds, size_t n, double epsilon, double *delta, const char **why);
/* Compute epsilon at delta (0, 1); INFINITY where defects alone have a larger chance. */
ACCT_CHECK enum acct_rc acct_normal_epsilon(
	const struct acct_round *rounds, size_t n, double delta, double *epsilon, const char **why);
