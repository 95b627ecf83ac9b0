/* acct_method_lower.c - what some data sets lose, exactly: lower bounds on the truth. */
#include <math.h>
#include <stdlib.h>

#include "acct_cells.h"
#include "acct_fault.h"
#include "acct_method_rows.h"

/* The cells' pair is itself the loss of data sets: of bits, or where only dummies hide the victim.  Of bits
 * the worst data differ from epsilon to epsilon, so that rounds do not compose. */
static bool attained(const struct acct_spec *s, bool alone)
{
	const struct acct_round *r = &s->round;

	if (r->sampling > 0)
		return false;
	return s->exact || (alone && r->count == 1 && r->messages != ACCT_ANY_MESSAGES &&
				   r->messages <= ACCT_LABELLED_BITS);
}

/* Everybody else holds the victim's first input: reports of others are iid of law R0 = omega u, and relative
 * to that law the cells' pair is not a bound but the exact one. */
static void hold_first(const struct acct_spec *s, struct acct_round *r)
{
	for (size_t j = 0; j < s->round.cells; j++) {
		const struct acct_cell *c = &s->round.cell[j];

		r->cell[r->cells++] = (struct acct_cell){ c->omega * c->u, 1, c->v / c->u };
	}
}

static void put(struct acct_round *r, double omega, double u, double v)
{
	if (omega > 0)
		r->cell[r->cells++] = (struct acct_cell){ omega, u, v };
}

/* Everybody else holds a third input, and laws have two levels: `apart` (a) of the blanket is likelier under
 * one input alone of every two, `both` (c) under both, s->triple (t) under all three.  With E0 the ratio of
 * the levels the cells are (E0 (c-t): 1, 1/E0), (E0 (c-t): 1/E0, 1), (a-c+t: E0, 1), (a-c+t: 1, E0), (E0 t:
 * 1, 1), (c-t: E0, E0), (E0 (a-c+t): 1/E0, 1/E0), and the rest (1, 1). */
static void hold_third(const struct acct_spec *s, struct acct_round *r)
{
	double p = 0, apart = 0, both = 0, none = 0, triple = s->triple;

	for (size_t j = 0; j < s->round.cells; j++) {
		const struct acct_cell *c = &s->round.cell[j];

		p = fmax(p, c->u);
		if (c->u > c->v)
			apart = c->omega;
	}
	for (size_t j = 0; j < s->round.cells; j++) {
		const struct acct_cell *c = &s->round.cell[j];

		if (c->u <= c->v && c->u >= c->v)
			*(c->u > 1 ? &both : &none) = c->omega;
	}
	double with = both - triple,
	       without = apart - with; /* of what is likelier under the victim's first */
	put(r, p * with, 1, 1 / p);
	put(r, p * with, 1 / p, 1);
	put(r, without, p, 1);
	put(r, without, 1, p);
	put(r, p * triple, 1, 1);
	put(r, with, p, p);
	put(r, p * without, 1 / p, 1 / p);
	put(r, none - without, 1, 1);
}

/* The pair of the data sets in which the others hold the victim's first input, or a third where known. */
static enum acct_rc held(
	const struct acct_spec *s, bool third, bool alone, struct acct_round *r, const char **why)
{
	enum acct_rc rc;

	*r = s->round;
	if (attained(s, alone)) {
		/* Labels do not hide inputs that do not depend on them. */
		if (r->messages == ACCT_LABELLED_BITS)
			r->messages = ACCT_BITS;
		return ACCT_OK;
	}
	rc = acct_method_local(s, false, why);
	if (rc)
		return rc;
	if (s->no_inputs)
		return acct_fault(why, "the cells are not those of two inputs");
	if (s->round.dummies > 0)
		return acct_fault(
			why, "of rounds with dummies it is known for bits alone, and for one round");
	*r = (struct acct_round){ .others = s->participants - 1, .count = s->round.count };
	if (third && s->third)
		hold_third(s, r);
	else
		hold_first(s, r);
	acct_cells_fill(r->cell, r->cells); /* omega is a law */
	return ACCT_OK;
}

static enum acct_rc value(const struct acct_spec *spec, size_t n, bool third, bool epsilon, double at,
	double *lower, const char **why)
{
	struct acct_round *r = acct_method_rounds(spec, n);
	struct acct_bound out;
	enum acct_rc rc = r ? acct_method_asked(n, epsilon, at, why) : ACCT_ENOMEM;

	for (size_t i = 0; !rc && i < n; i++)
		rc = held(&spec[i], third, n == 1, &r[i], why);
	if (!rc)
		rc = epsilon ? acct_epsilon(r, n, at, &out) : acct_delta(r, n, at, &out);
	if (!rc)
		*lower = out.lower;
	free(r);
	return rc;
}

/* Each of both pairs of data sets gives a lower bound: take the larger. */
static enum acct_rc below(const struct acct_spec *spec, size_t n, bool epsilon, double at,
	struct acct_method_answer *out, const char **why)
{
	double first = 0, third = 0;
	enum acct_rc rc = value(spec, n, false, epsilon, at, &first, why);
	bool more = false;

	for (size_t i = 0; i < n; i++)
		more = more || spec[i].third;
	if (!rc && more)
		rc = value(spec, n, true, epsilon, at, &third, why);
	out->bound = (struct acct_bound){ fmax(first, third), INFINITY };
	out->worth = ACCT_LOWER;
	out->note = "the exact loss of some data sets: the truth is between this and any proved value";
	return rc;
}

enum acct_rc acct_attained_epsilon(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return below(s, n, true, at, out, why);
}

enum acct_rc acct_attained_delta(
	const struct acct_spec *s, size_t n, double at, struct acct_method_answer *out, const char **why)
{
	return below(s, n, false, at, out, why);
}
