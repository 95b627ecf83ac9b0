/* pt_vrr.c - vector randomized response: sends the signs of some coordinates in one message, each flipped
 * with one chance. */
#include "pt_vrr.h"

#include <stdio.h>

#include "pt_exact.h"
#include "pt_mixbins.h"
#include "pt_record.h"
#include "pt_rows.h"
#include "pt_signs.h"

#define SIGNS_MASK UINT64_C(0xffff)

/* One sign is a round of binary response without dummies. */
static struct pt_mixbins one_sign(const struct pt_randomizer *p)
{
	return (struct pt_mixbins){ .bins = 2, .keep = p->vrr.keep };
}

enum cm_rc pt_vrr_shape(const struct qy_query *q, uint32_t size, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != QY_VECTOR)
		return cm_fail(err, code, "%s: answers vectors only", pt_device_vrr.name);
	if (size < 1 || size > q->dimension || size > PT_VRR_SIZE_MAX)
		return cm_fail(err, code, "%s: size %u, must be 1 to %u coordinates", pt_device_vrr.name,
			(unsigned)size,
			q->dimension < PT_VRR_SIZE_MAX ? (unsigned)q->dimension : PT_VRR_SIZE_MAX);
	return CM_OK;
}

/* The guarantee of a report, with all its signs. */
static double epsilon0(const struct pt_randomizer *p)
{
	const struct pt_mixbins one = one_sign(p);

	return pt_guarantees_up(pt_guarantees(pt_mixbins_guarantee(&one), p->vrr.size));
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	const struct pt_mixbins one = one_sign(p);
	enum cm_rc rc = pt_vrr_shape(q, p->vrr.size, CM_EPROTO, err);

	if (rc == CM_OK && p->shuffler.dummies != 0)
		rc = cm_fail(err, CM_EPROTO, "%s: no dummies are wanted", p->row->name);
	if (rc == CM_OK)
		rc = pt_mixbins_law_check(p->row, &one, false, err);
	if (rc == CM_OK && p->vrr.dimension != q->dimension)
		rc = cm_fail(err, CM_EPROTO, "%s: %u coordinates, the query has %u", p->row->name,
			(unsigned)p->vrr.dimension, (unsigned)q->dimension);
	if (rc == CM_OK && epsilon0(p) > PT_EPSILON0_MAX)
		rc = cm_fail(err, CM_EPROTO, "%s: epsilon0 above %g", p->row->name, PT_EPSILON0_MAX);
	return rc;
}

static uint32_t messages(const struct pt_randomizer *p)
{
	(void)p;
	return 1;
}

uint32_t pt_vrr_coordinate(const struct pt_randomizer *p, uint32_t start, uint32_t t)
{
	uint32_t d = p->vrr.dimension;

	return (uint32_t)((start + (uint64_t)t * d / p->vrr.size) % d);
}

/* Every coordinate is read for every place; start, and the coordinates that follow from it, pass only
 * through masks. */
static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint32_t d = q->dimension;
	uint64_t start = cr_rng_below(rng, d), made = start << 16;

	(void)room;
	for (uint32_t t = 0; t < p->vrr.size; t++) {
		uint64_t at = start + (uint64_t)t * d / p->vrr.size, keep;

		at -= d & ~pt_below_mask(at, d);
		keep = cr_rng_bernoulli(rng, p->vrr.keep);
		made |= (pt_signs_draw(pt_signs_pick(q, value, at), rng) ^ keep ^ 1) << t;
	}
	pt_record_put(records, made);
}

enum cm_rc pt_vrr_read(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *value, struct cm_err *err)
{
	enum cm_rc rc = pt_record_opens(record, err);

	if (rc == CM_OK)
		rc = pt_record_value(record, (uint64_t)p->vrr.dimension << 16, value, err);
	if (rc == CM_OK && (*value & SIGNS_MASK) >> p->vrr.size != 0)
		rc = cm_fail(err, CM_EDATA, "record: more than %u signs", (unsigned)p->vrr.size);
	return rc;
}

static void describe(const struct qy_query *q, const struct pt_randomizer *p, const uint8_t *record,
	char *out, size_t size)
{
	uint64_t value = 0;
	struct cm_err ignored;
	size_t used = 0;

	if (pt_vrr_read(p, record, &value, &ignored) != CM_OK) {
		(void)snprintf(out, size, "?");
		return;
	}
	for (uint32_t t = 0; t < p->vrr.size; t++)
		pt_signs_describe(q, pt_vrr_coordinate(p, (uint32_t)(value >> 16), t), value >> t & 1, out,
			size, &used);
}

static const struct pt_field fields[] = {
	{ "dimension", offsetof(struct pt_randomizer, vrr.dimension), PT_FIELD_U32 },
	{ "size", offsetof(struct pt_randomizer, vrr.size), PT_FIELD_U32 },
	{ "keep", offsetof(struct pt_randomizer, vrr.keep), PT_FIELD_CHANCE },
};
static const struct pt_layout parameters = { .field = fields, .fields = sizeof fields / sizeof *fields };

const struct pt_device pt_device_vrr = {
	.name = "vrr",
	.summary = "vector response: the mean of each coordinate of a vector from a few signs of each device",
	.parameters = &parameters,
	.kinds = QY_VECTOR,
	.check = check,
	.messages = messages,
	.record_len = pt_mixbins_record_len,
	.epsilon0 = epsilon0,
	.encode = encode,
	.describe = describe,
};
