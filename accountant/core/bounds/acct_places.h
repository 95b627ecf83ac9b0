/* acct_places.h - computes the largest loss of places whose laws are known, while it is unknown which one
 * is the victim's.  The bounds of acct_labels.h and of families use it. */
#pragma once

#include <stddef.h>

#define ACCT_PLACES_KINDS 192u

/* A place of a kind shows atom j with chance p[j], and X = x[j] then: (R0 - E R1)/R of the report.  X has
 * mean 1 - E for every kind.  Chances are relative: they are divided by their sum. */
struct acct_place {
	size_t atoms;
	const double *p, *x; /* borrowed */
};

/* `free` places of any of the kinds, and `fixed` ones of the kind after the last.  Where kinds are many, the
 * first two should be such as spread most either way: others are taken for larger ones beside them. */
struct acct_places {
	size_t kinds;
	const struct acct_place *kind; /* borrowed */
	double free, fixed;
};

/* The largest (1/N) E (X_1 + .. + X_N)+, over the numbers of the kinds, of N = free + fixed places; whole
 * numbers, free at least 1.  Never below it, whether chances or worths are off by some ulps of themselves;
 * INFINITY where it cannot be computed, or beyond the work `most`.  *work: added to. */
double acct_places_largest(const struct acct_places *of, double most, double *work);

/* What that costs at the least. */
double acct_places_least_work(size_t kinds, size_t atoms);
