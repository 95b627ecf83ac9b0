/* acct_listed.h - the list of a round that is text, and places whose sum is enumerated. */
#pragma once

#include <math.h>

#include "acct_list.h"
#include "acct_mech.h"
#include "acct_parsed.h"

static inline struct acct_list list_of(const char *text)
{
	static struct acct_list l;
	struct acct_round r = parsed(text).round;

	assert_int_equal(acct_list_init(&l, &r, NULL), ACCT_OK);
	return l;
}

/* D of these places, by listing what each shows: mass p[l][y], worth x[l][y]. */
struct places {
	size_t n, outputs;
	double p[6][MECH_OUTPUTS], x[6][MECH_OUTPUTS];
};

static inline double sum_from(const struct places *d, size_t l, double chance, double worth)
{
	double sum = 0;

	if (l == d->n)
		return chance * fmax(0, worth);
	for (size_t y = 0; y < d->outputs; y++)
		if (d->p[l][y] > 0)
			sum += sum_from(d, l + 1, chance * d->p[l][y], worth + d->x[l][y]);
	return sum;
}
