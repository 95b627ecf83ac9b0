/* acct_places.h - computes the largest loss of places whose laws are known, while it is unknown which one
 * is the victim's.  The bounds of acct_labels.h and of families use it. */
#pragma once

#include <stddef.h>

#define ACCT_PLACES_KINDS 192u

/* A kind of place, by what an observer sees of it.  Atom j is seen with chance p[j], and has X = x[j],
 * where X is (R0 - E R1)/R: R is the law of the place's report, R0 and R1 are those of the victim's report
 * under its two inputs, and E = e^eps.  X has mean 1 - E for every kind.  The chances are relative: they
 * are divided by their sum. */
struct acct_place {
	size_t atoms;
	const double *p, *x; /* both borrowed */
};

/* There are `free` places, each of any kind but the last, and `fixed` places of the last kind.  If there
 * are many kinds, the first two should be those whose X vary most, one in each direction: the atoms of the
 * others are moved to the atoms of these two. */
struct acct_places {
	size_t kinds;
	const struct acct_place *kind; /* borrowed */
	double free, fixed;
	/* a place's participant is silent with chance `absent`, whatever its kind, and then X is absent_x;
	 * else X is as its kind says */
	double absent, absent_x;
};

/* Compute the largest (1/N) E (X_1 + .. + X_N)+ of N = free + fixed places, over all choices of the free
 * places' kinds.  The numbers are whole, free at least 1.  The result is never below the true value, even
 * if chances and values of X are off by some ulps, if there are eighty places or more; with a few it may
 * be below by some of the last digits where X is never positive.  It is INFINITY where it cannot be computed,
 * or takes more work than `most`.  Adds to *work. */
double acct_places_largest(const struct acct_places *of, double most, double *work);

/* The least work that acct_places_largest takes. */
double acct_places_least_work(size_t kinds, size_t atoms);
