/* acct_invert.c - computes one point of a round's privacy curve by inverting the transform of the blanket
 * variable.
 *
 * M is the number of blanket messages; x_j = (u_j - E v_j)/(1+E) belongs to a message of cell j; S is the
 * sum of x over the M messages, and U a normal number with variance tau^2, which smooths the law of S.
 * Then
 *     value  = E[x_1 ; S+U > 0]      a test between P and Q, so at most H,
 *     excess = E[tau^2 f(0) / M]     f the density of S+U; value + excess >= H by Jensen.
 * Both are integrals of factor(z) prod B_i(z)^count_i C(z)^dummies exp(tau^2 z^2/2) along z = c + it
 * (acct_invert.h). */
#include "acct_invert.h"

#include <math.h>
#include <string.h>

#include "acct_path.h"

#define GAUSS_END 7.5 /* the sum ends at this tau * t at the latest: there exp(-(tau t)^2/2) < 1e-12 */
#define LEAST_OUT 12.0
/* largest exponent q of the nodes that may be left out: those below e^-q of the top (left_out in struct
 * acct_path) */
#define LEFT_OUT    35.0
#define MOST_STEPS  131072.0
#define LEAST_NODES 64.0

/* The work, in nanoseconds roughly, of a node whose terms are added, and of a node that is only
 * screened. */
#define NODE_WORK(l) (60 + 40 * (double)(l)->cells + 30 * (double)(l)->groups)
#define STEP_WORK(l) (5 + 3 * (double)(l)->cells)

struct sums {
	struct acct_sums of;
	double work;
	double steps; /* number of the node at which the sum was given up */
};

static void add_node(struct acct_line *f, double t, double step, struct sums *sum)
{
	acct_line_add(f, t, step, &sum->of);
	sum->work += NODE_WORK(f->path->list);
}

/* Add what the sums lack: skipped nodes, given by their sums of dt/(pi t) and of dt/pi; everything beyond
 * t, where only the Gaussian decays (integrals of exp(-(tau t)^2/2)/t and of exp(-(tau t)^2/2)); and the
 * rounding of the sums. */
static void add_missing(const struct acct_path *w, const struct acct_screen *f, const double bound[3],
	double skipped_t, double skipped_1, double t, struct acct_sums *sum)
{
	double a = w->tau * t, tail = exp(w->left_out - a * a / 2) / (a * a) / acos(-1);

	skipped_t += tail;
	skipped_1 += tail * t;
	double adding = sum->nodes * ACCT_ULP;
	sum->value_err += exp(bound[0] - w->left_out) * skipped_t + adding * sum->value_size;
	sum->slope_err += exp(bound[1] - w->left_out) * skipped_t + adding * sum->slope_size;
	sum->excess_err +=
		exp(bound[2] - w->left_out) * (w->more_rest + w->more_scale * f->total) * skipped_1 +
		adding * sum->excess_size;
}

/* The sum ends where tau * t is this: what the Gaussian leaves there is negligible. */
static double last_node(const struct acct_path *w)
{
	return fmin(GAUSS_END, sqrt(2 * w->left_out));
}

/* The nodes of a sum.  skipped_t and skipped_1 are the sums of dt/(pi t) and of dt/pi over the nodes that
 * were skipped. */
struct nodes {
	struct acct_screen screen;
	struct acct_line line;
	double step, weight; /* weight is step/pi */
	size_t last;
	double skipped_t, skipped_1;
};

/* Count `some` nodes as skipped.  The first of them is number k or a later one, so 1/t is at most that of
 * k. */
static void skip(struct nodes *n, size_t k, double some)
{
	n->skipped_t += some / ((double)k * acos(-1));
	n->skipped_1 += some * n->weight;
}

/* Look at four nodes from k on, and add those that are not negligible.  Returns the next node. */
static size_t look(struct nodes *n, const struct acct_path *w, size_t k, struct sums *sum)
{
	bool negligible[ACCT_LANES];
	double reach = acct_screen_look(&n->screen, w, (double)k * n->step, negligible), skipped = 0;
	size_t i;

	for (i = 0; i < ACCT_LANES && k <= n->last; i++, k++)
		if (negligible[i])
			skipped++;
		else
			add_node(&n->line, (double)k * n->step, n->weight, sum);
	if (reach > n->step && k <= n->last) {
		double more = fmin(reach / n->step, (double)(n->last + 1 - k));

		skipped += (double)(size_t)more;
		skip(n, k - i, skipped);
		return k + (size_t)more;
	}
	skip(n, k - i, skipped);
	return k;
}

/* Compute the trapezoid sums.  A skipped node counts as exp(-left_out) of the largest modulus.  Returns
 * false if it gave up because that takes more than `most` work. */
static bool integrate(const struct acct_path *w, double most, struct sums *sum)
{
	double pi = acos(-1), step = 2 * pi / w->period, end = last_node(w) / w->tau, bound[3];
	struct nodes n;

	n.step = step;
	n.weight = step / pi;
	n.last = (size_t)fmin(ceil(end / step), MOST_STEPS);
	n.skipped_t = n.skipped_1 = 0;
	memset(sum, 0, sizeof *sum);
	acct_path_chernoff(w, w->c, bound);
	acct_screen_init(&n.screen, w, step);
	acct_line_init(&n.line, w);
	add_node(&n.line, 0, step / (2 * pi), sum);
	for (size_t k = 1; k <= n.last;) {
		double t = (double)k * step;
		bool loud = t <= n.screen.loud_to;

		sum->work += (loud ? 1 : ACCT_LANES) * STEP_WORK(w->list);
		sum->steps = (double)k;
		if (sum->work > most)
			return false;
		if (loud) {
			add_node(&n.line, t, n.weight, sum);
			k++;
			continue;
		}
		if (t > n.screen.quiet_from && t < n.screen.quiet_to) {
			double to = fmin((double)n.last, floor(n.screen.quiet_to / step));

			to = fmax(to, (double)k);
			skip(&n, k, to - (double)k);
			k = (size_t)to;
		}
		k = look(&n, w, k, sum);
	}
	acct_line_end(&n.line, &sum->of);
	add_missing(w, &n.screen, bound, n.skipped_t, n.skipped_1, (double)n.last * step, &sum->of);
	return true;
}

/* Compute the bounds at one point from its sums. */
static void enclose(const struct acct_path *w, const struct acct_sums *sum, const double alias[2],
	double spread, struct acct_point *at)
{
	/* The trapezoid rule also counts the aliases to the left, a geometric series of the whole mass,
	 * which is -y for the value and 1 for the slope: subtract it.  What each lacks of the whole mass is
	 * a Chernoff tail. */
	double correction = 1 / expm1(w->c * w->period),
	       err = (1e-13 + 16 * ACCT_ULP * w->c * w->period) * correction;

	at->lo = sum->value + w->y * correction - alias[0] - sum->value_err - err;
	at->hi = sum->value + w->y * correction + alias[0] + sum->value_err + err + spread;
	at->slope = sum->slope - correction;
	at->slope_err = alias[1] + sum->slope_err + err + 1e-13 * fabs(at->slope);
	at->lo -= 1e-13 * fabs(at->lo);
	at->hi += 1e-13 * fabs(at->hi);
}

/* Choose left_out, below which share of the top nodes are left out.  They may cost value and slope, whose
 * sizes are given, about a hundredth of `more`, by which the goal exceeds the least width.  Skipped nodes
 * add up to about 30 times the largest of them. */
static void leave_out(struct acct_path *w, double more, double value, double slope)
{
	double bound[3], least;

	w->left_out = LEFT_OUT;
	if (!(more > 0))
		return;
	acct_path_chernoff(w, w->c, bound);
	least = log(3000 / more) + fmax(bound[0] - log(value), bound[1] - log(slope));
	if (least < LEFT_OUT) /* false for a NaN */
		w->left_out = fmax(least, LEAST_OUT);
}

/* Choose the period of the trapezoid rule, and with it tau, so wide that the sum ends within `steps`: tau
 * is a part of the aliases' bounds, so each depends on the other. */
static void aim(struct acct_path *w, double steps, double scale, double alias[2])
{
	for (int i = 0; i < 3; i++) {
		acct_path_period(w, scale, alias);
		double least = last_node(w) * w->period / (2 * acos(-1) * steps);
		if (w->tau >= least || i == 2)
			break;
		w->tau = least;
	}
}

double acct_invert_within(
	const struct acct_list *l, double eps, bool swap, double most, double width, struct acct_point *at)
{
	double largest = -INFINITY, alias[2], work = 0;
	struct acct_path w;
	struct sums sum;

	*at = (struct acct_point){ 0, 0, 0, 0 };
	acct_path_init(&w, l, eps, swap);
	for (size_t j = 0; j < w.cells; j++)
		largest = fmax(largest, w.x[j]);
	if (largest <= 0)
		return 0;
	at->hi = INFINITY;
	if (!acct_path_saddle(&w))
		return 0;

	/* scale: about the value, if S is nearly normal.  turn: a relative error e of delta moves epsilon
	 * by a relative e/turn. */
	double turn = fmax(1, w.c * w.c * w.width * w.width), messages = l->mean + l->blanket + l->dummies;
	double scale = exp(w.top) / (w.c * w.c * sqrt(2 * acos(-1)) * w.width) * l->blanket / messages;
	double goal = width * turn, nodes = fmax(LEAST_NODES, most / NODE_WORK(w.list) / 4);
	/* if there are levels, the bound of 1/M (settle_more in acct_path.c) makes the excess too large by
	 * this factor */
	double excess = fmax(1, w.per_message * messages / l->blanket);
	w.tau = fmin(0.3, sqrt(goal / turn / excess)) * w.width;
	leave_out(&w, goal - ACCT_INVERT_WIDTH * turn, scale,
		exp(w.top) / (w.c * sqrt(2 * acos(-1)) * w.width));
	for (int i = 0; i < 4; i++) {
		aim(&w, MOST_STEPS, scale, alias);
		bool done = integrate(&w, i == 0 ? most / 2 : most - work, &sum);
		work += sum.work;
		if (!done && i > 0)
			break;
		/* smooth more: first so much that the sum ends after no more nodes than it took, and then
		 * after few */
		if (!done) {
			aim(&w, fmax(nodes, 0.8 * sum.steps), scale, alias);
			bool again = integrate(&w, most - work, &sum);
			work += sum.work;
			if (!again) {
				aim(&w, nodes, scale, alias);
				(void)integrate(&w, INFINITY, &sum);
				work += sum.work;
			}
		}
		double spread = w.tau * w.tau * w.per_message * (sum.of.excess + sum.of.excess_err);

		enclose(&w, &sum.of, alias, spread, at);
		/* Less smoothing helps only as long as smoothing is what makes the interval wide, and as
		 * long as the sum ends. */
		double gap = (at->hi - at->lo) / at->hi, next = w.tau * fmax(0.05, 0.7 * goal / gap);
		if (!done || !(gap > 3 * goal) || spread < 0.5 * gap * at->hi ||
			last_node(&w) / next * w.period > 6 * MOST_STEPS)
			break;
		w.tau = next;
	}
	return work;
}

double acct_invert_least(const struct acct_list *l)
{
	return LEAST_NODES * NODE_WORK(l);
}
