/* acct_many.c - epsilon, or delta, of many different rounds in one question. */
#include "acct_many.h"

#include <math.h>

#define TRIES 4
#define NEAR  30.0   /* factor by which the guess of a delta may be off: the tilt then changes by little */
#define LEAST 1e-150 /* guesses below are left to the common grids */

static enum acct_rc ask(
	const struct acct_plan *p, struct acct_composed *c, struct acct_bound *out, bool *narrow)
{
	enum acct_rc rc = ACCT_OK;

	for (size_t i = 0; i < p->parts && !rc; i++) {
		struct acct_entry *e = acct_composed_append(c);

		if (!e) {
			rc = ACCT_ENOMEM;
			break;
		}
		e->rung.list = p->part[i].curve.list;
		e->count = (uint64_t)p->part[i].count;
		rc = acct_entry_measure(e, ACCT_STATE_TAIL * c->delta);
	}
	if (!rc)
		rc = acct_composed_epsilon(c, acct_plan_blur(p), out);
	*narrow = !rc && acct_composed_is_narrow(c, out);
	acct_composed_fini(c);
	return rc;
}

enum acct_rc acct_many_epsilon(const struct acct_plan *p, double delta, struct acct_bound *out, bool *narrow)
{
	struct acct_composed c = { .delta = delta };

	return ask(p, &c, out, narrow);
}

/* delta of a normal loss of this variance. */
static double normal_delta(double variance, double epsilon)
{
	double s = sqrt(variance), a = epsilon / s - s / 2, b = epsilon / s + s / 2;

	return (erfc(a * sqrt(0.5)) - exp(epsilon) * erfc(b * sqrt(0.5))) / 2;
}

/* Any guess is sound: mass is given up for it, and the frame chosen. */
enum acct_rc acct_many_delta(const struct acct_plan *p, double epsilon, struct acct_bound *out, bool *narrow)
{
	double variance = 0, guess;
	enum acct_rc rc = ACCT_OK;

	*narrow = false;
	for (size_t i = 0; i < p->parts; i++)
		variance += p->part[i].count * p->part[i].deviation * p->part[i].deviation;
	guess = fmin(0.5, normal_delta(variance, epsilon));
	for (int i = 0; i < TRIES && !rc && !*narrow && guess > LEAST; i++) {
		struct acct_composed c = { .delta = guess, .inverse = true, .epsilon = epsilon };
		double before = guess;

		rc = ask(p, &c, out, narrow);
		guess = fmin(0.5, out->lower > 0 ? sqrt(out->lower * out->upper) : out->upper);
		if (guess < NEAR * before && guess > before / NEAR)
			break;
	}
	return rc;
}
