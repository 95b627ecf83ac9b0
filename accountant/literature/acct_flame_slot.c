/* acct_flame_slot.c - makes the cells of one coordinate of a vector: Laplace noise, or levels by randomized
 * response. */
#include "acct_flame_slot.h"

#include <math.h>

#include "acct_binomial.h"
#include "acct_cells.h"
#include "acct_fault.h"
#include "acct_laplace.h"

#define MOST_EPSILON   300.0
#define COARSE         ((size_t)8) /* stretches of a leg (acct_laplace.h) in a coarse list of cells */
#define MOST_SYMMETRIC 0.75        /* up to this epsilon the symmetric list below is used */
#define MOST_BINS      1000000000u
#define MOST_LENGTH    1000000000000u /* most coordinates, and most messages of one index */

/* Comparisons are negated, so that NaN is refused as well. */
enum acct_rc acct_flame_check_slot(const struct acct_flame_slot *slot, const char **why)
{
	if (!(slot->epsilon > 0 && slot->epsilon <= MOST_EPSILON))
		return acct_fault(why, "the epsilon of a message must be above 0 and at most 300");
	if (slot->bins != 0 && (slot->bins < 2 || slot->bins > MOST_BINS))
		return acct_fault(why, "bins must be 0 (Laplace noise) or from 2 to 1e9");
	return ACCT_OK;
}

enum acct_rc acct_flame_check_sparse(const struct acct_flame_sparse *s, const char **why)
{
	enum acct_rc rc = acct_flame_check_slot(&s->slot, why);

	if (rc)
		return rc;
	if (s->users < 2 || s->users > ACCT_MAX_REPORTS)
		return acct_fault(why, "there must be from 2 to 1e12 users");
	if (s->padded < 2 || s->padded > ACCT_MAX_REPORTS)
		return acct_fault(why, "an index must be padded to from 2 to 1e12 messages");
	if (s->length == 0 || s->length > MOST_LENGTH)
		return acct_fault(why, "a vector must have from 1 to 1e12 coordinates");
	if (s->sent == 0 || s->sent > s->length)
		return acct_fault(why, "a user must send from 1 to all coordinates");
	if (s->sent > ACCT_MAX_COUNT / 2)
		return acct_fault(why, "a user may send at most 500000 coordinates");
	return ACCT_OK;
}

enum acct_rc acct_flame_check_delta(double delta, const char **why)
{
	if (!(delta > 0 && delta < 1))
		return acct_fault(why, "delta must be above 0 and below 1");
	return ACCT_OK;
}

enum acct_rc acct_flame_full(const struct acct_flame_slot *slot, struct acct_round *r, const char **why)
{
	if (slot->bins == 0)
		return acct_laplace_above(slot->epsilon, r, why);
	double k = (double)slot->bins, p = acct_ratio(slot->epsilon), z = p + k - 1;
	r->cell[0] = (struct acct_cell){ 1 / z, p, 1 };
	r->cell[1] = (struct acct_cell){ 1 / z, 1, p };
	r->cell[2] = (struct acct_cell){ (k - 2) / z, 1, 1 };
	r->cells = k > 2 ? 3 : 2;
	return ACCT_OK;
}

/* Laplace(1/2) contains e^{-epsilon/4} Laplace(1/4), about which inputs 0 and 1/2 are symmetric.  That is
 * the randomizer at half the epsilon, where others are blanket e^{-epsilon/2} times as often.  Symmetric
 * lists are fast; the part of the blanket that is left out matters only where epsilon is large. */
static enum acct_rc laplace_half(double epsilon, struct acct_round *r, const char **why)
{
	double blanket = exp(-epsilon / 2);

	if (epsilon > MOST_SYMMETRIC)
		return acct_laplace_half(epsilon, 2 * COARSE, r, why);
	enum acct_rc rc = acct_laplace_coarse(epsilon / 2, COARSE, r, why);
	for (size_t j = 0; j < r->cells && !rc; j++) {
		struct acct_cell *c = &r->cell[j];

		*c = (struct acct_cell){ c->omega * blanket, c->u / blanket, c->v / blanket };
	}
	return rc;
}

enum acct_rc acct_flame_half(const struct acct_flame_slot *slot, struct acct_round *r, const char **why)
{
	if (slot->bins == 0)
		return laplace_half(slot->epsilon, r, why);
	double k = (double)slot->bins, p = acct_ratio(slot->epsilon), z = p + k - 1;
	r->cell[0] = (struct acct_cell){ 1 / z, p, z / k };
	r->cell[1] = (struct acct_cell){ (k - 1) / z, 1, z / k };
	r->cells = 2;
	return ACCT_OK;
}

enum acct_rc acct_flame_full_coarse(
	const struct acct_flame_slot *slot, struct acct_round *r, const char **why)
{
	return slot->bins ? acct_flame_full(slot, r, why)
			  : acct_laplace_coarse(slot->epsilon, COARSE, r, why);
}

double acct_flame_outside(const struct acct_flame_slot *slot)
{
	double more = expm1(slot->epsilon);

	return slot->bins == 0 ? -expm1(-slot->epsilon / 2) : more / (more + (double)slot->bins);
}

double acct_flame_below(const struct acct_flame_slot *slot)
{
	double more = expm1(slot->epsilon);

	return slot->bins == 0 ? 1 - exp(-slot->epsilon / 2) / 2
			       : 0.5 + more / (more + (double)slot->bins) / 2;
}

bool acct_flame_fits(const struct acct_flame_sparse *s, double chance)
{
	double d = (double)s->length, rate = (double)s->sent / d;

	if (s->users <= s->padded)
		return true;
	if (s->sent == s->length)
		return false;
	return acct_binomial_last((double)s->users - 1, rate, log(chance / d)) < (double)s->padded;
}
