/* pt_ratio.c - ratios of chances as whole numbers, and their logarithms, with the same bits on every
 * machine. */
#include "pt_ratio.h"

#include <math.h>
#include <stdbool.h>

#include "pt_exact.h"

#define BITS 84u /* bits of a logarithm behind the point */
/* Bound on the error of a logarithm, in units of 2^-BITS.  All steps round down: the quotient and the
 * squares change the binary logarithm by less than 1 unit together, its bits behind BITS are cut (1), so are
 * those of ln 2 (1) and of the product with it (3). */
#define ERROR 8u
/* bits behind the point of a sum of guarantees: the last of a double of PT_EPSILON0_MIN is 2^-72 */
#define SUM_BITS 72

/* ln 2, in units of 2^-128, rounded down. */
static const struct cm_wide ln2 = { .high = UINT64_C(0xb17217f7d1cf79ab),
	.low = UINT64_C(0xc9e3b39803f2f6af) };

struct pt_ratio pt_ratio_of(uint64_t keep, uint64_t unlikely, uint64_t likely)
{
	return (struct pt_ratio){ .over = cm_wide_product(keep, unlikely),
		.under = cm_wide_product(pt_complement(keep), likely) };
}

long double pt_ratio_value(struct pt_ratio r)
{
	return (ldexpl((long double)r.over.high, 64) + (long double)r.over.low) /
	       (ldexpl((long double)r.under.high, 64) + (long double)r.under.low);
}

static bool is_zero(struct cm_wide v)
{
	return v.high == 0 && v.low == 0;
}

/* Shift v, which is not zero, until its highest bit is set; returns by how much. */
static unsigned normalise(struct cm_wide *v)
{
	unsigned n = 0;

	if (v->high == 0) {
		*v = (struct cm_wide){ .high = v->low };
		n = 64;
	}
	while (v->high >> 63 == 0) {
		*v = cm_wide_left(*v, 1);
		n++;
	}
	return n;
}

/* a * b / 2^128, rounded down, or less by at most 2. */
static struct cm_wide high_product(struct cm_wide a, struct cm_wide b)
{
	struct cm_wide one = { .low = cm_wide_product(a.high, b.low).high },
		       two = { .low = cm_wide_product(a.low, b.high).high };

	return cm_wide_sum(cm_wide_product(a.high, b.high), cm_wide_sum(one, two));
}

/* Return 1 + rest / b, in units of 2^-127, below the true value by less than 2^-96.  The highest bit of b is
 * set, and rest is below b. */
static struct cm_wide quotient(struct cm_wide rest, struct cm_wide b)
{
	struct cm_wide q = { .low = 1 };

	for (unsigned i = 0; i < 96; i++) {
		bool more = rest.high >> 63 == 1;

		rest = cm_wide_left(rest, 1);
		more = more || !cm_wide_below(rest, b);
		if (more)
			rest = cm_wide_difference(rest, b);
		q = cm_wide_left(q, 1);
		q.low |= more;
	}
	return cm_wide_left(q, 127 - 96);
}

/* The binary logarithm of x / 2^127, which is in [1, 2): in units of 2^-BITS, below the true value by less
 * than 2.  Squaring doubles a logarithm; where that passes 1, the next bit is 1. */
static struct cm_wide binary_log(struct cm_wide x)
{
	struct cm_wide log = { 0 };

	for (unsigned i = 0; i < BITS; i++) {
		x = high_product(x, x);
		log = cm_wide_left(log, 1);
		if (x.high >> 63 == 1)
			log.low |= 1;
		else
			x = cm_wide_left(x, 1);
	}
	return log;
}

/* ln(ratio) in units of 2^-BITS, below the true value by less than ERROR; 0 for a ratio of at most 1. r.under
 * is not zero. */
static struct cm_wide natural_log(struct pt_ratio r)
{
	if (is_zero(r.over))
		return (struct cm_wide){ 0 };

	int doublings = (int)normalise(&r.under) - (int)normalise(&r.over);
	struct cm_wide rest = cm_wide_difference(r.over, r.under), log;

	if (cm_wide_below(r.over, r.under)) { /* twice the ratio is in [1, 2) */
		rest = cm_wide_difference(r.over, cm_wide_difference(r.under, r.over));
		doublings--;
	}
	if (doublings < 0)
		return (struct cm_wide){ 0 };
	log = binary_log(quotient(rest, r.under));
	log.high += (uint64_t)doublings << (BITS - 64);
	return high_product(log, ln2);
}

/* The least double at or above v / 2^scale. */
static double to_double_up(struct cm_wide v, unsigned scale)
{
	unsigned shifted;
	uint64_t top;

	if (is_zero(v))
		return 0;
	shifted = normalise(&v);
	/* a double has 53 bits; the remainder of 75 counts if any of its bits is set */
	top = v.high >> 11;
	top += (v.high << 53 | v.low) != 0;
	return ldexp((double)top, 75 - (int)shifted - (int)scale);
}

static struct cm_wide times_small(struct cm_wide v, uint32_t times)
{
	struct cm_wide product = cm_wide_product(v.low, times);

	product.high += v.high * times;
	return product;
}

double pt_ratio_log(struct pt_ratio r, uint32_t times)
{
	if (is_zero(r.under))
		return INFINITY;

	struct cm_wide log = cm_wide_sum(natural_log(r), (struct cm_wide){ .low = ERROR });

	return to_double_up(times_small(log, times), BITS);
}

struct cm_wide pt_guarantees(double guarantee, uint32_t times)
{
	double scaled = ldexp(guarantee, SUM_BITS - 64), whole = floor(scaled);

	return times_small(
		(struct cm_wide){ .high = (uint64_t)whole, .low = (uint64_t)ceil(ldexp(scaled - whole, 64)) },
		times);
}

double pt_guarantees_up(struct cm_wide sum)
{
	return to_double_up(sum, SUM_BITS);
}
