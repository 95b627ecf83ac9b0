/* acct_exact.h - the outcomes of a small round, listed; in order, for many questions. */
#pragma once

#include "acct_curve.h"

/* Fill p, q, outcomes and missed of c when the round has few outcomes; otherwise leave them zero. */
ACCT_CHECK enum acct_rc acct_exact_list(struct acct_curve *c);

/* The same anew: at most `most` outcomes, those left out of chance `missed` at most.  Too many: c keeps what
 * it has if that misses no more, else nothing. */
ACCT_CHECK enum acct_rc acct_exact_relist(struct acct_curve *c, double missed, size_t most);

/* Sort the outcomes of c: from now on a point takes a search instead of a sum.  p and q are gone. */
ACCT_CHECK enum acct_rc acct_exact_order(struct acct_curve *c);

void acct_order_free(struct acct_order *o); /* NULL allowed */

void acct_exact_at(const struct acct_curve *c, double eps, bool swap, struct acct_point *at);
