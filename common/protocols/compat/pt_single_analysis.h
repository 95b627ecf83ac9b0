/* pt_single_analysis.h - what rounds of pt_single.h cost, and what their counts say. */
#pragma once

#include "acct_families.h"
#include "pt_protocol.h"
#include "pt_single.h"

/* The columns that such rows have in common; they have support().  Counts are supports. */
#define PT_SINGLE_ANALYSIS \
	.tallies = pt_single_items, .estimate = pt_single_estimate, .expected_error = pt_single_expected_error

/* Number of categories, with the symbol of none. */
uint32_t pt_single_items(const struct pt_randomizer *p);

/* Row and bins of *out, nothing else set.  CM_ECONFIG unless q is a histogram, epsilon0 in (0, 16] and no
 * dummies are asked for. */
CM_CHECK enum cm_rc pt_single_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);

/* How the size of a pt_sized row is chosen, and what follows from it. */
struct pt_sizing {
	uint32_t least, most;
	/* The real number near which the noise is least; it has one minimum. */
	double (*best)(uint32_t bins, double epsilon0);
	/* The largest chance of the value that keeps epsilon0. */
	uint64_t (*keep)(uint32_t bins, uint32_t size, double epsilon0);
	/* The guarantee: e^epsilon0. */
	long double (*ratio)(const struct pt_randomizer *p);
};
/* As pt_single_derive, for a pt_sized row, whole: its size is the plan's, or the one of least noise on a
 * category that nobody holds. */
CM_CHECK enum cm_rc pt_sized_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, const struct pt_sizing *sizing, struct pt_randomizer *out,
	struct cm_err *err);

/* omega = inf over all inputs of the output law, by what the victim's two inputs give there: `ratio` omega
 * under one and omega under the other (its mass, once for each order), omega under both, ratio omega under
 * both. */
struct pt_blanket {
	long double one, neither, both; /* each correct to 2^-60 of itself; 0: no such cell */
	long double ratio;              /* above 1 */
	bool sets;       /* every two inputs have these masses, and every three the following: ACCT_SETS */
	long double all; /* ratio omega under all of three */
	enum acct_families
		family;  /* ACCT_WINDOWS, ACCT_STAIRS: which inputs have what in common; 0: neither */
	double shape[2]; /* of that family */
};
/* Cells of `participants` honest clients, omega rounded down and ratios up. */
CM_CHECK enum cm_rc pt_single_cells(const struct pt_randomizer *p, uint64_t participants,
	const struct pt_blanket *b, struct acct_round *out, struct cm_err *err);

/* As pt_protocol.estimate for counts that are supports: each at most `reports`, else CM_EDATA. */
CM_CHECK enum cm_rc pt_single_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err);
double pt_single_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants);
