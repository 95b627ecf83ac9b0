/* acct_exact.c - the outcomes of a small round, listed: the oracle of the fast route, and its stand-in where
 * n is so small that the privacy curve has visible corners. */
#include "acct_exact.h"

#include <math.h>
#include <stdlib.h>

#define MOST_OUTCOMES 20000.0
#define MOST_MESSAGES 4096.0
/* Masses are exponentials of sums of log-factorials below 3e4, 3e4 * 2^-53 * a few, and of powers of at most
 * 4096 of omegas that are known to 128 ulp. */
#define MASS_ERROR 2e-10
#define TAIL       1e-60

struct walk {
	struct acct_curve *c;
	double *log_fact;
	double log_w[ACCT_MAX_CELLS];
};

/* Vectors of `cells` counts with sum m. */
static double compositions(double m, size_t cells)
{
	double n = 1;

	for (size_t j = 1; j < cells && n <= MOST_OUTCOMES; j++)
		n *= (m + (double)j) / (double)j;
	return n;
}

/* Give cell j and those after it `left` messages in every way. */
static void place(struct walk *w, size_t j, size_t left, double log_mass, double u, double v)
{
	const struct acct_list *l = &w->c->list;

	if (j + 1 == l->cells) {
		double mass = exp(log_mass + (double)left * w->log_w[j] - w->log_fact[left]);

		w->c->p[w->c->outcomes] = mass * (u + (double)left * l->cell[j].u);
		w->c->q[w->c->outcomes++] = mass * (v + (double)left * l->cell[j].v);
		return;
	}
	for (size_t k = 0; k <= left; k++)
		place(w, j + 1, left - k, log_mass + (double)k * w->log_w[j] - w->log_fact[k],
			u + (double)k * l->cell[j].u, v + (double)k * l->cell[j].v);
}

/* Chances of b blanket messages among the others, in logarithms: that of none, and of b + 1 over that of b.
 */
static double log_none(const struct acct_list *l)
{
	return l->others * (l->blanket < 0.5 ? log1p(-l->blanket) : log(l->rest));
}

static double log_ratio(const struct acct_list *l, double b)
{
	return log((l->others - b) / (b + 1) * l->blanket / l->rest);
}

/* The numbers of blanket messages among the others worth listing: `first` (with its log chance) and `last`,
 * and a bound on the chance of the rest: up to the mode chances grow, and beyond it they halve from where it
 * ends. */
static bool blanket_range(
	const struct acct_list *l, double *first, double *last, long double *log_first, double *missed)
{
	double mean = l->others * l->blanket, total = 0;

	*first = *last = l->others;
	*log_first = 0;
	*missed = 0;
	if (1 + mean + l->dummies > MOST_MESSAGES)
		return false;
	if (l->blanket >= 1)
		return compositions(1 + l->others + l->dummies, l->cells) <= MOST_OUTCOMES;
	long double log_mass = log_none(l);
	*first = 0;
	*log_first = log_mass;
	for (double b = 0; b <= l->others; b++) {
		double ratio = log_ratio(l, b);

		if (b < l->others && ratio > 0 && (double)log_mass + log(b + 1) < log(TAIL)) {
			log_mass += ratio;
			*first = b + 1;
			*log_first = log_mass;
			*missed = TAIL;
			continue;
		}
		total += compositions(1 + b + l->dummies, l->cells);
		if (total > MOST_OUTCOMES || 1 + b + l->dummies > MOST_MESSAGES)
			return false;
		if (b == l->others)
			break;
		log_mass += ratio;
		if (b > mean && ratio < log(0.5) && (double)log_mass < log(TAIL / 2)) {
			*last = b;
			*missed += TAIL;
			break;
		}
	}
	return true;
}

static double outcomes_in(const struct acct_list *l, double first, double last)
{
	double total = 0;

	for (double b = first; b <= last; b++)
		total += compositions(1 + b + l->dummies, l->cells);
	return total;
}

enum acct_rc acct_exact_list(struct acct_curve *c)
{
	const struct acct_list *l = &c->list;
	double first, last, missed;
	long double log_mass; /* a sum of thousands of terms */
	struct walk w = { .c = c };
	enum acct_rc rc = ACCT_ENOMEM;

	if (l->dummies > MOST_MESSAGES || !blanket_range(l, &first, &last, &log_mass, &missed))
		return ACCT_OK;
	size_t most = (size_t)(1 + last + l->dummies), room = (size_t)outcomes_in(l, first, last) + 1;

	c->p = calloc(room, sizeof *c->p);
	c->q = calloc(room, sizeof *c->q);
	w.log_fact = calloc(most + 1, sizeof *w.log_fact);
	if (!c->p || !c->q || !w.log_fact)
		goto out;
	for (size_t k = 0; k <= most; k++)
		w.log_fact[k] = lgamma((double)k + 1);
	for (size_t j = 0; j < l->cells; j++)
		w.log_w[j] = log(l->cell[j].omega / l->blanket);

	for (double b = first; b <= last; b++) {
		size_t m = (size_t)(1 + b + l->dummies);

		place(&w, 0, m, (double)log_mass + w.log_fact[m] + log(l->blanket / (double)m), 0, 0);
		if (b < last)
			log_mass += log_ratio(l, b);
	}
	c->missed = missed;
	rc = ACCT_OK;
out:
	free(w.log_fact);
	return rc;
}

void acct_exact_at(const struct acct_curve *c, double eps, bool swap, struct acct_point *at)
{
	const double *p = swap ? c->q : c->p, *q = swap ? c->p : c->q;
	double a = exp(-eps) / (1 + exp(-eps)), b = 1 / (1 + exp(-eps)), gain = expm1(eps);
	double sum = 0, mass = 0;

	for (size_t i = 0; i < c->outcomes; i++) {
		double x = eps < 1 ? a * (p[i] - q[i] - gain * q[i]) : a * p[i] - b * q[i];

		if (x > 0) {
			sum += x;
			mass += p[i] + q[i];
		}
	}
	at->lo = sum * (1 - MASS_ERROR);
	at->hi = sum * (1 + MASS_ERROR) + c->missed;
	at->slope = mass / 2;
	at->slope_err = at->slope * MASS_ERROR;
}
