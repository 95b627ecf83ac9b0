/* acct_exact.h - lists the outcomes of a small round, and sorts them for many questions. */
#pragma once

#include "acct_curve.h"

/* Fill p, q, outcomes and missed of c when the round has few outcomes; else leave them zero. */
ACCT_CHECK enum acct_rc acct_exact_list(struct acct_curve *c);

/* List the outcomes again: at most `most` of them, leaving out outcomes of chance `missed` at most.  Where
 * there are too many, c keeps the list it has if that leaves out no more, else none. */
ACCT_CHECK enum acct_rc acct_exact_relist(struct acct_curve *c, double missed, size_t most);

/* Sort the outcomes of c: from now on a point takes a search instead of a sum.  Frees p and q. */
ACCT_CHECK enum acct_rc acct_exact_order(struct acct_curve *c);

void acct_order_free(struct acct_order *o); /* NULL allowed */

void acct_exact_at(const struct acct_curve *c, double eps, bool swap, struct acct_point *at);
