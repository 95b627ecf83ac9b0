/* pl_choose.h - protocol "auto": the row and the parameters of least expected error that a round can pay for.
 *
 * A function of the question alone: fixed grids, no time, no random numbers.  What is chosen is a row and
 * parameters like any that a plan can name; no peer hears of "auto". */
#pragma once

#include "pt_protocol.h"

struct pl_need {
	const struct qy_query *query;
	uint64_t reports;      /* participants, for the error */
	uint64_t honest;       /* those that are sure to be honest, for the privacy */
	double epsilon, delta; /* the round alone may cost this much */
	double epsilon0;    /* the local guarantee must be at least this good; INFINITY: none is asked for */
	uint64_t max_bytes; /* sealed bytes of one device */
	bool shuffler;      /* it may be trusted to add dummies, or noise */
	double noise_delta; /* of its noise: pl_noise_delta */
	uint32_t size;      /* items that a set is padded to, of type sets; 0: of other types */
};

struct pl_candidate {
	const struct pt_protocol *protocol;
	struct pt_request request; /* that derives the randomizer */
	struct pt_randomizer randomizer;
	double error;   /* the row's expected_error */
	double epsilon; /* of the round alone, upper; at most what was needed */
	uint64_t bytes;
};

enum pl_limit {
	PL_LIMIT_BUDGET, /* a larger epsilon would make it better */
	PL_LIMIT_BYTES,  /* more dummies would */
	PL_LIMIT_LOCAL,  /* a weaker local guarantee would */
};

struct pl_choice {
	struct pl_candidate best, next; /* next.protocol is NULL if nothing else fits */
	enum pl_limit limit;
};

/* Sealed bytes that a device sends: messages times record, seal and tag, pseudonym and framing apart. */
uint64_t pl_bytes(const struct pt_protocol *row, const struct pt_randomizer *p);

/* Candidates are rows that say `automatic`.  Epsilon is the accountant's upper end.  Of errors within
 * 3 % of the least the fewest bytes win.  About 0.2 s.  CM_ECONFIG says what would be needed if
 * nothing fits. */
CM_CHECK enum cm_rc pl_choose(const struct pl_need *need, struct pl_choice *out, struct cm_err *err);
