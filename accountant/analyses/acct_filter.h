/* acct_filter.h - privacy filters: budgets that hold although every round's parameters, and whether there is
 * one, may depend on all answers before it.
 *
 * Composing the losses of such rounds as acct_epsilon does is not proved, and false in general; these sums
 * are.  A filter is fixed when the ledger opens; a round has a price in shares of its budget, and is admitted
 * while no sum of shares exceeds one.  Then all admitted rounds together are (epsilon, delta)-DP.
 *
 *   GDP    every round is mu-GDP with a defect d (acct_gdp.h); sum mu^2 <= B^2 and sum d <= delta/2, where
 *          delta_GDP(epsilon; B) + delta/2 <= delta.  Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023.
 *   Renyi  divergences of one order sum to at most what (epsilon, delta) needs of that order; rounds with
 *          infinite losses have no price.  Feldman, Zrnic 2021, Theorem 4.3.
 *
 * Prices are rounded up, budgets down.  Functions are pure.  Derivations: doc/accounting.md, "Filters". */
#pragma once

#include <stdbool.h>

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACCT_FILTER_MOST_EPSILON 600.0 /* of a filter; its guarantee holds for any larger one */

enum acct_filter_kind {
	ACCT_FILTER_GDP = 1,
	ACCT_FILTER_RENYI,
};

struct acct_filter {
	enum acct_filter_kind kind;
	double epsilon, delta;
	double order;  /* Renyi: of the divergence */
	double most;   /* GDP: B^2; Renyi: the divergence */
	double defect; /* GDP: what one round is given of `defects` */
	double defects;
};

/* Shares of the filter's budget, each [0, inf]; INFINITY: the round is never admitted. */
struct acct_price {
	double loss;   /* share of `most` */
	double defect; /* share of `defects`; 0 where there are none */
};

/* epsilon (0, ACCT_FILTER_MOST_EPSILON], delta [1e-15, 1).  ACCT_EDOMAIN else, and for an unknown kind;
 * ACCT_EPRECISION: nothing fits the budget.  Cost: at most a few milliseconds. */
ACCT_CHECK enum acct_rc acct_filter_init(
	enum acct_filter_kind kind, double epsilon, double delta, struct acct_filter *out);

/* The price of a round with its count.  Errors: as acct_epsilon; then there is no price and the round must be
 * refused.  Cost: 10 to 100 ms. */
ACCT_CHECK enum acct_rc acct_filter_price(
	const struct acct_filter *f, const struct acct_round *round, struct acct_price *out);

/* Sum of prices, rounded up. */
struct acct_price acct_price_add(struct acct_price a, struct acct_price b);
/* May rounds of these prices together be admitted?  A sum equal to the budget within rounding is refused. */
bool acct_price_fits(struct acct_price sum);
/* The larger of both shares: the part of the budget that is spent. */
double acct_price_share(struct acct_price sum);

/* "gdp", "renyi"; NULL for an unknown kind, 0 for an unknown name. */
const char *acct_filter_name(enum acct_filter_kind kind);
enum acct_filter_kind acct_filter_named(const char *name);

#ifdef __cplusplus
}
#endif
