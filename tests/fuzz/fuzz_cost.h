/* fuzz_cost.h - an accountant that charges each round ROUND_COSTS, for targets of the fuzzer: computing a
 * cost takes a second, and other tests do.  The target is linked with --wrap for both functions. */
#pragma once

#include "acct_state.h"

enum acct_rc __wrap_acct_epsilon(
	const struct acct_round *rounds, size_t n, double delta, struct acct_bound *out);
enum acct_rc __wrap_acct_state_epsilon_with(
	struct acct_state *s, const struct acct_round *with, size_t n, struct acct_bound *out);

enum acct_rc __wrap_acct_epsilon(
	const struct acct_round *rounds, size_t n, double delta, struct acct_bound *out)
{
	(void)rounds, (void)delta;
	*out = (struct acct_bound){ (double)n * ROUND_COSTS, (double)n * ROUND_COSTS };
	return ACCT_OK;
}

enum acct_rc __wrap_acct_state_epsilon_with(
	struct acct_state *s, const struct acct_round *with, size_t n, struct acct_bound *out)
{
	return __wrap_acct_epsilon(with, (size_t)acct_state_rounds(s) + n, 0, out);
}
