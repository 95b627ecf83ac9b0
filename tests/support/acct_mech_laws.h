/* acct_mech_laws.h - the definitions behind acct_mech.h's table. */
#pragma once

#include "acct_mech.h"

/* Each function says what its a, b, c and x are. */
struct mech_args {
	double eps0, x;
	unsigned a, b, c;
};

/* m is zero; weights are normalised by the caller. */
typedef void mech_fn(struct mech *m, const struct mech_args *g);

mech_fn mech_response, mech_mixbins, mech_bins, mech_levels, mech_hashed, mech_shifted, mech_rappor, mech_oue,
	mech_subset, mech_privset, mech_olh, mech_hadamard, mech_duchi, mech_harmony, mech_words, mech_vrr,
	mech_laplace, mech_staircase, mech_piecewise, mech_coins, mech_cheu, mech_hierarchy, mech_parallel,
	mech_shared, mech_planar;
