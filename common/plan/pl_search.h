/* pl_search.h - private to common/plan: searches epsilon0 and dummies for one row with one number of
 * levels. */
#pragma once

#include "pl_choose.h"

#define PL_OFFERS_MAX  512   /* rows, client or shuffler, variants, numbers of dummies: 16 * 2 * 3 * 5 */
#define LEAST_EPSILON0 0.001 /* index 0 */

struct pl_search {
	const struct pl_need *need;
	struct pl_choice *out;
	uint32_t steps;  /* indices below this one stand for values of epsilon0 of three digits */
	uint32_t top;    /* the last index: the greatest epsilon0 that is allowed */
	double mu;       /* most that the round may cost, as mu of a Gaussian mechanism */
	double ratio;    /* true mu divided by the guessed one at the last comparison */
	enum acct_rc rc; /* ACCT_ENOMEM ends the search */
	struct pl_candidate offer[PL_OFFERS_MAX];
	size_t offers;
};

struct pl_option {
	const struct pt_protocol *row;
	uint32_t levels, size, slots; /* as in struct pt_request */
	bool shuffler;                /* the shuffler adds the dummies */
	bool fine;                    /* dummies take steps from `whole` to the next whole number */
	uint32_t whole;
	uint32_t dummies_max; /* most dummies that the bytes allow */
	double guess;         /* guessed error */
	uint32_t dummies;     /* number of dummies for which `guess` holds */
};

void pl_search_init(struct pl_search *s, const struct pl_need *need, struct pl_choice *out);
/* The candidate with so many dummies at index i.  False if the row does not take them, or its guarantee is
 * too weak. */
bool pl_search_make(const struct pl_search *s, const struct pl_option *o, uint32_t dummies, uint32_t i,
	struct pl_candidate *c);
/* The fewest dummies with which the greatest epsilon0 fits, as guessed or as the accountant says; more than
 * dummies_max if no number does, and *found is then untouched. */
uint32_t pl_search_fewest(
	struct pl_search *s, const struct pl_option *o, bool exact, struct pl_candidate *found);
/* The option between the whole numbers of dummies below `end` and at it; false if its row has none.  It takes
 * as many messages as `end` does. */
bool pl_search_refine(const struct pl_option *o, uint32_t end, struct pl_option *out);
/* The number of dummies, below `end`, of least guessed error: sets o->dummies and o->guess (INFINITY:
 * none). */
void pl_search_guess(const struct pl_search *s, struct pl_option *o, uint32_t end);
/* Offer the candidate of the greatest epsilon0 that fits with so many dummies. */
void pl_search_tune(struct pl_search *s, const struct pl_option *o, uint32_t dummies);
/* Offer the row with noise that the shuffler adds. */
void pl_search_noise(struct pl_search *s, const struct pt_protocol *row);
/* Offer a candidate whose epsilon is known to fit. */
void pl_search_offer(struct pl_search *s, struct pl_candidate *c);
/* Of all offers, choose the one of fewest bytes among those whose error is the least or nearly so; and the
 * runner-up. */
void pl_search_end(const struct pl_search *s);
