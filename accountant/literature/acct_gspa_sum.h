/* acct_gspa_sum.h - one round of two symbols, summed over the number of blanket messages.
 * Private to acct_gspa*.c. */
#pragma once

#include "acct_gspa.h"

/* Participants who are blanket with chance p; q = 1 - p.  Both are known to a few ulps. */
struct acct_gspa_share {
	double p, q;
	uint64_t count;
};

/* The victim's message: with chance `defect` it gives the symbol away; otherwise it is its symbol with
 * chance a1, and the other one with a0. */
struct acct_gspa_victim {
	double a1, a0;
	double most; /* no finite loss is larger than this; INFINITY if a0 = 0 */
	double defect;
};

/* The law of the number of blanket messages among the others. */
struct acct_gspa_count {
	double *mass; /* masses of first, first + 1, ... */
	size_t size;
	uint64_t first;
	double missed; /* bound on the mass of all numbers that were cut off */
	double error;  /* bound on the relative error of every mass */
	double work;
};

/* Compute the law.  ACCT_ELIMIT if that would take more than some seconds.  Call acct_gspa_count_fini
 * whatever the result. */
ACCT_CHECK enum acct_rc acct_gspa_count_init(
	struct acct_gspa_count *c, const struct acct_gspa_share *share, size_t n);
void acct_gspa_count_fini(struct acct_gspa_count *c);

/* Compute the pair's delta at epsilon [0, 700]. */
struct acct_bound acct_gspa_count_delta(
	const struct acct_gspa_count *c, const struct acct_gspa_victim *v, double epsilon);

/* Compute the pair's epsilon at delta (0, 1). */
struct acct_bound acct_gspa_count_epsilon(
	const struct acct_gspa_count *c, const struct acct_gspa_victim *v, double delta);
