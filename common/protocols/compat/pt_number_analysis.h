/* pt_number_analysis.h - what rounds of pt_number.h cost, and what their counts say. */
#pragma once

#include "es_mean.h"
#include "pt_number.h"
#include "pt_protocol.h"

/* The columns that such rows have in common; they have a law, `number`. */
#define PT_NUMBER_ANALYSIS \
	.derive = pt_number_derive, .estimate = pt_number_estimate, .expected_error = pt_number_expected_error

struct pt_number_law {
	uint32_t levels_max; /* bins; 2 or more */
	bool sized;          /* has a size, 1..b */
	/* As in a es_rule, of the randomizer. */
	void (*law)(const void *of, uint32_t level, double *chance);
	void (*scores)(const void *of, double *first, double *second);
	/* Keep, and the size if it is 0 and the row has one, from bins: towards noise. */
	void (*set)(struct pt_randomizer *p, double epsilon0);
};

/* Without levels in the plan: those of 2..PT_NUMBER_LEVELS whose worst variance, rounding included, is
 * least. */
#define PT_NUMBER_LEVELS 64u
CM_CHECK enum cm_rc pt_number_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);
/* A record counts as its symbol, one of so many. */
CM_CHECK enum cm_rc pt_number_tally(
	uint32_t symbols, const uint8_t *record, uint64_t *counts, struct cm_err *err);
CM_CHECK enum cm_rc pt_number_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err);
/* INFINITY out of memory. */
double pt_number_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants);
