/* rd_together.h - sums epsilon0 over the reports of a device: what shuffler and analyzer together can learn
 * of it at most (theorem 3 of doc/security.md).  No I/O. */
#pragma once

#include "rd_descriptor.h"

struct rd_together {
	double epsilon0;      /* sum over the reports with a finite one, rounded up */
	uint64_t reports;     /* all of them */
	uint64_t unbounded;   /* those with epsilon0 = inf */
	char unprotected[96]; /* names of the latter's rounds, separated by ", "; ends with "..." if cut */
};
/* Add `tries` reports of a device to rounds like d, which is called `name`.  The randomizer's own epsilon0
 * counts where the descriptor states less; of a randomizer with classes the largest. */
void rd_together_add(struct rd_together *t, const struct rd_descriptor *d, uint64_t tries, const char *name);
/* The sum; INFINITY if some report is unbounded. */
double rd_together_epsilon0(const struct rd_together *t);
/* Describe it in one sentence without a newline. */
void rd_together_words(const struct rd_together *t, char *out, size_t size);
