/* pt_category_analysis.c - the analysis half of pt_category.c: the answer and its expected error. */
#include "pt_category_analysis.h"

#include "es_expect.h"

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

double pt_category_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	struct es_support s = pt_mixbins_support(p, pt_mixbins_dummies(p, participants));

	(void)row;
	(void)q;
	return es_support_expected_error(&s, participants, p->mixbins.bins);
}
