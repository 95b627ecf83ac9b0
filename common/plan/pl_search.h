/* pl_search.h - inside of pl_choose.h: one row with one number of levels, its epsilon0 and its dummies. */
#pragma once

#include "pl_choose.h"

#define PL_OFFERS_MAX  512   /* rows, client or shuffler, variants, numbers of dummies: 16 * 2 * 3 * 5 */
#define LEAST_EPSILON0 0.001 /* index 0 */

struct pl_search {
	const struct pl_need *need;
	struct pl_choice *out;
	uint32_t steps;  /* indices below this one are values of epsilon0 of three digits */
	uint32_t top;    /* the last index: the greatest epsilon0 there may be */
	double mu;       /* what the round may cost, as a Gaussian mechanism */
	double ratio;    /* true mu over the guess where it was last compared */
	enum acct_rc rc; /* ACCT_ENOMEM ends the search */
	struct pl_candidate offer[PL_OFFERS_MAX];
	size_t offers;
};

struct pl_option {
	const struct pt_protocol *row;
	uint32_t levels, size, slots; /* as in a request */
	bool shuffler;                /* dummies are the shuffler's */
	bool fine;                    /* dummies are steps from `whole` to the next whole number */
	uint32_t whole;
	uint32_t dummies_max; /* within the bytes */
	double guess;         /* of the error */
	uint32_t dummies;     /* at which it is guessed */
};

void pl_search_init(struct pl_search *s, const struct pl_need *need, struct pl_choice *out);
/* The candidate with so many dummies at index i.  False if the row has none, or its guarantee is too weak. */
bool pl_search_make(const struct pl_search *s, const struct pl_option *o, uint32_t dummies, uint32_t i,
	struct pl_candidate *c);
/* The fewest dummies with which the greatest epsilon0 fits, as guessed or as the accountant says; more than
 * dummies_max if there are none, and *found is untouched. */
uint32_t pl_search_fewest(
	struct pl_search *s, const struct pl_option *o, bool exact, struct pl_candidate *found);
/* The option between the whole numbers of dummies below `end` and at it, where its row can have such; false
 * if not. It takes as many messages as `end` does. */
bool pl_search_refine(const struct pl_option *o, uint32_t end, struct pl_option *out);
/* The number of dummies, below `end`, of least error as guessed: o->dummies, o->guess (INFINITY: none). */
void pl_search_guess(const struct pl_search *s, struct pl_option *o, uint32_t end);
/* Offer the greatest epsilon0 that fits with so many dummies. */
void pl_search_tune(struct pl_search *s, const struct pl_option *o, uint32_t dummies);
/* Offer the row with noise of the shuffler. */
void pl_search_noise(struct pl_search *s, const struct pt_protocol *row);
/* A candidate whose epsilon is known to fit. */
void pl_search_offer(struct pl_search *s, struct pl_candidate *c);
/* Of what was offered, the fewest bytes among those whose error is the least or nearly; and the runner-up. */
void pl_search_end(const struct pl_search *s);
