/* acct_places.c - the largest loss of places whose laws are known, but not which one is the victim's.
 *
 * With S = X_1 + .. + X_N, delta = (1/N) E S+.  E S+ <= E V+, V = S + U, U normal (Jensen).  The function
 * g(x) = max(x, 0) e^(-cx) is nowhere above the sum of its copies at distance T, whose Fourier series is that
 * of the trapezoid rule: E V+ = E e^(cV) g(V) <= (1/T) sum_k M(c + 2 pi i k/T) / (c + 2 pi i k/T)^2,   M(z) =
 * E e^(zV), for every c, T > 0.  M is the product of the places' transforms, hence the exponential of a
 * linear function of the numbers of the kinds.  Two bounds hold for all numbers at once.
 *
 * 1. The sum of moduli is convex in the numbers, so it is largest where all places are of one kind.
 * 2. On a simplex with values f_j at its corners let part_j be the shares of the corners, a_j the exponents
 * of a node there, and a their mean.  By Taylor about a, f <= sum part_j (f_j + |a_j - a|^2/2 times the
 * largest modulus), and sum part_j |a_j - a|^2 <= sum part_j |a_j - a_r|^2 for any r.  So f is at most the
 * largest f_j + B_j/2, B_j the sum over nodes of the largest modulus times |a_j - a_r|^2: a kind that loses
 * less by B_j/2 does not count.  Between two corners, f is at most the larger value and B/8.
 *
 * The two kinds that lose most may lose the same.  The edge between them is cut into equal parts, and the
 * simplex with it; r is the first end of a part.  With A_j the sum of n^2 |a_j - a_worst|^2 and C_j that of
 * the inner product of this difference and the edge, |a_j - a_r|^2 gives A_j - 2 part C_j + part^2 A_second.
 *
 * Kinds that lose less are left out first.  X <= X' + a in increasing convex order, which is that of E (X -
 * t)+ for every t, means E (X + s)+ <= E (X' + a + s)+ for every s, hence for s the sum of the other places.
 * So places of X may all be taken for such of X', and every one of them moves S by a at most.  Here a is less
 * than 128 ulps of the range, which acct_places_sum.c charges. */
#include "acct_places.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "acct_ends.h"
#include "acct_places_sum.h"

#define NODES  16384
#define SMOOTH 40.0 /* deviation of S over that of U: epsilon rises by about 1/(2 SMOOTH^2) */
#define WITHIN 1.02 /* factor within which the saddle is found */
#define ULP    0x1p-53

static void tilt(struct acct_tilted *k, double c)
{
	double sum = 0, square = 0, more = 0;

	for (size_t i = 0; i < k->atoms; i++) {
		double gain = expm1(c * k->x[i]);

		more += k->p[i] * gain;
		k->w[i] = k->p[i] + k->p[i] * gain;
	}
	for (size_t i = 0; i < k->atoms; i++) {
		k->w[i] /= 1 + more;
		sum += k->w[i] * k->x[i];
	}
	for (size_t i = 0; i < k->atoms; i++)
		square += k->w[i] * (k->x[i] - sum) * (k->x[i] - sum);
	k->log_m = log1p(more);
	k->mean = sum;
	k->variance = square;
}

/* E (X - t)+, to 32 ulps of itself. */
static double beyond(const struct acct_tilted *k, double t)
{
	double sum = 0;

	for (size_t i = 0; i < k->atoms; i++)
		sum += k->p[i] * fmax(0, k->x[i] - t);
	return sum;
}

/* Is E (X - t)+ of `a` nowhere above that of `b` moved by `far`?  Where far is 64 ulps of the range and the
 * answer is yes, rounding hides less than as much again: E (X - t)+ changes by far P(X > t) at least, and is
 * at most the range times that.  The difference is a broken line that is level at its lower end, and has its
 * least at a corner of `b` or there. */
static bool covers(const struct acct_tilted *b, const struct acct_tilted *a, double far)
{
	double least = b->x[0] + far;

	for (size_t j = 0; j < b->atoms; j++) {
		if (!(beyond(a, b->x[j] + far) <= beyond(b, b->x[j])))
			return false;
		least = fmin(least, b->x[j] + far);
	}
	for (size_t j = 0; j < a->atoms; j++)
		least = fmin(least, a->x[j]);
	return beyond(a, least) <= beyond(b, least - far);
}

/* Keep the kinds that no other covers, by falling variance. */
static void leave_out(struct acct_places_sum *s, size_t kinds)
{
	for (size_t i = 0; i < kinds; i++) {
		size_t widest = i;
		bool covered = false;

		for (size_t j = i + 1; j < kinds; j++)
			if (s->kind[j].plain > s->kind[widest].plain)
				widest = j;
		if (widest != i) {
			struct acct_tilted k = s->kind[i];

			s->kind[i] = s->kind[widest];
			s->kind[widest] = k;
		}
		for (size_t j = 0; j < s->kinds && !covered; j++)
			covered = covers(&s->kind[j], &s->kind[i], 64 * ULP * s->range);
		if (!covered)
			s->kind[s->kinds++] = s->kind[i];
	}
	s->kind[s->kinds] = s->kind[kinds];
}

static void set_kinds(struct acct_places_sum *s, const struct acct_places *of)
{
	double low = 0, high = 0;

	memset(s, 0, sizeof *s);
	s->n = of->free;
	s->fixed = of->fixed;
	for (size_t i = 0; i < of->kinds + (s->fixed > 0 ? 1 : 0); i++) {
		struct acct_tilted *to = &s->kind[i];
		double all = 0;

		to->atoms = of->kind[i].atoms;
		for (size_t j = 0; j < to->atoms; j++)
			all += of->kind[i].p[j];
		for (size_t j = 0; j < to->atoms; j++) {
			to->p[j] = of->kind[i].p[j] / all;
			to->x[j] = of->kind[i].x[j];
			low = fmin(low, to->x[j]);
			high = fmax(high, to->x[j]);
		}
		tilt(to, 0);
		to->plain = to->variance;
	}
	s->range = high - low;
	leave_out(s, of->kinds);
	s->tau = sqrt(s->n * s->kind[0].plain) / SMOOTH;
}

/* The first two derivatives of log E e^cV where all places are of this kind. */
static void slopes(const struct acct_places_sum *s, const struct acct_tilted *k, double c, double slope[2])
{
	const struct acct_tilted *fixed = &s->kind[s->kinds];

	slope[0] = s->n * k->mean + s->tau * s->tau * c;
	slope[1] = s->n * k->variance + s->tau * s->tau;
	if (s->fixed > 0) {
		slope[0] += s->fixed * fixed->mean;
		slope[1] += s->fixed * fixed->variance;
	}
}

static double log_moment(const struct acct_places_sum *s, const struct acct_tilted *k)
{
	return s->n * k->log_m + (s->fixed > 0 ? s->fixed * s->kind[s->kinds].log_m : 0) +
	       s->tau * s->tau * s->c * s->c / 2;
}

/* Sets s->c to about the least of log E e^cV - 2 log c; any c is sound.  c range < 300. */
static void choose_c(struct acct_places_sum *s, struct acct_tilted *k)
{
	double low = 0, high = 300 / s->range, c = 0, slope[2];

	for (int i = 0; i < 40 && high > low * WITHIN; i++) {
		tilt(k, c);
		if (s->fixed > 0)
			tilt(&s->kind[s->kinds], c);
		slopes(s, k, c, slope);
		if (i > 0)
			*(c * slope[0] < 2 ? &low : &high) = c;
		/* Were V normal, the root of c' (K' + (c' - c) K'') = 2. */
		double b = slope[0] - slope[1] * c, root = sqrt(b * b + 8 * slope[1]),
		       next = b > 0 ? 4 / (b + root) : (root - b) / (2 * slope[1]);
		if (!(next > low && next < high))
			next = low > 0 ? sqrt(low * high) : high / 16;
		if (i > 0 && next < c * WITHIN && next * WITHIN > c)
			break;
		c = next;
	}
	s->c = c;
	tilt(k, c);
	if (s->fixed > 0)
		tilt(&s->kind[s->kinds], c);
}

/* The kind that loses most at s->c: all are tilted by it. */
static struct acct_tilted *worst_of(struct acct_places_sum *s)
{
	struct acct_tilted *worst = &s->kind[0];

	for (size_t i = 0; i < s->kinds; i++) {
		tilt(&s->kind[i], s->c);
		if (s->kind[i].log_m > worst->log_m)
			worst = &s->kind[i];
	}
	return worst;
}

/* c and T for the kind that loses most; any are sound for all. */
static void choose(struct acct_places_sum *s)
{
	struct acct_tilted *worst = &s->kind[0], *before;
	double deviation, power, slope[2];

	choose_c(s, worst);
	before = worst;
	worst = worst_of(s);
	if (worst != before) {
		choose_c(s, worst);
		worst = worst_of(s);
	}
	s->worst = (size_t)(worst - s->kind);
	s->second = s->worst > 0 ? 0 : s->kinds > 1 ? 1 : 0;
	for (size_t i = 0; i < s->kinds; i++)
		if (i != s->worst && s->kind[i].log_m > s->kind[s->second].log_m)
			s->second = i;
	power = s->top = log_moment(s, worst);
	slopes(s, worst, s->c, slope);
	deviation = sqrt(slope[1] + 2 / (s->c * s->c));
	/* E V+ is about e^power / (c^2 deviation), the first copy below adds at most T e^-cT. */
	s->period = fmax(9 * deviation, (16 - fmin(0, power) + log(1 + s->c * deviation)) / s->c);
}

static double all_of(const acct_lanes *a)
{
	return ((*a)[0] + (*a)[1]) + ((*a)[2] + (*a)[3]);
}

/* The largest value on the simplex, cut into parts along the edge: bound 2. */
static double along_edge(const struct acct_places_sum *s)
{
	double square = s->n * s->n * (1 + 1e-9), whole = square * all_of(&s->kind[s->second].apart),
	       largest = all_of(&s->kind[s->worst].value);

	for (size_t i = 0; i < ACCT_PLACES_EDGE && s->kinds > 1; i++) {
		double part = (double)i / ACCT_PLACES_EDGE,
		       low = all_of(i > 0 ? &s->edge[i] : &s->kind[s->worst].value),
		       high = all_of(i + 1 < ACCT_PLACES_EDGE ? &s->edge[i + 1] : &s->kind[s->second].value);

		largest = acct_larger(largest,
			s->kinds > 2
				? low
				: acct_larger(low, high) + whole / (8 * ACCT_PLACES_EDGE * ACCT_PLACES_EDGE));
		if (s->kinds > 2)
			largest = acct_larger(
				largest, high + whole / (2 * ACCT_PLACES_EDGE * ACCT_PLACES_EDGE));
		for (size_t j = 0; j < s->kinds; j++) {
			const struct acct_tilted *k = &s->kind[j];
			double apart = square * all_of(&k->apart),
			       far = apart - 2 * part * square * all_of(&k->along) + part * part * whole +
				     1e-9 * (apart + whole);

			if (j != s->worst && j != s->second)
				largest = acct_larger(largest, all_of(&k->value) + far / 2);
		}
	}
	return largest;
}

static double largest_of(struct acct_places_sum *s, double most, double *work)
{
	double step = 2 * acos(-1) / s->period, moduli = 0, error = 0, rest;
	size_t last = (size_t)fmin(2.0 * NODES, ceil(sqrt(2 * ACCT_PLACES_NEGLECTED) / s->tau / step));

	*work += 1000 * (double)s->kinds;
	if (last > NODES || !acct_places_add_up(s, step, last, most, work))
		return INFINITY;
	for (size_t i = 0; i < s->kinds; i++) {
		moduli = acct_larger(moduli, all_of(&s->kind[i].moduli));
		error = acct_larger(error, all_of(&s->kind[i].error)); /* convex, too */
	}
	/* What is left out: nodes up to `last`, and beyond it sum 2/t^2 <= 2/(step^2 last). */
	rest = 2 * exp(-ACCT_PLACES_NEGLECTED) *
	       ((double)last / (s->c * s->c) + 1 / (step * step * fmax(1, (double)last)));
	return (fmin(along_edge(s), moduli) + error + rest) * exp(s->top) / (s->period * (s->n + s->fixed)) +
	       DBL_MIN;
}

double acct_places_least_work(size_t kinds, size_t atoms)
{
	return 1000 * (double)kinds + ACCT_LANES * acct_places_node_work(kinds, atoms);
}

double acct_places_largest(const struct acct_places *of, double most, double *work)
{
	struct acct_places_sum s;

	if (!(of->free >= 1) || of->kinds == 0)
		return INFINITY;
	set_kinds(&s, of);
	if (!(s.range > 0 && s.tau > 0))
		return INFINITY;
	choose(&s);
	return largest_of(&s, most, work) * (1 + 1e-12);
}
