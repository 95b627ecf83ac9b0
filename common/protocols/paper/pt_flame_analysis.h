/* pt_flame_analysis.h - computes the answer of a round after FLAME from its counts, and the paper's claims:
 * pt_flame.h. */
#pragma once

#include "es_vector.h"
#include "pt_flame.h"
#include "pt_liars.h"
#include "pt_slots_analysis.h"

/* Initialisers for members of struct pt_protocol that such rows have in common. */
#define PT_FLAME_ANALYSIS .tallies = pt_slots_symbols, .tally = pt_slots_tally

/* The levels of the request, or else those that make a mean most accurate at its epsilon0. */
uint32_t pt_flame_levels(const struct pt_request *r);

/* The participants' messages about one coordinate that the shuffler keeps: their expected number, and its
 * variance. */
struct pt_kept {
	double mean, variance;
};
/* The same for n participants, each of whom sends a message about the coordinate with chance `rate`.  The
 * shuffler keeps at most `most` of them (0: all). */
struct pt_kept pt_flame_kept(double n, double rate, double most);

/* Estimate one item for each coordinate, in the order of the symbols, from the K messages about it that the
 * shuffler kept, among dummies that are uniform on the levels.  Intervals are normal.  The variance is the
 * sum of squared scores, less (E K - Var K) times the square of the mean score. */
CM_CHECK enum cm_rc pt_flame_estimate(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, const struct pt_kept *kept, uint64_t reports, struct es_estimate *out,
	struct cm_err *err);
/* Set out[dimension] for the honest devices.  *kept: of their messages; most: the most messages that they
 * send about one coordinate.  Of the `lied` messages of liars all may be about any coordinate, whatever their
 * tags say.  Where they and the honest ones are more than the shuffler leaves, honest messages are missing in
 * their place. */
void pt_flame_honest(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	const struct pt_kept *kept, double most, double lied, struct es_honest *out);
/* The expected error of a coordinate at the worst value, with so many messages about it in all. */
double pt_flame_expected(
	const struct qy_query *q, const struct pt_randomizer *p, const struct pt_kept *kept, double messages);
/* The expected error of a coordinate that none of n participants sends, among so many dummies. */
double pt_flame_unsent(const struct qy_query *q, const struct pt_randomizer *p, double n, double dummies);

/* The rows' statements: what FLAME claims, marked where it is no guarantee. */
void pt_ss_simple_statement(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
	double delta, char *out, size_t size);
void pt_ss_double_statement(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
	double delta, char *out, size_t size);
void pt_ss_topk_statement(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
	double delta, char *out, size_t size);
