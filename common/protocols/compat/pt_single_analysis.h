/* pt_single_analysis.h - computes the loss and the answer of rounds of pt_single.h. */
#pragma once

#include "acct_families.h"
#include "pt_protocol.h"
#include "pt_single.h"

/* Initialisers for the columns that such rows have in common.  The row also has support().  Its counts are
 * numbers of supporting messages. */
#define PT_SINGLE_ANALYSIS \
	.tallies = pt_single_items, .estimate = pt_single_estimate, .expected_error = pt_single_expected_error

/* The number of categories, counting the symbol of none. */
uint32_t pt_single_items(const struct pt_randomizer *p);

/* Set the row and the bins of *out, and nothing else.  CM_ECONFIG unless q is a histogram, epsilon0 is in
 * (0, 16] and no dummies are asked for. */
CM_CHECK enum cm_rc pt_single_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);

/* How the size of a pt_sized row is chosen, and what follows from the size. */
struct pt_sizing {
	uint32_t least, most;
	/* The real size near which the noise is least; the noise has one minimum. */
	double (*best)(uint32_t bins, double epsilon0);
	/* The largest chance of the value that stays within epsilon0. */
	uint64_t (*keep)(uint32_t bins, uint32_t size, double epsilon0);
	/* The guarantee, as e^epsilon0. */
	long double (*ratio)(const struct pt_randomizer *p);
};
/* Derive all parameters of a pt_sized row as pt_single_derive does: its size is the plan's, or the one with
 * least noise on a category that nobody holds. */
CM_CHECK enum cm_rc pt_sized_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, const struct pt_sizing *sizing, struct pt_randomizer *out,
	struct cm_err *err);

/* Where omega is the least chance over all inputs, sort the outputs by the chances under the victim's two
 * inputs: ratio omega under one and omega under the other (`one`: the mass, once for each order), omega
 * under both (`neither`), ratio omega under both (`both`). */
struct pt_blanket {
	/* each has a relative error of at most 2^-60; 0: there is no such cell */
	long double one, neither, both;
	long double ratio; /* above 1 */
	/* every two inputs have these masses, and every three have the mass `all` (ACCT_SETS) */
	bool sets;
	long double all; /* mass of ratio omega under all three */
	enum acct_families
		family;  /* ACCT_WINDOWS or ACCT_STAIRS, which know what inputs have in common; 0: neither */
	double shape[2]; /* shape of that family */
};
/* Set the cells for `participants` honest clients; omega is rounded down, ratios up. */
CM_CHECK enum cm_rc pt_single_cells(const struct pt_randomizer *p, uint64_t participants,
	const struct pt_blanket *b, struct acct_round *out, struct cm_err *err);

/* The estimate() of rows whose counts are numbers of supporting messages.  CM_EDATA if a count exceeds
 * `reports`. */
CM_CHECK enum cm_rc pt_single_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err);
double pt_single_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants);
