/* pl_plan.h - a plan file: a slice of the population's budget and the rounds that spend it, fixed in advance,
 * with their exact randomizers.
 *
 * In mode "plan" the rounds that fit together become the entries of a signed plan (rd_plan.h).  Composition
 * is proved because every round's privacy parameters are fixed before the first answer (doc/accounting.md,
 * "Plans").  If a single byte of the file changes, it is another plan with a slice of its own.
 *
 * In mode "adaptive" a privacy filter keeps the slice instead.  Rounds that are still to come may be changed
 * at any time.  The name, the slice, the mode and rounds that are decided may not. */
#pragma once

#include <stdio.h>

#include "pl_why.h"
#include "rd_account.h"
#include "rd_plan.h"

#define PL_ROUNDS_MAX   1000u
#define PL_FILE_MAX     (1u << 20)
#define PL_WINDOW_MIN_S 1.0
#define PL_WINDOW_MAX_S 2592000.0  /* longest window of a round: 30 days */
#define PL_EVERY_MAX_S  31622400.0 /* longest time between recurrences: 366 days */
#define PL_LABEL_LEN    80u
#define PL_EPSILON_MAX  100.0 /* largest epsilon of a slice */

/* One round as planned.  Lives as long as its plan. */
struct pl_round {
	uint32_t number; /* number of the round in the plan, from 1 */
	uint32_t item;   /* its place in the file's list `rounds`, from 0; all recurrences of one have the
			  * same */
	int line;        /* its line in the plan file */
	/* A round with `every` or `repeat` is number `recurrence`, from 1, of `recurrences`; other rounds
	 * have 0 in both.  All recurrences ask the same query with the same randomizer; only the first owns
	 * the query's lists. */
	uint32_t recurrence, recurrences;
	/* every_ms: time between two recurrences; 0: the round has no `every`.  start_ms: unix time at which
	 * the first opens; 0: when the plan is pinned. */
	int64_t every_ms, start_ms;
	char label[PL_LABEL_LEN]; /* "temperature", or "temperature#7" if it is one of several recurrences */
	struct qy_query query;
	struct qy_computing computing; /* what a device computes from its reading before it answers */
	uint64_t payload_max; /* most bytes of the payload, for which the round waits; 0: it has none */
	/* A query of prefixes may extend the `keep` most frequent prefixes that round `after` finds; 0: it
	 * does not.  They are unknown until that round has ended.  Until then the query has placeholder
	 * candidates, of which only the number is right. */
	uint32_t after, keep;
	const struct pt_protocol *protocol;
	struct pt_request request;       /* what the round asks of its protocol, as the file has it */
	struct pt_randomizer randomizer; /* the exact randomizer that is derived from the request */
	double epsilon0; /* local guarantee of the randomizer, rounded up; INFINITY for none */
	/* The file says protocol "auto": protocol, request and randomizer were chosen.  A descriptor does not
	 * show this. */
	bool automatic;
	/* The next four are for such a round. */
	double cost;          /* most epsilon that the round alone may cost, at the budget's delta */
	uint64_t max_bytes;   /* most sealed bytes of one device */
	bool shuffler;        /* the shuffler may be trusted to add dummies, or noise */
	char why[PL_WHY_LEN]; /* one line that says why the choice was made */
	uint64_t min_reports, target;
	int64_t window_ms; /* from announcement to deadline */
};

struct pl_plan {
	char name[65], population[PR_TEXT_MAX + 1], unit[33];
	/* the plan's slice of the population's budget; epsilon is 0 in a plan with wishes whose file gives
	 * none */
	double epsilon, delta;
	bool exact;     /* the file gives no epsilon: the slice is what the rounds use (pl_slice.h) */
	uint32_t tries; /* most tries of each round */
	char mode[RD_MODE_LEN];
	double honest_fraction;
	uint64_t colluders;
	struct pl_round *round; /* the rounds in the order of the file, owned */
	size_t rounds;
	uint8_t digest[PR_HASH_LEN];
	bool searched; /* the choices of "auto" were searched for, which takes seconds; pl_plan_keep keeps
			  them */
};

void pl_plan_fini(struct pl_plan *p);

/* The delta for which the shuffler's noise is drawn in the rounds of this plan. */
double pl_noise_delta(const struct pl_plan *p);
/* The number of participants of a round: the smallest batch, the honest ones in it, the largest. */
struct rd_batch pl_round_batch(const struct pl_plan *p, const struct pl_round *r);
/* The loss of a round with min_reports participants, of whom only the guaranteed share is honest.  Every
 * party charges this loss. */
CM_CHECK enum cm_rc pl_round_loss(
	const struct pl_plan *p, const struct pl_round *r, struct pt_loss *out, struct cm_err *err);
/* Fill in what the descriptors of a round have of the plan: what policies and readings are judged by, and no
 * more.  The query's lists are borrowed. */
void pl_round_describe(const struct pl_plan *p, const struct pl_round *r, struct rd_descriptor *out);
/* Make pl_round.label. */
void pl_label(const char *query, uint32_t recurrence, uint32_t recurrences, char out[PL_LABEL_LEN]);
/* Is round i (from 0) a recurrence of the same query as round i - 1?  Then both cost the same. */
bool pl_repeats(const struct pl_plan *p, size_t i);
/* The unix time in ms from which a round may open, if its plan was pinned at pinned_ms; INT64_MIN: as soon as
 * it is its turn.  It may open for pl_round.every_ms from then, when its next recurrence is due. */
int64_t pl_opens_ms(const struct pl_round *r, int64_t pinned_ms);
/* Print one line for each round whose guarantee rests on messages that the shuffler adds. */
void pl_plan_print_trust(const struct pl_plan *p, FILE *out);
/* The first round of which honest_fraction and colluders leave nobody but the device itself, or NULL. */
const struct pl_round *pl_plan_alone(const struct pl_plan *p);
/* Print one line for each round of which honest_fraction and colluders leave nobody but the device itself: it
 * costs its epsilon0, as if there were no shuffler. */
void pl_plan_print_alone(const struct pl_plan *p, const char *file, FILE *out);
/* Print one line for each query of which rounds are over at now_ms, before the plan is pinned: they never
 * open, and what they would take of the slice is lost.  Returns how many are over. */
size_t pl_plan_print_over(const struct pl_plan *p, const char *file, int64_t now_ms, FILE *out);
/* Print one line for each round that recurs: when it recurs, and how many of its recurrences fit.  fits[i]:
 * round i fits. */
void pl_plan_print_recurring(const struct pl_plan *p, const bool *fits, FILE *out);
