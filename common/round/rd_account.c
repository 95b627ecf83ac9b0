/* rd_account.c - keeps the losses of the rounds charged so far, composes them, and judges whether one more
 * fits. */
#include "rd_account.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_decimal.h"
#include "acct_state.h"

/* a total this close below the limit is refused, too, so that parties whose libm differ in a last digit
 * decide alike */
#define MARGIN 1e-12

/* A kept answer depends, within its tolerance, on the questions before it.  If it is this close to the
 * limit, the answer is computed anew from the rounds alone, so that all parties come to one verdict. */
#define NEAR (2 * ACCT_STATE_WIDTH)

/* covers the relative difference of a double from its decimal, which is at most 2^-53 */
#define ROUNDING 0x1p-50

/* Rounds with the same loss are kept once. */
struct group {
	struct acct_round *part; /* the parts of its loss, owned */
	size_t parts;
	double pure; /* pt_loss.pure of one round of the group */
	size_t members;
	bool priced;
	struct acct_price price; /* adaptive: price of one round of the group */
};
struct entry {
	uint8_t id[PR_ROUND_ID_LEN];
	size_t group;
};
/* Values computed from the account, kept so that they need not be computed again. */
struct memo {
	bool known;
	double spent;
};
struct rd_account {
	double limit, delta;
	char mode[RD_MODE_LEN];
	struct acct_state *state;  /* mode plan: the composition of every entry; NULL in adaptive modes */
	struct acct_filter filter; /* adaptive modes: the filter that keeps the slice */
	struct group *group;
	size_t groups, group_cap;
	struct entry *entry;
	size_t entries, entry_cap;
	struct memo *memo;
};

static bool is_adaptive(const struct rd_account *a)
{
	return !a->state;
}

/* Convert the accountant's error to ours. */
static enum cm_rc refused(enum acct_rc rc, struct cm_err *err)
{
	return cm_fail(err, CM_EINTERNAL, "accountant: %s", acct_strerror(rc));
}

struct rd_account *rd_account_new_mode(double limit, double delta, const char *mode)
{
	struct rd_account *a = calloc(1, sizeof *a);
	enum acct_filter_kind kind = rd_mode_filter(mode);
	bool ok;

	if (!a)
		return NULL;
	a->memo = calloc(1, sizeof *a->memo);
	if (kind == 0)
		a->state = a->memo ? acct_state_new(delta) : NULL;
	ok = kind == 0 ? a->state != NULL
		       : a->memo && acct_filter_init(kind, fmin(limit, ACCT_FILTER_MOST_EPSILON), delta,
					    &a->filter) == ACCT_OK;
	if (!ok) {
		rd_account_free(a);
		return NULL;
	}
	rd_mode_text(kind, a->mode);
	a->limit = limit;
	a->delta = delta;
	return a;
}

struct rd_account *rd_account_new(double limit, double delta)
{
	return rd_account_new_mode(limit, delta, RD_MODE_PLAN);
}

void rd_account_free(struct rd_account *a)
{
	if (!a)
		return;
	acct_state_free(a->state);
	for (size_t i = 0; i < a->groups; i++)
		free(a->group[i].part);
	free(a->group);
	free(a->entry);
	free(a->memo);
	free(a);
}

static bool same_loss(const struct group *g, const struct pt_loss *loss)
{
	size_t i = 0;

	if (g->pure < loss->pure || g->pure > loss->pure)
		return false;
	while (i < loss->parts && i < g->parts && g->part[i].count == loss->part[i].count &&
		acct_round_equal(&g->part[i], &loss->part[i]))
		i++;
	return i == loss->parts && i == g->parts;
}

/* The index of the group with this loss; a->groups if there is none.  Losses that differ only in the order
 * of cells or parts are separate groups. */
static size_t group_of(const struct rd_account *a, const struct pt_loss *loss)
{
	size_t i = 0;

	while (i < a->groups && !same_loss(&a->group[i], loss))
		i++;
	return i;
}

/* The index of this round's entry; a->entries if there is none. */
static size_t entry_of(const struct rd_account *a, const uint8_t id[PR_ROUND_ID_LEN])
{
	size_t i = 0;

	while (i < a->entries && memcmp(a->entry[i].id, id, PR_ROUND_ID_LEN) != 0)
		i++;
	return i;
}

/* Remove the first n of these parts from the state again. */
static enum acct_rc state_remove(struct acct_state *s, const struct acct_round *part, size_t n)
{
	enum acct_rc rc = ACCT_OK;
	size_t removed = 0;

	while (removed < n && (rc = acct_state_remove(s, &part[removed])) == ACCT_OK)
		removed++;
	return rc;
}

/* Add every part to the state, or none. */
static enum acct_rc state_add(struct acct_state *s, const struct acct_round *part, size_t n)
{
	enum acct_rc rc = ACCT_OK;
	size_t added = 0;

	while (added < n && (rc = acct_state_add(s, &part[added])) == ACCT_OK)
		added++;
	/* parts that were just added can be removed */
	if (rc != ACCT_OK && state_remove(s, part, added) != ACCT_OK)
		return ACCT_EDOMAIN;
	return rc;
}

/* Check that a round can have this loss.  CM_EINTERNAL: it cannot. */
static enum cm_rc check_loss(const struct pt_loss *loss, struct cm_err *err)
{
	const char *why = "";

	if (loss->parts < 1 || loss->parts > PT_PARTS_MAX)
		return cm_fail(err, CM_EINTERNAL, "accountant: a round of %zu parts", loss->parts);
	for (size_t i = 0; i < loss->parts; i++)
		if (acct_round_check(&loss->part[i], &why) != ACCT_OK)
			return cm_fail(err, CM_EINTERNAL, "accountant: %s", why);
	return CM_OK;
}

/* Make room for one more group and entry, and allocate *part for a new group. */
static enum cm_rc make_room(
	struct rd_account *a, const struct pt_loss *loss, struct acct_round **part, struct cm_err *err)
{
	struct entry *entries = cm_grow(a->entry, a->entries, &a->entry_cap, sizeof *entries);
	struct group *groups = cm_grow(a->group, a->groups, &a->group_cap, sizeof *groups);

	a->entry = entries ? entries : a->entry;
	a->group = groups ? groups : a->group;
	*part = calloc(loss->parts, sizeof **part);
	if (entries && groups && *part)
		return CM_OK;
	free(*part);
	*part = NULL;
	return cm_fail(err, CM_EINTERNAL, "out of memory");
}

enum cm_rc rd_account_add(struct rd_account *a, const uint8_t round_id[PR_ROUND_ID_LEN],
	const struct pt_loss *loss, struct cm_err *err)
{
	struct acct_round *part;
	enum cm_rc checked = check_loss(loss, err);
	enum acct_rc rc = ACCT_OK;
	struct entry *e;
	size_t g;

	if (checked == CM_OK && entry_of(a, round_id) < a->entries)
		checked = cm_fail(err, CM_EDATA, "the round is in the account already");
	if (checked == CM_OK)
		checked = make_room(a, loss, &part, err);
	if (checked != CM_OK)
		return checked;
	if (!is_adaptive(a))
		rc = state_add(a->state, loss->part, loss->parts);
	if (rc != ACCT_OK) {
		free(part);
		return refused(rc, err);
	}
	g = group_of(a, loss);
	if (g == a->groups) {
		memcpy(part, loss->part, loss->parts * sizeof *part);
		a->group[a->groups++] =
			(struct group){ .part = part, .parts = loss->parts, .pure = loss->pure };
	} else {
		free(part);
	}
	a->group[g].members++;
	e = &a->entry[a->entries++];
	memcpy(e->id, round_id, PR_ROUND_ID_LEN);
	e->group = g;
	a->memo->known = false;
	return CM_OK;
}

enum cm_rc rd_account_remove(struct rd_account *a, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	size_t i = entry_of(a, round_id), g;

	if (i == a->entries)
		return CM_OK;
	g = a->entry[i].group;
	if (!is_adaptive(a) && state_remove(a->state, a->group[g].part, a->group[g].parts) != ACCT_OK)
		return CM_EINTERNAL;
	a->entry[i] = a->entry[--a->entries];
	if (--a->group[g].members == 0) {
		free(a->group[g].part);
		a->group[g] = a->group[--a->groups];
		for (size_t k = 0; k < a->entries; k++)
			if (a->entry[k].group == a->groups)
				a->entry[k].group = g;
	}
	a->memo->known = false;
	return CM_OK;
}

size_t rd_account_rounds(const struct rd_account *a)
{
	return a->entries;
}

/* ---- whether one more round fits ---- */

/* The sum, as decimals, of the local guarantees of everything in the account and the candidate (NULL: there
 * is none).  So ten rounds of 0.1 are exactly 1, for all parties.  INFINITY if a round has no guarantee.  A
 * randomizer's chances are derived from the double, so its true guarantee may exceed the decimal by a
 * rounding error h.  A round that is (e + h, 0)-indistinguishable is (e, h)-indistinguishable, so delta
 * pays for that unless it is smaller. */
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

/* A NaN must not pass for an epsilon. */
static enum cm_rc take(enum acct_rc rc, const struct acct_bound *b, double *epsilon, struct cm_err *err)
{
	if (rc != ACCT_OK)
		return refused(rc, err);
	if (isnan(b->upper) || b->upper < 0.0)
		return cm_fail(err, CM_EINTERNAL, "accountant: the answer is not a valid epsilon");
	*epsilon = b->upper;
	return CM_OK;
}

/* Compose everything in the account and the candidate, as a function of these alone. */
static enum cm_rc compose_settled(
	const struct rd_account *a, const struct pt_loss *candidate, double *epsilon, struct cm_err *err)
{
	struct acct_bound b = { 0, 0 };
	enum acct_rc rc = state_add(a->state, candidate->part, candidate->parts);

	if (rc != ACCT_OK)
		return refused(rc, err);
	acct_state_rebuild(a->state);
	rc = acct_state_epsilon_with(a->state, NULL, 0, &b);
	if (state_remove(a->state, candidate->part, candidate->parts) != ACCT_OK)
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

/* ---- the same of an adaptive account ---- */

/* A filter treats parts as rounds: what they cost adds up. */
static enum cm_rc price_of(const struct rd_account *a, const struct acct_round *part, size_t n,
	struct acct_price *out, struct cm_err *err)
{
	struct acct_price sum = { 0, 0 };

	for (size_t i = 0; i < n; i++) {
		struct acct_price p;
		enum acct_rc rc = acct_filter_price(&a->filter, &part[i], &p);

		if (rc != ACCT_OK)
			return refused(rc, err);
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
	size_t i = entry_of(a, round_id);
	struct acct_price price;
	enum cm_rc rc;

	if (i == a->entries || !is_adaptive(a))
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

/* The price of a candidate, which is known if an equal round was priced before. */
static enum cm_rc candidate_price(const struct rd_account *a, const struct pt_loss *candidate,
	struct acct_price *out, struct cm_err *err)
{
	size_t g = group_of(a, candidate);

	if (g == a->groups || !a->group[g].priced)
		return price_of(a, candidate->part, candidate->parts, out, err);
	*out = a->group[g].price;
	return CM_OK;
}

/* What a filter says about everything in the account and the candidate (NULL: there is none). */
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
	enum cm_rc rc = is_adaptive(a) ? judge_filter(a, NULL, &v, err) : rd_account_spent(a, &v.spent, err);

	if (rc == CM_OK)
		*share = is_adaptive(a) ? v.share_spent : v.spent / a->limit;
	return rc;
}

enum cm_rc rd_account_spent(const struct rd_account *a, double *epsilon, struct cm_err *err)
{
	struct acct_bound b = { 0, 0 };
	enum cm_rc rc;

	if (is_adaptive(a)) {
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

/* *total is the composed loss of everything and the candidate; it is lowered to the sum of the
 * guarantees. */
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
	enum cm_rc rc = check_loss(candidate, err);

	if (rc == CM_OK)
		rc = rd_account_spent(a, &v.spent, err);
	if (rc == CM_OK)
		rc = take(acct_epsilon(candidate->part, candidate->parts, a->delta, &alone), &alone,
			&v.epsilon_round, err);
	if (rc == CM_OK && is_adaptive(a)) {
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

/* The number of values of three significant digits from 0.00100 up to 99.9, in order. */
#define STEPS 4500
static double step(int i)
{
	static const double unit[] = { 1e5, 1e4, 1e3, 1e2, 1e1 };

	return (100 + i % 900) / unit[i / 900];
}

/* *fits: would the query fit with this epsilon0?  A value for which the protocol has no parameters does not
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
	if (is_adaptive(a)) {
		struct rd_verdict v = { .limit = a->limit };

		rc = judge_filter(a, &loss, &v, err);
		if (rc == CM_OK)
			*fits = v.fits;
		return rc;
	}
	rc = take(acct_epsilon(loss.part, loss.parts, a->delta, &alone), &alone, &total, err);
	/* If it is too much alone, it need not be composed. */
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
	/* `low` fits, or is -1; `high` does not fit, or is past the last index */
	int low = -1, high = STEPS;

	/* This is nearly always asked about a request that does not fit; larger values are expensive to
	 * compute. */
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
