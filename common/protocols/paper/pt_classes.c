/* pt_classes.c - checks and encodes for the rows whose participants choose their own guarantee. */
#include "pt_classes.h"

#include "pt_category.h"
#include "pt_levels.h"

enum cm_rc pt_classes_kind(
	const struct pt_device *row, const struct qy_query *q, enum cm_rc code, struct cm_err *err)
{
	return q->kind == QY_HISTOGRAM || q->kind == QY_MEAN
		       ? CM_OK
		       : cm_fail(err, code, "%s: answers histograms and means only", row->name);
}

enum cm_rc pt_classes_check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_classes_kind(p->row, q, CM_EPROTO, err);

	if (rc == CM_OK)
		rc = pt_slots_check(p, err);
	if (rc != CM_OK)
		return rc;
	if (p->slots.kinds < 2 || p->shuffler.tags != p->slots.kinds || p->shuffler.tag_messages != 0)
		return cm_fail(err, CM_EPROTO, "%s: two classes or more, and a tag for each, are wanted",
			p->row->name);
	for (uint32_t i = 0; i < PT_SLOTS_MAX; i++) {
		const struct pt_slot *s = &p->slots.slot[i];

		if ((i < p->slots.kinds) != (p->shuffler.tag_least[i] > 0))
			return cm_fail(err, CM_EPROTO, "%s: each class needs a least number of participants",
				p->row->name);
		if (i < p->slots.kinds &&
			(s->count != 1 || s->groups != 1 || s->each.dummies != 0 || s->each.keep_always ||
				s->each.bins != p->slots.slot[0].each.bins ||
				(i > 0 && s->each.keep <= p->slots.slot[i - 1].each.keep)))
			return cm_fail(err, CM_EPROTO, "%s: class %u is no class", p->row->name, i + 1);
	}
	if (q->kind == QY_HISTOGRAM && p->slots.slot[0].each.bins != qy_query_bins(q))
		return pt_histogram_bins_fault(p->row, q, p->slots.slot[0].each.bins, err);
	return CM_OK;
}

double pt_classes_epsilon0(const struct pt_randomizer *p)
{
	return pt_classes_epsilon0_of(p, p->slots.kinds - 1);
}

double pt_classes_epsilon0_of(const struct pt_randomizer *p, uint32_t i)
{
	return pt_mixbins_guarantee(&p->slots.slot[i].each);
}

void pt_classes_route(
	const struct pt_randomizer *p, const struct qy_value *value, const uint8_t *records, uint16_t *tags)
{
	(void)p;
	(void)records;
	tags[0] = (uint16_t)value->level;
}

uint64_t pt_classes_word(const struct qy_query *q, const struct pt_randomizer *p,
	const struct qy_value *value, const struct cr_rng *rng)
{
	return q->kind == QY_MEAN ? pt_levels_round(value->x, p->slots.slot[0].each.bins - 1, rng) : value->x;
}

/* Branches may depend on the class, which the shuffler sees: it is no secret. */
uint64_t pt_classes_tell(
	const struct pt_randomizer *p, const struct qy_value *value, uint64_t word, const struct cr_rng *rng)
{
	return pt_mixbins_draw(&p->slots.slot[value->level].each, word, rng);
}
