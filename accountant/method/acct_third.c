/* acct_third.c (acct_third.h) */
#include "acct_third.h"

#include <math.h>
#include <stdlib.h>

#include "acct_binomial.h"

#define TAIL   (-80.0) /* log of the chance that is left out at either end of each binomial law */
#define MOST   1e8     /* most products of chances for the law of T */
#define FRESH  256     /* steps after which a tail is summed anew, lest rounding adds up */
#define FAR    64.0    /* the same if j moves by more */
#define MARGIN 1e-9    /* more than the relative error of every term */

struct third {
	double p, q, rest; /* p, q and s of acct_third.h */
	double *f;         /* the law of T from `from` on */
	size_t size;
	double from;
	double lost, work; /* lost: at least the chance that f leaves out; work: products of chances so far */
};

/* P(Bin(t, 1/2) > j) and P(Bin(t, 1/2) = j). */
struct tail {
	double t, j, above, equal, first;
	int steps;
};

bool acct_third_is(const struct acct_spec *s)
{
	const struct acct_round *r = &s->round;

	return s->third && s->uniform && !s->mixed && !s->no_inputs && r->cells == 3 && r->count == 1 &&
	       !(r->sampling > 0) && (r->dummies > 0 || r->levels > 0);
}

/* Add `count` messages, each of which is of the two symbols with this chance.  Returns false if there are too
 * many, or there is no memory. */
static bool add(struct third *x, double count, double chance)
{
	double last, first, *sum;
	size_t width;

	if (!(count > 0))
		return true;
	last = fmin(count, acct_binomial_last(count, chance, TAIL));
	first = fmax(0, count - acct_binomial_last(count, 1 - chance, TAIL));
	x->work += (last - first + 1) * (double)x->size;
	if (!(x->work <= MOST))
		return false;
	width = (size_t)(last - first) + 1;
	sum = calloc(x->size + width - 1, sizeof *sum);
	if (!sum)
		return false;
	for (size_t i = 0; i < width; i++) {
		double at = exp(acct_binomial_log(count, chance, first + (double)i));

		for (size_t j = 0; j < x->size; j++)
			sum[i + j] += at * x->f[j];
	}
	free(x->f);
	x->f = sum;
	x->size += width - 1;
	x->from += first;
	x->lost += 2.1 * exp(TAIL);
	return true;
}

static bool open_law(const struct acct_spec *s, struct third *x)
{
	const struct acct_round *r = &s->round;
	double symbol = r->cell[0].omega, ratio = fmax(r->cell[0].u, r->cell[0].v), blanket = 0;
	bool enough;

	for (size_t j = 0; j < r->cells; j++)
		blanket += r->cell[j].omega;
	*x = (struct third){ .p = symbol * ratio, .q = symbol, .f = malloc(sizeof *x->f), .size = 1 };
	x->rest = 1 - x->p - x->q;
	if (!x->f)
		return false;
	x->f[0] = 1;
	enough = add(x, (double)r->others, 2 * symbol) && add(x, (double)r->dummies, 2 * symbol / blanket);
	for (size_t i = 0; i < r->levels && enough; i++)
		enough = add(x, (double)r->level[i].count, 2 * symbol * r->level[i].share);
	return enough;
}

static void sum_tail(struct tail *a, double t, double j)
{
	double term;

	*a = (struct tail){ .t = t, .j = j, .equal = exp(acct_binomial_log(t, 0.5, j)) };
	term = a->equal;
	for (double i = j; i < t && term > 1e-18 * a->above; i++) {
		term *= (t - i) / (i + 1);
		a->above += term;
	}
	a->first = a->above;
}

/* Move to t + 1 and this j. */
static void next_tail(struct tail *a, double j)
{
	a->above += a->equal / 2;
	a->t++;
	a->equal *= a->t / (2 * (a->t - a->j));
	for (; a->j < j; a->j++) {
		a->equal *= (a->t - a->j) / (a->j + 1);
		a->above -= a->equal;
	}
	for (; a->j > j; a->j--) {
		a->above += a->equal;
		a->equal *= a->j / (a->t - a->j + 1);
	}
	if (++a->steps > FRESH || a->above < a->first / 16)
		sum_tail(a, a->t, j);
}

static double delta_at(const struct third *x, double eps)
{
	double ratio = exp(eps), grown = expm1(eps), sum = 0, moduli = 0;
	struct tail a = { .t = -1 };

	for (size_t i = 0; i < x->size; i++) {
		double t = x->from + (double)i + 1, one = x->f[i], two = i + 1 < x->size ? x->f[i + 1] : 0;
		double told = (x->p - x->q) * (1 + ratio),
		       j = floor(t * ((ratio * x->p - x->q) + x->rest * (two / one) * grown / 2) / told);
		double gain, cost;

		if (!(one > 0 && j < t))
			continue;
		if (a.t + 1 < t || a.t + 1 > t || fabs(a.j - j) > FAR)
			sum_tail(&a, t, j);
		else
			next_tail(&a, j);
		gain = one * told / 2 * (a.equal * (2 * (t - j) / t)); /* Bin(t-1, 1/2) = j */
		cost = ((x->p + x->q) * one + x->rest * two) * grown * a.above;
		sum += gain - cost;
		moduli += gain + cost;
	}
	return fmax(0, sum - MARGIN * moduli - x->lost * ratio);
}

void acct_third_lower(const struct acct_spec *s, bool epsilon, double at, double *lower)
{
	struct third x;
	double low = 0, high;

	*lower = 0;
	if (open_law(s, &x)) {
		high = log(x.p / x.q);
		for (int i = 0; i < 50 && epsilon; i++) {
			double middle = low + (high - low) / 2;

			*(delta_at(&x, middle) >= at ? &low : &high) = middle;
		}
		*lower = epsilon ? low : delta_at(&x, at);
	}
	free(x.f);
}
