/* acct_gspa_sum.c - computes delta of the binary pair, given the law of the number of blanket messages.
 *
 * With m blanket messages, the victim's among them, a of which are of the first kind, both laws have
 * densities linear in a against Bin(m, 1/2): P - E Q = (2/m) b(m, a) g(a), g(a) = a (a1 - E a0) - (m - a)(E
 * a1 - a0).  delta is the sum of its positive part. */
#include "acct_gspa_sum.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_ends.h"

#define ULP 0x1p-53
#define FAR 600.0 /* where Chernoff's bound is below e^-FAR it is charged instead of a sum */
/* a number of messages whose share of delta is smaller is bounded instead of summed */
#define IDLE 1e-22
/* the terms of a sum that together are at most this share of it are left out, and bounded */
#define LEFT      1e-18
#define UNDERFLOW 1e-250 /* charged for masses that underflow: more than all of them can sum to */
/* relative error of g(a) in ulps of the sum of its terms: it is four products of numbers known to 3 ulps
 * each */
#define G_ULPS 16

#define MOST_EPSILON 700.0

/* ---- The law of the number of blanket messages ----
 *
 * By convolution.  Every term is positive, so relative errors add up, and nothing cancels. */

/* Masses below this are cut off.  A million cuts leave out at most a mass of 1e-90, which is added to every
 * upper bound. */
#define NOTHING    1e-100
#define MOST_WORK  1.5e9 /* most multiplications */
#define MOST_TERMS 1e6   /* most terms; one delta takes some hundredths of a second */
#define MOST_SIZE  8e6   /* most terms of one binomial law */
#define SHARE_ULPS 8     /* relative error of p and q, in ulps */

/* out[i+j] += a[i] b[j]. */
static void convolve(const double *a, size_t n, const double *b, size_t m, double *out)
{
	for (size_t j = 0; j < m; j++)
		for (size_t i = 0; i < n; i++)
			out[i + j] += a[i] * b[j];
}

/* Cut off the ends whose masses are below NOTHING. */
static void trim(struct acct_gspa_count *c)
{
	size_t from = 0, to = c->size;

	while (from + 1 < to && c->mass[from] < NOTHING)
		c->missed += c->mass[from++];
	while (to - 1 > from && c->mass[to - 1] < NOTHING)
		c->missed += c->mass[--to];
	memmove(c->mass, c->mass + from, (to - from) * sizeof *c->mass);
	c->size = to - from;
	c->first += from;
}

/* Compute the binomial law of one class: from the most likely number outwards by ratios of neighbouring
 * terms, then scaled to sum to one.  The terms left out on either side start below NOTHING and fall at
 * least geometrically, since the ratios fall. */
static enum acct_rc binomial(const struct acct_gspa_share *s, struct acct_gspa_count *b)
{
	double n = (double)s->count, odds = s->p / s->q, mode = floor((n + 1) * s->p), sum = 0;
	double spread = sqrt(n * s->p * s->q),
	       width = floor(24 * spread + 400); /* e^{-24^2/2} is below 1e-120 */

	if (mode > n)
		mode = n;
	double low = fmax(0, mode - width), high = fmin(n, mode + width);
	if (high - low > MOST_SIZE)
		return ACCT_ELIMIT;
	b->size = (size_t)(high - low) + 1;
	b->first = (uint64_t)low;
	b->mass = calloc(b->size, sizeof *b->mass);
	if (!b->mass)
		return ACCT_ENOMEM;
	size_t top = (size_t)(mode - low);
	b->mass[top] = 1;
	for (size_t i = top; i + 1 < b->size; i++) {
		double j = low + (double)i;

		b->mass[i + 1] = b->mass[i] * ((n - j) / (j + 1)) * odds;
	}
	for (size_t i = top; i > 0; i--) {
		double j = low + (double)i;

		b->mass[i - 1] = b->mass[i] * (j / (n - j + 1)) / odds;
	}
	for (size_t i = 0; i < b->size; i++)
		sum += b->mass[i];
	for (size_t i = 0; i < b->size; i++)
		b->mass[i] /= sum;
	b->missed = NOTHING;
	trim(b);
	/* each step has 5 operations and two chances of SHARE_ULPS, and the sum one addition for each
	 * term */
	b->error = (5 + 2 * SHARE_ULPS + 1) * ULP * (double)(b->size + 1);
	return ACCT_OK;
}

static enum acct_rc add(struct acct_gspa_count *c, const struct acct_gspa_count *b)
{
	const struct acct_gspa_count *large = c->size > b->size ? c : b, *small = c->size > b->size ? b : c;
	size_t size = c->size + b->size - 1;

	c->work += (double)c->size * (double)b->size;
	/* estimate the work: for every number of messages, the sum for delta takes terms over some
	 * deviations */
	double terms = (double)size * sqrt((double)c->first + (double)b->first + (double)size);
	if (c->work > MOST_WORK || terms > MOST_TERMS)
		return ACCT_ELIMIT;
	assert(size > 0); /* a law has at least one number */
	double *out = calloc(size, sizeof *out);
	if (!out)
		return ACCT_ENOMEM;
	convolve(large->mass, large->size, small->mass, small->size, out);
	c->error += b->error + ULP * (double)(small->size + 1);
	c->missed += b->missed;
	c->first += b->first;
	c->size = size;
	free(c->mass);
	c->mass = out;
	trim(c);
	return ACCT_OK;
}

enum acct_rc acct_gspa_count_init(struct acct_gspa_count *c, const struct acct_gspa_share *share, size_t n)
{
	*c = (struct acct_gspa_count){ .size = 1, .mass = malloc(sizeof *c->mass) };
	if (!c->mass)
		return ACCT_ENOMEM;
	c->mass[0] = 1;
	for (size_t i = 0; i < n; i++) {
		struct acct_gspa_count b = { 0 };
		double two[2] = { share[i].q, share[i].p };
		enum acct_rc rc;

		if (share[i].count == 0)
			continue;
		if (share[i].count == 1) {
			b = (struct acct_gspa_count){ .mass = two, .size = 2, .error = SHARE_ULPS * ULP };
			rc = add(c, &b);
		} else {
			rc = binomial(&share[i], &b);
			if (!rc)
				rc = add(c, &b);
			free(b.mass);
		}
		if (rc)
			return rc;
	}
	return ACCT_OK;
}

void acct_gspa_count_fini(struct acct_gspa_count *c)
{
	free(c->mass);
	*c = (struct acct_gspa_count){ 0 };
}

/* ---- The sum over that number ---- */

/* The mass b = b(m, k) of Bin(m, 1/2) at k, moved by ratios from one (m, k) to the next. */
struct coins {
	double m, k, b;
	double steps; /* number of roundings, of 4 ulps each, since the mass was computed afresh */
	int known;
};

/* Minus the log of Chernoff's bound on P(Bin(m, 1/2) >= k). */
static double chernoff(double m, double k)
{
	double x = k / m;

	if (k <= m / 2)
		return 0;
	return m * (x * log(2 * x) + (x < 1 ? (1 - x) * log(2 - 2 * x) : 0));
}

/* Compute the mass afresh: sum up the masses relative to the middle one, and then compute the k-th. */
static void coins_fresh(struct coins *c, double m, double k)
{
	double middle = floor(m / 2), at = 1, sum = 1, value = 1;

	*c = (struct coins){ .m = m, .k = k, .known = 1 };
	for (double a = middle; a < m && (at > 1e-30 || a < k); a++) {
		at *= (m - a) / (a + 1);
		sum += at;
		if (a + 1 <= k)
			value = at;
		c->steps++;
	}
	at = 1;
	for (double a = middle; a > 0 && at > 1e-30; a--) {
		at *= a / (m - a + 1);
		sum += at;
	}
	c->b = value / sum;
	/* the sum is rounded once for each of its terms, of which so many are above 1e-30 */
	c->steps += 64 + sqrt(m) * 12;
}

/* Move the mass to (m, k).  For k below the middle, never by more than one, take the middle one, which is
 * larger: there g makes the term zero. */
static void coins_to(struct coins *c, double m, double k)
{
	k = fmax(k, floor(m / 2));
	if (!c->known || m < c->m || k < c->k || c->steps > 1e6) {
		coins_fresh(c, m, k);
		return;
	}
	for (; c->m < m; c->m++, c->steps++)
		c->b *= (c->m + 1) / (2 * (c->m + 1 - c->k));
	for (; c->k < k; c->k++, c->steps++)
		c->b *= (c->m - c->k) / (c->k + 1);
}

/* The sum for one m: its value, the sum of sizes to which rounding errors are relative, and a bound on what
 * was not summed. */
struct part {
	double value, size, left, terms;
};

static struct part part_at(struct coins *c, const struct acct_gspa_victim *v, double m, double e)
{
	struct part p = { 0 };
	double x = v->a1 - e * v->a0, y = e * v->a1 - v->a0;
	/* the largest a at which g, so the term, is not positive */
	double k = fmin(m, floor(m * (y / ((v->a1 - v->a0) * (1 + e)))));

	if (chernoff(m, k) > FAR) {
		p.left = 2 * exp(-FAR);
		return p;
	}
	coins_to(c, m, k);
	/* g(a) <= a x, where x = a1 - E a0 is its slope against a */
	double b = c->b, most = 2 * fmax(x, G_ULPS * ULP * (v->a1 + e * v->a0));
	for (double a = c->k; a <= m; a++, p.terms++) {
		double g = a * x - (m - a) * y, fall = (m - a) / (a + 1);
		double size = a * (v->a1 + e * v->a0) + (m - a) * (e * v->a1 + v->a0);

		/* otherwise the term is certainly negative, and adds nothing */
		if (!(g <= -G_ULPS * ULP * size)) {
			p.value += b * acct_larger(0, g) * 2 / m;
			p.size += b * size * 2 / m;
		}
		p.left = fall < 1 ? b * fall / (1 - fall) * most : INFINITY;
		if (p.left <= LEFT * p.value)
			break;
		b *= fall;
	}
	return p;
}

/* The index of the most likely number of blanket messages of others. */
static size_t likeliest(const struct acct_gspa_count *c)
{
	size_t top = 0;

	for (size_t i = 1; i < c->size; i++)
		if (c->mass[i] > c->mass[top])
			top = i;
	return top;
}

struct acct_bound acct_gspa_count_delta(
	const struct acct_gspa_count *c, const struct acct_gspa_victim *v, double epsilon)
{
	struct coins coins = { 0 };
	double sum = 0, size = 0, left = c->missed, roundings = 0, e = exp(epsilon);

	if (epsilon >= v->most)
		return (struct acct_bound){ v->defect, v->defect };
	if (!(v->a1 > v->a0)) /* without a difference but rounding, the message tells nothing */
		return (struct acct_bound){ v->defect, fmin(1, v->defect + G_ULPS * ULP) };
	size_t top = likeliest(c);
	double idle = c->mass[top] * part_at(&coins, v, (double)(c->first + top) + 1, e).value * IDLE;
	coins.known = 0;
	for (size_t i = 0; i < c->size; i++) {
		if (c->mass[i] < idle) {
			left += c->mass[i];
			continue;
		}
		struct part p = part_at(&coins, v, (double)(c->first + i) + 1, e);

		sum += c->mass[i] * p.value;
		size += c->mass[i] * p.size;
		left += c->mass[i] * p.left;
		roundings = fmax(roundings, 4 * coins.steps + 8 * p.terms);
	}
	double relative = 2 * (c->error + ULP * (roundings + (double)c->size + 64));
	double off = relative * sum + G_ULPS * ULP * size * (1 + relative);
	double upper = acct_upper_end(sum + off + left * (1 + relative) + UNDERFLOW, 1), lower = sum - off;

	return (struct acct_bound){ acct_lower_end((v->defect + (1 - v->defect) * lower) * (1 - 4 * ULP)),
		acct_upper_end((v->defect + (1 - v->defect) * upper) * (1 + 4 * ULP), 1) };
}

/* A search for the epsilon at which one end of delta, the upper or the lower, has a given value. */
struct search {
	const struct acct_gspa_count *c;
	const struct acct_gspa_victim *v;
	double delta;
	int up;
	double low, high;         /* at low that end is above delta, at high it is not */
	double log_low, log_high; /* log of that end divided by delta, at low and at high */
};

static double end_of_delta(const struct search *s, double epsilon)
{
	struct acct_bound at = acct_gspa_count_delta(s->c, s->v, epsilon);

	return s->up ? at.upper : at.lower;
}

static void probe(struct search *s, double epsilon)
{
	if (!(epsilon > s->low && epsilon < s->high))
		return;
	double at = end_of_delta(s, epsilon), value = log(fmax(at, 1e-300) / s->delta);

	if (at > s->delta) {
		s->low = epsilon;
		s->log_low = value;
	} else {
		s->high = epsilon;
		s->log_high = value;
	}
}

/* Narrow low..high.  log delta is nearly straight in epsilon: try both sides of where the line crosses, and
 * the middle. */
static double search(struct search *s)
{
	double at = end_of_delta(s, 0);

	s->high = fmin(s->v->most, MOST_EPSILON);
	if (at <= s->delta)
		return 0;
	s->log_low = log(at / s->delta);
	at = end_of_delta(s, s->high);
	if (at > s->delta)
		return s->up ? INFINITY : s->high;
	s->log_high = log(fmax(at, 1e-300) / s->delta);
	while (s->high - s->low > 1e-12 * s->high && s->high > 1e-300) {
		double width = s->high - s->low;
		double cross = s->low + width * (s->log_low / (s->log_low - s->log_high));

		probe(s, cross - 1e-3 * width);
		probe(s, cross + 1e-3 * width);
		if (s->high - s->low > width / 2)
			probe(s, s->low + (s->high - s->low) / 2);
	}
	return s->up ? s->high : s->low;
}

struct acct_bound acct_gspa_count_epsilon(
	const struct acct_gspa_count *c, const struct acct_gspa_victim *v, double delta)
{
	struct search low = { .c = c, .v = v, .delta = delta, .up = 0 }, up = low;

	if (delta < v->defect)
		return (struct acct_bound){ INFINITY, INFINITY };
	up.up = 1;
	return (struct acct_bound){ search(&low), search(&up) };
}
