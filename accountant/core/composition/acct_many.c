/* acct_many.c (acct_composition.h) - answers one question about epsilon, or delta, of many different
 * rounds. */
#include "acct_composition.h"

#include <math.h>

#define TRIES 4
/* a guess of delta may be off by this factor: the tilt, for which it is made, then changes little */
#define NEAR  30.0
#define LEAST 1e-150 /* smaller deltas are left to the common grids of acct_rounds.c */

/* Append the rounds of the plan.  Of each round's law a mass of `tail` may be given up. */
static enum acct_rc fill(const struct acct_plan *p, struct acct_composed *c, double tail)
{
	enum acct_rc rc = ACCT_OK;

	for (size_t i = 0; i < p->parts && !rc; i++) {
		struct acct_entry *e = acct_composed_append(c);

		if (!e)
			return ACCT_ENOMEM;
		e->rung.list = p->part[i].curve.list;
		e->count = (uint64_t)p->part[i].count;
		rc = acct_entry_measure(e, tail);
	}
	return rc;
}

static enum acct_rc answer(
	const struct acct_plan *p, struct acct_composed *c, struct acct_bound *out, bool *narrow)
{
	enum acct_rc rc = acct_composed_epsilon(c, acct_plan_blur(p), out);

	*narrow = !rc && acct_composed_is_narrow(c, out);
	return rc;
}

static enum acct_rc ask(
	const struct acct_plan *p, struct acct_composed *c, struct acct_bound *out, bool *narrow)
{
	enum acct_rc rc = fill(p, c, ACCT_STATE_TAIL * c->delta);

	*narrow = false;
	if (!rc)
		rc = answer(p, c, out, narrow);
	acct_composed_fini(c);
	return rc;
}

enum acct_rc acct_many_epsilon(const struct acct_plan *p, double delta, struct acct_bound *out, bool *narrow)
{
	struct acct_composed c = { .delta = delta };

	return ask(p, &c, out, narrow);
}

/* Delta at epsilon of a normal loss with this variance. */
static double normal_delta(double variance, double epsilon)
{
	double s = sqrt(variance), a = epsilon / s - s / 2, b = epsilon / s + s / 2;

	return (erfc(a * sqrt(0.5)) - exp(epsilon) * erfc(b * sqrt(0.5))) / 2;
}

static double guess_of(const struct acct_plan *p, double epsilon)
{
	double variance = 0;

	for (size_t i = 0; i < p->parts; i++)
		variance += p->part[i].count * p->part[i].deviation * p->part[i].deviation;
	return fmin(0.5, normal_delta(variance, epsilon));
}

/* The next guess of delta, from its interval: the geometric mean of the ends, if both are above 0. */
static double guess_from(const struct acct_bound *b)
{
	return fmin(0.5, b->lower > 0 ? sqrt(b->lower * b->upper) : b->upper);
}

/* Any guess is sound: it only decides which mass is given up, and which frame is chosen. */
enum acct_rc acct_many_delta(const struct acct_plan *p, double epsilon, struct acct_bound *out, bool *narrow)
{
	double guess = guess_of(p, epsilon);
	enum acct_rc rc = ACCT_OK;

	*narrow = false;
	for (int i = 0; i < TRIES && !rc && !*narrow && guess > LEAST; i++) {
		struct acct_composed c = { .delta = guess, .inverse = true, .epsilon = epsilon };
		double before = guess;

		rc = ask(p, &c, out, narrow);
		guess = guess_from(out);
		if (guess < NEAR * before && guess > before / NEAR)
			break;
	}
	return rc;
}

enum acct_rc acct_many_deltas(
	const struct acct_plan *p, const double *epsilon, size_t n, struct acct_bound *out, bool *narrow)
{
	struct acct_composed c = { .inverse = true };
	double least = 1;
	enum acct_rc rc;

	for (size_t i = 0; i < n; i++)
		least = fmin(least, fmax(LEAST, guess_of(p, epsilon[i]) / NEAR / NEAR));
	/* laws that serve the smallest delta serve all of them */
	c.least_delta = least;
	rc = fill(p, &c, ACCT_STATE_TAIL * least);
	for (size_t i = 0; i < n && !rc; i++) {
		double guess = guess_of(p, epsilon[i]);

		narrow[i] = false;
		c.epsilon = epsilon[i];
		for (int k = 0; k < TRIES && !rc && !narrow[i] && guess > LEAST; k++) {
			double before = guess;

			acct_composed_unframe(&c);
			c.level = 0;
			c.delta = guess;
			rc = answer(p, &c, &out[i], &narrow[i]);
			guess = guess_from(&out[i]);
			if (guess < NEAR * before && guess > before / NEAR)
				break;
		}
	}
	acct_composed_fini(&c);
	return rc;
}
