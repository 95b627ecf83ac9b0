/* acct_words.c - bounds the loss of words of s signs. */
#include "acct_words.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "acct_cells.h"
#include "acct_families.h"
#include "acct_places.h"

#define MOST 16u /* most signs in a word: with more there would be too many kinds; 16 signs have 152 */

static_assert((MOST + 1) * (MOST + 2) / 2 - 1 <= ACCT_PLACES_KINDS, "there is room for the kinds");

struct words {
	size_t s;
	double power[2 * MOST + 1];        /* power[i + s] is g^i */
	double choose[MOST + 1][MOST + 1]; /* choose[m][i] is the number of ways to choose i of m */
	double chance[MOST + 1]; /* the chance of one word in which a given number of signs are flipped */
	/* the same for thinned reports, and the factor by which thinning raises u and v: [1] where the word
	 * is one of the victim's two inputs, else [0] */
	double mass[2][MOST + 1], over[2][MOST + 1];
	double grown; /* E - 1, where E = e^eps */
	double *room;
	size_t kinds;
	struct acct_place kind[ACCT_PLACES_KINDS];
};

/* Set the chances of the words.  A sign is kept with chance g/(1+g); share and eta are as
 * in struct acct_thinned. */
static void set_words(const struct acct_list *l, struct acct_shares share, double eta, struct words *w)
{
	double most = 1;

	w->s = l->cells - 1;
	w->kinds = 0;
	for (size_t j = 0; j < l->cells; j++)
		most = fmax(most, l->cell[j].u);
	long double step = logl(most) / (long double)w->s, down = powl(1 + expl(step), -(long double)w->s);
	for (size_t i = 0; i <= 2 * w->s; i++)
		w->power[i] = (double)expl(step * ((long double)i - (long double)w->s));
	for (size_t t = 0; t <= w->s; t++) {
		double kept = w->power[2 * w->s - t];

		w->chance[t] = (double)(down * expl(step * (long double)(w->s - t)));
		for (int own = 0; own < 2; own++) {
			double scale = (1 - (own ? share.loud : share.quiet) / kept) / (1 - eta);

			w->mass[own][t] = w->chance[t] * scale;
			w->over[own][t] = 1 / scale;
		}
	}
	for (size_t m = 0; m <= w->s; m++) {
		w->choose[m][0] = 1;
		for (size_t i = 0; i < m; i++)
			w->choose[m][i + 1] = w->choose[m][i] * (double)(m - i) / (double)(i + 1);
	}
}

/* Add the kind of the other's input that has these numbers of signs (acct_words.h).  i, j and k count the
 * flipped signs in each of its three groups: like the first input's, like the second's, and unlike both. */
static void put_kind(struct words *w, size_t first, size_t second)
{
	size_t against = w->s - first - second, atoms = 0;
	double *p = w->room, *x = p + (first + 1) * (second + 1) * (against + 1);
	const double *power = w->power;

	for (size_t i = 0; i <= first; i++)
		for (size_t j = 0; j <= second; j++)
			for (size_t k = 0; k <= against; k++) {
				size_t to = w->s + 2 * k - against, flipped = i + j + k;
				bool own =
					k == against && ((i == 0 && j == second) || (i == first && j == 0));
				double u = power[to + 2 * j - second], v = power[to + 2 * i - first];

				p[atoms] = w->choose[first][i] * w->choose[second][j] *
					   w->choose[against][k] * w->mass[own][flipped];
				x[atoms++] = ((u - v) - w->grown * v) * w->over[own][flipped];
			}
	w->room = x + atoms;
	w->kind[w->kinds++] = (struct acct_place){ atoms, p, x };
}

/* The number of atoms of all kinds together: C(s+5, 5) for all (first, second, against), less the kind in
 * which the victim's two inputs are the same. */
static size_t atoms_of(size_t s)
{
	size_t all = 1;

	for (size_t i = 1; i <= 5; i++)
		all = all * (s + i) / i;
	return all - (s + 1);
}

double acct_words_largest(const struct acct_list *l, struct acct_shares share, double eta, double places,
	double eps, double most, double *work)
{
	struct words w;
	size_t s = l->cells - 1;
	double *room = malloc(2 * atoms_of(s) * sizeof *room), largest;

	if (!room)
		return INFINITY;
	set_words(l, share, eta, &w);
	w.grown = expm1(eps);
	w.room = room;
	put_kind(&w, s, 0);
	put_kind(&w, 0, s);
	for (size_t away = s; away > 0; away--)
		for (size_t first = 0; first <= away; first++)
			if (away < s || (first > 0 && first < s))
				put_kind(&w, first, away - first);
	struct acct_places of = { .kinds = w.kinds,
		.kind = w.kind,
		.free = places,
		.absent = 1 - l->present,
		.absent_x = -w.grown };
	*work += 5 * (double)atoms_of(s);
	largest = acct_places_largest(&of, most, work);
	free(room);
	return largest;
}

/* Every word but the victim's two inputs counts as one where these are alike.  Up to the share 1 - 1/g others
 * that oppose every shared sign still hide least (doc/imitation.md, "Spreads"). */
static double quiet(const struct acct_list *l, double *first)
{
	double s = (double)l->cells - 1, most = 1;

	for (size_t j = 0; j < l->cells; j++)
		most = fmax(most, l->cell[j].u);
	*first = fmin(0.75, (1 - pow(most, -1 / s)) * (1 - 1e-9));
	return s > 1 ? l->blanket * (1 - pow(2, 1 - s)) : 0;
}

static double work_of(const struct acct_list *l, const void *kept)
{
	size_t s = l->cells - 1;

	(void)kept;
	return acct_places_least_work((s + 1) * (s + 2) / 2 - 1, atoms_of(s));
}

/* Set the cells of the data set in which everybody else holds the victim's first input, of which the second
 * is the opposite. */
static enum acct_rc held(const struct acct_list *l, void **kept, struct acct_round *r)
{
	struct words w;

	*kept = NULL;
	set_words(l, (struct acct_shares){ 0 }, 0, &w);
	for (r->cells = 0; r->cells <= w.s; r->cells++)
		r->cell[r->cells] = (struct acct_cell){ w.choose[w.s][r->cells] * w.chance[r->cells], 1,
			w.power[2 * r->cells] };
	return ACCT_OK;
}

static bool are_words(const struct acct_round *r)
{
	double s = (double)r->cells - 1, g = pow(r->cell[0].u, 1 / s), chance = pow(1 + g, -s);

	for (size_t j = 0; j < r->cells; j++) {
		double k = (double)j;

		if (!acct_cells_close(r->cell[j].u, pow(g, s - k)) ||
			!acct_cells_close(r->cell[j].v, pow(g, k)) ||
			!acct_cells_close(r->cell[j].omega, chance))
			return false;
		chance *= (s - k) / (k + 1);
	}
	return s >= 1 && g > 1 && r->shape[0] == 0 && r->shape[1] == 0 && r->shape[2] == 0;
}

static bool largest(const struct acct_list *l, const void *kept, const struct acct_thinned *t, double *delta,
	double *work)
{
	(void)kept;
	*delta = acct_words_largest(l, t->share, t->eta, t->places, t->eps, t->most, work);
	return true;
}

const struct acct_family acct_words_family = { .number = ACCT_WORDS,
	.cells = MOST + 1,
	.fits = are_words,
	.open = held,
	.quiet = quiet,
	.work = work_of,
	.largest = largest };
