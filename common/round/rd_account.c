/* rd_account.c - the rounds charged so far and whether one more fits. */
#include "rd_account.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_state.h"

/* A total this close below the limit is refused too, so that parties whose libm differ in a last digit agree.
 */
#define MARGIN 1e-12

/* The kept answer depends, within its tolerance, on the questions before it.  This close to the limit the
 * rounds alone decide, so that all parties come to one verdict. */
#define NEAR (2 * ACCT_STATE_WIDTH)

/* Rounds with the same cells are kept once. */
struct group {
	struct acct_round round;
	size_t members;
};
struct entry {
	uint8_t id[PR_ROUND_ID_LEN];
	uint64_t count;
	size_t group;
};
/* What is known of the account as it stands; not part of its state. */
struct memo {
	bool known;
	double spent;
};
struct rd_account {
	double limit, delta;
	struct acct_state *state; /* every entry, composed */
	struct group *group;
	size_t groups, group_cap;
	struct entry *entry;
	size_t entries, entry_cap;
	struct memo *memo;
};

struct rd_account *rd_account_new(double limit, double delta)
{
	struct rd_account *a = calloc(1, sizeof *a);

	if (a == NULL)
		return NULL;
	a->memo = calloc(1, sizeof *a->memo);
	a->state = a->memo != NULL ? acct_state_new(delta) : NULL;
	if (a->state == NULL) {
		rd_account_free(a);
		return NULL;
	}
	a->limit = limit;
	a->delta = delta;
	return a;
}

void rd_account_free(struct rd_account *a)
{
	if (a == NULL)
		return;
	acct_state_free(a->state);
	free(a->group);
	free(a->entry);
	free(a->memo);
	free(a);
}

/* Same numbers, whatever the count.  Two that differ only in the order of cells stay apart here. */
static bool same_round(const struct acct_round *a, const struct acct_round *b)
{
	if (a->cells != b->cells || a->others != b->others || a->dummies != b->dummies ||
		a->levels != b->levels || a->defect != b->defect || a->sampling != b->sampling)
		return false;
	for (size_t i = 0; i < a->cells; i++)
		if (a->cell[i].omega != b->cell[i].omega || a->cell[i].u != b->cell[i].u ||
			a->cell[i].v != b->cell[i].v)
			return false;
	for (size_t i = 0; i < a->levels; i++)
		if (a->level[i].share != b->level[i].share || a->level[i].count != b->level[i].count)
			return false;
	return true;
}

static size_t find_group(const struct rd_account *a, const struct acct_round *round)
{
	size_t i = 0;

	while (i < a->groups && !same_round(&a->group[i].round, round))
		i++;
	return i;
}

static size_t find_entry(const struct rd_account *a, const uint8_t id[PR_ROUND_ID_LEN])
{
	size_t i = 0;

	while (i < a->entries && memcmp(a->entry[i].id, id, PR_ROUND_ID_LEN) != 0)
		i++;
	return i;
}

static enum cm_rc refused(enum acct_rc rc, struct cm_err *err)
{
	return cm_fail(err, CM_EINTERNAL, "accountant: %s", acct_strerror(rc));
}

enum cm_rc rd_account_add(struct rd_account *a, const uint8_t round_id[PR_ROUND_ID_LEN],
	const struct acct_round *round, struct cm_err *err)
{
	const char *why = "";
	struct entry *entries, *e;
	struct group *groups;
	enum acct_rc rc;
	size_t g;

	if (acct_round_check(round, &why) != ACCT_OK)
		return cm_fail(err, CM_EINTERNAL, "accountant: %s", why);
	if (find_entry(a, round_id) < a->entries)
		return cm_fail(err, CM_EDATA, "the round is in the account already");
	entries = cm_grow(a->entry, a->entries, &a->entry_cap, sizeof *entries);
	a->entry = entries != NULL ? entries : a->entry;
	groups = cm_grow(a->group, a->groups, &a->group_cap, sizeof *groups);
	a->group = groups != NULL ? groups : a->group;
	if (entries == NULL || groups == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	rc = acct_state_add(a->state, round);
	if (rc != ACCT_OK)
		return refused(rc, err);
	g = find_group(a, round);
	if (g == a->groups)
		a->group[a->groups++] = (struct group){ .round = *round };
	a->group[g].members++;
	e = &a->entry[a->entries++];
	memcpy(e->id, round_id, PR_ROUND_ID_LEN);
	e->count = round->count;
	e->group = g;
	a->memo->known = false;
	return CM_OK;
}

enum cm_rc rd_account_remove(struct rd_account *a, const uint8_t round_id[PR_ROUND_ID_LEN])
{
	size_t i = find_entry(a, round_id), g;

	if (i == a->entries)
		return CM_OK;
	g = a->entry[i].group;
	a->group[g].round.count = a->entry[i].count;
	/* It was added with these very numbers; were it not there, too much would be counted, not too little.
	 */
	if (acct_state_remove(a->state, &a->group[g].round) != ACCT_OK)
		(void)0;
	a->entry[i] = a->entry[--a->entries];
	if (--a->group[g].members == 0) {
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

/* NaN cannot pass for an epsilon. */
static enum cm_rc take(enum acct_rc rc, const struct acct_bound *b, double *epsilon, struct cm_err *err)
{
	if (rc != ACCT_OK)
		return refused(rc, err);
	if (isnan(b->upper) || b->upper < 0.0)
		return cm_fail(err, CM_EINTERNAL, "accountant: the answer is no epsilon");
	*epsilon = b->upper;
	return CM_OK;
}

/* Everything in the account and the candidate, as a function of nothing else. */
static enum cm_rc compose_settled(
	const struct rd_account *a, const struct acct_round *candidate, double *epsilon, struct cm_err *err)
{
	struct acct_bound b = { 0, 0 };
	enum acct_rc rc = acct_state_add(a->state, candidate);

	if (rc != ACCT_OK)
		return refused(rc, err);
	acct_state_rebuild(a->state);
	rc = acct_state_epsilon(a->state, NULL, &b);
	if (acct_state_remove(a->state, candidate) != ACCT_OK)
		return cm_fail(err, CM_EINTERNAL, "accountant: the candidate cannot be taken back");
	return take(rc, &b, epsilon, err);
}

static enum cm_rc compose_with(
	const struct rd_account *a, const struct acct_round *candidate, double *epsilon, struct cm_err *err)
{
	struct acct_bound b = { 0, 0 };
	enum cm_rc rc = take(acct_state_epsilon(a->state, candidate, &b), &b, epsilon, err);

	if (rc == CM_OK && fabs(*epsilon - a->limit) <= NEAR * a->limit)
		rc = compose_settled(a, candidate, epsilon, err);
	return rc;
}

enum cm_rc rd_account_spent(const struct rd_account *a, double *epsilon, struct cm_err *err)
{
	struct acct_bound b = { 0, 0 };
	enum cm_rc rc;

	if (!a->memo->known) {
		rc = take(acct_state_epsilon(a->state, NULL, &b), &b, &a->memo->spent, err);
		if (rc != CM_OK)
			return rc;
		a->memo->known = true;
	}
	*epsilon = a->memo->spent;
	return CM_OK;
}

static bool within(const struct rd_account *a, double total)
{
	return total < a->limit * (1.0 - MARGIN);
}

enum cm_rc rd_account_judge(const struct rd_account *a, const struct acct_round *candidate,
	struct rd_verdict *out, struct cm_err *err)
{
	struct rd_verdict v = { .limit = a->limit, .delta = a->delta };
	struct acct_bound alone = { 0, 0 };
	enum cm_rc rc = rd_account_spent(a, &v.spent, err);

	if (rc == CM_OK)
		rc = take(acct_epsilon(candidate, 1, a->delta, &alone), &alone, &v.epsilon_round, err);
	v.total = v.epsilon_round;
	if (rc == CM_OK && a->entries > 0)
		rc = compose_with(a, candidate, &v.total, err);
	if (rc != CM_OK)
		return rc;
	v.fits = within(a, v.total);
	v.left = a->limit > v.spent ? a->limit - v.spent : 0.0;
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
	const struct pt_query *q, const struct pt_request *request, double epsilon0, uint64_t honest,
	bool *fits, struct cm_err *err)
{
	struct pt_request r = *request;
	struct pt_params params = { 0 };
	struct acct_round round = { 0 };
	struct acct_bound alone = { 0, 0 };
	struct cm_err ignored;
	double total;
	enum cm_rc rc;

	*fits = false;
	r.epsilon0 = epsilon0;
	if (protocol->derive(q, &r, &params, &ignored) != CM_OK)
		return CM_OK;
	if (protocol->cells(&params, honest, &round, &ignored) != CM_OK)
		return CM_OK;
	round.count = 1;
	rc = take(acct_epsilon(&round, 1, a->delta, &alone), &alone, &total, err);
	/* What is too much alone need not be composed. */
	if (rc == CM_OK && a->entries > 0 && alone.lower < a->limit)
		rc = compose_with(a, &round, &total, err);
	if (rc == CM_OK)
		*fits = within(a, total);
	return rc;
}

enum cm_rc rd_account_largest_epsilon0(const struct rd_account *a, const struct pt_protocol *protocol,
	const struct pt_query *q, const struct pt_request *r, uint64_t honest, double *epsilon0,
	struct cm_err *err)
{
	int low = -1, high = STEPS; /* low fits (or none does), high does not (or is past the end) */

	/* Most often asked about a request that does not fit; what is above it is dear to compute. */
	if (isfinite(r->epsilon0)) {
		bool fits;
		enum cm_rc rc = try_epsilon0(a, protocol, q, r, r->epsilon0, honest, &fits, err);

		if (rc != CM_OK)
			return rc;
		while (!fits && high > 0 && step(high - 1) >= r->epsilon0)
			high--;
	}
	while (high - low > 1) {
		int mid = low + (high - low) / 2;
		bool fits;
		enum cm_rc rc = try_epsilon0(a, protocol, q, r, step(mid), honest, &fits, err);

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
