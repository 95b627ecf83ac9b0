/* pt_words.h - words: the coordinates of a vector as signs, several of them in one message of each slot. */
#pragma once

#include "pt_slots.h"

#define PT_WORDS_WIDTH_MAX 12u /* 2^12 = PR_CATEGORIES_MAX */

/* Initialisers for the columns of a device's row whose rounds consist of words. */
#define PT_WORDS_DEVICE \
	.kinds = QY_VECTOR, .encode = pt_words_encode, .describe = pt_words_describe, PT_SLOTS_DEVICE

/* Check parameters as a plan could have made them.  CM_EPROTO if it could not. */
CM_CHECK enum cm_rc pt_words_check(
	const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err);
/* The part of this check that needs no query: all slots are of one kind, and of words.  CM_EPROTO. */
CM_CHECK enum cm_rc pt_words_kind(const struct pt_randomizer *p, struct cm_err *err);
/* Check that there can be so many slots of words of so many coordinates: every slot has a coordinate, and
 * no word has more bits than its slot has coordinates.  If not, returns `code`. */
CM_CHECK enum cm_rc pt_words_shape(const struct pt_device *row, const struct qy_query *q, uint32_t slots,
	uint32_t width, enum cm_rc code, struct cm_err *err);

void pt_words_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room);
void pt_words_describe(const struct qy_query *q, const struct pt_randomizer *p, const uint8_t *record,
	char *out, size_t size);

uint32_t pt_words_width(const struct pt_randomizer *p); /* number of coordinates in a word */
/* The coordinate of a bit of a word; from the dimension on there is none. */
uint32_t pt_words_coordinate(const struct pt_randomizer *p, uint32_t slot, uint32_t group, uint32_t bit);
uint32_t pt_words_ceil_div(uint32_t a, uint32_t b);
