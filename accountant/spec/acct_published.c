/* acct_published.c (acct_spec.h) - the published two-count reduction, for comparison with papers only. */
#include <math.h>
#include <string.h>

#include "acct_cells.h"
#include "acct_fault.h"
#include "acct_spec.h"

/* the residual's cell takes all mass that the two special cells leave: rest/q2 = 1 - 2pa/q (acct_spec.h) */
enum acct_rc acct_spec_published(const struct acct_spec *s, struct acct_round *r, const char **why)
{
	if (s->unpublished)
		return acct_fault(
			why, "nothing is published of noise that a shuffler draws, or of classes apart");
	if (!(s->p > 1) || s->round.levels > 0)
		return acct_fault(why, "the published reduction needs one (p, beta, q) for all participants");
	double pa = s->beta / (1 - 1 / s->p), rest = 1 - pa * (1 + 1 / s->p);
	double q2 = rest > 1e-14 ? fmin(s->q, rest / (1 - 2 * pa / s->q)) : s->q;
	struct acct_round pair = s->round;
	enum acct_rc rc;

	/* data sets of the round are not data sets of the pair, so forget what is known of them */
	if (pair.messages > ACCT_BITS_OF_LEVELS)
		pair.messages = ACCT_ANY_MESSAGES;
	pair.family = NULL;
	pair.present = 0;
	memset(pair.shape, 0, sizeof pair.shape);
	rc = acct_cells_pair(s->p, s->beta, s->q, q2, &pair, why);

	if (rc)
		return rc;
	if (q2 < s->q) /* in the reduction every message beside the two counts is taken for the residual */
		acct_cells_fill(pair.cell, pair.cells);
	pair.others += pair.dummies; /* a dummy's law is also at least max(R0, R1)/q */
	pair.dummies = 0;
	*r = pair;
	return ACCT_OK;
}
