/* pl_plan.h - a plan file: the budget and the rounds, fixed in advance, with their exact randomizers.
 *
 * Composition in mode "plan" is proved because every round's privacy parameters stand before the first answer
 * does (doc/accounting.md, "Filters"); so a plan is identified by the SHA-256 of the file's bytes, and a
 * single changed byte makes another plan.  In mode "adaptive" a privacy filter keeps the budget instead, and
 * the rounds that are still to come may be changed at any time; the budget, the mode and what was decided may
 * not. */
#pragma once

#include <stdio.h>

#include "pl_choose.h"
#include "rd_account.h"

#define PL_ROUNDS_MAX   1000u
#define PL_FILE_MAX     (1u << 20)
#define PL_WINDOW_MIN_S 1.0
#define PL_WINDOW_MAX_S 2592000.0 /* 30 days */

/* One round as planned.  Lives as long as its plan. */
struct pl_round {
	uint32_t number; /* from 1 */
	int line;        /* of the plan file */
	struct pt_query query;
	/* Prefixes that extend those of an earlier round: its number, 0 for none, and how many of them. Which
	 * is not known yet: query's candidates are as many, and only their number is meant. */
	uint32_t after, keep;
	const struct pt_protocol *protocol;
	struct pt_request request; /* as written */
	struct pt_params params;   /* the exact randomizer that follows */
	double epsilon0;           /* local guarantee of those params, rounded up; INFINITY for none */
	/* protocol "auto": protocol, request and params were chosen, and the descriptor knows no better. */
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
	double epsilon, delta; /* the budget */
	char mode[RD_MODE_LEN];
	double honest_fraction;
	uint64_t colluders;
	struct pl_round *round; /* rounds of them, owned */
	size_t rounds;
	uint8_t digest[PR_HASH_LEN];
};

/* Read and check a plan.  Every fault is written to `faults` as "file:line: text" (NULL: nowhere), the first
 * also to err; CM_ECONFIG then, CM_ENOINPUT without a file.  Free with pl_plan_fini in either case. */
CM_CHECK enum cm_rc pl_plan_load(const char *path, FILE *faults, struct pl_plan *out, struct cm_err *err);
/* The same for n bytes in memory; `name` stands for the file. */
CM_CHECK enum cm_rc pl_plan_parse(const uint8_t *bytes, size_t n, const char *name, FILE *faults,
	struct pl_plan *out, struct cm_err *err);
void pl_plan_fini(struct pl_plan *p);

/* For which delta noise of the shuffler is drawn in a round of this plan. */
double pl_noise_delta(const struct pl_plan *p);
/* Who may take part in a round. */
struct rd_batch pl_round_batch(const struct pl_plan *p, const struct pl_round *r);
/* What a round costs at the guaranteed honest part of its minimum batch: what every party charges. */
CM_CHECK enum cm_rc pl_round_loss(
	const struct pl_plan *p, const struct pl_round *r, struct pt_loss *out, struct cm_err *err);
/* The round with this query name; NULL if there is none (names are unique in a plan). */
const struct pl_round *pl_plan_query(const struct pl_plan *p, const char *query);
/* One line for each round whose guarantee rests on messages that the shuffler adds; nothing without such. */
void pl_plan_print_trust(const struct pl_plan *p, FILE *out);
/* The commented sample of a plan file. */
void pl_plan_sample(FILE *out);

/* What the plan would spend if every round were filled: fits, and the accountant's verdict, per round; what a
 * device sends, and how good the answer is to be. */
struct pl_cost {
	struct rd_verdict verdict;
	bool run;                /* fits, so it is part of what later rounds add to */
	double largest_epsilon0; /* of a round that does not fit: 0 when nothing would */
	uint32_t least_dummies;  /* the same; 0 when nothing would */
	uint32_t messages;       /* of one device */
	uint64_t bytes;          /* of those messages, sealed */
	double error;            /* expected, root mean square: counts, or the units of a mean */
};
/* cost[p->rounds], the caller's. */
CM_CHECK enum cm_rc pl_plan_cost(const struct pl_plan *p, struct pl_cost *cost, struct cm_err *err);
