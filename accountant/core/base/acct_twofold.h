/* acct_twofold.h - a sum in two doubles, by Neumaier's method: sum + low is as accurate as a sum computed
 * with twice the digits and then rounded.  Start it with { first, 0 }. */
#pragma once

struct acct_twofold {
	double sum, low;
};

/* Add x.  Neither x nor the sum is negative. */
static inline void acct_twofold_add(struct acct_twofold *s, double x)
{
	double next = s->sum + x;

	s->low += s->sum >= x ? (s->sum - next) + x : (x - next) + s->sum;
	s->sum = next;
}
