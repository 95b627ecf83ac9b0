/* pt_words.c - words: the coordinates of a vector as signs, some of them in one message of each slot. */
#include "pt_words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_mixbins.h"
#include "pt_rows.h"

#define WIDTH_MAX     12u /* 2^12 = PR_CATEGORIES_MAX */
#define SLOTS_DEFAULT 8u
/* As in pt_levels.c: dummies per bin that (1, 1e-8) takes in a round of one slot; of s slots each, s times as
 * many. */
#define DUMMIES_PER_BIN 62.0

_Static_assert(1u << WIDTH_MAX == PR_CATEGORIES_MAX, "a word is a bin");

static const char words_name[] = "words";

/* Coordinate c is bit r % width of group r / width of slot c % slots, r = c / slots: neighbours are in
 * different slots, where nothing that is drawn for the one touches the other. */
static uint32_t width_of(const struct pt_params *p)
{
	return (uint32_t)__builtin_ctz(p->slot[0].bins);
}

uint32_t pt_words_coordinate(const struct pt_params *p, uint32_t slot, uint32_t group, uint32_t bit)
{
	return (group * width_of(p) + bit) * p->slot[0].count + slot;
}

static uint32_t padded(const struct pt_params *p)
{
	return p->slot[0].count * p->slot[0].groups * width_of(p);
}

static uint32_t ceil_div(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

/* Every slot has a coordinate, and no word has more bits than there are coordinates for it. */
static enum cm_rc shape_check(const char *name, const struct pt_query *q, uint32_t slots, uint32_t width,
	enum cm_rc code, struct cm_err *err)
{
	if (q->kind != PT_VECTOR)
		return cm_fail(err, code, "%s: answers vectors only", name);
	if (slots < 1 || slots > PR_MESSAGES_MAX || slots > q->dimension)
		return cm_fail(err, code, "%s: %u slots for %u coordinates, must be 1 to %u", name,
			(unsigned)slots, (unsigned)q->dimension,
			q->dimension < PR_MESSAGES_MAX ? (unsigned)q->dimension : PR_MESSAGES_MAX);
	if (width < 1 || width > WIDTH_MAX || width > ceil_div(q->dimension, slots))
		return cm_fail(err, code, "%s: words of %u coordinates, must be 1 to %u", name,
			(unsigned)width,
			ceil_div(q->dimension, slots) < WIDTH_MAX ? (unsigned)ceil_div(q->dimension, slots)
								  : WIDTH_MAX);
	return CM_OK;
}

enum cm_rc pt_words_make(const char *name, const struct pt_query *q, const struct pt_request *r,
	uint32_t slots, uint32_t width, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made = { .slots = 1 };
	enum cm_rc rc = shape_check(name, q, slots, width, CM_ECONFIG, err);

	if (rc != CM_OK)
		return rc;
	(void)snprintf(made.protocol, sizeof made.protocol, "%s", name);
	made.slot[0] = (struct pt_slot){
		.count = slots, .groups = ceil_div(q->dimension, slots * width), .bins = 1u << width
	};
	rc = pt_slots_request(name, r, &made.slot[0], err);
	if (rc == CM_OK)
		rc = pt_slots_limit(&made, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

enum cm_rc pt_words_check(
	const char *name, const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	const struct pt_slot *s = &p->slot[0];
	enum cm_rc rc = pt_slots_check(name, p, err);

	if (rc == CM_OK && (p->slots != 1 || (s->bins & (s->bins - 1)) != 0))
		rc = cm_fail(
			err, CM_EPROTO, "%s: slots of one kind and a power of two of bins are wanted", name);
	if (rc == CM_OK)
		rc = shape_check(name, q, s->count, width_of(p), CM_EPROTO, err);
	if (rc == CM_OK && s->groups != ceil_div(q->dimension, s->count * width_of(p)))
		rc = cm_fail(err, CM_EPROTO, "%s: %u groups for %u coordinates", name, (unsigned)s->groups,
			(unsigned)q->dimension);
	return rc;
}

struct pt_signs pt_words_signs(const struct pt_params *p, uint64_t participants)
{
	const struct pt_slot *s = &p->slot[0];

	return (struct pt_signs){ .groups = s->groups,
		.slope = pt_slot_keep(s) - pt_slot_other(s),
		.dummies = (uint64_t)llround(
			(double)participants * pt_dummies_each(s->dummies, s->dummy_chance)) };
}

struct pt_signs pt_words_signs_among(const struct pt_params *p, const uint64_t *counts, uint64_t reports)
{
	const struct pt_slot *s = &p->slot[0];
	const uint64_t *cells = counts + padded(p);
	struct pt_params one = { .dummies = s->dummies, .dummy_chance = s->dummy_chance };
	struct pt_signs signs = pt_words_signs(p, reports);

	if (s->dummy_chance == 0)
		return signs;
	signs.dummies = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t here = 0, dummies;

		for (uint32_t g = 0; g < s->groups; g++)
			here += cells[g * s->count + i];
		dummies = (uint64_t)pt_mixbins_dummies_among(&one, here, reports);
		signs.dummies = dummies > signs.dummies ? dummies : signs.dummies;
	}
	return signs;
}

uint32_t pt_words_tallies(const struct pt_params *p)
{
	return padded(p) + p->slot[0].count * p->slot[0].groups;
}

/* Every coordinate of the slot is read, and those of the group are taken by masks. */
static uint64_t word(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	uint32_t i, uint32_t group, const struct cm_rng *rng)
{
	uint32_t own[WIDTH_MAX] = { 0 }, width = width_of(p);
	uint64_t made = 0;

	for (uint32_t g = 0; g < p->slot[0].groups; g++) {
		uint32_t mask = (uint32_t)pt_equal_mask(g, group);

		for (uint32_t b = 0; b < width; b++) {
			uint32_t c = pt_words_coordinate(p, i, g, b);

			/* What is there only to fill the last group is a fair coin. */
			own[b] |= mask & (c < q->dimension ? value->at[c] : UINT32_C(1) << 30);
		}
	}
	for (uint32_t b = 0; b < width; b++)
		made |= pt_vector_sign(own[b], rng) << b;
	return made;
}

void pt_words_encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	pt_slots_encode(q, p, value, word, rng, records);
}

enum cm_rc pt_words_tally(
	const struct pt_params *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	struct pt_cell cell;
	enum cm_rc rc = pt_slots_read(p, record, &cell, err);

	if (rc != CM_OK || cell.null)
		return rc;
	for (uint32_t b = 0; b < width_of(p); b++)
		counts[pt_words_coordinate(p, cell.slot, cell.group, b)] += cell.word >> b & 1;
	counts[padded(p) + cell.group * p->slot[0].count + cell.slot]++;
	return CM_OK;
}

enum cm_rc pt_words_sums(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, int64_t *sum, struct cm_err *err)
{
	const struct pt_slot *s = &p->slot[0];
	const uint64_t *cells = counts + padded(p);
	/* Whoever sends all of its messages to one slot must not undo the round. */
	uint64_t left = reports * pt_slots_messages(p);

	for (uint32_t i = 0; i < s->count; i++) {
		for (uint32_t g = 0; g < s->groups; g++) {
			uint64_t here = cells[g * s->count + i];

			if (here > left)
				return cm_fail(err, CM_EDATA, "%s: more messages than can have been sent",
					p->protocol);
			left -= here;
			for (uint32_t b = 0; b < width_of(p); b++) {
				uint32_t c = pt_words_coordinate(p, i, g, b);

				if (counts[c] > here)
					return cm_fail(
						err, CM_EDATA, "%s: more ones than messages", p->protocol);
				if (c < q->dimension)
					sum[c] = 2 * (int64_t)counts[c] - (int64_t)here;
			}
		}
	}
	return CM_OK;
}

enum cm_rc pt_words_estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	struct pt_signs s;
	int64_t *sum;
	enum cm_rc rc;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", p->protocol);
	s = pt_words_signs_among(p, counts, reports);
	sum = calloc(q->dimension, sizeof *sum);
	rc = sum == NULL ? cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->protocol)
			 : pt_words_sums(q, p, counts, reports, sum, err);
	if (rc == CM_OK)
		rc = pt_vector_estimate(q, p->protocol, &s, sum, reports, out, err);
	free(sum);
	return rc;
}

double pt_words_expected(const struct pt_query *q, const struct pt_params *p, uint64_t participants)
{
	struct pt_signs s = pt_words_signs(p, participants);

	return pt_vector_expected_error(q, &s, participants);
}

void pt_words_describe(
	const struct pt_query *q, const struct pt_params *p, const uint8_t *record, char *out, size_t size)
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
	for (uint32_t b = 0; b < width_of(p); b++) {
		uint32_t c = pt_words_coordinate(p, cell.slot, cell.group, b);

		if (c < q->dimension)
			pt_vector_describe(q, c, cell.word >> b & 1, out, size, &used);
	}
	if (used < size)
		(void)snprintf(out + used, size - used, "in slot %u", (unsigned)cell.slot);
}

/* Without a local guarantee, the widest words whose bins have dummies enough; else those of least error. */
static enum cm_rc choose(const char *name, const struct pt_query *q, const struct pt_request *r,
	uint32_t slots, struct pt_params *out, struct cm_err *err)
{
	double best = INFINITY, enough = DUMMIES_PER_BIN * slots;
	double dummies =
		pt_dummies_each(r->dummies, r->dummy_chance) * (double)(r->min_batch > 0 ? r->min_batch : 1);
	enum cm_rc rc = CM_OK;

	for (uint32_t w = 1; rc == CM_OK && w <= WIDTH_MAX && w <= ceil_div(q->dimension, slots); w++) {
		struct pt_params p;
		double error;

		if (w > 1 && isinf(r->epsilon0) && dummies < ldexp(enough, (int)w))
			break;
		rc = pt_words_make(name, q, r, slots, w, &p, err);
		error = rc == CM_OK ? pt_words_expected(q, &p, r->min_batch > 0 ? r->min_batch : 1)
				    : INFINITY;
		if (rc == CM_OK && error < best) {
			best = error;
			*out = p;
		}
	}
	return rc;
}

enum cm_rc pt_words_choose(const char *name, const struct pt_query *q, const struct pt_request *r,
	struct pt_params *out, struct cm_err *err)
{
	uint32_t slots = r->slots;
	enum cm_rc rc;

	if (slots == 0)
		slots = q->dimension < SLOTS_DEFAULT ? q->dimension : SLOTS_DEFAULT;
	rc = shape_check(name, q, slots, 1, CM_ECONFIG, err);
	if (rc != CM_OK)
		return rc;
	return r->size == 0 ? choose(name, q, r, slots, out, err)
			    : pt_words_make(name, q, r, slots, r->size, out, err);
}

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	return pt_words_choose(words_name, q, r, out, err);
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	return pt_words_check(words_name, q, p, err);
}

const struct pt_protocol pt_row_words = {
	.name = words_name,
	.summary = "words of signs in several slots: the mean of each coordinate of a vector",
	.derive = derive,
	.check = check,
	.rare_dummy = true,
	.automatic = PT_AUTO | PT_AUTO_SLOTS,
	PT_WORDS_COLUMNS,
};
