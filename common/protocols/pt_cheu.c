/* pt_cheu.c - fake users: one bit per category, each flipped alike, among the reports of users that hold
 * nothing. */
#include "pt_bits.h"
#include "pt_exact.h"
#include "pt_mixbins.h"
#include "pt_multi.h"
#include "pt_rows.h"
#include "pt_unary.h"

/* Cheu and Zhilyaev, "Differentially private histograms in the shuffle model from fake users", S&P 2022.  A
 * dummy is a fake user: no bit set, all flipped. */

static const char name[] = "cheu";

static struct pt_support support(const struct pt_params *p)
{
	return (struct pt_support){ .keep = pt_probability(p->keep),
		.flip = pt_probability(p->other),
		.other = pt_probability(p->other),
		.blanket = pt_probability(p->other) };
}

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made;
	enum cm_rc rc = pt_multi_derive(name, q, r, &made, err);

	if (rc != CM_OK)
		return rc;
	if (!(r->epsilon0 > 0 && r->epsilon0 <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be above 0 and at most %g", name,
			PT_EPSILON0_MAX);
	rc = pt_unary_flips(&made, r->epsilon0, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = pt_multi_check(name, q, p, err);

	if (rc == CM_OK && p->keep_always)
		rc = cm_fail(err, CM_EPROTO, "%s: a keep probability is wanted", name);
	return rc == CM_OK ? pt_unary_flips_check(p, err) : rc;
}

/* With Z(y) the law of a fake user's report and g = (1 - f) / f, a real one has the law g Z(y) or Z(y) / g,
 * as its bit is set in y or not.  Z / g is below all of them, so it is blanket of the others; and fakes have
 * the law Z, so they are blanket for certain in the same proportions.  The report of all ones, where no input
 * is as low as Z / g, is not counted for more: the proportions would differ. */
static enum cm_rc cells(
	const struct pt_params *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double f = ldexpl((long double)p->other, -64), keep = ldexpl((long double)p->keep, -64);
	struct pt_blanket b = {
		.one = f * f, .neither = f * keep, .both = f * f * f / keep, .ratio = (keep / f) * (keep / f)
	};
	uint64_t dummies = 0;
	enum cm_rc rc = pt_multi_blanket(p, participants, &dummies, err);

	if (rc == CM_OK)
		rc = pt_single_cells(p, participants, &b, out, err);
	if (rc == CM_OK)
		out->dummies = dummies;
	return rc;
}

/* Constant time in the value, in its report's place and in what was drawn: they pass through masks only, and
 * every bit of every message takes one draw and one write at a public place. */
static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	uint64_t m = pt_mixbins_messages(p), place = cm_rng_below(rng, m);
	uint32_t len = pt_bits_len(p->bins);

	(void)q;
	for (uint64_t i = 0; i < m; i++) {
		uint64_t real = pt_equal_mask(i, place);

		pt_bits_clear(records + i * len, p->bins);
		for (uint32_t j = 0; j < p->bins; j++) {
			uint64_t own = real & pt_equal_mask(j, value->x);

			pt_bits_put(records + i * len, j,
				cm_rng_bernoulli(rng, pt_choose(own, p->keep, p->other)));
		}
	}
}

static void dummy(const struct pt_params *p, uint32_t tag, const struct cm_rng *rng, uint8_t *record)
{
	(void)tag;
	pt_bits_clear(record, p->bins);
	for (uint32_t j = 0; j < p->bins; j++)
		pt_bits_put(record, j, cm_rng_bernoulli(rng, p->other));
}

PT_MULTI_ESTIMATE(support, pt_mixbins_messages)

const struct pt_protocol pt_row_cheu = {
	.name = name,
	.summary = "fake users: a histogram from flipped bits among those of users that hold nothing",
	.derive = derive,
	.check = check,
	.record_len = pt_unary_record_len,
	.epsilon0 = pt_unary_epsilon0,
	.cells = cells,
	.encode = encode,
	.dummy = dummy,
	.tally = pt_unary_tally,
	.estimate = estimate,
	.expected_error = expected_error,
	PT_MULTI_COLUMNS,
};
