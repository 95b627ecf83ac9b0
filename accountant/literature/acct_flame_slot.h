/* acct_flame_slot.h - one coordinate: its ranges, its cells, its blanket.  Private to acct_flame*.c. */
#pragma once

#include "acct_flame.h"

#define ACCT_FLAME_ULP 0x1p-53

ACCT_CHECK enum acct_rc acct_flame_check_slot(const struct acct_flame_slot *slot, const char **why);
ACCT_CHECK enum acct_rc acct_flame_check_sparse(const struct acct_flame_sparse *s, const char **why);
ACCT_CHECK enum acct_rc acct_flame_check_delta(double delta, const char **why);

/* These set the cells of r and nothing else: of one input against another; the same, in fewer cells; of one
 * input against a dummy, in either direction, in few cells too.  All of them dominate. */
ACCT_CHECK enum acct_rc acct_flame_full(
	const struct acct_flame_slot *slot, struct acct_round *r, const char **why);
ACCT_CHECK enum acct_rc acct_flame_full_coarse(
	const struct acct_flame_slot *slot, struct acct_round *r, const char **why);
ACCT_CHECK enum acct_rc acct_flame_half(
	const struct acct_flame_slot *slot, struct acct_round *r, const char **why);

/* 1 - the chance that a message is blanket. */
double acct_flame_outside(const struct acct_flame_slot *slot);

/* The chance that a message of input 0 lies below 1/2 (of input 1: the complement; of 1/2 and of dummies: one
 * half). */
double acct_flame_below(const struct acct_flame_slot *slot);

/* Is the chance that some index is chosen by `padded` or more of the other users of SS-Double, who choose
 * regardless of their data, at most `chance`? */
bool acct_flame_fits(const struct acct_flame_sparse *s, double chance);
