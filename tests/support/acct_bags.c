/* acct_bags.c - the exact law of shuffled reports. */
#include "acct_bags.h"

#include <math.h>
#include <string.h>

static size_t choose(size_t n, size_t k)
{
	size_t c = 1;

	for (size_t i = 0; i < k; i++)
		c = c * (n - i) / (i + 1);
	return k > n ? 0 : c;
}

static size_t rank_of(const unsigned *y, size_t size)
{
	size_t r = 0;

	for (size_t i = 0; i < size; i++)
		r += choose(y[i] + i, i + 1);
	return r;
}

/* The next sorted sequence; false after the last. */
static bool step(unsigned *y, size_t size, size_t symbols)
{
	for (size_t i = 0; i < size; i++)
		if (y[i] + 1 < symbols && (i + 1 == size || y[i] < y[i + 1])) {
			y[i]++;
			memset(y, 0, i * sizeof *y);
			return true;
		}
	return false;
}

bool bags_init(struct bags *b, size_t symbols, size_t reports)
{
	b->symbols = symbols;
	if (symbols > BAGS_SYMBOLS || reports > BAGS_REPORTS ||
		choose(symbols + reports - 1, reports) > BAGS_MOST)
		return false;
	for (size_t size = 0; size < reports; size++) {
		unsigned y[BAGS_REPORTS + 1] = { 0 };

		b->count[size] = choose(symbols + size - 1, size);
		do {
			for (unsigned s = 0; s < symbols; s++) {
				unsigned z[BAGS_REPORTS + 1];
				size_t at = 0;

				while (at < size && y[at] <= s)
					at++;
				memcpy(z, y, at * sizeof *z);
				z[at] = s;
				memcpy(z + at + 1, y + at, (size - at) * sizeof *z);
				b->next[size][rank_of(y, size)][s] = (unsigned)rank_of(z, size + 1);
			}
		} while (step(y, size, symbols));
	}
	b->count[reports] = choose(symbols + reports - 1, reports);
	return true;
}

void law_add(const struct bags *b, struct law *l, const double *report)
{
	static struct law next;

	memset(&next, 0, sizeof next);
	for (size_t r = 0; r < b->count[l->size]; r++)
		for (size_t s = 0; s < b->symbols && l->mass[r] > 0; s++)
			next.mass[b->next[l->size][r][s]] += l->mass[r] * report[s];
	next.size = l->size + 1;
	*l = next;
}

double hockey(const struct bags *b, const struct law *p, const struct law *q, double e)
{
	double sum = 0;

	for (size_t r = 0; r < b->count[p->size]; r++)
		sum += fmax(0, p->mass[r] - e * q->mass[r]);
	return sum;
}
