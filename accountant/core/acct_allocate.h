/* acct_allocate.h - searches one value for each loose round such that all rounds fit a budget with the
 * least error.
 *
 * A loose round has a value to be found, such as its epsilon0: the larger it is, the larger is the loss and
 * the smaller the error.  The search minimises the sum over the loose rounds of weight times the square of
 * the error; or, with targets, the largest ratio of a round's error to its target.  Equal rounds get equal
 * values.
 *
 * The caller's `fits` decides what fits, so no guarantee rests on the search.  The values found are the
 * best to about a thousandth of the error, where the error is smooth in the value.  The search assumes that
 * epsilon grows with one log moment of the losses, log E e^(lambda loss) at one order lambda, which is
 * nearly true.
 *
 * It is deterministic.  Cost: the laws of `nodes` values of each loose round, and about 30 calls of
 * `fits`. */
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
	double least, most; /* range of the value, 0 < least <= most; most 0: the round is not loose */
	/* Above 0.  Without targets: the weight of the round's squared error.  With targets: the target of
	 * its error. */
	double weight;
	size_t nodes; /* number of values to tabulate, 2..ACCT_ALLOCATE_NODES; fewer are faster */
};

struct acct_allocation {
	const struct acct_loose *round;
	size_t n; /* 1..ACCT_ALLOCATE_ROUNDS */
	bool targets;
	double epsilon, delta; /* the budget: epsilon above 0, delta in (0, 1) */
	void *user;
	/* Set the parts that round i is composed of at this value, and its error.  0 parts: there is no
	 * such round. */
	enum acct_rc (*offer)(void *user, size_t i, double value, struct acct_round part[ACCT_ALLOCATE_PARTS],
		size_t *parts, double *error);
	/* Decide whether all rounds fit together with these n values.  The last values for which *does was
	 * true are the answer, so the caller keeps them. */
	enum acct_rc (*fits)(void *user, const double *value, bool *does);
};

/* Search.  *found says that some values fit; then the last call of fits() that said so had the answer.  An
 * error of offer or fits ends the search and is returned; ACCT_ENOMEM: out of memory. */
ACCT_CHECK enum acct_rc acct_allocate(const struct acct_allocation *a, bool *found);

#ifdef __cplusplus
}
#endif
