/* acct_solve.h - one function of acct_solve.c that acct.h does not declare. */
#pragma once

#include "acct.h"

/* acct_epsilon by acct_rounds.c alone, without acct_many.c: what a state (acct_state.h) asks where its own
 * products give a wide answer. */
ACCT_CHECK enum acct_rc acct_epsilon_on_grids(
	const struct acct_round *rounds, size_t n, double delta, struct acct_bound *eps);
