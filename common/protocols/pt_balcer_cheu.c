/* pt_balcer_cheu.c - coins: the true value among coins that say each category now and then; no local
 * guarantee. */
#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_mixbins.h"
#include "pt_multi.h"
#include "pt_rows.h"

/* Balcer and Cheu, "Separating local and shuffled differential privacy via histograms", ITC 2020.  A coin of
 * a category is a message that says the category with chance t = 1/size, else nothing: the value `bins`, so
 * that every client sends as many messages. */

static const char name[] = "balcer-cheu";

static uint32_t coins(const struct pt_params *p)
{
	return p->dummies * p->bins;
}

static uint32_t messages(const struct pt_params *p)
{
	return 1 + coins(p);
}

static struct pt_support support(const struct pt_params *p)
{
	return (struct pt_support){ .keep = 1, .blanket = 1.0 / p->size };
}

/* What coins ask beside; `code` if not. */
static enum cm_rc bounds(const struct pt_params *p, enum cm_rc code, struct cm_err *err)
{
	if (p->shuffler_dummies != 0)
		return cm_fail(err, code, "%s: the shuffler has no coins to add", name);
	if (p->dummies > (PR_MESSAGES_MAX - 1) / p->bins)
		return cm_fail(err, code, "%s: dummies times categories must be at most %u", name,
			PR_MESSAGES_MAX - 1);
	return CM_OK;
}

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made;
	enum cm_rc rc = pt_multi_derive_true(name, "mixbins", q, r, &made, err);

	if (rc == CM_OK)
		rc = bounds(&made, CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = pt_multi_check_true(name, q, p, err);

	return rc == CM_OK ? bounds(p, CM_EPROTO, err) : rc;
}

/* Two values change two counts, each Binomial(N, t) and the holders.  Give the adversary more: the coins of
 * the two categories in pairs, one of each, all pairs shuffled with the victim's, which is (1, 0) or (0, 1);
 * the counts are their sums.  So the pairs are the messages of one round, and the cells are those of the
 * pairs (1, 0), (0, 1), and of (0, 0) and (1, 1), which the victim never has.  Their masses round down,
 * ratios up. */
static enum cm_rc cells(
	const struct pt_params *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	double s = p->size, one = nextafter((s - 1) / (s * s), 0),
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

/* Constant time in the value, in its message's place and in what the coins show, by masks.  The order of the
 * coins, which says nothing of them, is drawn first (Knuth 3.4.2 P); the value's message is put between. */
static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	uint32_t order[PR_MESSAGES_MAX] = { 0 }, n = coins(p);
	uint64_t place;

	(void)q;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t j = cm_rng_below(rng, i + 1);

		order[i] = order[j];
		order[j] = i % p->bins;
	}
	place = cm_rng_below(rng, (uint64_t)n + 1);
	for (uint32_t i = 0; i <= n; i++) {
		uint64_t real = pt_equal_mask(i, place), after = pt_below_mask(place, i);
		uint64_t coin = pt_choose(after, order[i > 0 ? i - 1 : 0], order[i]);
		uint64_t shows = pt_equal_mask(cm_rng_below(rng, p->size), 0);

		pt_record_put(records + (size_t)i * PT_RECORD_LEN,
			pt_choose(real, value->x, pt_choose(shows, coin, p->bins)));
	}
}

static enum cm_rc tally(
	const struct pt_params *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	uint32_t bin = 0;
	enum cm_rc rc = pt_record_get(record, p->bins + 1, &bin, err);

	if (rc == CM_OK && bin < p->bins)
		counts[bin]++;
	return rc;
}

PT_MULTI_ESTIMATE(support, messages)

const struct pt_protocol pt_row_balcer_cheu = {
	.name = name,
	.summary = "coins: a histogram from the true value among a coin for each category",
	.kinds = PT_HISTOGRAM,
	.derive = derive,
	.check = check,
	.messages = messages,
	.record_len = pt_mixbins_record_len,
	.tallies = pt_mixbins_bins,
	.epsilon0 = pt_multi_no_guarantee,
	.cells = cells,
	.encode = encode,
	.tally = tally,
	.estimate = estimate,
	.expected_error = expected_error,
};
