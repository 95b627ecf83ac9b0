/* acct_below.c - decides which kinds of law need not be tried.
 *
 * Where two laws have equal means, one is below the other in convex order if its E (X - t)+ is nowhere
 * larger, as a function of t.  For the mixture this function is linear between the mixture's atoms, and for
 * the kind it is convex, so comparing them at the mixture's atoms is enough.  Only atoms between the kind's
 * smallest and its largest value matter: at a smaller t the kind's value is its mean less t, which no law
 * of the same mean is below, and at a larger t it is 0. */
#include "acct_below.h"

#include <math.h>
#include <stdlib.h>

#define MARGIN 1e-9
/* Two atoms may be the same number if their difference is at most this part of their size: acct_places.h
 * allows values to be off by so much. */
#define OFF 0x1p-50

struct spread {
	size_t atoms;
	double p[ACCT_ATOMS], x[ACCT_ATOMS], low, high;
};

struct acct_below {
	double grown; /* E - 1, where E = e^eps */
	size_t kinds;
	struct spread kind[ACCT_KINDS];
	/* E (X - t)+ of kind i with t at the atoms of kind j */
	double of[ACCT_KINDS][ACCT_KINDS][ACCT_ATOMS];
	/* the same for the kind that is being asked about: E (X - t)+ with t at the atoms of kind j */
	double at[ACCT_KINDS][ACCT_ATOMS];
	bool known[ACCT_KINDS];
	/* the two kinds whose mixture was above the last kind that was asked about: tried first for the
	 * next */
	size_t last[2];
};

static void set_spread(struct spread *s, const struct acct_kind *k, double grown)
{
	double all = 0;

	s->atoms = k->atoms;
	s->low = INFINITY;
	s->high = -INFINITY;
	for (size_t i = 0; i < k->atoms; i++)
		all += k->atom[i].mass;
	for (size_t i = 0; i < k->atoms; i++) {
		const struct acct_atom *a = &k->atom[i];

		s->p[i] = a->mass / all;
		s->x[i] = (a->u - a->v) - grown * a->v;
		s->low = fmin(s->low, s->x[i]);
		s->high = fmax(s->high, s->x[i]);
	}
}

/* Compute E (X - t)+ for the X of s, with t at each atom of `at`. */
static void set_excess(const struct spread *s, const struct spread *at, double *restrict out)
{
	for (size_t j = 0; j < at->atoms; j++)
		out[j] = 0;
	for (size_t i = 0; i < s->atoms; i++)
		for (size_t j = 0; j < at->atoms; j++) {
			double more = s->x[i] - at->x[j];

			out[j] += s->p[i] * (more > 0 ? more : 0);
		}
}

struct acct_below *acct_below_new(const struct acct_kinds *k, double eps, double *work)
{
	struct acct_below *b = malloc(sizeof *b);

	if (!b)
		return NULL;
	b->grown = expm1(eps);
	b->kinds = k->kinds;
	b->last[0] = 0;
	b->last[1] = k->kinds - 1;
	for (size_t i = 0; i < k->kinds; i++)
		set_spread(&b->kind[i], &k->kind[i], b->grown);
	for (size_t i = 0; i < k->kinds; i++)
		for (size_t j = 0; j < k->kinds; j++) {
			set_excess(&b->kind[i], &b->kind[j], b->of[i][j]);
			*work += 20 + (double)b->kind[i].atoms * (double)b->kind[j].atoms;
		}
	return b;
}

/* Narrow the range of i's share in a mixture of kinds i and j to the shares at which the mixture is not
 * below the kind at the atoms of kind `at`. */
static void narrow(
	const struct acct_below *b, size_t i, size_t j, size_t at, const double inner[2], double share[2])
{
	const struct spread *s = &b->kind[at];

	for (size_t l = 0; l < s->atoms; l++) {
		double slope = b->of[i][at][l] - b->of[j][at][l], short_of = b->at[at][l] - b->of[j][at][l];

		if (s->x[l] <= inner[0] || s->x[l] >= inner[1])
			continue;
		short_of += MARGIN * (1 + b->of[i][at][l] + b->of[j][at][l] + fabs(s->x[l]));
		if (slope > 0 && short_of > share[0] * slope)
			share[0] = short_of / slope;
		else if (slope < 0 && short_of > share[1] * slope)
			share[1] = short_of / slope;
		else if (!(slope > 0 || slope < 0) && short_of > 0)
			share[0] = INFINITY;
	}
}

/* Is the kind s below some mixture of kinds i and j?  If its atoms lie beyond theirs it is not, which the
 * comparison at the outermost of the mixture's atoms shows. */
static bool covers(struct acct_below *b, const struct spread *s, size_t i, size_t j)
{
	double room = OFF * (fabs(s->low) + fabs(s->high)), share[2] = { 0, 1 };
	double inner[2] = { s->low + room, s->high - room };

	narrow(b, i, j, i, inner, share);
	narrow(b, i, j, j, inner, share);
	return share[0] <= share[1];
}

static bool is_below_two(struct acct_below *b, const struct spread *s, size_t i, size_t j, double *work)
{
	double size = (double)s->atoms;

	if (!b->known[i])
		set_excess(s, &b->kind[i], b->at[i]);
	if (!b->known[j])
		set_excess(s, &b->kind[j], b->at[j]);
	*work += size * (20 + (b->known[i] ? 0 : size) + (b->known[j] ? 0 : size));
	b->known[i] = b->known[j] = true;
	if (!covers(b, s, i, j))
		return false;
	b->last[0] = i;
	b->last[1] = j;
	return true;
}

static bool is_below(struct acct_below *b, const struct acct_kind *k, double *work)
{
	struct spread s;

	*work += 100 + 20 * (double)k->atoms;
	set_spread(&s, k, b->grown);
	for (size_t i = 0; i < b->kinds; i++)
		b->known[i] = false;
	if (is_below_two(b, &s, b->last[0], b->last[1], work))
		return true;
	/* the kinds at both ends of the list vary most, so try their mixtures first */
	for (size_t i = 0; i < b->kinds; i++)
		for (size_t j = b->kinds; j-- > i;)
			if (is_below_two(b, &s, i, j, work))
				return true;
	return false;
}

bool acct_below_try(struct acct_below *b, const struct acct_kind *k, struct acct_kinds *tried, double *work)
{
	if (is_below(b, k, work))
		return true;
	if (tried->kinds == ACCT_KINDS)
		return false;
	tried->kind[tried->kinds++] = *k;
	return true;
}

double acct_below_work(const struct acct_kinds *k, double asked)
{
	double size = (double)k->kind[0].atoms, kinds = (double)k->kinds;

	return kinds * kinds * (20 + size * size) + asked * (100 + size * (40 + 2 * size));
}
