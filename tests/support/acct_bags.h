/* acct_bags.h - the exact law of shuffled reports: multisets of symbols by rank. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define BAGS_SYMBOLS 12
#define BAGS_REPORTS 9
#define BAGS_MOST    2000

/* Multisets of `size` symbols, by rank: the rank of y_1 <= .. <= y_t is sum C(y_i + i - 1, i). */
struct bags {
	size_t symbols, count[BAGS_REPORTS + 1];
	unsigned next[BAGS_REPORTS][BAGS_MOST][BAGS_SYMBOLS]; /* rank with one more symbol */
};

struct law {
	double mass[BAGS_MOST];
	size_t size;
};

/* Returns false if there is no room for so many multisets. */
bool bags_init(struct bags *b, size_t symbols, size_t reports);
/* Add one more report with this law. */
void law_add(const struct bags *b, struct law *l, const double *report);
/* sum (p - e q)+ */
double hockey(const struct bags *b, const struct law *p, const struct law *q, double e);
