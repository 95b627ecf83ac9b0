/* pt_words_analysis.c - chooses the number of slots and of coordinates in a word with the least error, and
 * estimates means from words. */
#include "pt_words_analysis.h"

#include <math.h>
#include <stdlib.h>

#include "pr_limits.h"
#include "pt_mixbins_analysis.h"
#include "pt_rows.h"

#define SLOTS_DEFAULT 8u
/* As in pt_levels_analysis.c: so many dummies for each bin give (1, 1e-8) in a round of one slot.  With s
 * slots each needs s times as many. */
#define DUMMIES_PER_BIN 62.0

static uint32_t padded(const struct pt_randomizer *p)
{
	return p->slots.slot[0].count * p->slots.slot[0].groups * pt_words_width(p);
}

enum cm_rc pt_words_make(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	uint32_t slots, uint32_t width, struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made = { .slots.kinds = 1 };
	enum cm_rc rc = pt_words_shape(row->device, q, slots, width, CM_ECONFIG, err);

	if (rc != CM_OK)
		return rc;
	made.row = row->device;
	made.slots.slot[0] = (struct pt_slot){ .count = slots,
		.groups = pt_words_ceil_div(q->dimension, slots * width),
		.each.bins = 1u << width };
	rc = pt_slots_request(row, r, &made.slots.slot[0], err);
	if (rc == CM_OK)
		rc = pt_slots_limit(&made, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

struct pt_signs pt_words_signs(const struct pt_randomizer *p, uint64_t participants)
{
	const struct pt_slot *s = &p->slots.slot[0];

	return (struct pt_signs){ .groups = s->groups,
		.slope = pt_mixbins_keep(&s->each) - pt_mixbins_other(&s->each),
		.dummies = (uint64_t)llround(
			(double)participants * pt_dummies_each(s->each.dummies, s->each.dummy_chance)) };
}

struct pt_signs pt_words_signs_among(const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports)
{
	const struct pt_slot *s = &p->slots.slot[0];
	const uint64_t *cells = counts + padded(p);
	struct pt_randomizer one = pt_slot_alone(p, s);
	struct pt_signs signs = pt_words_signs(p, reports);

	if (s->each.dummy_chance == 0)
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

uint32_t pt_words_tallies(const struct pt_randomizer *p)
{
	return padded(p) + p->slots.slot[0].count * p->slots.slot[0].groups;
}

enum cm_rc pt_words_tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	struct pt_cell cell;
	enum cm_rc rc = pt_slots_read(p, record, &cell, err);

	if (rc != CM_OK || cell.null)
		return rc;
	for (uint32_t b = 0; b < pt_words_width(p); b++)
		counts[pt_words_coordinate(p, cell.slot, cell.group, b)] += cell.word >> b & 1;
	counts[padded(p) + cell.group * p->slots.slot[0].count + cell.slot]++;
	return CM_OK;
}

enum cm_rc pt_words_sums(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	uint64_t reports, int64_t *sum, struct cm_err *err)
{
	const struct pt_slot *s = &p->slots.slot[0];
	const uint64_t *cells = counts + padded(p);
	/* one slot may get all messages of all devices: a device that sends them so must not void the
	 * round */
	uint64_t left = reports * pt_slots_messages(p);

	for (uint32_t i = 0; i < s->count; i++) {
		for (uint32_t g = 0; g < s->groups; g++) {
			uint64_t here = cells[g * s->count + i];

			if (here > left)
				return cm_fail(err, CM_EDATA, "%s: more messages than can have been sent",
					p->row->name);
			left -= here;
			for (uint32_t b = 0; b < pt_words_width(p); b++) {
				uint32_t c = pt_words_coordinate(p, i, g, b);

				if (counts[c] > here)
					return cm_fail(
						err, CM_EDATA, "%s: more ones than messages", p->row->name);
				if (c < q->dimension)
					sum[c] = 2 * (int64_t)counts[c] - (int64_t)here;
			}
		}
	}
	return CM_OK;
}

enum cm_rc pt_words_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	struct pt_signs s;
	int64_t *sum;
	enum cm_rc rc;

	(void)row;
	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", p->row->name);
	s = pt_words_signs_among(p, counts, reports);
	sum = calloc(q->dimension, sizeof *sum);
	rc = !sum ? cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name)
		  : pt_words_sums(q, p, counts, reports, sum, err);
	if (rc == CM_OK)
		rc = es_vector_estimate(q, &s, sum, reports, out, err);
	free(sum);
	return rc;
}

/* The number of messages of slot i that are not NULL. */
static uint64_t came_in(const struct pt_randomizer *p, const uint64_t *counts, uint32_t i)
{
	const uint64_t *cells = counts + padded(p);
	uint64_t came = 0;

	for (uint32_t g = 0; g < p->slots.slot[0].groups; g++)
		came += cells[g * p->slots.slot[0].count + i];
	return came;
}

uint64_t pt_words_seen(const struct pt_randomizer *p, const uint64_t *counts, uint64_t devices)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < p->slots.slot[0].count; i++) {
		uint64_t seen = pt_lied_seen(p, &p->slots.slot[0], came_in(p, counts, i), devices);

		most = seen > most ? seen : most;
	}
	return most;
}

struct pt_lied pt_words_lied(
	const struct pt_randomizer *p, const uint64_t *counts, uint32_t i, const struct pt_crowd *crowd)
{
	struct pt_randomizer one = pt_slot_alone(p, &p->slots.slot[0]);

	return pt_lied_mixbins(&one, came_in(p, counts, i), crowd, p->row->messages(p));
}

uint64_t pt_words_lied_of(const struct pt_randomizer *p, const uint64_t *counts, uint32_t i, uint32_t group,
	const struct pt_lied *slot, double tail)
{
	const struct pt_slot *s = &p->slots.slot[0];
	uint64_t here = counts[padded(p) + group * s->count + i];
	uint64_t beyond = pt_lied_beyond(here, slot->honest * (1 + s->each.dummies), 1.0 / s->groups, tail);

	return beyond < slot->messages ? beyond : slot->messages;
}

/* The messages about each coordinate that can be the liars'. */
static void lied_about(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	const struct pt_crowd *crowd, uint64_t *about)
{
	const struct pt_slot *s = &p->slots.slot[0];
	double tail = es_known_tail(q->dimension);

	for (uint32_t i = 0; i < s->count; i++) {
		struct pt_lied lied = pt_words_lied(p, counts, i, crowd);

		for (uint32_t g = 0; g < s->groups; g++) {
			uint64_t here = pt_words_lied_of(p, counts, i, g, &lied, tail);

			for (uint32_t b = 0; b < pt_words_width(p); b++) {
				uint32_t c = pt_words_coordinate(p, i, g, b);

				if (c < q->dimension)
					about[c] = here;
			}
		}
	}
}

enum cm_rc pt_words_influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	uint64_t honest = crowd->devices - crowd->liars;
	struct pt_signs s = pt_words_signs_among(p, counts, honest);
	int64_t *sum = calloc(q->dimension, sizeof *sum);
	uint64_t *about = calloc(q->dimension, sizeof *about);
	enum cm_rc rc = !sum || !about ? cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name)
				       : pt_words_sums(q, p, counts, crowd->devices, sum, err);

	(void)row;
	if (rc == CM_OK) {
		lied_about(q, p, counts, crowd, about);
		rc = es_vector_honest(q, &s, sum, about, honest, out, err);
	}
	free(sum);
	free(about);
	return rc;
}

double pt_words_expected(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	struct pt_signs s = pt_words_signs(p, participants);

	(void)row;
	return es_vector_expected_error(q, &s, participants);
}

/* Without a local guarantee choose the widest words whose bins have enough dummies; with one, those with
 * the least error. */
static enum cm_rc choose(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	uint32_t slots, struct pt_randomizer *out, struct cm_err *err)
{
	double best = INFINITY, enough = DUMMIES_PER_BIN * slots;
	double dummies = pt_dummies_each(r->dummies, r->dummy_chance) *
			 (double)(r->min_reports > 0 ? r->min_reports : 1);
	enum cm_rc rc = CM_OK;

	for (uint32_t w = 1;
		rc == CM_OK && w <= PT_WORDS_WIDTH_MAX && w <= pt_words_ceil_div(q->dimension, slots); w++) {
		struct pt_randomizer p;
		double error;

		if (w > 1 && isinf(r->epsilon0) && dummies < ldexp(enough, (int)w))
			break;
		rc = pt_words_make(row, q, r, slots, w, &p, err);
		error = rc == CM_OK ? pt_words_expected(row, q, &p, r->min_reports > 0 ? r->min_reports : 1)
				    : INFINITY;
		if (rc == CM_OK && error < best) {
			best = error;
			*out = p;
		}
	}
	return rc;
}

enum cm_rc pt_words_choose(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err)
{
	uint32_t slots = r->slots;
	enum cm_rc rc;

	if (slots == 0)
		slots = q->dimension < SLOTS_DEFAULT ? q->dimension : SLOTS_DEFAULT;
	rc = pt_words_shape(row->device, q, slots, 1, CM_ECONFIG, err);
	if (rc != CM_OK)
		return rc;
	return r->size == 0 ? choose(row, q, r, slots, out, err)
			    : pt_words_make(row, q, r, slots, r->size, out, err);
}

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	return pt_words_choose(row, q, r, out, err);
}

const struct pt_protocol pt_row_words = {
	.device = &pt_device_words,
	.keys = PT_KEY_SLOTS | PT_KEY_SIZE,
	.derive = derive,
	.automatic = PT_AUTO | PT_AUTO_SLOTS,
	PT_WORDS_ANALYSIS,
};
