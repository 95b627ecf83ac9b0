/* acct_places_sum.c - adds up the sums over nodes of acct_places.c.
 *
 * At a node t the transform E e^(zX) of each kind is taken at z = c + it, where c is the tilt s->c that
 * acct_places.c chose. */
#include "acct_places_sum.h"

#include <math.h>

/* least log of a modulus that is computed; what is below counts less than a node that is left out */
#define LEAST_LOG (-60.0)
/* added to |m|, the modulus of a transform divided by the transform at c, so that 1/|m| stays finite */
#define LEAST_SIZE 1e-20
#define ULP        0x1p-53

/* Set cosine and sine of t (x - center) for all points x, at four nodes t. */
ACCT_INLINED void turn_points(struct acct_places_sum *s, const acct_lanes *t)
{
	for (size_t i = 0; i < s->points; i++) {
		acct_lanes angle = *t * (s->x[i] - s->center);

		acct_lane_turn_any(&angle, &s->sine[i], &s->cosine[i]);
	}
}

/* Set the transform of a kind at four nodes, about the center, divided by the transform at c. */
ACCT_INLINED void turn_kind(const struct acct_places_sum *s, struct acct_tilted *k, const acct_lanes *t)
{
	acct_lanes a = { 0 }, b = { 0 };

	for (size_t i = k->from; i < k->to; i++) {
		a += k->w[i] * s->cosine[i];
		b += k->w[i] * s->sine[i];
	}
	acct_lanes gain = a * a + b * b - 1, log, turn, size[2];
	acct_lane_log1p(&gain, &log);
	acct_lane_atan2(&b, &a, &turn);
	for (int i = 0; i < ACCT_LANES; i++) {
		if (!(gain[i] > -1 + 1e-12))
			log[i] = fmax(2 * LEAST_LOG, log1p(fmax(-1, gain[i])));
		if (!(fabs(a[i]) + fabs(b[i]) > 0))
			turn[i] = 0;
	}
	acct_lane_abs(&a, &size[0]);
	acct_lane_abs(&b, &size[1]);
	acct_lane_max(&size[0], &size[1], &size[0]);
	k->lift = 1 / (size[0] + LEAST_SIZE);
	k->lost = -gain;
	k->re = k->log_m + 0.5 * log;
	k->im = *t * s->center + turn;
}

/* Add one node's term for one choice of how many places have which kind.  The term is weight e^(power + i
 * angle): power is the log of the modulus of all places' transforms, angle its argument. */
ACCT_INLINED void add_value(const acct_lanes *power, const acct_lanes *angle, const acct_lanes *weight,
	acct_lanes *size, acct_lanes *value)
{
	acct_lanes zero = { 0 }, least = zero - ACCT_LANE_EXP, sine, cosine;

	acct_lane_max(power, &least, &least);
	acct_lane_exp(&least, size);
	*size *= *weight;
	acct_lane_turn_any(angle, &sine, &cosine);
	*value += *size * cosine;
}

/* Add one node's terms for every kind, as if all free places were of it, and for the parts of the edge.
 * Set *high to the largest power.  The errors have one factor for all kinds, so that they are convex in the
 * numbers of places. */
ACCT_INLINED void add_kinds(struct acct_places_sum *s, const acct_lanes *t, const acct_lanes *weight,
	const acct_lanes *turn, acct_lanes *high)
{
	acct_lanes rest = s->tau * s->tau * (s->c * s->c - *t * *t) * 0.5 - s->top, lift = s->kind[0].lift,
		   most, size, far;

	if (s->fixed > 0) {
		rest += s->fixed * s->kind[s->kinds].re;
		acct_lane_max(&lift, &s->kind[s->kinds].lift, &lift);
	}
	acct_lane_abs(&rest, &most);
	*high = s->n * s->kind[0].re + rest;
	for (size_t i = 0; i < s->kinds; i++) {
		struct acct_tilted *k = &s->kind[i];

		k->power = s->n * k->re + rest;
		k->angle = s->n * k->im + *turn;
		acct_lane_max(&k->power, high, high);
		acct_lane_max(&k->lift, &lift, &lift);
		acct_lane_abs(&k->power, &far);
		acct_lane_max(&far, &most, &most);
	}
	most = ((16 + fmax(48, (double)s->points)) * ULP) *
		       ((s->n + s->fixed) * lift * (1 + 3 * (*t + s->c) * s->range) + 2 * most + 64) +
	       2 * s->n * s->off * (*t + s->c);
	for (size_t i = 0; i < s->kinds; i++) {
		struct acct_tilted *k = &s->kind[i];

		add_value(&k->power, &k->angle, weight, &size, &k->value);
		k->moduli += size;
		k->error += size * most;
	}
	for (size_t i = 1; i < ACCT_PLACES_EDGE && s->kinds > 1; i++) {
		const struct acct_tilted *a = &s->kind[s->worst], *b = &s->kind[s->second];
		double part = (double)i / ACCT_PLACES_EDGE;
		acct_lanes power = (1 - part) * a->power + part * b->power,
			   angle = (1 - part) * a->angle + part * b->angle;

		add_value(&power, &angle, weight, &size, &s->edge[i]);
	}
}

/* Add one node to A_j and C_j of acct_places.c: the largest modulus, times squares and inner products of
 * the distances between the kinds' exponents. */
ACCT_INLINED void add_bend(struct acct_places_sum *s, const acct_lanes *weight, const acct_lanes *high)
{
	acct_lanes zero = { 0 }, least = zero - ACCT_LANE_EXP, size, re, im, to[2];
	const struct acct_tilted *a = &s->kind[s->worst], *b = &s->kind[s->second];

	acct_lane_max(high, &least, &least);
	acct_lane_exp(&least, &size);
	size *= *weight;
	to[0] = b->re - a->re;
	to[1] = b->im - a->im;
	for (size_t i = 0; i < s->kinds; i++) {
		struct acct_tilted *k = &s->kind[i];

		re = k->re - a->re;
		im = k->im - a->im;
		k->apart += size * (re * re + im * im);
		k->along += size * (re * to[0] + im * to[1]);
	}
}

/* Add four nodes: those at t, each with its weight in `some`.  negligible[] says which of them were small
 * enough to be left out. */
ACCT_INLINED void add_nodes(
	struct acct_places_sum *s, const acct_lanes *t, const acct_lanes *some, bool negligible[ACCT_LANES])
{
	acct_lanes zero = { 0 }, c = zero + s->c, out = zero, weight, turn;

	turn_points(s, t);
	for (size_t i = 0; i < s->kinds + (s->fixed > 0 ? 1 : 0); i++)
		turn_kind(s, &s->kind[i], t);
	for (int i = 0; i < ACCT_LANES; i++) {
		double most = -INFINITY;

		for (size_t k = 0; k < s->kinds; k++)
			most = fmax(most, s->n * s->kind[k].re[i]);
		if (s->fixed > 0)
			most += s->fixed * s->kind[s->kinds].re[i];
		most += s->tau * s->tau * (s->c * s->c - (*t)[i] * (*t)[i]) / 2 - s->top;
		negligible[i] = most < -ACCT_PLACES_NEGLECTED;
		out[i] = negligible[i] ? 0 : (*some)[i];
	}
	if (negligible[0] && negligible[1] && negligible[2] && negligible[3])
		return;
	weight = out / (s->c * s->c + *t * *t);
	acct_lane_atan2(t, &c, &turn);
	turn = s->tau * s->tau * s->c * *t - 2 * turn;
	if (s->fixed > 0)
		turn += s->fixed * s->kind[s->kinds].im;
	add_kinds(s, t, &weight, &turn, &out);
	add_bend(s, &weight, &out);
}

static void add_plain(
	struct acct_places_sum *s, const acct_lanes *t, const acct_lanes *some, bool negligible[ACCT_LANES])
{
	add_nodes(s, t, some, negligible);
}

ACCT_AVX2 static void add_avx2(
	struct acct_places_sum *s, const acct_lanes *t, const acct_lanes *some, bool negligible[ACCT_LANES])
{
	add_nodes(s, t, some, negligible);
}

/* The distance, behind the last of four negligible nodes at t, within which all nodes are negligible,
 * too. */
static double reach(const struct acct_places_sum *s, double t)
{
	double need = sqrt(fmax(0, 2 * ACCT_PLACES_NEGLECTED + 1 - s->tau * s->tau * t * t)),
	       least = INFINITY, slack = 1e-12 + 64 * ULP * t * s->range;
	const struct acct_tilted *fixed = &s->kind[s->kinds];

	for (size_t i = 0; i < s->kinds; i++) {
		double lost = s->n * (s->kind[i].lost[ACCT_LANES - 1] - slack),
		       change = s->n * s->kind[i].variance;

		if (s->fixed > 0) {
			lost += s->fixed * (fixed->lost[ACCT_LANES - 1] - slack);
			change += s->fixed * fixed->variance;
		}
		least = fmin(least, (sqrt(fmax(0, lost)) - need) / sqrt(change) * (1 - 1e-9));
	}
	return fmax(0, least);
}

double acct_places_node_work(size_t kinds, size_t points)
{
	return 20 + 20 * (double)kinds + (5 + 0.1 * (double)kinds) * (double)points;
}

bool acct_places_add_up(struct acct_places_sum *s, double step, size_t last, double most, double *work)
{
	double per_node, done = 0;
	bool wide = acct_lane_has_avx2(), negligible[ACCT_LANES] = { false };

	per_node = acct_places_node_work(s->kinds, s->points);
	for (size_t k = 0; k <= last;) {
		acct_lanes t = { 0 }, some = { 0 };

		for (size_t i = 0; i < ACCT_LANES; i++) {
			t[i] = (double)(k + i) * step;
			some[i] = k + i > last ? 0 : k + i > 0 ? 2 : 1;
		}
		(wide ? add_avx2 : add_plain)(s, &t, &some, negligible);
		done += ACCT_LANES * per_node;
		*work += ACCT_LANES * per_node;
		if (done > most)
			return false;
		k += ACCT_LANES;
		if (negligible[0] && negligible[1] && negligible[2] && negligible[3])
			k += (size_t)fmin(reach(s, (double)(k - 1) * step) / step, (double)last);
	}
	return true;
}
