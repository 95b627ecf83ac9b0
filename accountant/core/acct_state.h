/* acct_state.h - the composed privacy loss of a growing list of rounds: what a ledger keeps.
 *
 * Answers what acct_epsilon answers for the same rounds, within ACCT_STATE_WIDTH relative (or it asks
 * acct_epsilon), but one more round costs one round's laws and two or three transforms, however many rounds
 * there were before: doc/accounting.md, "The ledger's state".  The list of rounds is the truth and everything
 * else is derived from it on demand.  Equal rounds are one entry with a count.
 *
 * Ownership: a state is the caller's, from acct_state_new to acct_state_free.  Rounds are copied.
 * Threads: one at a time per state; also for acct_state_epsilon, which keeps what it computed.
 * Memory: about 30 KB for each different round (ACCT_STATE_ENTRIES of them at most), and 50 to 100 bytes for
 * each point of the transforms. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACCT_STATE_ENTRIES 4096u /* different rounds */
#define ACCT_STATE_WIDTH   1e-3  /* of an answer, unless acct_epsilon's is wider */

struct acct_state;

/* delta in (0, 1).  NULL: delta is out of range, or out of memory. */
struct acct_state *acct_state_new(double delta);
void acct_state_free(struct acct_state *s);

/* Add a round, round->count times.  Cheap: the work is done at the next question.
 * ACCT_EDOMAIN: acct_round_check tells why.  ACCT_ELIMIT: more than ACCT_STATE_ENTRIES different rounds, or
 * more than ACCT_MAX_COUNT of one.  On error nothing changed. */
ACCT_CHECK enum acct_rc acct_state_add(struct acct_state *s, const struct acct_round *round);

/* Take back an equal round added before, round->count times: a reservation that was released.
 * ACCT_EDOMAIN: there are not so many. */
ACCT_CHECK enum acct_rc acct_state_remove(struct acct_state *s, const struct acct_round *round);

/* epsilon at delta of everything added, and of the candidate (NULL: none) on top; the state's rounds do not
 * change. The interval holds the truth: decide on `upper`, which is rounded up.  Without any round: 0. On
 * error *eps is untouched; then there is no answer, and what asks for one must refuse. Cost: one round's laws
 * if the candidate is new, and a transform per law above and below. */
ACCT_CHECK enum acct_rc acct_state_epsilon(
	struct acct_state *s, const struct acct_round *candidate, struct acct_bound *eps);
/* The same with n candidates together, each with its count; equal ones add up.  Cost: that of each. */
ACCT_CHECK enum acct_rc acct_state_epsilon_with(
	struct acct_state *s, const struct acct_round *candidates, size_t n, struct acct_bound *eps);

/* Forget the products, which depend on history.  The next answers depend on the rounds and delta only, not on
 * how they came to be there. */
void acct_state_rebuild(struct acct_state *s);

/* Rounds added and not removed, counts included. */
uint64_t acct_state_rounds(const struct acct_state *s);

#ifdef __cplusplus
}
#endif
