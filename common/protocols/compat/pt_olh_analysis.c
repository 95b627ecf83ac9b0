/* pt_olh_analysis.c - counts, for each hash, every category in its cell; collisions between two categories
 * count as noise. */
#include "pt_olh.h"

#include <math.h>

#include "es_histogram.h"
#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_hash_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_single_analysis.h"

/* The chances with which a message supports a category, P = keep / 2^64.  A category that the device does
 * not hold is supported with chance 1/l: its cell is the value's with chance kappa = 1/l, and then the
 * message has it with chance P, else with (1 - P) / (l - 1).  kappa exceeds 1/l by less than 2^-107. */
static struct es_support support(const struct pt_randomizer *p)
{
	return (struct es_support){ .keep = pt_probability(p->olh.keep),
		.flip = pt_probability(pt_complement(p->olh.keep)),
		.other = 1.0 / p->olh.size };
}

/* The largest keep with P = keep / 2^64 <= e / (e + l - 1), e = e^epsilon0, for l cells. */
static uint64_t keep(uint32_t bins, uint32_t cells, double epsilon0)
{
	long double e = expl((long double)epsilon0);

	(void)bins;
	return (uint64_t)floorl(ldexpl(e / (e + (cells - 1)), 64) - PT_THRESHOLD_MARGIN);
}

/* The number of cells with the least noise, as a real number. */
static double best(uint32_t bins, double epsilon0)
{
	(void)bins;
	return exp(epsilon0) + 1;
}

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	const struct pt_sizing sizing = { 2, PR_CATEGORIES_MAX, best, keep, pt_olh_ratio };

	return pt_sized_derive(row, q, r, &sizing, out, err);
}

/* The hash is uniform whatever the value is.  Given the hash every cell has at least omega = (1 - P) / (l -
 * 1), and exactly that unless all categories fall into the cell; two categories do with chance kappa.
 * Taking kappa as 1/l overestimates the loss; its true excess is far below the rounding down of each
 * mass. */
static enum cm_rc cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double l = p->olh.size, least = ldexpl((long double)pt_complement(p->olh.keep), -64) / (l - 1);
	struct pt_blanket b = { .one = least * (l - 1) / l,
		.neither = least * (l - 2 + 1 / l),
		.both = least / l,
		.ratio = pt_ratio_value(pt_olh_ratio(p)) };

	if (p->olh.bins == 2) {
		b.neither += b.both * b.ratio;
		b.both = 0;
	}
	return pt_single_cells(p, participants, &b, out, err);
}

static enum cm_rc tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	return pt_hash_count(p->olh.bins, p->olh.size, false, record, counts, err);
}

const struct pt_protocol pt_row_olh = {
	.device = &pt_device_olh,
	.keys = PT_KEY_SIZE,
	.derive = derive,
	.cells = cells,
	.support = support,
	.tally = tally,
	.automatic = PT_AUTO,
	PT_SINGLE_ANALYSIS,
};
