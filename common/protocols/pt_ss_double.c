/* pt_ss_double.c - SS-Double: one coordinate of each of k public groups, and counts that the shuffler evens.
 */
#include <math.h>
#include <stdio.h>

#include "pt_flame.h"
#include "pt_rows.h"

static const char name[] = "ss-double";

/* Room above the mean, in standard deviations: an index of a round of a million overflows once in a million.
 */
#define ROOM 6.0

static enum cm_rc shape_check(const struct pt_query *q, uint32_t sent, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != PT_VECTOR)
		return cm_fail(err, code, "%s: answers vectors only", name);
	if (q->dimension > PT_TAGS_MAX)
		return cm_fail(err, code, "%s: %u coordinates, at most %u", name, (unsigned)q->dimension,
			PT_TAGS_MAX);
	if (sent < 1 || sent >= q->dimension || q->dimension % sent != 0)
		return cm_fail(err, code, "%s: %u slots for %u coordinates, must divide them and be fewer",
			name, (unsigned)sent, (unsigned)q->dimension);
	return CM_OK;
}

static uint64_t padded_for(const struct pt_request *r, uint32_t groups)
{
	double mean = (double)r->min_batch / groups;

	return r->padded != 0 ? r->padded : (uint64_t)ceil(mean + ROOM * sqrt(mean) + 1);
}

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made = { .slots = 1, .tags = q->dimension };
	uint32_t sent = r->slots != 0 ? r->slots : 1;
	enum cm_rc rc = shape_check(q, sent, CM_ECONFIG, err);

	if (rc != CM_OK)
		return rc;
	if (isinf(r->epsilon0) || r->dummies != 0)
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be finite, and dummies 0", name);
	(void)snprintf(made.protocol, sizeof made.protocol, "%s", name);
	made.slot[0] =
		(struct pt_slot){ .count = sent, .groups = q->dimension / sent, .bins = pt_flame_levels(r) };
	made.tag_messages = padded_for(r, made.slot[0].groups);
	rc = pt_slots_request(name, r, &made.slot[0], err);
	if (rc == CM_OK)
		rc = pt_slots_limit(&made, err);
	if (rc == CM_OK)
		rc = pt_flame_padded(&made, CM_ECONFIG, err);
	if (rc == CM_OK)
		rc = pt_slots_count_check(&made, CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	const struct pt_slot *s = &p->slot[0];
	enum cm_rc rc = pt_slots_check(name, p, err);

	if (rc == CM_OK)
		rc = shape_check(q, s->count, CM_EPROTO, err);
	if (rc == CM_OK && (p->slots != 1 || (uint64_t)s->count * s->groups != q->dimension ||
				   s->dummies != 0 || s->keep_always || p->tags != q->dimension))
		rc = cm_fail(err, CM_EPROTO,
			"%s: one coordinate of each group, a tag for each, a keep probability and no dummies "
			"are wanted",
			name);
	if (rc == CM_OK)
		rc = pt_flame_padded(p, CM_EPROTO, err);
	return rc == CM_OK ? pt_slots_count_check(p, CM_EPROTO, err) : rc;
}

/* Coordinate g of group i is number i * (d / k) + g. */
static uint64_t word(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	uint32_t i, uint32_t group, const struct cm_rng *rng)
{
	uint32_t x = pt_vector_pick(q, value, i * p->slot[0].groups + group);

	return pt_flame_level(x, p->slot[0].bins - 1, rng);
}

static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	pt_slots_encode(q, p, value, word, rng, records);
}

static void route(
	const struct pt_params *p, const struct pt_value *value, const uint8_t *records, uint16_t *tags)
{
	(void)value;
	for (uint32_t m = 0; m < p->slot[0].count; m++)
		tags[m] = (uint16_t)(m * p->slot[0].groups +
				     pt_flame_group(&p->slot[0], records + (size_t)m * PT_RECORD_LEN));
}

static void dummy(const struct pt_params *p, uint32_t tag, const struct cm_rng *rng, uint8_t *record)
{
	const struct pt_slot *s = &p->slot[0];

	pt_record_put_slot(record, (uint16_t)(tag / s->groups),
		(uint64_t)(tag % s->groups) * s->bins + cm_rng_below(rng, s->bins));
}

static enum cm_rc estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	struct pt_kept kept =
		pt_flame_kept((double)reports, 1.0 / p->slot[0].groups, (double)p->tag_messages);

	return pt_flame_estimate(q, p, counts, &kept, reports, out, err);
}

static double expected_error(const struct pt_query *q, const struct pt_params *p, uint64_t participants)
{
	struct pt_kept kept =
		pt_flame_kept((double)participants, 1.0 / p->slot[0].groups, (double)p->tag_messages);

	return pt_flame_expected(q, p, &kept, (double)p->tag_messages);
}

const struct pt_protocol pt_row_ss_double = {
	.name = name,
	.summary = "FLAME's SS-Double: one coordinate of each group, evened by the shuffler",
	.derive = derive,
	.check = check,
	.messages = pt_slots_messages,
	.record_len = pt_slots_record_len,
	.loss = pt_slots_loss,
	.encode = encode,
	.route = route,
	.dummy = dummy,
	.estimate = estimate,
	.expected_error = expected_error,
	.statement = pt_ss_double_statement,
	PT_FLAME_COLUMNS,
};
