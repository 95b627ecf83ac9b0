/* acct_twofold.h - a sum in two doubles (Neumaier's): sum + low is as accurate as if rounded from twice the
 * digits. Start it with { first, 0 }. */
#pragma once

struct acct_twofold {
	double sum, low;
};

/* x is not negative, nor is the sum. */
static inline void acct_twofold_add(struct acct_twofold *s, double x)
{
	double next = s->sum + x;

	s->low += s->sum >= x ? (s->sum - next) + x : (x - next) + s->sum;
	s->sum = next;
}
