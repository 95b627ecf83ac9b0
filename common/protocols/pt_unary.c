/* pt_unary.c - one bit per category, each drawn for itself. */
#include "pt_unary.h"

#include "pt_bits.h"
#include "pt_exact.h"

/* P (1 - Q) / (Q (1 - P)): what one input gives a report with its own bit alone, over what another gives it.
 */
static long double ratio(const struct pt_params *p)
{
	return (long double)p->keep * (long double)pt_complement(p->other) /
	       ((long double)p->other * (long double)pt_complement(p->keep));
}

enum cm_rc pt_unary_bounds(const struct pt_params *p, enum cm_rc code, struct cm_err *err)
{
	if (p->size != 0 || p->keep == 0 || p->other == 0)
		return cm_fail(err, code, "%s: two probabilities and no size are wanted", p->protocol);
	return pt_single_guarantee(p, ratio(p), code, err);
}

/* P = 1 - Q <= h / (h + 1), h = e^(epsilon0 / 2): two inputs differ in two bits. */
enum cm_rc pt_unary_flips(struct pt_params *p, double epsilon0, struct cm_err *err)
{
	long double h = expl((long double)epsilon0 / 2);

	p->keep = (uint64_t)floorl(ldexpl(h / (h + 1), 64) - PT_THRESHOLD_MARGIN);
	p->other = pt_complement(p->keep);
	return pt_unary_bounds(p, CM_ECONFIG, err);
}

enum cm_rc pt_unary_flips_check(const struct pt_params *p, struct cm_err *err)
{
	if (p->other != pt_complement(p->keep))
		return cm_fail(err, CM_EPROTO, "%s: the two probabilities must sum to 1", p->protocol);
	return pt_unary_bounds(p, CM_EPROTO, err);
}

uint32_t pt_unary_record_len(const struct pt_params *p)
{
	return pt_bits_len(p->bins);
}

double pt_unary_epsilon0(const struct pt_params *p)
{
	return pt_log_up(ratio(p));
}

/* With m bits set, input x gives a report Q^m (1-Q)^(d-m) times P/Q if bit x is set and (1-P)/(1-Q) if not.
 * The second is the smaller one, so it is the infimum for every report but that of all ones, where no input
 * has it. */
enum cm_rc pt_unary_cells(
	const struct pt_params *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double keep = ldexpl((long double)p->keep, -64), other = ldexpl((long double)p->other, -64);
	long double flip = ldexpl((long double)pt_complement(p->keep), -64);
	long double silent = ldexpl((long double)pt_complement(p->other), -64);
	struct pt_blanket b = { .one = other * flip, .ratio = ratio(p) };

	b.neither = silent * flip + keep * powl(other, p->bins - 1);
	b.both = other * other * flip / silent * (1 - powl(other, p->bins - 2));
	return pt_single_cells(p, participants, &b, out, err);
}

/* Constant time in the value and in what was drawn: it passes through masks only, and every bit takes one
 * draw and one write at a public place. */
void pt_unary_encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	(void)q;
	pt_bits_clear(records, p->bins);
	for (uint32_t i = 0; i < p->bins; i++) {
		uint64_t own = pt_equal_mask(i, value->x);

		pt_bits_put(records, i, cm_rng_bernoulli(rng, pt_choose(own, p->keep, p->other)));
	}
}

enum cm_rc pt_unary_tally(
	const struct pt_params *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	enum cm_rc rc = pt_bits_check(record, p->bins, 0, err);

	if (rc == CM_OK)
		pt_bits_count(record, p->bins, counts);
	return rc;
}

static struct pt_support support(const struct pt_params *p)
{
	return (struct pt_support){ .keep = pt_probability(p->keep),
		.flip = pt_probability(pt_complement(p->keep)),
		.other = pt_probability(p->other) };
}

double pt_unary_expected_error(const struct pt_query *q, const struct pt_params *p, uint64_t participants)
{
	struct pt_support s = support(p);

	(void)q;
	return pt_support_expected_error(&s, participants, p->bins);
}

enum cm_rc pt_unary_estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	struct pt_support s = support(p);

	return pt_single_estimate(q, p, &s, counts, reports, out, err);
}
