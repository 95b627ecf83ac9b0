/* acct_rung.c - computes one round's laws on grids whose steps are powers of two. */
#include "acct_rung.h"

#include <math.h>
#include <string.h>

#include "acct_invert.h"

/* Most work of one round's curve, as much as acct_epsilon gives to a whole question, since it is computed
 * once: half a second and more where few participants make the curve rough, otherwise 10 ms. */
#define LAW_WORK   2e9
#define POINT_WORK 2e6
/* relative width of the points from which acct_rung_init finds a round's deviation and range, before any
 * law is made */
#define MEASURE     1e-3
#define MOST_NODES  4096.0
#define LEAST_NODES 128.0
/* the tilt for which nodes are placed moves the mean by at least this, in standard deviations of the
 * loss */
#define LEAST_SHIFT 0.25

double acct_rung_floor(double x)
{
	int exponent;
	double part = frexp(x, &exponent);

	return ldexp(floor(8 * part), exponent - 3);
}

/* The largest number h 2^j, j >= 0, that is at most x; h if x is less than h. */
static double step_of(double h, double x)
{
	int exponent;

	(void)frexp(x / h, &exponent);
	return x > h ? ldexp(h, exponent - 1) : h;
}

/* The work of a point where it is cut off early, with its widest bounds, in both directions. */
static double least_work(const struct acct_curve *c)
{
	return (c->list.symmetric ? 1 : 2) *
	       (c->exact.outcomes > 0 ? 2 * (double)c->exact.outcomes : acct_invert_least(&c->list));
}

enum acct_rc acct_rung_init(struct acct_rung *r, const struct acct_list *list, double tail)
{
	struct acct_work work = { .per_point = POINT_WORK, .width = MEASURE };
	struct acct_curve curve;
	enum acct_rc rc;

	memset(r, 0, sizeof *r);
	r->list = *list;
	r->tail = tail;
	rc = acct_curve_init(&curve, list);
	curve.work = &work;
	if (!rc) {
		r->deviation = 2 * sqrt(2 * acos(-1)) * acct_curve_about(&curve, 0);
		if (r->deviation > 0)
			r->range = acct_law_range(&curve, tail);
		r->most_nodes = fmin(MOST_NODES, fmax(LEAST_NODES, LAW_WORK / least_work(&curve)));
	}
	acct_curve_fini(&curve);
	return rc;
}

static void drop_laws(struct acct_rung *r)
{
	for (int side = 0; side < ACCT_SIDES; side++)
		acct_law_fini(&r->law[side]);
	r->step = 0;
}

void acct_rung_fini(struct acct_rung *r)
{
	drop_laws(r);
	memset(r, 0, sizeof *r);
}

static enum acct_rc make_laws(struct acct_rung *r, double step, double even, double width)
{
	struct acct_work work = { 0, fmin(POINT_WORK, LAW_WORK / fmax(1, r->range / step)), width };
	struct acct_nodes nodes = { 0 };
	struct acct_curve curve;
	enum acct_rc rc = acct_curve_init(&curve, &r->list);

	curve.work = &work;
	if (!rc && (curve.list.bits.known || curve.classes > 0))
		rc = acct_curve_relist(&curve, 0, 0);
	if (!rc)
		rc = acct_nodes_thinned(&nodes, &curve, step, 1, r->range, even, r->deviation);
	acct_curve_fini(&curve);
	if (!rc)
		rc = acct_law_above(&r->law[ACCT_ABOVE], &nodes);
	if (!rc)
		rc = acct_law_below(&r->law[ACCT_BELOW], &nodes, 0);
	if (!rc && !r->list.symmetric)
		rc = acct_law_below(&r->law[ACCT_SWAPPED], &nodes, 1);
	acct_nodes_fini(&nodes);
	if (rc)
		return rc;
	r->step = r->unit = step;
	r->even = even;
	r->width = width;
	r->work = work.spent;
	return ACCT_OK;
}

enum acct_rc acct_rung_fit(struct acct_rung *r, double h, double resolution, double lean, double width)
{
	double step = step_of(h, resolution * r->deviation), ratio;
	/* The tilt is rounded to a rung, so that the laws stay valid while rounds are added. */
	double shift = fmax(LEAST_SHIFT, 2 * acct_rung_floor(lean * r->deviation)),
	       even = acct_law_even(r->deviation, r->range, r->tail, shift / r->deviation);
	enum acct_rc rc;

	while (r->range > step * r->most_nodes)
		step *= 2;
	if (fabs(step - r->step) > 0 || r->even > even || r->even < even || r->width > width ||
		r->width < width) {
		drop_laws(r);
		rc = make_laws(r, step, even, width);
		if (rc) {
			drop_laws(r);
			return rc;
		}
	}
	ratio = r->unit / h; /* step is a multiple of unit and of h by powers of two; so is their quotient,
				and at[] stays whole */
	for (int side = 0; side < ACCT_SIDES && fabs(ratio - 1) > 0; side++)
		for (size_t j = 0; j < r->law[side].size; j++)
			r->law[side].at[j] = lround((double)r->law[side].at[j] * ratio);
	r->unit = h;
	return ACCT_OK;
}

const struct acct_law *acct_rung_law(const struct acct_rung *r, enum acct_side side)
{
	return &r->law[side == ACCT_SWAPPED && r->list.symmetric ? ACCT_BELOW : side];
}
