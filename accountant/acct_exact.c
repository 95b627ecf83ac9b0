/* acct_exact.c - the outcomes of a small round, listed: the oracle of the fast route, and its stand-in where
 * n is so small that the privacy curve has visible corners. */
#include "acct_exact.h"

#include <math.h>
#include <stdlib.h>

#include "acct_exact_count.h"

#define MOST_OUTCOMES 20000.0
#define MOST_MESSAGES 4096.0
/* Masses are exponentials of sums of log-factorials below 3e4, 3e4 * 2^-53 * a few, and of powers of at most
 * 4096 of omegas that are known to 128 ulp. */
#define MASS_ERROR 2e-10

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

/* Listed outcomes when the others bring each number of blanket messages in c. */
static double outcomes_of(const struct acct_list *l, const struct acct_count *c)
{
	double total = 0;

	for (size_t i = 0; i < c->size && total <= MOST_OUTCOMES; i++)
		total += compositions(1 + c->first + (double)i + l->dummies, l->cells);
	return total;
}

/* Ten deviations from the mean there are many outcomes already: do not look further. */
static bool may_be_few(const struct acct_list *l)
{
	double reach = 0, mean = floor(l->mean);

	if (l->cells < 2 || 1 + l->mean + l->dummies > MOST_MESSAGES)
		return false;
	for (size_t i = 0; i < l->groups; i++)
		reach += l->group[i].count * l->group[i].share * l->blanket * l->group[i].rest;
	reach = fmin(10 * sqrt(reach), l->others - mean);
	return (1 + fmax(0, reach - 1)) * compositions(1 + mean + l->dummies, l->cells) <= MOST_OUTCOMES;
}

static enum acct_rc list_all(struct acct_curve *c, const struct acct_count *count, size_t room)
{
	const struct acct_list *l = &c->list;
	size_t most = (size_t)(count->first + l->dummies) + count->size;
	struct walk w = { .c = c, .log_fact = calloc(most + 1, sizeof *w.log_fact) };

	c->p = calloc(room, sizeof *c->p);
	c->q = calloc(room, sizeof *c->q);
	if (!c->p || !c->q || !w.log_fact) {
		free(w.log_fact);
		return ACCT_ENOMEM;
	}
	for (size_t k = 0; k <= most; k++)
		w.log_fact[k] = lgamma((double)k + 1);
	for (size_t j = 0; j < l->cells; j++)
		w.log_w[j] = log(l->cell[j].omega / l->blanket);
	for (size_t i = 0; i < count->size; i++) {
		size_t m = (size_t)(1 + count->first + l->dummies) + i;

		if (count->chance[i] > 0)
			place(&w, 0, m, log(count->chance[i]) + w.log_fact[m] + log(l->blanket / (double)m),
				0, 0);
	}
	c->missed = count->missed;
	free(w.log_fact);
	return ACCT_OK;
}

enum acct_rc acct_exact_list(struct acct_curve *c)
{
	struct acct_count count;
	enum acct_rc rc;

	if (c->list.lossless || !may_be_few(&c->list))
		return ACCT_OK;
	rc = acct_count_init(&count, &c->list, MOST_OUTCOMES);
	if (!rc && count.size > 0 && count.first + (double)count.size + c->list.dummies <= MOST_MESSAGES) {
		double room = outcomes_of(&c->list, &count);

		if (room <= MOST_OUTCOMES)
			rc = list_all(c, &count, (size_t)room);
	}
	acct_count_fini(&count);
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
