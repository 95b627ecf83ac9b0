/* acct_kinds.c - rounds whose reports have laws of a few kinds: doc/imitation.md.
 *
 * Each of the others is "thin" with chance eta = L/n: its report is drawn from the blanket, and else from (R
 * - eta blanket/W)/(1 - eta).  The victim pretends to be a thin participant.  Given how many are thin, R > 0,
 * it may be at any of n-R places. */
#include "acct_kinds.h"

#include <math.h>
#include <stdlib.h>

#include "acct_invert.h"
#include "acct_places.h"
#include "acct_thin.h"

#define LEAST_BLANKET 150.0 /* n W below which thinning costs more than is won */

bool acct_kinds_help(const struct acct_list *l)
{
	return 1 + l->others > 500 && (1 + l->others) * l->blanket >= LEAST_BLANKET;
}

static void add_atom(struct acct_kind *k, double mass, double u, double v, double ratio)
{
	if (mass > 0 && k->atoms < ACCT_ATOMS)
		k->atom[k->atoms++] = (struct acct_atom){ mass, u, v, ratio };
}

/* Every law is the blanket or p times it.  Of the blanket, `apart` is likelier under one alone of every two
 * inputs, `both` under both.  A third input shares `triple` with both: the kinds are linear in it, so its
 * ends are enough.  Of the blanket it shares both - triple with the first alone, as much with the second
 * alone, triple with both, and apart - both + triple with neither. */
static void sets(const struct acct_list *r, struct acct_kinds *k)
{
	double p = 1, apart = 0, both = 0, none = 0, with, without;

	for (size_t j = 0; j < r->cells; j++)
		p = fmax(p, r->cell[j].u);
	for (size_t j = 0; j < r->cells; j++) { /* u and v are 1 or p, rounded */
		const struct acct_cell *c = &r->cell[j];
		bool first = c->u > sqrt(p), second = c->v > sqrt(p);

		if (first != second)
			apart = c->omega;
		else
			*(first ? &both : &none) = c->omega;
	}
	for (int first = 0; first < 2; first++) {
		struct acct_kind *at = &k->kind[k->kinds++];

		add_atom(at, p * apart, first ? 1 / p : 1, first ? 1 : 1 / p, p);
		add_atom(at, apart, first ? p : 1, first ? 1 : p, 1);
		add_atom(at, p * both, 1, 1, p);
		add_atom(at, none, 1, 1, 1);
	}
	with = fmax(0, both - r->triple);
	without = apart - with;
	/* Else there is no third input; a remainder of rounding is none.  A kind too many does no harm. */
	if (!(without >= -1e-9 * apart && none - without >= -1e-9 * apart))
		return;
	without = fmax(0, without);
	add_atom(&k->kind[2], p * with, 1, 1 / p, p);
	add_atom(&k->kind[2], p * with, 1 / p, 1, p);
	add_atom(&k->kind[2], without, p, 1, 1);
	add_atom(&k->kind[2], without, 1, p, 1);
	add_atom(&k->kind[2], p * r->triple, 1, 1, p);
	add_atom(&k->kind[2], with, p, p, 1);
	add_atom(&k->kind[2], p * without, 1 / p, 1 / p, p);
	add_atom(&k->kind[2], fmax(0, none - without), 1, 1, 1);
	k->kinds = 3;
}

static double choose(double m, double i)
{
	double c = 1;

	for (double j = 0; j < i; j++)
		c = c * (m - j) / (j + 1);
	return c;
}

/* s signs, of which the victim's two inputs differ in `first` + `second`, and of these the other's is the
 * first input's in `first`; of the rest it is not theirs in `against`.  One is kept with chance g/(1+g). */
static void words_kind(struct acct_kind *k, double s, double first, double second, double against, double g)
{
	double with = s - first - second - against, down = pow(1 + g, -s);

	/* i, j, l: how many of each are flipped; of the `with` any number, which tells only the ratio. */
	for (double i = 0; i <= first; i++)
		for (double j = 0; j <= second; j++)
			for (double l = 0; l <= against; l++)
				for (double m = 0; m <= with; m++) {
					double kept = s - i - j - l - m, away = pow(g, 2 * l - against);
					double chance = choose(first, i) * choose(second, j) *
							choose(against, l) * choose(with, m) * pow(g, kept) *
							down;

					add_atom(k, chance, away * pow(g, 2 * j - second),
						away * pow(g, 2 * i - first), pow(g, kept));
				}
}

static void words(const struct acct_list *r, struct acct_kinds *k)
{
	double s = (double)r->cells - 1, g = 1;

	for (size_t j = 0; j < r->cells; j++)
		g = fmax(g, pow(r->cell[j].u, 1 / s));
	if (s > 3)
		return;
	for (double away = s; away >= 0; away--)
		for (double first = away; first >= 0; first--)
			for (double against = s - away; against >= 0; against--)
				words_kind(&k->kind[k->kinds++], s, first, away - first, against, g);
}

void acct_kinds_of(const struct acct_list *l, struct acct_kinds *k)
{
	*k = (struct acct_kinds){ 0 };
	if (l->kinds == ACCT_SETS)
		sets(l, k);
	else if (l->kinds == ACCT_WORDS)
		words(l, k);
}

double acct_kinds_largest(const struct acct_kinds *k, double places, double eps, double most, double *work)
{
	struct acct_places of = { .kinds = k->kinds, .free = places };

	for (size_t i = 0; i < k->kinds; i++) {
		of.kind[i].atoms = k->kind[i].atoms;
		for (size_t j = 0; j < k->kind[i].atoms; j++) {
			const struct acct_atom *a = &k->kind[i].atom[j];

			of.kind[i].p[j] = a->mass;
			of.kind[i].x[j] = (a->u - a->v) - expm1(eps) * a->v;
		}
	}
	return acct_places_largest(&of, most, work);
}

struct question {
	const struct acct_list *list;
	const struct acct_kinds *kinds;
	struct acct_kinds *thin;
	double n, eps, most, work;
};

/* delta of n participants by the blanket that thinning leaves. */
static double by_cells(struct question *q, double n, double left)
{
	const struct acct_list *l = q->list;
	struct acct_round *r = calloc(1, sizeof *r);
	double delta = 1;

	for (size_t j = 0; r && j < l->cells; j++)
		r->cell[r->cells++] = (struct acct_cell){ l->cell[j].omega * left, l->cell[j].u / left,
			l->cell[j].v / left };
	if (r)
		delta = acct_thin_cells(r, n, q->eps, q->most, &q->work);
	free(r);
	return delta;
}

static bool bounds(void *ctx, const struct acct_thin *t, double *good, double *bad)
{
	struct question *q = ctx;
	double part = t->eta / q->list->blanket;

	if (!(part < 0.5))
		return false;
	*q->thin = *q->kinds;
	for (size_t i = 0; i < q->thin->kinds; i++)
		for (size_t j = 0; j < q->thin->kind[i].atoms; j++) {
			struct acct_atom *a = &q->thin->kind[i].atom[j];
			double scale = (1 - part / a->ratio) / (1 - t->eta);

			a->mass *= scale;
			a->u /= scale;
			a->v /= scale;
		}
	*good = acct_kinds_largest(q->thin, q->n - t->few, q->eps, q->most, &q->work);
	*bad = by_cells(q, q->n - t->many, (1 - part) / (1 - t->eta));
	return true;
}

double acct_kinds_at(const struct acct_list *l, const struct acct_kinds *k, struct acct_guess guess,
	double eps, double most, double *hi)
{
	double share = exp(-eps) / (1 + exp(-eps)), best = 1;
	struct acct_kinds *thin = malloc(sizeof *thin);
	struct question q = { l, k, thin, 1 + l->others, eps, most, 100 };

	if (thin)
		best = acct_thin_least(q.n, guess, bounds, &q, most, &q.work);
	*hi = fmin(share, best * share * (1 + 1e-12));
	free(thin);
	return q.work;
}

struct acct_known {
	struct acct_kinds kinds;
	struct acct_list held;
};

/* In the limit of many participants: sum (R0 - R1)^2 / R is the largest. */
static size_t loses_most(const struct acct_kinds *k)
{
	double most = -1;
	size_t best = 0;

	for (size_t i = 0; i < k->kinds; i++) {
		double sum = 0;

		for (size_t j = 0; j < k->kind[i].atoms; j++) {
			const struct acct_atom *a = &k->kind[i].atom[j];

			sum += a->mass * (a->u - a->v) * (a->u - a->v);
		}
		if (sum > most) {
			most = sum;
			best = i;
		}
	}
	return best;
}

enum acct_rc acct_kinds_new(const struct acct_list *l, struct acct_known **out)
{
	struct acct_known *k = calloc(1, sizeof *k);
	struct acct_round *r = calloc(1, sizeof *r);
	enum acct_rc rc = k && r ? ACCT_OK : ACCT_ENOMEM;

	if (!rc) {
		const struct acct_kind *most;

		acct_kinds_of(l, &k->kinds);
		most = &k->kinds.kind[loses_most(&k->kinds)];
		r->others = (uint64_t)l->others;
		r->count = 1;
		for (size_t j = 0; j < most->atoms; j++) {
			const struct acct_atom *a = &most->atom[j];

			r->cell[r->cells++] = (struct acct_cell){ a->mass, a->u, a->v };
		}
		rc = acct_list_init(&k->held, r, NULL);
	}
	free(r);
	if (rc)
		free(k);
	else
		*out = k;
	return rc;
}

double acct_kinds_held_at(
	const struct acct_known *k, double eps, double most, double width, struct acct_point *at)
{
	struct acct_point other;
	double work = acct_invert_within(&k->held, eps, false, most, width, at);

	work += acct_invert_within(&k->held, eps, true, most, width, &other);
	if (other.lo > at->lo)
		*at = other;
	return work;
}

double acct_kinds_curve_at(const struct acct_list *l, const struct acct_known *k, double eps, double most,
	double width, struct acct_point *at)
{
	struct acct_point cells;
	double hi, work = acct_kinds_held_at(k, eps, most, width, at);

	work += acct_invert_within(l, eps, false, most, width, &cells);
	work += acct_kinds_at(l, &k->kinds, acct_thin_guess(at, &cells, l->blanket, eps), eps, most, &hi);
	at->hi = fmin(cells.hi, hi);
	return work;
}
