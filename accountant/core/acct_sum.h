/* acct_sum.h - a sum in two parts (Neumaier's): sum + low is as accurate as if rounded from twice the digits.
 * Start it with { first, 0 }. */
#pragma once

struct acct_sum {
	double sum, low;
};

/* x not negative, like the sum. */
static inline void acct_sum_add(struct acct_sum *s, double x)
{
	double next = s->sum + x;

	s->low += s->sum >= x ? (s->sum - next) + x : (x - next) + s->sum;
	s->sum = next;
}
