/* rd_account.h - keeps the rounds charged so far, and judges whether one more fits.  All three parties judge
 * with it.  No I/O.
 *
 * A judgement composes every charge and reservation with the candidate, each at its guaranteed min_reports.
 * The candidate fits if the upper end of the accountant's interval is below the limit; a total that equals
 * the limit within rounding does not fit.  Where all rounds have a local guarantee, the sum of these as
 * decimals may also equal the limit (acct_decimal.h).
 *
 * All parties decide alike.  An answer depends on earlier questions, within the width of its interval; after
 * acct_state_rebuild it depends on the rounds and delta alone.  So a total within 2e-3 of the limit, twice
 * the tolerance, is judged by a rebuilt state.  Elsewhere any two answers are on the same side of the limit.
 *
 * The composition is kept (acct_state.h).  So however long the account is, a judgement costs the laws of one
 * round's parts and a few transforms.  Only one thread at a time may use an account, also to judge. */
#pragma once

#include <stdatomic.h>

#include "pt_protocol.h"
#include "rd_descriptor.h"

struct rd_account;

struct rd_verdict {
	bool fits;
	/* A verdict on a candidate.  Epsilons are upper bounds at the account's delta. */
	double epsilon_round; /* epsilon of the candidate alone, its parts composed */
	double spent;         /* epsilon of everything before it; 0 if the account is empty */
	double total;         /* epsilon of everything before it and the candidate */
	double limit, delta;
	double left; /* max(0, limit - spent); a round may cost more than `left` and fit, since only `total`
		      * decides */
	/* In adaptive modes a filter's loss is its whole budget from the first round on: spent and total are
	 * `limit` then, and total is INFINITY if the candidate does not fit.  Only the shares say how much of
	 * the filter's budget is used.  In mode plan a share is an epsilon over the limit. */
	bool adaptive;
	/* shares of the budget: of the candidate; of everything before it; of both together */
	double share, share_spent, share_total;
};

/* Create an empty account in mode plan.  limit (0, inf), delta (0, 1).  NULL: out of memory. */
struct rd_account *rd_account_new(double limit, double delta);
/* The same in any known mode (rd_mode.h).  In adaptive modes (limit, delta) is the filter's budget. */
struct rd_account *rd_account_new_mode(double limit, double delta, const char *mode);
void rd_account_free(struct rd_account *a);
/* Add a round under its id.  On a fault nothing is added.  CM_EDATA: the id is there already.  CM_EINTERNAL:
 * no round can have this loss, or out of memory. */
CM_CHECK enum cm_rc rd_account_add(struct rd_account *a, const uint8_t round_id[PR_ROUND_ID_LEN],
	const struct pt_loss *loss, struct cm_err *err);
/* Release a reservation: the round that no client was asked to answer.  Also CM_OK if the account has no
 * such round.  CM_EINTERNAL: it stays charged. */
enum cm_rc rd_account_remove(struct rd_account *a, const uint8_t round_id[PR_ROUND_ID_LEN]);
/* Would this round fit?  Never changes the account.  CM_EINTERNAL: the accountant could not answer, so
 * refuse the round. */
CM_CHECK enum cm_rc rd_account_judge(const struct rd_account *a, const struct pt_loss *candidate,
	struct rd_verdict *out, struct cm_err *err);
/* epsilon of everything in the account, upper; 0 when empty. */
CM_CHECK enum cm_rc rd_account_spent(const struct rd_account *a, double *epsilon, struct cm_err *err);
/* Upper bound on the part of the budget that is used, 0..1: of the filter's budget in an adaptive account,
 * else of epsilon. */
CM_CHECK enum cm_rc rd_account_share(const struct rd_account *a, double *share, struct cm_err *err);
/* The part of the filter's budget that one round of an adaptive account uses, 0..1.  CM_EDATA: no such
 * round. */
CM_CHECK enum cm_rc rd_account_share_of(const struct rd_account *a, const uint8_t round_id[PR_ROUND_ID_LEN],
	double *share, struct cm_err *err);
size_t rd_account_rounds(const struct rd_account *a);
/* Find the largest epsilon0, to 3 significant digits and rounded down, with which the query would fit in a
 * round with the participants b; 0: with none.  Costs some ten judgements, each of a second or two at worst.
 * Another thread may set *stop to end it between two of them with CM_ELATER; NULL: no thread will. */
CM_CHECK enum cm_rc rd_account_largest_epsilon0(const struct rd_account *a,
	const struct pt_protocol *protocol, const struct qy_query *q, const struct pt_request *r,
	const struct rd_batch *b, const atomic_bool *stop, double *epsilon0, struct cm_err *err);
