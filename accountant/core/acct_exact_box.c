/* acct_exact_box.c - chooses the outcomes of m messages to list: a range of counts for every cell.
 *
 * N_j is the victim's part, 0 or 1, plus Bin(m, w_j): P(N_j > k) <= P(Bin >= k) and P(N_j < k) <= P(Bin <=
 * k-1), whatever the victim's input, and Chernoff's bound of both is exp(-m KL(k/m, w)). */
#include "acct_exact_box.h"

#include <math.h>

/* Chernoff's exponent of k of m with chance w; 1 - w is passed separately. */
static double exponent(double k, double m, double w, double not_w)
{
	double hit = k > 0 ? k * log(k / (m * w)) : 0,
	       miss = k < m ? (m - k) * log((m - k) / (m * not_w)) : 0;

	return hit + miss;
}

/* The least k >= m w such that k or more are negligible; m + 1 are impossible. */
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

/* The largest k <= m w such that fewer than k are negligible. */
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

void acct_box_init(struct acct_box *b, const struct acct_list *l, size_t m, double log_cut)
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

/* Cell by cell: ways[s] is the number of ways in which the cells so far hold s messages. */
double acct_box_outcomes(const struct acct_box *b, size_t cells, size_t m, double *ways)
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
