/* pt_category_analysis.c - estimates a histogram, or counts of cells, from mixbins, and writes the
 * statement about places. */
#include "pt_category_analysis.h"

#include <math.h>
#include <stdio.h>

#include "es_expect.h"
#include "pt_lied_analysis.h"

enum cm_rc pt_category_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	double dummies = 0;
	enum cm_rc rc = pt_mixbins_totals(p, counts, reports, &dummies, err);
	struct es_support s = pt_mixbins_support(p, dummies);

	(void)row;
	return rc == CM_OK ? es_support_estimate(q, &s, counts, reports, out, err) : rc;
}

enum cm_rc pt_category_influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	uint32_t bins = p->mixbins.bins;
	struct pt_lied lied = pt_lied_mixbins(p, pt_lied_came(counts, bins), crowd, p->row->messages(p));

	(void)row;
	/* Prefixes leave the last bin out of their items, and not out of those that hold jointly. */
	return pt_lied_supports(&lied, pt_mixbins_support(p, 0), counts,
		q->kind == QY_PREFIXES ? q->categories : bins, bins, out, err);
}

double pt_category_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	struct es_support s = pt_mixbins_support(p, pt_mixbins_dummies(p, participants));

	(void)row;
	(void)q;
	return es_support_expected_error(&s, participants, p->mixbins.bins);
}

void pt_category_statement(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
	double delta, char *out, size_t size)
{
	double local = p->row->epsilon0(p);

	(void)participants;
	(void)delta;
	if (size > 0)
		*out = '\0';
	if (q->kind != QY_PLACES)
		return;
	if (isinf(local))
		(void)snprintf(out, size, "no local guarantee, of places nearby neither");
	else
		(void)snprintf(out, size,
			"epsilon0 %.6g of any two places, however near; \"planar\" tells places nearby apart less",
			ceil(local * 1e3) / 1e3);
}
