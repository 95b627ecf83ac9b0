/* acct_round.h - describes a round: shuffled reports, by their blanket cells and the number of
 * participants, or an answer of a trusted party.
 *
 * acct.h, which includes this header, computes the loss of rounds. */
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
#define ACCT_MAX_POINTS  1000000u       /* most points of an acct_profile */
#define ACCT_MAX_COUNT   1000000u       /* most repetitions of one round */
#define ACCT_MAX_REPORTS 1000000000000u /* most others + dummies of one round */

/* One blanket cell: a set of messages that all have the same likelihood ratios. */
struct acct_cell {
	/* the chance, in [DBL_MIN, 1], that another participant's report is one of the cell's messages and
	 * does not depend on that participant's input; all cells sum to at most 1 */
	double omega;
	/* u = R0/omega and v = R1/omega, in [0, inf), where R0 and R1 are the chances that the victim's
	 * report is one of the cell's messages under its two inputs; over all cells omega*u sums to 1, and
	 * so does omega*v */
	double u, v;
};

/* `count` messages whose chance to be blanket is share * sum(omega) instead of sum(omega).  A blanket
 * message falls in cell j in proportion to omega_j.  A level describes one of these:
 * - participants with a guarantee of their own: whatever the input, the law of the report is nowhere below
 *   share * sum(omega_j Q_j), where Q_j is the law of the messages of cell j;
 * - dummies that are sent by chance: a dummy with chance share * sum(omega), else a message without
 *   information. */
struct acct_level {
	double share; /* (0, 1 / sum(omega)] */
	uint64_t count;
};

/* What is known of a round's messages besides its cells. */
enum acct_messages {
	ACCT_ANY_MESSAGES = 0,
	/* Every message is one bit, and nothing else.  The cells are (omega, E, 1) and (omega, 1, E) with E
	 * = (1-omega)/omega.  The reports of the victim and of each of `others` are independent given the
	 * inputs, and each is 1 with a chance from omega to 1 - omega, whatever its input.  Dummies are
	 * fair coins.  A message of a level is a dummy with chance share * 2 omega, and everybody knows
	 * which messages are. */
	ACCT_BITS,
	/* The same, but a message of a level is a participant's report, which is 1 with a chance from
	 * share * omega to 1 - share * omega. */
	ACCT_BITS_OF_LEVELS,
	/* Every message is a label and a bit.  The cells are those of ACCT_BITS, and there are no levels.
	 * Labels are independent of each other and of everything else, and all have the same law, also
	 * those of dummies.  Given its label and the inputs, a report's bit is independent of the rest, and
	 * has a chance as with ACCT_BITS.  A dummy's bit is a fair coin. */
	ACCT_LABELLED_BITS,
};

/* An upper bound on a mechanism's privacy curve, given at some epsilons: what is known of an imported
 * privacy-loss distribution, trade-off curve or Renyi curve.  Between the epsilons it is the largest convex
 * curve (doc/accounting.md, "Central events").  Beyond the last epsilon it is constant, as if the loss were
 * infinite with that chance. */
struct acct_profile {
	size_t points;          /* 1..ACCT_MAX_POINTS */
	const double *epsilon;  /* increasing, from 0 or more to at most 690 */
	const double *delta[2]; /* delta at each epsilon, in [0, 1], not increasing; delta[1] with the two
				   inputs exchanged, NULL if that is the same */
	/* True: the curve is exactly that of some pair of laws, so lower ends of answers include its loss.
	 * False: the mechanism may lose less, and lower ends take its loss as 0. */
	bool exact;
};

/* The kinds of round: shuffled reports, or an answer that a trusted party computes from all records. */
enum acct_event {
	ACCT_SHUFFLED = 0, /* shuffled reports, described by cells, levels, dummies and messages */
	/* An answer with normal noise.  Its standard deviation is `scale` times the L2 distance of the
	 * answers on neighbours.  With a rate below 1 the answer is a sum over records of norm at most 1,
	 * each of which takes part with chance `rate`, independently (Poisson sampling); the standard
	 * deviation is then `scale`. */
	ACCT_GAUSSIAN,
	ACCT_LAPLACE, /* one number and Laplace noise of `scale` times the distance of the answers on
			 neighbours */
	ACCT_PROFILE, /* described by `profile` */
	/* Shuffled responses on shape[0] symbols, 2..1e12, of participants in classes, each a batch of its
	 * own: level[i].count participants have the guarantee level[i].share, (0, 700).  Who is in which
	 * class is public and does not depend on values.  The curve is the largest of the classes' own, so
	 * it holds for a victim of any of them. */
	ACCT_CLASSES_APART,
};

struct acct_family;

/* One round, repeated `count` times.  Set the fields that are not used to zero. */
struct acct_round {
	/* for other events than ACCT_SHUFFLED cells is 0, and only the event's own fields, count, defect
	 * and sampling are used; ACCT_CLASSES_APART has no sampling */
	enum acct_event event;
	double scale; /* ACCT_GAUSSIAN [0.125, 1e6], ACCT_LAPLACE [0.002, 1e6] */
	/* ACCT_GAUSSIAN: [1e-9, 1]; 1: all records take part, and scale is relative to the distance */
	double rate;
	/* ACCT_PROFILE: borrowed as long as the round, or a state to which it was added, is in use */
	const struct acct_profile *profile;
	struct acct_cell cell[ACCT_MAX_CELLS];
	size_t cells;     /* 1..ACCT_MAX_CELLS */
	uint64_t others;  /* other honest participants, each in the blanket with chance sum(omega) */
	uint64_t dummies; /* messages that are certain to be blanket, in cell j with chance
			   * omega_j/sum(omega) */
	uint64_t count;   /* 1..ACCT_MAX_COUNT */
	/* More participants, with guarantees of their own (doc/accounting.md, "Personalised levels").  The
	 * cells are those of one victim.  If victims have different guarantees, ask for each and take the
	 * largest answer. */
	struct acct_level level[ACCT_MAX_LEVELS];
	size_t levels; /* 0..ACCT_MAX_LEVELS */
	/* [0, 1): chance that the victim's input is disclosed, and the loss is infinite.  The cells hold
	 * with chance 1 - defect. */
	double defect;
	/* (0, 1): the participants are a secret subset of a population, and this is their fraction of it.
	 * The subset is uniform, of fixed size, drawn without replacement, and anew for every round and
	 * repetition.  Neighbours replace a record of the population.  0: everybody takes part.  The cells
	 * must hold for every two inputs, and others and levels for every subset.  Colluders know whether
	 * they were drawn: if s are drawn from N honest records and m colluders, enter s - m participants
	 * and the fraction s/N.  The defect is sampled, too: it discloses only inputs of drawn
	 * participants.  Source: Balle, Barthe, Gaboardi 2018; Zhu, Dong, Wang 2022. */
	double sampling;
	/* What is known of the messages.  It makes answers smaller, never larger, than those of the cells
	 * alone.  For bits the answer is that of the exact pair: the largest loss over all inputs of the
	 * others (doc/binary.md).  For labelled bits the upper end is the lesser of the cells' and of a
	 * bound close to that of bits, and the lower end is that of bits, which some inputs lose; where
	 * there are few messages both ends are the cells'.  With a family, too, the upper end is the lesser
	 * of two bounds (doc/imitation.md). */
	enum acct_messages messages;
	/* The family (acct_families.h) that knows every law that a report may have, for any input.  The
	 * cells are those of two inputs that have the least in common.  There are no dummies and no levels,
	 * and messages is ACCT_ANY_MESSAGES.  Borrowed for as long as `profile` is.  NULL: only what
	 * `messages` says is known. */
	const struct acct_family *family;
	double shape[3]; /* parameters of the family (acct_families.h); 0 without a family */
	/* (0, 1): the chance that a participant takes part at all, with Poisson sampling, in a round of a
	 * family.  The last cell, (1 - present: 1, 1), is that of silence, and all other omegas are `present`
	 * times those of the family's cells.  0: everybody takes part, or there is no family. */
	double present;
};

struct acct_bound {
	/* An interval that contains the true value: lower <= truth <= upper.  upper may be INFINITY, lower
	 * may be 0. */
	double lower, upper;
};

/* Check that the round is within the ranges above.  ACCT_EDOMAIN: it is not, and *why points to a static
 * sentence that names the fault. */
ACCT_CHECK enum acct_rc acct_round_check(const struct acct_round *r, const char **why);

/* Do the two rounds have the same numbers in the same order?  `count` is not compared. */
bool acct_round_equal(const struct acct_round *a, const struct acct_round *b);

/* Set the three cells of the pair (p, beta, q, q2) (doc/accounting.md, "The lists", row `pair`): cell[] and
 * cells, and nothing else.  p (1, inf], beta (0, (p-1)/(p+1)], q >= 1+beta, q2 (0, q].  *why as above (may
 * be NULL). */
ACCT_CHECK enum acct_rc acct_cells_pair(
	double p, double beta, double q, double q2, struct acct_round *r, const char **why);

/* Cells of any epsilon0-LDP randomizer, epsilon0 (0, 700): beta = (p-1)/(p+1), q = p. */
ACCT_CHECK enum acct_rc acct_cells_generic(double epsilon0, struct acct_round *r, const char **why);

/* Change the round's cells and messages to those with Poisson sampling (doc/accounting.md, "Poisson
 * sampling"): each of the 1 + others participants takes part with chance `rate`, [1e-9, 1), independently
 * and anew for every round and repetition, and sends nothing otherwise.  Neighbours replace the record of
 * one of them.  The number that took part is known.  The round must have passed acct_round_check, and have
 * no dummies, levels and sampling; its defect is charged in full.  *why as above. */
ACCT_CHECK enum acct_rc acct_round_poisson(struct acct_round *r, double rate, const char **why);

#ifdef __cplusplus
}
#endif
