/* pt_words.c - words: sends the coordinates of a vector as signs, several of them in one message of each
 * slot. */
#include "pt_words.h"

#include <stdio.h>

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_rows.h"
#include "pt_signs.h"

_Static_assert(1u << PT_WORDS_WIDTH_MAX == PR_CATEGORIES_MAX, "a word is a bin");

/* Coordinate c is bit r % width of group r / width of slot c % slots, r = c / slots.  Neighbouring
 * coordinates are in different slots, so what is drawn for one does not affect the other. */
uint32_t pt_words_width(const struct pt_randomizer *p)
{
	return (uint32_t)__builtin_ctz(p->slots.slot[0].each.bins);
}

uint32_t pt_words_coordinate(const struct pt_randomizer *p, uint32_t slot, uint32_t group, uint32_t bit)
{
	return (group * pt_words_width(p) + bit) * p->slots.slot[0].count + slot;
}

uint32_t pt_words_ceil_div(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

/* Every slot must have a coordinate, and no word more bits than its slot has coordinates. */
enum cm_rc pt_words_shape(const struct pt_device *row, const struct qy_query *q, uint32_t slots,
	uint32_t width, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != QY_VECTOR)
		return cm_fail(err, code, "%s: answers vectors only", row->name);
	if (slots < 1 || slots > PR_MESSAGES_MAX || slots > q->dimension)
		return cm_fail(err, code, "%s: %u slots for %u coordinates, must be 1 to %u", row->name,
			(unsigned)slots, (unsigned)q->dimension,
			q->dimension < PR_MESSAGES_MAX ? (unsigned)q->dimension : PR_MESSAGES_MAX);
	if (width < 1 || width > PT_WORDS_WIDTH_MAX || width > pt_words_ceil_div(q->dimension, slots))
		return cm_fail(err, code, "%s: words of %u coordinates, must be 1 to %u", row->name,
			(unsigned)width,
			pt_words_ceil_div(q->dimension, slots) < PT_WORDS_WIDTH_MAX
				? (unsigned)pt_words_ceil_div(q->dimension, slots)
				: PT_WORDS_WIDTH_MAX);
	return CM_OK;
}

enum cm_rc pt_words_kind(const struct pt_randomizer *p, struct cm_err *err)
{
	uint32_t bins = p->slots.slot[0].each.bins;
	enum cm_rc rc = pt_slots_check(p, err);

	if (rc == CM_OK && (p->slots.kinds != 1 || (bins & (bins - 1)) != 0))
		rc = cm_fail(err, CM_EPROTO, "%s: slots of one kind and a power of two of bins are wanted",
			p->row->name);
	return rc;
}

enum cm_rc pt_words_check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	const struct pt_slot *s = &p->slots.slot[0];
	enum cm_rc rc = pt_words_kind(p, err);

	if (rc == CM_OK)
		rc = pt_words_shape(p->row, q, s->count, pt_words_width(p), CM_EPROTO, err);
	if (rc == CM_OK && s->groups != pt_words_ceil_div(q->dimension, s->count * pt_words_width(p)))
		rc = cm_fail(err, CM_EPROTO, "%s: %u groups for %u coordinates", p->row->name,
			(unsigned)s->groups, (unsigned)q->dimension);
	return rc;
}

/* Every coordinate of the slot is read, and masks select those of the group. */
static uint64_t word(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	uint32_t i, uint32_t group, const struct cr_rng *rng, void *room)
{
	uint32_t own[PT_WORDS_WIDTH_MAX] = { 0 }, width = pt_words_width(p);
	uint64_t made = 0;

	(void)room;
	for (uint32_t g = 0; g < p->slots.slot[0].groups; g++) {
		uint32_t mask = (uint32_t)pt_equal_mask(g, group);

		for (uint32_t b = 0; b < width; b++) {
			uint32_t c = pt_words_coordinate(p, i, g, b);

			/* A bit that only fills up the last group is a fair coin. */
			own[b] |= mask & (c < q->dimension ? value->at[c] : UINT32_C(1) << 30);
		}
	}
	for (uint32_t b = 0; b < width; b++)
		made |= pt_signs_draw(own[b], rng) << b;
	return made;
}

void pt_words_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	pt_slots_encode(q, p, value, word, rng, records, room);
}

void pt_words_describe(const struct qy_query *q, const struct pt_randomizer *p, const uint8_t *record,
	char *out, size_t size)
{
	struct pt_cell cell;
	struct cm_err ignored;
	size_t used = 0;

	if (pt_slots_read(p, record, &cell, &ignored) != CM_OK) {
		(void)snprintf(out, size, "?");
		return;
	}
	if (cell.null) {
		(void)snprintf(out, size, PT_NOTHING " in slot %u", (unsigned)cell.slot);
		return;
	}
	for (uint32_t b = 0; b < pt_words_width(p); b++) {
		uint32_t c = pt_words_coordinate(p, cell.slot, cell.group, b);

		if (c < q->dimension)
			pt_signs_describe(q, c, cell.word >> b & 1, out, size, &used);
	}
	if (used < size)
		(void)snprintf(out + used, size - used, "in slot %u", (unsigned)cell.slot);
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	return pt_words_check(q, p, err);
}

const struct pt_device pt_device_words = {
	.name = "words",
	.summary = "words of signs in several slots: the mean of each coordinate of a vector",
	.parameters = &pt_slots_layout,
	.check = check,
	.rare_dummy = true,
	PT_WORDS_DEVICE,
};
