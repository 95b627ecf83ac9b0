/* acct_rounds.h - composes many rounds from their laws above and below, on ever finer grids. */
#pragma once

#include "acct_compose.h"
#include "acct_plan.h"

#define ACCT_REFINEMENTS 8

/* Tighten *out, which holds a valid interval: of epsilon when aim.delta is a number, else of delta.  Of each
 * round a mass of at most tail / rounds is given up: the law above counts its loss as infinite, the law below
 * counts it as no loss.  Tries at most `steps` grids, each twice as fine as the one before. */
ACCT_CHECK enum acct_rc acct_rounds_refine(
	struct acct_plan *p, struct acct_aim aim, double tail, int steps, struct acct_bound *out);
