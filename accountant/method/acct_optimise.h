/* acct_optimise.h - divides a budget among rounds by how well each must answer.
 *
 * A round's text has at most one open key: eps0=?, sigma=? or scale=?. The search looks for values with the
 * least error as in acct_share.h: either the least sum, over the open rounds, of weight times squared
 * error, or the least value of the largest multiple of a target.  The result was composed by acct_epsilon
 * from the texts with the values filled in, and its upper end is within the budget: that is the guarantee.
 * That no other values within the budget do better is true to a thousandth of the error, and only as far as
 * the log moments of the losses at one order decide about epsilon, which they nearly do.  Equal rounds get
 * equal values, and a larger budget never gives a larger error, except for the rounding to six digits.
 *
 * Equal questions have equal answers.  Cost: the laws of 100 values of each open round, and about 30
 * compositions. */
#pragma once

#include "acct_share.h"

#ifdef __cplusplus
extern "C" {
#endif

struct acct_wish {
	const char *text; /* text of the round, less than ACCT_SPEC_MAX bytes */
	/* above 0: weight of the squared error, or the error that is aimed at; only for open rounds */
	double weight;
};

struct acct_granted {
	bool open;
	double value; /* value of the open key, as in text; NAN: the round has no open key */
	double error; /* error by acct_share_error */
	char text[ACCT_SPEC_MAX];
};

/* Read a text, as acct_spec_parts does. */
typedef enum acct_rc acct_read_fn(
	const char *text, struct acct_spec part[ACCT_SPEC_PARTS], size_t *parts, char *why, size_t room);

/* Find values for n wishes, 1..1024, of which at least one is open, and write one element of out for each.
 * epsilon > 0, delta (0, 1).  targets: the weights are errors that are aimed at.  *total is the loss of all
 * rounds together; if no values fit, its upper end is INFINITY and out is undefined.  On ACCT_EDOMAIN why
 * holds one sentence, and *at is the wish that it is about, or n. */
ACCT_CHECK enum acct_rc acct_optimise(const struct acct_wish *wish, size_t n, bool targets, double epsilon,
	double delta, acct_read_fn *read, struct acct_granted *out, struct acct_bound *total, size_t *at,
	char *why, size_t room);

#ifdef __cplusplus
}
#endif
