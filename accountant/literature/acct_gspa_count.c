/* acct_gspa_count.c (acct_gspa_sum.h) - computes the Poisson-binomial law of the number of blanket messages
 * by convolution.
 *
 * Every term is positive, so relative errors add up, and nothing cancels. */
#include "acct_gspa_sum.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ULP 0x1p-53
/* Masses below this are cut off.  A million cuts leave out at most a mass of 1e-90, which is added to every
 * upper bound. */
#define NOTHING    1e-100
#define MOST_WORK  1.5e9 /* most multiplications */
#define MOST_TERMS 1e6   /* most terms; one delta takes some hundredths of a second */
#define MOST_SIZE  8e6   /* most terms of one binomial law */
#define SHARE_ULPS 8     /* relative error of p and q, in ulps */

/* out[i+j] += a[i] b[j]. */
static void convolve(const double *a, size_t n, const double *b, size_t m, double *out)
{
	for (size_t j = 0; j < m; j++)
		for (size_t i = 0; i < n; i++)
			out[i + j] += a[i] * b[j];
}

/* Cut off the ends whose masses are below NOTHING. */
static void trim(struct acct_gspa_count *c)
{
	size_t from = 0, to = c->size;

	while (from + 1 < to && c->mass[from] < NOTHING)
		c->missed += c->mass[from++];
	while (to - 1 > from && c->mass[to - 1] < NOTHING)
		c->missed += c->mass[--to];
	memmove(c->mass, c->mass + from, (to - from) * sizeof *c->mass);
	c->size = to - from;
	c->first += from;
}

/* Compute the binomial law of one class: from the most likely number outwards by ratios of neighbouring
 * terms, then scaled to sum to one.  The terms left out on either side start below NOTHING and fall at
 * least geometrically, since the ratios fall. */
static enum acct_rc binomial(const struct acct_gspa_share *s, struct acct_gspa_count *b)
{
	double n = (double)s->count, odds = s->p / s->q, mode = floor((n + 1) * s->p), sum = 0;
	double spread = sqrt(n * s->p * s->q),
	       width = floor(24 * spread + 400); /* e^{-24^2/2} is below 1e-120 */

	if (mode > n)
		mode = n;
	double low = fmax(0, mode - width), high = fmin(n, mode + width);
	if (high - low > MOST_SIZE)
		return ACCT_ELIMIT;
	b->size = (size_t)(high - low) + 1;
	b->first = (uint64_t)low;
	b->mass = calloc(b->size, sizeof *b->mass);
	if (!b->mass)
		return ACCT_ENOMEM;
	size_t top = (size_t)(mode - low);
	b->mass[top] = 1;
	for (size_t i = top; i + 1 < b->size; i++) {
		double j = low + (double)i;

		b->mass[i + 1] = b->mass[i] * ((n - j) / (j + 1)) * odds;
	}
	for (size_t i = top; i > 0; i--) {
		double j = low + (double)i;

		b->mass[i - 1] = b->mass[i] * (j / (n - j + 1)) / odds;
	}
	for (size_t i = 0; i < b->size; i++)
		sum += b->mass[i];
	for (size_t i = 0; i < b->size; i++)
		b->mass[i] /= sum;
	b->missed = NOTHING;
	trim(b);
	/* each step has 5 operations and two chances of SHARE_ULPS, and the sum one addition for each
	 * term */
	b->error = (5 + 2 * SHARE_ULPS + 1) * ULP * (double)(b->size + 1);
	return ACCT_OK;
}

static enum acct_rc add(struct acct_gspa_count *c, const struct acct_gspa_count *b)
{
	const struct acct_gspa_count *large = c->size > b->size ? c : b, *small = c->size > b->size ? b : c;
	size_t size = c->size + b->size - 1;

	c->work += (double)c->size * (double)b->size;
	/* estimate the work: for every number of messages, the sum for delta takes terms over some
	 * deviations */
	double terms = (double)size * sqrt((double)c->first + (double)b->first + (double)size);
	if (c->work > MOST_WORK || terms > MOST_TERMS)
		return ACCT_ELIMIT;
	assert(size > 0); /* a law has at least one number */
	double *out = calloc(size, sizeof *out);
	if (!out)
		return ACCT_ENOMEM;
	convolve(large->mass, large->size, small->mass, small->size, out);
	c->error += b->error + ULP * (double)(small->size + 1);
	c->missed += b->missed;
	c->first += b->first;
	c->size = size;
	free(c->mass);
	c->mass = out;
	trim(c);
	return ACCT_OK;
}

enum acct_rc acct_gspa_count_init(struct acct_gspa_count *c, const struct acct_gspa_share *share, size_t n)
{
	*c = (struct acct_gspa_count){ .size = 1, .mass = malloc(sizeof *c->mass) };
	if (!c->mass)
		return ACCT_ENOMEM;
	c->mass[0] = 1;
	for (size_t i = 0; i < n; i++) {
		struct acct_gspa_count b = { 0 };
		double two[2] = { share[i].q, share[i].p };
		enum acct_rc rc;

		if (share[i].count == 0)
			continue;
		if (share[i].count == 1) {
			b = (struct acct_gspa_count){ .mass = two, .size = 2, .error = SHARE_ULPS * ULP };
			rc = add(c, &b);
		} else {
			rc = binomial(&share[i], &b);
			if (!rc)
				rc = add(c, &b);
			free(b.mass);
		}
		if (rc)
			return rc;
	}
	return ACCT_OK;
}

void acct_gspa_count_fini(struct acct_gspa_count *c)
{
	free(c->mass);
	*c = (struct acct_gspa_count){ 0 };
}
