/* pt_law.h - laws of counts on a window of integers, and quantiles.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Probabilities of first..first+len-1; what lies outside is below 1e-18 of the whole. */
struct pt_law {
	int64_t first;
	size_t len;
	double *p;
};

/* Binomial(n, p), p [0, 1].  False when the window would exceed 2^18 (standard deviation above about 14,000:
 * use the normal law), with out->len 0 then; or out of memory, with the length it should have. */
bool pt_law_binomial(struct pt_law *out, uint64_t n, double p);
/* Sum of two independent counts; O(a->len * b->len). */
bool pt_law_sum(struct pt_law *out, const struct pt_law *a, const struct pt_law *b);
void pt_law_fini(struct pt_law *law);

/* P(X >= x), P(X <= x). */
double pt_law_at_least(const struct pt_law *law, int64_t x);
double pt_law_at_most(const struct pt_law *law, int64_t x);
/* The least q with P(X > q) <= a, and the greatest q with P(X < q) <= a. */
int64_t pt_law_upper(const struct pt_law *law, double a);
int64_t pt_law_lower(const struct pt_law *law, double a);

/* z with Phi(z) = 1 - a, a (1e-300, 0.5]; to full double precision. */
double pt_normal_upper(double a);
/* One tail of each of n intervals, 1 or more, that hold together at 95 % (Sidak). */
double pt_joint_tail(size_t n);
