/* acct_exact_count.c (acct_exact.h) - computes the law of the number of blanket messages among the
 * others. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_exact.h"

#define UNDERFLOWN 1e-290 /* bound on the sum of all products that underflow */

/* Logarithms of chances for the number b of blanket messages in a group, each of which is blanket with
 * `chance`: of b = 0, and of the ratio of b + 1 to b. */
static double log_none(const struct acct_group *g, double chance)
{
	return g->count * (chance < 0.5 ? log1p(-chance) : log(g->rest));
}

static double log_ratio(const struct acct_group *g, double chance, double b)
{
	return log((g->count - b) / (b + 1) * chance / g->rest);
}

/* Compute the terms of one group that matter.  Chances grow up to the mode; the list ends beyond it, where
 * each is at most half of the one before, so what is left out is less than the last.  If there are more
 * than `most` terms, size is 0. */
static enum acct_rc one_group(
	struct acct_count *c, const struct acct_group *g, double blanket, double tail, double most)
{
	double chance = g->share * blanket, mean = g->count * chance, log_tail = log(tail);
	size_t room = (size_t)fmin(g->count + 1, most);

	memset(c, 0, sizeof *c);
	c->chance = calloc(room, sizeof *c->chance);
	if (!c->chance)
		return ACCT_ENOMEM;
	if (g->rest <= 0) {
		c->first = g->count;
		c->chance[c->size++] = 1;
		return ACCT_OK;
	}
	long double log_mass = log_none(g, chance); /* this is a sum of thousands of terms */
	for (double b = 0; b <= g->count; b++) {
		double ratio = log_ratio(g, chance, b);

		if (b < g->count && ratio > 0 && (double)log_mass + log(b + 1) < log_tail) {
			c->first = b + 1;
			c->missed = tail;
		} else if (c->size == room) {
			c->size = 0;
			return ACCT_OK;
		} else {
			c->chance[c->size++] = (double)expl(log_mass);
			if (b > mean && ratio < log(0.5) && (double)log_mass < log_tail - log(2)) {
				c->missed += tail;
				break;
			}
		}
		log_mass += ratio;
	}
	return ACCT_OK;
}

/* Drop terms at both ends, on each side as long as their sum is at most tail. */
static void trim(struct acct_count *c, double tail)
{
	size_t from = 0;
	double low = 0, high = 0;

	while (from < c->size && low + c->chance[from] <= tail)
		low += c->chance[from++];
	while (c->size > from && high + c->chance[c->size - 1] <= tail)
		high += c->chance[--c->size];
	c->size -= from;
	memmove(c->chance, c->chance + from, c->size * sizeof *c->chance);
	c->first += (double)from;
	c->missed += (low + high) * (1 + 1e-9) + UNDERFLOWN;
}

static enum acct_rc convolve(struct acct_count *c, const struct acct_count *g, double tail)
{
	double *sum = calloc(c->size + g->size, sizeof *sum);

	if (!sum)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < c->size; i++)
		for (size_t j = 0; j < g->size; j++)
			sum[i + j] += c->chance[i] * g->chance[j];
	free(c->chance);
	c->chance = sum;
	c->size += g->size - 1;
	c->first += g->first;
	c->missed += g->missed;
	trim(c, tail);
	return ACCT_OK;
}

enum acct_rc acct_count_init(struct acct_count *c, const struct acct_list *l, double tail, double most)
{
	enum acct_rc rc = ACCT_OK;

	memset(c, 0, sizeof *c);
	c->chance = calloc(1, sizeof *c->chance);
	if (!c->chance)
		return ACCT_ENOMEM;
	c->chance[c->size++] = 1;
	for (size_t i = 0; i < l->groups && c->size > 0 && !rc; i++) {
		struct acct_count g;

		rc = one_group(&g, &l->group[i], l->blanket, tail, most);
		if (!rc && (g.size == 0 || (double)(c->size + g.size) > 2 * most))
			c->size = 0;
		else if (!rc)
			rc = convolve(c, &g, tail);
		acct_count_fini(&g);
	}
	return rc;
}

void acct_count_fini(struct acct_count *c)
{
	free(c->chance);
	memset(c, 0, sizeof *c);
}
