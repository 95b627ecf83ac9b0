/* acct_places_points.c (acct_places_sum.h) - puts the kinds of acct_places.c on points that all share, and
 * drops those that cannot matter.
 *
 * Spreading.  An atom between two points may be moved to the two, with its mean kept: the law becomes
 * larger in convex order, and so does the bound.  The atoms of the two kinds that lose most are themselves
 * points.  So a node takes one turn for each point, however many kinds there are.
 *
 * Leaving out.  Let X <= X' + a in increasing convex order, the order of E (X - t)+ for every t.  It means
 * E (X + s)+ <= E (X' + a + s)+ for every s, and so for s the sum of the other places.  So places of X may
 * all be replaced by places of X', or of a mixture of X' and X'' (and then by the worse of these), and each
 * of them moves S by at most a.  E (X - t)+ is linear between the points, and E (X' + a - t)+ is at least E
 * (X' - t)+ + a P(X' > t), so comparing at the points is enough.  These sums have only positive terms, so
 * they have a relative error r of some ulps for each point.  E (X' - t)+ is at most the range times P(X' >
 * t), so raising it by r takes less than r ranges more of a. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "acct_places_sum.h"

#define AS_THEY_ARE  24u /* up to this number of points all kinds keep their own atoms */
#define WITH_MIDDLES 80u /* with this number of points the points are near enough to each other */
/* a kind is compared with mixtures of two kinds out of the first so many that were kept */
#define FIRST 4u
#define ULP   0x1p-53

static bool has_point(const struct acct_places_sum *s, double x, size_t *at)
{
	size_t low = 0, high = s->points;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s->x[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	*at = low;
	return low < s->points && s->x[low] <= x;
}

static void add_point(struct acct_places_sum *s, double x)
{
	size_t at;

	if (has_point(s, x, &at) || s->points == s->most_points)
		return;
	memmove(&s->x[at + 1], &s->x[at], (s->points - at) * sizeof s->x[0]);
	s->x[at] = x;
	s->points++;
}

/* Make all atoms of a kind points, unless there would then be more than `most` points.  Returns whether it
 * did. */
static bool add_atoms(struct acct_places_sum *s, const struct acct_place *k, size_t most)
{
	size_t more = 0, at;

	for (size_t j = 0; j < k->atoms; j++)
		more += !has_point(s, k->x[j], &at);
	if (s->points + more > most)
		return false;
	for (size_t j = 0; j < k->atoms && more > 0; j++)
		add_point(s, k->x[j]);
	return true;
}

/* Add a point in the middle of every gap, unless there would be too many: kinds that lose almost as much as
 * the first two are then spread less. */
static void add_middles(struct acct_places_sum *s)
{
	double *middle = s->gain;
	size_t gaps = s->points - 1;

	if (s->points + gaps > WITH_MIDDLES || s->points + gaps > s->most_points)
		return;
	for (size_t i = 0; i < gaps; i++)
		middle[i] = s->x[i] + (s->x[i + 1] - s->x[i]) / 2;
	for (size_t i = 0; i < gaps; i++)
		add_point(s, middle[i]);
}

static void spread(const struct acct_places_sum *s, struct acct_tilted *k)
{
	const struct acct_place *of = k->of;
	double all = 0;

	memset(k->p, 0, s->points * sizeof k->p[0]);
	for (size_t j = 0; j < of->atoms; j++)
		all += of->p[j];
	for (size_t j = 0; j < of->atoms; j++) {
		size_t at;
		double p = of->p[j] / all;

		if (has_point(s, of->x[j], &at)) {
			k->p[at] += p;
			continue;
		}
		double below = of->x[j] - s->x[at - 1], above = s->x[at] - of->x[j];
		k->p[at - 1] += p * (above / (below + above));
		k->p[at] += p * (below / (below + above));
	}
	k->from = 0;
	k->to = s->points;
	while (k->from + 1 < k->to && !(k->p[k->from] > 0))
		k->from++;
	while (k->to > k->from + 1 && !(k->p[k->to - 1] > 0))
		k->to--;
}

void acct_places_gains(struct acct_places_sum *s, double c)
{
	for (size_t i = 0; i < s->points; i++)
		s->gain[i] = expm1(c * s->x[i]);
}

void acct_places_tilt(const struct acct_places_sum *s, struct acct_tilted *k)
{
	double sum = 0, square = 0, more = 0;

	for (size_t i = k->from; i < k->to; i++)
		more += k->p[i] * s->gain[i];
	for (size_t i = k->from; i < k->to; i++) {
		k->w[i] = (k->p[i] + k->p[i] * s->gain[i]) / (1 + more);
		sum += k->w[i] * s->x[i];
	}
	for (size_t i = k->from; i < k->to; i++)
		square += k->w[i] * (s->x[i] - sum) * (s->x[i] - sum);
	k->log_m = log1p(more);
	k->mean = sum;
	k->variance = square;
}

/* At each point x_i set excess[i] = E (X - x_i)+ of a kind, and more[i], the same for X + far. */
static void set_excess(const struct acct_places_sum *s, const struct acct_tilted *k, double far,
	double *excess, double *more)
{
	double above = 0, sum = 0;

	for (size_t i = s->points; i-- > 0;) {
		if (i + 1 < s->points)
			sum += above * (s->x[i + 1] - s->x[i]);
		excess[i] = sum;
		more[i] = sum + far * above;
		above += k->p[i];
	}
}

/* Is this excess at every point at most that of some mixture of a and b?  The share of a must lie between
 * quotients of the three; then the middle of that range is tried. */
static bool is_below(size_t points, const double *excess, const double *a, const double *b)
{
	double low = 0, high = 1;

	for (size_t i = 0; i < points && low <= high; i++) {
		double slope = a[i] - b[i], need = excess[i] - b[i];

		if (slope > 0 && need > low * slope)
			low = need / slope;
		else if (slope < 0 && need > high * slope)
			high = need / slope;
		else if (!(slope > 0 || slope < 0) && need > 0)
			return false;
	}
	if (!(low <= high))
		return false;
	double share = low + (high - low) / 2;
	for (size_t i = 0; i < points; i++)
		if (!(excess[i] <= share * a[i] + (1 - share) * b[i]))
			return false;
	return true;
}

/* Sort by falling variance.  There are few kinds, or they are nearly in order. */
static void sort_kinds(struct acct_tilted *kind, size_t kinds)
{
	for (size_t i = 1; i < kinds; i++) {
		struct acct_tilted k = kind[i];
		size_t at = i;

		for (; at > 0 && kind[at - 1].plain < k.plain; at--)
			kind[at] = kind[at - 1];
		kind[at] = k;
	}
}

/* Keep only the kinds that may lose most: drop a kind if it is below another, or below a mixture of two: of
 * the first two given, or of two kinds that are kept.  Their excesses are in w. */
static void leave_out(struct acct_places_sum *s, const struct acct_places *of)
{
	const double *first[2] = { NULL, NULL };
	double far = 2 * (2 * (double)s->points + 8) * ULP * s->range, *excess = s->gain;
	size_t all = s->kinds;

	/* A kind is replaced by one that may be less by `far`: charge that and its rounding; twice, since
	 * the kind that replaces it may be one of the first two given, and be dropped in turn. */
	s->off = 4.2 * far;
	for (size_t i = 0; i < all; i++) {
		set_excess(s, &s->kind[i], far, excess, s->kind[i].w);
		for (int j = 0; j < 2; j++)
			first[j] = s->kind[i].of == &of->kind[j] ? s->kind[i].w : first[j];
	}
	s->kinds = 0;
	for (size_t i = 0; i < all; i++) {
		struct acct_tilted k = s->kind[i];
		bool out = false;

		set_excess(s, &k, far, excess, k.w);
		if (all > 2 && k.w != first[0] && k.w != first[1])
			out = is_below(s->points, excess, first[0], first[1]);
		for (size_t a = 0; a < s->kinds && !out; a++) {
			out = is_below(s->points, excess, s->kind[a].w, s->kind[a].w);
			for (size_t b = 0; b < a && a < FIRST && !out; b++)
				out = is_below(s->points, excess, s->kind[a].w, s->kind[b].w);
		}
		if (!out)
			s->kind[s->kinds++] = k;
	}
	s->kind[s->kinds] = s->kind[all];
}

/* Express all kinds by their chances at the existing points. */
static void set_kinds(struct acct_places_sum *s, const struct acct_places *of)
{
	double *room = (double *)&s->kind[of->kinds + 1];

	s->kinds = of->kinds;
	acct_places_gains(s, 0);
	for (size_t i = 0; i < of->kinds + (s->fixed > 0 ? 1 : 0); i++) {
		struct acct_tilted *k = &s->kind[i];

		memset(k, 0, sizeof *k);
		k->of = &of->kind[i];
		k->p = room + 2 * i * s->most_points;
		k->w = k->p + s->most_points;
		spread(s, k);
		acct_places_tilt(s, k);
		k->plain = k->variance;
	}
	sort_kinds(s->kind, s->kinds);
	leave_out(s, of);
}

/* Make points of the least and the largest X, of the atoms of fixed places, and of the atoms of the first
 * two kinds. */
static void set_first_points(struct acct_places_sum *s, const struct acct_places *of)
{
	double low = 0, high = 0;

	for (size_t i = 0; i < of->kinds + (s->fixed > 0 ? 1 : 0); i++)
		for (size_t j = 0; j < of->kind[i].atoms; j++) {
			double x = of->kind[i].x[j];

			low = x < low ? x : low;
			high = x > high ? x : high;
		}
	s->range = high - low;
	s->points = 0;
	add_point(s, low);
	add_point(s, high);
	if (s->fixed > 0)
		(void)add_atoms(s, &of->kind[of->kinds], s->most_points);
	for (size_t i = 0; i < of->kinds; i++)
		s->own[i] = i < 2 && add_atoms(s, &of->kind[i], s->most_points);
}

static void set_points(struct acct_places_sum *s, const struct acct_places *of)
{
	size_t i = 2;

	set_first_points(s, of);
	while (i < of->kinds && add_atoms(s, &of->kind[i], AS_THEY_ARE))
		s->own[i++] = true;
	if (i >= of->kinds)
		return;
	set_first_points(s, of);
	add_middles(s);
}

/* The largest number of points that may be needed: those of set_first_points() with one more in every gap,
 * or AS_THEY_ARE points, and the atoms of SPREAD more kinds. */
static size_t most_points(const struct acct_places *of)
{
	size_t all = 2, first = 2, largest = 0, most;

	for (size_t i = 0; i < of->kinds + (of->fixed > 0 ? 1 : 0); i++) {
		size_t atoms = of->kind[i].atoms;

		all += atoms;
		first += i < 2 || i == of->kinds ? atoms : 0;
		largest = atoms > largest ? atoms : largest;
	}
	most = AS_THEY_ARE + 2 * first + 4 * largest;
	most = all < most ? all : most;
	return most < ACCT_PLACES_POINTS ? most : ACCT_PLACES_POINTS;
}

struct acct_places_sum *acct_places_points_new(const struct acct_places *of)
{
	struct acct_places_sum *s;
	size_t all = of->kinds + 1, points, size;

	if (!(of->free >= 1) || of->kinds == 0 || of->kinds > ACCT_PLACES_KINDS)
		return NULL;
	points = most_points(of);
	size = sizeof *s + all * (sizeof s->kind[0] + 2 * points * sizeof(double));
	s = aligned_alloc(sizeof(acct_lanes),
		(size + sizeof(acct_lanes) - 1) / sizeof(acct_lanes) * sizeof(acct_lanes));
	if (!s)
		return NULL;
	memset(s, 0, offsetof(struct acct_places_sum, x));
	s->n = of->free;
	s->fixed = of->fixed;
	s->most_points = points;
	s->kind = (struct acct_tilted *)(s + 1);
	set_points(s, of);
	set_kinds(s, of);
	return s;
}

bool acct_places_points_keep(struct acct_places_sum *s, const struct acct_places *of, size_t kind)
{
	size_t i = (size_t)(s->kind[kind].of - of->kind);

	if (s->own[i] || !add_atoms(s, &of->kind[i], s->most_points))
		return false;
	s->own[i] = true;
	set_kinds(s, of);
	return true;
}
