/* pt_ss_topk.c - SS-Topk: sends the k coordinates that are furthest from the middle; the shuffler makes the
 * numbers of messages equal.
 *
 * Which coordinates a device sends depends on its values, and the shuffler sees it.  Only the device's own
 * dummies obscure this, and that is not differential privacy (doc/protocols/paper.md, "FLAME").  A client
 * takes part only if its policy allows it. */
#include <math.h>
#include <string.h>

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_flame.h"
#include "pt_mixbins.h"
#include "pt_record.h"
#include "pt_rows.h"
#include "pt_signs.h"
#include "pt_slots.h"

/* Check the query and the numbers of messages.  sent: number of coordinates that a device sends for their
 * value, the key `size`; dummies: number of messages about uniformly drawn coordinates that it adds. */
enum cm_rc pt_ss_topk_shape(
	const struct qy_query *q, uint32_t sent, uint32_t dummies, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != QY_VECTOR)
		return cm_fail(err, code, "%s: answers vectors only", pt_device_ss_topk.name);
	if (q->dimension > PT_TAGS_MAX)
		return cm_fail(err, code, "%s: %u coordinates, at most %u", pt_device_ss_topk.name,
			(unsigned)q->dimension, PT_TAGS_MAX);
	if (sent < 1 || sent >= q->dimension || sent > PR_MESSAGES_MAX)
		return cm_fail(err, code, "%s: size %u, must be 1 to %u coordinates", pt_device_ss_topk.name,
			(unsigned)sent, (unsigned)q->dimension - 1);
	if (dummies > PR_MESSAGES_MAX - sent)
		return cm_fail(err, code, "%s: more than %u messages of a device", pt_device_ss_topk.name,
			PR_MESSAGES_MAX);
	return CM_OK;
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	const struct pt_slot *s = &p->slots.slot[0];
	enum cm_rc rc = pt_slots_check(p, err);

	if (rc == CM_OK)
		rc = pt_ss_topk_shape(q, p->topk.size, s->each.dummies, CM_EPROTO, err);
	if (rc == CM_OK && (p->slots.kinds != 1 || s->count != 1 || s->groups != q->dimension ||
				   s->each.keep_always || p->shuffler.tags != q->dimension))
		rc = cm_fail(err, CM_EPROTO,
			"%s: one slot of all coordinates, a tag for each and a keep probability are wanted",
			p->row->name);
	if (rc == CM_OK)
		rc = pt_flame_padded(p, CM_EPROTO, err);
	return rc == CM_OK ? pt_slots_count_check(p, CM_EPROTO, err) : rc;
}

static uint32_t messages(const struct pt_randomizer *p)
{
	return p->topk.size + p->slots.slot[0].each.dummies;
}

/* There is no guarantee: shuffler and analyzer together see which coordinates are sent, and nothing hides
 * that. */
static double epsilon0(const struct pt_randomizer *p)
{
	(void)p;
	return INFINITY;
}

/* Draw a uniformly random order of the coordinates, which decides among coordinates in the middle.  A
 * device without a reading holds the middle everywhere, and the tags must not show which devices these
 * are. */
static void draw_order(uint32_t dimension, const struct cr_rng *rng, uint16_t *rank)
{
	for (uint32_t c = 0; c < dimension; c++) {
		uint32_t at = (uint32_t)cr_rng_below(rng, c + UINT64_C(1));

		rank[c] = (uint16_t)c;
		rank[c] = rank[at];
		rank[at] = (uint16_t)c;
	}
}

/* Find the next of the k largest distances from the middle; of equal ones above zero the first.  This looks
 * at all coordinates k times, and skips those that were taken, whose keys are not below the last one. */
static uint32_t next_coordinate(
	const struct qy_query *q, const struct qy_value *value, const uint16_t *rank, uint64_t *last)
{
	uint64_t best = 0;

	for (uint32_t c = 0; c < q->dimension; c++) {
		uint64_t x = value->at[c], middle = UINT64_C(1) << 30;
		uint64_t above = pt_below_mask(middle, x);
		uint64_t distance = pt_choose(above, x - middle, middle - x);
		uint64_t turn = pt_choose(pt_equal_mask(distance, 0), rank[c], PT_TAGS_MAX - c);
		uint64_t key = distance << 32 | turn << 16 | (PT_TAGS_MAX - c);
		uint64_t better = pt_below_mask(key, *last) & pt_below_mask(best, key);

		best = pt_choose(better, key, best);
	}
	*last = best;
	return (uint32_t)(PT_TAGS_MAX - (best & 0xffff));
}

/* The room holds the messages' keys, and after them the order of the coordinates. */
static size_t room_of(const struct qy_query *q, const struct pt_randomizer *p)
{
	return messages(p) * sizeof(uint64_t) + q->dimension * sizeof(uint16_t);
}

static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint64_t last = (UINT64_C(1) << 63) - 1, m = messages(p);
	uint64_t *key = room;
	uint16_t *rank = (uint16_t *)(key + m);

	draw_order(q->dimension, rng, rank);
	for (uint32_t i = 0; i < p->topk.size; i++) {
		uint32_t c = next_coordinate(q, value, rank, &last);
		uint64_t level =
			pt_flame_level(pt_signs_pick(q, value, c), p->slots.slot[0].each.bins - 1, rng);

		pt_record_put(records + (size_t)i * PT_RECORD_LEN,
			(uint64_t)c * p->slots.slot[0].each.bins +
				pt_mixbins_draw(&p->slots.slot[0].each, level, rng));
	}
	for (uint32_t i = p->topk.size; i < m; i++)
		pt_record_put(records + (size_t)i * PT_RECORD_LEN,
			cr_rng_below(rng, (uint64_t)p->slots.slot[0].groups * p->slots.slot[0].each.bins));
	pt_record_permute(records, (size_t)m, rng, key);
	explicit_bzero(rank, q->dimension * sizeof *rank);
}

static void route(
	const struct pt_randomizer *p, const struct qy_value *value, const uint8_t *records, uint16_t *tags)
{
	uint32_t m = messages(p);

	(void)value;
	for (uint32_t i = 0; i < m; i++)
		tags[i] = (uint16_t)pt_flame_group(&p->slots.slot[0], records + (size_t)i * PT_RECORD_LEN);
}

static void dummy(const struct pt_randomizer *p, uint32_t tag, const struct cr_rng *rng, uint8_t *record)
{
	pt_record_put(record,
		(uint64_t)tag * p->slots.slot[0].each.bins + cr_rng_below(rng, p->slots.slot[0].each.bins));
}

const struct pt_device pt_device_ss_topk = {
	.name = "ss-topk",
	.summary = "FLAME's SS-Topk: the coordinates furthest from the middle; the shuffler sees which",
	.parameters = &pt_topk_layout,
	.check = check,
	.messages = messages,
	.record_len = pt_slots_record_len,
	.epsilon0 = epsilon0,
	.room = room_of,
	.encode = encode,
	.route = route,
	.routes_by_value = true,
	.dummy = dummy,
	.kinds = QY_VECTOR,
};
