/* acct_invert.h - one point of a round's privacy curve by inverting the transform of the blanket variable.
 *
 * Source: the blanket identity (Balle, Bell, Gascon, Nissim 2019, Lemma 5.3), Gaussian smoothing and the
 * trapezoid rule; each error term is derived in doc/accounting.md, "One round". */
#pragma once

#include "acct_curve.h"

/* For any number of messages.  Returns the work done (struct acct_work): at most about most +
 * acct_invert_least.  A point that reaches the limit has wide bounds. */
double acct_invert_at(const struct acct_list *l, double eps, bool swap, double most, struct acct_point *at);

/* The work of a point at its widest bounds. */
double acct_invert_least(const struct acct_list *l);
