/* acct_exact.c - lists the outcomes of a small round: a reference for the fast route, and its replacement
 * where n is so small that the privacy curve has visible corners. */
#include "acct_exact.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OUTCOMES 20000.0
/* most messages of a list that is made for a few points, without being asked for */
#define MOST_MESSAGES 4096.0
#define MOST_RELISTED 16384.0
#define MOST_COUNTING 4e6 /* most additions that counting the outcomes, before they are listed, may take */
/* Bound on the relative error of a mass, for up to 4096 messages.  Masses are exponentials of sums: of m
 * log-factorials and logarithms, each known to some ulps, 3e-14 m at m = 16384; and of powers of m omegas,
 * each known to 128 ulp. */
#define MASS_ERROR 6e-14
#define TAIL       1e-60

struct outcome {
	double loss, p, q;
};

/* Outcomes sorted by loss.  p[i], q[i]: mass of the i outcomes with the largest losses, under the two
 * inputs; down_p, down_q: of those with the least losses, NULL if the list is symmetric. */
struct acct_order {
	size_t size;
	double *loss; /* sorted, decreasing */
	double *p, *q, *down_p, *down_q;
};

static void order_free(struct acct_order *o)
{
	if (!o)
		return;
	free(o->loss);
	free(o->p);
	free(o->q);
	free(o->down_p);
	free(o->down_q);
	free(o);
}

void acct_exact_fini(struct acct_exact *e)
{
	free(e->p);
	free(e->q);
	order_free(e->order);
	memset(e, 0, sizeof *e);
}

static int by_loss(const void *a, const void *b)
{
	double x = ((const struct outcome *)a)->loss, y = ((const struct outcome *)b)->loss;

	return (x < y) - (x > y);
}

static double loss_of(double p, double q)
{
	double r = p / q;

	return r > DBL_MIN && r < INFINITY ? log(r) : log(p) - log(q);
}

static bool add_up(
	struct acct_order *o, const struct outcome *at, size_t from, int step, double **p, double **q)
{
	long double sum_p = 0, sum_q = 0;

	*p = calloc(o->size + 1, sizeof **p);
	*q = calloc(o->size + 1, sizeof **q);
	if (!*p || !*q)
		return false;
	for (size_t i = 0, k = from; i < o->size; i++, k += (size_t)step) {
		(*p)[i + 1] = (double)(sum_p += at[k].p);
		(*q)[i + 1] = (double)(sum_q += at[k].q);
	}
	return true;
}

enum acct_rc acct_exact_order(struct acct_exact *e, bool symmetric)
{
	struct outcome *at = calloc(e->outcomes, sizeof *at);
	struct acct_order *o = calloc(1, sizeof *o);
	enum acct_rc rc = ACCT_ENOMEM;

	if (!at || !o)
		goto out;
	/* an outcome that cannot happen under either input is left out */
	for (size_t i = 0; i < e->outcomes; i++)
		if (e->p[i] > 0 || e->q[i] > 0)
			at[o->size++] = (struct outcome){ loss_of(e->p[i], e->q[i]), e->p[i], e->q[i] };
	qsort(at, o->size, sizeof *at, by_loss);
	o->loss = calloc(o->size + 1, sizeof *o->loss);
	if (!o->loss || !add_up(o, at, 0, 1, &o->p, &o->q))
		goto out;
	for (size_t i = 0; i < o->size; i++)
		o->loss[i] = at[i].loss;
	if (!symmetric && !add_up(o, at, o->size - 1, -1, &o->down_p, &o->down_q))
		goto out;
	free(e->p);
	free(e->q);
	e->p = e->q = NULL;
	e->order = o;
	o = NULL;
	rc = ACCT_OK;
out:
	free(at);
	order_free(o);
	return rc;
}

/* How many losses are above eps; if swapped, how many are below -eps. */
static size_t above(const struct acct_order *o, double eps, bool swap)
{
	size_t low = 0, high = o->size;

	while (low < high) {
		size_t i = (low + high) / 2;

		if (swap ? -o->loss[o->size - 1 - i] > eps : o->loss[i] > eps)
			low = i + 1;
		else
			high = i;
	}
	return low;
}

/* Compute a point from sorted outcomes.  The test {loss > eps} gives a lower bound even if rounding moved
 * outcomes over its edge.  For the upper bound, an outcome on the wrong side has a loss within `edge` of
 * eps. */
static void search(const struct acct_exact *e, double eps, bool swap, struct acct_point *at)
{
	const struct acct_order *o = e->order;

	swap = swap && o->down_p;
	const double *p = swap ? o->down_q : o->p, *q = swap ? o->down_p : o->q;
	double a = exp(-eps) / (1 + exp(-eps)), b = 1 / (1 + exp(-eps)), edge = 16 * DBL_EPSILON * (1 + eps);
	size_t i = above(o, eps, swap), j = above(o, eps - edge, swap);
	double size = a * p[i] + b * q[i], near = a * p[j] + b * q[j];
	double rounding = e->test_error + 4 * DBL_EPSILON + (double)o->size * (double)LDBL_EPSILON;
	double sum = eps < 1 ? a * (p[i] - q[i] - expm1(eps) * q[i]) : a * p[i] - b * q[i];

	at->lo = sum * (1 - e->mass_error) - rounding * size;
	at->hi = sum * (1 + e->mass_error) + rounding * size + 2 * edge * near + a * e->missed;
	at->slope = (p[i] + q[i]) / 2;
	at->slope_err = at->slope * e->mass_error;
}

double acct_exact_work(const struct acct_exact *e)
{
	return e->order ? 100 : 2 * (double)e->outcomes;
}

void acct_exact_at(const struct acct_exact *e, double eps, bool swap, struct acct_point *at)
{
	const double *p = swap ? e->q : e->p, *q = swap ? e->p : e->q;
	double a = exp(-eps) / (1 + exp(-eps)), b = 1 / (1 + exp(-eps)), gain = expm1(eps);
	double sum = 0, mass = 0;

	if (e->order) {
		search(e, eps, swap, at);
		return;
	}
	for (size_t i = 0; i < e->outcomes; i++) {
		double x = eps < 1 ? a * (p[i] - q[i] - gain * q[i]) : a * p[i] - b * q[i];

		if (x > 0) {
			sum += x;
			mass += p[i] + q[i];
		}
	}
	at->lo = sum * (1 - e->mass_error);
	/* an outcome left out adds at most (aP - bQ)+ <= a P */
	at->hi = sum * (1 + e->mass_error) + a * e->missed;
	at->slope = mass / 2;
	at->slope_err = at->slope * e->mass_error;
}

/* The outcomes of m messages that are worth listing: those in which the count of every cell j is between
 * lo[j] and hi[j]. */
struct box {
	size_t lo[ACCT_MAX_CELLS], hi[ACCT_MAX_CELLS];
	size_t lo_after[ACCT_MAX_CELLS],
		hi_after[ACCT_MAX_CELLS]; /* sums of lo and of hi over the cells after j */
};

/* Chernoff's exponent: k or more (k > m w), or k or fewer, of m messages fall in a cell of chance w with a
 * chance of at most e^-exponent.  not_w is 1 - w, without cancellation. */
static double exponent(double k, double m, double w, double not_w)
{
	double hit = k > 0 ? k * log(k / (m * w)) : 0,
	       miss = k < m ? (m - k) * log((m - k) / (m * not_w)) : 0;

	return hit + miss;
}

/* The least k >= m w such that k or more messages in a cell have a chance of at most e^-least; m + 1
 * messages are impossible. */
static size_t upper_end(double m, double w, double not_w, double least)
{
	double low = ceil(m * w), high = m + 1;

	while (low < high) {
		double k = floor((low + high) / 2);

		if (exponent(k, m, w, not_w) >= least)
			high = k;
		else
			low = k + 1;
	}
	return (size_t)high;
}

/* The largest k <= m w such that fewer than k messages in a cell have a chance of at most e^-least. */
static size_t lower_end(double m, double w, double not_w, double least)
{
	double low = 0, high = floor(m * w);

	while (low < high) {
		double k = ceil((low + high) / 2);

		if (exponent(k - 1, m, w, not_w) >= least)
			low = k;
		else
			high = k - 1;
	}
	return (size_t)low;
}

/* Make the box: outcomes outside have, under either input, a chance of at most 2 * cells * exp(log_cut);
 * -INFINITY: no outcome is outside.  m is the number of messages without the victim's.
 *
 * N_j is the victim's part, 0 or 1, plus Bin(m, w_j): P(N_j > k) <= P(Bin >= k) and P(N_j < k) <= P(Bin <=
 * k-1), whatever the victim's input, and Chernoff's bound of both is exp(-m KL(k/m, w)). */
static void box_init(struct box *b, const struct acct_list *l, size_t m, double log_cut)
{
	double least = 1 - log_cut; /* the 1 is a margin for rounding */

	for (size_t j = 0; j < l->cells; j++) {
		double not_w = 0;

		for (size_t i = 0; i < l->cells; i++)
			if (i != j)
				not_w += l->cell[i].omega / l->blanket;
		b->lo[j] = lower_end((double)m, l->cell[j].omega / l->blanket, not_w, least);
		b->hi[j] = upper_end((double)m, l->cell[j].omega / l->blanket, not_w, least);
	}
	size_t lo = 0, hi = 0;
	for (size_t j = l->cells; j-- > 0;) {
		b->lo_after[j] = lo;
		b->hi_after[j] = hi;
		lo += b->lo[j];
		hi += b->hi[j];
	}
}

/* The number of outcomes inside the box, with the victim's message.  ways has room for 2 (m + 2) numbers:
 * cell by cell, ways[s] is the number of ways in which the cells so far hold s messages. */
static double box_outcomes(const struct box *b, size_t cells, size_t m, double *ways)
{
	double *sums = ways + m + 2;

	for (size_t s = 0; s <= m + 1; s++)
		ways[s] = s == 0;
	for (size_t j = 0; j < cells; j++) {
		for (size_t s = 0; s <= m + 1; s++)
			sums[s] = ways[s] + (s > 0 ? sums[s - 1] : 0);
		for (size_t s = 0; s <= m + 1; s++)
			ways[s] = (s < b->lo[j] ? 0 : sums[s - b->lo[j]]) -
				  (s <= b->hi[j] ? 0 : sums[s - b->hi[j] - 1]);
	}
	return ways[m + 1];
}

struct walk {
	double *p, *q, *log_fact;
	size_t outcomes, room;
	const struct acct_list *list;
	double log_w[ACCT_MAX_CELLS];
	struct box box;
};

/* The number of vectors of `cells` counts with sum m. */
static double compositions(double m, size_t cells)
{
	double n = 1;

	for (size_t j = 1; j < cells && n <= MOST_OUTCOMES; j++)
		n *= (m + (double)j) / (double)j;
	return n;
}

/* e^more x, computed so that it is right even if e^more is below the range of a double: an outcome with a
 * tiny chance may have a likelihood ratio of 1e300. */
static double mass(double more, double x)
{
	return more > -600 || x <= 0 ? exp(more) * x : exp(more + log(x));
}

/* Distribute `left` messages over cell j and those after it in every way inside the box.  Returns false if
 * there is no room. */
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

/* Count the outcomes of a list that leaves none out: those for each number of blanket messages in c, added
 * up. */
static double outcomes_of(const struct acct_list *l, const struct acct_count *c)
{
	double total = 0;

	for (size_t i = 0; i < c->size && total <= MOST_OUTCOMES; i++)
		total += compositions(1 + c->first + (double)i + l->dummies, l->cells);
	return total;
}

/* The standard deviation of the number of blanket messages among the others. */
static double deviation(const struct acct_list *l)
{
	double variance = 0;

	for (size_t i = 0; i < l->groups; i++)
		variance += l->group[i].count * l->group[i].share * l->blanket * l->group[i].rest;
	return sqrt(variance);
}

/* May the outcomes be few enough?  Within ten deviations of the mean number of messages there may be too
 * many already. */
static bool may_be_few(const struct acct_list *l)
{
	double reach, mean = floor(l->mean);

	reach = fmin(10 * deviation(l), l->others - mean);
	return (1 + fmax(0, reach - 1)) * compositions(1 + mean + l->dummies, l->cells) <= MOST_OUTCOMES;
}

static bool may_be_listed(const struct acct_list *l, double most)
{
	return !l->lossless && !l->bits.known && !l->family && l->cells > 1 &&
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

/* Make the box for the i-th number of messages.  What may be left out is divided equally among all numbers
 * M of messages, so a rare M gets a small box. */
static void box_of(
	struct box *b, const struct acct_list *l, const struct acct_count *count, size_t i, double log_cut)
{
	box_init(b, l, messages(l, count, i),
		log_cut - log(fmax(count->chance[i], 1e-300)) - log((double)count->size));
}

/* List all outcomes inside the boxes.  *e keeps its list if there is no room. */
static enum acct_rc list_all(struct acct_exact *e, const struct acct_list *l, const struct acct_count *count,
	double log_cut, size_t room)
{
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
		acct_exact_fini(e);
		e->p = w.p;
		e->q = w.q;
		w.p = w.q = NULL;
		e->outcomes = w.outcomes;
		e->missed = count->missed + 2 * (double)l->cells * exp(log_cut);
		e->mass_error = MASS_ERROR * fmax(4096, (double)messages(l, count, count->size));
	}
	walk_fini(&w);
	return rc;
}

enum acct_rc acct_exact_list(struct acct_exact *e, const struct acct_list *l)
{
	struct acct_count count;

	if (!may_be_listed(l, MOST_MESSAGES) || !may_be_few(l))
		return ACCT_OK;
	enum acct_rc rc = acct_count_init(&count, l, TAIL, MOST_OUTCOMES);
	if (!rc && count.size > 0 && count.first + (double)count.size + l->dummies <= MOST_MESSAGES) {
		double room = outcomes_of(l, &count);

		if (room <= MOST_OUTCOMES)
			rc = list_all(e, l, &count, -INFINITY, (size_t)room);
	}
	acct_count_fini(&count);
	return rc;
}

/* Is listing worth trying?  Guesses the number of outcomes as that of `terms` boxes like the box of m
 * messages; the longest side does not count, since the last count follows from the others. */
static bool fits_boxes(const struct acct_list *l, double m, double terms, double log_cut, double most)
{
	double volume = terms, longest = 1;
	struct box box;

	box_init(&box, l, (size_t)m, log_cut);
	for (size_t j = 0; j < l->cells; j++) {
		double side = (double)(box.hi[j] - box.lo[j]) + 1;

		volume *= side;
		longest = fmax(longest, side);
	}
	return volume / longest <= 2 * most;
}

/* Count the outcomes; returns `most` if counting alone takes too much work. */
static double count_boxes(
	const struct acct_list *l, const struct acct_count *count, double log_cut, double most, double *ways)
{
	double total = 0;
	struct box box;

	if ((double)count->size * (double)l->cells * (double)messages(l, count, count->size) > MOST_COUNTING)
		return most;
	for (size_t i = 0; i < count->size && total <= most; i++) {
		box_of(&box, l, count, i, log_cut);
		total += box_outcomes(&box, l->cells, messages(l, count, i), ways);
	}
	return total;
}

/* List the outcomes if there is room. */
static enum acct_rc list_boxes(struct acct_exact *e, const struct acct_list *l,
	const struct acct_count *count, double log_cut, double most)
{
	double *ways = calloc(2 * (messages(l, count, count->size) + 2), sizeof *ways), room;

	if (!ways)
		return ACCT_ENOMEM;
	room = count_boxes(l, count, log_cut, most, ways);
	free(ways);
	/* Numbers too large to be exact, and NaN, fail this comparison. */
	return room <= most ? list_all(e, l, count, log_cut, (size_t)fmax(1, room)) : ACCT_OK;
}

enum acct_rc acct_exact_relist(struct acct_exact *e, const struct acct_list *l, double missed, size_t most)
{
	double cut = fmax(missed / 2, 1e-280), log_cut = log(cut / (2 * (double)l->cells));
	double middle = floor(l->mean + l->dummies);
	struct acct_count count;

	/* Guess first, since computing the law of M takes work too; that law has more terms than four
	 * deviations. */
	if (!may_be_listed(l, MOST_RELISTED) ||
		!fits_boxes(l, middle, 1 + 4 * deviation(l), log_cut, (double)most)) {
		if (e->missed > missed)
			acct_exact_fini(e);
		return ACCT_OK;
	}
	enum acct_rc rc = acct_count_init(&count, l, cut / (4 * (double)(l->groups + 1)), MOST_OUTCOMES);
	if (!rc && count.size > 0 && count.first + (double)count.size + l->dummies <= MOST_RELISTED &&
		fits_boxes(l, middle, (double)count.size, log_cut, (double)most))
		rc = list_boxes(e, l, &count, log_cut, (double)most);
	acct_count_fini(&count);
	if (e->missed > missed)
		acct_exact_fini(e);
	return rc;
}
