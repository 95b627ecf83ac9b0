/* acct_bits_mix.c - the privacy curve of bits among messages that are of use by chance. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_bits.h"
#include "acct_ends.h"
#include "acct_exact_count.h"

#define MOST_PARTS 16
#define MOST_TERMS 100000.0
#define MOST_WORK  4e6 /* of one search: see TOLERANCE in acct_bits.c */
#define TAIL       1e-60
#define FAR        280.0 /* 2 log(1/TAIL), rounded up */

/* A number of messages, from `least` to `most`, with `chance`. */
struct part {
	double chance, least, most;
};

struct acct_bits_mix {
	struct part part[MOST_PARTS];
	size_t parts;
	double missed;
};

/* Bernstein's bound on both sides of the mean, where there are too many terms: then the parts between would
 * differ by less than the tolerance. */
static void one_part(struct acct_bits_mix *x, const struct acct_bit_facts *b)
{
	double mean = 0, variance = 0, all = 0, far;

	for (size_t i = 0; i < b->levels; i++) {
		double n = (double)b->sent[i].count, p = b->sent[i].share;

		all += n;
		mean += n * p;
		variance += n * p * (1 - p);
	}
	far = FAR / 6 + sqrt(FAR * FAR / 36 + FAR * variance) + 1e-12 * mean + 1;
	x->part[0] = (struct part){ 1, fmax(0, floor(mean - far)), fmin(all, ceil(mean + far)) };
	x->parts = 1;
	x->missed = 4 * TAIL;
}

/* Where parts end, in deviations from the mean: one of w deviations is wide by about w sd/(2n) of epsilon. */
static const double ends[MOST_PARTS - 1] = { -9, -6.5, -5, -3.8, -2.9, -2.2, -1.6, -1.1, -0.6, -0.2, 0.2, 0.7,
	1.3, 2.2, 4 };

static void divide(struct acct_bits_mix *x, const struct acct_count *c, double mean, double deviation)
{
	size_t end = 0, n = 0;

	x->missed = c->missed;
	for (size_t i = 0; i < c->size; i++) {
		double at = c->first + (double)i;
		bool past = false;

		for (; end < MOST_PARTS - 1 && at > mean + ends[end] * deviation; end++)
			past = true;
		if (past && x->part[n].chance > 0)
			n++;
		if (!(x->part[n].chance > 0))
			x->part[n].least = at;
		x->part[n].chance += c->chance[i];
		x->part[n].most = at;
	}
	x->parts = n + 1;
}

/* The law as acct_exact_count.c computes it: the blanket messages of a list whose groups are these. */
static enum acct_rc count(const struct acct_bit_facts *b, struct acct_bits_mix *x)
{
	struct acct_list *l = calloc(1, sizeof *l);
	struct acct_count c;
	double variance = 0, mean = 0;
	enum acct_rc rc;

	if (!l)
		return ACCT_ENOMEM;
	l->blanket = 1;
	for (size_t i = 0; i < b->levels; i++) {
		double p = b->sent[i].share, sent = (double)b->sent[i].count;

		l->group[l->groups++] = (struct acct_group){ p, sent, 1 - p };
		variance += sent * p * (1 - p);
		mean += sent * p;
	}
	rc = acct_count_init(&c, l, TAIL, MOST_TERMS);
	memset(x->part, 0, sizeof x->part);
	if (!rc && c.size > 0)
		divide(x, &c, mean, sqrt(variance));
	else if (!rc)
		one_part(x, b);
	acct_count_fini(&c);
	free(l);
	return rc;
}

enum acct_rc acct_bits_mix_new(const struct acct_bit_facts *b, struct acct_bits_mix **out)
{
	struct acct_bits_mix *x = calloc(1, sizeof *x);
	enum acct_rc rc = ACCT_OK;

	if (!x)
		return ACCT_ENOMEM;
	x->parts = 1;
	x->part[0].chance = 1;
	if (b->levels > 0)
		rc = count(b, x);
	*out = x;
	return rc;
}

void acct_bits_mix_free(struct acct_bits_mix *x)
{
	free(x);
}

/* The loss falls with the number of messages, so that of a part is between those of its ends. */
static double part_at(const struct acct_bit_facts *b, const struct part *p, double eps, double most,
	double width, struct acct_point *at)
{
	bool coins = b->sent_are_coins;
	struct acct_point fewer;
	double work = acct_bits_within(b->others + (coins ? 0 : p->least), b->coins + (coins ? p->least : 0),
		b->epsilon0, eps, most, width, at);

	if (!(p->most > p->least))
		return work;
	fewer = *at;
	work += acct_bits_within(b->others + (coins ? 0 : p->most), b->coins + (coins ? p->most : 0),
		b->epsilon0, eps, most, width, at);
	at->hi = fewer.hi;
	return work;
}

double acct_bits_curve_at(const struct acct_bit_facts *b, const struct acct_bits_mix *x, double eps,
	double most, double width, struct acct_point *at)
{
	double work = 0, share = exp(-eps) / (1 + exp(-eps));

	most = fmin(most, MOST_WORK) / (double)x->parts;
	*at = (struct acct_point){ 0, 0, 0, 0 };
	for (size_t i = 0; i < x->parts; i++) {
		struct acct_point one;
		double chance = x->part[i].chance;

		work += part_at(b, &x->part[i], eps, most, width, &one);
		at->lo += chance * one.lo;
		at->hi += chance * one.hi;
		at->slope += chance * one.slope;
		at->slope_err += chance * one.slope_err;
	}
	if (x->part[0].most > 0) { /* the chances are known to 1e-10 */
		at->lo *= 1 - 1e-9;
		at->hi = at->hi * (1 + 1e-9) + share * x->missed;
		at->slope_err += 2e-9 * at->slope;
	}
	return work;
}
