/* pt_hierarchy_analysis.c - computes the loss where each device answers for one level that it draws; counts
 * and answers are those of ranges. */
#include "pt_protocol.h"
#include "pt_ranges_analysis.h"
#include "pt_rows.h"
#include "pt_sampled_analysis.h"

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	enum cm_rc rc = pt_ranges_query(row->device, q, CM_ECONFIG, err);

	return rc == CM_OK ? pt_sampled_derive(row, q, r, pt_ranges_slots, out, err) : rc;
}

static enum cm_rc estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	(void)row;
	return pt_ranges_answer(q, p, pt_sampled_support, counts, reports, out, err);
}

static enum cm_rc influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	(void)row;
	return pt_ranges_honest(q, p, pt_sampled_honest, counts, crowd, out, err);
}

static double expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	(void)row;
	return pt_ranges_error(q, p, pt_sampled_before, participants);
}
const struct pt_protocol pt_row_hierarchy = {
	.device = &pt_device_hierarchy,
	.automatic = PT_AUTO,
	.derive = derive,
	.estimate = estimate,
	.influence = influence,
	.expected_error = expected_error,
	PT_SAMPLED_ANALYSIS,
};
