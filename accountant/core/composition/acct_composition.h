/* acct_composition.h - composes the loss of many rounds.
 *
 * Given the checked rounds of one question (acct_plan.h), or a list that grows round by round, it computes
 * intervals of epsilon at a delta, or of delta at an epsilon.  Every sum of laws has error terms of its own
 * (acct_compose.h), so every interval contains the true value. */
#pragma once

#include "acct_frame.h"
#include "acct_plan.h"
#include "acct_rung.h"

/* acct_rounds.c: composes the rounds of a question from their laws from above and from below, on ever finer
 * grids that all of them share.
 *
 * The step h is the largest for which rounding losses to the grid adds res^2/6 of the total variance.  res
 * starts at 0.04 and is halved until the interval is 4e-4 wide (4e-3 for delta), or has stalled twice, or
 * ACCT_MOST_WORK is spent. */
#define ACCT_REFINEMENTS 8

/* One question: epsilon at aim.delta, or delta at aim.epsilon. */
struct acct_target {
	struct acct_aim aim;
	struct acct_bound out; /* an interval that contains the answer; it is tightened */
	bool done;             /* set by acct_rounds_refine: the interval is final */
};

/* Tighten the intervals of 1 or more targets: all of them epsilons, in ascending order of delta, or all of
 * them deltas.  The laws are made once for all targets, and a sum is read for every target for which it is
 * narrow.  At most a mass of tail / rounds of each round is given up: the law from above counts its loss as
 * infinite, the law from below as no loss.  Tries at most `steps` grids, each twice as fine as the one
 * before. */
ACCT_CHECK enum acct_rc acct_rounds_refine(
	struct acct_plan *p, struct acct_target *target, size_t targets, double tail, int steps);

/* acct_composed.c: keeps different rounds with counts, and the products of their transforms.
 *
 * Each side (enum acct_side) has two products: `base` of all rounds but the last few that were added, and
 * `all` of every round.  So taking a recent round back costs a few transforms, and not one for each round.
 *
 * Grid.  The grid's step h is the largest rung (acct_rung.h) for which rounding losses to the grid adds at
 * most res^2/6 of the total variance, res = 0.04.  A round's laws are made at nodes h apart, or a power of
 * two times h apart where that is at most 0.04 deviations of its loss.  So they stay valid while h moves by
 * powers of two, and are made anew when h moves to another rung.  Of each round a mass of 1e-10 delta is
 * given up to the infinite loss.  For a million rounds that is 1e-4 delta; with more, answers get wider.
 *
 * Errors are those of acct_compose.h, with sums over all rounds in the product.  Every unit of count was
 * multiplied into the product once, whenever and in whatever groups (a group of k by squaring costs at most
 * k roundings), and a copy continues the count.  So ||error|| is bounded as for a product that is made in
 * one go.  The masses outside the window are bounded by Chernoff with seven fixed exponents on each side;
 * the sums of their logs are computed anew for every question, so they do not drift.
 *
 * From 64 different rounds on, res is 0.045 and points of the curves may be 2e-4 wide, which moves epsilon
 * by as much: together about 7e-4.
 *
 * Width.  If an answer is wider than 9e-4 of its upper end, these are tried in order: a new frame for this
 * question; laws at half the resolution, at most four times; acct_epsilon itself, taking the better end of
 * both.  After that acct_epsilon is asked first until the variance has changed by a factor of two.  Where
 * the rounds' own bounds are further apart, the width does not show whether the frame still fits.  Such
 * rounds get a new frame when the variance has changed by a factor of two, unless one round with close
 * bounds is an eighth of the variance or more.
 *
 * Cost.  A frame has room for twice the variance that it was made for (1.5 times the points), and the
 * tilted centre is then at most 0.59 sqrt(2 log 1/delta) deviations off: O(1) transforms per round. */
#define ACCT_RECENT 16u

enum acct_product {
	ACCT_BASE,
	ACCT_ALL,
	ACCT_PRODUCTS,
};

struct acct_entry {
	struct acct_round round; /* the round; its count is not used */
	struct acct_rung rung;   /* the round's laws on the current grid; the caller sets .list */
	bool measured;           /* the members of rung are set, except the laws: acct_entry_measure */
	/* count: how often the state has the round; recent: how many of these were added recently, so that
	 * `base` lacks them */
	uint64_t count, recent;
	uint64_t asked; /* how often the question adds the round to the state, else 0 */
	/* how often each product holds the round */
	uint64_t in[ACCT_PRODUCTS];
	bool factored; /* the laws are those of the current frame, and factor[] is what it needs of them */
	struct acct_factor factor[ACCT_SIDES];
};

struct acct_addition {
	size_t entry;
	uint64_t count;
};

struct acct_composed {
	double delta;
	/* True: the question is delta at `epsilon`, and `delta` is a guess that only chooses the frame.
	 * False: the question is epsilon at `delta`. */
	bool inverse;
	double epsilon;
	double least_delta; /* the smallest delta for which the laws must be accurate; 0: `delta` itself */
	struct acct_entry *entry;
	size_t entries, capacity;
	struct acct_addition recent[ACCT_RECENT]; /* the last additions, oldest first */
	size_t recents;
	struct acct_frame frame;
	double made; /* variance of the composed loss for which the frame was made */
	/* an estimate of the frame's tilt, from above: nodes of the laws are thinned beyond where it
	 * matters */
	double lean;
	/* there are so many different rounds that grid and laws are coarser: MANY in acct_composed.c */
	bool many;
	double width; /* relative width of the points from which laws are made, as in struct acct_work */
	/* the frame has products for every side below this; 0: there is no frame */
	enum acct_side sides;
	struct acct_spectrum product[ACCT_PRODUCTS][ACCT_SIDES];
	int level; /* grid and laws are 2^level times as fine as at first */
	/* variance of the rounds for which the answer was wide on every grid; 0: none so far */
	double hopeless;
};

/* Rounds of this entry in the question: those in the composition and those asked for. */
static inline double acct_entry_count(const struct acct_entry *e)
{
	return (double)e->count + (double)e->asked;
}

/* A new entry, all zero: the caller sets round and rung.list.  NULL: out of memory.  The call may move the
 * other entries. */
struct acct_entry *acct_composed_append(struct acct_composed *c);
/* Reset an entry whose count is 0 to a new one. */
void acct_composed_forget(struct acct_composed *c, struct acct_entry *e);
void acct_composed_add(struct acct_composed *c, struct acct_entry *e, uint64_t count);
void acct_composed_remove(struct acct_composed *c, struct acct_entry *e,
	uint64_t count); /* Remove rounds: `count` is at most e->count. */
/* Sort the rounds in an order that depends on nothing else, forget what depends on the order of calls, and
 * keep the laws, which depend only on their grid step. */
void acct_composed_reset(struct acct_composed *c);
/* Free the frame and everything computed on it; keep rounds and laws. */
void acct_composed_unframe(struct acct_composed *c);
void acct_composed_fini(struct acct_composed *c);

ACCT_CHECK enum acct_rc acct_entry_measure(struct acct_entry *e, double tail);

/* Is the interval as narrow as promised, or as narrow as another grid would make it? */
bool acct_composed_is_narrow(const struct acct_composed *c, const struct acct_bound *b);

/* Was the answer wide on every grid when the variance was within a factor of two of what it is now? */
bool acct_composed_is_hopeless(const struct acct_composed *c);

/* Tighten *out, which holds a valid interval of the answer, until it is narrow or no further grid helps.
 * blur: how far rounding may move epsilon (acct_plan_blur).  The caller has measured every entry of the
 * question, and at least one of them has a loss. */
ACCT_CHECK enum acct_rc acct_composed_epsilon(struct acct_composed *c, double blur, struct acct_bound *out);

/* acct_many.c: answers one question about many different rounds by such products.
 *
 * The work of one question is limited.  With hundreds of different rounds, the common grids of
 * acct_rounds.c leave few points for each of them, and rounds of bits a narrow answer only if they have
 * very many bits.  Here, as in a growing list, every round gets a fixed amount of work. */
#define ACCT_MANY 256u /* from this number of different rounds on, a question is composed as a state is */
/* The same limit if the bounds of some round are far apart: then no grid is narrow, and work is better
 * spent on few nodes. */
#define ACCT_MANY_LOOSE 5u

/* The mass of each round that is given up, as a part of delta: with a million rounds, a ten thousandth of
 * delta in all. */
#define ACCT_STATE_TAIL 1e-10

/* Tighten *out, a valid interval of epsilon at delta for the rounds of the plan, which is not empty.
 * *narrow: no finer grid is needed.  On errors the interval stays valid. */
ACCT_CHECK enum acct_rc acct_many_epsilon(
	const struct acct_plan *p, double delta, struct acct_bound *out, bool *narrow);

/* The same for delta at epsilon. */
ACCT_CHECK enum acct_rc acct_many_delta(
	const struct acct_plan *p, double epsilon, struct acct_bound *out, bool *narrow);

/* The same for delta at several epsilons.  The rounds are measured once, and nearly always their laws are
 * made once. */
ACCT_CHECK enum acct_rc acct_many_deltas(
	const struct acct_plan *p, const double *epsilon, size_t n, struct acct_bound *out, bool *narrow);
