/* pt_words.h - words: the coordinates of a vector as signs, some of them in one message of each slot. */
#pragma once

#include "pt_slots.h"

#define PT_WORDS_WIDTH_MAX 12u /* 2^12 = PR_CATEGORIES_MAX */

/* The columns of a device's row whose rounds are of words. */
#define PT_WORDS_DEVICE \
	.kinds = QY_VECTOR, .encode = pt_words_encode, .describe = pt_words_describe, PT_SLOTS_DEVICE

/* Could a plan have made these?  CM_EPROTO. */
CM_CHECK enum cm_rc pt_words_check(
	const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);
/* The part of it that knows no query: slots of one kind, of words.  CM_EPROTO. */
CM_CHECK enum cm_rc pt_words_kind(const struct pt_randomizer *p, struct cm_err *err);
/* Can there be so many slots of words of so many coordinates?  Every slot has a coordinate, and no word has
 * more bits than there are coordinates for it.  `code` otherwise. */
CM_CHECK enum cm_rc pt_words_shape(const struct pt_device *row, const struct qy_query *q, uint32_t slots,
	uint32_t width, enum cm_rc code, struct cm_err *err);

void pt_words_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room);
void pt_words_describe(const struct qy_query *q, const struct pt_randomizer *p, const uint8_t *record,
	char *out, size_t size);

uint32_t pt_words_width(const struct pt_randomizer *p); /* coordinates of a word */
/* Which coordinate a bit of a word is; from the dimension on none. */
uint32_t pt_words_coordinate(const struct pt_randomizer *p, uint32_t slot, uint32_t group, uint32_t bit);
uint32_t pt_words_ceil_div(uint32_t a, uint32_t b);
