/* pt_prefixes.c - candidates that a text may begin with: MIXBINS over them and one bin for everything else.
 *
 * The number of bins is fixed by the plan, before anybody knows which candidates an earlier round will leave:
 * there may be fewer than bins.  The last bin is everything else's. */
#include <stdlib.h>

#include "pt_exact.h"
#include "pt_mixbins.h"
#include "pt_rows.h"

static const char name[] = "prefixes";

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	if (q->kind != PT_PREFIXES)
		return cm_fail(err, CM_ECONFIG, "%s: answers prefixes only", name);
	return pt_mixbins_request(name, q->categories + 1, r, out, err);
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	if (q->kind != PT_PREFIXES)
		return cm_fail(err, CM_EPROTO, "%s: answers prefixes only", name);
	if (p->bins <= q->categories)
		return cm_fail(err, CM_EPROTO, "%s: %u bins for %u candidates and the rest", name,
			(unsigned)p->bins, (unsigned)q->categories);
	return pt_mixbins_check(name, p, err);
}

static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	uint64_t is_other = pt_equal_mask(value->x, q->categories);

	pt_mixbins_encode(p, pt_choose(is_other, p->bins - 1, value->x), rng, records);
}

/* Joint over all bins, the unused too: what a later round extends was chosen among the candidates. */
static enum cm_rc estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	struct pt_estimate e = { .n = p->bins, .reports = reports };
	struct pt_support s;
	double dummies = 0;
	enum cm_rc rc = pt_mixbins_totals(p, counts, reports, &dummies, err);

	if (rc != CM_OK)
		return rc;
	e.item = calloc(e.n, sizeof *e.item);
	if (e.item == NULL)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", name);
	for (uint32_t i = 0; i < q->categories; i++)
		e.item[i].label = q->category[i];
	s = pt_mixbins_support(p, dummies);
	rc = pt_support_items(&s, counts, e.n, reports, e.n, e.item, &e.noise_floor, err);
	/* Nobody is in an unused bin, and the last one is no candidate. */
	e.n = q->categories;
	if (rc == CM_OK)
		*out = e;
	else
		pt_estimate_fini(&e);
	return rc;
}

const struct pt_protocol pt_row_prefixes = {
	.name = name,
	.summary = "mixbins over the candidates that a text may begin with: heavy hitters",
	.kinds = PT_PREFIXES,
	.derive = derive,
	.check = check,
	.dummy = pt_mixbins_dummy,
	.rare_dummy = true,
	.encode = encode,
	.estimate = estimate,
	.expected_error = pt_category_expected_error,
	PT_MIXBINS_COLUMNS,
};
