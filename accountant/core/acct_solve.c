/* acct_solve.c - epsilon from delta and delta from epsilon: one round directly, more by composition. */
#include "acct_solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_composition.h"
#include "acct_ends.h"
#include "acct_single.h"

#define LEAST_DELTA 1e-200 /* for a smaller delta the transforms' exponents leave the range of a double */
#define DELTA_WIDTH 4e-3

/* Epsilon at one delta, where nothing has to be composed. */
static struct acct_bound epsilon_alone(struct acct_plan *p, double delta)
{
	struct acct_bound out = { 0, INFINITY }, at_zero;
	double slope;

	if (p->infinite > delta) {
		out.lower = INFINITY;
	} else if (p->parts == 0) {
		out.upper = p->blurred && delta < acct_plan_blur(p) ? acct_plan_blur(p) : 0;
	} else {
		acct_single_epsilon(p, delta, &out);
		out.lower = out.lower * (1 - 1e-12) - acct_plan_blur(p);
		out.upper = out.upper * (1 + 1e-12) + acct_plan_blur(p);
		if (out.lower <= 0) {
			acct_single_delta(p, 0, &at_zero, &slope);
			if (at_zero.upper + acct_plan_blur(p) <= delta)
				out.upper = 0;
		}
	}
	return out;
}

static double epsilon_tail(const struct acct_plan *p, double delta)
{
	return 1e-6 * fmax(delta - p->infinite, 1e-6 * delta);
}

/* Narrow the interval of one epsilon of many different rounds by acct_many.c, if it is not narrow already.
 * On an error the interval stays. */
static void compose_many(const struct acct_plan *p, struct acct_target *target)
{
	struct acct_bound out = { 0, INFINITY };
	bool narrow;

	if (acct_many_epsilon(p, target->aim.delta, &out, &narrow) != ACCT_OK)
		return;
	target->out.lower = fmax(target->out.lower, out.lower);
	target->out.upper = fmin(target->out.upper, out.upper);
	target->done = narrow;
}

/* Every epsilon of a checked plan.  *wide says whether some interval may become narrower if it is asked for
 * alone. */
static enum acct_rc epsilons_of(
	struct acct_plan *p, struct acct_target *target, size_t n, bool many, bool *wide)
{
	double tail = INFINITY, spent = p->work.spent, per_point = p->work.per_point;
	struct acct_target *composed = calloc(n, sizeof *composed);
	enum acct_rc rc = composed ? ACCT_OK : ACCT_ENOMEM;
	size_t m = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		target[i].done = p->infinite > target[i].aim.delta || p->parts == 0 || acct_plan_is_single(p);
		wide[i] = false;
		/* the limit on the work is that of one question, so each target starts from the same spent
		 * work */
		p->work.spent = spent;
		p->work.per_point = per_point;
		if (target[i].done) {
			target[i].out = epsilon_alone(p, target[i].aim.delta);
			continue;
		}
		if (many && n == 1 && p->parts >= (p->loose ? ACCT_MANY_LOOSE : ACCT_MANY))
			compose_many(p, &target[i]);
		if (target[i].done)
			continue;
		tail = fmin(tail, epsilon_tail(p, target[i].aim.delta));
		composed[m++] = target[i];
	}
	if (m > 0 && !rc)
		rc = acct_rounds_refine(p, composed, m, tail, ACCT_REFINEMENTS);
	for (size_t i = 0, at = 0; i < n && at < m && !rc; i++)
		if (!target[i].done) {
			wide[i] = !composed[at].done || isinf(composed[at].out.upper);
			target[i].out = composed[at++].out;
		}
	free(composed);
	return rc;
}

/* many: whether many different rounds may be composed as a state composes them. */
static enum acct_rc epsilons(const struct acct_round *rounds, size_t n, struct acct_target *target,
	size_t targets, bool many, bool *wide)
{
	struct acct_plan p;
	enum acct_rc rc = acct_plan_init(&p, rounds, n);

	if (!rc)
		rc = epsilons_of(&p, target, targets, many, wide);
	for (size_t i = 0; i < targets && !rc; i++) {
		struct acct_bound *out = &target[i].out;

		if (acct_plan_ends_at(&p, target[i].aim.delta) && p.largest < ACCT_NO_LARGEST)
			out->upper = fmin(out->upper, p.largest * (1 + 1e-12) + acct_plan_blur(&p));
		out->lower = fmax(0, out->lower);
	}
	acct_plan_fini(&p);
	return rc;
}

static enum acct_rc delta_check(double delta)
{
	if (!(delta > 0 && delta < 1))
		return ACCT_EDOMAIN;
	return delta < LEAST_DELTA ? ACCT_EPRECISION : ACCT_OK;
}

static enum acct_rc one_epsilon(
	const struct acct_round *rounds, size_t n, double delta, bool many, struct acct_bound *eps)
{
	struct acct_target target = { { delta, NAN }, { 0, INFINITY }, false };
	bool wide;
	enum acct_rc rc = delta_check(delta);

	if (!rc)
		rc = epsilons(rounds, n, &target, 1, many, &wide);
	if (!rc)
		*eps = target.out;
	return rc;
}

enum acct_rc acct_epsilon(const struct acct_round *rounds, size_t n, double delta, struct acct_bound *eps)
{
	return one_epsilon(rounds, n, delta, true, eps);
}

enum acct_rc acct_epsilon_on_grids(
	const struct acct_round *rounds, size_t n, double delta, struct acct_bound *eps)
{
	return one_epsilon(rounds, n, delta, false, eps);
}

static int ascending(const void *a, const void *b)
{
	const struct acct_target *x = a, *y = b;

	return (x->aim.delta > y->aim.delta) - (x->aim.delta < y->aim.delta);
}

/* Ask alone for each interval that the common question left wide, and keep the better ends. */
static enum acct_rc ask_alone(const struct acct_round *rounds, size_t n, struct acct_target *target,
	size_t targets, const bool *wide)
{
	for (size_t i = 0; i < targets; i++) {
		struct acct_bound one;

		if (!wide[i])
			continue;
		enum acct_rc rc = acct_epsilon(rounds, n, target[i].aim.delta, &one);
		if (rc)
			return rc;
		target[i].out.lower = fmax(target[i].out.lower, one.lower);
		target[i].out.upper = fmin(target[i].out.upper, one.upper);
	}
	return ACCT_OK;
}

/* Ask the common question, then alone for what it left wide.  The targets are in ascending order of
 * delta. */
static enum acct_rc ask_all(
	const struct acct_round *rounds, size_t n, struct acct_target *target, size_t targets)
{
	bool *wide = calloc(targets, sizeof *wide);
	enum acct_rc rc = wide ? epsilons(rounds, n, target, targets, true, wide) : ACCT_ENOMEM;

	/* The grid that serves all deltas at once may need too many points where a grid for one delta does
	 * not. */
	if (rc == ACCT_ELIMIT || rc == ACCT_EPRECISION) {
		rc = ACCT_OK;
		for (size_t i = 0; i < targets; i++) {
			target[i].out = (struct acct_bound){ 0, INFINITY };
			wide[i] = true;
		}
	}
	if (!rc)
		rc = ask_alone(rounds, n, target, targets, wide);
	free(wide);
	return rc;
}

enum acct_rc acct_epsilons(
	const struct acct_round *rounds, size_t n, const double *delta, size_t deltas, struct acct_bound *eps)
{
	enum acct_rc rc = deltas > 0 ? ACCT_OK : ACCT_EDOMAIN;

	for (size_t i = 0; i < deltas && !rc; i++)
		rc = delta_check(delta[i]);
	if (rc)
		return rc;
	struct acct_target *target = calloc(deltas, sizeof *target);

	if (!target)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < deltas; i++)
		target[i] = (struct acct_target){ { delta[i], NAN }, { 0, INFINITY }, false };
	qsort(target, deltas, sizeof *target, ascending);
	rc = ask_all(rounds, n, target, deltas);
	for (size_t i = 0; i < deltas && !rc; i++) {
		struct acct_target key = { { delta[i], NAN }, { 0, 0 }, false };
		const struct acct_target *found = bsearch(&key, target, deltas, sizeof *target, ascending);

		eps[i] = found->out;
	}
	free(target);
	return rc;
}

/* delta of a single round. */
static struct acct_bound delta_alone(const struct acct_plan *p, double epsilon)
{
	double shift = acct_plan_blur(p), at = fmin(epsilon, ACCT_MOST_EPSILON), slope;
	struct acct_bound far, out = { p->infinite, 1 };

	acct_single_delta(p, at + shift, &far, &slope);
	if (at >= epsilon)
		out.lower = fmax(out.lower, far.lower * (1 - 1e-10));
	acct_single_delta(p, fmax(0, at - shift), &far, &slope);
	/* Below epsilon 0, delta rises by at most the distance. */
	out.upper = fmin(1, far.upper * (1 + 1e-10) + fmax(0, shift - at));
	return out;
}

/* Set *least to the least upper end, and return whether an interval is wide. */
static bool is_wide(const struct acct_target *target, size_t targets, double *least)
{
	bool wide = false;

	*least = 1;
	for (size_t i = 0; i < targets; i++) {
		const struct acct_bound *b = &target[i].out;

		wide = wide || b->upper - b->lower > DELTA_WIDTH * b->upper;
		*least = fmin(*least, b->upper);
	}
	return wide;
}

/* The composition cuts a part of delta off each round's tail, but delta is what is asked for: lower that
 * part, on coarse grids, until it is small against the delta found. */
static enum acct_rc deltas_composed(struct acct_plan *p, struct acct_target *target, size_t targets)
{
	double tail = 1e-12, least;
	enum acct_rc rc;

	do {
		tail = fmax(tail, LEAST_DELTA);
		rc = acct_rounds_refine(p, target, targets, tail, 1);
		(void)is_wide(target, targets, &least);
		if (rc || tail <= 1e-3 * DELTA_WIDTH * least || tail <= LEAST_DELTA)
			break;
		tail = fmin(1e-5 * tail, 1e-4 * DELTA_WIDTH * least);
	} while (is_wide(target, targets, &least));
	if (!rc && is_wide(target, targets, &least))
		rc = acct_rounds_refine(p, target, targets, tail, ACCT_REFINEMENTS);
	return rc;
}

/* Narrow the deltas of many different rounds, if they are not narrow already.  On an error the intervals
 * stay. */
static enum acct_rc deltas_of_many(const struct acct_plan *p, struct acct_target *target, size_t targets)
{
	double *epsilon = calloc(targets, sizeof *epsilon);
	struct acct_bound *out = calloc(targets, sizeof *out);
	bool *narrow = calloc(targets, sizeof *narrow);
	enum acct_rc rc = epsilon && out && narrow ? ACCT_OK : ACCT_ENOMEM;

	for (size_t i = 0; i < targets && !rc; i++) {
		epsilon[i] = target[i].aim.epsilon;
		out[i] = (struct acct_bound){ 0, 1 };
	}
	/* A question for one delta may measure its rounds anew. */
	if (!rc && (targets > 1 ? acct_many_deltas(p, epsilon, targets, out, narrow)
				: acct_many_delta(p, epsilon[0], out, narrow)) == ACCT_OK)
		for (size_t i = 0; i < targets; i++) {
			target[i].out.lower = fmax(target[i].out.lower, out[i].lower);
			target[i].out.upper = fmin(target[i].out.upper, out[i].upper);
			target[i].done = narrow[i];
		}
	free(epsilon);
	free(out);
	free(narrow);
	return rc;
}

static enum acct_rc deltas_of(struct acct_plan *p, struct acct_target *target, size_t targets)
{

	for (size_t i = 0; i < targets; i++) {
		target[i].out = (struct acct_bound){ p->infinite, 1 };
		if (p->parts == 0)
			target[i].out.upper = p->blurred ? acct_plan_blur(p) : 0;
		else if (acct_plan_is_single(p))
			target[i].out = delta_alone(p, target[i].aim.epsilon);
	}
	if (p->parts == 0 || acct_plan_is_single(p) || !(p->infinite < 1 - 1e-8))
		return ACCT_OK;
	bool done = p->parts >= (p->loose ? ACCT_MANY_LOOSE : ACCT_MANY);
	enum acct_rc rc = done ? deltas_of_many(p, target, targets) : ACCT_OK;

	for (size_t i = 0; i < targets; i++)
		done = done && target[i].done;
	return rc || done ? rc : deltas_composed(p, target, targets);
}

enum acct_rc acct_deltas(const struct acct_round *rounds, size_t n, const double *epsilon, size_t epsilons,
	struct acct_bound *delta)
{
	struct acct_target *target;
	struct acct_plan p;
	enum acct_rc rc;

	for (size_t i = 0; i < epsilons; i++)
		if (!(epsilon[i] >= 0) || (i > 0 && !(epsilon[i] > epsilon[i - 1])))
			return ACCT_EDOMAIN;
	if (epsilons == 0)
		return ACCT_EDOMAIN;
	target = calloc(epsilons, sizeof *target);
	if (!target)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < epsilons; i++)
		target[i] = (struct acct_target){ { NAN, epsilon[i] }, { 0, 1 }, false };
	rc = acct_plan_init(&p, rounds, n);
	if (!rc)
		rc = deltas_of(&p, target, epsilons);
	for (size_t i = 0; i < epsilons && !rc; i++) {
		const struct acct_bound *b = &target[i].out;
		double near = acct_single_near_largest(&p, epsilon[i], acct_plan_blur(&p), b);

		/* adding 0 turns -0 into 0 */
		delta[i].lower = b->lower + 0.0;
		delta[i].upper = acct_larger(b->lower, fmin(b->upper, near)) + 0.0;
	}
	free(target);
	acct_plan_fini(&p);
	return rc;
}

enum acct_rc acct_delta(const struct acct_round *rounds, size_t n, double epsilon, struct acct_bound *delta)
{
	const double one[] = { epsilon };

	return acct_deltas(rounds, n, one, 1, delta);
}

const char *acct_strerror(enum acct_rc rc)
{
	switch (rc) {
	case ACCT_OK:
		return "no error";
	case ACCT_EDOMAIN:
		return "a parameter is outside its range";
	case ACCT_EPRECISION:
		return "delta is below what double precision can certify here";
	case ACCT_ELIMIT:
		return "more cells, rounds or grid points than the limits allow";
	case ACCT_ENOMEM:
		return "out of memory";
	}
	return "unknown result";
}
