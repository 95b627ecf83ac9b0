/* acct_flame_slot.h - one coordinate: its ranges, its cells, its blanket.  Private to acct_flame*.c. */
#pragma once

#include "acct_flame.h"

#define ACCT_FLAME_ULP 0x1p-53

ACCT_CHECK enum acct_rc acct_flame_check_slot(const struct acct_flame_slot *slot, const char **why);
ACCT_CHECK enum acct_rc acct_flame_check_sparse(const struct acct_flame_sparse *s, const char **why);
ACCT_CHECK enum acct_rc acct_flame_check_delta(double delta, const char **why);

/* These functions set the cells of r and nothing else.  acct_flame_full: one input against another;
 * acct_flame_full_coarse: the same in fewer cells; acct_flame_half: one input against a dummy, in either
 * direction, also in few cells.  All of them dominate. */
ACCT_CHECK enum acct_rc acct_flame_full(
	const struct acct_flame_slot *slot, struct acct_round *r, const char **why);
ACCT_CHECK enum acct_rc acct_flame_full_coarse(
	const struct acct_flame_slot *slot, struct acct_round *r, const char **why);
ACCT_CHECK enum acct_rc acct_flame_half(
	const struct acct_flame_slot *slot, struct acct_round *r, const char **why);

/* The chance that a message is not blanket. */
double acct_flame_outside(const struct acct_flame_slot *slot);

/* The chance that a message of input 0 lies below 1/2.  For input 1 it is the complement, for input 1/2 and
 * for dummies one half. */
double acct_flame_below(const struct acct_flame_slot *slot);

/* Is the chance at most `chance` that some index is chosen by `padded` or more of the other users of
 * SS-Double?  They choose regardless of their data. */
bool acct_flame_fits(const struct acct_flame_sparse *s, double chance);
