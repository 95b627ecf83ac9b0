/* pt_words.h - words: the coordinates of a vector as signs, some of them in one message of each slot. */
#pragma once

#include "pt_slots.h"
#include "pt_vector.h"

/* The columns of a row whose rounds are of words. */
#define PT_WORDS_COLUMNS                                                                                     \
	.kinds = PT_VECTOR, .tallies = pt_words_tallies, .encode = pt_words_encode, .tally = pt_words_tally, \
	.estimate = pt_words_estimate, .expected_error = pt_words_expected, .describe = pt_words_describe,   \
	PT_SLOTS_COLUMNS

/* `slots` equal slots of words of `width` coordinates, keep and dummies from the request.  CM_ECONFIG. */
CM_CHECK enum cm_rc pt_words_make(const char *name, const struct pt_query *q, const struct pt_request *r,
	uint32_t slots, uint32_t width, struct pt_params *out, struct cm_err *err);
/* The same with what the request leaves to the row: 8 slots, or one a coordinate; the words of least error.
 */
CM_CHECK enum cm_rc pt_words_choose(const char *name, const struct pt_query *q, const struct pt_request *r,
	struct pt_params *out, struct cm_err *err);
/* Could pt_words_make have made these?  CM_EPROTO. */
CM_CHECK enum cm_rc pt_words_check(
	const char *name, const struct pt_query *q, const struct pt_params *p, struct cm_err *err);

/* Ones of each of the padded coordinates, then the messages of each group of each slot. */
uint32_t pt_words_tallies(const struct pt_params *p);
void pt_words_encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records);
CM_CHECK enum cm_rc pt_words_tally(
	const struct pt_params *p, const uint8_t *record, uint64_t *counts, struct cm_err *err);
CM_CHECK enum cm_rc pt_words_estimate(const struct pt_query *q, const struct pt_params *p,
	const uint64_t *counts, uint64_t reports, struct pt_estimate *out, struct cm_err *err);
void pt_words_describe(
	const struct pt_query *q, const struct pt_params *p, const uint8_t *record, char *out, size_t size);
double pt_words_expected(const struct pt_query *q, const struct pt_params *p, uint64_t participants);

/* Which coordinate a bit of a word is; from the dimension on none. */
uint32_t pt_words_coordinate(const struct pt_params *p, uint32_t slot, uint32_t group, uint32_t bit);
/* As expected; and as counted: of the slot that has most dummies. */
struct pt_signs pt_words_signs(const struct pt_params *p, uint64_t participants);
struct pt_signs pt_words_signs_among(const struct pt_params *p, const uint64_t *counts, uint64_t reports);
/* sum[q->dimension]: ones less zeroes.  CM_EDATA for counts that no such round can have. */
CM_CHECK enum cm_rc pt_words_sums(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, int64_t *sum, struct cm_err *err);
