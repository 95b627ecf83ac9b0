/* pt_privset_analysis.c - computes the loss of two padded sets without a common item, and counts how many
 * devices hold each item. */
#include <math.h>
#include <stdio.h>

#include "acct_families.h"
#include "es_expect.h"
#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_lied_analysis.h"
#include "pt_mixbins_analysis.h"
#include "pt_privset.h"
#include "pt_protocol.h"
#include "pt_rows.h"

static enum cm_rc possible(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct cm_err *err)
{
	const char *name = row->device->name;
	uint32_t items = qy_query_bins(q);

	if (q->kind != QY_SETS)
		return cm_fail(err, CM_ECONFIG, "%s: answers sets only", name);
	/* The symbol of none is an item, and it is never in a set together with others. */
	if (r->size < 1 || r->size > q->categories)
		return cm_fail(err, CM_ECONFIG,
			"%s: needs size, the most items of a set that count together: 1 to %u", name,
			(unsigned)q->categories);
	if (items + r->size > PR_CATEGORIES_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: %u items and size %u are more than %u", name,
			(unsigned)items, (unsigned)r->size, PR_CATEGORIES_MAX);
	if (r->dummies != 0 || r->dummy_chance != 0)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be 0", name);
	if (r->shuffler_dummies != 0)
		return cm_fail(err, CM_ECONFIG, "%s: the shuffler adds no dummies", name);
	if (!(r->epsilon0 > 0 && r->epsilon0 <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be above 0 and at most %g", name,
			PT_EPSILON0_MAX);
	return CM_OK;
}

/* Derive keep.  E = (R + s - 1) / s is asked for, where R is the ratio of keep to another symbol's chance:
 * R = s (E - 1) + 1. */
static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made = { .row = row->device };
	long double ratio, others;
	enum cm_rc rc = possible(row, q, r, err);

	if (rc != CM_OK)
		return rc;
	made.privset.size = r->size;
	made.privset.mixbins.bins = qy_query_bins(q) + r->size;
	ratio = (long double)r->size * expm1l((long double)r->epsilon0) + 1;
	others = (long double)(made.privset.mixbins.bins - 1);
	made.privset.mixbins.keep =
		(uint64_t)floorl(ldexpl(ratio / (ratio + others), 64) - PT_THRESHOLD_MARGIN);
	if (pt_ratio_log(pt_privset_ratio(&made), 1) < PT_EPSILON0_MIN)
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 %g is too small to say anything",
			row->device->name, r->epsilon0);
	*out = made;
	return CM_OK;
}

/* The blanket is Q for each symbol.  Two sets of s without a common item have s symbols of ratios (E, 1), s
 * of (1, E) and d - 2s of (1, 1).  Sets with a common item have (E, E) and (1, 1) in place of one (E, 1)
 * and one (1, E).  This is a mean-preserving contraction of u - e^epsilon v, so their delta is not larger
 * (pt_slots.h).  Every device has exactly s of the d symbols, and the set of padding alone is possible, so
 * two sets without a common item always exist. */
static enum cm_rc cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	double other = nextafter(pt_mixbins_other(&p->privset.mixbins), 0), s = p->privset.size;
	double own = nextafter(s * other, 0), rest = (p->privset.mixbins.bins - 2 * s) * other;
	double u = nextafter((double)pt_ratio_value(pt_privset_ratio(p)), INFINITY);

	if (participants < 1 || participants > ACCT_MAX_REPORTS)
		return cm_fail(
			err, CM_EPROTO, "%s: participants out of the accountant's range", p->row->name);
	*out = (struct acct_round){ .count = 1, .others = participants - 1, .cells = 2 };
	out->cell[0] = (struct acct_cell){ .omega = own, .u = u, .v = 1 };
	out->cell[1] = (struct acct_cell){ .omega = own, .u = 1, .v = u };
	if (rest > 0)
		out->cell[out->cells++] = (struct acct_cell){ .omega = nextafter(rest, 0), .u = 1, .v = 1 };
	/* disjoint sets exist, so a third set may share nothing with the victim's two, and hides neither */
	if (u > 1 + 1e-6 && p->privset.size <= 6 && 3 * s > p->privset.mixbins.bins)
		acct_family_set(out, ACCT_DRAWS, (double[3]){ p->privset.mixbins.bins, 1, s });
	return CM_OK;
}

/* How a message supports its item, where c of the devices have drawn the item among the s of their set. */
static struct es_support support(const struct pt_randomizer *p)
{
	double keep = pt_mixbins_keep(&p->privset.mixbins), other = pt_mixbins_other(&p->privset.mixbins);
	double s = p->privset.size;
	double own = (keep + (s - 1) * other) / s;

	return (struct es_support){ .keep = own, .flip = 1 - own, .other = other };
}

/* The n devices' items do not add up to n, so each item is limited to [0, n] by itself. */
static enum cm_rc estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	struct es_support s = support(p);
	double none = 0;
	enum cm_rc rc = pt_mixbins_totals(p, counts, reports, &none, err);

	(void)row;
	if (rc == CM_OK)
		rc = es_support_estimate(q, &s, counts, reports, out, err);
	for (size_t i = 0; rc == CM_OK && i < out->n; i++)
		out->item[i].projected = fmin(fmax(out->item[i].value, 0), (double)reports);
	return rc;
}

static enum cm_rc influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	uint32_t items = qy_query_bins(q);
	struct pt_lied lied = pt_lied_single(pt_lied_came(counts, p->privset.mixbins.bins), crowd);

	(void)row;
	return pt_lied_supports(&lied, support(p), counts, items, items, out, err);
}

static double expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	struct es_support s = support(p);

	(void)row;
	return es_support_expected_error(&s, participants, qy_query_bins(q));
}

static void estimand(const struct qy_query *q, const struct pt_randomizer *p, char *out, size_t size)
{
	(void)q;
	(void)snprintf(out, size,
		"a set of more than %u item%s counts by %u, drawn evenly: where there are such sets, counts "
		"are lower than what is held",
		(unsigned)p->privset.size, p->privset.size == 1 ? "" : "s", (unsigned)p->privset.size);
}

const struct pt_protocol pt_row_privset = {
	.device = &pt_device_privset,
	.keys = PT_KEY_SIZE,
	.automatic = PT_AUTO,
	.derive = derive,
	.tallies = pt_mixbins_bins,
	.cells = cells,
	.tally = pt_mixbins_tally,
	.estimate = estimate,
	.influence = influence,
	.expected_error = expected_error,
	.estimand = estimand,
};
