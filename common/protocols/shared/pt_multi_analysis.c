/* pt_multi_analysis.c - for rows of one wide message among wide dummies: reads a plan's dummies, and
 * estimates a histogram from supports. */
#include "pt_multi_analysis.h"

#include <math.h>

#include "es_expect.h"
#include "pr_limits.h"
#include "pt_lied_analysis.h"
#include "pt_mixbins_analysis.h"

/* Dummies for each face of a dummy, for epsilon 1 at delta 1e-8; as many as balls into bins need for each
 * bin. */
#define DUMMIES_A_FACE 62

enum cm_rc pt_multi_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made = { .multi.bins = qy_query_bins(q),
		.multi.dummies = r->dummies,
		.multi.dummy_chance = r->dummy_chance,
		.shuffler.dummies = r->shuffler_dummies };

	if (q->kind != QY_HISTOGRAM)
		return cm_fail(err, CM_ECONFIG, "%s: answers histograms only", row->device->name);
	if (pt_mixbins_messages(&made) > PR_BLANKET_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be at most %u", row->device->name,
			PR_BLANKET_MAX - 1);
	if (r->shuffler_dummies > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: shuffler_dummies must be at most %u", row->device->name,
			PT_SHUFFLER_DUMMIES_MAX);
	if (r->dummies == 0 && r->dummy_chance == 0 && r->shuffler_dummies == 0)
		return cm_fail(err, CM_ECONFIG, "%s: needs dummies", row->device->name);
	made.row = row->device;
	*out = made;
	return CM_OK;
}

/* The number of faces for a round of `participants`: dummies of the clients and of the shuffler, divided by
 * 62. */
static uint32_t faces(const struct pt_randomizer *p, uint64_t participants)
{
	double n = pt_mixbins_dummies(p, participants) / DUMMIES_A_FACE;

	return n < 2 ? 2 : n > PR_CATEGORIES_MAX ? PR_CATEGORIES_MAX : (uint32_t)n;
}

enum cm_rc pt_multi_derive_true(const struct pt_protocol *row, const char *instead, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made;
	enum cm_rc rc = pt_multi_derive(row, q, r, &made, err);

	if (rc != CM_OK)
		return rc;
	/* A plan that asks for a local guarantee must not silently get none. */
	if (!(isinf(r->epsilon0) && r->epsilon0 > 0))
		return cm_fail(err, CM_ECONFIG,
			"%s: has no local guarantee, epsilon0 must be \"inf\"; \"%s\" has one",
			row->device->name, instead);
	made.multi.size = r->size != 0 ? r->size : faces(&made, r->min_reports);
	rc = pt_multi_size(row->device, made.multi.size, CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

uint32_t pt_multi_tallies(const struct pt_randomizer *p)
{
	return p->multi.bins + (p->multi.dummy_chance > 0);
}

enum cm_rc pt_multi_blanket(
	const struct pt_randomizer *p, uint64_t participants, uint64_t *dummies, struct cm_err *err)
{
	uint64_t n;

	if (participants < 1 || __builtin_mul_overflow(participants, (uint64_t)p->multi.dummies, &n) ||
		__builtin_add_overflow(n, p->shuffler.dummies, &n) || n > ACCT_MAX_REPORTS ||
		participants > (ACCT_MAX_REPORTS - n) / (p->multi.dummy_chance > 0 ? 2 : 1))
		return cm_fail(
			err, CM_EPROTO, "%s: participants out of the accountant's range", p->row->name);
	*dummies = n;
	return CM_OK;
}

enum cm_rc pt_multi_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	struct es_support s = row->support(p);
	uint64_t most;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", p->row->name);
	most = reports * p->row->messages(p) + p->shuffler.dummies;
	for (uint32_t i = 0; i < row->tallies(p); i++) {
		if (counts[i] > most)
			return cm_fail(err, CM_EDATA, "%s: more support than messages", p->row->name);
	}
	s.dummies = p->multi.dummy_chance > 0 ? pt_mixbins_dummies_among(p, counts[p->multi.bins], reports)
					      : pt_mixbins_dummies(p, reports);
	return es_support_estimate(q, &s, counts, reports, out, err);
}

enum cm_rc pt_multi_influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	uint64_t each = p->row->messages(p);
	/* without NULLs as many messages came as devices and the shuffler sent */
	uint64_t came = p->multi.dummy_chance > 0 ? counts[p->multi.bins]
						  : crowd->devices * each + p->shuffler.dummies;
	struct pt_lied lied = pt_lied_mixbins(p, came, crowd, each);

	(void)q;
	return pt_lied_supports(&lied, row->support(p), counts, p->multi.bins, p->multi.bins, out, err);
}

double pt_multi_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	struct es_support s = row->support(p);

	(void)q;
	s.dummies = pt_mixbins_dummies(p, participants);
	return es_support_expected_error(&s, participants, p->multi.bins);
}
