/* pt_flame.h - coordinates of a vector as levels, one in a message: what the rows after FLAME share.
 *
 * Liu, Cao, Chen, Guo, Yoshikawa, "FLAME: differentially private federated learning in the shuffle model",
 * 2021, with what is wrong in it put right (doc/protocols.md, "FLAME"): one coordinate in a message, one
 * index from each public group, levels 0..b with a blanket on all of them. */
#pragma once

#include "pt_record.h"
#include "pt_slots_count.h"
#include "pt_vector.h"

/* The columns of such a row. */
#define PT_FLAME_COLUMNS                                                          \
	.kinds = PT_VECTOR, .tallies = pt_slots_symbols, .tally = pt_slots_tally, \
	.epsilon0 = pt_slots_epsilon0

/* A coordinate, X / 2^31 of its range, to one of the levels 0..b with mean X b / 2^31 exactly.  Constant
 * time. */
uint64_t pt_flame_level(uint32_t x, uint32_t b, const struct cm_rng *rng);
/* The group a record of slot s is about.  Constant time in what the record says. */
uint32_t pt_flame_group(const struct pt_slot *s, const uint8_t record[PT_RECORD_LEN]);
/* Levels by the request, or those that make a mean most accurate at its epsilon0. */
uint32_t pt_flame_levels(const struct pt_request *r);

/* Is there a number of messages that the shuffler is to leave of each coordinate, and not too many in all?
 * `code` otherwise. */
CM_CHECK enum cm_rc pt_flame_padded(const struct pt_params *p, enum cm_rc code, struct cm_err *err);

/* Participants' messages about one coordinate that are kept. */
struct pt_kept {
	double mean, variance;
};
/* Each of n participants sends one with chance `rate`, and no more than `most` of them are kept (0: all). */
struct pt_kept pt_flame_kept(double n, double rate, double most);

/* One item per coordinate, in the order of the symbols, from its kept messages among dummies that are uniform
 * on the levels.  Normal intervals.  The variance is the sum of squared scores, less (E K - Var K) times the
 * square of the mean score, K the messages kept. */
CM_CHECK enum cm_rc pt_flame_estimate(const struct pt_query *q, const struct pt_params *p,
	const uint64_t *counts, const struct pt_kept *kept, uint64_t reports, struct pt_estimate *out,
	struct cm_err *err);
/* Of a coordinate at the worst value, with so many messages about it in all. */
double pt_flame_expected(
	const struct pt_query *q, const struct pt_params *p, const struct pt_kept *kept, double messages);
/* Of one that none of n participants sends, among so many dummies. */
double pt_flame_unsent(const struct pt_query *q, const struct pt_params *p, double n, double dummies);

/* The rows' statements: what FLAME claims, marked where it is no guarantee. */
void pt_ss_simple_statement(const struct pt_query *q, const struct pt_params *p, uint64_t participants,
	double delta, char *out, size_t size);
void pt_ss_double_statement(const struct pt_query *q, const struct pt_params *p, uint64_t participants,
	double delta, char *out, size_t size);
void pt_ss_topk_statement(const struct pt_query *q, const struct pt_params *p, uint64_t participants,
	double delta, char *out, size_t size);
