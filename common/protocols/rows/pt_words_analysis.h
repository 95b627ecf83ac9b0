/* pt_words_analysis.h - computes the answer of a round of words from its counts: pt_words.h. */
#pragma once

#include "es_vector.h"
#include "pt_lied_analysis.h"
#include "pt_slots_analysis.h"
#include "pt_words.h"

/* Initialisers for the columns of a row whose rounds consist of words. */
#define PT_WORDS_ANALYSIS                                                                                    \
	.tallies = pt_words_tallies, .tally = pt_words_tally, .seen = pt_words_seen,                         \
	.estimate = pt_words_estimate, .influence = pt_words_influence, .expected_error = pt_words_expected, \
	PT_SLOTS_ANALYSIS

/* Make `slots` equal slots of words of `width` coordinates, with keep and dummies from the request.
 * CM_ECONFIG. */
CM_CHECK enum cm_rc pt_words_make(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, uint32_t slots, uint32_t width, struct pt_randomizer *out,
	struct cm_err *err);
/* The same, choosing what the request leaves open: 8 slots, or one for each coordinate if there are fewer;
 * the words with the least error. */
CM_CHECK enum cm_rc pt_words_choose(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err);

/* Number of counts: the ones of each of the padded coordinates, then the messages of each group of each
 * slot. */
uint32_t pt_words_tallies(const struct pt_randomizer *p);
CM_CHECK enum cm_rc pt_words_tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err);
CM_CHECK enum cm_rc pt_words_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err);
double pt_words_expected(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants);

/* The chances and dummies of a sign: as expected before the round; and as counted, taking the slot that has
 * most dummies. */
struct pt_signs pt_words_signs(const struct pt_randomizer *p, uint64_t participants);
struct pt_signs pt_words_signs_among(const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports);
/* Compute sum[q->dimension]: ones minus zeroes.  CM_EDATA for counts that no such round can have. */
CM_CHECK enum cm_rc pt_words_sums(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, uint64_t reports, int64_t *sum, struct cm_err *err);
/* How many devices lied for certain: the seen() of such a row. */
uint64_t pt_words_seen(const struct pt_randomizer *p, const uint64_t *counts, uint64_t devices);
/* How many messages of slot i can be the liars'. */
struct pt_lied pt_words_lied(
	const struct pt_randomizer *p, const uint64_t *counts, uint32_t i, const struct pt_crowd *crowd);
/* How many of these can be about one group: devices draw groups evenly, whatever they hold.  tail: the chance
 * that this is wrong. */
uint64_t pt_words_lied_of(const struct pt_randomizer *p, const uint64_t *counts, uint32_t i, uint32_t group,
	const struct pt_lied *slot, double tail);
/* The influence() of such rows: all of a liar's messages of a slot may be about one group of coordinates. */
CM_CHECK enum cm_rc pt_words_influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err);
