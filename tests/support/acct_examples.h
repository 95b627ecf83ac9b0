/* acct_examples.h - rounds that many tests use, each with count 1. */
#pragma once

#include "acct.h"

/* Any eps0-randomizer. */
static inline struct acct_round generic(double eps0, uint64_t others)
{
	struct acct_round r = { .others = others, .count = 1 };

	assert_int_equal(acct_cells_generic(eps0, &r, NULL), ACCT_OK);
	return r;
}

/* k symbols, `dummies` uniform messages and nobody else: infinite loss with chance (1 - 1/k)^dummies. */
static inline struct acct_round bins(double k, uint64_t dummies)
{
	return (struct acct_round){ .cells = 3,
		.dummies = dummies,
		.count = 1,
		.cell = { { 1 / k, k, 0 }, { 1 / k, 0, k }, { (k - 2) / k, 0, 0 } } };
}

/* k-ary response of ratio p, by one participant alone. */
static inline struct acct_round grr_victim(unsigned k, double p)
{
	double z = p + k - 1;

	return (struct acct_round){ .cells = k > 2 ? 3 : 2,
		.count = 1,
		.cell = { { 1 / z, p, 1 }, { 1 / z, 1, p }, { (k - 2) / z, 1, 1 } } };
}
