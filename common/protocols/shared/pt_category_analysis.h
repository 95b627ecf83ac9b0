/* pt_category_analysis.h - counts of categories: what the analyses of the rows of pt_category.h share. */
#pragma once

#include "pt_category.h"
#include "pt_mixbins_analysis.h"

/* Initialisers for the members of struct pt_protocol that every such row of pt_mixbins.h has in common. */
#define PT_CATEGORY_ANALYSIS                                                              \
	.estimate = pt_category_estimate, .influence = pt_category_influence,             \
	.expected_error = pt_category_expected_error, .statement = pt_category_statement, \
	PT_MIXBINS_ANALYSIS

CM_CHECK enum cm_rc pt_category_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err);
/* For places: write that nearby places are told apart as easily as any two. */
void pt_category_statement(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
	double delta, char *out, size_t size);
double pt_category_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants);
/* The influence() of such a row: of every liar's messages all may be about one category. */
CM_CHECK enum cm_rc pt_category_influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err);
