/* acct_list.c - checks a round and converts it to its normal form. */
#include "acct_list.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "acct_cells.h"
#include "acct_central.h"
#include "acct_family.h"

/* a bound by thin participants (acct_thin.h) is tried only with more participants: with fewer it costs more
 * than it gains */
#define FEWEST 100.0
/* the same limit for n W, the expected number of blanket messages, where W is the sum of omega */
#define LEAST_BLANKET 10.0
/* the same limit in a round of labelled bits for n P Q, the variance of the number of ones */
#define LEAST_SPREAD 5.0

/* Numbers that differ by so little move epsilon by less than the widening of every answer
 * (acct_plan_blur). */
static bool same(double a, double b)
{
	return fabs(a - b) <= 16 * DBL_EPSILON * fmax(fabs(a), fabs(b));
}

static bool is_symmetric(const struct acct_list *l)
{
	for (size_t i = 0; i < l->cells; i++) {
		bool found = false;

		for (size_t j = 0; j < l->cells && !found; j++)
			found = same(l->cell[i].u, l->cell[j].v) && same(l->cell[i].v, l->cell[j].u) &&
				same(l->cell[i].omega, l->cell[j].omega);
		if (!found)
			return false;
	}
	return true;
}

/* The mass of infinite loss: of outcomes that the second input cannot give.  They are those in which every
 * blanket message lies in a cell with v = 0.  That chance is raised to a huge power, so it is computed from
 * its complement where the complement is smaller. */
static double infinite_mass(const struct acct_list *l, bool swap)
{
	double seen = 0, cover = 0, victim = 0, lost = 0;

	for (size_t j = 0; j < l->cells; j++) {
		double u = swap ? l->cell[j].v : l->cell[j].u, v = swap ? l->cell[j].u : l->cell[j].v;

		if (v > 0) {
			seen += l->cell[j].omega;
		} else {
			cover += l->cell[j].omega;
			victim += l->cell[j].omega * u;
		}
	}
	if (victim == 0) /* NOLINT: a sum of zeros is exactly 0 */
		return 0;
	for (size_t i = 0; i < l->groups; i++) {
		const struct acct_group *g = &l->group[i];
		double hit = g->share * seen;

		lost += g->count * (hit < 0.5 ? log1p(-hit) : log(g->rest + g->share * cover));
	}
	if (l->dummies > 0)
		lost += l->dummies *
			(seen < 0.5 * l->blanket ? log1p(-seen / l->blanket) : log(cover / l->blanket));
	return fmin(1, victim * exp(fmin(0, lost)));
}

/* |log(u/v)|, rounded up.  Computed from the quotient, since the difference of two large logarithms would
 * lose digits. */
static double log_ratio(double u, double v)
{
	double r = u / v;

	if (r > DBL_MIN && r < INFINITY)
		return fabs(log(r)) + 2 * DBL_EPSILON;
	return fabs(log(u) - log(v));
}

/* The loss is log(sum N u / sum N v) for counts N of the cells.  If some cell has u = 0 or v = 0, it is at
 * most the log of the largest u, which all messages may have, over the smallest positive v, which only one
 * message may have. */
static double largest_loss(const struct acct_list *l)
{
	double top = 0, small = INFINITY, ratio = 0;
	bool zero = false;

	for (size_t j = 0; j < l->cells; j++) {
		double u = l->cell[j].u, v = l->cell[j].v;

		top = fmax(top, fmax(u, v));
		if (u > 0)
			small = fmin(small, u);
		if (v > 0)
			small = fmin(small, v);
		if ((u > 0) != (v > 0))
			zero = true;
		else if (u > 0)
			ratio = fmax(ratio, log_ratio(u, v));
	}
	if (zero)
		ratio = log(top) - log(small) + log(1 + l->others + l->dummies);
	return ratio * (1 + 1e-12);
}

/* Insert a group in falling order of share, or add its count to the group of equal share. */
static void add_group(struct acct_list *l, double share, double rest, double count)
{
	size_t i = 0;

	if (count <= 0)
		return;
	while (i < l->groups && l->group[i].share > share)
		i++;
	if (i < l->groups && l->group[i].share >= share) {
		l->group[i].count += count;
		return;
	}
	memmove(&l->group[i + 1], &l->group[i], (l->groups - i) * sizeof l->group[0]);
	l->group[i] = (struct acct_group){ share, count, rest };
	l->groups++;
}

/* Add a group, whose messages are not blanket with chance `rest`.  Where rounding leaves open whether that
 * chance is 0, add it to l->missing instead. */
static void add_given(struct acct_list *l, double share, double rest, double count)
{
	if (rest > 0 && rest <= ACCT_CELLS_DOUBTFUL)
		l->missing += count * rest * (1 + 4 * DBL_EPSILON);
	add_group(l, share, fmax(rest, 0), count);
}

/* Set l->blanket, the sum of omega, and for each group the chance that its messages are blanket; a sum
 * above one is scaled down to one. */
static void settle_blanket(struct acct_list *l, const struct acct_round *r)
{
	struct acct_twofold all = acct_cells_sum(l->cell, l->cells);
	double rest = acct_cells_rest(1, &all), scale = 1;

	if (rest < -ACCT_CELLS_DOUBTFUL) {
		scale = 1 - rest;
		for (size_t j = 0; j < l->cells; j++)
			l->cell[j].omega /= scale;
	}
	if (rest <= 0) {
		rest = 0;
		all = (struct acct_twofold){ 1, 0 };
	}
	/* use the sum or its complement, whichever is accurate */
	l->blanket = all.sum < 0.5 ? all.sum : 1 - rest;
	add_given(l, 1, rest, (double)r->others);
	for (size_t i = 0; i < r->levels; i++) {
		double share = r->level[i].share * scale, left = acct_cells_rest(share, &all);

		add_given(l, left > 0 ? share : 1 / l->blanket, left, (double)r->level[i].count);
	}
	l->dummies = (double)r->dummies;
	for (size_t i = 0; i < l->groups; i++) {
		l->others += l->group[i].count;
		l->mean += l->group[i].count * l->group[i].share * l->blanket;
	}
}

/* Is the round large enough for a bound by thin participants (doc/imitation.md) to be below the bound by
 * the cells? */
static bool labels_help(double participants, double eps0)
{
	double q = exp(-eps0) / (1 + exp(-eps0));

	return participants > FEWEST && participants * q / (1 + exp(-eps0)) >= LEAST_SPREAD;
}

static bool kinds_help(const struct acct_list *l)
{
	double blanket = 0;

	for (size_t j = 0; j < l->cells - (l->present < 1); j++)
		blanket += l->cell[j].omega;
	return 1 + l->others > FEWEST && (1 + l->others) * blanket >= LEAST_BLANKET;
}

/* Are the messages bits?  Two cells alone do not make them bits: a report may say more than its cell, and
 * then others may hide the victim less (doc/imitation.md). */
static bool are_bits(const struct acct_round *r)
{
	return r->family ? r->family->bits && r->family->bits(r) : r->messages != ACCT_ANY_MESSAGES;
}

/* Set the classes of a round of bits: a level's bit has a chance from q = share omega to 1 - q.  The
 * guarantee log((1-q)/q) is rounded up, which widens that range. */
static void add_classes(struct acct_bit_facts *b, const struct acct_round *r)
{
	double omega = fmin(r->cell[0].omega, r->cell[1].omega);

	for (size_t i = 0; i < r->levels; i++) {
		double q = r->level[i].share * omega * (1 - 4 * DBL_EPSILON),
		       epsilon = (log1p(-q) - log(q)) * (1 + 8 * DBL_EPSILON) + 8 * DBL_EPSILON;

		if (r->level[i].count > 0)
			b->class[b->classes++] =
				(struct acct_bit_class){ fmax(epsilon, 0), (double)r->level[i].count };
	}
}

/* Set the ratio E = (1-omega)/omega of a bit, rounded up, from whichever of its cells' numbers is largest:
 * rounded cells may disagree. */
static void settle_bits(struct acct_list *l, const struct acct_round *r)
{
	struct acct_bit_facts *b = &l->bits;
	double epsilon0 = 0;

	if (l->cells != 2 || r->present > 0 || !are_bits(r))
		return;
	for (size_t j = 0; j < 2; j++) {
		const struct acct_cell *c = &r->cell[j];

		epsilon0 = fmax(epsilon0, log_ratio(c->u, c->v));
		epsilon0 = fmax(epsilon0, log((1 - c->omega) / c->omega));
	}
	b->epsilon0 = epsilon0 * (1 + 4 * DBL_EPSILON) + 2 * DBL_EPSILON;
	b->others = (double)r->others;
	b->coins = (double)r->dummies;
	if (r->messages == ACCT_BITS_OF_LEVELS)
		add_classes(b, r);
	for (size_t i = 0; i < r->levels && r->messages == ACCT_BITS; i++) {
		double share = r->level[i].share * l->blanket;

		/* with a part of the blanket missing, this product may have been rounded up to 1 */
		if (l->missing > 0) {
			share = fmin(share, 1 - DBL_EPSILON);
			l->missing += (double)r->level[i].count * 2 * DBL_EPSILON;
		}
		if (share >= 1)
			b->coins += (double)r->level[i].count;
		else if (r->level[i].count > 0)
			b->sent[b->levels++] = (struct acct_level){ share, r->level[i].count };
	}
	/* If the victim's message is the only one, the cells' pair is exact, and has only a few
	 * outcomes. */
	b->known = b->epsilon0 < 600 && b->others + b->coins + (double)(b->levels + b->classes) > 0;
	b->labels = r->messages == ACCT_LABELLED_BITS;
	if (b->labels && !labels_help(1 + b->others + b->coins, b->epsilon0))
		b->known = false;
}

enum acct_rc acct_list_init(struct acct_list *l, const struct acct_round *r, const char **why)
{
	enum acct_rc rc = acct_round_check(r, why);
	double mean_u = 0, mean_v = 0;

	if (rc)
		return rc;
	memset(l, 0, sizeof *l);
	if (r->event != ACCT_SHUFFLED) {
		acct_central_list(l, r);
		return ACCT_OK;
	}
	l->lossless = true;
	for (size_t j = 0; j < r->cells; j++) {
		size_t k =
			r->present > 0 && j + 1 == r->cells ? l->cells : 0; /* silence is a cell of its own */

		while (k < l->cells &&
			!(same(l->cell[k].u, r->cell[j].u) && same(l->cell[k].v, r->cell[j].v)))
			k++;
		if (k == l->cells)
			l->cell[l->cells++] = r->cell[j];
		else
			l->cell[k].omega += r->cell[j].omega;
		l->lossless = l->lossless && r->cell[j].u >= r->cell[j].v && r->cell[j].u <= r->cell[j].v;
	}
	settle_blanket(l, r);
	settle_bits(l, r);
	for (size_t j = 0; j < l->cells; j++) {
		mean_u += l->cell[j].omega * l->cell[j].u;
		mean_v += l->cell[j].omega * l->cell[j].v;
	}
	for (size_t j = 0; j < l->cells; j++) {
		l->cell[j].u /= mean_u;
		l->cell[j].v /= mean_v;
	}
	memcpy(l->shape, r->shape, sizeof l->shape);
	l->present = r->present > 0 ? r->present : 1;
	l->defect = r->defect;
	l->sampling = r->sampling > 0 ? r->sampling : 1;
	l->symmetric = is_symmetric(l);
	acct_list_losses(l, largest_loss(l), (double[2]){ infinite_mass(l, false), infinite_mass(l, true) });
	/* the law of bits is exact, also where a family has it */
	if (r->family && !l->bits.known && l->cells - (l->present < 1) <= r->family->cells && l->symmetric &&
		kinds_help(l))
		l->family = r->family;
	return ACCT_OK;
}

static bool equal(double a, double b)
{
	return !(a < b || a > b);
}

static bool same_bits(const struct acct_bit_facts *a, const struct acct_bit_facts *b)
{
	if (a->known != b->known || !equal(a->epsilon0, b->epsilon0) || !equal(a->others, b->others) ||
		!equal(a->coins, b->coins) || a->levels != b->levels || a->classes != b->classes ||
		a->labels != b->labels)
		return false;
	for (size_t i = 0; i < a->classes; i++)
		if (!equal(a->class[i].epsilon, b->class[i].epsilon) ||
			!equal(a->class[i].count, b->class[i].count))
			return false;
	for (size_t i = 0; i < a->levels; i++)
		if (!equal(a->sent[i].share, b->sent[i].share) || a->sent[i].count != b->sent[i].count)
			return false;
	return true;
}

bool acct_list_equal(const struct acct_list *a, const struct acct_list *b)
{
	/* Most different lists differ in the first cell already. */
	if (a->cells != b->cells || (a->cells > 0 && !equal(a->cell[0].omega, b->cell[0].omega)) ||
		a->groups != b->groups || !equal(a->dummies, b->dummies) || !equal(a->defect, b->defect) ||
		!equal(a->sampling, b->sampling))
		return false;
	if (!equal(a->present, b->present) || !same_bits(&a->bits, &b->bits) || a->family != b->family ||
		!equal(a->shape[0], b->shape[0]) || !equal(a->shape[1], b->shape[1]) ||
		!equal(a->shape[2], b->shape[2]))
		return false;
	if (a->event != b->event || !equal(a->scale, b->scale) || !equal(a->rate, b->rate) ||
		!acct_profile_equal(a->profile, b->profile))
		return false;
	for (size_t i = 0; i < a->groups; i++)
		if (!equal(a->group[i].share, b->group[i].share) ||
			!equal(a->group[i].count, b->group[i].count))
			return false;
	for (size_t j = 0; j < a->cells; j++)
		if (!equal(a->cell[j].omega, b->cell[j].omega) || !equal(a->cell[j].u, b->cell[j].u) ||
			!equal(a->cell[j].v, b->cell[j].v))
			return false;
	return true;
}
