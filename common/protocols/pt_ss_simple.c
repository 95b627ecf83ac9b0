/* pt_ss_simple.c - SS-Simple: every coordinate of a vector, each in a message and a batch of its own. */
#include <math.h>
#include <stdio.h>

#include "pt_flame.h"
#include "pt_law.h"
#include "pt_levels.h"
#include "pt_rows.h"

static const char name[] = "ss-simple";

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made = { .slots = 1,
		.slot = { { .count = q->dimension, .groups = 1, .bins = pt_flame_levels(r) } } };
	enum cm_rc rc;

	if (q->kind != PT_VECTOR)
		return cm_fail(err, CM_ECONFIG, "%s: answers vectors only", name);
	if (isinf(r->epsilon0) || r->dummies != 0)
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be finite, and dummies 0", name);
	(void)snprintf(made.protocol, sizeof made.protocol, "%s", name);
	rc = pt_slots_request(name, r, &made.slot[0], err);
	if (rc == CM_OK)
		rc = pt_slots_limit(&made, err);
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

	if (rc == CM_OK && (q->kind != PT_VECTOR || p->slots != 1 || s->count != q->dimension ||
				   s->groups != 1 || s->dummies != 0 || s->keep_always))
		rc = cm_fail(err, CM_EPROTO,
			"%s: a slot for each coordinate of a vector, a keep probability and no dummies are "
			"wanted",
			name);
	return rc == CM_OK ? pt_slots_count_check(p, CM_EPROTO, err) : rc;
}

static uint64_t word(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	uint32_t i, uint32_t group, const struct cm_rng *rng)
{
	(void)q;
	(void)group;
	return pt_flame_level(value->at[i], p->slot[0].bins - 1, rng);
}

static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	pt_slots_encode(q, p, value, word, rng, records);
}

/* One coordinate is a mean from levels. */
static enum cm_rc one_mean(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_item *item, struct cm_err *err)
{
	struct pt_query mean = { .kind = PT_MEAN, .low = q->low, .high = q->high };
	struct pt_params one = { .bins = p->slot[0].bins, .keep = p->slot[0].keep };
	double wider = pt_normal_upper(pt_joint_tail(q->dimension)) / pt_normal_upper(0.025),
	       zero = fmin(fmax(0, q->low), q->high);
	const char *label = item->label;
	struct pt_estimate e = { 0 };
	enum cm_rc rc;

	(void)snprintf(one.protocol, sizeof one.protocol, "%s", name);
	/* One device may have sent all its messages here. */
	rc = pt_levels_mean(&mean, &one, counts, reports, 0, &e, err);
	if (rc != CM_OK)
		return rc;
	*item = e.item[0];
	item->label = label;
	item->joint_lower = item->value - wider * (item->value - item->lower);
	item->joint_upper = item->value + wider * (item->upper - item->value);
	item->below_noise = item->joint_lower <= zero && item->joint_upper >= zero;
	pt_estimate_fini(&e);
	return CM_OK;
}

static enum cm_rc estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	struct pt_estimate e = { .reports = reports };
	enum cm_rc rc = pt_slots_totals(p, counts, reports, err);

	if (rc == CM_OK)
		rc = pt_vector_items(q, &e, err);
	for (uint32_t c = 0; rc == CM_OK && c < q->dimension; c++) {
		rc = one_mean(q, p, counts + (size_t)c * p->slot[0].bins, reports, &e.item[c], err);
		e.noise_floor = fmax(e.noise_floor, (e.item[c].joint_upper - e.item[c].joint_lower) / 2);
	}
	if (rc == CM_OK)
		*out = e;
	else
		pt_estimate_fini(&e);
	return rc;
}

static double expected_error(const struct pt_query *q, const struct pt_params *p, uint64_t participants)
{
	struct pt_params one = { .bins = p->slot[0].bins, .keep = p->slot[0].keep };

	return pt_levels_expected_error(q, &one, participants);
}

const struct pt_protocol pt_row_ss_simple = {
	.name = name,
	.summary = "FLAME's SS-Simple: every coordinate of a vector in a message of its own",
	.derive = derive,
	.check = check,
	.messages = pt_slots_messages,
	.record_len = pt_slots_record_len,
	.loss = pt_slots_loss,
	.encode = encode,
	.estimate = estimate,
	.expected_error = expected_error,
	.statement = pt_ss_simple_statement,
	PT_FLAME_COLUMNS,
};
