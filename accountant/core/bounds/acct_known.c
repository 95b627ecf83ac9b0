/* acct_known.c - bounds rounds all of whose laws are known: doc/imitation.md.
 *
 * Each of the n participants but the victim is imagined to be "thin" with chance eta.  A thin participant's
 * report is drawn from a law F with eta F nowhere above the blanket, any other from (R - eta F)/(1 - eta),
 * where R is the law of its report; together this is R.  The victim imitates a thin participant.  Given that
 * B > 0 others are thin, its report may be at any of the places of the other n-B. */
#include "acct_known.h"

#include <math.h>
#include <stdlib.h>

#include "acct_family.h"
#include "acct_invert.h"

struct acct_known {
	const struct acct_family *family;
	void *kept;
	struct acct_list held;
	struct acct_list plain; /* the round's list as if everybody took part, but for plain.present */
};

struct question {
	const struct acct_list *list;
	const struct acct_known *known;
	double n, eps, most, work;
};

/* Bound delta of n participants by the cells, of which thinning leaves the part `left`.  Silence is not
 * thinned. */
static double by_cells(struct question *q, double n, double left)
{
	const struct acct_list *l = q->list;
	struct acct_round *r = calloc(1, sizeof *r);
	double delta = 1;

	for (size_t j = 0; r && j < l->cells; j++)
		r->cell[r->cells++] = (struct acct_cell){ l->cell[j].omega * left * l->present,
			l->cell[j].u / left, l->cell[j].v / left };
	if (r && l->present < 1)
		r->cell[r->cells++] = (struct acct_cell){ 1 - l->present, 1, 1 };
	if (r)
		delta = acct_thin_cells(r, n, q->eps, q->most, &q->work);
	free(r);
	return delta;
}

static bool bounds(void *ctx, const struct acct_thin *t, double *good, double *bad)
{
	struct question *q = ctx;
	const struct acct_family *family = q->known->family;
	struct acct_thinned thinned = {
		.eta = t->eta, .places = q->n - t->few, .eps = q->eps, .most = q->most
	};
	double quiet = family->quiet ? family->quiet(q->list, &thinned.first) : 0;

	thinned.share = acct_shares_of(t->eta, q->list->blanket, quiet, thinned.first);
	if (!(thinned.share.quiet < 1))
		return false;
	if (!family->largest(q->list, q->known->kept, &thinned, good, &q->work))
		return false;
	if (bad)
		*bad = by_cells(q, q->n - t->many, (1 - thinned.share.quiet) / (1 - t->eta));
	return true;
}

/* Set *hi to an upper bound on H, at most the trivial bound (1-y)/2.  guess helps to choose the
 * stages.  Returns the work done. */
static double above(const struct acct_list *l, const struct acct_known *k, struct acct_guess guess,
	double eps, double most, double *hi)
{
	double share = exp(-eps) / (1 + exp(-eps)), best = 1;
	struct question q = { &k->plain, k, 1 + l->others, eps, most, 100 };

	if (k->family->work(&k->plain, k->kept) < most)
		best = acct_thin_least(q.n, k->plain.blanket, guess, bounds, &q, most, &q.work);
	*hi = fmin(share, best * share * (1 + 1e-12));
	return q.work;
}

static void set_plain(const struct acct_list *l, struct acct_list *plain)
{
	*plain = *l;
	if (!(l->present < 1))
		return;
	plain->cells--;
	plain->blanket = 0;
	for (size_t j = 0; j < plain->cells; j++) {
		plain->cell[j].omega /= l->present;
		plain->blanket += plain->cell[j].omega;
	}
}

enum acct_rc acct_known_new(const struct acct_list *l, struct acct_known **out)
{
	struct acct_known *k = calloc(1, sizeof *k);
	struct acct_round *r = calloc(1, sizeof *r);
	enum acct_rc rc = k && r ? ACCT_OK : ACCT_ENOMEM;

	if (!rc) {
		k->family = l->family;
		set_plain(l, &k->plain);
		rc = l->family->open(&k->plain, &k->kept, r);
	}
	if (!rc && l->present < 1)
		rc = r->cells < ACCT_MAX_CELLS ? ACCT_OK : ACCT_ELIMIT;
	if (!rc) {
		for (size_t j = 0; j < r->cells; j++)
			r->cell[j].omega *= l->present;
		if (l->present < 1)
			r->cell[r->cells++] = (struct acct_cell){ 1 - l->present, 1, 1 };
		r->others = (uint64_t)l->others;
		r->count = 1;
		rc = acct_list_init(&k->held, r, NULL);
	}
	free(r);
	if (rc)
		acct_known_free(k);
	else
		*out = k;
	return rc;
}

void acct_known_free(struct acct_known *k)
{
	if (k && k->kept)
		k->family->close(k->kept);
	free(k);
}

double acct_known_held_at(
	const struct acct_known *k, double eps, double most, double width, struct acct_point *at)
{
	struct acct_point other;
	double work = acct_invert_within(&k->held, eps, false, most, width, at);

	work += acct_invert_within(&k->held, eps, true, most, width, &other);
	if (other.lo > at->lo)
		*at = other;
	return work;
}

double acct_known_at(const struct acct_list *l, const struct acct_known *k, double eps, double most,
	double width, struct acct_point *at)
{
	struct acct_point cells;
	double hi, work = acct_known_held_at(k, eps, most, width, at);

	work += acct_invert_within(l, eps, false, most, width, &cells);
	work += above(l, k, acct_thin_guess(at, &cells, l->blanket, eps), eps, most, &hi);
	at->hi = fmin(cells.hi, hi);
	return work;
}
