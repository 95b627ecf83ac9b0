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
 * than 128 ulps of the range, which add_kind charges.
 *
 * Nodes below e^-NEGLECTED of the top are charged, not added, and most are never computed.  With m the
 * transform of a place over that at c, log |m|^2 <= |m|^2 - 1, and
 *     D(t) = sum over places of 1 - |m(t)|^2 = 2 sum of E sin^2(t d/2),   d the difference of two tilted X,
 * is the square of a norm: sqrt D changes by at most sqrt(sum of the variances) per unit of t.  From a node
 * where D is large, all nodes are negligible up to where it may no longer be. */
#include "acct_places.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "acct_ends.h"
#include "acct_lane.h"

#define NODES      16384
#define NEGLECTED  46.0
#define SMOOTH     40.0    /* deviation of S over that of U: epsilon rises by about 1/(2 SMOOTH^2) */
#define EDGE       8       /* parts of the edge */
#define WITHIN     1.02    /* factor within which the saddle is found */
#define LEAST_LOG  (-60.0) /* of a modulus: less than what is charged for a node left out */
#define LEAST_SIZE 1e-20   /* keeps 1/|m| finite */
#define ULP        0x1p-53

/* A kind, tilted by c. */
struct tilted {
	size_t atoms;
	double x[ACCT_ATOMS];
	double p[ACCT_ATOMS], w[ACCT_ATOMS]; /* chances; tilted */
	double log_m, mean, variance, plain; /* log E e^cX, and of the tilted law; plain: variance at c = 0 */
	acct_lanes value, moduli, error;     /* sums over the nodes so far */
	acct_lanes apart, along;             /* the same of A_j and C_j */
	acct_lanes power, angle;             /* at four nodes: where all places are of this kind */
	/* At four nodes: log of the transform, 1 - |m|^2, and at least 1/|m|. */
	acct_lanes re, im, lost, lift;
};

struct sum {
	size_t kinds;
	struct tilted kind[ACCT_KINDS + 1]; /* the last one is that of fixed places */
	double n, fixed, tau, c, period, range, top;
	size_t worst, second;  /* the kinds at the ends of the edge */
	acct_lanes edge[EDGE]; /* values between them; the first is not used */
};

static void tilt(struct tilted *k, double c)
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
static double beyond(const struct tilted *k, double t)
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
static bool covers(const struct tilted *b, const struct tilted *a, double far)
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
static void leave_out(struct sum *s, size_t kinds)
{
	for (size_t i = 0; i < kinds; i++) {
		size_t widest = i;
		bool covered = false;

		for (size_t j = i + 1; j < kinds; j++)
			if (s->kind[j].plain > s->kind[widest].plain)
				widest = j;
		if (widest != i) {
			struct tilted k = s->kind[i];

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

static void set_kinds(struct sum *s, const struct acct_places *of)
{
	double low = 0, high = 0;

	memset(s, 0, sizeof *s);
	s->n = of->free;
	s->fixed = of->fixed;
	for (size_t i = 0; i < of->kinds + (s->fixed > 0 ? 1 : 0); i++) {
		struct tilted *to = &s->kind[i];
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
static void slopes(const struct sum *s, const struct tilted *k, double c, double slope[2])
{
	const struct tilted *fixed = &s->kind[s->kinds];

	slope[0] = s->n * k->mean + s->tau * s->tau * c;
	slope[1] = s->n * k->variance + s->tau * s->tau;
	if (s->fixed > 0) {
		slope[0] += s->fixed * fixed->mean;
		slope[1] += s->fixed * fixed->variance;
	}
}

static double log_moment(const struct sum *s, const struct tilted *k)
{
	return s->n * k->log_m + (s->fixed > 0 ? s->fixed * s->kind[s->kinds].log_m : 0) +
	       s->tau * s->tau * s->c * s->c / 2;
}

/* Sets s->c to about the least of log E e^cV - 2 log c; any c is sound.  c range < 300. */
static void choose_c(struct sum *s, struct tilted *k)
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
static struct tilted *worst_of(struct sum *s)
{
	struct tilted *worst = &s->kind[0];

	for (size_t i = 0; i < s->kinds; i++) {
		tilt(&s->kind[i], s->c);
		if (s->kind[i].log_m > worst->log_m)
			worst = &s->kind[i];
	}
	return worst;
}

/* c and T for the kind that loses most; any are sound for all. */
static void choose(struct sum *s)
{
	struct tilted *worst = &s->kind[0], *before;
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

/* The transform of a kind at four nodes: about its mean, over that at c. */
ACCT_INLINED void turn_kind(struct tilted *k, const acct_lanes *t)
{
	acct_lanes a = { 0 }, b = { 0 };

	for (size_t i = 0; i < k->atoms; i++) {
		acct_lanes angle = *t * (k->x[i] - k->mean), s, c;

		acct_lane_turn_any(&angle, &s, &c);
		a += k->w[i] * c;
		b += k->w[i] * s;
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
	k->im = *t * k->mean + turn;
}

/* A sum of exponentials at one choice of the numbers of kinds: log of the common power, and its angle. */
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

/* What one node adds to the sums of the kinds; `high`: the largest power.  The factor of the errors is one
 * for all kinds, so that they are convex in the numbers. */
ACCT_INLINED void add_kinds(struct sum *s, const acct_lanes *t, const acct_lanes *weight,
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
		struct tilted *k = &s->kind[i];

		k->power = s->n * k->re + rest;
		k->angle = s->n * k->im + *turn;
		acct_lane_max(&k->power, high, high);
		acct_lane_max(&k->lift, &lift, &lift);
		acct_lane_abs(&k->power, &far);
		acct_lane_max(&far, &most, &most);
	}
	most = (64 * ULP) * ((s->n + s->fixed) * lift * (1 + 3 * (*t + s->c) * s->range) + 2 * most + 64);
	for (size_t i = 0; i < s->kinds; i++) {
		struct tilted *k = &s->kind[i];

		add_value(&k->power, &k->angle, weight, &size, &k->value);
		k->moduli += size;
		k->error += size * most;
	}
	for (size_t i = 1; i < EDGE && s->kinds > 1; i++) {
		const struct tilted *a = &s->kind[s->worst], *b = &s->kind[s->second];
		double part = (double)i / EDGE;
		acct_lanes power = (1 - part) * a->power + part * b->power,
			   angle = (1 - part) * a->angle + part * b->angle;

		add_value(&power, &angle, weight, &size, &s->edge[i]);
	}
}

/* Parts of the second derivatives: the largest modulus and squares of distances. */
ACCT_INLINED void add_bend(struct sum *s, const acct_lanes *weight, const acct_lanes *high)
{
	acct_lanes zero = { 0 }, least = zero - ACCT_LANE_EXP, size, re, im, to[2];
	const struct tilted *a = &s->kind[s->worst], *b = &s->kind[s->second];

	acct_lane_max(high, &least, &least);
	acct_lane_exp(&least, &size);
	size *= *weight;
	to[0] = b->re - a->re;
	to[1] = b->im - a->im;
	for (size_t i = 0; i < s->kinds; i++) {
		struct tilted *k = &s->kind[i];

		re = k->re - a->re;
		im = k->im - a->im;
		k->apart += size * (re * re + im * im);
		k->along += size * (re * to[0] + im * to[1]);
	}
}

/* Four nodes from t on. */
ACCT_INLINED void add_nodes(
	struct sum *s, const acct_lanes *t, const acct_lanes *some, bool negligible[ACCT_LANES])
{
	acct_lanes zero = { 0 }, c = zero + s->c, weight, turn, out;

	for (size_t i = 0; i < s->kinds + (s->fixed > 0 ? 1 : 0); i++)
		turn_kind(&s->kind[i], t);
	for (int i = 0; i < ACCT_LANES; i++) {
		double most = -INFINITY;

		for (size_t k = 0; k < s->kinds; k++)
			most = fmax(most, s->n * s->kind[k].re[i]);
		if (s->fixed > 0)
			most += s->fixed * s->kind[s->kinds].re[i];
		most += s->tau * s->tau * (s->c * s->c - (*t)[i] * (*t)[i]) / 2 - s->top;
		negligible[i] = most < -NEGLECTED;
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

static void add_plain(struct sum *s, const acct_lanes *t, const acct_lanes *some, bool negligible[ACCT_LANES])
{
	add_nodes(s, t, some, negligible);
}

ACCT_AVX2 static void add_avx2(
	struct sum *s, const acct_lanes *t, const acct_lanes *some, bool negligible[ACCT_LANES])
{
	add_nodes(s, t, some, negligible);
}

/* Up to which distance from the last of four negligible nodes all are. */
static double reach(const struct sum *s, double t)
{
	double need = sqrt(fmax(0, 2 * NEGLECTED + 1 - s->tau * s->tau * t * t)), least = INFINITY,
	       slack = 1e-12 + 64 * ULP * t * s->range;
	const struct tilted *fixed = &s->kind[s->kinds];

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

/* False: more work than is allowed. */
static bool add_up(struct sum *s, double step, size_t last, double most, double *work)
{
	double per_node = 20, done = 0;
	bool wide = acct_lane_has_avx2(), negligible[ACCT_LANES];

	for (size_t i = 0; i < s->kinds; i++)
		per_node += 20 + 5 * (double)s->kind[i].atoms;
	for (size_t k = 0; k <= last;) {
		acct_lanes t, some;

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

static double all_of(const acct_lanes *a)
{
	return ((*a)[0] + (*a)[1]) + ((*a)[2] + (*a)[3]);
}

/* The largest value on the simplex, cut into parts along the edge: bound 2. */
static double along_edge(const struct sum *s)
{
	double square = s->n * s->n * (1 + 1e-9), whole = square * all_of(&s->kind[s->second].apart),
	       largest = all_of(&s->kind[s->worst].value);

	for (size_t i = 0; i < EDGE && s->kinds > 1; i++) {
		double part = (double)i / EDGE, low = all_of(i > 0 ? &s->edge[i] : &s->kind[s->worst].value),
		       high = all_of(i + 1 < EDGE ? &s->edge[i + 1] : &s->kind[s->second].value);

		largest = acct_larger(
			largest, s->kinds > 2 ? low : acct_larger(low, high) + whole / (8 * EDGE * EDGE));
		if (s->kinds > 2)
			largest = acct_larger(largest, high + whole / (2 * EDGE * EDGE));
		for (size_t j = 0; j < s->kinds; j++) {
			const struct tilted *k = &s->kind[j];
			double apart = square * all_of(&k->apart),
			       far = apart - 2 * part * square * all_of(&k->along) + part * part * whole +
				     1e-9 * (apart + whole);

			if (j != s->worst && j != s->second)
				largest = acct_larger(largest, all_of(&k->value) + far / 2);
		}
	}
	return largest;
}

static double largest_of(struct sum *s, double most, double *work)
{
	double step = 2 * acos(-1) / s->period, moduli = 0, error = 0, rest;
	size_t last = (size_t)fmin(2.0 * NODES, ceil(sqrt(2 * NEGLECTED) / s->tau / step));

	*work += 1000 * (double)s->kinds;
	if (last > NODES || !add_up(s, step, last, most, work))
		return INFINITY;
	for (size_t i = 0; i < s->kinds; i++) {
		moduli = acct_larger(moduli, all_of(&s->kind[i].moduli));
		error = acct_larger(error, all_of(&s->kind[i].error)); /* convex, too */
	}
	/* What is left out: nodes up to `last`, and beyond it sum 2/t^2 <= 2/(step^2 last). */
	rest = 2 * exp(-NEGLECTED) *
	       ((double)last / (s->c * s->c) + 1 / (step * step * fmax(1, (double)last)));
	return (fmin(along_edge(s), moduli) + error + rest) * exp(s->top) / (s->period * (s->n + s->fixed)) +
	       DBL_MIN;
}

double acct_places_largest(const struct acct_places *of, double most, double *work)
{
	struct sum s;

	if (!(of->free >= 1) || of->kinds == 0)
		return INFINITY;
	set_kinds(&s, of);
	if (!(s.range > 0 && s.tau > 0))
		return INFINITY;
	choose(&s);
	return largest_of(&s, most, work) * (1 + 1e-12);
}
