/* pt_multi.c - what the rows that send one wide message among wide dummies have in common. */
#include "pt_multi.h"

#include <stdio.h>

#include "cm_fault.h"
#include "pr_limits.h"
#include "pt_expect.h"
#include "pt_mixbins.h"

enum cm_rc pt_multi_derive(const char *name, const struct pt_query *q, const struct pt_request *r,
	struct pt_params *out, struct cm_err *err)
{
	struct pt_params made = {
		.bins = q->categories, .dummies = r->dummies, .shuffler_dummies = r->shuffler_dummies
	};

	if (q->kind != PT_HISTOGRAM)
		return cm_fail(err, CM_ECONFIG, "%s: answers histograms only", name);
	if (r->dummies >= PR_MESSAGES_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be at most %u", name, PR_MESSAGES_MAX - 1);
	if (r->shuffler_dummies > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: shuffler_dummies must be at most %u", name,
			PT_SHUFFLER_DUMMIES_MAX);
	if (r->dummies == 0 && r->shuffler_dummies == 0)
		return cm_fail(err, CM_ECONFIG, "%s: needs dummies", name);
	(void)snprintf(made.protocol, sizeof made.protocol, "%s", name);
	*out = made;
	return CM_OK;
}

enum cm_rc pt_multi_check(
	const char *name, const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = pt_histogram_check(name, q, p, err);

	if (rc != CM_OK)
		return rc;
	if (p->dummies >= PR_MESSAGES_MAX)
		return cm_fail(err, CM_EPROTO, "%s: too many dummies", name);
	if (p->shuffler_dummies > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(err, CM_EPROTO, "%s: too many dummies of the shuffler", name);
	if (CM_CHECKED("protocol.blanket") && p->dummies == 0 && p->shuffler_dummies == 0)
		return cm_fail(err, CM_EPROTO, "%s: dummies are wanted", name);
	return CM_OK;
}

enum cm_rc pt_multi_blanket(
	const struct pt_params *p, uint64_t participants, uint64_t *dummies, struct cm_err *err)
{
	uint64_t n;

	if (participants < 1 || __builtin_mul_overflow(participants, (uint64_t)p->dummies, &n) ||
		__builtin_add_overflow(n, p->shuffler_dummies, &n) || n > ACCT_MAX_REPORTS ||
		participants > ACCT_MAX_REPORTS - n)
		return cm_fail(err, CM_EPROTO, "%s: participants out of the accountant's range", p->protocol);
	*dummies = n;
	return CM_OK;
}

enum cm_rc pt_multi_estimate(const struct pt_query *q, const struct pt_params *p, struct pt_support s,
	uint32_t messages, const uint64_t *counts, uint64_t reports, struct pt_estimate *out,
	struct cm_err *err)
{
	uint64_t most;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", p->protocol);
	most = reports * messages + p->shuffler_dummies;
	for (uint32_t i = 0; i < p->bins; i++) {
		if (counts[i] > most)
			return cm_fail(err, CM_EDATA, "%s: more support than messages", p->protocol);
	}
	s.dummies = pt_mixbins_dummies(p, reports);
	return pt_support_estimate(q, p, &s, counts, reports, out, err);
}

double pt_multi_expected_error(const struct pt_params *p, struct pt_support s, uint64_t participants)
{
	s.dummies = pt_mixbins_dummies(p, participants);
	return pt_support_expected_error(&s, participants, p->bins);
}
