/* acct_lane.c - elementary functions of many numbers, four at a time. */
#include "acct_lane.h"

#include <string.h>

/* acct_lane_polar for `some` numbers, at most four. */
ACCT_INLINED void polar_some(
	size_t some, const double *log, const double *phase, double *re, double *im, double *size)
{
	acct_lanes zero = { 0 }, one = zero + 1, g;
	struct acct_lane_pair z = { zero, zero }, e;

	memcpy(&z.re, log, some * sizeof *log);
	memcpy(&z.im, phase, some * sizeof *phase);
	acct_lane_exp_pair(&z, &one, &e, &g);
	memcpy(re, &e.re, some * sizeof *re);
	memcpy(im, &e.im, some * sizeof *im);
	memcpy(size, &g, some * sizeof *size);
}

ACCT_INLINED void polar(
	size_t n, const double *log, const double *phase, double *re, double *im, double *size)
{
	size_t k = 0;

	/* the compiler makes one instruction of a copy of known size */
	for (; k + ACCT_LANES <= n; k += ACCT_LANES)
		polar_some(ACCT_LANES, log + k, phase + k, re + k, im + k, size + k);
	if (k < n)
		polar_some(n - k, log + k, phase + k, re + k, im + k, size + k);
}

static void polar_plain(
	size_t n, const double *log, const double *phase, double *re, double *im, double *size)
{
	polar(n, log, phase, re, im, size);
}

ACCT_AVX2 static void polar_avx2(
	size_t n, const double *log, const double *phase, double *re, double *im, double *size)
{
	polar(n, log, phase, re, im, size);
}

void acct_lane_polar(size_t n, const double *log, const double *phase, double *re, double *im, double *size)
{
	(acct_lane_has_avx2() ? polar_avx2 : polar_plain)(n, log, phase, re, im, size);
}
