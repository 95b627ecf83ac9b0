/* acct_grid.h - distances in y = tanh(loss/2) between nodes, without cancellation.  Private to
 * acct_law*.c. */
#pragma once

#include <math.h>

#include "acct_law.h"

/* The loss of node k, in units of h. */
static inline long acct_grid_place(const struct acct_nodes *n, size_t k)
{
	return n->at ? n->at[k] : (long)k * n->stride;
}

static inline double acct_grid_loss(const struct acct_nodes *n, size_t k)
{
	return n->at ? n->h * (double)n->at[k] : n->h * (double)n->stride * (double)k;
}

/* y_b - y_a, a <= b. */
static inline double acct_grid_gap(const struct acct_nodes *n, size_t a, size_t b)
{
	double la = acct_grid_loss(n, a), lb = acct_grid_loss(n, b);

	/* tanh x - tanh y = sinh(x - y) / (cosh x cosh y), scaled against overflow */
	return 2 * exp(-la) * -expm1(la - lb) / ((1 + exp(-la)) * (1 + exp(-lb)));
}

/* 1 - y_k. */
static inline double acct_grid_to_one(const struct acct_nodes *n, size_t k)
{
	double l = acct_grid_loss(n, k);

	return 2 * exp(-l) / (1 + exp(-l));
}

/* The law with nu-mass mass[0][k] at +loss_k, mass[1][k] at -loss_k (k >= 1), `infinite` at y = 1 and the
 * rest at 0. */
ACCT_CHECK enum acct_rc acct_grid_law(
	struct acct_law *law, const struct acct_nodes *n, double *mass[2], double infinite);

/* ACCT_EPRECISION where a mass is NaN or infinite: the composition might read it as no mass. */
ACCT_CHECK enum acct_rc acct_grid_check(const struct acct_law *law);
