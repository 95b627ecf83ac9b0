/* acct_hull.c - the curve of a profile: straight in y = tanh(eps/2) between the corners of the convex hull of
 * its points, (1, 0) among them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_central.h"

#define ULP 0x1p-53
/* H of a corner, and a mean of two with weights from acct_gap, are off by less. */
#define OFF (64 * ULP)

/* The corners of one direction: H at `loss`, the first at 0. */
struct chain {
	double *loss, *value;
	size_t size;
};

struct acct_hull {
	struct chain way[2];
	bool both; /* way[1] is used; else both directions are way[0] */
	bool exact;
};

static bool same_numbers(const double *a, const double *b, size_t n)
{
	return a == b || (a && b && memcmp(a, b, n * sizeof *a) == 0);
}

bool acct_profile_equal(const struct acct_profile *a, const struct acct_profile *b)
{
	if (a == b || !a || !b)
		return a == b;
	return a->points == b->points && a->exact == b->exact &&
	       same_numbers(a->epsilon, b->epsilon, a->points) &&
	       same_numbers(a->delta[0], b->delta[0], a->points) &&
	       same_numbers(a->delta[1], b->delta[1], a->points);
}

/* 1 - y at a loss. */
static double to_one(double loss)
{
	return 2 * exp(-loss) / (1 + exp(-loss));
}

/* y_b - y_a, a <= b. */
static double gap(double a, double b)
{
	return 2 * exp(-a) * -expm1(a - b) / ((1 + exp(-a)) * (1 + exp(-b)));
}

/* The fall of the chord from corner i to a point: per unit of y. */
static double fall(const struct chain *c, size_t i, double loss, double value)
{
	return (c->value[i] - value) / gap(c->loss[i], loss);
}

/* Add a point; corners that it leaves above the hull are dropped. */
static void add(struct chain *c, double loss, double value)
{
	while (c->size >= 2 && fall(c, c->size - 2, loss, value) >=
				       fall(c, c->size - 2, c->loss[c->size - 1], c->value[c->size - 1]))
		c->size--;
	c->loss[c->size] = loss;
	c->value[c->size++] = value;
}

static enum acct_rc chain_init(struct chain *c, const double *epsilon, const double *delta, size_t n)
{
	c->loss = calloc(n + 1, sizeof *c->loss);
	c->value = calloc(n + 1, sizeof *c->value);
	if (!c->loss || !c->value)
		return ACCT_ENOMEM;
	if (epsilon[0] > 0)
		add(c, 0, 0.5);
	for (size_t i = 0; i < n; i++)
		add(c, epsilon[i], delta[i] * to_one(epsilon[i]) / 2);
	/* A corner above the line from the one before it to (1, 0). */
	while (c->size >= 2 && c->value[c->size - 1] * to_one(c->loss[c->size - 2]) >=
				       c->value[c->size - 2] * to_one(c->loss[c->size - 1]))
		c->size--;
	return ACCT_OK;
}

void acct_hull_free(struct acct_hull *hull)
{
	for (int way = 0; hull && way < 2; way++) {
		free(hull->way[way].loss);
		free(hull->way[way].value);
	}
	free(hull);
}

enum acct_rc acct_hull_new(const struct acct_profile *p, struct acct_hull **hull)
{
	struct acct_hull *h = calloc(1, sizeof *h);
	enum acct_rc rc = ACCT_OK;

	*hull = h;
	if (!h)
		return ACCT_ENOMEM;
	h->both = p->delta[1] != NULL;
	h->exact = p->exact;
	for (int way = 0; way < (h->both ? 2 : 1) && !rc; way++)
		rc = chain_init(&h->way[way], p->epsilon, p->delta[way], p->points);
	return rc;
}

/* The last corner at or below eps. */
static size_t before(const struct chain *c, double eps)
{
	size_t low = 0, high = c->size;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (c->loss[middle] <= eps)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void acct_hull_at(const struct acct_hull *hull, double eps, bool swap, struct acct_point *at)
{
	const struct chain *c = &hull->way[swap && hull->both ? 1 : 0];
	size_t i = before(c, eps);
	bool last = i + 1 == c->size;
	double whole = last ? to_one(c->loss[i]) : gap(c->loss[i], c->loss[i + 1]);
	double next = last ? 0 : c->value[i + 1],
	       left = (last ? to_one(eps) : gap(eps, c->loss[i + 1])) / whole;
	double value = left * c->value[i] + (last ? 0 : gap(c->loss[i], eps) / whole * next);

	*at = (struct acct_point){ .hi = value * (1 + OFF) };
	if (!hull->exact)
		return;
	at->lo = value * (1 - OFF);
	at->slope = (c->value[i] - next) / whole;
	at->slope_err = OFF * (c->value[i] + next) / whole;
}
