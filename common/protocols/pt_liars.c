/* pt_liars.c - calls what a row knows of liars. */
#include "pt_liars.h"

#include <inttypes.h>

uint64_t pt_liars_seen(const struct pt_randomizer *p, const uint64_t *counts, uint64_t devices, uint64_t bad)
{
	const struct pt_protocol *row = pt_protocol_of(p->row);
	uint64_t each = p->row->messages(p), by_bad = (bad + each - 1) / each;
	uint64_t by_totals = row->seen ? row->seen(p, counts, devices) : 0;

	return by_bad > by_totals ? by_bad : by_totals;
}

/* What the estimator says, where nobody lied. */
static enum cm_rc as_stated(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	uint64_t devices, struct es_honest *out, size_t items, struct cm_err *err)
{
	struct es_estimate e;
	enum cm_rc rc = pt_answer(q, p, counts, devices, &e, err);

	for (size_t i = 0; rc == CM_OK && i < items && i < e.n; i++)
		out[i] = (struct es_honest){ .least = e.item[i].value,
			.most = e.item[i].value,
			.lower = e.item[i].lower,
			.upper = e.item[i].upper,
			.joint_lower = e.item[i].joint_lower,
			.joint_upper = e.item[i].joint_upper };
	if (rc == CM_OK)
		es_estimate_fini(&e);
	return rc;
}

enum cm_rc pt_honest(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	const struct pt_crowd *crowd, struct es_honest *out, size_t items, struct cm_err *err)
{
	const struct pt_protocol *row = pt_protocol_of(p->row);
	uint64_t seen = pt_liars_seen(p, counts, crowd->devices, 0);

	if (crowd->liars >= crowd->devices)
		return cm_fail(err, CM_EDATA, "%s: of %" PRIu64 " devices all may lie: nothing is known",
			p->row->name, crowd->devices);
	if (crowd->liars < seen)
		return cm_fail(err, CM_EDATA,
			"%s: at least %" PRIu64 " devices lied, and %" PRIu64 " are assumed", p->row->name,
			seen, crowd->liars);
	if (crowd->liars == 0)
		return as_stated(q, p, counts, crowd->devices, out, items, err);
	return row->influence(row, q, p, counts, crowd, out, err);
}
