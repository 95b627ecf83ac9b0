/* acct_fft.h - products of transforms of real sequences; the only file that knows FFTW.
 *
 * FFTW's planner is not reentrant, so planning and destroying hold a process-wide lock; the rest of the
 * accountant has no shared state.  A program that plans with FFTW elsewhere must not do so concurrently. */
#pragma once

#include <stddef.h>

#include "acct.h"

struct acct_fft {
	size_t size;        /* number of points; even */
	double *real;       /* `size` numbers */
	double (*freq)[2];  /* size/2 + 1 numbers: the transform of the last acct_fft_multiply */
	double (*total)[2]; /* size/2 + 1 numbers: the product of the transforms */
	void *forward, *backward;
};

ACCT_CHECK enum acct_rc acct_fft_init(struct acct_fft *f, size_t size); /* the product starts at 1 */
void acct_fft_fini(struct acct_fft *f);

/* Multiply the product by the transform of real[] to the given power (>= 1).  real[] is destroyed. */
void acct_fft_multiply(struct acct_fft *f, double power);

/* real[] becomes the sequence whose transform the product is. */
void acct_fft_finish(struct acct_fft *f);

/* An upper bound on the relative error, in the 2-norm, of one transform of this size in either direction.
 * Derivation: doc/accounting.md, "Rounding of the transform". */
double acct_fft_error(size_t size);

/* The least size >= want that FFTW transforms quickly. */
size_t acct_fft_size(double want);
