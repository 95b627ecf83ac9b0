/* pt_request.c - dummies of a client as one number, as plans ask for them. */
#include "pt_request.h"

#include <math.h>

#include "pt_exact.h"

void pt_request_dummies(struct pt_request *r, double dummies)
{
	double whole = floor(dummies);

	r->dummies = (uint32_t)whole;
	/* Exact but for what is below 2^-64; at most 2^64 - 2^11. */
	r->dummy_chance = (uint64_t)ceil(ldexp(dummies - whole, 64));
}

double pt_dummies_each(uint32_t dummies, uint64_t chance)
{
	return dummies + pt_probability(chance);
}
