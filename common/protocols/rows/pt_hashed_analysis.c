/* pt_hashed_analysis.c - computes the loss of hashed cells among dummies, and counts in which categories
 * that share a cell are noise. */
#include <math.h>

#include "pt_hash_analysis.h"
#include "pt_mixbins_analysis.h"
#include "pt_multi_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"

/* Two categories share one of the l cells with chance 1/l: the exact chance is at most 2^-107 larger
 * (pt_hash.h).  A dummy's cell is uniform and independent of its hash, so it supports each category with
 * chance 1/l, too. */
static struct es_support support(const struct pt_randomizer *p)
{
	return (struct es_support){ .keep = 1, .other = 1.0 / p->multi.size, .blanket = 1.0 / p->multi.size };
}

/* With more cells there is less noise, but less blanket for each cell. */
static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	return pt_multi_derive_true(row, "olh", q, r, out, err);
}

/* Dummies are uniform on hashes and cells.  Where the cell is its value's, the victim's message is l times
 * as likely as a dummy; elsewhere it is impossible.  Its two values share a cell with chance kappa.  Taking
 * kappa as 1/l, which it is never below, overestimates the loss.  The rest of kappa would move mass of
 * omega from (l, 0) and (0, l) to (l, l) and (0, 0), and for every e >= 1 the values l (1 - e) and 0 are
 * less spread than l and -l e, which have the same mean. */
static enum cm_rc cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	double l = p->multi.size;
	uint64_t dummies = 0;
	enum cm_rc rc = pt_multi_blanket(p, participants, &dummies, err);

	if (rc != CM_OK)
		return rc;
	*out = (struct acct_round){ .dummies = dummies, .count = 1, .cells = 4 };
	/* l^2 is exact, so there is only one rounding, followed by one step down: the sum stays below 1. */
	out->cell[0] = (struct acct_cell){ nextafter((l - 1) / (l * l), 0), l, 0 };
	out->cell[1] = (struct acct_cell){ nextafter((l - 1) / (l * l), 0), 0, l };
	out->cell[2] = (struct acct_cell){ nextafter(1 / (l * l), 0), l, l };
	out->cell[3] = (struct acct_cell){ nextafter((l - 1) * (l - 1) / (l * l), 0), 0, 0 };
	pt_mixbins_rare(p->multi.dummy_chance, participants, out);
	return CM_OK;
}

static enum cm_rc tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	return pt_hash_count(p->multi.bins, p->multi.size, p->multi.dummy_chance > 0, record, counts, err);
}

const struct pt_protocol pt_row_hashed = {
	.device = &pt_device_hashed,
	.keys = PT_KEY_SIZE,
	.derive = derive,
	.cells = cells,
	.support = support,
	.tally = tally,
	.automatic = PT_AUTO | PT_AUTO_DUMMIES | PT_AUTO_SIZES,
	PT_MULTI_ANALYSIS,
};
