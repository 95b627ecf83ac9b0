/* pt_number_analysis.h - computes the loss and the answer of rounds of pt_number.h. */
#pragma once

#include "es_mean.h"
#include "pt_number.h"
#include "pt_protocol.h"

/* Initialisers for the members of struct pt_protocol that such rows have in common.  The row also has a
 * law, `number`. */
#define PT_NUMBER_ANALYSIS                                                                            \
	.derive = pt_number_derive, .estimate = pt_number_estimate, .influence = pt_number_influence, \
	.expected_error = pt_number_expected_error

struct pt_number_law {
	uint32_t levels_max; /* largest number of levels that the row allows; 2 or more */
	bool sized;          /* the row has the parameter size, 1..b */
	/* Fill in the chance of each symbol at this level.  of: the randomizer, as in struct es_rule. */
	void (*law)(const void *of, uint32_t level, double *chance);
	void (*scores)(const void *of, double *first, double *second);
	/* Set keep from bins, rounded towards more noise, and also the size if it is 0 and the row has
	 * one. */
	void (*set)(struct pt_randomizer *p, double epsilon0);
};

/* keep and its complement as chances, exactly. */
long double pt_number_keep(const struct pt_randomizer *p);
long double pt_number_drop(const struct pt_randomizer *p);
/* If the plan gives no number of levels, choose among 2..PT_NUMBER_LEVELS the one whose worst variance,
 * with rounding to levels, is least. */
#define PT_NUMBER_LEVELS 64u
CM_CHECK enum cm_rc pt_number_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);
/* Count a record at its symbol, of which there are `bins` or more. */
CM_CHECK enum cm_rc pt_number_tally(
	uint32_t symbols, const uint8_t *record, uint64_t *counts, struct cm_err *err);
CM_CHECK enum cm_rc pt_number_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err);
/* The influence() of such rows: a liar's message may be the symbol of the least score or of the largest. */
CM_CHECK enum cm_rc pt_number_influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err);
/* Returns INFINITY if memory runs out. */
double pt_number_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants);
