/* acct_exact.c - lists the outcomes of a small round: a reference for the fast route, and its replacement
 * where n is so small that the privacy curve has visible corners. */
#include "acct_exact.h"

#include <math.h>
#include <stdlib.h>

#include "acct_bits.h"
#include "acct_exact_box.h"
#include "acct_exact_count.h"

#define MOST_OUTCOMES 20000.0
#define MOST_MESSAGES 4096.0 /* most messages for a list that serves a few points */
#define MOST_RELISTED 16384.0
#define MOST_COUNTING 4e6 /* additions that counting the outcomes may take */
/* Relative error of a mass.  Masses are exponentials of sums: m log-factorials and logarithms, 3e-14 m at m =
 * 16384, of which each is known to some ulps, and powers of m omegas, each known to 128 ulp. */
#define MASS_ERROR 6e-14
#define TAIL       1e-60

struct walk {
	double *p, *q, *log_fact;
	size_t outcomes, room;
	const struct acct_list *list;
	double log_w[ACCT_MAX_CELLS];
	struct acct_box box;
};

/* The number of vectors of `cells` counts with sum m. */
static double compositions(double m, size_t cells)
{
	double n = 1;

	for (size_t j = 1; j < cells && n <= MOST_OUTCOMES; j++)
		n *= (m + (double)j) / (double)j;
	return n;
}

/* e^more x, computed so that x may be below the range of a double: such a chance may have a likelihood ratio
 * of 1e300. */
static double mass(double more, double x)
{
	return more > -600 || x <= 0 ? exp(more) * x : exp(more + log(x));
}

/* Distribute `left` messages over cell j and those after it in every way inside the box.  False: no room. */
static bool place(struct walk *w, size_t j, size_t left, double log_mass, double u, double v)
{
	const struct acct_cell *c = &w->list->cell[j];
	size_t from = w->box.lo[j], to = w->box.hi[j];

	if (left < w->box.lo_after[j])
		return true;
	if (left > w->box.hi_after[j] && left - w->box.hi_after[j] > from)
		from = left - w->box.hi_after[j];
	if (to > left - w->box.lo_after[j])
		to = left - w->box.lo_after[j];
	for (size_t k = from; k <= to; k++) {
		double more = log_mass + (double)k * w->log_w[j] - w->log_fact[k];
		double uk = u + (double)k * c->u, vk = v + (double)k * c->v;

		if (j + 1 < w->list->cells) {
			if (!place(w, j + 1, left - k, more, uk, vk))
				return false;
			continue;
		}
		if (w->outcomes == w->room)
			return false;
		w->p[w->outcomes] = mass(more, uk);
		w->q[w->outcomes++] = mass(more, vk);
	}
	return true;
}

/* The number of outcomes listed, when the others contribute each number of blanket messages in c. */
static double outcomes_of(const struct acct_list *l, const struct acct_count *c)
{
	double total = 0;

	for (size_t i = 0; i < c->size && total <= MOST_OUTCOMES; i++)
		total += compositions(1 + c->first + (double)i + l->dummies, l->cells);
	return total;
}

/* Deviation of the number of blanket messages. */
static double deviation(const struct acct_list *l)
{
	double variance = 0;

	for (size_t i = 0; i < l->groups; i++)
		variance += l->group[i].count * l->group[i].share * l->blanket * l->group[i].rest;
	return sqrt(variance);
}

/* Ten deviations from the mean there are many outcomes already, so the answer is no. */
static bool may_be_few(const struct acct_list *l)
{
	double reach, mean = floor(l->mean);

	reach = fmin(10 * deviation(l), l->others - mean);
	return (1 + fmax(0, reach - 1)) * compositions(1 + mean + l->dummies, l->cells) <= MOST_OUTCOMES;
}

static bool may_be_listed(const struct acct_list *l, double most)
{
	return !l->lossless && !l->bits.known && l->kinds == ACCT_ANY_MESSAGES && l->cells > 1 &&
	       1 + l->mean + l->dummies <= most;
}

/* Number of messages besides the victim's when the others contribute the i-th number of blanket messages. */
static size_t messages(const struct acct_list *l, const struct acct_count *count, size_t i)
{
	return (size_t)(count->first + l->dummies) + i;
}

static enum acct_rc walk_init(struct walk *w, const struct acct_list *l, size_t most, size_t room)
{
	w->list = l;
	w->room = room;
	w->p = calloc(room, sizeof *w->p);
	w->q = calloc(room, sizeof *w->q);
	w->log_fact = calloc(most + 1, sizeof *w->log_fact);
	if (!w->p || !w->q || !w->log_fact)
		return ACCT_ENOMEM;
	for (size_t k = 0; k <= most; k++)
		w->log_fact[k] = lgamma((double)k + 1);
	for (size_t j = 0; j < l->cells; j++)
		w->log_w[j] = log(l->cell[j].omega / l->blanket);
	return ACCT_OK;
}

static void walk_fini(struct walk *w)
{
	free(w->p);
	free(w->q);
	free(w->log_fact);
}

static void forget(struct acct_curve *c)
{
	free(c->p);
	free(c->q);
	acct_order_free(c->order);
	c->p = c->q = NULL;
	c->order = NULL;
	c->outcomes = 0;
	c->missed = 0;
}

/* The mass that may be left out is divided equally among all M: rare ones get a small box. */
static void box_of(struct acct_box *b, const struct acct_list *l, const struct acct_count *count, size_t i,
	double log_cut)
{
	acct_box_init(b, l, messages(l, count, i),
		log_cut - log(fmax(count->chance[i], 1e-300)) - log((double)count->size));
}

/* List all outcomes inside the boxes; c keeps its list when there is no room. */
static enum acct_rc list_all(
	struct acct_curve *c, const struct acct_count *count, double log_cut, size_t room)
{
	const struct acct_list *l = &c->list;
	struct walk w = { 0 };
	enum acct_rc rc = walk_init(&w, l, messages(l, count, count->size), room);
	bool fits = true;

	for (size_t i = 0; i < count->size && !rc && fits; i++) {
		size_t m = messages(l, count, i);
		double log_mass =
			log(count->chance[i]) + w.log_fact[m + 1] + log(l->blanket / (double)(m + 1));

		box_of(&w.box, l, count, i, log_cut);
		if (count->chance[i] > 0)
			fits = place(&w, 0, m + 1, log_mass, 0, 0);
	}
	if (!rc && fits && w.outcomes > 0) {
		double *p = realloc(w.p, w.outcomes * sizeof *p);
		w.p = p ? p : w.p;
		double *q = realloc(w.q, w.outcomes * sizeof *q);
		w.q = q ? q : w.q;
		forget(c);
		c->p = w.p;
		c->q = w.q;
		w.p = w.q = NULL;
		c->outcomes = w.outcomes;
		c->missed = count->missed + 2 * (double)l->cells * exp(log_cut);
		c->mass_error = MASS_ERROR * fmax(4096, (double)messages(l, count, count->size));
	}
	walk_fini(&w);
	return rc;
}

enum acct_rc acct_exact_list(struct acct_curve *c)
{
	const struct acct_list *l = &c->list;
	struct acct_count count;

	if (!may_be_listed(l, MOST_MESSAGES) || !may_be_few(l))
		return ACCT_OK;
	enum acct_rc rc = acct_count_init(&count, l, TAIL, MOST_OUTCOMES);
	if (!rc && count.size > 0 && count.first + (double)count.size + l->dummies <= MOST_MESSAGES) {
		double room = outcomes_of(l, &count);

		if (room <= MOST_OUTCOMES)
			rc = list_all(c, &count, -INFINITY, (size_t)room);
	}
	acct_count_fini(&count);
	return rc;
}

/* Is listing worth trying?  Assumes `terms` boxes like the one of m messages, except for its longest side. */
static bool fits_boxes(const struct acct_list *l, double m, double terms, double log_cut, double most)
{
	double volume = terms, longest = 1;
	struct acct_box box;

	acct_box_init(&box, l, (size_t)m, log_cut);
	for (size_t j = 0; j < l->cells; j++) {
		double side = (double)(box.hi[j] - box.lo[j]) + 1;

		volume *= side;
		longest = fmax(longest, side);
	}
	return volume / longest <= 2 * most;
}

/* The number of outcomes, counted; or `most` where counting alone takes too much work. */
static double count_boxes(
	const struct acct_list *l, const struct acct_count *count, double log_cut, double most, double *ways)
{
	double total = 0;
	struct acct_box box;

	if ((double)count->size * (double)l->cells * (double)messages(l, count, count->size) > MOST_COUNTING)
		return most;
	for (size_t i = 0; i < count->size && total <= most; i++) {
		box_of(&box, l, count, i, log_cut);
		total += acct_box_outcomes(&box, l->cells, messages(l, count, i), ways);
	}
	return total;
}

/* List if there is room. */
static enum acct_rc list_boxes(
	struct acct_curve *c, const struct acct_count *count, double log_cut, double most)
{
	double *ways = calloc(2 * (messages(&c->list, count, count->size) + 2), sizeof *ways), room;

	if (!ways)
		return ACCT_ENOMEM;
	room = count_boxes(&c->list, count, log_cut, most, ways);
	free(ways);
	/* Numbers too large to be exact, and NaN, fail this comparison. */
	return room <= most ? list_all(c, count, log_cut, (size_t)fmax(1, room)) : ACCT_OK;
}

enum acct_rc acct_exact_relist(struct acct_curve *c, double missed, size_t most)
{
	const struct acct_list *l = &c->list;
	double cut = fmax(missed / 2, 1e-280), log_cut = log(cut / (2 * (double)l->cells));
	double middle = floor(l->mean + l->dummies);
	struct acct_count count;

	if (l->bits.known)
		return acct_bits_list(c);
	/* A first guess, since the law of M takes work too; it has more terms than four deviations. */
	if (!may_be_listed(l, MOST_RELISTED) ||
		!fits_boxes(l, middle, 1 + 4 * deviation(l), log_cut, (double)most)) {
		if (c->missed > missed)
			forget(c);
		return ACCT_OK;
	}
	enum acct_rc rc = acct_count_init(&count, l, cut / (4 * (double)(l->groups + 1)), MOST_OUTCOMES);
	if (!rc && count.size > 0 && count.first + (double)count.size + l->dummies <= MOST_RELISTED &&
		fits_boxes(l, middle, (double)count.size, log_cut, (double)most))
		rc = list_boxes(c, &count, log_cut, (double)most);
	acct_count_fini(&count);
	if (c->missed > missed)
		forget(c);
	return rc;
}
