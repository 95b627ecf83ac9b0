/* acct_allocate.c - searches one value for each loose round such that all rounds fit a budget with the
 * least error. */
#include "acct_allocate.h"

#include <math.h>
#include <stdlib.h>

#include "acct_composition.h"
#include "acct_invert.h"

/* grid step of a round's law, divided by the standard deviation of its loss: fine enough to know log
 * moments to a thousandth */
#define COARSE 0.1
#define TAIL   1e-10 /* each round's law may leave out this part of delta, its far tail */
#define STEPS  64
/* the bisection of look() ends when its two ends, which are logarithms, are this close */
#define ENOUGH   1e-5
#define FARTHEST 200.0
/* stands for "no such round" in struct curve.error, which has logarithms of squared errors: an error that
 * is never chosen */
#define NEVER 1e3

/* A round whose value is still to be found, as a table.  Node k stands for a value; the values rise from
 * `least` to `most` by equal factors.  error[k] is the logarithm of the round's squared error there,
 * loss[k] the logarithm of the share of the budget that the round takes. */
struct curve {
	double least, most;  /* the round's value at the first and at the last node */
	size_t first, nodes; /* the round exists at the nodes `first`..`nodes` - 1 */
	double error[ACCT_ALLOCATE_NODES], loss[ACCT_ALLOCATE_NODES];
};

struct search {
	const struct acct_allocation *a;
	struct curve *curve;
	double *value;
	struct acct_round *part;
	/* The budget is a log moment of the composed loss, log E e^(tilt loss): log moments of rounds add
	 * up.  tilt: its order; budget: what a normal loss has that spends the whole (epsilon, delta). */
	double tilt, budget;
	bool found;
};

static bool is_loose(const struct search *s, size_t i)
{
	return s->a->round[i].most > 0;
}

static double value_at(const struct search *s, size_t i, double node)
{
	const struct curve *c = &s->curve[i];

	return c->least * exp(log(c->most / c->least) * node / (double)(s->a->round[i].nodes - 1));
}

/* Set s->tilt and s->budget.  The tilt is the exponent lambda by which the law of a normal loss that spends
 * the whole budget is tilted when its delta is summed (acct_compose.h). */
static void set_tilt(struct search *s)
{
	double epsilon = s->a->epsilon, delta = s->a->delta;
	double low = 1e-9, high = 1e9;

	/* find mu by bisection such that the loss of N(mu, 1) against N(0, 1) has exactly this epsilon and
	 * delta */
	for (int i = 0; i < 200; i++) {
		double mu = sqrt(low * high), a = epsilon / mu - mu / 2, b = epsilon / mu + mu / 2;

		if (erfc(a / sqrt(2)) / 2 - exp(epsilon + log(fmax(erfc(b / sqrt(2)) / 2, 1e-300))) > delta)
			high = mu;
		else
			low = mu;
	}
	s->tilt = fmax(epsilon / (low * low) - 0.5, 1e-3);
	s->budget = s->tilt * (s->tilt + 1) / 2 * low * low;
}

/* Compute what a round takes of the budget: the log moment of its loss at order lambda.  Log moments add
 * up, and the composed epsilon is about (their sum + a number that no round changes) / lambda. */
static enum acct_rc log_moment(const struct acct_round *r, double lambda, double tail, double *out)
{
	struct acct_rung rung = { .step = 0 };
	struct acct_list list;
	double psi[3];
	enum acct_rc rc = acct_list_init(&list, r, NULL);

	*out = 0;
	if (!rc)
		rc = acct_rung_init(&rung, &list, tail);
	if (!rc && rung.deviation > 0) {
		rc = acct_rung_fit(
			&rung, acct_rung_floor(COARSE * rung.deviation), COARSE, lambda, ACCT_INVERT_WIDTH);
		if (!rc) {
			const struct acct_law *law = acct_rung_law(&rung, ACCT_ABOVE);
			const struct acct_part part = { law, (double)r->count };

			acct_parts_cumulant(&part, 1, rung.unit, lambda, psi);
			*out = fmax(psi[0], 0) + 1e3 * (double)r->count * law->infinite;
		}
	}
	acct_rung_fini(&rung);
	return rc;
}

/* Does the round fit the budget alone?  *does is also true at a node at which there is no round. */
static enum acct_rc fits_alone(struct search *s, size_t i, double node, bool *does)
{
	struct acct_bound b = { 0, 0 };
	size_t parts = 0;
	double error;
	enum acct_rc rc = s->a->offer(s->a->user, i, value_at(s, i, node), s->part, &parts, &error);

	if (!rc && parts > 0)
		rc = acct_epsilon(s->part, parts, s->a->delta, &b);
	*does = !rc && b.upper <= s->a->epsilon;
	return rc;
}

/* Drop the nodes that do not even fit alone. */
static enum acct_rc limit(struct search *s, size_t i)
{
	double low = 0, high = (double)(s->a->round[i].nodes - 1);
	bool does;
	enum acct_rc rc = fits_alone(s, i, 0, &does);

	for (int k = 0; k < 10 && !rc; k++) {
		double middle = (low + high) / 2;

		rc = fits_alone(s, i, middle, &does);
		*(does ? &low : &high) = middle;
	}
	s->curve[i].most = value_at(s, i, high);
	return rc;
}

static enum acct_rc tabulate(struct search *s, size_t i)
{
	struct curve *c = &s->curve[i];
	size_t nodes = s->a->round[i].nodes;
	enum acct_rc rc = ACCT_OK;

	c->least = s->a->round[i].least;
	c->most = s->a->round[i].most;
	c->first = nodes - 1;
	c->nodes = nodes;
	rc = limit(s, i);
	for (size_t k = nodes; k-- > 0 && !rc;) {
		double loss = 0, one = 0, error = 0;
		size_t parts = 0;

		rc = s->a->offer(s->a->user, i, value_at(s, i, (double)k), s->part, &parts, &error);
		for (size_t j = 0; j < parts && !rc; j++, loss += one)
			rc = log_moment(&s->part[j], s->tilt, TAIL * s->a->delta, &one);
		c->error[k] = rc || parts == 0 ? NEVER : fmin(2 * log(error), NEVER);
		c->loss[k] = log(fmax(loss, 1e-300));
		if (parts > 0)
			c->first = k;
		else if (k + 1 == c->nodes && k > 1)
			c->nodes = k;
	}
	return rc;
}

static double between(const struct curve *c, const double *table, double node)
{
	size_t k = (size_t)fmin(floor(node), (double)c->nodes - 2);

	return table[k] + (node - (double)k) * (table[k + 1] - table[k]);
}

static double price_at(const struct curve *c, double weight, double price, double node)
{
	return weight * exp(between(c, c->error, node)) + price * exp(between(c, c->loss, node));
}

/* Find the node with the least weight * error^2 + price * loss, where `price` says how much error a unit of
 * loss is worth.  Search the table first, then between the neighbours of the best node. */
static double cheapest(const struct curve *c, double weight, double price)
{
	double best = INFINITY, node = (double)c->first, low, high;

	for (size_t k = c->first; k < c->nodes; k++) {
		double sum = weight * exp(c->error[k]) + price * exp(c->loss[k]);

		if (sum < best) {
			best = sum;
			node = (double)k;
		}
	}
	low = fmax((double)c->first, node - 1);
	high = fmin((double)c->nodes - 1, node + 1);
	for (int i = 0; i < STEPS; i++) {
		double a = low + (high - low) / 3, b = high - (high - low) / 3;

		if (price_at(c, weight, price, a) <= price_at(c, weight, price, b))
			high = b;
		else
			low = a;
	}
	return (low + high) / 2;
}

/* Find the least node at which the error is within the target; the last node if there is none. */
static double accurate(const struct curve *c, double log_square)
{
	double low = (double)c->first, high = (double)c->nodes - 1;

	if (c->error[c->first] <= log_square)
		return low;
	for (int i = 0; i < STEPS; i++) {
		double middle = (low + high) / 2;

		if (between(c, c->error, middle) <= log_square)
			high = middle;
		else
			low = middle;
	}
	return high;
}

/* The node of round i at one point `t` of the search, which all rounds share: the larger `t` is, the less
 * is lost. */
static double node_at(const struct search *s, size_t i, double t)
{
	double weight = s->a->round[i].weight;

	return s->a->targets ? accurate(&s->curve[i], t + 2 * log(weight))
			     : cheapest(&s->curve[i], weight, exp(t));
}

static enum acct_rc fits(struct search *s, double t, bool *does)
{
	enum acct_rc rc;

	for (size_t i = 0; i < s->a->n; i++)
		s->value[i] = is_loose(s, i) ? value_at(s, i, node_at(s, i, t)) : 0;
	rc = s->a->fits(s->a->user, s->value, does);
	s->found = s->found || (!rc && *does);
	return rc;
}

/* Estimate the point t at which the budget is spent, from the tables alone. */
static double first_guess(const struct search *s)
{
	double low = -FARTHEST, high = FARTHEST;

	for (int k = 0; k < STEPS; k++) {
		double middle = (low + high) / 2, sum = 0;

		for (size_t i = 0; i < s->a->n; i++)
			if (is_loose(s, i))
				sum += exp(between(&s->curve[i], s->curve[i].loss, node_at(s, i, middle)));
		if (sum > s->budget)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* From the guess, step ever further until one point fits and one does not, and bisect between them. */
static enum acct_rc look(struct search *s)
{
	double at = first_guess(s), low = -INFINITY, high = INFINITY;
	enum acct_rc rc = ACCT_OK;

	for (double step = 0.02; !rc && high - low > ENOUGH;) {
		bool does = false;

		rc = fits(s, at, &does);
		*(does ? &high : &low) = at;
		if (fabs(at) >= FARTHEST && (does ? at < 0 : at > 0))
			break; /* everything fits, or nothing does */
		if (isinf(low) || isinf(high)) {
			at = fmax(-FARTHEST, fmin(FARTHEST, does ? at - step : at + step));
			step *= 4;
		} else {
			at = (low + high) / 2;
		}
	}
	return rc;
}

static bool in_range(const struct acct_allocation *a)
{
	if (a->n < 1 || a->n > ACCT_ALLOCATE_ROUNDS || !(a->epsilon > 0 && a->delta > 0 && a->delta < 1))
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct acct_loose *r = &a->round[i];

		if (r->most > 0 &&
			!(r->least > 0 && r->least <= r->most && isfinite(r->most) && r->weight > 0 &&
				isfinite(r->weight) && r->nodes >= 2 && r->nodes <= ACCT_ALLOCATE_NODES))
			return false;
	}
	return true;
}

enum acct_rc acct_allocate(const struct acct_allocation *a, bool *found)
{
	struct search s = { .a = a };
	enum acct_rc rc = ACCT_ENOMEM;

	*found = false;
	if (!in_range(a))
		return ACCT_EDOMAIN;
	s.curve = calloc(a->n, sizeof *s.curve);
	s.value = calloc(a->n, sizeof *s.value);
	s.part = calloc(ACCT_ALLOCATE_PARTS, sizeof *s.part);
	if (s.curve && s.value && s.part)
		rc = ACCT_OK;
	set_tilt(&s);
	for (size_t i = 0; i < a->n && !rc; i++)
		if (is_loose(&s, i))
			rc = tabulate(&s, i);
	if (!rc)
		rc = look(&s);
	*found = !rc && s.found;
	free(s.curve);
	free(s.value);
	free(s.part);
	return rc;
}
