/* pt_olh.c - local hashing: a hash of the sender's own and the randomized cell of the value under it. */
#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_hash.h"
#include "pt_rows.h"
#include "pt_single.h"

/* Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation", USENIX Security
 * 2017. */

static const char name[] = "olh";

/* P over the chance of one other cell. */
static long double ratio(const struct pt_params *p)
{
	return (long double)p->keep * (long double)(p->size - 1) / (long double)pt_complement(p->keep);
}

/* A category that the sender does not hold is supported with chance 1/l: the two cells are equal with chance
 * kappa = 1/l, then P, else (1 - P) / (l - 1).  What kappa is above 1/l is below 2^-107. */
static struct pt_support support(const struct pt_params *p)
{
	return (struct pt_support){ .keep = pt_probability(p->keep),
		.flip = pt_probability(pt_complement(p->keep)),
		.other = 1.0 / p->size };
}

/* P <= e / (e + l - 1), e = e^epsilon0. */
static uint64_t threshold(uint32_t cells, double epsilon0)
{
	long double e = expl((long double)epsilon0);

	return (uint64_t)floorl(ldexpl(e / (e + (cells - 1)), 64) - PT_THRESHOLD_MARGIN);
}

static double noise(struct pt_params p, uint32_t cells, double epsilon0)
{
	struct pt_support s;

	p.size = cells;
	p.keep = threshold(cells, epsilon0);
	s = support(&p);
	return pt_support_variance(&s, 1, 0);
}

/* The best real l is e + 1, and the noise has one minimum. */
static uint32_t choose(const struct pt_params *p, double epsilon0)
{
	double best = exp(epsilon0) + 1;
	uint32_t l = best > PR_CATEGORIES_MAX ? PR_CATEGORIES_MAX : (uint32_t)best;

	return l < PR_CATEGORIES_MAX && noise(*p, l + 1, epsilon0) < noise(*p, l, epsilon0) ? l + 1 : l;
}

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made;
	enum cm_rc rc = pt_single_derive(name, q, r, &made, err);

	if (rc != CM_OK)
		return rc;
	made.size = r->size != 0 ? r->size : choose(&made, r->epsilon0);
	if (made.size < 2 || made.size > PR_CATEGORIES_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: size %u, must be 2 to %u", name, (unsigned)made.size,
			PR_CATEGORIES_MAX);
	made.keep = threshold(made.size, r->epsilon0);
	rc = pt_single_guarantee(&made, ratio(&made), CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = pt_single_check(name, q, p, err);

	if (rc == CM_OK && (p->size < 2 || p->size > PR_CATEGORIES_MAX))
		rc = cm_fail(err, CM_EPROTO, "%s: size %u, must be 2 to %u", name, (unsigned)p->size,
			PR_CATEGORIES_MAX);
	if (rc == CM_OK && p->other != 0)
		rc = cm_fail(err, CM_EPROTO, "%s: a second probability where there is none", name);
	return rc == CM_OK ? pt_single_guarantee(p, ratio(p), CM_EPROTO, err) : rc;
}

static double epsilon0(const struct pt_params *p)
{
	return pt_log_up(ratio(p));
}

/* The hash is uniform whatever the value.  Given it every cell has at least omega = (1 - P) / (l - 1), and
 * exactly that unless all categories fall into it, which two do with chance kappa.  kappa as 1/l errs towards
 * more loss, and its excess is far below the rounding down of each mass. */
static enum cm_rc cells(
	const struct pt_params *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double l = p->size, least = ldexpl((long double)pt_complement(p->keep), -64) / (l - 1);
	struct pt_blanket b = { .one = least * (l - 1) / l,
		.neither = least * (l - 2 + 1 / l),
		.both = least / l,
		.ratio = ratio(p) };

	if (p->bins == 2) {
		b.neither += b.both * b.ratio;
		b.both = 0;
	}
	return pt_single_cells(p, participants, &b, out, err);
}

/* Constant time in the value and in what was drawn: multiplication, masks, public places. */
static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	struct pt_hash h = pt_hash_draw(rng);
	uint64_t keep = UINT64_C(0) - cm_rng_bernoulli(rng, p->keep), other = cm_rng_below(rng, p->size - 1);
	uint64_t cell = pt_hash_cell(pt_hash_point(&h, value->x), p->size);

	(void)q;
	/* Skip the own cell: 0..l-2 onto the l-1 others. */
	other += 1 & ~pt_below_mask(other, cell);
	pt_hash_put(records, &h, pt_choose(keep, cell, other));
}

PT_SINGLE_ESTIMATE(support)
PT_SINGLE_EXPECTED_ERROR(support)

const struct pt_protocol pt_row_olh = {
	.name = name,
	.summary = "local hashing: a histogram from a hash and one of its cells each",
	.derive = derive,
	.check = check,
	.record_len = pt_hash_record_len,
	.tallies = pt_single_items,
	.epsilon0 = epsilon0,
	.cells = cells,
	.encode = encode,
	.tally = pt_hash_tally,
	.estimate = estimate,
	.expected_error = expected_error,
	.automatic = PT_AUTO,
	PT_SINGLE_COLUMNS,
};
