/* acct.h - the privacy accountant: certified epsilon and delta of shuffled rounds.
 *
 * Pure: no I/O, no globals but FFTW's planner, nothing of the rest of the tree.  Everything follows from
 * *blanket cells* (doc/accounting.md, "Blanket-cell theorem"): a protocol hands over its cells and nothing in
 * here knows protocols.  Epsilons are in nats.  Neighbouring data sets replace one participant's record.
 *
 * An answer is an interval [lower, upper] that contains the pair's true value, rounding and truncation
 * included.  Publish and decide on `upper`: it is never below the privacy loss there is.  Rounds whose list
 * is not symmetric in u and v are bounded in both directions: upper covers any mixture of them, round by
 * round.
 *
 * Threads: every function may be called from several threads at once.  FFTW's planner is shared by the
 * process and is guarded in here; a program that also plans with FFTW itself must not do both at the same
 * time.
 *
 * Cost: one round 0.05 to 5 ms whatever n; a composition 1 to 50 ms per distinct round; where few
 * participants make the losses a coarse lattice, up to two seconds: work is counted and limited, and what the
 * limit costs is width.  Equal questions have equal answers.  delta below 1e-200: ACCT_EPRECISION.
 */
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
#define ACCT_MAX_COUNT   1000000u       /* repetitions of one round */
#define ACCT_MAX_REPORTS 1000000000000u /* others + dummies of one round */

/* One blanket cell.  omega: the chance that another participant's report falls here as blanket, a
 * sub-probability; u = R0/omega and v = R1/omega: the victim's likelihood ratios under its two inputs. */
struct acct_cell {
	double omega; /* (0, 1]; all cells sum to at most 1 */
	double u, v;  /* [0, inf); omega*u over the cells sums to 1, and omega*v */
};

/* Messages that are another share of blanket: each of `count` falls in it with chance share * sum(omega), in
 * cell j in proportion to omega_j.  They are participants with a guarantee of their own, the law of whose
 * report is nowhere below share * sum(omega_j Q_j), whatever their input; or dummies that come by chance, one
 * with chance share * sum(omega) and else a message that says nothing. */
struct acct_level {
	double share; /* (0, 1 / sum(omega)] */
	uint64_t count;
};

/* One round, repeated `count` times.  Zero what is not used. */
struct acct_round {
	struct acct_cell cell[ACCT_MAX_CELLS];
	size_t cells;    /* 1..ACCT_MAX_CELLS */
	uint64_t others; /* other honest participants, each in the blanket with chance sum(omega) */
	uint64_t
		dummies; /* messages that are blanket for certain, in cell j with chance omega_j/sum(omega) */
	uint64_t count;  /* 1..ACCT_MAX_COUNT */
	/* Further others, personalised: doc/accounting.md, "Personalised levels".  The cells are those of one
	 * victim; with victims of several guarantees take the largest answer. */
	struct acct_level level[ACCT_MAX_LEVELS];
	size_t levels; /* 0..ACCT_MAX_LEVELS */
	/* [0, 1): chance, apart from the cells, that a participant's input is given away: the pair is the
	 * cells' with chance 1 - defect, and an infinite loss else. */
	double defect;
	/* (0, 1): the participants, their number fixed, are a secret uniform subset, without replacement, of
	 * this fraction of a population, and neighbours replace a record of the population; 0: everybody
	 * takes part.  The cells must hold for every two inputs, and others and levels for every subset.  A
	 * defect is sampled too: only those drawn can be given away.  Source: Balle, Barthe, Gaboardi 2018;
	 * Zhu, Dong, Wang 2022. */
	double sampling;
};

struct acct_bound {
	double lower, upper; /* lower <= truth <= upper; upper may be INFINITY, lower may be 0 */
};

/* epsilon such that the adaptive composition of all rounds is (epsilon, delta)-DP.
 *   delta (0, 1).  rounds borrowed for the call.  On error *eps is untouched.
 *   upper == INFINITY: no finite epsilon reaches delta.
 * Source: PLD of the dominating pairs, composed by FFT (doc/accounting.md, "Composition"). */
ACCT_CHECK enum acct_rc acct_epsilon(
	const struct acct_round *rounds, size_t n, double delta, struct acct_bound *eps);

/* delta such that the adaptive composition of all rounds is (epsilon, delta)-DP; epsilon [0, inf). */
ACCT_CHECK enum acct_rc acct_delta(
	const struct acct_round *rounds, size_t n, double epsilon, struct acct_bound *delta);

/* Is this round within the ranges above?  On ACCT_EDOMAIN *why points to a static sentence naming the fault.
 */
ACCT_CHECK enum acct_rc acct_round_check(const struct acct_round *r, const char **why);

/* The same numbers in the same order, whatever the counts? */
bool acct_round_equal(const struct acct_round *a, const struct acct_round *b);

/* The three cells of the pair (p, beta, q, q2): doc/accounting.md, "The lists", row `pair`.  p (1, inf],
 * beta (0, (p-1)/(p+1)], q >= 1+beta, q2 (0, q].  Fills cell[] and cells only.  *why as above (may be NULL).
 */
ACCT_CHECK enum acct_rc acct_cells_pair(
	double p, double beta, double q, double q2, struct acct_round *r, const char **why);

/* Cells of any epsilon0-LDP randomizer, epsilon0 (0, 700): beta = (p-1)/(p+1), q = p. */
ACCT_CHECK enum acct_rc acct_cells_generic(double epsilon0, struct acct_round *r, const char **why);

/* What rc means, in a few words. */
const char *acct_strerror(enum acct_rc rc);

#ifdef __cplusplus
}
#endif
