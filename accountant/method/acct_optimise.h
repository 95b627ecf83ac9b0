/* acct_optimise.h - allocates a budget over rounds by how well each must answer.
 *
 * A round's text has at most one open key: eps0=?, sigma=? or scale=?.  Values are searched for which the
 * error of acct_share.h is least: the sum over the open rounds of weight times its square; or its largest
 * multiple of a target.  What comes out was composed by acct_epsilon from the texts with the values in them,
 * and its upper end is within the budget: that is the guarantee.  That no other values within the budget do
 * better holds as far as the log moments of the losses at one order decide about epsilon, as they nearly do:
 * to a thousandth of the error.  Equal rounds get equal values, and a larger budget never a larger error, but
 * for digits.
 *
 * Deterministic: equal questions have equal answers.  Cost: the laws of 100 values of each open round,
 * and about 30 compositions. */
#pragma once

#include "acct_share.h"

#ifdef __cplusplus
extern "C" {
#endif

struct acct_wish {
	const char *text; /* of the round, less than ACCT_SPEC_MAX bytes */
	double weight;    /* above 0: of the squared error; or the error that is aimed at.  Of open rounds */
};

struct acct_granted {
	bool open;
	double value; /* of the open key, as in text; NAN if there is none */
	double error; /* acct_share_error */
	char text[ACCT_SPEC_MAX];
};

/* Reads a text, as acct_spec_parts does. */
typedef enum acct_rc acct_read_fn(
	const char *text, struct acct_spec part[ACCT_SPEC_PARTS], size_t *parts, char *why, size_t room);

/* n wishes, 1..1024, at least one of them open, into as many elements of out.  epsilon > 0, delta (0, 1).
 * targets: weights are errors that are aimed at.  *total: of all rounds together; its upper end is INFINITY,
 * and out is undefined, where no values fit.  ACCT_EDOMAIN: why holds one sentence, and *at the wish that it
 * is about, n where it is none. */
ACCT_CHECK enum acct_rc acct_optimise(const struct acct_wish *wish, size_t n, bool targets, double epsilon,
	double delta, acct_read_fn *read, struct acct_granted *out, struct acct_bound *total, size_t *at,
	char *why, size_t room);

#ifdef __cplusplus
}
#endif
