/* acct_fft.h - products of transforms of real sequences; the only file that knows FFTW.
 *
 * FFTW's planner is not reentrant, so planning and destroying hold a process-wide lock; the rest of the
 * accountant has no shared state.  A program that plans with FFTW elsewhere must not do so concurrently. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "acct_round.h"

struct acct_fft {
	size_t size;        /* number of points; even */
	double *real;       /* `size` numbers */
	double (*freq)[2];  /* size/2 + 1 numbers: the transform of the last acct_fft_multiply */
	double (*total)[2]; /* size/2 + 1 numbers: the product of the transforms */
	void *forward, *backward;
};

/* Make room for `size` points; the product starts at 1. */
ACCT_CHECK enum acct_rc acct_fft_init(struct acct_fft *f, size_t size);
void acct_fft_fini(struct acct_fft *f);

/* Multiply the product by the transform of real[] raised to a power >= 1.  Overwrites real[]. */
void acct_fft_multiply(struct acct_fft *f, double power);
/* The same with a product that the caller owns, of size/2 + 1 numbers. */
void acct_fft_multiply_into(struct acct_fft *f, double (*product)[2], double power);

/* real[] becomes the sequence whose transform the product is. */
void acct_fft_finish(struct acct_fft *f);

/* eta: an upper bound on the relative error, in the 2-norm, of one transform of this size in either
 * direction.
 *
 * With radix 2 and twiddles off by at most mu, eta <= log2 N * e/(1 - log2 N * e), e = mu + gamma_4
 * (sqrt(2) + mu) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., Theorem 24.2).  Twiddles
 * are correct to an ulp, hence e = 6.7 ulp.  A stage is sqrt(2) times a unitary matrix of at most two
 * entries a row, so this holds for every factorisation into such stages, and errors add up over stages.  A
 * stage of odd radix r, computed by its definition, costs sqrt(r) gamma_{r+3}: 6.6 ulp per factor of two
 * for r = 3, 7.7 for r = 5.  Sizes are 2^a 3^b 5^c, b <= 1, c <= 2, and a real transform has at most one
 * more stage: eta <= 8 ulp (log2 N + 1).  FFTW's kernels are such algorithms, but nobody has counted the
 * operations of each, so the function returns twice that.  Measurements find about 0.6 ulp sqrt(log2 N)
 * (Schatzman 1996; FFTW). */
double acct_fft_error(size_t size);

/* The least size >= want that FFTW transforms quickly. */
size_t acct_fft_size(double want);

struct acct_law;

/* acct_direct.c: multiply the frequencies 0..n-1 of a product of `size` points by the transform of the
 * tilted law, raised to the given power.  The product of many laws' transforms is negligible except at the
 * lowest frequencies, and there a sum over the atoms costs less than a whole transform.  Atom j has the
 * mass g[j]; these sum to 1.  Returns false, and does nothing, if the atoms do not lie in pairs around 0,
 * or the error would exceed `most`, or a transform costs less. */
ACCT_CHECK bool acct_direct_multiply(double (*product)[2], size_t n, size_t size, const struct acct_law *law,
	const double *g, double power, double most);
