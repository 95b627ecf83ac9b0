/* pt_single_analysis.h - computes the loss and the answer of rounds of pt_single.h. */
#pragma once

#include "acct_families.h"
#include "pt_protocol.h"
#include "pt_single.h"

/* Initialisers for the members of struct pt_protocol that such rows have in common.  The row also has
 * support().  A round's counts are the numbers of messages that support each item. */
#define PT_SINGLE_ANALYSIS                                                                            \
	.tallies = pt_single_items, .estimate = pt_single_estimate, .influence = pt_single_influence, \
	.expected_error = pt_single_expected_error

/* The number of categories, counting the symbol of none. */
uint32_t pt_single_items(const struct pt_randomizer *p);

/* Set the row and the bins of *out, and nothing else.  CM_ECONFIG unless q is a histogram, epsilon0 is in
 * (0, 16] and no dummies are asked for. */
CM_CHECK enum cm_rc pt_single_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);

/* How the size of a pt_sized row is chosen, and what follows from the size. */
struct pt_sizing {
	uint32_t least, most;
	/* The size, as a real number, at which the noise is least; it has no other minimum. */
	double (*best)(uint32_t bins, double epsilon0);
	/* The largest keep, the chance of the value times 2^64, that stays within epsilon0. */
	uint64_t (*keep)(uint32_t bins, uint32_t size, double epsilon0);
	/* The guarantee, as e^epsilon0. */
	struct pt_ratio (*ratio)(const struct pt_randomizer *p);
};
/* Derive all parameters of a pt_sized row as pt_single_derive does: its size is the plan's, or the one with
 * least noise on a category that nobody holds. */
CM_CHECK enum cm_rc pt_sized_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, const struct pt_sizing *sizing, struct pt_randomizer *out,
	struct cm_err *err);

/* The blanket of a row, sorted by how likely an output is under the victim's two inputs.  The blanket omega
 * is the least chance over all inputs. */
struct pt_blanket {
	/* masses of the blanket: of outputs that are `ratio` times as likely under one input and at omega
	 * under the other (`one`, once for each order), at omega under both (`neither`), and `ratio` times
	 * under both (`both`); each has a relative error of at most 2^-60; 0: there are no such outputs */
	long double one, neither, both;
	long double ratio; /* how much likelier than omega, above 1 */
	/* every two inputs have these masses, and every three have the mass `all` (ACCT_SETS of
	 * acct_families.h) */
	bool sets;
	long double all; /* mass of the blanket of outputs that are likelier under all three inputs */
	enum acct_families family; /* ACCT_WINDOWS or ACCT_STAIRS of acct_families.h, by which the accountant
				      knows what inputs have in common; 0: neither */
	double shape[2];           /* shape of that family */
};
/* Set the cells for `participants` honest clients; omega is rounded down, ratios up. */
CM_CHECK enum cm_rc pt_single_cells(const struct pt_randomizer *p, uint64_t participants,
	const struct pt_blanket *b, struct acct_round *out, struct cm_err *err);

/* The estimate() of rows whose counts are numbers of supporting messages.  CM_EDATA if a count exceeds
 * `reports`. */
CM_CHECK enum cm_rc pt_single_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err);
/* The influence() of such rows: a liar's message may support every item, or none. */
CM_CHECK enum cm_rc pt_single_influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err);
double pt_single_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants);
