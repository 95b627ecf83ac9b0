/* acct_places.c - bounds the loss of places whose laws are known, while nobody knows which one is the
 * victim's.
 *
 * With S = X_1 + .. + X_N, delta = (1/N) E S+. E S+ <= E V+, where V = S + U and U is normal (Jensen).  The
 * function g(x) = max(x, 0) e^(-cx) is nowhere above the sum of its copies at distance T, whose Fourier
 * series is that of the trapezoid rule.  So for every c, T > 0
 *     E V+ = E e^(cV) g(V) <= (1/T) sum_k M(c + 2 pi i k/T) / (c + 2 pi i k/T)^2,   M(z) = E e^(zV).
 * M is the product of the places' transforms, hence the exponential of a linear function of the numbers of
 * places of each kind.  Two bounds hold for all such numbers at once.
 *
 * 1.  The sum of moduli is convex in the numbers, so it is largest where all places are of one kind.
 * 2.  On a simplex with values f_j at its corners let part_j be the shares of the corners, a_j the
 * exponents of a node there, and a their mean.  By Taylor about a, f <= sum part_j (f_j + |a_j - a|^2/2
 * times the largest modulus), and sum part_j |a_j - a|^2 <= sum part_j |a_j - a_r|^2 for any r.  So f is at
 * most the largest f_j + B_j/2, where B_j is the sum over nodes of the largest modulus times |a_j - a_r|^2:
 * a kind whose loss is less by B_j/2 does not matter.  Between two corners, f is at most the larger value
 * plus B/8.
 *
 * The two kinds that lose most may lose the same.  So the edge between them is cut into equal parts, and
 * the simplex with it; r is the first end of a part.  Let A_j be the sum of n^2 |a_j - a_worst|^2, and C_j
 * the sum of the inner product of this difference and the edge.  Then |a_j - a_r|^2 is A_j - 2 part C_j +
 * part^2 A_second. */
#include "acct_places.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "acct_ends.h"
#include "acct_places_sum.h"

#define NODES 16384
/* The standard deviation of S divided by that of U.  Smoothing raises epsilon by about the part 1/(2
 * SMOOTH^2). */
#define SMOOTH 40.0
/* the logarithm of a kind's E e^cX loses digits where it is next to 0; among eighty places and more this
 * is less than the relative error here, for every delta that a double can be */
#define LOST   1e-9
#define WITHIN 1.02 /* the saddle, the best c, is found within this factor */
/* the same where two kinds lose the same, and the bound has a corner */
#define TIED   1.001
#define SPREAD 4u /* the first so many kinds that turn out to lose most keep their own atoms */

/* Set the first two derivatives by c of log E e^cV, where all free places are of this kind. */
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

static void tilt_at(struct acct_places_sum *s, struct acct_tilted *k, double c)
{
	acct_places_gains(s, c);
	acct_places_tilt(s, k);
	if (s->fixed > 0)
		acct_places_tilt(s, &s->kind[s->kinds]);
}

/* Set s->c to about the place where log E e^cV - 2 log c is least: the bound is smallest there, and any
 * other c is sound.  c times the range of V stays below 300, so that e^cV does not overflow. */
static void choose_c(struct acct_places_sum *s, struct acct_tilted *k)
{
	double low = 0, high = 300 / s->range, c = 0, slope[2];

	for (int i = 0; i < 40 && high > low * WITHIN; i++) {
		tilt_at(s, k, c);
		slopes(s, k, c, slope);
		if (i > 0)
			*(c * slope[0] < 2 ? &low : &high) = c;
		/* The next c' is what would be the root of c K'(c) = 2 if V were normal: c' (K' + (c' - c)
		 * K'') = 2, with K = log E e^cV and its derivatives at c. */
		double b = slope[0] - slope[1] * c, root = sqrt(b * b + 8 * slope[1]),
		       next = b > 0 ? 4 / (b + root) : (root - b) / (2 * slope[1]);
		if (!(next > low && next < high))
			next = low > 0 ? sqrt(low * high) : high / 16;
		if (i > 0 && next < c * WITHIN && next * WITHIN > c)
			break;
		c = next;
	}
	s->c = c;
	tilt_at(s, k, c);
}

/* Tilt all kinds by s->c, and return the kind with the largest E e^cX, which loses most. */
static struct acct_tilted *worst_of(struct acct_places_sum *s)
{
	struct acct_tilted *worst = &s->kind[0];

	for (size_t i = 0; i < s->kinds; i++) {
		acct_places_tilt(s, &s->kind[i]);
		if (s->kind[i].log_m > worst->log_m)
			worst = &s->kind[i];
	}
	return worst;
}

/* Choose c, and find the kind that loses most at it.  Any choice is sound for all kinds.  The largest of all
 * kinds' log E e^cV - 2 log c is convex in c, and the best c is where it is least: at the least of one kind,
 * or where two kinds lose the same, and mixtures of the two lose most. */
static void choose_worst(struct acct_places_sum *s)
{
	struct acct_tilted *k = &s->kind[0], *worst = k;
	double low = 0, high = 300 / s->range, slope[2];

	s->tau = sqrt(s->n * k->plain) / SMOOTH;
	for (int i = 0; i < 40 && high > low * TIED; i++) {
		if (i < 2) {
			choose_c(s, k);
		} else {
			s->c = low > 0 ? sqrt(low * high) : high / 16;
			tilt_at(s, k, s->c);
		}
		worst = worst_of(s);
		if (i < 2 && worst == k)
			break;
		slopes(s, worst, s->c, slope);
		*(s->c * slope[0] < 2 ? &low : &high) = s->c;
		k = worst;
	}
	s->worst = (size_t)(worst - s->kind);
}

static void choose(struct acct_places_sum *s)
{
	const struct acct_tilted *worst = &s->kind[s->worst];
	double deviation, power, slope[2];

	s->second = s->worst > 0 ? 0 : s->kinds > 1 ? 1 : 0;
	for (size_t i = 0; i < s->kinds; i++)
		if (i != s->worst && s->kind[i].log_m > s->kind[s->second].log_m)
			s->second = i;
	power = s->top = log_moment(s, worst);
	s->center = worst->mean;
	slopes(s, worst, s->c, slope);
	deviation = sqrt(slope[1] + 2 / (s->c * s->c));
	/* E V+ is about e^power / (c^2 deviation).  The copy of g at distance T, the period, adds at most T
	 * e^-cT, which this T makes negligible. */
	s->period = fmax(9 * deviation, (16 - fmin(0, power) + log(1 + s->c * deviation)) / s->c);
}

static double all_of(const acct_lanes *a)
{
	return ((*a)[0] + (*a)[1]) + ((*a)[2] + (*a)[3]);
}

/* Compute the largest value on the simplex by bound 2 of the first comment, one part of the edge after the
 * other. */
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

	if (last > NODES || !acct_places_add_up(s, step, last, most, work))
		return INFINITY;
	for (size_t i = 0; i < s->kinds; i++) {
		moduli = acct_larger(moduli, all_of(&s->kind[i].moduli));
		/* bound 1 holds for the error, too: it is convex in the numbers of places */
		error = acct_larger(error, all_of(&s->kind[i].error));
	}
	/* Charge the nodes left out: each up to `last`, and beyond it their sum of 2/t^2, which is at most
	 * 2/(step^2 last). */
	rest = 2 * exp(-ACCT_PLACES_NEGLECTED) *
	       ((double)last / (s->c * s->c) + 1 / (step * step * fmax(1, (double)last)));
	return (fmin(along_edge(s), moduli) + error + rest) * exp(s->top) / (s->period * (s->n + s->fixed)) +
	       DBL_MIN;
}

double acct_places_least_work(size_t kinds, size_t atoms)
{
	return 2000 + 40 * (double)atoms + ACCT_LANES * acct_places_node_work(2, atoms / kinds);
}

/* The same places with silence as an atom of every kind; NULL: there is no memory. */
static struct acct_place *with_silence(const struct acct_places *of, double **room)
{
	size_t kinds = of->kinds + (of->fixed > 0), atoms = 0;
	struct acct_place *kind = calloc(kinds, sizeof *kind);
	double *at;

	for (size_t i = 0; i < kinds; i++)
		atoms += of->kind[i].atoms + 1;
	*room = at = malloc(2 * atoms * sizeof *at);
	for (size_t i = 0; kind && at && i < kinds; i++) {
		size_t n = of->kind[i].atoms;
		double all = 0;

		for (size_t j = 0; j < n; j++)
			all += of->kind[i].p[j];
		for (size_t j = 0; j < n; j++) {
			at[j] = (1 - of->absent) * of->kind[i].p[j];
			at[n + 1 + j] = of->kind[i].x[j];
		}
		at[n] = of->absent * all;
		at[2 * n + 1] = of->absent_x;
		kind[i] = (struct acct_place){ n + 1, at, at + n + 1 };
		at += 2 * (n + 1);
	}
	return kind;
}

static double with_absent(const struct acct_places *of, double most, double *work)
{
	struct acct_places all = *of;
	double *room, largest = INFINITY;
	struct acct_place *kind = with_silence(of, &room);

	all.absent = 0;
	all.kind = kind;
	if (kind && room)
		largest = acct_places_largest(&all, most, work);
	free(kind);
	free(room);
	return largest;
}

double acct_places_largest(const struct acct_places *of, double most, double *work)
{
	if (of->absent > 0)
		return with_absent(of, most, work);
	struct acct_places_sum *s = acct_places_points_new(of);
	double largest = INFINITY;

	for (unsigned i = 0; s && s->range > 0 && s->kind[0].plain > 0; i++) {
		*work += 1000 * (double)s->kinds + 20 * (double)(of->kinds * s->points);
		choose_worst(s);
		if (i < SPREAD && acct_places_points_keep(s, of, s->worst))
			continue;
		choose(s);
		if (s->c * s->n * s->off < 0.5)
			largest = largest_of(s, most, work) * (1 + LOST);
		break;
	}
	free(s);
	return largest;
}
