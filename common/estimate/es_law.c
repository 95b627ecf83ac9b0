/* es_law.c - computes laws of counts on a window of integers, and their quantiles. */
#include "es_law.h"

#include <math.h>
#include <stdlib.h>

#define LEN_MAX ((size_t)1 << 18)
/* terms smaller than this part of the largest are left out: all of them together stay below 1e-18 for any
 * window allowed */
#define NEGLIGED 1e-20

/* The ratio p(x + 1) / p(x) of neighbouring chances of Binomial(n, p), where odds = p / (1 - p). */
static double step_up(double n, double odds, double x)
{
	return (n - x) / (x + 1) * odds;
}

static bool allocate(struct es_law *law, int64_t first, size_t len)
{
	*law = (struct es_law){ .first = first, .len = len };
	law->p = calloc(len, sizeof *law->p);
	return law->p;
}

bool es_law_binomial(struct es_law *out, uint64_t n, double p)
{
	double odds = p / (1 - p), mode, term, sum = 0;
	size_t below = 0, above = 0;

	*out = (struct es_law){ 0 };
	if (n == 0 || p <= 0 || p >= 1) {
		if (!allocate(out, p >= 1 ? (int64_t)n : 0, 1))
			return false;
		out->p[0] = 1;
		return true;
	}
	mode = fmin(floor(((double)n + 1) * p), (double)n);
	/* Compute the terms relative to the mode, so that no factorial of a huge n is needed. */
	for (term = 1; mode - (double)below > 0 && term > NEGLIGED && below < LEN_MAX; below++)
		term /= step_up((double)n, odds, mode - (double)below - 1);
	for (term = 1; mode + (double)above < (double)n && term > NEGLIGED && above < LEN_MAX; above++)
		term *= step_up((double)n, odds, mode + (double)above);
	if (below + above + 1 > LEN_MAX || !allocate(out, (int64_t)mode - (int64_t)below, below + above + 1))
		return false;
	out->p[below] = 1;
	for (size_t i = below; i > 0; i--)
		out->p[i - 1] = out->p[i] / step_up((double)n, odds, mode - (double)(below - i) - 1);
	for (size_t i = below; i + 1 < out->len; i++)
		out->p[i + 1] = out->p[i] * step_up((double)n, odds, mode + (double)(i - below));
	for (size_t i = 0; i < out->len; i++)
		sum += out->p[i];
	for (size_t i = 0; i < out->len; i++)
		out->p[i] /= sum;
	return true;
}

bool es_law_sum(struct es_law *out, const struct es_law *a, const struct es_law *b)
{
	if (!allocate(out, a->first + b->first, a->len + b->len - 1))
		return false;
	for (size_t i = 0; i < a->len; i++) {
		for (size_t j = 0; j < b->len; j++)
			out->p[i + j] += a->p[i] * b->p[j];
	}
	return true;
}

void es_law_fini(struct es_law *law)
{
	free(law->p);
	*law = (struct es_law){ 0 };
}

double es_law_at_least(const struct es_law *law, int64_t x)
{
	double sum = 0;

	/* add from the far end, where terms are small, so that they are not lost to rounding */
	for (size_t i = law->len; i > 0 && law->first + (int64_t)i - 1 >= x; i--)
		sum += law->p[i - 1];
	return sum;
}

double es_law_at_most(const struct es_law *law, int64_t x)
{
	double sum = 0;

	for (size_t i = 0; i < law->len && law->first + (int64_t)i <= x; i++)
		sum += law->p[i];
	return sum;
}

int64_t es_law_upper(const struct es_law *law, double a)
{
	double beyond = 0;
	size_t i = law->len - 1;

	while (i > 0 && beyond + law->p[i] <= a)
		beyond += law->p[i--];
	return law->first + (int64_t)i;
}

int64_t es_law_lower(const struct es_law *law, double a)
{
	double beyond = 0;
	size_t i = 0;

	while (i + 1 < law->len && beyond + law->p[i] <= a)
		beyond += law->p[i++];
	return law->first + (int64_t)i;
}

double es_normal_upper(double a)
{
	double low = 0, high = 40;

	/* erfc is monotone, with a small relative error; after 200 halvings low and high are neighbouring
	 * doubles. */
	for (int i = 0; i < 200; i++) {
		double z = (low + high) / 2;

		if (erfc(z / sqrt(2)) / 2 > a)
			low = z;
		else
			high = z;
	}
	return high;
}

double es_joint_tail(size_t n)
{
	return -expm1(log1p(-0.05) / (double)n) / 2;
}
