/* acct_filter.h - privacy filters: budgets for rounds that are chosen adaptively, where all earlier answers
 * may decide whether there is another round and which parameters it has.
 *
 * A filter is fixed before the first round.  Each round has a price, in shares of the filter's budget, and
 * is admitted if neither sum of shares exceeds 1.  Then all admitted rounds together are (epsilon,
 * delta)-DP.  For such rounds the composition of acct_epsilon is not proved, and false in general.
 *
 *   GDP    Every round is mu-GDP with a defect d (acct_gdp.h).  sum mu^2 <= B^2 and sum d <= delta/2, where
 *          delta_GDP(epsilon; B) + delta/2 <= delta.  Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023.
 *   Renyi  The divergences of one order sum to at most the divergence from which (epsilon, delta) follows.
 *          Rounds with infinite losses are never admitted.  Feldman, Zrnic 2021, Theorem 4.3.
 *
 * Prices are rounded up, budgets down.  The functions have no state.  Derivations: doc/accounting.md,
 * "Filters". */
#pragma once

#include <stdbool.h>

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Largest epsilon of a filter, which any larger budget allows, too. */
#define ACCT_FILTER_MOST_EPSILON 600.0

enum acct_filter_kind {
	ACCT_FILTER_GDP = 1,
	ACCT_FILTER_RENYI,
};

struct acct_filter {
	enum acct_filter_kind kind;
	double epsilon, delta;
	double order; /* Renyi: order of the divergences */
	/* what the shares of a price's `loss` are of: GDP: B^2; Renyi: the largest sum of divergences */
	double most;
	/* GDP: `defect` is that of one round, `defects` the largest sum of them; Renyi: both 0 */
	double defect;
	double defects;
};

/* The price of rounds in shares of the filter's budget, each [0, inf].  A price of INFINITY is never
 * admitted. */
struct acct_price {
	double loss;   /* share of `most` */
	double defect; /* share of `defects`; 0 if the filter has no defects */
};

/* Make a filter with the budget epsilon (0, ACCT_FILTER_MOST_EPSILON], delta [1e-15, 1).  ACCT_EDOMAIN:
 * they are out of range, or the kind is unknown.  ACCT_EPRECISION: the budget is too small for any round.
 * Cost: at most a few milliseconds. */
ACCT_CHECK enum acct_rc acct_filter_init(
	enum acct_filter_kind kind, double epsilon, double delta, struct acct_filter *out);

/* Compute the price of all round->count repetitions of a round.  Errors: as acct_epsilon; the round must
 * then be refused.  Cost: 10 to 100 ms. */
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
