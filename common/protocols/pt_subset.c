/* pt_subset.c - subset selection: k of the d categories, the value's more often than by chance. */
#include "pt_bits.h"
#include "pt_exact.h"
#include "pt_rows.h"
#include "pt_single.h"

/* Ye and Barg, "Optimal schemes for discrete distribution estimation under locally differential privacy",
 * IEEE Trans. Inf. Theory 64(8), 2018. */

static const char name[] = "subset";

/* Chance of one subset with the value in it over that of one without. */
static long double ratio(const struct pt_params *p)
{
	return (long double)p->keep * (long double)(p->bins - p->size) /
	       ((long double)pt_complement(p->keep) * (long double)p->size);
}

static struct pt_support support(const struct pt_params *p)
{
	long double keep = ldexpl((long double)p->keep, -64);

	return (struct pt_support){ .keep = (double)keep,
		.flip = pt_probability(pt_complement(p->keep)),
		.other = (double)((p->size - keep) / (p->bins - 1)) };
}

/* P <= k e / (k e + d - k), e = e^epsilon0. */
static uint64_t threshold(uint32_t d, uint32_t k, double epsilon0)
{
	long double with = k * expl((long double)epsilon0);

	return (uint64_t)floorl(ldexpl(with / (with + (d - k)), 64) - PT_THRESHOLD_MARGIN);
}

/* Noise on a category that nobody holds: what the size is chosen for. */
static double noise(struct pt_params p, uint32_t k, double epsilon0)
{
	struct pt_support s;

	p.size = k;
	p.keep = threshold(p.bins, k, epsilon0);
	s = support(&p);
	return pt_support_variance(&s, 1, 0);
}

/* The best real k is d / (e + 1), and the noise has one minimum. */
static uint32_t choose(const struct pt_params *p, double epsilon0)
{
	double best = p->bins / (exp(epsilon0) + 1);
	uint32_t most = p->bins - 1, k = best < 1 ? 1 : best > most ? most : (uint32_t)best;

	return k < most && noise(*p, k + 1, epsilon0) < noise(*p, k, epsilon0) ? k + 1 : k;
}

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made;
	enum cm_rc rc = pt_single_derive(name, q, r, &made, err);

	if (rc != CM_OK)
		return rc;
	made.size = r->size != 0 ? r->size : choose(&made, r->epsilon0);
	if (made.size >= made.bins)
		return cm_fail(err, CM_ECONFIG, "%s: size %u, must be 1 to %u for %u categories", name,
			(unsigned)made.size, (unsigned)made.bins - 1, (unsigned)made.bins);
	made.keep = threshold(made.bins, made.size, r->epsilon0);
	rc = pt_single_guarantee(&made, ratio(&made), CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = pt_single_check(name, q, p, err);

	if (rc == CM_OK && (p->size < 1 || p->size >= p->bins))
		rc = cm_fail(err, CM_EPROTO, "%s: size %u of %u categories", name, (unsigned)p->size,
			(unsigned)p->bins);
	if (rc == CM_OK && p->other != 0)
		rc = cm_fail(err, CM_EPROTO, "%s: a second probability where there is none", name);
	return rc == CM_OK ? pt_single_guarantee(p, ratio(p), CM_EPROTO, err) : rc;
}

static uint32_t record_len(const struct pt_params *p)
{
	return pt_bits_len(p->bins);
}

static double epsilon0(const struct pt_params *p)
{
	return pt_log_up(ratio(p));
}

/* Every subset leaves some input out, so omega = (1 - P) / C(d-1, k) everywhere; masses by counting subsets.
 */
static enum cm_rc cells(
	const struct pt_params *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double flip = ldexpl((long double)pt_complement(p->keep), -64), d = p->bins, k = p->size;
	struct pt_blanket b = { .one = flip * k / (d - 1),
		.neither = flip * (d - 1 - k) / (d - 1),
		.both = flip * k * (k - 1) / ((d - 1) * (d - k)),
		.ratio = ratio(p) };

	return pt_single_cells(p, participants, &b, out, err);
}

/* The value is in with chance P.  The others are numbered without it, 0..d-2, and a uniform subset of them is
 * drawn in order (Knuth, 3.4.2 S): with `need` wanted of the n that are left, the next one is in with chance
 * need / n.  So every bound and every place is public, and the value passes through masks only. */
static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	uint64_t own = cm_rng_bernoulli(rng, p->keep), need = p->size - own, before = 0;

	(void)q;
	pt_bits_clear(records, p->bins);
	for (uint32_t i = 0; i < p->bins; i++) {
		uint64_t left = p->bins - 1 - i, here = 0;

		if (left > 0)
			here = 1 & pt_below_mask(cm_rng_below(rng, left), need);
		need -= here;
		/* Item i is number i of the others below the value, i - 1 above it. */
		pt_bits_put(records, i,
			pt_choose(pt_equal_mask(i, value->x), own,
				pt_choose(pt_below_mask(i, value->x), here, before)));
		before = here;
	}
}

static enum cm_rc tally(
	const struct pt_params *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	enum cm_rc rc = pt_bits_check(record, p->bins, p->size, err);

	if (rc == CM_OK)
		pt_bits_count(record, p->bins, counts);
	return rc;
}

PT_SINGLE_ESTIMATE(support)
PT_SINGLE_EXPECTED_ERROR(support)

const struct pt_protocol pt_row_subset = {
	.name = name,
	.summary = "subset selection: a histogram from some of the categories each",
	.derive = derive,
	.check = check,
	.record_len = record_len,
	.tallies = pt_single_items,
	.epsilon0 = epsilon0,
	.cells = cells,
	.encode = encode,
	.tally = tally,
	.estimate = estimate,
	.expected_error = expected_error,
	PT_SINGLE_COLUMNS,
};
