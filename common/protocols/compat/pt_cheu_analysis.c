/* pt_cheu_analysis.c - computes the loss: reports of users that hold nothing are certain to be blanket, and
 * hide the flipped bits of the others. */
#include <math.h>

#include "pt_exact.h"
#include "pt_multi_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_single_analysis.h"
#include "pt_unary_analysis.h"

static struct es_support support(const struct pt_randomizer *p)
{
	return (struct es_support){ .keep = pt_probability(p->cheu.keep),
		.flip = pt_probability(p->cheu.other),
		.other = pt_probability(p->cheu.other),
		.blanket = pt_probability(p->cheu.other) };
}

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made, flips = { 0 };
	enum cm_rc rc = pt_multi_derive(row, q, r, &made, err);

	if (rc != CM_OK)
		return rc;
	if (!(r->epsilon0 > 0 && r->epsilon0 <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be above 0 and at most %g",
			row->device->name, PT_EPSILON0_MAX);
	flips.row = made.row;
	rc = pt_unary_flips(&flips, r->epsilon0, err);
	if (rc != CM_OK)
		return rc;
	made.cheu.keep = flips.unary.keep;
	made.cheu.other = flips.unary.other;
	*out = made;
	return CM_OK;
}

/* Let Z(y) be the law of a fake user's report, and g = (1 - f) / f.  A real report has the law g Z(y) if
 * its bit is set in y, else Z(y) / g.  Z / g is below all of these, so it is the blanket of the others.
 * Fakes have the law Z, so they are certain to be blanket in the same proportions.  For the report of all
 * ones no input's law is as low as Z / g, but its larger blanket is not counted: the proportions would
 * differ. */
static enum cm_rc cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double f = ldexpl((long double)p->cheu.other, -64),
		    keep = ldexpl((long double)p->cheu.keep, -64);
	struct pt_blanket b = {
		.one = f * f, .neither = f * keep, .both = f * f * f / keep, .ratio = (keep / f) * (keep / f)
	};
	uint64_t dummies = 0;
	enum cm_rc rc = pt_multi_blanket(p, participants, &dummies, err);

	if (rc == CM_OK)
		rc = pt_single_cells(p, participants, &b, out, err);
	if (rc == CM_OK)
		out->dummies = dummies;
	return rc;
}

const struct pt_protocol pt_row_cheu = {
	.device = &pt_device_cheu,
	.derive = derive,
	.cells = cells,
	.support = support,
	.tally = pt_unary_tally,
	PT_MULTI_ANALYSIS,
};
