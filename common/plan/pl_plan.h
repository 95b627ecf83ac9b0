/* pl_plan.h - a plan file: the slice of the budget and the rounds, fixed in advance, with their exact
 * randomizers.
 *
 * Composition in mode "plan" is proved because every round's privacy parameters stand before the first answer
 * does (doc/accounting.md, "Plans"): the rounds that fit together become the entries of a signed plan
 * (rd_plan.h), and a file with a single changed byte is another plan with a slice of its own.  In mode
 * "adaptive" a privacy filter keeps the slice instead, and the rounds that are still to come may be changed
 * at any time; the name, the slice, the mode and what was decided may not. */
#pragma once

#include <stdio.h>

#include "pl_why.h"
#include "rd_account.h"
#include "rd_plan.h"

#define PL_ROUNDS_MAX   1000u
#define PL_FILE_MAX     (1u << 20)
#define PL_WINDOW_MIN_S 1.0
#define PL_WINDOW_MAX_S 2592000.0  /* 30 days */
#define PL_EVERY_MAX_S  31622400.0 /* 366 days */
#define PL_LABEL_LEN    80u

/* One round as planned.  Lives as long as its plan. */
struct pl_round {
	uint32_t number; /* from 1 */
	uint32_t item;   /* which of the file's `rounds` it is, from 0: those that recur are several rounds */
	int line;        /* of the plan file */
	/* Of a round with `every` or `repeat`: which of how many this is, from 1; both 0 of any other.  All
	 * of them ask the same query with the same randomizer; only the first owns the query's lists. */
	uint32_t recurrence, recurrences;
	int64_t every_ms, start_ms; /* 0: no such key; unix time of the first, 0: when the plan is pinned */
	char label[PL_LABEL_LEN];   /* "temperature", and of several recurrences "temperature#7" */
	struct qy_query query;
	struct qy_computing computing; /* of the reading, before the device answers */
	uint64_t payload_max;          /* bytes; 0: no payload.  Else the round waits until it is given */
	/* A query of prefixes may extend the `keep` most frequent prefixes that round `after` finds; 0: it
	 * does not.  They are unknown until that round has ended.  Until then the query has placeholder
	 * candidates, of which only the number is right. */
	uint32_t after, keep;
	const struct pt_protocol *protocol;
	struct pt_request request;       /* as written */
	struct pt_randomizer randomizer; /* the exact randomizer that follows */
	double epsilon0; /* local guarantee of the randomizer, rounded up; INFINITY for none */
	/* protocol "auto": protocol, request and randomizer were chosen, and the descriptor knows no
	 * better. */
	bool automatic;
	double cost;          /* epsilon that the round alone may cost, at the budget's delta */
	uint64_t max_bytes;   /* sealed bytes of one device */
	bool shuffler;        /* may be trusted to add dummies, or noise */
	char why[PL_WHY_LEN]; /* the reason in one line */
	uint64_t min_reports, target;
	int64_t window_ms; /* from announcement to deadline */
};

struct pl_plan {
	char name[65], population[PR_TEXT_MAX + 1], unit[33];
	double epsilon, delta; /* the slice */
	uint32_t tries;        /* of each round, at most */
	char mode[RD_MODE_LEN];
	double honest_fraction;
	uint64_t colluders;
	struct pl_round *round; /* rounds of them, owned */
	size_t rounds;
	uint8_t digest[PR_HASH_LEN];
	bool searched; /* protocol "auto" was searched for, which takes seconds: pl_plan_keep keeps it */
};

void pl_plan_fini(struct pl_plan *p);

/* For which delta noise of the shuffler is drawn in a round of this plan. */
double pl_noise_delta(const struct pl_plan *p);
/* Who may take part in a round. */
struct rd_batch pl_round_batch(const struct pl_plan *p, const struct pl_round *r);
/* What a round costs at the guaranteed honest part of its min_reports: what every party charges. */
CM_CHECK enum cm_rc pl_round_loss(
	const struct pl_plan *p, const struct pl_round *r, struct pt_loss *out, struct cm_err *err);
/* Its name among people: pl_round.label. */
void pl_label(const char *query, uint32_t recurrence, uint32_t recurrences, char out[PL_LABEL_LEN]);
/* Is round i (0-based) one more of the recurrence that the round before it is of?  Then it costs the same. */
bool pl_repeats(const struct pl_plan *p, size_t i);
/* When a round is to open, in unix ms, in a plan that was pinned at pinned_ms; INT64_MIN: whenever its turn
 * comes.  It may open until the next one of its recurrence is to: pl_round.every_ms later. */
int64_t pl_opens_ms(const struct pl_round *r, int64_t pinned_ms);
/* One line for each round whose guarantee rests on messages that the shuffler adds; nothing without such. */
void pl_plan_print_trust(const struct pl_plan *p, FILE *out);
/* One line for each round that recurs: when, and how many of its recurrences fit.  fits[i] says it of round
 * i. */
void pl_plan_print_recurring(const struct pl_plan *p, const bool *fits, FILE *out);
