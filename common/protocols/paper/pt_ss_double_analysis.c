/* pt_ss_double_analysis.c - chooses how many messages of each coordinate the shuffler leaves, and estimates
 * means from them. */
#include <math.h>

#include "pt_flame.h"
#include "pt_flame_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_slots.h"
#include "pt_slots_analysis.h"

/* The shuffler leaves as many messages of an index as so many standard deviations above the mean: then an
 * index of a round of a million participants overflows once in a million rounds. */
#define ROOM 6.0

static uint64_t padded_for(const struct pt_request *r, uint32_t groups)
{
	double mean = (double)r->min_reports / groups;

	return r->padded != 0 ? r->padded : (uint64_t)ceil(mean + ROOM * sqrt(mean) + 1);
}

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made = { .slots.kinds = 1, .shuffler.tags = q->dimension };
	uint32_t sent = r->slots != 0 ? r->slots : 1;
	enum cm_rc rc = pt_ss_double_shape(q, sent, CM_ECONFIG, err);

	if (rc != CM_OK)
		return rc;
	if (isinf(r->epsilon0) || r->dummies != 0)
		return cm_fail(
			err, CM_ECONFIG, "%s: epsilon0 must be finite, and dummies 0", row->device->name);
	made.row = row->device;
	made.slots.slot[0] = (struct pt_slot){
		.count = sent, .groups = q->dimension / sent, .each.bins = pt_flame_levels(r)
	};
	made.shuffler.tag_messages = padded_for(r, made.slots.slot[0].groups);
	rc = pt_slots_request(row, r, &made.slots.slot[0], err);
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

static enum cm_rc estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	struct pt_kept kept = pt_flame_kept(
		(double)reports, 1.0 / p->slots.slot[0].groups, (double)p->shuffler.tag_messages);

	(void)row;
	return pt_flame_estimate(q, p, counts, &kept, reports, out, err);
}

/* A coordinate has more honest messages than derive() leaves room for once in a million rounds. */
static enum cm_rc influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	double honest = (double)(crowd->devices - crowd->liars), mean = honest / p->slots.slot[0].groups;
	struct pt_kept kept =
		pt_flame_kept(honest, 1.0 / p->slots.slot[0].groups, (double)p->shuffler.tag_messages);

	(void)row;
	(void)err;
	pt_flame_honest(q, p, counts, &kept, fmin(honest, mean + ROOM * sqrt(mean) + 1),
		(double)(crowd->liars * p->row->messages(p)), out);
	return CM_OK;
}

static double expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	struct pt_kept kept = pt_flame_kept(
		(double)participants, 1.0 / p->slots.slot[0].groups, (double)p->shuffler.tag_messages);

	(void)row;
	return pt_flame_expected(q, p, &kept, (double)p->shuffler.tag_messages);
}

const struct pt_protocol pt_row_ss_double = {
	.device = &pt_device_ss_double,
	.keys = PT_KEY_LEVELS | PT_KEY_SLOTS | PT_KEY_PADDED,
	.derive = derive,
	.loss = pt_slots_loss,
	.estimate = estimate,
	.influence = influence,
	.expected_error = expected_error,
	.statement = pt_ss_double_statement,
	PT_FLAME_ANALYSIS,
};
