/* acct_list.h - prepares one round for the rest of the accountant: checks and normalises it, and merges
 * equal cells. */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "acct_round.h"

#define ACCT_MOST_GROUPS (ACCT_MAX_LEVELS + 1)

/* Participants whose messages are blanket with the same chance, share * blanket. */
struct acct_group {
	/* share: the chance that a message is blanket, divided by the list's `blanket`; count: number of
	 * participants, exact since it is below 2^53 */
	double share, count;
	double rest; /* 1 - share * blanket, to an ulp or two even where it is small */
};

/* Participants with a guarantee of their own, in a round of bits. */
struct acct_bit_class {
	double epsilon, count;
};

/* Facts about rounds whose messages are bits (doc/binary.md). */
struct acct_bit_facts {
	bool known; /* the round's messages are bits, and acct_bits.c can treat its epsilon0 */
	/* the bit's epsilon0; the other participants, and the fair coins, whose messages always count */
	double epsilon0, others, coins;
	/* fair coins that count only by chance, and are empty otherwise: share is the chance that one
	 * counts */
	struct acct_level sent[ACCT_MAX_LEVELS];
	size_t levels;
	/* other participants, with guarantees of their own, besides `others`; then there is nothing in
	 * `sent` */
	struct acct_bit_class class[ACCT_MAX_LEVELS];
	size_t classes;
	bool labels; /* a public label goes with every bit */
};

/* the largest loss of normal noise, which has no bound: no finite loss is larger */
#define ACCT_NO_LARGEST 1e300

/* A checked round.  The means of u and v are 1 up to rounding.  Equal cells are merged, and so are levels
 * of equal share.  Cells keep the caller's order; groups are sorted.  The blanket that is missing, 1 minus
 * the sum of omega or minus a share of it, is computed with twice the digits of a double.  If it is at most
 * 2^-51, it may be only rounding: upper ends then count it, and lower ends do not (`missing`). */
struct acct_list {
	enum acct_event event; /* for other events than ACCT_SHUFFLED there are neither cells nor messages */
	double scale, rate;
	const struct acct_profile *profile;
	struct acct_cell cell[ACCT_MAX_CELLS];
	size_t cells;
	double blanket; /* sum of omega, in (0, 1] */
	/* the others, largest share first; counts above 0.  For ACCT_CLASSES_APART `share` is a class's
	 * guarantee, and `count` its participants */
	struct acct_group group[ACCT_MOST_GROUPS];
	size_t groups;
	double others, dummies; /* `others` is the sum over all groups */
	double shape[3];        /* parameters of the family, as in struct acct_round */
	double mean;            /* expected number of blanket messages of the others */
	/* the chance that some message is not blanket, from those remainders alone that may be rounding */
	double missing;
	double defect; /* chance that the victim's input is disclosed, as in struct acct_round */
	/* fraction of the population that takes part, as in struct acct_round; 1 if all do */
	double sampling;
	double infinite[2]; /* mass of infinite loss, forwards and with u and v exchanged */
	double largest;     /* no finite loss exceeds this; ACCT_NO_LARGEST where they have no bound */
	/* the largest loss, cut off where e^loss leaves the range of a double: acct_plan_blur computes from
	 * it how far rounding moves epsilon */
	double exponent;
	struct acct_bit_facts bits;
	bool symmetric; /* exchanging u and v gives the same list, so that both directions have one curve */
	/* the family of the reports, whose bound may be smaller than that of the cells; NULL: there is
	 * none */
	const struct acct_family *family;
	/* the chance that a participant takes part, 1 if all do; below 1 only with a family, and the last
	 * cell is then that of silence */
	double present;
	bool lossless; /* u = v in every cell, to the last bit: the round loses nothing */
};

/* Check the round and fill the list.  Returns the errors of acct_round_check, for the same rounds. */
ACCT_CHECK enum acct_rc acct_list_init(struct acct_list *l, const struct acct_round *r, const char **why);

/* A lower bound on the mass of infinite loss.  (For a profile that is not exact, l->infinite is only an
 * upper bound.) */
static inline double acct_list_certain(const struct acct_list *l, int way)
{
	if (l->missing > 0)
		return fmax(l->sampling * l->defect, l->infinite[way] - l->missing);
	return l->event == ACCT_PROFILE && !l->profile->exact ? l->sampling * l->defect : l->infinite[way];
}

/* Set infinite, largest and exponent.  The arguments are those before defect and sampling, which the list
 * has already.  Sampling with share g changes E = e^loss to E' = 1 + g (E - 1). */
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

/* May upper and lower ends stay apart on every grid?  They may where no data set is known that loses what
 * is charged. */
static inline bool acct_list_is_loose(const struct acct_list *l)
{
	return l->family || (l->bits.known && l->bits.labels);
}

/* Do both lists have the same privacy curve?  `count` is not compared. */
bool acct_list_equal(const struct acct_list *a, const struct acct_list *b);
