/* pt_slots.c - MIXBINS in several batches of one round: checks and encodes. */
#include "pt_slots.h"

#include <math.h>

#include "pr_limits.h"
#include "pt_exact.h"

_Static_assert(PR_MESSAGES_MAX <= UINT16_MAX, "a slot's number has 16 bits in a record");

/* The number of messages of all slots; above PR_MESSAGES_MAX if there are too many. */
static uint64_t messages_of(const struct pt_randomizer *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->slots.kinds; i++)
		sum += (uint64_t)p->slots.slot[i].count * (UINT64_C(1) + p->slots.slot[i].each.dummies +
								  (p->slots.slot[i].each.dummy_chance > 0));
	return sum;
}

enum cm_rc pt_slots_size(
	const struct pt_device *row, const struct pt_slot *s, enum cm_rc code, struct cm_err *err)
{
	if (s->count < 1 || s->count > PR_MESSAGES_MAX)
		return cm_fail(err, code, "%s: %u slots of a kind, must be 1 to %u", row->name,
			(unsigned)s->count, PR_MESSAGES_MAX);
	if (s->groups < 1 || s->groups > PR_DIMENSION_MAX)
		return cm_fail(err, code, "%s: %u groups in a slot, must be 1 to %u", row->name,
			(unsigned)s->groups, PR_DIMENSION_MAX);
	return CM_OK;
}

enum cm_rc pt_slots_limits(const struct pt_randomizer *p, enum cm_rc code, struct cm_err *err)
{
	if (p->slots.kinds < 1 || p->slots.kinds > PT_SLOTS_MAX)
		return cm_fail(err, code, "%s: %u kinds of slots, must be 1 to %u", p->row->name,
			(unsigned)p->slots.kinds, PT_SLOTS_MAX);
	if (messages_of(p) > PR_MESSAGES_MAX)
		return cm_fail(err, code, "%s: %llu messages of a device, at most %u", p->row->name,
			(unsigned long long)messages_of(p), PR_MESSAGES_MAX);
	for (uint32_t i = 0; i < p->slots.kinds; i++)
		if (pt_mixbins_sent(&p->slots.slot[i].each) > PR_BLANKET_MAX)
			return cm_fail(err, code, "%s: more than %u messages of a device in a slot",
				p->row->name, PR_BLANKET_MAX);
	return CM_OK;
}

enum cm_rc pt_slots_check(const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc;

	if (p->shuffler.dummies != 0)
		return cm_fail(
			err, CM_EPROTO, "%s: the shuffler adds no dummies to a round of slots", p->row->name);
	rc = pt_slots_limits(p, CM_EPROTO, err);
	for (uint32_t i = 0; rc == CM_OK && i < p->slots.kinds; i++) {
		const struct pt_slot *s = &p->slots.slot[i];

		rc = pt_slots_size(p->row, s, CM_EPROTO, err);
		if (rc == CM_OK)
			rc = pt_mixbins_law_check(p->row, &s->each, false, err);
	}
	return rc;
}

uint32_t pt_slots_total(const struct pt_randomizer *p)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < p->slots.kinds; i++)
		sum += p->slots.slot[i].count;
	return sum;
}

const struct pt_slot *pt_slots_at(const struct pt_randomizer *p, uint32_t i)
{
	const struct pt_slot *s = p->slots.slot;

	while (i >= s->count)
		i -= s++->count;
	return s;
}

uint32_t pt_slots_messages(const struct pt_randomizer *p)
{
	return (uint32_t)messages_of(p);
}

uint32_t pt_slots_record_len(const struct pt_randomizer *p)
{
	(void)p;
	return PT_RECORD_LEN;
}

double pt_slots_epsilon0(const struct pt_randomizer *p)
{
	struct cm_wide sum = { 0 };

	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		const struct pt_slot *s = &p->slots.slot[i];

		if (s->each.keep_always)
			return INFINITY;
		sum = cm_wide_sum(sum, pt_guarantees(pt_mixbins_guarantee(&s->each), s->count));
	}
	return pt_guarantees_up(sum);
}

/* The group, too, passes only through masks, which word() is responsible for. */
void pt_slots_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	pt_word *word, const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		const struct pt_slot *s = &p->slots.slot[i];
		uint32_t messages = pt_mixbins_sent(&s->each);

		for (uint32_t c = 0; c < s->count; c++, at++) {
			uint64_t group = cr_rng_below(rng, s->groups);
			uint64_t own = word(q, p, value, at, (uint32_t)group, rng, room);

			pt_mixbins_hide(&s->each, group * s->each.bins + pt_mixbins_draw(&s->each, own, rng),
				(uint64_t)s->groups * s->each.bins, (uint16_t)at, rng, records);
			records += (size_t)messages * PT_RECORD_LEN;
		}
	}
}

enum cm_rc pt_slots_read(
	const struct pt_randomizer *p, const uint8_t *record, struct pt_cell *out, struct cm_err *err)
{
	uint32_t slot = 0;
	uint64_t symbol = 0;
	const struct pt_slot *s;
	enum cm_rc rc = pt_record_slot(record, pt_slots_total(p), &slot, err);

	if (rc != CM_OK)
		return rc;
	s = pt_slots_at(p, slot);
	if (s->each.dummy_chance > 0 && pt_record_is_null(record)) {
		*out = (struct pt_cell){ .slot = slot, .null = true };
		return CM_OK;
	}
	rc = pt_record_value(record, (uint64_t)s->groups * s->each.bins, &symbol, err);
	if (rc == CM_OK)
		*out = (struct pt_cell){ .slot = slot,
			.group = (uint32_t)(symbol / s->each.bins),
			.word = (uint32_t)(symbol % s->each.bins) };
	return rc;
}

enum cm_rc pt_slots_count_check(const struct pt_randomizer *p, enum cm_rc code, struct cm_err *err)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		const struct pt_slot *s = &p->slots.slot[i];
		uint64_t all;

		if (__builtin_mul_overflow((uint64_t)s->groups * s->each.bins, (uint64_t)s->count, &all) ||
			all > PR_TALLIES_MAX || (sum += all) > PR_TALLIES_MAX)
			return cm_fail(
				err, code, "%s: more than %u symbols in all", p->row->name, PR_TALLIES_MAX);
	}
	return CM_OK;
}

#define AT(member)   offsetof(struct pt_randomizer, slots.member)
#define EACH(member) offsetof(struct pt_slot, member)

static const struct pt_field slot[] = {
	{ "count", EACH(count), PT_FIELD_U32 },
	{ "groups", EACH(groups), PT_FIELD_U32 },
	{ "bins", EACH(each.bins), PT_FIELD_U32 },
	{ "dummies", EACH(each.dummies), PT_FIELD_U32 },
	{ "dummy_chance", EACH(each.dummy_chance), PT_FIELD_CHANCE },
	{ "keep_always", EACH(each.keep_always), PT_FIELD_BOOL },
	{ "keep", EACH(each.keep), PT_FIELD_CHANCE },
};

static const struct pt_field with_scale[] = {
	{ "scale", offsetof(struct pt_randomizer, rotated.scale), PT_FIELD_U64 },
};
static const struct pt_field with_size[] = {
	{ "size", offsetof(struct pt_randomizer, topk.size), PT_FIELD_U32 },
};

#define LIST                                                                                            \
	.item = slot, .item_fields = sizeof slot / sizeof *slot, .count = AT(kinds), .first = AT(slot), \
	.size = sizeof(struct pt_slot), .most = PT_SLOTS_MAX

const struct pt_layout pt_slots_layout = { LIST };
const struct pt_layout pt_rotated_layout = { .field = with_scale, .fields = 1, LIST };
const struct pt_layout pt_topk_layout = { .field = with_size, .fields = 1, LIST };

struct pt_randomizer pt_slot_alone(const struct pt_randomizer *p, const struct pt_slot *s)
{
	return (struct pt_randomizer){ .row = p->row, .mixbins = s->each };
}
