/* test_acct_fft.c - the transforms' rounding stays well inside what is charged for it (acct_fft.h), for every
 * shape of size in use; powers are powers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "acct_fft.h"
#include "acct_law.h"
#include "uniform.h"

#define ULP 0x1p-53

/* Relative error, in the 2-norm, of the transform as acct_fft.c computes it, against the definition summed in
 * long double. */
static double error_of(size_t size, int shape)
{
	struct acct_fft f;
	long double *cosine = malloc(size * sizeof *cosine), error = 0, norm = 0;
	double *x = malloc(size * sizeof *x);

	assert_true(cosine && x);
	assert_int_equal(acct_fft_init(&f, size), ACCT_OK);
	for (size_t j = 0; j < size; j++) {
		double t = ((double)j - (double)size / 3) / (0.05 * (double)size);

		cosine[j] = cosl(2 * acosl(-1) * (long double)j / (long double)size);
		f.real[j] = x[j] = shape == 0 ? uniform() : shape == 1 ? exp(-t * t) : uniform() - 0.5;
	}
	acct_fft_multiply(&f, 1);
	for (size_t k = 0; k < size / 2 + 1; k++) {
		long double re = 0, im = 0;

		for (size_t j = 0, at = 0; j < size; j++, at = (at + k) % size) {
			re += x[j] * cosine[at];
			/* sine is cosine a quarter turn earlier: sizes are multiples of 4 */
			im -= x[j] * cosine[(at + 3 * (size / 4)) % size];
		}
		long double a = f.total[k][0] - re, b = f.total[k][1] - im;
		error += a * a + b * b;
		norm += re * re + im * im;
	}
	acct_fft_fini(&f);
	free(cosine);
	free(x);
	return (double)sqrtl(error / norm);
}

static void a_transform_is_accurate_to_a_fraction_of_what_is_charged(void **state)
{
	static const size_t sizes[] = { 16, 48, 80, 240, 400, 1200, 64, 1024, 1920, 1600, 2400, 4096 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int shape = 0; shape < 3; shape++) {
			assert_true(acct_fft_size((double)sizes[i]) == sizes[i]);
			assert_true(error_of(sizes[i], shape) < acct_fft_error(sizes[i]) / 8);
		}
}

/* Sizes too large for the definition: transforming back must give the beginning. */
static void long_transforms_return(void **state)
{
	static const size_t sizes[] = { 1u << 20, 3u << 18, 25u << 15, 75u << 14, 15u << 16 };

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct acct_fft f;
		double *x = malloc(sizes[i] * sizeof *x), error = 0, norm = 0;

		assert_non_null(x);
		assert_int_equal(acct_fft_init(&f, sizes[i]), ACCT_OK);
		for (size_t j = 0; j < sizes[i]; j++)
			f.real[j] = x[j] = uniform() - 0.5;
		acct_fft_multiply(&f, 1);
		acct_fft_finish(&f);
		for (size_t j = 0; j < sizes[i]; j++) {
			error += (f.real[j] - x[j]) * (f.real[j] - x[j]);
			norm += x[j] * x[j];
		}
		assert_true(sqrt(error / norm) < acct_fft_error(sizes[i]) / 8);
		acct_fft_fini(&f);
		free(x);
	}
}

/* (1/2, 1/2) to the power k is binomial: exact chances, positions modulo the size. */
static void a_power_is_a_repeated_product(void **state)
{
	static const double powers[] = { 1, 2, 3, 7, 50 };

	(void)state;
	for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
		struct acct_fft f;
		double choose = pow(0.5, powers[i]);

		assert_int_equal(acct_fft_init(&f, 64), ACCT_OK);
		for (size_t j = 0; j < 64; j++)
			f.real[j] = j < 2 ? 0.5 : 0;
		acct_fft_multiply(&f, powers[i]);
		acct_fft_finish(&f);
		for (size_t j = 0; j < 64; j++) {
			double truth = (double)j <= powers[i] ? choose : 0;

			assert_true(fabs(f.real[j] - truth) < 1e-14);
			choose *= (powers[i] - (double)j) / ((double)j + 1);
		}
		acct_fft_fini(&f);
	}
}

#define ATOMS 121u
#define LOW   90u

/* A law on an uneven grid, lopsided, of sum 1. */
static struct acct_law lopsided_law(double *g)
{
	struct acct_law law = { calloc(ATOMS, sizeof *law.at), NULL, ATOMS, 0 };
	double sum = 0;

	for (size_t j = 0; j < ATOMS; j++) {
		long far = (long)j - (long)(ATOMS / 2);

		law.at[j] = far * (1 + labs(far) / 20);
		sum += g[j] = uniform() * (j > ATOMS / 2 ? 2 : 1);
	}
	for (size_t j = 0; j < ATOMS; j++)
		g[j] /= sum;
	return law;
}

static void the_lowest_frequencies_are_those_of_the_transform(void **state)
{
	static const size_t size = 16384;
	double g[ATOMS], product[LOW + 1][2];
	struct acct_law law = lopsided_law(g);

	(void)state;
	for (double power = 1; power <= 3; power++) {
		double square = 0, allowed = (170 + ATOMS) * ULP * sqrt(2.0 * LOW / (double)size);

		for (size_t k = 0; k <= LOW; k++) {
			product[k][0] = 1;
			product[k][1] = 0;
		}
		assert_true(acct_direct_multiply(product, LOW, size, &law, g, power, 2 * allowed));
		for (size_t k = 0; k < LOW; k++) {
			long double re = 0, im = 0, x = 1, y = 0, t;

			for (size_t j = 0; j < ATOMS; j++) {
				long double angle = 2 * acosl(-1) * (long double)law.at[j] * k / size;

				re += g[j] * cosl(angle);
				im -= g[j] * sinl(angle);
			}
			for (int i = 0; i < (int)power; i++) {
				t = x * re - y * im;
				y = x * im + y * re;
				x = t;
			}
			square += 2 * (double)((product[k][0] - x) * (product[k][0] - x) +
					       (product[k][1] - y) * (product[k][1] - y));
		}
		assert_true(sqrt(square / (double)size) < power * allowed);
		assert_true(product[LOW][0] >= 1 && product[LOW][0] <= 1);
		/* Cases that are left alone: more error than is allowed, more work than a transform, or no
		 * pairs. */
		assert_false(acct_direct_multiply(product, LOW, size, &law, g, power, allowed / 2));
		assert_false(acct_direct_multiply(product, LOW, 64 * LOW / 4, &law, g, power, 1));
		law.at[0]--;
		assert_false(acct_direct_multiply(product, LOW, size, &law, g, power, 2 * allowed));
		law.at[0]++;
	}
	free(law.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_transform_is_accurate_to_a_fraction_of_what_is_charged),
		cmocka_unit_test(long_transforms_return),
		cmocka_unit_test(a_power_is_a_repeated_product),
		cmocka_unit_test(the_lowest_frequencies_are_those_of_the_transform),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
