/* charged.h - what a round is charged at four epsilons, for tests that enumerate its outcomes. */
#pragma once

#include "acct.h"
#include "flame_made.h"

/* delta[i] is what participants of a round of n pay at epsilon[i]. */
static inline void charged(
	const struct pt_randomizer *p, uint64_t n, const double epsilon[4], double delta[4])
{
	struct pt_loss loss;

	assert_int_equal(pt_loss(p, n, &loss, &err), CM_OK);
	for (size_t i = 0; i < 4; i++) {
		struct acct_bound b;

		assert_int_equal(acct_delta(loss.part, loss.parts, epsilon[i], &b), ACCT_OK);
		delta[i] = b.upper;
	}
}
