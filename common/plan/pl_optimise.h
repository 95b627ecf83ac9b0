/* pl_optimise.h - finds the numbers of a plan's rounds that say what is wanted in place of them (pl_wish.h).
 *
 * All rounds together fit the plan's budget, judged as the parties judge (rd_account.h), in either mode.
 * Among such numbers: of rounds with weights the sum of weight * (error / scale)^2 is least, scale being the
 * width of a number's range, and the participants, or their sum's range, where the error is one of counts or
 * of a sum; of rounds with errors the largest multiple of what is wanted is least, so the whole budget is
 * spent and every round comes as near to its error, or as far below it, as any.  acct_allocate.h says how
 * near to the least.  Numbers have four digits; dummies are whole where the row has no fractions.  A round of
 * protocol "auto" says it of its `epsilon`, and keeps its protocol: what it chooses follows from the number.
 *
 * Costs some seconds; of a round of "auto" some 30 choices (pl_choose.h). */
#pragma once

#include "pl_plan.h"
#include "pl_wish.h"

struct pl_granted {
	struct pl_wish wish;
	char value[32];               /* as it stands in the text */
	const struct pl_round *round; /* of the plan, of several recurrences the first */
	double error;                 /* in the units of `plan cost` */
	double range;                 /* by how much answers can differ at most, in the same units */
};

struct pl_optimised {
	struct cm_buf
		text; /* the plan's text with numbers, each before a comment that says what was wanted */
	struct pl_plan plan;    /* that text, read */
	struct rd_verdict last; /* of its last round: all of them together */
	struct pl_granted *granted;
	size_t n;
};

/* Optimise the plan of n bytes; `name` stands for the file, and faults are written as by pl_plan_parse.
 * CM_ECONFIG: the plan is at fault, or no round says what is wanted.  CM_EBUDGET: the other rounds, or the
 * least numbers there are, do not fit.  Free in any case. */
CM_CHECK enum cm_rc pl_optimise(const uint8_t *bytes, size_t n, const char *name, FILE *faults,
	struct pl_optimised *out, struct cm_err *err);
void pl_optimised_fini(struct pl_optimised *o);
