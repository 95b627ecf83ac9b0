/* pt_ss_simple.c - SS-Simple: sends every coordinate of a vector, each in its own message and batch. */
#include "pt_flame.h"
#include "pt_rows.h"
#include "pt_slots.h"

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	const struct pt_slot *s = &p->slots.slot[0];
	enum cm_rc rc = pt_slots_check(p, err);

	if (rc == CM_OK && (q->kind != QY_VECTOR || p->slots.kinds != 1 || s->count != q->dimension ||
				   s->groups != 1 || s->each.dummies != 0 || s->each.keep_always))
		rc = cm_fail(err, CM_EPROTO,
			"%s: a slot for each coordinate of a vector, a keep probability and no dummies are "
			"wanted",
			p->row->name);
	return rc == CM_OK ? pt_slots_count_check(p, CM_EPROTO, err) : rc;
}

static uint64_t word(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	uint32_t i, uint32_t group, const struct cr_rng *rng, void *room)
{
	(void)q;
	(void)group;
	(void)room;
	return pt_flame_level(value->at[i], p->slots.slot[0].each.bins - 1, rng);
}

static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	pt_slots_encode(q, p, value, word, rng, records, room);
}

const struct pt_device pt_device_ss_simple = {
	.name = "ss-simple",
	.summary = "FLAME's SS-Simple: every coordinate of a vector in a message of its own",
	.parameters = &pt_slots_layout,
	.check = check,
	.messages = pt_slots_messages,
	.record_len = pt_slots_record_len,
	.encode = encode,
	PT_FLAME_DEVICE,
};
