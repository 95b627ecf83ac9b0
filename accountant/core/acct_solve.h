/* acct_solve.h - one function of acct_solve.c that acct.h does not declare. */
#pragma once

#include "acct.h"

/* acct_epsilon on the common grids alone, without the products of transforms that a state keeps. */
ACCT_CHECK enum acct_rc acct_epsilon_on_grids(
	const struct acct_round *rounds, size_t n, double delta, struct acct_bound *eps);
