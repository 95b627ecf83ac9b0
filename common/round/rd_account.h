/* rd_account.h - the rounds charged so far and whether one more fits: the same judgement in all three
 * parties.
 *
 * No I/O.  Composes, at the guaranteed min_reports, every charge and reservation with the candidate;
 * decides on the upper end of the accountant's interval; equality within rounding refuses.  Where all rounds
 * have a local guarantee, their decimals may also add up to the limit (acct_decimal.h).  An answer
 * depends, within its width, on earlier questions; after acct_state_rebuild on the rounds and delta alone. So
 * a total within 2e-3 of the limit, twice the tolerance, is judged by a rebuilt state; elsewhere any two
 * answers are on the same side of the limit.  The composition is kept (acct_state.h), so a judgement costs
 * the laws of one round's parts and a few transforms however long the account is.  One thread at a time, for
 * judging too. */
#pragma once

#include <stdatomic.h>

#include "pt_protocol.h"
#include "rd_descriptor.h"

struct rd_account;

struct rd_verdict {
	bool fits;
	double epsilon_round; /* the candidate alone at delta, its parts composed, upper */
	double spent;         /* epsilon of everything before it, upper; 0 for none */
	double total;         /* epsilon of everything with it, upper */
	double limit, delta;
	double left; /* max(0, limit - spent): what is left is not additive, total decides */
	/* Adaptive: a filter promises its whole budget or nothing, so spent and total are `limit` once there
	 * is a round (total: INFINITY when it does not fit), and shares of the filter's budget say how far it
	 * is used.  In mode plan shares are epsilons over the limit. */
	bool adaptive;
	double share, share_spent, share_total; /* of the candidate; before it; with it */
};

/* limit (0, inf), delta (0, 1): mode plan. */
struct rd_account *rd_account_new(double limit, double delta);
/* The same in a known mode.  In an adaptive one (limit, delta) is the filter's budget, fixed from here on. */
struct rd_account *rd_account_new_mode(double limit, double delta, const char *mode);
void rd_account_free(struct rd_account *a);
/* Add a round under its id, all of its parts or, on a fault, none.  CM_EDATA if the id is there already;
 * CM_EINTERNAL: no loss there can be, or out of memory. */
CM_CHECK enum cm_rc rd_account_add(struct rd_account *a, const uint8_t round_id[PR_ROUND_ID_LEN],
	const struct pt_loss *loss, struct cm_err *err);
/* Release a reservation (a round that no client was asked to answer).  CM_OK if there is none.  CM_EINTERNAL:
 * it stays charged. */
enum cm_rc rd_account_remove(struct rd_account *a, const uint8_t round_id[PR_ROUND_ID_LEN]);
/* Would this round fit?  Never changes the account.  CM_EINTERNAL: the accountant could not answer,
 * refuse. */
CM_CHECK enum cm_rc rd_account_judge(const struct rd_account *a, const struct pt_loss *candidate,
	struct rd_verdict *out, struct cm_err *err);
/* epsilon of everything in the account, upper; 0 when empty. */
CM_CHECK enum cm_rc rd_account_spent(const struct rd_account *a, double *epsilon, struct cm_err *err);
/* The part of the budget that is used, upper: the filter's in an adaptive account, epsilon's else.  1 is all
 * of it. */
CM_CHECK enum cm_rc rd_account_share(const struct rd_account *a, double *share, struct cm_err *err);
/* The price of one round of an adaptive account as a part of the filter's budget.  CM_EDATA: no such
 * round. */
CM_CHECK enum cm_rc rd_account_share_of(const struct rd_account *a, const uint8_t round_id[PR_ROUND_ID_LEN],
	double *share, struct cm_err *err);
size_t rd_account_rounds(const struct rd_account *a);
/* Largest epsilon0 (to 3 significant digits, rounded down) with which the query would fit, 0 if none, among
 * the participants of b.  Costs some ten judgements, a second or two each where rounds hide each other badly;
 * when another thread sets *stop (NULL: nobody will) it ends between two of them, CM_ELATER. */
CM_CHECK enum cm_rc rd_account_largest_epsilon0(const struct rd_account *a,
	const struct pt_protocol *protocol, const struct qy_query *q, const struct pt_request *r,
	const struct rd_batch *b, const atomic_bool *stop, double *epsilon0, struct cm_err *err);
