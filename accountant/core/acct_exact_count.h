/* acct_exact_count.h - the law of the number of blanket messages among the others, term by term.
 * Private to acct_exact.c. */
#pragma once

#include "acct_list.h"

/* chance[i]: that of first + i blanket messages, to 1e-10 relative. */
struct acct_count {
	double *chance;
	size_t size; /* 0: the law has more terms than asked for */
	double first;
	double missed; /* upper bound on the chance of all numbers left out */
};

/* Computes at most `most` terms; those left out have a chance of about 4 * tail for every group.  Call
 * acct_count_fini whatever the result. */
ACCT_CHECK enum acct_rc acct_count_init(
	struct acct_count *c, const struct acct_list *l, double tail, double most);
void acct_count_fini(struct acct_count *c);
