/* pt_ss_double.c - SS-Double: sends one coordinate of each of k public groups; the shuffler makes the
 * numbers of messages equal. */
#include "pt_flame.h"
#include "pt_record.h"
#include "pt_rows.h"
#include "pt_signs.h"
#include "pt_slots.h"

enum cm_rc pt_ss_double_shape(const struct qy_query *q, uint32_t sent, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != QY_VECTOR)
		return cm_fail(err, code, "%s: answers vectors only", pt_device_ss_double.name);
	if (q->dimension > PT_TAGS_MAX)
		return cm_fail(err, code, "%s: %u coordinates, at most %u", pt_device_ss_double.name,
			(unsigned)q->dimension, PT_TAGS_MAX);
	if (sent < 1 || sent >= q->dimension || q->dimension % sent != 0)
		return cm_fail(err, code, "%s: %u slots for %u coordinates, must divide them and be fewer",
			pt_device_ss_double.name, (unsigned)sent, (unsigned)q->dimension);
	return CM_OK;
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	const struct pt_slot *s = &p->slots.slot[0];
	enum cm_rc rc = pt_slots_check(p, err);

	if (rc == CM_OK)
		rc = pt_ss_double_shape(q, s->count, CM_EPROTO, err);
	if (rc == CM_OK &&
		(p->slots.kinds != 1 || (uint64_t)s->count * s->groups != q->dimension ||
			s->each.dummies != 0 || s->each.keep_always || p->shuffler.tags != q->dimension))
		rc = cm_fail(err, CM_EPROTO,
			"%s: one coordinate of each group, a tag for each, a keep probability and no dummies "
			"are wanted",
			p->row->name);
	if (rc == CM_OK)
		rc = pt_flame_padded(p, CM_EPROTO, err);
	return rc == CM_OK ? pt_slots_count_check(p, CM_EPROTO, err) : rc;
}

/* Coordinate g of group i has the number i * (d / k) + g. */
static uint64_t word(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	uint32_t i, uint32_t group, const struct cr_rng *rng, void *room)
{
	uint32_t x = pt_signs_pick(q, value, i * p->slots.slot[0].groups + group);

	(void)room;
	return pt_flame_level(x, p->slots.slot[0].each.bins - 1, rng);
}

static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	pt_slots_encode(q, p, value, word, rng, records, room);
}

static void route(
	const struct pt_randomizer *p, const struct qy_value *value, const uint8_t *records, uint16_t *tags)
{
	(void)value;
	for (uint32_t m = 0; m < p->slots.slot[0].count; m++)
		tags[m] = (uint16_t)(m * p->slots.slot[0].groups +
				     pt_flame_group(&p->slots.slot[0], records + (size_t)m * PT_RECORD_LEN));
}

static void dummy(const struct pt_randomizer *p, uint32_t tag, const struct cr_rng *rng, uint8_t *record)
{
	const struct pt_slot *s = &p->slots.slot[0];

	pt_record_put_slot(record, (uint16_t)(tag / s->groups),
		(uint64_t)(tag % s->groups) * s->each.bins + cr_rng_below(rng, s->each.bins));
}

const struct pt_device pt_device_ss_double = {
	.name = "ss-double",
	.summary = "FLAME's SS-Double: one coordinate of each group, evened by the shuffler",
	.parameters = &pt_slots_layout,
	.check = check,
	.messages = pt_slots_messages,
	.record_len = pt_slots_record_len,
	.encode = encode,
	.route = route,
	.dummy = dummy,
	PT_FLAME_DEVICE,
};
