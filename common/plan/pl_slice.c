/* pl_slice.c - finds the slice that a plan's rounds use, and warns of one that is larger. */
#include "pl_slice.h"

#include <math.h>

#include "acct_state.h"
#include "cm_round.h"

#define PLACES      4
#define SIGNIFICANT 3 /* digits of a slice behind the first significant one */
#define WIDE        1.05

/* As many places as show the number to a ten-thousandth, or to four digits if it is small. */
static int places(double epsilon)
{
	int exponent = epsilon > 0 ? (int)floor(log10(epsilon)) : 0;
	int n = SIGNIFICANT - exponent;

	return n < PLACES ? PLACES : n > 9 ? 9 : n;
}

/* The verdict on round n of the first n, in a new account, so that it depends on nothing but these rounds. */
static enum cm_rc judge_last(
	const struct pl_plan *p, size_t n, double limit, struct rd_verdict *out, struct cm_err *err)
{
	struct rd_account *a = rd_account_new(limit, p->delta);
	enum cm_rc rc = a ? CM_OK : cm_fail(err, CM_EINTERNAL, "out of memory");
	struct pt_loss loss;

	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		uint8_t id[PR_ROUND_ID_LEN] = { 0 };

		cm_put_le32(id, p->round[i].number);
		if (!pl_repeats(p, i))
			rc = pl_round_loss(p, &p->round[i], &loss, err);
		if (rc == CM_OK)
			rc = i + 1 < n ? rd_account_add(a, id, &loss, err)
				       : rd_account_judge(a, &loss, out, err);
	}
	rd_account_free(a);
	return rc;
}

static enum cm_rc too_much(const struct pl_plan *p, double total, struct cm_err *err)
{
	return cm_fail(err, CM_ECONFIG,
		"the rounds cost epsilon %.4f together at delta %g, and a plan takes %g at most: take rounds "
		"out, or lower their epsilon0",
		cm_round_up(total, PLACES), p->delta, PL_EPSILON_MAX);
}

/* Judge round n beside those before it, and raise *limit until it fits. */
static enum cm_rc raise(
	const struct pl_plan *p, size_t n, double *limit, struct rd_verdict *v, struct cm_err *err)
{
	enum cm_rc rc = judge_last(p, n, *limit, v, err);

	while (rc == CM_OK && !v->fits) {
		int digits = places(*limit);

		*limit = fmax(cm_round_up(v->total, digits), cm_round_up(*limit * (1 + 1e-12), digits));
		rc = *limit <= PL_EPSILON_MAX ? judge_last(p, n, *limit, v, err) : too_much(p, v->total, err);
	}
	return rc;
}

/* The total of all rounds decides.  Where the last ones add less than an answer's width, the upper bound on
 * those before them may be above that on all. */
enum cm_rc pl_slice_find(const struct pl_plan *p, double *epsilon, struct cm_err *err)
{
	struct rd_verdict v;
	size_t n = p->rounds;
	enum cm_rc rc = judge_last(p, n, PL_EPSILON_MAX, &v, err);
	double limit;

	if (rc == CM_OK && !v.fits)
		rc = too_much(p, v.total, err);
	if (rc != CM_OK)
		return rc;
	limit = fmin(cm_round_up(v.total, places(v.total)), PL_EPSILON_MAX);
	do
		rc = raise(p, n, &limit, &v, err);
	while (rc == CM_OK && v.total > limit * (1 - 2 * ACCT_STATE_WIDTH) && --n > 0);
	*epsilon = limit;
	return rc;
}

bool pl_slice_wide(double epsilon, double used)
{
	return epsilon > WIDE * used;
}

void pl_slice_warn(const struct pl_plan *p, double used, FILE *out)
{
	double exact = cm_round_up(used, places(used));

	if (rd_mode_filter(p->mode) != 0 || p->exact || !(used > 0) || !pl_slice_wide(p->epsilon, used))
		return;
	(void)fprintf(
		out, "warning: the slice is epsilon %g and its accepted rounds use %g: ", p->epsilon, exact);
	(void)fprintf(out,
		"signing it loses the other %g for life; without 'budget.epsilon' a plan takes exactly what "
		"its rounds use\n",
		cm_round_down(p->epsilon - exact, places(p->epsilon - exact)));
}
