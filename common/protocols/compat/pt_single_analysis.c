/* pt_single_analysis.c - the analysis half of pt_single.c: plans, losses, counts and answers of its rows. */
#include "pt_single_analysis.h"

#include <math.h>

#include "pt_expect.h"

uint32_t pt_single_items(const struct pt_randomizer *p)
{
	return p->single.bins;
}

enum cm_rc pt_single_derive(const struct pt_protocol *row, const struct pt_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made = { .single.bins = pt_query_bins(q) };

	if (q->kind != PT_HISTOGRAM)
		return cm_fail(err, CM_ECONFIG, "%s: answers histograms only", row->device->name);
	if (r->dummies != 0)
		return cm_fail(
			err, CM_ECONFIG, "%s: dummies must be 0; \"mixbins\" has them", row->device->name);
	if (!(r->epsilon0 > 0 && r->epsilon0 <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be above 0 and at most %g",
			row->device->name, PT_EPSILON0_MAX);
	made.row = row->device;
	*out = made;
	return CM_OK;
}

static void add_cell(struct acct_round *r, long double omega, double u, double v)
{
	if (omega > 0)
		r->cell[r->cells++] =
			(struct acct_cell){ .omega = nextafter((double)omega, 0), .u = u, .v = v };
}

enum cm_rc pt_single_cells(const struct pt_randomizer *p, uint64_t participants, const struct pt_blanket *b,
	struct acct_round *out, struct cm_err *err)
{
	double ratio = nextafter((double)b->ratio, INFINITY);

	if (participants < 1 || participants > ACCT_MAX_REPORTS)
		return cm_fail(
			err, CM_EPROTO, "%s: participants out of the accountant's range", p->row->name);
	*out = (struct acct_round){ .others = participants - 1, .count = 1 };
	add_cell(out, b->one, ratio, 1);
	add_cell(out, b->one, 1, ratio);
	add_cell(out, b->neither, 1, 1);
	add_cell(out, b->both, ratio, ratio);
	return CM_OK;
}

enum cm_rc pt_single_estimate(const struct pt_protocol *row, const struct pt_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct pt_estimate *out,
	struct cm_err *err)
{
	const struct pt_support s = row->support(p);

	for (uint32_t i = 0; i < p->single.bins; i++) {
		if (counts[i] > reports)
			return cm_fail(err, CM_EDATA, "%s: more support than participants", p->row->name);
	}
	return pt_support_estimate(q, &s, counts, reports, out, err);
}

double pt_single_expected_error(const struct pt_protocol *row, const struct pt_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	const struct pt_support s = row->support(p);

	(void)q;
	return pt_support_expected_error(&s, participants, p->single.bins);
}
