/* pt_balcer_cheu_analysis.c - bounds the loss, which has no local guarantee, by revealing the two counts
 * that change as pairs of coins. */
#include "pt_balcer_cheu.h"

#include <math.h>

#include "pt_mixbins_analysis.h"
#include "pt_multi_analysis.h"
#include "pt_protocol.h"
#include "pt_record.h"
#include "pt_rows.h"

static struct es_support support(const struct pt_randomizer *p)
{
	return (struct es_support){ .keep = 1, .blanket = 1.0 / p->multi.size };
}

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made;
	enum cm_rc rc = pt_multi_derive_true(row, "mixbins", q, r, &made, err);

	if (rc == CM_OK)
		rc = pt_coins_bounds(&made, CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

/* Two values change two counts, each Binomial(N, t) plus the number of holders.  Give the adversary more:
 * the coins of the two categories in pairs, one of each, and all pairs shuffled with the victim's pair, (1,
 * 0) or (0, 1).  The counts are the sums of these.  So the pairs are the messages of one round.  Its cells
 * are the pairs (1, 0) and (0, 1), and the pairs (0, 0) and (1, 1), which the victim never has.  Masses are
 * rounded down, ratios up. */
static enum cm_rc cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	double s = p->multi.size, one = nextafter((s - 1) / (s * s), 0),
	       ratio = nextafter(s * s / (s - 1), INFINITY);
	uint64_t dummies = 0;
	enum cm_rc rc = pt_multi_blanket(p, participants, &dummies, err);

	if (rc != CM_OK)
		return rc;
	*out = (struct acct_round){ .dummies = dummies, .count = 1, .cells = 3 };
	out->cell[0] = (struct acct_cell){ one, ratio, 0 };
	out->cell[1] = (struct acct_cell){ one, 0, ratio };
	out->cell[2] = (struct acct_cell){ nextafter((1 + (s - 1) * (s - 1)) / (s * s), 0), 0, 0 };
	return CM_OK;
}

static enum cm_rc tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	uint32_t bin = 0;
	enum cm_rc rc = pt_record_get(record, p->multi.bins + 1, &bin, err);

	if (rc == CM_OK && bin < p->multi.bins)
		counts[bin]++;
	return rc;
}

const struct pt_protocol pt_row_balcer_cheu = {
	.device = &pt_device_balcer_cheu,
	.keys = PT_KEY_SIZE,
	.derive = derive,
	.tallies = pt_mixbins_bins,
	.cells = cells,
	.support = support,
	.estimate = pt_multi_estimate,
	.influence = pt_multi_influence,
	.expected_error = pt_multi_expected_error,
	.tally = tally,
};
