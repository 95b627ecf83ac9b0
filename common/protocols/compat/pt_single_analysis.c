/* pt_single_analysis.c - for rows of one wide message: chooses the size of least noise, computes cells from
 * how a message stands to two inputs, and estimates a histogram. */
#include "pt_single_analysis.h"

#include <math.h>

#include "es_expect.h"
#include "pt_lied_analysis.h"

uint32_t pt_single_items(const struct pt_randomizer *p)
{
	return p->single.bins;
}

enum cm_rc pt_single_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made = { .single.bins = qy_query_bins(q) };

	if (q->kind != QY_HISTOGRAM)
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

static double noise(const struct pt_protocol *row, struct pt_randomizer p, const struct pt_sizing *sizing,
	uint32_t size, double epsilon0)
{
	struct es_support s;

	p.sized.size = size;
	p.sized.keep = sizing->keep(p.sized.bins, size, epsilon0);
	s = row->support(&p);
	return es_support_variance(&s, 1, 0);
}

static uint32_t choose(const struct pt_protocol *row, const struct pt_randomizer *p,
	const struct pt_sizing *sizing, double epsilon0)
{
	double best = sizing->best(p->sized.bins, epsilon0);
	uint32_t size = best < sizing->least  ? sizing->least
			: best > sizing->most ? sizing->most
					      : (uint32_t)best;
	bool larger = size < sizing->most &&
		      noise(row, *p, sizing, size + 1, epsilon0) < noise(row, *p, sizing, size, epsilon0);

	return larger ? size + 1 : size;
}

enum cm_rc pt_sized_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, const struct pt_sizing *sizing, struct pt_randomizer *out,
	struct cm_err *err)
{
	struct pt_randomizer made;
	enum cm_rc rc = pt_single_derive(row, q, r, &made, err);

	if (rc != CM_OK)
		return rc;
	made.sized.size = r->size != 0 ? r->size : choose(row, &made, sizing, r->epsilon0);
	if (made.sized.size < sizing->least || made.sized.size > sizing->most)
		return cm_fail(err, CM_ECONFIG, "%s: size %u, must be %u to %u for %u bins",
			row->device->name, (unsigned)made.sized.size, (unsigned)sizing->least,
			(unsigned)sizing->most, (unsigned)made.sized.bins);
	made.sized.keep = sizing->keep(made.sized.bins, made.sized.size, r->epsilon0);
	rc = pt_single_guarantee(&made, sizing->ratio(&made), CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
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
	if (b->sets && ratio > 1 + 1e-6)
		acct_family_set(out, ACCT_SETS, (double[3]){ (double)b->all });
	if (b->family && ratio > 1 + 1e-6)
		acct_family_set(out, b->family, (double[3]){ b->shape[0], b->shape[1] });
	return CM_OK;
}

enum cm_rc pt_single_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	const struct es_support s = row->support(p);

	for (uint32_t i = 0; i < p->single.bins; i++) {
		if (counts[i] > reports)
			return cm_fail(err, CM_EDATA, "%s: more support than participants", p->row->name);
	}
	return es_support_estimate(q, &s, counts, reports, out, err);
}

enum cm_rc pt_single_influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	struct pt_lied lied = pt_lied_single(crowd->devices, crowd);

	(void)q;
	return pt_lied_supports(&lied, row->support(p), counts, p->single.bins, p->single.bins, out, err);
}

double pt_single_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	const struct es_support s = row->support(p);

	(void)q;
	return es_support_expected_error(&s, participants, p->single.bins);
}
