/* pl_optimise.h - finds numbers for the wishes in a plan (pl_wish.h), where a round states an error or a
 * weight in place of a number.
 *
 * With these numbers all rounds together fit the plan's budget, judged as the parties judge (rd_account.h),
 * in either mode.  Among all such numbers they are the best in this sense; acct_allocate.h says how close to
 * it:
 * - Rounds with weights: the sum of weight * (error / scale)^2 is least.  scale is the width of a number's
 * range; for an error in counts it is the number of participants, and for that of a sum the range of the sum.
 * - Rounds with errors: the largest ratio of a round's error to the error wanted is least.  So the whole
 * budget is spent, and every round misses its error, or stays below it, by the same ratio as far as possible.
 *
 * Numbers have four digits; dummies are whole numbers where the row has no fractions of them.  In a round of
 * protocol "auto" the wish stands for `epsilon`.  Such a round stays one of "auto", whose choice follows from
 * the number.
 *
 * Takes some seconds, and for a round of "auto" as long as some 30 choices (pl_choose.h). */
#pragma once

#include "pl_plan.h"
#include "pl_wish.h"

struct pl_granted {
	struct pl_wish wish;
	char value[32];               /* the number, as it is written in the text */
	const struct pl_round *round; /* its round in the plan, the first of several recurrences */
	double error;                 /* expected error, in the units of `plan cost` */
	double range;                 /* largest difference of two answers, in the same units */
};

struct pl_optimised {
	/* The plan's text with the numbers; a comment behind each says what was wanted. */
	struct cm_buf text;
	struct pl_plan plan;    /* the plan that this text has */
	struct rd_verdict last; /* verdict of the last round, which includes all of them */
	struct pl_granted *granted;
	size_t n;
};

/* Optimise the plan of n bytes; `name` stands for the file, and faults are written as by pl_plan_parse.
 * CM_ECONFIG: the plan is at fault, or no round says what is wanted.  CM_EBUDGET: the other rounds, or the
 * least numbers there are, do not fit.  Free in any case. */
CM_CHECK enum cm_rc pl_optimise(const uint8_t *bytes, size_t n, const char *name, FILE *faults,
	struct pl_optimised *out, struct cm_err *err);
void pl_optimised_fini(struct pl_optimised *o);
