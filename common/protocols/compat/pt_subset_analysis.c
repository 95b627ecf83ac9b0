/* pt_subset_analysis.c - chooses the subset size with least noise, computes the loss by counting subsets,
 * and estimates a histogram. */
#include "pt_subset.h"

#include <math.h>

#include "es_histogram.h"
#include "pt_bits.h"
#include "pt_exact.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_single_analysis.h"

static struct es_support support(const struct pt_randomizer *p)
{
	long double keep = ldexpl((long double)p->subset.keep, -64);

	return (struct es_support){ .keep = (double)keep,
		.flip = pt_probability(pt_complement(p->subset.keep)),
		.other = (double)((p->subset.size - keep) / (p->subset.bins - 1)) };
}

/* The largest keep with P = keep / 2^64 <= k e / (k e + d - k), e = e^epsilon0: P is the chance that a
 * subset has the value. */
static uint64_t keep(uint32_t d, uint32_t k, double epsilon0)
{
	long double with = k * expl((long double)epsilon0);

	return (uint64_t)floorl(ldexpl(with / (with + (d - k)), 64) - PT_THRESHOLD_MARGIN);
}

/* The subset size k with the least noise, as a real number. */
static double best(uint32_t d, double epsilon0)
{
	return d / (exp(epsilon0) + 1);
}

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	const struct pt_sizing sizing = { 1, qy_query_bins(q) - 1, best, keep, pt_subset_ratio };

	return pt_sized_derive(row, q, r, &sizing, out, err);
}

/* Every subset leaves some input out, so the blanket is omega = (1 - P) / C(d-1, k) everywhere; masses
 * follow by counting subsets. */
static enum cm_rc cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double flip = ldexpl((long double)pt_complement(p->subset.keep), -64), d = p->subset.bins,
		    k = p->subset.size;
	struct pt_blanket b = { .one = flip * k / (d - 1),
		.neither = flip * (d - 1 - k) / (d - 1),
		.both = flip * k * (k - 1) / ((d - 1) * (d - k)),
		.ratio = pt_ratio_value(pt_subset_ratio(p)),
		.sets = true };

	b.all = d > 2 ? b.both * (k - 2) / (d - 2) : 0;
	return pt_single_cells(p, participants, &b, out, err);
}

static enum cm_rc tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	enum cm_rc rc = pt_bits_check(record, p->subset.bins, p->subset.size, err);

	if (rc == CM_OK)
		pt_bits_count(record, p->subset.bins, counts);
	return rc;
}

const struct pt_protocol pt_row_subset = {
	.device = &pt_device_subset,
	.keys = PT_KEY_SIZE,
	.derive = derive,
	.cells = cells,
	.support = support,
	.tally = tally,
	PT_SINGLE_ANALYSIS,
};
