/* pt_request.c - converts between a client's dummies as one number and as whole dummies with a chance of
 * one more. */
#include "pt_request.h"

#include <math.h>

#include "pt_exact.h"

void pt_request_dummies(struct pt_request *r, double dummies)
{
	double whole = floor(dummies);

	r->dummies = (uint32_t)whole;
	/* Rounded up to a multiple of 2^-64; at most 2^64 - 2^11. */
	r->dummy_chance = (uint64_t)ceil(ldexp(dummies - whole, 64));
}

double pt_dummies_each(uint32_t dummies, uint64_t chance)
{
	return dummies + pt_probability(chance);
}
