/* pl_choose.h - protocol "auto": chooses the row and the parameters with the least expected error that a
 * round's budget allows.
 *
 * The choice depends on struct pl_need alone: the grids searched are fixed, and neither time nor random
 * numbers matter.  A plan could name the chosen row and parameters itself; peers cannot see that "auto" chose
 * them. */
#pragma once

#include "pt_protocol.h"

struct pl_need {
	const struct qy_query *query;
	uint64_t reports;      /* participants, from whom the error is computed */
	uint64_t honest;       /* participants that are certainly honest, from whom the loss is computed */
	double epsilon, delta; /* the most that the round alone may cost, as an (epsilon, delta) */
	/* the largest local guarantee that a report may have, in nats; INFINITY: none is required */
	double epsilon0;
	uint64_t max_bytes; /* most sealed bytes of one device */
	bool shuffler;      /* the shuffler may be trusted to add dummies, or noise */
	/* the delta at which the shuffler's noise must keep its epsilon (pl_noise_delta) */
	double noise_delta;
	uint32_t size; /* a query of type sets: items that a set is padded to; else 0 */
};

struct pl_candidate {
	const struct pt_protocol *protocol;
	struct pt_request request; /* what would be asked of the row; the randomizer is derived from it */
	struct pt_randomizer randomizer;
	double error;   /* the expected error, as expected_error() of the row computes it */
	double epsilon; /* upper bound on the loss of the round alone; at most pl_need.epsilon */
	uint64_t bytes; /* bytes that a device sends: pl_bytes */
};

/* What keeps the error of the choice from being lower. */
enum pl_limit {
	PL_LIMIT_BUDGET, /* a larger epsilon would lower the error */
	PL_LIMIT_BYTES,  /* more bytes of a device, so more dummies, would lower it */
	PL_LIMIT_LOCAL,  /* a weaker local guarantee would lower it */
};

struct pl_choice {
	/* the choice, and the best of the others; next.protocol is NULL if nothing else fits */
	struct pl_candidate best, next;
	enum pl_limit limit;
};

/* Sealed bytes that a device sends: its messages, each a record with its seal and tag.  Pseudonym and framing
 * are not counted. */
uint64_t pl_bytes(const struct pt_protocol *row, const struct pt_randomizer *p);

/* Choose among the rows that say `automatic`.  Among the candidates whose error is within 3 % of the least,
 * that with the fewest bytes wins.  Takes about 0.2 s.  CM_ECONFIG: nothing fits; err says what would be
 * needed. */
CM_CHECK enum cm_rc pl_choose(const struct pl_need *need, struct pl_choice *out, struct cm_err *err);
