/* an_budget.h - decides whether a round fits the budget, and explains why not.  No I/O. */
#pragma once

#include <stdio.h>

#include "an_state.h"
#include "rd_figure.h"
#include "rd_together.h"

/* The accountant's verdict on one round of the plan beside everything that the ledger holds. */
struct an_explanation {
	const struct an_round_state *round; /* borrowed from the state */
	struct rd_verdict verdict;
	/* largest epsilon0 that would fit instead; 0 if none would, or if the round fits as it is */
	double largest_epsilon0;
};

/* Decide whether this round of the pinned plan file may run.  In mode plan the signed plan has decided, and
 * nothing is composed.  In an adaptive mode the filter judges the round beside every charge and reservation.
 * CM_EBUDGET: no; the verdict is filled and err explains in one line.  Any other fault: the accountant could
 * not answer, so the round may not run either. */
CM_CHECK enum cm_rc an_budget_decide(
	const struct an_state *s, const struct an_round_state *r, struct rd_verdict *out, struct cm_err *err);

/* Explain the decision to people, for any round of the pinned plan file.  In mode plan the numbers are
 * those of the signed plan; in an adaptive mode the round is composed with what the ledger held when it was
 * decided.  Costs then one composition for each of those, and ten for a round that does not fit. */
CM_CHECK enum cm_rc an_budget_explain(const struct an_state *s, const struct an_round_state *r,
	struct an_explanation *out, struct cm_err *err);
/* The same, ended when another thread sets *stop, as in rd_account_largest_epsilon0. */
CM_CHECK enum cm_rc an_budget_explain_until(const struct an_state *s, const struct an_round_state *r,
	const atomic_bool *stop, struct an_explanation *out, struct cm_err *err);
void an_explanation_print(const struct an_state *s, const struct an_explanation *e, FILE *out);

/* Whether `other` is one of the rounds whose loss was composed when r was decided. */
bool an_budget_spends(
	const struct an_state *s, const struct an_round_state *other, const struct an_round_state *r);

/* "needs ... and ... is left", for a round that does not fit. */
void an_budget_words(const struct rd_verdict *v, char *out, size_t size);

/* Make the figures of the population's budget.  all: an_ledger_files_budget. */
CM_CHECK enum cm_rc an_budget_figure(
	const struct an_state *s, const struct rd_slices *all, struct rd_figure *out, struct cm_err *err);

/* Upper bound on epsilon of the plan file's entries up to the last that was announced or answered; for an
 * adaptive plan, its whole slice once it has a round.  The population's total is an_state.slices. */
double an_budget_answered(const struct an_state *s);
/* The share of the plan file's slice that those rounds use; for an adaptive plan, the used share of its
 * filter. */
CM_CHECK enum cm_rc an_budget_share(const struct an_state *s, double *share, struct cm_err *err);
/* Explain in one line why a plan's slice does not fit; returns CM_EBUDGET. */
CM_CHECK enum cm_rc an_slice_refused(
	const struct an_state *s, const struct pl_plan *p, double epsilon, double delta, struct cm_err *err);

/* Round to four digits for people: needed or spent epsilon up, remaining epsilon down. */
double an_round_up(double epsilon);
double an_round_down(double epsilon);
/* The used share of a budget as a percentage, rounded up; the remaining share, rounded down. */
double an_percent_up(double share);
double an_percent_left(double share);
/* The sum of epsilon0 over all tries of all rounds of all plans: theorem 3's bound for any device. */
void an_budget_together(const struct an_state *s, struct rd_together *out);
