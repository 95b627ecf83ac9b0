/* rd_judge.c - whether one more round fits an account. */
#include "rd_account_private.h"

#include <math.h>
#include <string.h>

#include "acct_decimal.h"

/* A total this close below the limit is refused too, so that parties whose libm differ in a last digit
 * agree. */
#define MARGIN 1e-12

/* The kept answer depends, within its tolerance, on the questions before it.  This close to the limit the
 * rounds alone decide, so that all parties come to one verdict. */
#define NEAR (2 * ACCT_STATE_WIDTH)

/* A double may differ from its decimal by 2^-53 of itself. */
#define ROUNDING 0x1p-50

/* The sum of the local guarantees of everything in the account and the candidate (NULL: none) as decimals, so
 * that ten rounds of 0.1 are 1, the same for all parties; INFINITY where one has none.  A randomizer's
 * chances are derived from the double, so its true guarantee may exceed the decimal by a rounding.  A round
 * that is (e + h, 0)-indistinguishable is (e, h)-indistinguishable, so delta pays for that where it is not
 * less. */
static double pure_with(const struct rd_account *a, const struct pt_loss *candidate)
{
	double sum = candidate ? candidate->pure : 0;

	if (candidate && !(candidate->pure > 0))
		return INFINITY;
	for (size_t i = 0; i < a->groups; i++) {
		if (!(a->group[i].pure > 0))
			return INFINITY;
		sum = acct_decimal_add(sum, acct_decimal_times(a->group[i].pure, a->group[i].members));
	}
	return sum * ROUNDING <= a->delta ? sum : (double)INFINITY;
}

/* NaN cannot pass for an epsilon. */
static enum cm_rc take(enum acct_rc rc, const struct acct_bound *b, double *epsilon, struct cm_err *err)
{
	if (rc != ACCT_OK)
		return rd_account_refused(rc, err);
	if (isnan(b->upper) || b->upper < 0.0)
		return cm_fail(err, CM_EINTERNAL, "accountant: the answer is not a valid epsilon");
	*epsilon = b->upper;
	return CM_OK;
}

/* Everything in the account and the candidate, as a function of nothing else. */
static enum cm_rc compose_settled(
	const struct rd_account *a, const struct pt_loss *candidate, double *epsilon, struct cm_err *err)
{
	struct acct_bound b = { 0, 0 };
	enum acct_rc rc = rd_account_state_add(a->state, candidate->part, candidate->parts);

	if (rc != ACCT_OK)
		return rd_account_refused(rc, err);
	acct_state_rebuild(a->state);
	rc = acct_state_epsilon_with(a->state, NULL, 0, &b);
	if (rd_account_state_remove(a->state, candidate->part, candidate->parts) != ACCT_OK)
		return cm_fail(err, CM_EINTERNAL, "accountant: the candidate cannot be removed");
	return take(rc, &b, epsilon, err);
}

static enum cm_rc compose_with(
	const struct rd_account *a, const struct pt_loss *candidate, double *epsilon, struct cm_err *err)
{
	struct acct_bound b = { 0, 0 };
	enum acct_rc asked = acct_state_epsilon_with(a->state, candidate->part, candidate->parts, &b);
	enum cm_rc rc = take(asked, &b, epsilon, err);

	if (rc == CM_OK && fabs(*epsilon - a->limit) <= NEAR * a->limit)
		rc = compose_settled(a, candidate, epsilon, err);
	return rc;
}

/* ---- adaptive ---- */

/* Parts are rounds to a filter: what they cost adds up. */
static enum cm_rc price_of(const struct rd_account *a, const struct acct_round *part, size_t n,
	struct acct_price *out, struct cm_err *err)
{
	struct acct_price sum = { 0, 0 };

	for (size_t i = 0; i < n; i++) {
		struct acct_price p;
		enum acct_rc rc = acct_filter_price(&a->filter, &part[i], &p);

		if (rc != ACCT_OK)
			return rd_account_refused(rc, err);
		sum = acct_price_add(sum, p);
	}
	*out = sum;
	return CM_OK;
}

static enum cm_rc entry_price(
	const struct rd_account *a, const struct entry *e, struct acct_price *out, struct cm_err *err)
{
	struct group *g = &a->group[e->group];
	enum cm_rc rc = g->priced ? CM_OK : price_of(a, g->part, g->parts, &g->price, err);

	g->priced = rc == CM_OK;
	if (rc == CM_OK)
		*out = g->price;
	return rc;
}

enum cm_rc rd_account_share_of(const struct rd_account *a, const uint8_t round_id[PR_ROUND_ID_LEN],
	double *share, struct cm_err *err)
{
	size_t i = rd_account_entry(a, round_id);
	struct acct_price price;
	enum cm_rc rc;

	if (i == a->entries || !rd_account_is_adaptive(a))
		return cm_fail(err, CM_EDATA, "no such round in an adaptive account");
	rc = entry_price(a, &a->entry[i], &price, err);
	if (rc == CM_OK)
		*share = acct_price_share(price);
	return rc;
}

static enum cm_rc sum_of_prices(const struct rd_account *a, struct acct_price *sum, struct cm_err *err)
{
	enum cm_rc rc = CM_OK;

	*sum = (struct acct_price){ 0, 0 };
	for (size_t i = 0; i < a->entries && rc == CM_OK; i++) {
		struct acct_price p;

		rc = entry_price(a, &a->entry[i], &p, err);
		if (rc == CM_OK)
			*sum = acct_price_add(*sum, p);
	}
	return rc;
}

/* The price of a candidate, which may be of a kind that is known. */
static enum cm_rc candidate_price(const struct rd_account *a, const struct pt_loss *candidate,
	struct acct_price *out, struct cm_err *err)
{
	size_t g = rd_account_group(a, candidate);

	if (g == a->groups || !a->group[g].priced)
		return price_of(a, candidate->part, candidate->parts, out, err);
	*out = a->group[g].price;
	return CM_OK;
}

/* What a filter says of everything in the account and the candidate (NULL: none). */
static enum cm_rc judge_filter(
	const struct rd_account *a, const struct pt_loss *candidate, struct rd_verdict *v, struct cm_err *err)
{
	struct acct_price before, more = { 0, 0 }, sum;
	enum cm_rc rc = sum_of_prices(a, &before, err);

	if (rc == CM_OK && candidate)
		rc = candidate_price(a, candidate, &more, err);
	if (rc != CM_OK)
		return rc;
	sum = acct_price_add(before, more);
	v->adaptive = true;
	v->share = acct_price_share(more);
	v->share_spent = acct_price_share(before);
	v->share_total = acct_price_share(sum);
	v->fits = acct_price_fits(sum);
	v->spent = a->entries > 0 ? a->limit : 0.0;
	v->total = v->fits ? a->limit : (double)INFINITY;
	v->left = a->limit - v->spent;
	return CM_OK;
}

enum cm_rc rd_account_share(const struct rd_account *a, double *share, struct cm_err *err)
{
	struct rd_verdict v = { .limit = a->limit };
	enum cm_rc rc = rd_account_is_adaptive(a) ? judge_filter(a, NULL, &v, err)
						  : rd_account_spent(a, &v.spent, err);

	if (rc == CM_OK)
		*share = rd_account_is_adaptive(a) ? v.share_spent : v.spent / a->limit;
	return rc;
}

/* ---- */

enum cm_rc rd_account_spent(const struct rd_account *a, double *epsilon, struct cm_err *err)
{
	struct acct_bound b = { 0, 0 };
	enum cm_rc rc;

	if (rd_account_is_adaptive(a)) {
		*epsilon = a->entries > 0 ? a->limit : 0.0;
		return CM_OK;
	}
	if (!a->memo->known) {
		rc = take(acct_state_epsilon_with(a->state, NULL, 0, &b), &b, &a->memo->spent, err);
		if (rc != CM_OK)
			return rc;
		a->memo->spent = fmin(a->memo->spent, pure_with(a, NULL));
		a->memo->known = true;
	}
	*epsilon = a->memo->spent;
	return CM_OK;
}

/* *total: the loss of everything and the candidate as composed; lowered to the sum of the guarantees. */
static bool within(const struct rd_account *a, const struct pt_loss *candidate, double *total)
{
	double sum = pure_with(a, candidate);
	bool fits = *total < a->limit * (1.0 - MARGIN) || sum <= a->limit;

	*total = fmin(*total, sum);
	return fits;
}

enum cm_rc rd_account_judge(const struct rd_account *a, const struct pt_loss *candidate,
	struct rd_verdict *out, struct cm_err *err)
{
	struct rd_verdict v = { .limit = a->limit, .delta = a->delta };
	struct acct_bound alone = { 0, 0 };
	enum cm_rc rc = rd_account_check(candidate, err);

	if (rc == CM_OK)
		rc = rd_account_spent(a, &v.spent, err);
	if (rc == CM_OK)
		rc = take(acct_epsilon(candidate->part, candidate->parts, a->delta, &alone), &alone,
			&v.epsilon_round, err);
	if (rc == CM_OK && rd_account_is_adaptive(a)) {
		rc = judge_filter(a, candidate, &v, err);
		if (rc == CM_OK)
			*out = v;
		return rc;
	}
	v.total = v.epsilon_round;
	if (rc == CM_OK && a->entries > 0)
		rc = compose_with(a, candidate, &v.total, err);
	if (rc != CM_OK)
		return rc;
	v.fits = within(a, candidate, &v.total);
	if (candidate->pure > 0 && candidate->pure * ROUNDING <= a->delta)
		v.epsilon_round = fmin(v.epsilon_round, candidate->pure);
	v.left = a->limit > v.spent ? a->limit - v.spent : 0.0;
	v.share = v.epsilon_round / a->limit;
	v.share_spent = v.spent / a->limit;
	v.share_total = v.total / a->limit;
	*out = v;
	return CM_OK;
}

/* The numbers of three significant digits from 0.00100 up to 99.9, in order. */
#define STEPS 4500
static double step(int i)
{
	static const double unit[] = { 1e5, 1e4, 1e3, 1e2, 1e1 };

	return (100 + i % 900) / unit[i / 900];
}

/* *fits: would the query fit at this epsilon0?  A value for which the protocol has no parameters does not
 * fit. */
static enum cm_rc try_epsilon0(const struct rd_account *a, const struct pt_protocol *protocol,
	const struct qy_query *q, const struct pt_request *request, double epsilon0, const struct rd_batch *b,
	bool *fits, struct cm_err *err)
{
	struct pt_request r = *request;
	struct pt_randomizer p = { 0 };
	struct pt_loss loss;
	struct acct_bound alone = { 0, 0 };
	struct cm_err ignored;
	double total;
	enum cm_rc rc;

	*fits = false;
	r.epsilon0 = epsilon0;
	if (pt_derive(protocol, q, &r, &p, &ignored) != CM_OK)
		return CM_OK;
	if (rd_loss_of(&p, b, &loss, &ignored) != CM_OK)
		return CM_OK;
	if (rd_account_is_adaptive(a)) {
		struct rd_verdict v = { .limit = a->limit };

		rc = judge_filter(a, &loss, &v, err);
		if (rc == CM_OK)
			*fits = v.fits;
		return rc;
	}
	rc = take(acct_epsilon(loss.part, loss.parts, a->delta, &alone), &alone, &total, err);
	/* What is too much alone need not be composed. */
	if (rc == CM_OK && a->entries > 0 && alone.lower < a->limit)
		rc = compose_with(a, &loss, &total, err);
	if (rc == CM_OK)
		*fits = within(a, &loss, &total);
	return rc;
}

enum cm_rc rd_account_largest_epsilon0(const struct rd_account *a, const struct pt_protocol *protocol,
	const struct qy_query *q, const struct pt_request *r, const struct rd_batch *b,
	const atomic_bool *stop, double *epsilon0, struct cm_err *err)
{
	int low = -1, high = STEPS; /* low fits (or none does), high does not (or is past the end) */

	/* Most often asked about a request that does not fit; what is above it is dear to compute. */
	if (isfinite(r->epsilon0)) {
		bool fits;
		enum cm_rc rc = try_epsilon0(a, protocol, q, r, r->epsilon0, b, &fits, err);

		if (rc != CM_OK)
			return rc;
		while (!fits && high > 0 && step(high - 1) >= r->epsilon0)
			high--;
	}
	while (high - low > 1) {
		int mid = low + (high - low) / 2;
		bool fits;
		enum cm_rc rc;

		if (stop && atomic_load(stop))
			return cm_fail(err, CM_ELATER, "stopping");
		rc = try_epsilon0(a, protocol, q, r, step(mid), b, &fits, err);

		if (rc != CM_OK)
			return rc;
		if (fits)
			low = mid;
		else
			high = mid;
	}
	*epsilon0 = low < 0 ? 0.0 : step(low);
	return CM_OK;
}
