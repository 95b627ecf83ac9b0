/* pt_classes.c - what the rows share whose participants choose their own guarantee. */
#include "pt_classes.h"

#include <math.h>
#include <stdio.h>

#include "pr_limits.h"
#include "pt_levels.h"
#include "pt_mixbins.h"
#include "pt_record.h"

static struct pt_params class_of(const struct pt_params *p, uint32_t i)
{
	struct pt_params one = { .bins = p->slot[i].bins, .keep = p->slot[i].keep };

	(void)snprintf(one.protocol, sizeof one.protocol, "%s", p->protocol);
	return one;
}

static enum cm_rc kind_check(const char *name, const struct pt_query *q, enum cm_rc code, struct cm_err *err)
{
	return q->kind == PT_HISTOGRAM || q->kind == PT_MEAN
		       ? CM_OK
		       : cm_fail(err, code, "%s: answers histograms and means only", name);
}

enum cm_rc pt_classes_request(const char *name, const struct pt_query *q, const struct pt_request *r,
	struct pt_params *out, struct cm_err *err)
{
	struct pt_params made = { .slots = r->classes, .tags = r->classes };
	struct pt_request one = *r;
	uint32_t bins = q->categories;
	enum cm_rc rc = kind_check(name, q, CM_ECONFIG, err);

	if (rc != CM_OK)
		return rc;
	if (r->classes < 2 || r->classes > PT_SLOTS_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: %u classes, must be 2 to %u", name, (unsigned)r->classes,
			PT_SLOTS_MAX);
	if (r->dummies != 0 || r->shuffler_dummies != 0)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be 0", name);
	(void)snprintf(made.protocol, sizeof made.protocol, "%s", name);
	if (q->kind == PT_MEAN)
		bins = r->levels != 0 ? r->levels : 2;
	for (uint32_t i = 0; rc == CM_OK && i < r->classes; i++) {
		one.epsilon0 = r->class_epsilon0[i];
		made.slot[i] = (struct pt_slot){ .count = 1, .groups = 1, .bins = bins };
		made.tag_least[i] = r->class_least[i];
		if (isinf(one.epsilon0) || (i > 0 && !(one.epsilon0 > r->class_epsilon0[i - 1])))
			rc = cm_fail(
				err, CM_ECONFIG, "%s: epsilon0 of classes must be finite and rise", name);
		else if (made.tag_least[i] < 1)
			rc = cm_fail(err, CM_ECONFIG, "%s: class %u needs a least number of participants",
				name, i + 1);
		else
			rc = pt_slots_request(name, &one, &made.slot[i], err);
	}
	if (rc == CM_OK && !(one.epsilon0 <= r->epsilon0))
		rc = cm_fail(err, CM_ECONFIG, "%s: a class has epsilon0 %g, above the round's %g", name,
			one.epsilon0, r->epsilon0);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

enum cm_rc pt_classes_check(
	const char *name, const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = kind_check(name, q, CM_EPROTO, err);

	if (rc == CM_OK)
		rc = pt_slots_check(name, p, err);
	if (rc != CM_OK)
		return rc;
	if (p->slots < 2 || p->tags != p->slots || p->tag_messages != 0)
		return cm_fail(
			err, CM_EPROTO, "%s: two classes or more, and a tag for each, are wanted", name);
	for (uint32_t i = 0; i < PT_SLOTS_MAX; i++) {
		const struct pt_slot *s = &p->slot[i];

		if ((i < p->slots) != (p->tag_least[i] > 0))
			return cm_fail(
				err, CM_EPROTO, "%s: each class needs a least number of participants", name);
		if (i < p->slots &&
			(s->count != 1 || s->groups != 1 || s->dummies != 0 || s->keep_always ||
				s->bins != p->slot[0].bins || (i > 0 && s->keep <= p->slot[i - 1].keep)))
			return cm_fail(err, CM_EPROTO, "%s: class %u is no class", name, i + 1);
	}
	if (q->kind == PT_HISTOGRAM && p->slot[0].bins != q->categories)
		return cm_fail(err, CM_EPROTO, "%s: %u bins for %u categories", name,
			(unsigned)p->slot[0].bins, (unsigned)q->categories);
	return CM_OK;
}

double pt_classes_epsilon0(const struct pt_params *p)
{
	return pt_slot_epsilon0(&p->slot[p->slots - 1]);
}

uint32_t pt_classes_bins(const struct pt_params *p)
{
	return p->slot[0].bins;
}

void pt_classes_route(
	const struct pt_params *p, const struct pt_value *value, const uint8_t *records, uint16_t *tags)
{
	(void)p;
	(void)records;
	tags[0] = (uint16_t)value->level;
}

uint64_t pt_classes_word(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng)
{
	return q->kind == PT_MEAN ? pt_levels_round(value->x, p->slot[0].bins - 1, rng) : value->x;
}

/* The class is what the shuffler sees: no secret of this draw. */
uint64_t pt_classes_tell(
	const struct pt_params *p, const struct pt_value *value, uint64_t word, const struct cm_rng *rng)
{
	struct pt_params one = class_of(p, value->level);

	return pt_mixbins_draw(&one, word, rng);
}

bool pt_has_classes(const struct pt_params *p)
{
	return p->tags > 0 && p->tag_least[0] > 0;
}
