/* acct_fft.c - products of transforms of real sequences; the only file that knows FFTW. */
#include "acct_fft.h"

#include <fftw3.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

enum acct_rc acct_fft_init(struct acct_fft *f, size_t size)
{
	size_t half = size / 2 + 1;

	memset(f, 0, sizeof *f);
	f->size = size;
	f->real = fftw_alloc_real(size);
	f->freq = fftw_alloc_complex(half);
	f->total = fftw_alloc_complex(half);
	if (!f->real || !f->freq || !f->total)
		return ACCT_ENOMEM;
	pthread_mutex_lock(&planner);
	f->forward = fftw_plan_dft_r2c_1d((int)size, f->real, f->freq, FFTW_ESTIMATE);
	f->backward = fftw_plan_dft_c2r_1d((int)size, f->total, f->real, FFTW_ESTIMATE);
	pthread_mutex_unlock(&planner);
	if (!f->forward || !f->backward)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < half; i++) {
		f->total[i][0] = 1;
		f->total[i][1] = 0;
	}
	return ACCT_OK;
}

void acct_fft_fini(struct acct_fft *f)
{
	pthread_mutex_lock(&planner);
	if (f->forward)
		fftw_destroy_plan(f->forward);
	if (f->backward)
		fftw_destroy_plan(f->backward);
	pthread_mutex_unlock(&planner);
	fftw_free(f->real);
	fftw_free(f->freq);
	fftw_free(f->total);
	memset(f, 0, sizeof *f);
}

/* Multiply by a power of each number in freq, by squaring: that costs one rounding error for each factor,
 * and unlike exp(power log z) needs no choice of a branch of the logarithm. */
static void multiply_powers(struct acct_fft *f, double (*product)[2], double power)
{
	for (size_t i = 0; i < f->size / 2 + 1; i++) {
		double a = f->freq[i][0], b = f->freq[i][1], x = product[i][0], y = product[i][1];

		for (unsigned long k = (unsigned long)power; k > 0; k >>= 1) {
			if (k & 1) {
				double t = x * a - y * b;
				y = x * b + y * a;
				x = t;
			}
			double t = a * a - b * b;
			b = 2 * a * b;
			a = t;
			/* |z|^2 is so small that the power is 0, as all further factors are at most one */
			if (a * a + b * b < 1e-300) {
				if (k > 1)
					x = y = 0;
				break;
			}
		}
		product[i][0] = x;
		product[i][1] = y;
	}
}

void acct_fft_multiply_into(struct acct_fft *f, double (*product)[2], double power)
{
	fftw_execute(f->forward);
	if (power > 1) {
		multiply_powers(f, product, power);
		return;
	}
	for (size_t i = 0; i < f->size / 2 + 1; i++) {
		double a = f->freq[i][0], b = f->freq[i][1], x = product[i][0], y = product[i][1];

		product[i][0] = x * a - y * b;
		product[i][1] = x * b + y * a;
	}
}

void acct_fft_multiply(struct acct_fft *f, double power)
{
	acct_fft_multiply_into(f, f->total, power);
}

void acct_fft_finish(struct acct_fft *f)
{
	fftw_execute(f->backward);
	for (size_t i = 0; i < f->size; i++)
		f->real[i] /= (double)f->size;
}

double acct_fft_error(size_t size)
{
	return 16 * 0x1p-53 * (log2((double)size) + 1);
}

size_t acct_fft_size(double want)
{
	size_t best = 0;

	for (size_t two = 16; two < (size_t)1 << 25; two *= 2)
		for (size_t odd = 1; odd <= 25; odd *= 5)
			for (size_t three = 1; three <= 3; three *= 3) {
				size_t n = two * odd * three;

				if ((double)n >= want && (best == 0 || n < best))
					best = n;
			}
	return best;
}
