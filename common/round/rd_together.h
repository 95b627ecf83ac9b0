/* rd_together.h - sums epsilon0 over the reports of a device.  The sum bounds what shuffler and analyzer
 * together can learn about it (theorem 3 of doc/security.md).  No I/O. */
#pragma once

#include "rd_descriptor.h"

struct rd_together {
	double epsilon0;      /* sum of epsilon0 over the reports in which it is finite, rounded up */
	uint64_t reports;     /* number of all reports */
	uint64_t unbounded;   /* number of reports whose epsilon0 is infinite */
	char unprotected[96]; /* rounds of these reports, separated by ", "; ends with "..." if cut */
};
/* Add `tries` reports of a device to rounds like d, which is called `name`.  If the descriptor states a
 * smaller epsilon0 than the randomizer has, the randomizer's counts; in rounds with classes, the largest of
 * them. */
void rd_together_add(struct rd_together *t, const struct rd_descriptor *d, uint64_t tries, const char *name);
/* The sum; INFINITY if some report is unbounded. */
double rd_together_epsilon0(const struct rd_together *t);
/* Describe it in one sentence without a newline. */
void rd_together_words(const struct rd_together *t, char *out, size_t size);
