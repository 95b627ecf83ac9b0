/* acct_compose.c - composes laws on one grid by tilted transforms, and adds up every error term. */
#include "acct_compose.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_ends.h"
#include "acct_fft.h"

#define ULP         (DBL_EPSILON / 2)
#define MOST_POINTS 8388608.0
/* points of the window, in standard deviations of the tilted law: all but 1e-14 of a normal law is within 8
 * deviations of its mean */
#define WINDOW    16.0
#define UNDERFLOW 1e-290 /* bound on the sum of all products that underflow */
/* e^x is 0 for x below -745.14, and there the C library takes ten times as long to find it: such terms are
 * skipped */
#define NO_EXP (-746.0)

void acct_parts_cumulant(const struct acct_part *part, size_t parts, double h, double lambda, double psi[3])
{
	psi[0] = psi[1] = psi[2] = 0;
	for (size_t i = 0; i < parts; i++) {
		const struct acct_law *l = part[i].law;
		double m0 = 0, m1 = 0, m2 = 0, top = fabs(lambda) * h * (double)l->at[l->size - 1];

		for (size_t j = 0; j < l->size; j++) {
			double x = h * (double)l->at[j], z = lambda * x - top, e;

			if (z < NO_EXP)
				continue;
			e = l->p[j] * exp(z);
			m0 += e;
			m1 += e * x;
			m2 += e * x * x;
		}
		psi[0] += part[i].count * (log(m0) + top);
		psi[1] += part[i].count * m1 / m0;
		psi[2] += part[i].count * fmax(0, m2 / m0 - m1 / m0 * (m1 / m0));
	}
}

/* Positive as long as lambda is smaller than the best tilt for the aim.  For an epsilon, that tilt moves
 * the law's mean to it.  For a delta, it makes the estimate of delta from a normal law around the tilted
 * mean equal to it. */
static double too_small(const double psi[3], double lambda, struct acct_aim aim)
{
	if (isnan(aim.delta))
		return aim.epsilon - psi[1];
	return psi[0] - lambda * psi[1] - 0.5 * log(2 * acos(-1) * fmax(psi[2], 1e-300)) -
	       log(lambda * (lambda + 1)) - log(aim.delta);
}

double acct_parts_tilt(
	const struct acct_part *part, size_t parts, double h, struct acct_aim aim, double within)
{
	double psi[3], low, high, longest = 0;

	for (size_t i = 0; i < parts; i++)
		longest = fmax(longest, h * (double)part[i].law->at[part[i].law->size - 1]);
	acct_parts_cumulant(part, parts, h, 0, psi);
	low = 1e-3 / sqrt(fmax(psi[2], 1e-300));
	high = fmin(100 / sqrt(fmax(psi[2], 1e-300)), 300 / longest);
	low = fmin(low, high);
	for (int i = 0; i < 40 && high > low * within; i++) {
		double middle = sqrt(low * high);

		acct_parts_cumulant(part, parts, h, middle, psi);
		if (too_small(psi, middle, aim) > 0)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Bound by Chernoff what lies beyond `edge`: above it with sign 1, below it with sign -1.  log_mass[0]: log
 * of the mass of the law tilted by lambda; log_mass[1]: log of the P-mass, that of the law itself. */
static void beyond(const struct acct_part *part, size_t parts, double h, double lambda, const double psi[3],
	double edge, int sign, double log_mass[2])
{
	log_mass[0] = log_mass[1] = INFINITY;
	for (double m = 1; m <= 64; m *= 2) {
		double mu = sign * m / sqrt(psi[2]), there[3];

		acct_parts_cumulant(part, parts, h, lambda + mu, there);
		if (!isfinite(there[0]))
			continue;
		log_mass[0] = fmin(log_mass[0], there[0] - psi[0] - mu * edge);
		if (lambda + mu > 0)
			log_mass[1] = fmin(log_mass[1], there[0] - (lambda + mu) * edge);
	}
}

/* Choose the window of grid points that is computed: its size and first loss.  Set what is wrapped into it
 * from outside, and the P-mass above it. */
static enum acct_rc choose_window(
	struct acct_sum *s, const struct acct_part *part, size_t parts, const double psi[3])
{
	double reach = 0, want = ceil(WINDOW * sqrt(psi[2]) / s->h) + 64;

	for (size_t i = 0; i < parts; i++)
		reach += part[i].count * (double)part[i].law->at[part[i].law->size - 1];
	for (;; want *= 1.25) {
		double points = fmin(want, 2 * reach + 2), up[2], down[2];

		if (!(points <= MOST_POINTS))
			return ACCT_ELIMIT;
		s->size = acct_fft_size(points);
		if ((double)s->size >= 2 * reach + 1) {
			s->first = -(long)(s->size / 2);
			s->wrapped = s->beyond = 0;
			return ACCT_OK;
		}
		s->first = lround(psi[1] / s->h) - (long)(s->size / 2);
		beyond(part, parts, s->h, s->lambda, psi, s->h * (double)(s->first - 1), -1, down);
		beyond(part, parts, s->h, s->lambda, psi, s->h * ((double)s->first + (double)s->size), 1, up);
		s->wrapped = exp(down[0]) + exp(up[0]);
		s->beyond = exp(up[1]);
		if (s->wrapped < 1e-12)
			return ACCT_OK;
	}
}

static size_t slot(long at, size_t size)
{
	long r = at % (long)size;

	return (size_t)(r < 0 ? r + (long)size : r);
}

/* Transform, multiply, transform back.  acct_compose.h, "Rounding of the transform", bounds the noise. */
static enum acct_rc convolve(struct acct_sum *s, const struct acct_part *part, size_t parts)
{
	struct acct_fft f;
	enum acct_rc rc = acct_fft_init(&f, s->size);
	double eta = acct_fft_error(s->size), spread = 0, counts = 0, norm = 0;

	if (rc)
		goto out;
	for (size_t i = 0; i < parts; i++) {
		const struct acct_law *l = part[i].law;
		double top = s->lambda * s->h * (double)l->at[l->size - 1], sum = 0, square = 0;

		memset(f.real, 0, s->size * sizeof *f.real);
		for (size_t j = 0; j < l->size; j++)
			sum += l->p[j] * exp(s->lambda * s->h * (double)l->at[j] - top);
		for (size_t j = 0; j < l->size; j++) {
			double g = l->p[j] * exp(s->lambda * s->h * (double)l->at[j] - top) / sum;

			f.real[slot(l->at[j], s->size)] += g;
			square += g * g;
		}
		acct_fft_multiply(&f, part[i].count);
		spread += part[i].count * sqrt(square);
		counts += part[i].count;
	}
	acct_fft_finish(&f);
	for (size_t i = 0; i < s->size; i++) {
		double g = f.real[slot(s->first + (long)i, s->size)];

		s->g[i] = g < 0 ? 0 : g; /* a NaN stays, and makes every bound the trivial one */
		norm += s->g[i] * s->g[i];
	}
	/* with F a law's true transform, D its error and K the count: (F+D)^K - F^K is at most K |D| e^{K
	 * |D|} for |F| <= 1, and |D| <= eta sqrt(N) */
	double growth = 1.01 * exp(counts * eta * sqrt((double)s->size));
	s->noise = growth * (eta * (spread + sqrt(norm)) + 4 * counts * ULP * sqrt(norm));
out:
	acct_fft_fini(&f);
	return rc;
}

static double loss_at(const struct acct_sum *s, size_t i)
{
	return s->h * (double)(s->first + (long)i);
}

/* Set above[] and above1[].  Each sum is relative to the loss at which it begins, so no exponent is above
 * 0: epsilon may be far beyond the range of exp(), and losses may be thousands apart. */
static void sum_from_top(struct acct_sum *s)
{
	double a = 0, b = 0, fade = exp(-s->lambda * s->h), fade1 = exp(-(s->lambda + 1) * s->h);

	for (size_t i = s->size; i-- > 0;) {
		a = s->g[i] + fade * a;
		b = s->g[i] + fade1 * b;
		s->above[i] = a;
		s->above1[i] = b;
	}
}

enum acct_rc acct_sum_settle(struct acct_sum *s, double psi, double counts, double longest)
{
	double far = fmax(fabs(loss_at(s, 0)), fabs(loss_at(s, s->size))), size = (double)s->size;

	s->psi = psi;
	s->relative = 1e-10 + counts * (1e-11 + (64 + 4 * s->lambda * longest) * ULP) +
		      4 * (fabs(psi) + (s->lambda + 1) * far) * ULP;
	/* A loss is added up to `size` times, each time after a multiplication by a power of e, which is
	 * off by some ulps. */
	s->adding = (4 * size * (1 + (s->lambda + 1) * s->h) + 16 * (s->lambda + 1) * far + 64) * ULP;
	s->above = calloc(s->size, sizeof *s->above);
	s->above1 = calloc(s->size, sizeof *s->above1);
	if (!s->above || !s->above1)
		return ACCT_ENOMEM;
	sum_from_top(s);
	return ACCT_OK;
}

enum acct_rc acct_sum_init(
	struct acct_sum *s, const struct acct_part *part, size_t parts, double h, struct acct_aim aim)
{
	double psi[3], finite = 0, counts = 0, longest = 0, atoms = 0, powers = 0;
	enum acct_rc rc;

	memset(s, 0, sizeof *s);
	s->h = h;
	for (size_t i = 0; i < parts; i++) {
		finite += part[i].count * log1p(-fmin(part[i].law->infinite, 1));
		counts += part[i].count;
		atoms += (double)part[i].law->size;
		powers += 1 + log2(part[i].count);
		longest = fmax(longest, h * (double)part[i].law->at[part[i].law->size - 1]);
	}
	s->infinite = -expm1(finite);
	/* a NAN, where the aim is an epsilon, stays one */
	aim.delta = fmax(aim.delta - s->infinite, 1e-3 * aim.delta);
	s->lambda = acct_parts_tilt(part, parts, h, aim, 1.001);
	acct_parts_cumulant(part, parts, h, s->lambda, psi);
	if (!isfinite(psi[0]))
		return ACCT_EPRECISION;
	psi[2] = fmax(psi[2], h * h);
	rc = choose_window(s, part, parts, psi);
	if (rc)
		return rc;
	/* Estimate the work: about 60 sums of exponentials over the atoms; and for each point its
	 * transforms, powers and 8 exponentials. */
	s->work = 600 * atoms +
		  (double)s->size * (2.5 * (double)(parts + 1) * log2((double)s->size) + 5 * powers + 80);
	s->g = calloc(s->size, sizeof *s->g);
	if (!s->g)
		return ACCT_ENOMEM;
	rc = convolve(s, part, parts);
	return rc ? rc : acct_sum_settle(s, psi[0], counts, longest);
}

void acct_sum_fini(struct acct_sum *s)
{
	free(s->g);
	free(s->above);
	free(s->above1);
	memset(s, 0, sizeof *s);
}

/* The part of delta(eps) that comes from the window, and a bound on its error.  i is the first index whose
 * loss is above eps, which is at most a step away, or the first index of all. Far to the left of the tilted
 * law's centre both may be INFINITY, and their difference NaN. */
static void summed(const struct acct_sum *s, size_t i, double eps, double *sum, double *noise)
{
	double x = loss_at(s, i), decay = -expm1(-2 * s->lambda * s->h), scale = exp(s->psi - s->lambda * x);
	double reach = fmin((double)(s->size - i), 1 / decay); /* both are above 0; decay may underflow */

	*sum = scale * (s->above[i] - exp(fmin(0, eps - x)) * s->above1[i]);
	*noise = scale * (s->noise * sqrt(reach) * (1 + 1e-9) + s->adding * s->above[i]) + UNDERFLOW;
}

static size_t index_above(const struct acct_sum *s, double eps)
{
	double i = floor(eps / s->h) + 1 - (double)s->first;

	return i <= 0 ? 0 : i >= (double)s->size ? s->size : (size_t)i;
}

double acct_sum_delta_above(const struct acct_sum *s, double eps)
{
	size_t i = index_above(s, eps);
	double sum = 0, noise = 0;

	if (s->wrapped > 0 && i == 0)
		return 1;
	if (i < s->size)
		summed(s, i, eps, &sum, &noise);
	/* No term is negative, so a sum below 0 is rounding. */
	return acct_upper_end((s->infinite + acct_larger(sum, 0) + noise + s->beyond) * (1 + s->relative), 1);
}

double acct_sum_delta_below(const struct acct_sum *s, double eps)
{
	size_t i = index_above(s, eps);
	double sum = 0, noise = 0;

	if (s->wrapped > 0 && i == 0)
		return 0;
	if (i < s->size)
		summed(s, i, eps, &sum, &noise);
	noise += s->wrapped * exp(s->psi - s->lambda * eps);
	/* An infinite sum has infinite noise; their difference is NaN, and the lower end is then 0. */
	return acct_lower_end(s->infinite + acct_lower_end(sum - noise)) * (1 - s->relative);
}

/* Find the epsilon at which the bound crosses delta: between *below, where it is larger, and *above.
 * Returns 1 if it is larger everywhere.  The search starts from the top: to the left of the tilted law's
 * centre the error terms grow without bound. */
static double crossing(const struct acct_sum *s, double delta,
	double (*bound)(const struct acct_sum *, double), size_t *from, double *below, double *above)
{
	size_t low = s->first < 0 ? (size_t)-s->first : 0, high = from && *from < s->size ? *from : s->size;

	*above = *below = s->h * (double)(s->first + (long)high);
	if (bound(s, fmax(0, *above)) > delta)
		return 1;
	while (high > low) {
		double eps = s->h * (double)(s->first + (long)(high - 1));

		if (bound(s, eps) > delta) {
			*below = eps;
			break;
		}
		high--;
		*above = *below = eps;
	}
	if (from)
		*from = high;
	for (int i = 0; i < 40 && *above > *below; i++) {
		double middle = (*above + *below) / 2;

		if (bound(s, middle) > delta)
			*below = middle;
		else
			*above = middle;
	}
	return 0;
}

double acct_sum_epsilon_above(const struct acct_sum *s, double delta, size_t *from)
{
	double below, above;

	if (crossing(s, delta, acct_sum_delta_above, from, &below, &above) > 0)
		return INFINITY;
	return fmax(0, above);
}

double acct_sum_epsilon_below(const struct acct_sum *s, double delta, size_t *from)
{
	double below, above;

	if (crossing(s, delta, acct_sum_delta_below, from, &below, &above) > 0)
		return fmax(0, below);
	return below < above ? fmax(0, below) : 0;
}
