/* acct_exact.h - the outcomes of a small round, listed. */
#pragma once

#include "acct_curve.h"

/* Fill p, q, outcomes and missed of c when the round has few outcomes; otherwise leave them zero. */
ACCT_CHECK enum acct_rc acct_exact_list(struct acct_curve *c);

void acct_exact_at(const struct acct_curve *c, double eps, bool swap, struct acct_point *at);
