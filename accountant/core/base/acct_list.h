/* acct_list.h - prepares one round for the rest of the accountant: checks and normalises it, and merges
 * equal cells. */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "acct_round.h"

#define ACCT_MOST_GROUPS (ACCT_MAX_LEVELS + 1)

/* Participants who are blanket with the same chance share * blanket. */
struct acct_group {
	double share, count; /* count is exact, since it is below 2^53 */
	double rest;         /* 1 - share * blanket, to an ulp or two even where it is small */
};

/* Facts about rounds whose messages are bits (doc/binary.md). */
struct acct_bit_facts {
	bool known; /* the round's messages are bits, and epsilon0 is one that acct_bits.c takes */
	double epsilon0, others, coins;
	struct acct_level sent[ACCT_MAX_LEVELS]; /* share: the chance that a message is of use */
	size_t levels;
	bool sent_are_coins; /* messages of `sent` are fair coins; false: they are reports */
	bool labels;         /* a public label goes with every bit */
};

#define ACCT_NO_LARGEST 1e300 /* losses of normal noise have no bound */

/* A checked round.  The means of u and v are 1 up to rounding.  Equal cells are merged, and so are levels
 * of equal share.  Cells keep the caller's order; groups are sorted.  1 minus the sum of omega, or of a
 * share of it, is computed from the given doubles with twice their digits.  If it is at most 2^-51 it may
 * be rounding: upper ends then count it, and lower ends do not (`missing`). */
struct acct_list {
	enum acct_event event; /* unless it is ACCT_SHUFFLED, there are neither cells nor messages */
	double scale, rate;
	const struct acct_profile *profile;
	struct acct_cell cell[ACCT_MAX_CELLS];
	size_t cells;
	double blanket;                            /* sum(omega), in (0, 1] */
	struct acct_group group[ACCT_MOST_GROUPS]; /* the others, largest share first; counts above 0 */
	size_t groups;
	double others, dummies; /* others: the sum over all groups */
	double shape[3];        /* as in struct acct_round */
	double mean;            /* expected number of blanket messages of the others */
	double missing;  /* chance that some message is not blanket, from remainders that may be rounding */
	double defect;   /* see struct acct_round */
	double sampling; /* see struct acct_round; 1 when everybody takes part */
	double infinite[2]; /* mass of infinite loss, forwards and with u and v exchanged */
	double largest;     /* no finite loss exceeds this; ACCT_NO_LARGEST where they have no bound */
	double exponent;    /* loss from which acct_plan_blur computes how far rounding moves epsilon */
	struct acct_bit_facts bits;
	bool symmetric; /* exchanging u and v gives the same list, so that both directions have one curve */
	const struct acct_family *family; /* has a bound that may be smaller than the cells'; NULL: none */
	bool lossless;                    /* u = v in every cell, to the bit */
};

/* Returns the errors of acct_round_check, for the same rounds. */
ACCT_CHECK enum acct_rc acct_list_init(struct acct_list *l, const struct acct_round *r, const char **why);

/* A lower bound on the mass of infinite loss.  (l->infinite is only an upper bound for a profile that is
 * not exact.) */
static inline double acct_list_certain(const struct acct_list *l, int way)
{
	if (l->missing > 0)
		return fmax(l->sampling * l->defect, l->infinite[way] - l->missing);
	return l->event == ACCT_PROFILE && !l->profile->exact ? l->sampling * l->defect : l->infinite[way];
}

/* Set infinite, largest and exponent from the largest loss and the infinite masses before defect and
 * sampling, which are set already.  Sampling with share g changes E = e^loss to E' = 1 + g (E - 1). */
static inline void acct_list_losses(struct acct_list *l, double largest, const double infinite[2])
{
	double g = l->sampling;

	for (int way = 0; way < 2; way++)
		l->infinite[way] = g * (l->defect + (1 - l->defect) * infinite[way]);
	l->exponent = fmin(largest, 700) * (g < 1 ? 2 : 1);
	if (g < 1)
		largest =
			largest < 1 ? log1p(g * expm1(largest)) : largest + log(g + (1 - g) * exp(-largest));
	l->largest = largest * (1 + 1e-12) + (g < 1 ? 1e-15 : 0);
}

/* Is there a gap between upper and lower ends that no finer grid closes, since no data set is known with
 * the charged loss? */
static inline bool acct_list_is_loose(const struct acct_list *l)
{
	return l->family || (l->bits.known && l->bits.labels);
}

/* Do both lists have the same privacy curve?  `count` is not compared. */
bool acct_list_equal(const struct acct_list *a, const struct acct_list *b);
