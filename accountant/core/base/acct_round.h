/* acct_round.h - what a round is: blanket cells and who stands around them, or an answer of a trusted party.
 *
 * acct.h, which includes this header, says what the numbers mean and asks for their loss. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ACCT_CHECK __attribute__((warn_unused_result))
#else
#define ACCT_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum acct_rc {
	ACCT_OK = 0,
	ACCT_EDOMAIN,    /* a parameter outside its stated range: nothing was computed */
	ACCT_EPRECISION, /* delta is below what double precision can certify for these rounds */
	ACCT_ELIMIT,     /* more cells, rounds or grid points than the limits below allow */
	ACCT_ENOMEM,
};

#define ACCT_MAX_CELLS   64u
#define ACCT_MAX_LEVELS  64u
#define ACCT_MAX_POINTS  1000000u       /* of an acct_profile */
#define ACCT_MAX_COUNT   1000000u       /* repetitions of one round */
#define ACCT_MAX_REPORTS 1000000000000u /* others + dummies of one round */

/* One blanket cell.  omega: the chance that another participant's report falls here as blanket, a
 * sub-probability; u = R0/omega and v = R1/omega: the victim's likelihood ratios under its two inputs. */
struct acct_cell {
	double omega; /* [DBL_MIN, 1]; all cells sum to at most 1 */
	double u, v;  /* [0, inf); omega*u over the cells sums to 1, and omega*v */
};

/* Messages whose share of blanket differs from the cells': each of `count` messages is blanket with chance
 * share * sum(omega), and then falls in cell j in proportion to omega_j.  Such messages come from
 * participants with a guarantee of their own, the law of whose report is nowhere below share * sum(omega_j
 * Q_j), whatever their input; or they are dummies sent by chance: with chance share * sum(omega) a dummy,
 * else a message that carries no information. */
struct acct_level {
	double share; /* (0, 1 / sum(omega)] */
	uint64_t count;
};

/* What is known of a round's messages beside its cells. */
enum acct_messages {
	ACCT_ANY_MESSAGES = 0,
	/* Every message is one bit.  The cells are (omega, E, 1) and (omega, 1, E) with E = (1-omega)/omega:
	 * whatever the inputs are, and given them independently, the report of each of `others` and of the
	 * victim is 1 with a chance from omega to 1 - omega.  That says more than omega <= R_i: the report is
	 * nothing but this bit, no label goes with it.  Dummies are fair coins, and of each message of a
	 * level it is told whether it is one, with chance share * 2 omega. */
	ACCT_BITS,
	/* The same, but a message of a level is the report of a participant, 1 with a chance from share *
	 * omega to 1 - share * omega. */
	ACCT_BITS_OF_LEVELS,
	/* Every message is a label and a bit.  The cells are those of bits, no level is given.  Labels are
	 * independent of each other and of everything else, and all drawn by one law, the dummies' too; given
	 * its label and the inputs, the bit of a report is independent of the rest and as with ACCT_BITS, and
	 * a dummy's is fair. */
	ACCT_LABELLED_BITS,
};

/* An upper bound on a privacy curve at single losses, for mechanisms that are known by nothing else: an
 * imported privacy-loss distribution, trade-off curve or Renyi curve.  The curve in between is the largest
 * convex one (doc/accounting.md, "Central events"); beyond the last epsilon delta stays what it is there,
 * as the chance of an infinite loss. */
struct acct_profile {
	size_t points;          /* 1..ACCT_MAX_POINTS */
	const double *epsilon;  /* increasing, from 0 or more to at most 690 */
	const double *delta[2]; /* at each epsilon, in [0, 1], not increasing, delta[1] with the two inputs
				   exchanged; delta[1] NULL: the same */
	bool exact; /* the curve is that of a pair of laws, whose loss lower ends count too; else the
		       mechanism may lose less, and counts as nothing in lower ends */
};

/* What a round is: shuffled reports, or an answer that a trusted party made from everybody's records. */
enum acct_event {
	ACCT_SHUFFLED = 0, /* the cells and what is told of the messages */
	/* Normal noise of deviation `scale` times the L2 distance of the answers on neighbours.  With a rate
	 * below 1 the answer is a sum over records of norm at most 1 each of which takes part with this
	 * chance, independently (Poisson sampling), and `scale` is the deviation. */
	ACCT_GAUSSIAN,
	ACCT_LAPLACE, /* one number and Laplace noise of `scale` times the distance of the answers on
			 neighbours */
	ACCT_PROFILE, /* `profile` */
};

struct acct_family;

/* One round, repeated `count` times.  Set the fields that are not used to zero. */
struct acct_round {
	enum acct_event event; /* but for ACCT_SHUFFLED: of the fields below only count, defect and sampling
				  are used, and cells is 0 */
	double scale;          /* ACCT_GAUSSIAN [0.125, 1e6], ACCT_LAPLACE [0.002, 1e6] */
	double rate; /* ACCT_GAUSSIAN: [1e-9, 1]; at 1 nothing is sampled, and scale is over the distance */
	const struct acct_profile *profile; /* ACCT_PROFILE: borrowed for as long as the round is used, and by
					       a state that it was added to */
	struct acct_cell cell[ACCT_MAX_CELLS];
	size_t cells;    /* 1..ACCT_MAX_CELLS */
	uint64_t others; /* other honest participants, each in the blanket with chance sum(omega) */
	uint64_t
		dummies; /* messages that are blanket for certain, in cell j with chance omega_j/sum(omega) */
	uint64_t count;  /* 1..ACCT_MAX_COUNT */
	/* Further others, with personalised guarantees: doc/accounting.md, "Personalised levels".  The cells
	 * are those of one victim; where victims have several guarantees, ask for each and take the largest
	 * answer. */
	struct acct_level level[ACCT_MAX_LEVELS];
	size_t levels; /* 0..ACCT_MAX_LEVELS */
	/* [0, 1): chance, apart from the cells, that the message discloses a participant's input: with chance
	 * 1 - defect the pair is the cells', else the loss is infinite. */
	double defect;
	/* (0, 1): the participants are a secret uniform subset, drawn without replacement and of fixed size,
	 * of this fraction of a population, and neighbours replace a record of the population. 0: everybody
	 * takes part.  The subset is drawn anew for every round and repetition.  The cells must hold for
	 * every two inputs, and others and levels for every subset.  Colluders know whether they were drawn:
	 * where s are drawn of N honest records and m colluders, there are s - m participants, and this is
	 * s/N.  A defect is sampled too: it discloses only inputs of drawn participants.  Source: Balle,
	 * Barthe, Gaboardi 2018; Zhu, Dong, Wang 2022. */
	double sampling;
	/* For bits every answer is that of the exact pair, the largest loss over all inputs of the others
	 * (doc/binary.md), which is never above the cells'.  For labelled bits upper is the lesser of the
	 * cells' and one that is close to that of bits, and lower is that of bits, which some inputs lose;
	 * where there are few messages both are the cells'.  So it is with a family, by other bounds
	 * (doc/imitation.md). */
	enum acct_messages messages;
	/* Borrowed, as a profile is; NULL: only what `messages` says is known.  Every law that a report may
	 * have, whatever its input, is one of this family (acct_families.h), and the cells are those of two
	 * inputs that have least in common.  No dummies, no levels; messages is ACCT_ANY_MESSAGES. */
	const struct acct_family *family;
	double shape[3]; /* what the family wants to know beside the cells; else 0 */
};

struct acct_bound {
	double lower, upper; /* lower <= truth <= upper; upper may be INFINITY, lower may be 0 */
};

/* Is this round within the ranges above?  On ACCT_EDOMAIN *why points to a static sentence naming the
 * fault. */
ACCT_CHECK enum acct_rc acct_round_check(const struct acct_round *r, const char **why);

/* Do the two rounds have the same numbers in the same order?  `count` is not compared. */
bool acct_round_equal(const struct acct_round *a, const struct acct_round *b);

/* The three cells of the pair (p, beta, q, q2): doc/accounting.md, "The lists", row `pair`.  p (1, inf],
 * beta (0, (p-1)/(p+1)], q >= 1+beta, q2 (0, q].  Fills cell[] and cells only.  *why as above (may be
 * NULL). */
ACCT_CHECK enum acct_rc acct_cells_pair(
	double p, double beta, double q, double q2, struct acct_round *r, const char **why);

/* Cells of any epsilon0-LDP randomizer, epsilon0 (0, 700): beta = (p-1)/(p+1), q = p. */
ACCT_CHECK enum acct_rc acct_cells_generic(double epsilon0, struct acct_round *r, const char **why);

/* Poisson sampling: each of the 1 + others participants takes part with the chance `rate`, [1e-9, 1), and
 * sends nothing else, independently of everything and anew for every round and repetition; neighbours
 * replace the record of one of them, and how many took part is seen.  Changes cells and messages of a checked
 * round without dummies, levels and sampling, whose defect is charged in full.  *why as above.
 * doc/accounting.md, "Poisson sampling". */
ACCT_CHECK enum acct_rc acct_round_poisson(struct acct_round *r, double rate, const char **why);

#ifdef __cplusplus
}
#endif
