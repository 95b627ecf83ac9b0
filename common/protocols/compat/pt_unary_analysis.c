/* pt_unary_analysis.c - computes the blanket of independent bits, which leaves out the report of all
 * ones. */
#include "pt_unary_analysis.h"

#include <math.h>

#include "pt_bits.h"
#include "pt_exact.h"

/* Derive P = 1 - Q, the chance of the value's bit, with P <= h / (h + 1), h = e^(epsilon0 / 2): two inputs
 * differ in two bits. */
enum cm_rc pt_unary_flips(struct pt_randomizer *p, double epsilon0, struct cm_err *err)
{
	long double h = expl((long double)epsilon0 / 2);

	p->unary.keep = (uint64_t)floorl(ldexpl(h / (h + 1), 64) - PT_THRESHOLD_MARGIN);
	p->unary.other = pt_complement(p->unary.keep);
	return pt_unary_bounds(p, CM_ECONFIG, err);
}

/* Under input x a report with m bits set has the chance Q^m (1-Q)^(d-m), times P/Q if bit x is set and
 * (1-P)/(1-Q) if not. The second factor is smaller, so it gives the least chance over all inputs, except
 * for the report of all ones, where no input has it. */
enum cm_rc pt_unary_cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double keep = ldexpl((long double)p->unary.keep, -64),
		    other = ldexpl((long double)p->unary.other, -64);
	long double flip = ldexpl((long double)pt_complement(p->unary.keep), -64);
	long double silent = ldexpl((long double)pt_complement(p->unary.other), -64);
	struct pt_blanket b = { .one = other * flip, .ratio = pt_ratio_value(pt_unary_ratio(p)) };

	b.neither = silent * flip + keep * powl(other, p->unary.bins - 1);
	b.both = other * other * flip / silent * (1 - powl(other, p->unary.bins - 2));
	b.all = p->unary.bins > 3
			? other * other * other * flip / silent * (1 - powl(other, p->unary.bins - 3))
			: 0;
	/* with two inputs there is no third, which sets would let others hold */
	b.sets = p->unary.bins > 2;
	return pt_single_cells(p, participants, &b, out, err);
}

enum cm_rc pt_unary_tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	enum cm_rc rc = pt_bits_check(record, p->unary.bins, 0, err);

	if (rc == CM_OK)
		pt_bits_count(record, p->unary.bins, counts);
	return rc;
}

struct es_support pt_unary_support(const struct pt_randomizer *p)
{
	return (struct es_support){ .keep = pt_probability(p->unary.keep),
		.flip = pt_probability(pt_complement(p->unary.keep)),
		.other = pt_probability(p->unary.other) };
}
