/* acct_many.h - epsilon, or delta, of many different rounds in one question, by the products that a state
 * keeps.
 *
 * The work of one question is limited, so of hundreds of different rounds each gets few points on the common
 * grids of acct_rounds.h, and bits a narrow answer only in the limit.  A state (acct_composed.h) gives every
 * round a fixed amount.  Private to acct_solve.c and acct_state.c. */
#pragma once

#include "acct_composed.h"
#include "acct_plan.h"

#define ACCT_MANY 256u /* so many different rounds are composed as a state's */
/* The same where bounds of some round are far apart: their work is better spent on few nodes. */
#define ACCT_MANY_LOOSE 5u

/* Mass given up for each round, of delta: with a million rounds, a ten thousandth of delta. */
#define ACCT_STATE_TAIL 1e-10

/* Tightens *out, a valid interval of epsilon at delta for the rounds of the plan, which has parts.
 * *narrow: no finer grid is needed.  Errors leave a valid interval. */
ACCT_CHECK enum acct_rc acct_many_epsilon(
	const struct acct_plan *p, double delta, struct acct_bound *out, bool *narrow);

/* The same of delta at epsilon. */
ACCT_CHECK enum acct_rc acct_many_delta(
	const struct acct_plan *p, double epsilon, struct acct_bound *out, bool *narrow);

/* The same at several epsilons, whose rounds are measured once, and mostly their laws are made once. */
ACCT_CHECK enum acct_rc acct_many_deltas(
	const struct acct_plan *p, const double *epsilon, size_t n, struct acct_bound *out, bool *narrow);

/* acct_epsilon on the common grids alone. */
ACCT_CHECK enum acct_rc acct_epsilon_on_grids(
	const struct acct_round *rounds, size_t n, double delta, struct acct_bound *eps);
