/* es_law.h - laws of counts on a window of integers, and quantiles.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Probabilities of first..first+len-1; what lies outside is below 1e-18 of the whole. */
struct es_law {
	int64_t first;
	size_t len;
	double *p;
};

/* Binomial(n, p), p [0, 1].  False when the window would exceed 2^18 (standard deviation above about 14,000:
 * use the normal law), with out->len 0 then; or out of memory, with the length it should have. */
bool es_law_binomial(struct es_law *out, uint64_t n, double p);
/* Sum of two independent counts; O(a->len * b->len). */
bool es_law_sum(struct es_law *out, const struct es_law *a, const struct es_law *b);
void es_law_fini(struct es_law *law);

/* P(X >= x), P(X <= x). */
double es_law_at_least(const struct es_law *law, int64_t x);
double es_law_at_most(const struct es_law *law, int64_t x);
/* The least q with P(X > q) <= a, and the greatest q with P(X < q) <= a. */
int64_t es_law_upper(const struct es_law *law, double a);
int64_t es_law_lower(const struct es_law *law, double a);

/* z with Phi(z) = 1 - a, a (1e-300, 0.5]; to full double precision. */
double es_normal_upper(double a);
/* One tail of each of n intervals, 1 or more, that hold together at 95 % (Sidak). */
double es_joint_tail(size_t n);
