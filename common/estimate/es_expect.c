/* es_expect.c - computes the error to expect of an answer, before anybody was asked. */
#include "es_expect.h"

#include <math.h>

double es_support_expected_error(const struct es_support *s, uint64_t participants, uint32_t items)
{
	double n = (double)participants;

	return sqrt((es_support_variance(s, n, n / items) + es_support_variance(s, n, n / 10)) / 2);
}

/* The largest variance of the score of a value between the levels l and l + 1.  low and high: the score's
 * second moments at these two levels.  The value l + f is rounded up with chance f and down with chance 1 -
 * f.  So its score has mean l + f and second moment (1 - f) low + f high.  The variance is concave in f, and
 * is largest where high - low = 2 (l + f). */
static double piece_variance(double l, double low, double high)
{
	double f = fmin(fmax((high - low) / 2 - l, 0), 1);

	return low + f * (high - low) - (l + f) * (l + f);
}

double es_mean_scale(const struct qy_query *q, double n)
{
	return q->kind == QY_SUM ? n : 1;
}

/* The root of the variance of the mean or sum, from the sum of the variances of all scores. */
static double mean_error(const struct qy_query *q, double n, double b, double sum)
{
	return es_mean_scale(q, n) * (q->high - q->low) * sqrt(fmax(sum, 0)) / (n * b);
}

double es_mean_expected_error(const struct qy_query *q, uint64_t participants, uint32_t b,
	const double *moment, double dummies, double dummy_variance)
{
	double worst = 0, n = (double)participants;

	for (uint32_t l = 0; l < b; l++)
		worst = fmax(worst, piece_variance(l, moment[l], moment[l + 1]));
	return mean_error(q, n, b, n * worst + dummies * dummy_variance);
}

/* With B1, B2 the sums of y and y^2 over the levels, L = P - Q and m = Q B1, the score of a report y is
 * (y - m) / L.  A report of level l has E y = m + L l and E y^2 = Q B2 + L l^2, so
 * E (y - m)^2 = Q B2 + L l^2 - m^2 - 2 m L l. */
double es_response_expected_error(const struct qy_query *q, const struct es_counted *c)
{
	double b = c->bins - 1, other = c->other, more = c->keep - other, worst = 0;
	double b1 = b * (b + 1) / 2, b2 = b1 * (2 * b + 1) / 3;
	double m = other * b1, uniform = b * (b + 2) / 12, low = other * b2 - m * m;

	for (double l = 0; l < b; l++) {
		double next = other * b2 - m * m + more * (l + 1) * (l + 1) - 2 * m * more * (l + 1);

		worst = fmax(worst, piece_variance(l, low / (more * more), next / (more * more)));
		low = next;
	}
	return mean_error(q, c->n, b, c->n * worst + c->dummies * uniform / (more * more));
}
