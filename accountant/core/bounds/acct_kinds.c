/* acct_kinds.c - rounds whose reports have laws of a few kinds: doc/imitation.md.
 *
 * Each of the others is "thin" with chance eta = L/n: its report is drawn from the blanket, and else from (R
 * - eta blanket/W)/(1 - eta).  The victim pretends to be a thin participant.  Given how many are thin, R > 0,
 * it may be at any of n-R places. */
#include "acct_kinds.h"

#include <math.h>
#include <stdlib.h>

#include "acct_below.h"
#include "acct_invert.h"
#include "acct_ladder.h"
#include "acct_places.h"
#include "acct_thin.h"
#include "acct_triples.h"
#include "acct_words.h"

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

struct acct_triples *acct_kinds_triples(const struct acct_list *l)
{
	double p = 1;

	for (size_t j = 0; j < l->cells; j++)
		p = fmax(p, l->cell[j].u);
	return acct_triples_new(l->kinds, l->shape, p);
}

static void set_kind(const struct acct_triples *t, size_t i, struct acct_kind *k)
{
	k->atoms = 0;
	for (unsigned c = 0; c < ACCT_CLASSES; c++) {
		double first = c & 1 ? t->p : 1, second = c & 2 ? t->p : 1, other = c & 4 ? t->p : 1;

		if (t->triple[i].mass[c] > 0)
			k->atom[k->atoms++] = (struct acct_atom){ t->triple[i].mass[c] * other, first / other,
				second / other, other };
	}
}

void acct_kinds_ends(const struct acct_triples *t, struct acct_kinds *k)
{
	for (size_t i = 0; i < t->ends; i++)
		set_kind(t, i, &k->kind[k->kinds++]);
}

static void triples(const struct acct_list *l, struct acct_kinds *k)
{
	struct acct_triples *t = acct_kinds_triples(l);

	if (t)
		acct_kinds_ends(t, k);
	free(t);
}

void acct_kinds_of(const struct acct_list *l, struct acct_kinds *k)
{
	*k = (struct acct_kinds){ 0 };
	if (l->kinds == ACCT_SETS)
		sets(l, k);
	else if (acct_are_triples(l->kinds))
		triples(l, k);
}

void acct_kinds_thin(struct acct_kind *k, double part, double eta)
{
	for (size_t j = 0; j < k->atoms; j++) {
		struct acct_atom *a = &k->atom[j];
		double scale = (1 - part / a->ratio) / (1 - eta);

		a->mass *= scale;
		a->u /= scale;
		a->v /= scale;
	}
}

double acct_kinds_work(const struct acct_kinds *k)
{
	size_t atoms = 0;

	for (size_t i = 0; i < k->kinds; i++)
		atoms += k->kind[i].atoms;
	return acct_places_least_work(k->kinds, atoms);
}

double acct_kinds_largest(const struct acct_kinds *k, double places, double eps, double most, double *work)
{
	struct acct_place kind[ACCT_KINDS];
	double p[ACCT_KINDS][ACCT_ATOMS], x[ACCT_KINDS][ACCT_ATOMS];
	struct acct_places of = { .kinds = k->kinds, .kind = kind, .free = places };
	double grown = expm1(eps);

	for (size_t i = 0; i < k->kinds; i++) {
		kind[i] = (struct acct_place){ k->kind[i].atoms, p[i], x[i] };
		for (size_t j = 0; j < k->kind[i].atoms; j++) {
			const struct acct_atom *a = &k->kind[i].atom[j];

			p[i][j] = a->mass;
			x[i][j] = (a->u - a->v) - grown * a->v;
		}
	}
	return acct_places_largest(&of, most, work);
}

struct acct_known {
	struct acct_kinds kinds;
	struct acct_triples *triples;
	struct acct_list held;
};

struct question {
	const struct acct_list *list;
	const struct acct_kinds *kinds;
	const struct acct_triples *triples;
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

/* To the kinds of the ends, thinned (`part` of the blanket, eta in all), add those of all others that may
 * lose more at this eps.  False: too many, or no memory. */
static bool between(const struct acct_triples *t, double part, double eta, double eps,
	struct acct_kinds *thin, double *work)
{
	struct acct_below *ends = acct_below_new(thin, eps, work);
	struct acct_kind k;
	bool enough = ends != NULL;

	for (size_t i = t->ends; i < t->all && enough; i++) {
		set_kind(t, i, &k);
		acct_kinds_thin(&k, part, eta);
		enough = acct_below_try(ends, &k, thin, work);
	}
	free(ends);
	return enough;
}

bool acct_kinds_tried(const struct acct_triples *t, const struct acct_kinds *k, double part, double eta,
	double eps, struct acct_kinds *thin, double *work)
{
	*thin = *k;
	for (size_t i = 0; i < thin->kinds; i++)
		acct_kinds_thin(&thin->kind[i], part, eta);
	return !t || between(t, part, eta, eps, thin, work);
}

static bool bounds(void *ctx, const struct acct_thin *t, double *good, double *bad)
{
	struct question *q = ctx;
	double part = t->eta / q->list->blanket;

	if (!(part < 0.5))
		return false;
	double places = q->n - t->few;
	if (q->list->kinds == ACCT_LADDER)
		*good = acct_ladder_largest(q->list, part, t->eta, places, q->eps, q->most, &q->work);
	else if (q->list->kinds == ACCT_WORDS)
		*good = acct_words_largest(q->list, part, t->eta, places, q->eps, q->most, &q->work);
	else if (acct_kinds_tried(q->triples, q->kinds, part, t->eta, q->eps, q->thin, &q->work))
		*good = acct_kinds_largest(q->thin, places, q->eps, q->most, &q->work);
	else
		return false;
	*bad = by_cells(q, q->n - t->many, (1 - part) / (1 - t->eta));
	return true;
}

/* What a bound costs at the least. */
static double least_work(const struct acct_list *l, const struct acct_known *k)
{
	double others = k->triples ? (double)(k->triples->all - k->triples->ends) : 0;

	if (l->kinds == ACCT_LADDER)
		return acct_ladder_work(l);
	if (l->kinds == ACCT_WORDS)
		return acct_words_work(l);
	return acct_kinds_work(&k->kinds) + (others > 0 ? acct_below_work(&k->kinds, others) : 0);
}

/* An upper bound on H; *hi is at most the trivial bound.  guess: for L.  Returns the work done. */
static double kinds_at(const struct acct_list *l, const struct acct_known *k, struct acct_guess guess,
	double eps, double most, double *hi)
{
	double share = exp(-eps) / (1 + exp(-eps)), best = 1;
	struct acct_kinds *thin = least_work(l, k) < most ? malloc(sizeof *thin) : NULL;
	struct question q = { l, &k->kinds, k->triples, thin, 1 + l->others, eps, most, 100 };

	if (thin)
		best = acct_thin_least(q.n, guess, bounds, &q, most, &q.work);
	*hi = fmin(share, best * share * (1 + 1e-12));
	free(thin);
	return q.work;
}

void acct_kinds_most(const struct acct_kinds *k, struct acct_round *r)
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
	r->cells = 0;
	for (size_t j = 0; j < k->kind[best].atoms; j++) {
		const struct acct_atom *a = &k->kind[best].atom[j];

		r->cell[r->cells++] = (struct acct_cell){ a->mass, a->u, a->v };
	}
}

enum acct_rc acct_kinds_new(const struct acct_list *l, struct acct_known **out)
{
	struct acct_known *k = calloc(1, sizeof *k);
	struct acct_round *r = calloc(1, sizeof *r);
	enum acct_rc rc = k && r ? ACCT_OK : ACCT_ENOMEM;

	if (!rc) {
		if (acct_are_triples(l->kinds)) {
			k->triples = acct_kinds_triples(l);
			rc = k->triples ? ACCT_OK : ACCT_ENOMEM;
			if (!rc)
				acct_kinds_ends(k->triples, &k->kinds);
		} else {
			acct_kinds_of(l, &k->kinds);
		}
		if (l->kinds == ACCT_LADDER)
			acct_ladder_held(l, r);
		else if (l->kinds == ACCT_WORDS)
			acct_words_held(l, r);
		else
			acct_kinds_most(&k->kinds, r);
		r->others = (uint64_t)l->others;
		r->count = 1;
		rc = acct_list_init(&k->held, r, NULL);
	}
	free(r);
	if (rc)
		acct_kinds_free(k);
	else
		*out = k;
	return rc;
}

void acct_kinds_free(struct acct_known *k)
{
	if (k)
		free(k->triples);
	free(k);
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
	work += kinds_at(l, k, acct_thin_guess(at, &cells, l->blanket, eps), eps, most, &hi);
	at->hi = fmin(cells.hi, hi);
	return work;
}
