/* pt_unary_analysis.h - computes the loss and the answer of rounds of pt_unary.h. */
#pragma once

#include "pt_single_analysis.h"
#include "pt_unary.h"

#define PT_UNARY_ANALYSIS \
	.cells = pt_unary_cells, .tally = pt_unary_tally, .support = pt_unary_support, PT_SINGLE_ANALYSIS

/* Derive keep and other for epsilon0 (0, 16] where all bits are flipped with one chance.  CM_ECONFIG if
 * epsilon0 is so small that a report says nothing. */
CM_CHECK enum cm_rc pt_unary_flips(struct pt_randomizer *p, double epsilon0, struct cm_err *err);
CM_CHECK enum cm_rc pt_unary_cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err);
CM_CHECK enum cm_rc pt_unary_tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err);
struct es_support pt_unary_support(const struct pt_randomizer *p);
