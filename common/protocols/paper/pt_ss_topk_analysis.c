/* pt_ss_topk_analysis.c - computes the loss of up to 2k coordinates that change, and means in which an
 * unsent coordinate counts as the middle. */
#include <math.h>
#include <stdio.h>

#include "pt_flame.h"
#include "pt_flame_analysis.h"
#include "pt_mixbins_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_slots.h"
#include "pt_slots_analysis.h"

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made = { .shuffler.tags = q->dimension,
		.topk = { .slots = { .kinds = 1 }, .size = r->size != 0 ? r->size : 1 } };
	enum cm_rc rc = pt_ss_topk_shape(q, made.topk.size, r->dummies, CM_ECONFIG, err);

	if (rc != CM_OK)
		return rc;
	if (isinf(r->epsilon0))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be finite", row->device->name);
	made.row = row->device;
	made.slots.slot[0] =
		(struct pt_slot){ .count = 1, .groups = q->dimension, .each.bins = pt_flame_levels(r) };
	/* Choose the number so that nothing is dropped even if all devices send the same coordinate. */
	made.shuffler.tag_messages = r->padded != 0 ? r->padded : r->min_reports > 0 ? r->min_reports : 1;
	rc = pt_slots_request(row, r, &made.slots.slot[0], err);
	if (rc == CM_OK)
		rc = pt_flame_padded(&made, CM_ECONFIG, err);
	if (rc == CM_OK)
		rc = pt_slots_count_check(&made, CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static struct pt_randomizer one_message(const struct pt_randomizer *p)
{
	const struct pt_mixbins *each = &p->slots.slot[0].each;

	/* The client's dummies are about coordinates drawn uniformly.  They are not counted here, which can
	 * only raise the loss. */
	return (struct pt_randomizer){ .row = p->row, .mixbins = { .bins = each->bins, .keep = each->keep } };
}

/* Up to 2k coordinates change.  About each the victim's message is one of tag_messages, and every other
 * hides it at least as well as another participant's.  With two levels they are bits, a dummy's too, which is
 * within a participant's range; where the victim sends nothing about a coordinate, another such bit is in its
 * place (doc/binary.md).  If the shuffler does not fill up the tags, the
 * analyzer sees how many devices sent a coordinate, which is a function of their values. */
static enum cm_rc loss(
	const struct pt_randomizer *p, uint64_t participants, struct pt_loss *out, struct cm_err *err)
{
	struct pt_randomizer one = one_message(p);
	enum cm_rc rc;

	(void)participants;
	out->parts = 1;
	if (p->shuffler.tag_messages == 0) {
		one.mixbins.keep_always = true;
		one.mixbins.keep = 0;
		return pt_mixbins_cells(&one, 1, &out->part[0], err);
	}
	rc = pt_mixbins_cells(&one, p->shuffler.tag_messages, &out->part[0], err);
	out->part[0].count = UINT64_C(2) * p->topk.size;
	return rc;
}

/* A value that a device did not send counts as the middle. */
static enum cm_rc estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	const struct pt_kept all = { .mean = (double)reports };

	(void)row;
	return pt_flame_estimate(q, p, counts, &all, reports, out, err);
}

static enum cm_rc influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	double honest = (double)(crowd->devices - crowd->liars);
	uint64_t each = p->row->messages(p);
	const struct pt_kept all = { .mean = honest };

	(void)row;
	(void)err;
	/* a device's dummies may all be about the coordinate that it sends */
	pt_flame_honest(q, p, counts, &all, honest * (double)(1 + each - p->topk.size),
		(double)(crowd->liars * each), out);
	return CM_OK;
}

/* The error of a coordinate that all devices send or, if that is larger, of one that none sends. */
static double expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	const struct pt_kept all = { .mean = (double)participants };
	double filled = fmax((double)p->shuffler.tag_messages, (double)participants);

	(void)row;
	return fmax(pt_flame_expected(q, p, &all, filled), pt_flame_unsent(q, p, all.mean, filled));
}

static void estimand(const struct qy_query *q, const struct pt_randomizer *p, char *out, size_t size)
{
	(void)snprintf(out, size,
		"the mean of what was sent: of each vector the %u coordinates furthest from the middle of the range, and "
		"%.6g for all others.  It is not the mean of the vectors, and the intervals need not hold that",
		(unsigned)p->topk.size, q->low + (q->high - q->low) / 2);
}

const struct pt_protocol pt_row_ss_topk = {
	.device = &pt_device_ss_topk,
	.keys = PT_KEY_LEVELS | PT_KEY_SIZE | PT_KEY_PADDED,
	.derive = derive,
	.loss = loss,
	.tallies = pt_slots_symbols,
	.tally = pt_slots_tally,
	.estimate = estimate,
	.influence = influence,
	.expected_error = expected_error,
	.estimand = estimand,
	.statement = pt_ss_topk_statement,
};
