/* acct_bits_sum.c - the finite sum that tells what a test achieves in a round of bits. */
#include "acct_bits_sum.h"

#include <math.h>
#include <string.h>

#include "acct_lane.h"

#define ULP       0x1p-53
#define FEW_LEFT  26.0 /* left_out is FEW_LEFT plus the log of the tilted variance, */
#define MOST_LEFT 40.0 /* but at most MOST_LEFT: acct_bits_sum.h, "Folded tails" */
#define FOLDED    4.0  /* the 4 in B = q + 4 + s of acct_bits_sum.h, where q is left_out */

/* (1+r) log(1+r) - r for r >= -1, with a relative error of a few ulps: the term of a divergence at a chance
 * that grows by the part r. */
static double bregman(double r)
{
	double sum = 0, power = r;

	if (fabs(r) > 0.1)
		return r > -1 ? (1 + r) * log1p(r) - r : 1;
	for (int k = 2; k < 20; k++) {
		power *= k == 2 ? r : -r;
		sum += power / (double)(k * (k - 1));
	}
	return sum;
}

/* log E w^bit - log(w) m for a bit whose chances are `one` and `zero`, where m = one + more is its mean
 * under the tilt.  It equals -KL(tilted || plain), the Kullback-Leibler divergence of the two laws. */
static double lost(double one, double zero, double more)
{
	return -(one * bregman(more / one) + zero * bregman(fmax(-1, -more / zero)));
}

static double log_cosh(double x)
{
	double half = sinh(x / 2);

	return x < 1 ? log1p(2 * half * half) : x + log1p(exp(-2 * x)) - log(2);
}

/* arg(1 + one (e^it - 1)) - one t: the angle of a bit's transform at t, less that of its mean.  x =
 * tan(t/2), half = t/2.  It is odd in one - 1/2, and of order t^3, so a difference of the two would lose
 * digits. */
static double turn(const struct acct_bit *b, double x, double half)
{
	double sign = b->one >= b->zero ? 1 : -1, small = fmin(b->one, b->zero), beta = 1 - 2 * small,
	       sum = 0;

	if (x >= 0 && x < 0.1) { /* for a small x: atan(beta x) - beta atan(x), by its series */
		double beta2 = beta * beta, rest = 4 * b->variance, power = x * x * x, weight = rest,
		       even = beta2;

		for (int k = 1; k < 10 && power > 1e-17 * x * x * x; k++) {
			/* weight is 1 - beta^2k */
			sum += (k % 2 ? 1 : -1) * power * weight / (2 * k + 1);
			power *= x * x;
			weight += even * rest;
			even *= beta2;
		}
		return sign * beta * sum;
	}
	/* else use atan(beta x) = atan(x) - atan(2 small x / (1 + beta x^2)) */
	if (!(x >= 0 && x < 1e15)) /* here t/2 is pi/2, rounded */
		return sign * (small < 0.5 ? 2 * small * half : 0);
	return sign * (2 * small * half - atan(2 * small * x / (1 + beta * x * x)));
}

/* The same for four nodes at which the series applies. */
ACCT_INLINED void turn_lanes(const struct acct_bit *b, const acct_lanes *x, acct_lanes *out)
{
	double sign = b->one >= b->zero ? 1 : -1, beta = 1 - 2 * fmin(b->one, b->zero), beta2 = beta * beta,
	       rest = 4 * b->variance, weight = rest, even = beta2;
	acct_lanes square = *x * *x, power = *x * square, sum = { 0 };

	for (int k = 1; k < 10; k++) {
		sum += power * ((k % 2 ? 1 : -1) * weight / (2 * k + 1));
		power *= square;
		weight += even * rest;
		even *= beta2;
	}
	*out = sign * beta * sum;
}

/* log |1 + one (e^it - 1)|, where gain is -4 one zero sin(t/2)^2 and rest cos(t/2).  Near t = pi the modulus
 * of a bit that is nearly fair is |one - zero|, which 1 + gain would lose.  A fair coin's modulus is 0 there;
 * e^-60 stands for it, which is less than what is left out. */
static double log_modulus(const struct acct_bit *b, double gain, double rest)
{
	double apart = b->one - b->zero;

	if (gain > -0.5)
		return 0.5 * log1p(gain);
	return fmax(-60, 0.5 * log(apart * apart + 4 * b->variance * rest * rest));
}

/* What set_lanes() computes at four nodes, as in struct acct_node; weight: that of the node in the sum. */
struct nodes {
	acct_lanes t, weight, half, rest, g[2], a[3][2];
};

/* Set log |1 + one (e^it - 1)| and the turn, for one kind of bit. */
ACCT_INLINED void set_bit(const struct acct_bit *b, struct nodes *n, const acct_lanes *x, acct_lanes out[2])
{
	acct_lanes gain = -4 * b->variance * n->half * n->half;

	acct_lane_log1p(&gain, &out[0]);
	out[0] *= 0.5;
	for (int i = 0; i < ACCT_LANES && !acct_lane_within(&gain, -1 + 1e-12, 0); i++)
		out[0][i] = log_modulus(b, gain[i], n->rest[i]);
	if (acct_lane_within(x, 0, 0.1)) {
		turn_lanes(b, x, &out[1]);
		return;
	}
	for (int i = 0; i < ACCT_LANES; i++)
		out[1][i] = turn(b, (*x)[i], n->t[i] / 2);
}

ACCT_INLINED void set_lanes(const struct acct_bits_sum *f, struct nodes *n)
{
	acct_lanes x = n->t / 2, re, im, bre, bim, scale;

	acct_lane_turn(&x, &n->half, &n->rest);
	x = n->half / n->rest;
	re = -2 * n->half * n->half; /* real and imaginary part of e^it - 1 */
	im = 2 * n->half * n->rest;
	bre = f->c + f->w * re; /* real and imaginary part of w e^it - 1 */
	bim = f->w * im;
	scale = n->weight * f->w / (bre * bre + bim * bim);
	n->g[0] = scale * (re * bre + im * bim);
	n->g[1] = scale * (im * bre - re * bim);
	memset(n->a[2], 0, sizeof n->a[2]);
	for (int k = 0; k < (f->coins > 0 ? 3 : 2); k++)
		set_bit(&f->bit[k], n, &x, n->a[k]);
}

static void set_lanes_plain(const struct acct_bits_sum *f, struct nodes *n)
{
	set_lanes(f, n);
}

ACCT_AVX2 static void set_lanes_avx2(const struct acct_bits_sum *f, struct nodes *n)
{
	set_lanes(f, n);
}

static double modulus(double re, double im)
{
	return sqrt(re * re + im * im);
}

/* Set up to four nodes from number k on; their t and weight are set already. */
static void set_nodes(struct acct_bits_sum *f, size_t k, size_t some, struct nodes *from)
{
	(acct_lane_has_avx2() ? set_lanes_avx2 : set_lanes_plain)(f, from);
	for (size_t i = 0; i < some; i++) {
		struct acct_node *n = &f->node[k + i];

		n->t = from->t[i];
		n->half = from->half[i];
		n->rest = from->rest[i];
		n->g[0] = from->g[0][i];
		n->g[1] = from->g[1][i];
		n->size = modulus(n->g[0], n->g[1]);
		for (int j = 0; j < 3; j++) {
			n->a[j][0] = from->a[j][0][i];
			n->a[j][1] = from->a[j][1][i];
		}
		n->lambda[0] = f->bit[0].lost - f->bit[1].lost + n->a[0][0] - n->a[1][0];
		n->lambda[1] = n->a[0][1] - n->a[1][1];
		n->length2 = f->s * f->s + n->t * n->t;
		n->length = sqrt(n->length2);
		n->lambda_size = modulus(n->lambda[0], n->lambda[1]);
	}
}

static void set_bits(struct acct_bits_sum *f, double eps0, double eps)
{
	double p = 1 / (1 + exp(-eps0)), q = exp(-eps0) / (1 + exp(-eps0)), d = tanh(eps0 / 2);
	double down = -expm1(-(eps0 + eps)), up = expm1(eps0 - eps), half;

	f->scale = q * exp(eps) * up;
	f->c = expm1(eps) / f->scale;
	f->w = 1 + f->c;
	f->s = log1p(f->c);
	f->bit[0].one = fmin(1, p * p * down / d);
	f->bit[0].zero = q * q * up / d;
	f->bit[1].one = q * p * exp(eps) * down / d;
	f->bit[1].zero = p * q * exp(eps) * up / d;
	f->bit[0].lost = lost(p, q, p * q * -expm1(-eps) / d);
	f->bit[1].lost = lost(q, p, p * q * expm1(eps) / d);
	half = f->s / 2;
	f->bit[2].one = 1 / (1 + exp(-f->s));
	f->bit[2].zero = 1 / (1 + exp(f->s));
	f->bit[2].lost = log_cosh(half) - half * tanh(half);
	for (int k = 0; k < 3; k++)
		f->bit[k].variance = f->bit[k].one * f->bit[k].zero;
}

/* Find a distance x with s x + (x^2/2) / (variance + x/3) >= tails + 2.  By Bernstein's inequality a sum of
 * independent bits with this variance is further than x from its mean with a chance of at most exp(-second
 * term); the first term stands for the factor e^(-s x) that the tail has besides.  Both terms grow with
 * x. */
static double far_enough(double tails, double variance, double s)
{
	double b = tails + 2, low = 0, high = b / 3 + sqrt(b * b / 9 + 2 * b * variance);

	for (int i = 0; i < 20 && s > 0; i++) {
		double x = (low + high) / 2;

		if (x * x / 2 >= (b - s * x) * (variance + x / 3))
			high = x;
		else
			low = x;
	}
	return high;
}

/* Choose the period and the nodes.  Returns false if there are more than ACCT_BITS_NODES. */
static bool set_period(struct acct_bits_sum *f, const struct acct_bits_spread *b)
{
	double tails, last, pi = acos(-1);

	f->all = b->all;
	f->left_out = fmin(MOST_LEFT, FEW_LEFT + log1p(b->tilted));
	tails = f->left_out + FOLDED + f->s;
	f->period =
		ceil(4 + fmax(far_enough(tails, b->tilted, 0), b->shift + far_enough(tails, b->plain, f->s)));
	f->period = fmin(f->period, b->all + 1);
	f->folded = f->c > 0 ? f->c / expm1(f->period * f->s) : 1 / f->period;
	f->nodes = 0;
	last = floor(f->period / 2);
	/* beyond the last node sin^2(t/2) is larger, since sin(t/2) grows up to t = pi */
	if (2 * b->least > f->left_out)
		last = fmin(
			last, floor(asin(sqrt(f->left_out / (2 * b->least))) * f->period / pi * (1 + 1e-12)));
	if (!(last <= ACCT_BITS_NODES))
		return false;
	f->nodes = (size_t)last;
	for (size_t k = 0; k < f->nodes; k += ACCT_LANES) {
		size_t some = f->nodes - k < ACCT_LANES ? f->nodes - k : ACCT_LANES;
		struct nodes n;

		memset(&n, 0, sizeof n);
		for (size_t i = 0; i < ACCT_LANES; i++) {
			double at = (double)(k + (i < some ? i : 0) + 1);

			n.t[i] = 2 * pi * at / f->period;
			n.weight[i] = (2 * at < f->period ? 2 : 1) / f->period;
		}
		set_nodes(f, k, some, &n);
	}
	return true;
}

static bool in_range(const struct acct_bits_sum *f)
{
	return f->c >= 0 && f->c < 1e150 && f->scale > 0;
}

bool acct_bits_sum_init(
	struct acct_bits_sum *f, double others, double coins, double eps0, double eps, bool only_ones)
{
	const struct acct_bit *wider = only_ones ? &f->bit[0] : &f->bit[1];
	double q = exp(-eps0) / (1 + exp(-eps0)), p = 1 / (1 + exp(-eps0)), d = tanh(eps0 / 2);
	struct acct_bits_spread b;

	f->others = others;
	f->coins = coins;
	set_bits(f, eps0, eps);
	if (!in_range(f))
		return false;
	b.all = others + coins;
	b.tilted = others * wider->variance + coins * f->bit[2].variance;
	b.least = others * fmin(f->bit[0].variance, f->bit[1].variance) + coins * f->bit[2].variance;
	b.plain = others * p * q + coins / 4;
	b.shift = others * p * q * (only_ones ? -expm1(-eps) : expm1(eps)) / d + coins * tanh(f->s / 2) / 2;
	return set_period(f, &b);
}

bool acct_bits_sum_tilt(struct acct_bits_sum *f, double eps0, double eps)
{
	f->others = f->coins = 0;
	set_bits(f, eps0, eps);
	return in_range(f);
}

bool acct_bits_sum_open(struct acct_bits_sum *f, const struct acct_bits_spread *bits)
{
	return set_period(f, bits);
}

void acct_bits_tilt(const struct acct_bits_sum *f, double one, double zero, struct acct_bit *b)
{
	double all = 1 + f->c * one;

	b->one = f->w * one / all;
	b->zero = zero / all;
	b->variance = b->one * b->zero;
	b->lost = lost(one, zero, one * zero * f->c / all);
}

void acct_bits_log(const struct acct_bit *b, const struct acct_node *n, double a[2])
{
	double gain = -4 * b->variance * n->half * n->half;

	a[0] = log_modulus(b, gain, n->rest);
	a[1] = turn(b, n->half / n->rest, n->t / 2);
}

void acct_bits_terms_at(const struct acct_bits_sum *f, double m, struct acct_bits_terms *t)
{
	double rest = f->others - m;

	t->m = m;
	t->mean = m * f->bit[0].one + rest * f->bit[1].one + f->coins * f->bit[2].one;
	t->exponent = m * f->bit[0].lost + rest * f->bit[1].lost + f->coins * f->bit[2].lost;
	t->variance = m * f->bit[0].variance + rest * f->bit[1].variance + f->coins * f->bit[2].variance;
	for (size_t k = 0; k < f->nodes; k++) {
		const struct acct_node *n = &f->node[k];

		t->re[k] = m * n->a[0][0] + rest * n->a[1][0] + f->coins * n->a[2][0];
		t->im[k] = m * n->a[0][1] + rest * n->a[1][1] + f->coins * n->a[2][1];
	}
	acct_lane_polar(f->nodes, t->re, t->im, t->re, t->im, t->size);
	for (size_t k = 0; k < f->nodes; k++) {
		const struct acct_node *n = &f->node[k];
		double re = t->re[k], im = t->im[k];

		t->re[k] = n->g[0] * re - n->g[1] * im;
		t->im[k] = n->g[0] * im + n->g[1] * re;
		t->size[k] *= n->size;
	}
}

/* A bound on the rounding error of the tilted law's mean. */
static double mean_error(const struct acct_bits_sum *f)
{
	return 8 * ULP * (f->all + 1);
}

/* A bound on |r|, the folded tails of acct_bits_sum.h, for every theta from this one up. */
static double tails_of(const struct acct_bits_sum *f, const struct acct_bits_terms *t, double theta)
{
	return exp(t->exponent - f->s * theta) * exp(-f->left_out) * (2 + exp(-FOLDED));
}

double acct_bits_rest(const struct acct_bits_sum *f, const struct acct_bits_terms *t, double theta)
{
	return tails_of(f, t, theta) + (1 + 8 * ULP) * f->folded;
}

struct acct_bits_value acct_bits_value(
	const struct acct_bits_sum *f, const struct acct_bits_terms *t, double theta)
{
	double sum = 0, size = 0, off = 0, top = exp(t->exponent - f->s * theta), far = mean_error(f);
	double c = 1, d = 0, c1 = 1, d1 = 0;

	if (f->nodes > 0) {
		c1 = cos(f->node[0].t * theta);
		d1 = sin(f->node[0].t * theta);
	}
	for (size_t k = 0; k < f->nodes; k++) {
		double next = c * c1 - d * d1;

		d = c * d1 + d * c1;
		c = next;
		sum += t->re[k] * c + t->im[k] * d;
		size += t->size[k];
		off += t->size[k] * f->node[k].length;
	}
	return (struct acct_bits_value){ top * sum + f->folded,
		top * (ACCT_BITS_ERROR * size + 1.1 * far * off) + tails_of(f, t, theta) +
			8 * ULP * f->folded };
}

struct acct_bits_value acct_bits_above(
	const struct acct_bits_sum *f, const struct acct_bits_terms *t, double theta)
{
	double first, size, sum = 0, power = t->exponent - f->s * theta, top = exp(power),
			    far = mean_error(f);
	double length = f->period * f->s, off = 0, c = 1, d = 0, c1 = 1, d1 = 0;

	/* Add the node at t = 0, and subtract c/(w^N - 1), what the period folds on j from the left.  Where
	 * w is close to 1 the two nearly cancel. */
	if (length < 1e-3) {
		first = (f->c > 0 ? expm1(power) / f->c : -theta) / f->period + 0.5 - 0.5 / f->period +
			(f->s / f->period - length) / 12;
		size = 1;
	} else {
		first = top / (f->period * f->c) - 1 / expm1(length);
		size = top / (f->period * f->c) + 1 / expm1(length);
	}
	if (f->nodes > 0) {
		c1 = cos(f->node[0].t * theta);
		d1 = sin(f->node[0].t * theta);
	}
	for (size_t k = 0; k < f->nodes; k++) {
		const struct acct_node *n = &f->node[k];
		/* a term has the factor g = w (e^it - 1) / (w e^it - 1); divide it by w (e^it - 1) = 2i w
		 * sin(t/2) e^(it/2) */
		double scale = 1 / (2 * f->w * n->half), turn_re = -n->half * scale,
		       turn_im = -n->rest * scale, re, im, next = c * c1 - d * d1;

		re = t->re[k] * turn_re - t->im[k] * turn_im;
		im = t->re[k] * turn_im + t->im[k] * turn_re;
		d = c * d1 + d * c1;
		c = next;
		sum += re * c + im * d;
		size += top * t->size[k] * fabs(scale);
		off += top * t->size[k] * fabs(scale) * n->length;
	}
	return (struct acct_bits_value){ first + top * sum, 1e3 * ACCT_BITS_ERROR * size + 1.1 * far * off +
								    1e-15 * top +
								    f->period * tails_of(f, t, theta) };
}
