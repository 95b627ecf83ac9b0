/* pt_single.c - what the rows that send one wide message and no dummies have in common. */
#include "pt_single.h"

#include <stdio.h>

#include "pt_exact.h"

uint32_t pt_single_messages(const struct pt_params *p)
{
	(void)p;
	return 1;
}

uint32_t pt_single_items(const struct pt_params *p)
{
	return p->bins;
}

enum cm_rc pt_single_derive(const char *name, const struct pt_query *q, const struct pt_request *r,
	struct pt_params *out, struct cm_err *err)
{
	struct pt_params made = { .bins = q->categories };

	if (q->kind != PT_HISTOGRAM)
		return cm_fail(err, CM_ECONFIG, "%s: answers histograms only", name);
	if (r->dummies != 0)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be 0; \"mixbins\" has them", name);
	if (!(r->epsilon0 > 0 && r->epsilon0 <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be above 0 and at most %g", name,
			PT_EPSILON0_MAX);
	(void)snprintf(made.protocol, sizeof made.protocol, "%s", name);
	*out = made;
	return CM_OK;
}

enum cm_rc pt_single_check(
	const char *name, const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = pt_histogram_check(name, q, p, err);

	if (rc != CM_OK)
		return rc;
	if (p->keep_always || p->keep == 0 || p->dummies != 0)
		return cm_fail(err, CM_EPROTO, "%s: a keep probability and no dummies are wanted", name);
	return CM_OK;
}

enum cm_rc pt_single_guarantee(
	const struct pt_params *p, long double ratio, enum cm_rc code, struct cm_err *err)
{
	if (!(pt_log_up(ratio) >= PT_EPSILON0_MIN))
		return cm_fail(err, code, "%s: epsilon0 is too small to say anything", p->protocol);
	if (pt_log_up(ratio) > PT_EPSILON0_MAX)
		return cm_fail(err, code, "%s: epsilon0 above %g", p->protocol, PT_EPSILON0_MAX);
	return CM_OK;
}

static void add_cell(struct acct_round *r, long double omega, double u, double v)
{
	if (omega > 0)
		r->cell[r->cells++] =
			(struct acct_cell){ .omega = nextafter((double)omega, 0), .u = u, .v = v };
}

enum cm_rc pt_single_cells(const struct pt_params *p, uint64_t participants, const struct pt_blanket *b,
	struct acct_round *out, struct cm_err *err)
{
	double ratio = nextafter((double)b->ratio, INFINITY);

	if (participants < 1 || participants > ACCT_MAX_REPORTS)
		return cm_fail(err, CM_EPROTO, "%s: participants out of the accountant's range", p->protocol);
	*out = (struct acct_round){ .others = participants - 1, .count = 1 };
	add_cell(out, b->one, ratio, 1);
	add_cell(out, b->one, 1, ratio);
	add_cell(out, b->neither, 1, 1);
	add_cell(out, b->both, ratio, ratio);
	return CM_OK;
}

enum cm_rc pt_single_estimate(const struct pt_query *q, const struct pt_params *p, const struct pt_support *s,
	const uint64_t *counts, uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	for (uint32_t i = 0; i < p->bins; i++) {
		if (counts[i] > reports)
			return cm_fail(err, CM_EDATA, "%s: more support than participants", p->protocol);
	}
	return pt_support_estimate(q, p, s, counts, reports, out, err);
}
