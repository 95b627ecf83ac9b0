/* acct_frame.c - keeps products of tilted transforms, with the error terms of acct_compose.c. */
#include "acct_frame.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ULP         (DBL_EPSILON / 2)
#define MOST_POINTS 8388608.0
/* The tilt is found up to this factor, within which the error terms hardly change. */
#define TILT_WITHIN 1.1
/* points of the window that are tried first, in standard deviations of the tilted law */
#define WINDOW  16.0
#define WRAPPED 1e-12
/* a product's frequencies with a smaller modulus are taken as 0, which drop_negligible() charges */
#define NEGLIGIBLE 1e-18
/* MOMENT bounds the error of a log moment.  It is a sum of at most 32769 terms.  Each is off by 64 (2 a +
 * 3) ulp after six squarings, where a <= 11.1 as e^{64 a} is finite, and by the errors of the tilt, as in
 * acct_compose.h. */
/* The largest |log| of the weight that tilting gives an atom, on either side: atoms whose weights
 * underflow, below e^-700 in all, are then negligible. */
#define FARTHEST 250.0
#define MOMENT   1e-11
#define DIRECT   5.0 /* the error of acct_direct_multiply may be so many times that of a transform */

enum acct_rc acct_frame_init(
	struct acct_frame *f, const struct acct_part *part, size_t parts, double h, struct acct_aim aim)
{
	double psi[3];

	memset(f, 0, sizeof *f);
	f->h = h;
	f->lambda = acct_parts_tilt(part, parts, h, aim, TILT_WITHIN);
	acct_parts_cumulant(part, parts, h, f->lambda, psi);
	if (!isfinite(psi[0]))
		return ACCT_EPRECISION;
	for (int i = 0; i < ACCT_FRAME_SIDES; i++)
		f->mu[i] = ldexp(1 / sqrt(fmax(psi[2], h * h)), i);
	return ACCT_OK;
}

void acct_frame_fini(struct acct_frame *f)
{
	acct_fft_fini(&f->fft);
	memset(f, 0, sizeof *f);
}

size_t acct_frame_points(const struct acct_frame *f)
{
	return f->fft.size / 2 + 1;
}

static double tilted(const struct acct_frame *f, const struct acct_law *l, size_t j)
{
	double top = f->h * (double)l->at[l->size - 1];

	return l->p[j] * exp(f->lambda * (f->h * (double)l->at[j] - top));
}

/* An atom at loss x: its tilted mass, and e^{mu x} and e^{-mu x} for the current mu. */
struct moment {
	double g, up, down;
};

/* Compute the log moments at lambda - mu and lambda + mu for each of the frame's mu.  Each is twice the one
 * before, so squaring gives its exponentials. */
static void moments(
	const struct acct_frame *f, struct moment *at, size_t size, double longest, struct acct_factor *out)
{
	for (int i = 0; i < ACCT_FRAME_SIDES; i++) {
		double low = DBL_MIN, high = DBL_MIN;

		for (size_t j = 0; j < size; j++) {
			low += at[j].g * at[j].down;
			high += at[j].g * at[j].up;
			at[j].down *= at[j].down;
			at[j].up *= at[j].up;
		}
		bool within = (f->lambda + f->mu[i]) * longest <= FARTHEST;

		out->side[0][i] = within ? f->lambda * longest + log(low) : NAN;
		out->side[1][i] = within ? f->lambda * longest + log(high) : NAN;
	}
}

/* Compute those log moments again, one by one, for which the exponentials left the range of a double. */
static void moments_again(const struct acct_frame *f, const struct acct_part *part, struct acct_factor *out)
{
	for (int i = 0; i < ACCT_FRAME_SIDES; i++)
		for (int side = 0; side < 2; side++) {
			double psi[3], lambda = f->lambda + (side ? f->mu[i] : -f->mu[i]);

			if (isfinite(out->side[side][i]))
				continue;
			acct_parts_cumulant(part, 1, f->h, lambda, psi);
			out->side[side][i] = psi[0];
		}
}

enum acct_rc acct_frame_factor(
	const struct acct_frame *f, const struct acct_law *law, struct acct_factor *out)
{
	const struct acct_part part = { law, 1 };
	struct moment *at = calloc(law->size, sizeof *at);
	double sum = 0, square = 0, top = f->h * (double)law->at[law->size - 1];

	if (!at)
		return ACCT_ENOMEM;
	acct_parts_cumulant(&part, 1, f->h, f->lambda, out->psi);
	for (size_t j = 0; j < law->size; j++) {
		double g = tilted(f, law, j), up = exp(f->mu[0] * f->h * (double)law->at[j]);

		sum += g;
		square += g * g;
		at[j] = (struct moment){ g, up, 1 / up };
	}
	moments(f, at, law->size, top, out);
	moments_again(f, &part, out);
	free(at);
	out->spread = sqrt(square) / sum;
	out->finite = log1p(-fmin(law->infinite, 1));
	out->reach = (double)law->at[law->size - 1];
	out->longest = f->h * out->reach;
	out->counts = 1;
	return ACCT_OK;
}

void acct_factor_add(struct acct_factor *sum, const struct acct_factor *one, double count)
{
	for (int i = 0; i < 3; i++)
		sum->psi[i] += count * one->psi[i];
	for (int i = 0; i < ACCT_FRAME_SIDES; i++)
		for (int side = 0; side < 2; side++)
			sum->side[side][i] += count * one->side[side][i];
	sum->spread += count * one->spread;
	sum->finite += count * one->finite;
	sum->reach += count * one->reach;
	sum->longest = fmax(sum->longest, one->longest);
	sum->counts += count * one->counts;
}

static size_t slot(long at, size_t size)
{
	long r = at % (long)size;

	return (size_t)(r < 0 ? r + (long)size : r);
}

/* Place a window of s->size points around the composed law's tilted mean, and bound the masses outside by
 * Chernoff. */
static void place(const struct acct_frame *f, const struct acct_factor *all, struct acct_sum *s)
{
	double below = INFINITY, above = INFINITY, mass = INFINITY, low, high, off = MOMENT * all->counts;

	s->wrapped = s->beyond = 0;
	if ((double)s->size >= 2 * all->reach + 1) {
		s->first = -(long)(s->size / 2);
		return;
	}
	s->first = lround(all->psi[1] / f->h) - (long)(s->size / 2);
	low = f->h * (double)(s->first - 1);
	high = f->h * ((double)s->first + (double)s->size);
	for (int i = 0; i < ACCT_FRAME_SIDES; i++) {
		if (isfinite(all->side[0][i]))
			below = fmin(below, all->side[0][i] - all->psi[0] + f->mu[i] * low);
		if (isfinite(all->side[1][i])) {
			above = fmin(above, all->side[1][i] - all->psi[0] - f->mu[i] * high);
			mass = fmin(mass, all->side[1][i] - (f->lambda + f->mu[i]) * high);
		}
	}
	s->wrapped = exp(below + off) + exp(above + off);
	s->beyond = exp(mass + off);
}

enum acct_rc acct_frame_room(struct acct_frame *f, const struct acct_factor *all, double growth)
{
	double want = ceil(WINDOW * sqrt(all->psi[2]) / f->h) + 64;
	struct acct_sum s = { 0 };

	for (;; want *= 1.25) {
		double points = fmin(want, 2 * all->reach + 2);

		if (!(points * growth <= MOST_POINTS))
			return ACCT_ELIMIT;
		s.size = (size_t)points;
		place(f, all, &s);
		if (s.wrapped < WRAPPED)
			return acct_fft_init(&f->fft, acct_fft_size(points * growth));
	}
}

void acct_frame_one(const struct acct_frame *f, struct acct_spectrum *product)
{
	product->active = acct_frame_points(f);
	for (size_t i = 0; i < product->active; i++) {
		product->at[i][0] = 1;
		product->at[i][1] = 0;
	}
}

void acct_frame_copy(const struct acct_frame *f, struct acct_spectrum *to, const struct acct_spectrum *from)
{
	memcpy(to->at, from->at, acct_frame_points(f) * sizeof *to->at);
	to->active = from->active;
}

/* Set g to the tilted law, of sum 1, and *norm to its 2-norm. */
static void tilt(const struct acct_frame *f, const struct acct_law *l, double *g, double *norm)
{
	double sum = 0, square = 0;

	for (size_t j = 0; j < l->size; j++)
		sum += g[j] = tilted(f, l, j);
	for (size_t j = 0; j < l->size; j++) {
		g[j] /= sum;
		square += g[j] * g[j];
	}
	*norm = sqrt(square);
}

/* Set frequencies to 0 from the highest on, as long as they are negligible.  Further factors have at most
 * the modulus 1, so they stay so. */
static void drop_negligible(struct acct_spectrum *product)
{
	while (product->active > 1) {
		double *z = product->at[product->active - 1];

		if (!(z[0] * z[0] + z[1] * z[1] < NEGLIGIBLE * NEGLIGIBLE))
			return;
		z[0] = z[1] = 0;
		product->active--;
	}
}

enum acct_rc acct_frame_multiply(
	struct acct_frame *f, struct acct_spectrum *product, const struct acct_law *l, double count)
{
	double *g = calloc(l->size, sizeof *g), norm;

	if (!g)
		return ACCT_ENOMEM;
	tilt(f, l, g, &norm);
	if (!acct_direct_multiply(product->at, product->active, f->fft.size, l, g, count,
		    (DIRECT - 1) * acct_fft_error(f->fft.size) * norm)) {
		memset(f->fft.real, 0, f->fft.size * sizeof *f->fft.real);
		for (size_t j = 0; j < l->size; j++)
			f->fft.real[slot(l->at[j], f->fft.size)] += g[j];
		acct_fft_multiply_into(&f->fft, product->at, count);
	}
	drop_negligible(product);
	free(g);
	return ACCT_OK;
}

enum acct_rc acct_frame_sum(struct acct_frame *f, const struct acct_spectrum *product,
	const struct acct_part *extra, size_t n, const struct acct_factor *all, struct acct_sum *s)
{
	double eta = acct_fft_error(f->fft.size), norm = 0;
	struct acct_spectrum total = { f->fft.total, 0 };
	enum acct_rc rc = ACCT_OK;

	memset(s, 0, sizeof *s);
	s->h = f->h;
	s->lambda = f->lambda;
	s->infinite = -expm1(all->finite);
	if (!isfinite(all->psi[0]))
		return ACCT_EPRECISION;
	s->size = f->fft.size;
	place(f, all, s);
	s->g = calloc(s->size, sizeof *s->g);
	if (!s->g)
		return ACCT_ENOMEM;
	acct_frame_copy(f, &total, product);
	for (size_t i = 0; i < n && !rc; i++)
		rc = acct_frame_multiply(f, &total, extra[i].law, extra[i].count);
	if (rc)
		return rc;
	acct_fft_finish(&f->fft);
	for (size_t i = 0; i < s->size; i++) {
		double g = f->fft.real[slot(s->first + (long)i, s->size)];

		s->g[i] = g < 0 ? 0 : g; /* a NaN stays, as in acct_compose.c */
		norm += s->g[i] * s->g[i];
	}
	/* The noise as in acct_compose.c: every factor was multiplied in once, no matter when, or whether
	 * acct_direct.c did it. */
	double growth = 1.01 * exp(all->counts * DIRECT * eta * sqrt((double)s->size));
	s->noise = growth * (eta * (DIRECT * all->spread + sqrt(norm)) + 4 * all->counts * ULP * sqrt(norm) +
				    NEGLIGIBLE);
	return acct_sum_settle(s, all->psi[0], all->counts, all->longest);
}
