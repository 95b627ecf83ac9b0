/* pt_ss_simple_analysis.c - computes one loss and one mean of levels for each coordinate. */
#include <math.h>

#include "es_law.h"
#include "es_vector.h"
#include "pt_flame_analysis.h"
#include "pt_levels_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_slots.h"
#include "pt_slots_analysis.h"

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made = { .row = row->device,
		.slots = { .kinds = 1,
			.slot = {
				{ .count = q->dimension, .groups = 1, .each.bins = pt_flame_levels(r) } } } };
	enum cm_rc rc;

	if (q->kind != QY_VECTOR)
		return cm_fail(err, CM_ECONFIG, "%s: answers vectors only", row->device->name);
	if (isinf(r->epsilon0) || r->dummies != 0)
		return cm_fail(
			err, CM_ECONFIG, "%s: epsilon0 must be finite, and dummies 0", row->device->name);
	rc = pt_slots_request(row, r, &made.slots.slot[0], err);
	if (rc == CM_OK)
		rc = pt_slots_limit(&made, err);
	if (rc == CM_OK)
		rc = pt_slots_count_check(&made, CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

/* Estimate one coordinate, as a mean from levels. */
static enum cm_rc one_mean(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	uint64_t reports, struct qy_item *item, struct cm_err *err)
{
	struct qy_query mean = { .kind = QY_MEAN, .low = q->low, .high = q->high };
	struct pt_randomizer one = pt_slot_alone(p, &p->slots.slot[0]);
	double wider = es_normal_upper(es_joint_tail(q->dimension)) / es_normal_upper(0.025),
	       zero = fmin(fmax(0, q->low), q->high);
	const char *label = item->label;
	struct es_estimate e = { 0 };
	enum cm_rc rc;

	/* One device may have sent all of its messages here, so this is the limit. */
	rc = pt_levels_mean(&mean, &one, counts, reports, 0, &e, err);
	if (rc != CM_OK)
		return rc;
	*item = e.item[0];
	item->label = label;
	item->joint_lower = item->value - wider * (item->value - item->lower);
	item->joint_upper = item->value + wider * (item->upper - item->value);
	item->below_noise = item->joint_lower <= zero && item->joint_upper >= zero;
	es_estimate_fini(&e);
	return CM_OK;
}

static enum cm_rc fill(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	struct es_estimate *e, struct cm_err *err)
{
	enum cm_rc rc = es_vector_items(q, e, err);

	for (uint32_t c = 0; rc == CM_OK && c < q->dimension; c++) {
		rc = one_mean(
			q, p, counts + (size_t)c * p->slots.slot[0].each.bins, e->reports, &e->item[c], err);
		e->noise_floor = fmax(e->noise_floor, (e->item[c].joint_upper - e->item[c].joint_lower) / 2);
	}
	return rc;
}

static enum cm_rc estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	(void)row;
	return pt_slots_estimate(q, p, counts, reports, fill, out, err);
}

static enum cm_rc influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	const struct pt_slot *s = &p->slots.slot[0];
	const struct qy_query mean = { .kind = QY_MEAN, .low = q->low, .high = q->high };
	struct pt_randomizer one = pt_slot_alone(p, s);
	enum cm_rc rc = CM_OK;

	(void)row;
	for (uint32_t c = 0; rc == CM_OK && c < q->dimension; c++) {
		const uint64_t *here = counts + (size_t)c * s->each.bins;
		struct pt_lied lied = pt_lied_slot(p, s, here, crowd);

		rc = pt_levels_honest(&mean, &one, here, &lied, q->dimension, &out[c], err);
	}
	return rc;
}

static double expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	struct pt_randomizer one = pt_slot_alone(p, &p->slots.slot[0]);

	return pt_levels_expected_error(row, q, &one, participants);
}

const struct pt_protocol pt_row_ss_simple = {
	.device = &pt_device_ss_simple,
	.keys = PT_KEY_LEVELS,
	.derive = derive,
	.loss = pt_slots_loss,
	.estimate = estimate,
	.influence = influence,
	.seen = pt_slots_seen,
	.expected_error = expected_error,
	.statement = pt_ss_simple_statement,
	PT_FLAME_ANALYSIS,
};
