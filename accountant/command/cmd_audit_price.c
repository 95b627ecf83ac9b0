/* cmd_audit_price.c - what the rounds of a ledger cost: each by itself, with all before it, and all at its
 * end. */
#include <math.h>
#include <stdlib.h>

#include "cmd_audit.h"

bool cmd_audit_same_loss(const struct cmd_record *x, const struct cmd_record *y)
{
	size_t i = 0;

	while (i < x->parts && i < y->parts && x->part[i].count == y->part[i].count &&
		acct_round_equal(&x->part[i], &y->part[i]))
		i++;
	return i == x->parts && i == y->parts;
}

/* A row of the same plan with the same loss, whose answers can be copied; NULL for none. */
static const struct cmd_audit_row *like(const struct cmd_audit *a, size_t plan, const struct cmd_record *r)
{
	for (size_t i = 0; i < a->rows; i++)
		if (a->row[i].plan == plan && cmd_audit_same_loss(&a->row[i].reserved, r))
			return &a->row[i];
	return NULL;
}

/* The loss of the round alone. */
static enum acct_rc alone(
	const struct cmd_audit *a, size_t plan, const struct cmd_record *r, struct acct_bound *out)
{
	const struct cmd_audit_row *row = like(a, plan, r);

	if (!row)
		return acct_epsilon(r->part, r->parts, a->plan[plan].planned.delta, out);
	*out = row->alone;
	return ACCT_OK;
}

/* A filter's price of the round: the sum over its parts. */
static enum acct_rc price_of(
	const struct cmd_audit *a, size_t plan, const struct cmd_record *r, struct acct_price *out)
{
	const struct cmd_audit_row *row = like(a, plan, r);
	struct acct_price sum = { 0, 0 }, one;
	enum acct_rc rc = ACCT_OK;

	for (size_t i = 0; !row && !rc && i < r->parts; i++) {
		rc = acct_filter_price(&a->plan[plan].filter, &r->part[i], &one);
		if (!rc)
			sum = acct_price_add(sum, one);
	}
	if (!rc)
		*out = row ? row->price : sum;
	return rc;
}

/* The share of the filter's budget that is held. */
static struct acct_price prices(const struct cmd_audit *a, size_t plan)
{
	struct acct_price sum = { 0, 0 };

	for (size_t i = 0; i < a->rows; i++)
		if (a->row[i].plan == plan && !a->row[i].returned)
			sum = acct_price_add(sum, a->row[i].price);
	return sum;
}

enum acct_rc cmd_audit_price(struct cmd_audit *a, struct cmd_audit_row *row)
{
	const struct cmd_record *r = &row->reserved;
	struct cmd_audit_plan *p = &a->plan[row->plan];
	enum acct_rc rc = alone(a, row->plan, r, &row->alone);

	if (rc)
		return rc;
	if (p->filter.kind) {
		rc = price_of(a, row->plan, r, &row->price);
		row->share = acct_price_share(acct_price_add(prices(a, row->plan), row->price));
		return rc;
	}
	for (size_t i = 0; i < r->parts && !rc; i++)
		rc = acct_state_add(p->state, &r->part[i]);
	return rc ? rc : acct_state_epsilon(p->state, NULL, &row->total);
}

/* Adds to round[n], joining equal rounds; returns how many there are then. */
static size_t join(struct acct_round *round, size_t n, const struct acct_round *more)
{
	size_t k = 0;

	while (k < n && !acct_round_equal(&round[k], more))
		k++;
	if (k < n)
		round[k].count += more->count;
	else
		round[n++] = *more;
	return n;
}

/* Composes the rounds that hold budget, with the same question as the analyzer's. */
static enum acct_rc ask_together(const struct cmd_audit *a, struct acct_bound *out)
{
	struct acct_round *round;
	size_t room = 1, n = 0;

	for (size_t i = 0; i < a->rows; i++)
		room += a->row[i].reserved.parts;
	round = calloc(room, sizeof *round);
	if (!round)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < a->rows; i++)
		for (size_t k = 0; a->row[i].stage != CMD_VOID && k < a->row[i].reserved.parts; k++)
			n = join(round, n, &a->row[i].reserved.part[k]);
	enum acct_rc rc = acct_epsilon(round, n, a->opened.delta, out);
	free(round);
	return rc;
}

int cmd_audit_total(struct cmd_audit *a)
{
	struct acct_bound again;
	enum acct_rc rc;

	if (a->records == 0)
		return cmd_ledger_fault(a->ledger, 1, "the ledger is empty");
	if (cmd_audit_adaptive(a)) {
		a->share = acct_price_share(prices(a, 0));
		a->over = a->over || a->share > 1;
	}
	if (a->opened.slices)
		return 0;
	if (a->plan[0].filter.kind) {
		a->spent.upper = a->share > 1 ? (double)INFINITY : a->share > 0 ? a->opened.limit : 0;
		return 0;
	}
	rc = acct_state_epsilon(a->plan[0].state, NULL, &a->spent);
	if (!rc && !(a->spent.upper <= a->opened.limit) && cmd_audit_held(a) > 0) {
		rc = ask_together(a, &again);
		if (!rc && again.upper < a->spent.upper)
			a->spent.upper = again.upper;
		if (!rc && again.lower > a->spent.lower)
			a->spent.lower = again.lower;
	}
	if (rc)
		return cmd_fail(rc == ACCT_ENOMEM ? CMD_INTERNAL : CMD_DATA,
			"the total cannot be computed: %s", acct_strerror(rc));
	a->over = a->over || !(a->spent.upper <= a->opened.limit); /* NaN counts as over */
	return 0;
}
