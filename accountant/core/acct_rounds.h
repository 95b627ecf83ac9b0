/* acct_rounds.h - composes many rounds from their laws above and below, on ever finer grids.
 *
 * The step h is the largest for which rounding losses to it adds res^2/6 of the total variance.  res starts
 * at 0.04 and is halved until the interval is 4e-4 wide (4e-3 for delta), stalls twice, or ACCT_MOST_WORK is
 * spent. */
#pragma once

#include "acct_compose.h"
#include "acct_plan.h"

#define ACCT_REFINEMENTS 8

/* What is asked: the interval of epsilon at aim.delta, or of delta at aim.epsilon. */
struct acct_target {
	struct acct_aim aim;
	struct acct_bound out; /* a valid interval, which is tightened */
	bool done;             /* set by acct_rounds_refine: the interval is final */
};

/* Tighten the intervals of 1 or more targets, all of them epsilons, in ascending order of delta, or all of
 * them deltas.  The laws are made
 * once for all targets, and a sum is read for every target that it is narrow for.  Of each round a mass of at
 * most tail / rounds is given up: the law above counts its loss as infinite, the law below counts it as no
 * loss.  Tries at most `steps` grids, each twice as fine as the one before. */
ACCT_CHECK enum acct_rc acct_rounds_refine(
	struct acct_plan *p, struct acct_target *target, size_t targets, double tail, int steps);
