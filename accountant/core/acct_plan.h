/* acct_plan.h - the rounds of one question: checked, equal ones joined, lossless ones dropped. */
#pragma once

#include <math.h>

#include "acct_curve.h"

#define ACCT_MOST_WORK 2e9 /* of one question, see struct acct_work */
/* At a point that only guides, of one among n rounds. */
#define ACCT_PROBE(n) (ACCT_MOST_WORK / (64 * fmax(16, (double)(n))))

/* Equal rounds. */
struct acct_rounds {
	struct acct_curve curve;
	double count, deviation, range;
};

/* Distinct rounds, checked. */
struct acct_plan {
	struct acct_rounds *part;
	size_t parts;
	double rounds;    /* total count */
	double infinite;  /* certain lower bound on the mass of infinite loss */
	double certain;   /* upper bound on it, whichever directions the rounds are taken in */
	double largest;   /* no composed loss exceeds this, infinity aside */
	double exponents; /* the same, where a loss has at most the range of a double */
	bool symmetric;
	bool blurred; /* a dropped round was lossless only to rounding */
	struct acct_work work;
	double most_nodes; /* of one part's grid */
};

/* ACCT_ELIMIT above 1024 rounds.  acct_plan_fini in any case; until then p must stay where it is. */
ACCT_CHECK enum acct_rc acct_plan_init(struct acct_plan *p, const struct acct_round *rounds, size_t n);
void acct_plan_fini(struct acct_plan *p);

/* Rounding of the cells and of exp(epsilon) is equivalent to moving epsilon by at most this. */
double acct_plan_blur(const struct acct_plan *p);

bool acct_plan_has_infinite(const struct acct_plan *p);
bool acct_plan_is_single(const struct acct_plan *p); /* one round, once */
