/* acct_plan.h - prepares the rounds of one question: checks them, joins equal rounds, and drops lossless
 * ones. */
#pragma once

#include <math.h>

#include "acct_curve.h"

#define ACCT_MOST_WORK 2e9 /* work allowed for one question, in the unit of struct acct_work */
/* Work allowed at a point that only guides the choice of grids, in a question of n rounds. */
#define ACCT_PROBE(n) (ACCT_MOST_WORK / (64 * fmax(16, (double)(n))))

/* Equal rounds, listed once. */
struct acct_rounds {
	struct acct_curve curve;
	/* how often the round occurs; standard deviation of its finite losses, estimated; loss at which
	 * nodes end */
	double count, deviation, range;
	double probe; /* work that one point took, in both directions; 0: none was tried */
};

/* The distinct rounds of a question, checked. */
struct acct_plan {
	struct acct_rounds *part;
	size_t parts;
	double rounds;   /* number of rounds, counts included */
	double infinite; /* proved lower bound on the composed mass of infinite loss */
	double certain;  /* proved upper bound on that mass, whichever direction each round is taken in */
	double largest;  /* no finite composed loss is larger than this */
	/* the sum of the rounds' `exponent` (struct acct_list), from which acct_plan_blur is computed */
	double exponents;
	bool symmetric;
	bool loose;   /* some round's bounds may stay apart on every grid: acct_list_is_loose */
	bool blurred; /* a round was dropped whose loss may be more than 0 by rounding */
	struct acct_work work;
	double most_nodes; /* most nodes of one part's grid */
	double tail;       /* mass of each round's law that may be given up */
};

/* Prepare the rounds.  ACCT_ELIMIT above 1024 rounds.  Call acct_plan_fini whatever the result; until then
 * p must not move. */
ACCT_CHECK enum acct_rc acct_plan_init(struct acct_plan *p, const struct acct_round *rounds, size_t n);
void acct_plan_fini(struct acct_plan *p);

/* Rounding of the cells and of exp(epsilon) is equivalent to moving epsilon by at most this.
 *
 * Rounded u, v and E make x' = u(1+a) - E v(1+b), |a|, |b| <= r.  (.)+ is monotone, so H(eps+2r)(1-r) <= H'
 * <= H(eps-2r)(1+r).  So every answer is widened in epsilon by 1e-14 + (256 + 16 min(700, largest loss))
 * 2^-53 for each round.  That covers merged cells (32 ulp), powers u = g^i, and a node's own loss.
 * Sampling is charged 32 ulp instead of 16, at the largest inner loss; its sums and products, and those of
 * a defect, cost 2^-49 of H and of the slope (acct_curve.c).  Below epsilon = 0 delta rises by at most the
 * distance. */
double acct_plan_blur(const struct acct_plan *p);

/* Is the mass of infinite loss at most delta, so that no epsilon beyond `largest` is needed? */
bool acct_plan_ends_at(const struct acct_plan *p, double delta);
bool acct_plan_is_single(const struct acct_plan *p); /* Is the plan one round that occurs once? */
