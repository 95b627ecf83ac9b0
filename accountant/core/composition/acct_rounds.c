/* acct_rounds.c (acct_composition.h) - composes the rounds of a question from their laws above and below, on
 * ever finer grids. */
#include "acct_composition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_invert.h"

/* grid step, divided by the standard deviation of the composed loss; the relative width of an interval is
 * about the square of it, over 4 */
#define COARSEST 0.04
/* where a grid has too many points, coarser ones are tried up to this step, relative to the deviation */
#define WIDEST        1e7
#define EPSILON_WIDTH 4e-4 /* relative widths at which refinement stops, of epsilon and of delta */
#define DELTA_WIDTH   4e-3
/* stands for the width of an interval without a lower end: larger than any other */
#define NO_END 1e3
#define NODES  256.0 /* number of nodes that a grid is guessed to have */
/* a point of a grid is allowed so many times the work of the one point that was tried */
#define MARGIN  1.5
#define LISTING 150.0 /* work of listing and sorting one outcome */
/* most outcomes of all rounds together; they take 13 MB, or 21 if rounds are not symmetric */
#define MOST_LISTED 524288.0
#define BELOW                                                                                             \
	1e-8 /* a node meets a loss if it is below it by less than this, which is more than the slopes of \
		listed rounds are uncertain by */
#define CHEAP                                                                                                \
	3e8 /* with less work than this every refinement is tried, since intervals on coarse lattices narrow \
	       in leaps */

/* Where few messages hide a round, its loss is nearly always its largest loss.  So change the step a
 * little, until a grid point is at the largest loss of the round with most of the variance: rounding then
 * costs nothing there. */
static double meet_lattice(const struct acct_plan *p, double h)
{
	double most = 0, largest = 0;

	for (size_t i = 0; i < p->parts; i++) {
		double variance = p->part[i].count * p->part[i].deviation * p->part[i].deviation;

		if (variance > most) {
			most = variance;
			largest = p->part[i].curve.list.largest;
		}
	}
	largest -= BELOW;
	return largest > 1e3 * BELOW && largest > h ? largest / ceil(largest / h) : h;
}

/* Choose a grid step for all rounds: the largest for which rounding adds at most res^2/6 of the variance.
 * Rounding a loss of deviation s to the grid adds at most about h^2/6 to its variance, and at most about
 * 0.8 s h. */
static double grid_step(const struct acct_plan *p, double res)
{
	double variance = 0, low = 0, high = 0;

	for (size_t i = 0; i < p->parts; i++) {
		variance += p->part[i].count * p->part[i].deviation * p->part[i].deviation;
		high = fmax(high, res * p->part[i].deviation);
	}
	for (int k = 0; k < 50; k++) {
		double h = (low + high) / 2, added = 0;

		for (size_t i = 0; i < p->parts; i++)
			added += p->part[i].count * fmin(h * h / 6, 0.8 * p->part[i].deviation * h);
		if (added > res * res / 6 * variance)
			high = h;
		else
			low = h;
	}
	return meet_lattice(p, high);
}

struct laws {
	struct acct_law *law;
	struct acct_part *part;
	size_t size;
};

static void laws_fini(struct laws *l)
{
	for (size_t i = 0; i < l->size; i++)
		acct_law_fini(&l->law[i]);
	free(l->law);
	free(l->part);
	memset(l, 0, sizeof *l);
}

static enum acct_rc laws_init(struct laws *l, size_t size)
{
	memset(l, 0, sizeof *l);
	if (size == 0)
		return ACCT_OK;
	/* laws_fini frees it; the analyzer loses track of arrays of laws. */
	l->law = calloc(size, sizeof *l->law); // NOLINT(clang-analyzer-unix.Malloc)
	l->part = calloc(size, sizeof *l->part);
	if (!l->law || !l->part) {
		laws_fini(l);
		return ACCT_ENOMEM;
	}
	l->size = size;
	return ACCT_OK;
}

/* Make the laws of every part at one resolution: from above, and from below in both directions. */
static enum acct_rc make_laws(
	const struct acct_plan *p, double res, double h, double lean, struct laws above, struct laws below[2])
{
	enum acct_rc rc = ACCT_OK;

	for (size_t i = 0; i < p->parts && !rc; i++) {
		const struct acct_rounds *part = &p->part[i];
		double least = part->range / (h * p->most_nodes),
		       stride = fmax(1, floor(fmax(res * part->deviation / h, least)));
		double even = acct_law_even(part->deviation, part->range, p->tail, lean);
		struct acct_nodes nodes;

		rc = acct_nodes_thinned(
			&nodes, &part->curve, h, (long)stride, part->range, even, part->deviation);
		if (!rc)
			rc = acct_law_above(&above.law[i], &nodes);
		for (int way = 0; way < (p->symmetric ? 1 : 2) && !rc; way++)
			rc = acct_law_below(&below[way].law[i], &nodes, way);
		acct_nodes_fini(&nodes);
		above.part[i] = (struct acct_part){ &above.law[i], part->count };
		for (int way = 0; way < 2; way++)
			below[way].part[i] = (struct acct_part){ &below[way].law[i], part->count };
	}
	return rc;
}

/* Tighten *out by a sum of the laws from above: it is epsilon if aim.delta is a number, else delta. */
static void read_above(const struct acct_plan *p, const struct acct_sum *sum, struct acct_aim aim,
	size_t *from, struct acct_bound *out)
{
	double shift = acct_plan_blur(p), bound;

	if (isnan(aim.delta)) {
		bound = acct_sum_delta_above(sum, fmax(0, aim.epsilon - shift)) +
			fmax(0, shift - aim.epsilon); /* where epsilon - shift is below 0 take delta(0), and
							 add how far below: delta rises by at most that */
	} else {
		bound = acct_sum_epsilon_above(sum, aim.delta, from) * (1 + 1e-12) + shift;
		if (acct_sum_delta_above(sum, 0) + shift <= aim.delta)
			bound = 0;
	}
	out->upper = fmin(out->upper, bound);
}

static void read_below(const struct acct_plan *p, const struct acct_sum *sum, struct acct_aim aim,
	size_t *from, struct acct_bound *out)
{
	double shift = acct_plan_blur(p);
	double bound = isnan(aim.delta) ? acct_sum_delta_below(sum, aim.epsilon + shift)
					: acct_sum_epsilon_below(sum, aim.delta, from) * (1 - 1e-12) - shift;

	out->lower = fmax(out->lower, bound);
}

static double width_of(const struct acct_bound *b)
{
	return (b->upper - b->lower) / b->upper;
}

/* Compose the laws with the tilt that suits target i.  The bounds read from the sum hold everywhere, so
 * read them for every target that is not done. */
static enum acct_rc compose_one(struct acct_plan *p, double h, const struct laws *above,
	const struct laws below[2], struct acct_target *target, size_t targets, size_t i)
{
	struct acct_sum sum = { 0 };
	size_t from = SIZE_MAX;
	enum acct_rc rc = acct_sum_init(&sum, above->part, p->parts, h, target[i].aim);

	p->work.spent += sum.work;
	for (size_t j = 0; j < targets && !rc; j++)
		if (!target[j].done)
			read_above(p, &sum, target[j].aim, &from, &target[j].out);
	for (int way = 0; way < (p->symmetric ? 1 : 2) && !rc; way++) {
		from = SIZE_MAX;
		acct_sum_fini(&sum);
		rc = acct_sum_init(&sum, below[way].part, p->parts, h, target[i].aim);
		p->work.spent += sum.work;
		for (size_t j = 0; j < targets && !rc; j++)
			if (!target[j].done)
				read_below(p, &sum, target[j].aim, &from, &target[j].out);
	}
	acct_sum_fini(&sum);
	return rc;
}

/* Estimate from above the largest tilt that a target asks for: that of a normal law of the same
 * variance. */
static double leaning(const struct acct_plan *p, const struct acct_target *target, size_t targets)
{
	double variance = 0, most = 0;

	for (size_t i = 0; i < p->parts; i++)
		variance += p->part[i].count * p->part[i].deviation * p->part[i].deviation;
	for (size_t i = 0; i < targets; i++)
		most = fmax(most, isnan(target[i].aim.delta)
					  ? target[i].aim.epsilon / variance
					  : sqrt(-2 * log(target[i].aim.delta) / variance));
	return most;
}

/* Compose at one resolution, and tighten every target that is not done. */
static enum acct_rc compose(
	struct acct_plan *p, double res, double goal, struct acct_target *target, size_t targets)
{
	double h = grid_step(p, res);
	struct laws above = { 0 }, below[2] = { { 0 } };
	enum acct_rc rc = laws_init(&above, p->parts);

	if (!rc)
		rc = laws_init(&below[0], p->parts);
	if (!rc)
		rc = laws_init(&below[1], p->parts);
	if (!rc)
		rc = make_laws(p, res, h, leaning(p, target, targets), above, below);
	for (size_t i = 0; i < targets && !rc; i++) {
		if (target[i].done)
			continue;
		rc = compose_one(p, h, &above, below, target, targets, i);
		/* A sum that was made for another target may be too wide for this one: only a narrow
		 * interval is final. */
		for (size_t j = 0; j < targets && !rc; j++)
			target[j].done = target[j].done || width_of(&target[j].out) <= goal;
		if (!rc && !(width_of(&target[i].out) > goal))
			target[i].done =
				true; /* if the upper end is infinite, another grid does not change it */
	}
	laws_fini(&above);
	laws_fini(&below[0]);
	laws_fini(&below[1]);
	return rc;
}

/* Number of points of a part's curve that a grid at resolution res needs. */
static double points(const struct acct_plan *p, const struct acct_rounds *part, double res)
{
	double nodes = fmin(part->range / (res * part->deviation), p->most_nodes);

	return nodes * (part->curve.list.symmetric ? 1 : 2);
}

/* Estimate from above the work of one point of a part's curve, in both directions. */
static double point_work(const struct acct_rounds *part)
{
	const struct acct_curve *c = &part->curve;
	double ways = c->list.symmetric ? 1 : 2, least = ways * acct_invert_least(&c->list);

	if (c->exact.order || c->exact.outcomes > 0)
		return ways * acct_exact_work(&c->exact);
	return part->probe > 0 ? fmin(least, MARGIN * part->probe) : least;
}

/* Divide `most` work among the parts: first choose the number of nodes, since a point has a least cost, and
 * then the work for each point. */
static void share_work(struct acct_plan *p, double res, double most)
{
	double least = 0, sum = 0;

	for (size_t i = 0; i < p->parts; i++)
		least += point_work(&p->part[i]);
	p->most_nodes = fmin(4096, fmax(128, most / least));
	for (size_t i = 0; i < p->parts; i++)
		sum += points(p, &p->part[i], res);
	p->work.per_point = most / sum;
}

/* List the outcomes of each round for which that is less work than inverting at the nodes of a grid. */
static enum acct_rc list_outcomes(struct acct_plan *p, double missed)
{
	enum acct_rc rc = ACCT_OK;
	double room = MOST_LISTED;

	p->work.per_point = ACCT_PROBE(p->parts);
	for (size_t i = 0; i < p->parts && !rc && p->work.spent < ACCT_MOST_WORK / 4; i++) {
		struct acct_curve *c = &p->part[i].curve;

		if (c->list.event != ACCT_SHUFFLED)
			continue;
		double spent = p->work.spent, most = fmax(0.8 * room, room / (double)(p->parts - i));

		if (!c->exact.order) {
			(void)acct_curve_upper(c, p->part[i].deviation);
			p->part[i].probe = p->work.spent - spent;
			most = fmin(most, p->part[i].probe * NODES / LISTING);
		}
		if (!c->exact.order || c->exact.missed > missed) {
			rc = acct_curve_relist(c, missed, (size_t)most + 1);
			if (!rc && c->exact.outcomes > 0 && (double)c->exact.outcomes <= most + 1 &&
				!c->exact.order)
				rc = acct_exact_order(&c->exact, c->list.symmetric);
			p->work.spent +=
				c->exact.order ? LISTING * (double)c->exact.outcomes : LISTING / 30 * most;
		}
		room -= c->exact.order ? (double)c->exact.outcomes : 0;
	}
	return rc;
}

/* The width of the widest target that is not done: log of upper over lower end; 0: all are done.  It is the
 * relative distance of ends that are close, and it also falls while they are decades apart. */
static double widest(const struct acct_target *target, size_t targets)
{
	double width = 0;

	for (size_t i = 0; i < targets; i++) {
		const struct acct_bound *b = &target[i].out;

		if (!target[i].done)
			width = fmax(width, b->lower > 0 ? log(b->upper / b->lower) : NO_END);
	}
	return width;
}

/* Refine until the intervals are narrow, or do not get narrower, or the next step would take too much work.
 * If a resolution does not fit, the previous answer stays. */
enum acct_rc acct_rounds_refine(
	struct acct_plan *p, struct acct_target *target, size_t targets, double tail, int steps)
{
	double goal = isnan(target[0].aim.delta) ? DELTA_WIDTH : EPSILON_WIDTH, width = INFINITY, last = 0;
	double coarsest = COARSEST;
	int stalled = 0;
	enum acct_rc rc = ACCT_OK;

	double per_point = p->work.per_point;
	rc = list_outcomes(p, 1e-3 * tail / p->rounds);
	if (rc)
		return rc;
	p->work.per_point = per_point;
	p->tail = tail / p->rounds;
	for (size_t i = 0; i < p->parts; i++)
		p->part[i].range = acct_law_range(&p->part[i].curve, p->tail);
	for (size_t i = 0; i < targets; i++)
		target[i].done = false;
	for (int i = 0; i < steps; i++) {
		double res = coarsest / (double)(1 << i), before = width, spent = p->work.spent;

		if (i > 0 && spent + 2 * last > ACCT_MOST_WORK)
			break;
		share_work(p, res, (i == 0 ? 0.8 : 0.5) * fmax(0, ACCT_MOST_WORK - spent));
		rc = compose(p, res, goal, target, targets);
		/* If the only loss is infinite, the finite losses may be only rounding.  They make the step
		 * too small, and the grid too large: try larger steps. */
		while (rc == ACCT_ELIMIT && i == 0 && coarsest < WIDEST &&
			p->work.spent < ACCT_MOST_WORK / 2) {
			coarsest *= 32;
			rc = compose(p, coarsest, goal, target, targets);
		}
		if (rc)
			return i > 0 && rc != ACCT_ENOMEM ? ACCT_OK : rc;
		last = p->work.spent - spent;
		width = widest(target, targets);
		stalled += width > 0.8 * before;
		/* If the bounds of single rounds are already apart, and one finer grid did not help, no
		 * finer grid will. */
		if (!(width > goal) || (p->loose && stalled > 0) ||
			(stalled >= 2 && (!p->symmetric || p->work.spent > CHEAP)))
			break;
	}
	return rc;
}
