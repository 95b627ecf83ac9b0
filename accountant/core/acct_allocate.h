/* acct_allocate.h - searches one loose value of each round so that all fit a budget with the least error.
 *
 * A loose value says how much a round tells: the larger it is, the more is lost and the smaller is the error.
 * What is least: the sum over the loose rounds of weight times the square of the error; or, for targets, the
 * largest multiple of a target that any round's error is.  The caller decides what fits, so that is the
 * guarantee.  That no other values do better holds as far as the log moments of the losses at one order
 * decide about epsilon, as they nearly do: to a thousandth of the error, where the error is smooth in the
 * value.  Equal rounds get equal values.
 *
 * Deterministic.  Cost: the laws of `nodes` values of each loose round, and about 30 questions whether all
 * fit. */
#pragma once

#include <stdbool.h>

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACCT_ALLOCATE_ROUNDS 1024u
#define ACCT_ALLOCATE_PARTS  16u
#define ACCT_ALLOCATE_NODES  100u

struct acct_loose {
	double least, most; /* of the value, 0 < least <= most; most 0: nothing is loose */
	double weight;      /* above 0: of the squared error; or the error that is aimed at */
	size_t nodes;       /* values that are tabulated, 2..ACCT_ALLOCATE_NODES: fewer are faster */
};

struct acct_allocation {
	const struct acct_loose *round;
	size_t n; /* 1..ACCT_ALLOCATE_ROUNDS */
	bool targets;
	double epsilon, delta; /* > 0; (0, 1) */
	void *user;
	/* Round i at a value: the parts it is composed of, and its error.  0 parts: there is none. */
	enum acct_rc (*offer)(void *user, size_t i, double value, struct acct_round part[ACCT_ALLOCATE_PARTS],
		size_t *parts, double *error);
	/* Do all rounds fit together with these n values?  The values that fitted last are the answer. */
	enum acct_rc (*fits)(void *user, const double *value, bool *does);
};

/* *found: some values fit; fits() then said so of the answer last.  An error that offer or fits returns ends
 * the search, ACCT_ENOMEM too. */
ACCT_CHECK enum acct_rc acct_allocate(const struct acct_allocation *a, bool *found);

#ifdef __cplusplus
}
#endif
