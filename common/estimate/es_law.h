/* es_law.h - probability laws of counts on a window of integers, and their quantiles.  No I/O, no state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* p[i]: probability of first + i, i < len.  All other integers together have less than 1e-18. */
struct es_law {
	int64_t first;
	size_t len;
	double *p;
};

/* Compute Binomial(n, p), p [0, 1].  Returns false with out->len 0 if the window would exceed 2^18 (a
 * standard deviation above about 14,000: use the normal law).  Returns false with the window's out->len if
 * memory runs out. */
bool es_law_binomial(struct es_law *out, uint64_t n, double p);
/* Compute the law of the sum of two independent counts; O(a->len * b->len). */
bool es_law_sum(struct es_law *out, const struct es_law *a, const struct es_law *b);
void es_law_fini(struct es_law *law);

/* The chances P(X >= x), and P(X <= x). */
double es_law_at_least(const struct es_law *law, int64_t x);
double es_law_at_most(const struct es_law *law, int64_t x);
/* Quantiles: the least q with P(X > q) <= a, and the greatest q with P(X < q) <= a. */
int64_t es_law_upper(const struct es_law *law, double a);
int64_t es_law_lower(const struct es_law *law, double a);

/* The z that a standard normal number exceeds with chance a (1e-300, 0.5], to full double precision. */
double es_normal_upper(double a);
/* The chance with which each end of each of n intervals (n >= 1) may miss, so that all hold together at 95
 * % (Sidak). */
double es_joint_tail(size_t n);
