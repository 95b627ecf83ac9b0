/* an_budget.h - may this round run, and why not.  No I/O. */
#pragma once

#include <stdio.h>

#include "an_state.h"

/* The accountant's answer for one round of the plan, with everything the ledger holds against it. */
struct an_explanation {
	const struct an_round_state *round; /* borrowed from the state */
	struct rd_verdict verdict;
	double largest_epsilon0; /* that would fit instead; 0 when none would, or when it fits as it is */
};

/* Would this round fit beside every charge and reservation?  CM_EBUDGET when not, the verdict filled and err
 * saying so in one line; any other fault means the accountant could not answer, which is a refusal too. */
CM_CHECK enum cm_rc an_budget_decide(
	const struct an_state *s, const struct pl_round *r, struct rd_verdict *out, struct cm_err *err);

/* The same question for people, for any round of the plan.  A round that was decided already is judged
 * against what the ledger held then.  Costs up to ten times the decision. */
CM_CHECK enum cm_rc an_budget_explain(const struct an_state *s, const struct an_round_state *r,
	struct an_explanation *out, struct cm_err *err);
/* The same until another thread sets *stop, as in rd_account_largest_epsilon0. */
CM_CHECK enum cm_rc an_budget_explain_until(const struct an_state *s, const struct an_round_state *r,
	const atomic_bool *stop, struct an_explanation *out, struct cm_err *err);
void an_explanation_print(const struct an_state *s, const struct an_explanation *e, FILE *out);

/* "needs ... and ... is left", of a round that does not fit. */
void an_budget_words(const struct rd_verdict *v, char *out, size_t size);

/* epsilon of everything charged and reserved, upper bound. */
CM_CHECK enum cm_rc an_budget_spent(const struct an_state *s, double *spent, struct cm_err *err);
/* The part of the budget that is used, as rd_account_share. */
CM_CHECK enum cm_rc an_budget_share(const struct an_state *s, double *share, struct cm_err *err);

/* To four digits for people: what is needed or spent rounded up, what is left rounded down. */
double an_round_up(double epsilon);
double an_round_down(double epsilon);
/* A used share of a budget as a percentage, rounded up; and what it leaves, rounded down. */
double an_percent_up(double share);
double an_percent_left(double share);
