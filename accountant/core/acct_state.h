/* acct_state.h - keeps the composed privacy loss of a growing list of rounds, for a ledger.
 *
 * A state gives the answers of acct_epsilon for the same rounds, within a relative ACCT_STATE_WIDTH (where it
 * cannot, it calls acct_epsilon).  One more round costs one round's laws and two or three transforms, however
 * many rounds were added before: doc/accounting.md, "The ledger's state".  The list of rounds is the state;
 * everything else is derived from the list on demand.  Equal rounds are one entry with a count.
 *
 * Ownership: the caller owns a state from acct_state_new to acct_state_free.  Rounds are copied.  Threads:
 * one at a time per state, for acct_state_epsilon too, which caches what it computes.  Memory: about 30 KB
 * for each different round (at most ACCT_STATE_ENTRIES of them), and 50 to 100 bytes for each point of the
 * transforms. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACCT_STATE_ENTRIES 4096u /* most different rounds of a state */
#define ACCT_STATE_WIDTH                                                                                   \
	1e-3 /* Relative width of an answer.  An answer may be wider where acct_epsilon's is, or where the \
		bounds on a round's own curve are further apart. */

struct acct_state;

/* Create an empty state for this delta, in (0, 1).  NULL: delta is out of range, or out of memory. */
struct acct_state *acct_state_new(double delta);
void acct_state_free(struct acct_state *s);

/* Add a round, round->count times.  Cheap: the next question does the work.  ACCT_EDOMAIN: acct_round_check
 * tells why.  ACCT_ELIMIT: more than ACCT_STATE_ENTRIES different rounds, or more than ACCT_MAX_COUNT of one.
 * On error nothing changes. */
ACCT_CHECK enum acct_rc acct_state_add(struct acct_state *s, const struct acct_round *round);

/* Remove an equal round added before, round->count times, for a reservation that was released.  ACCT_EDOMAIN:
 * the state holds fewer of them. */
ACCT_CHECK enum acct_rc acct_state_remove(struct acct_state *s, const struct acct_round *round);

/* Compute epsilon at the state's delta of all rounds added, composed with the candidate (NULL: none), a
 * round that may be added next.  The state's rounds do not change.  The interval contains the true value;
 * decide on `upper`, which is rounded up.  It is 0 without any round.  On error *eps is untouched, and the
 * caller must refuse the round.  Cost: the laws of one round if the candidate is new, and a transform for
 * each law, of the upper and of the lower bound. */
ACCT_CHECK enum acct_rc acct_state_epsilon(
	struct acct_state *s, const struct acct_round *candidate, struct acct_bound *eps);
/* The same with n candidates together, each with its count; counts of equal candidates are added.  Cost:
 * the sum of their costs. */
ACCT_CHECK enum acct_rc acct_state_epsilon_with(
	struct acct_state *s, const struct acct_round *candidates, size_t n, struct acct_bound *eps);

/* Free the cached products of transforms, whose rounding depends on the order of earlier calls.  The next
 * answers depend on the rounds and delta alone. */
void acct_state_rebuild(struct acct_state *s);

/* Rounds added and not removed, counts included. */
uint64_t acct_state_rounds(const struct acct_state *s);

#ifdef __cplusplus
}
#endif
