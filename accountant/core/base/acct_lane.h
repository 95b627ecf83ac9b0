/* acct_lane.h - elementary functions of four numbers at a time.  Private to the core.
 *
 * Polynomials and reductions are those of FreeBSD's msun (Sun Microsystems, 1993).  The table gives the
 * largest error in ulps of 2^-53, relative unless it says absolute; `u/acct_lane` measures it against long
 * double:
 *
 *   function   arguments                       error
 *   exp        |x| <= 700                      2
 *   turn       |x| <= 1e15                     2, absolute; beyond 1e6 2 + 3 |x|; below 0.7 the sine
 *                                              also has a relative error of 2
 *   log1p      [-1 + 1e-12, 1e100]             2
 *   atan2      neither both 0 nor above 1e300  4
 *
 * Outside these ranges a result may be any number.  The build forbids the compiler to fuse a product with a
 * sum, so every processor computes the same. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define ACCT_LANES 4

typedef double acct_lanes __attribute__((vector_size(8 * ACCT_LANES)));
typedef uint64_t acct_lane_bits __attribute__((vector_size(8 * ACCT_LANES)));

#define ACCT_LANE_EXP  700.0
#define ACCT_LANE_TURN 1e15
#define ACCT_INLINED   static inline __attribute__((always_inline))

/* Functions on lanes are compiled twice, with and without AVX2, and the program asks which of the two its
 * processor can run.  Both compute the same. */
#ifdef __x86_64__
#define ACCT_AVX2 __attribute__((target("avx2")))
static inline int acct_lane_has_avx2(void)
{
	return __builtin_cpu_supports("avx2");
}
#else
#define ACCT_AVX2
static inline int acct_lane_has_avx2(void)
{
	return 0;
}
#endif

/* 2^52 + 2^51: adding it to x rounds x to a whole number, which then stands in the lowest bits. */
#define ACCT_LANE_WHOLE 0x1.8p52
#define ACCT_LANE_MINUS 0x8000000000000000u

/* Set each lane of *out to that of `a` where mask is all ones, and to that of `b` where it is 0.
 * Parameters are pointers because a processor without such vectors passes vectors in another way. */
ACCT_INLINED void acct_lane_pick(
	const acct_lane_bits *mask, const acct_lanes *a, const acct_lanes *b, acct_lanes *out)
{
	*out = (acct_lanes)(((acct_lane_bits)*a & *mask) | ((acct_lane_bits)*b & ~*mask));
}

ACCT_INLINED void acct_lane_abs(const acct_lanes *x, acct_lanes *out)
{
	*out = (acct_lanes)((acct_lane_bits)*x & ~ACCT_LANE_MINUS);
}

/* The larger of both in each lane; b where a is not a number. */
ACCT_INLINED void acct_lane_max(const acct_lanes *a, const acct_lanes *b, acct_lanes *out)
{
	acct_lane_bits more = (acct_lane_bits)(*a > *b);

	acct_lane_pick(&more, a, b, out);
}

ACCT_INLINED void acct_lane_exp(const acct_lanes *x, acct_lanes *out)
{
	acct_lanes shifted = *x * 0x1.71547652b82fep0 + ACCT_LANE_WHOLE, k = shifted - ACCT_LANE_WHOLE;
	acct_lanes high = *x - k * 0x1.62e42feep-1, low = k * 0x1.a39ef35793c76p-33, r = high - low,
		   t = r * r;
	acct_lanes c = 6.61375632143793436117e-05 +
		       t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08);

	c = r - t * (1.66666666666666019037e-01 + t * (-2.77777777770155933842e-03 + t * c));
	c = 1 - ((low - r * c / (2 - c)) - high);
	*out = (acct_lanes)((acct_lane_bits)c + ((acct_lane_bits)shifted << 52));
}

ACCT_INLINED void acct_lane_turn(const acct_lanes *x, acct_lanes *sine, acct_lanes *cosine)
{
	acct_lanes shifted = *x * 6.36619772367581382433e-01 + ACCT_LANE_WHOLE, k = shifted - ACCT_LANE_WHOLE;
	/* Subtract k pi/2.  pi/2 is given in three parts, of which the first two have 33 bits, so that k
	 * times them is exact where k has at most 20 bits. */
	acct_lanes r = ((*x - k * 1.57079632673412561417e+00) - k * 6.07710050630396597660e-11) -
		       k * 2.02226624879595063154e-21;
	acct_lanes z = r * r, s, c, a, b;
	acct_lane_bits quarter = (acct_lane_bits)shifted, odd = 0 - (quarter & 1);

	s = 2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10);
	s = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * s);
	s = r + r * z * (-1.66666666666666324348e-01 + z * s);
	c = -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11);
	c = -1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * c);
	c = 1 - (0.5 * z - z * z * (4.16666666666666019037e-02 + z * c));
	acct_lane_pick(&odd, &c, &s, &a);
	acct_lane_pick(&odd, &s, &c, &b);
	*sine = (acct_lanes)((acct_lane_bits)a ^ ((quarter & 2) << 62));
	*cosine = (acct_lanes)((acct_lane_bits)b ^ (((quarter + 1) & 2) << 62));
}

ACCT_INLINED void acct_lane_log1p(const acct_lanes *x, acct_lanes *out)
{
	/* the bits of the doubles sqrt(1/2) and 1 */
	const uint64_t root = 0x3fe6a09e667f3bcdu, one = 0x3ff0000000000000u;
	acct_lanes u = 1 + *x, k, f, s, z, half, r, lost;
	acct_lane_bits b = (acct_lane_bits)u + (one - root), near;

	/* Write u = 2^k m with m in [sqrt(1/2), sqrt(2)), and f = m - 1: then log u = k log 2 + log(1 + f).
	 * lost is the rounding error of u. */
	k = (acct_lanes)((b >> 52) | 0x4330000000000000u) - (0x1p52 + 1023);
	near = (acct_lane_bits)(k < 0.5) & (acct_lane_bits)(k > -0.5);
	f = (acct_lanes)((b & 0x000fffffffffffffu) + root) - 1;
	lost = (*x - (u - 1)) / u;
	acct_lane_pick(&near, x, &f, &f);
	lost = (acct_lanes)((acct_lane_bits)lost & ~near);
	s = f / (2 + f);
	z = s * s;
	half = 0.5 * f * f;
	r = 1.818357216161805012e-01 + z * (1.531383769920937332e-01 + z * 1.479819860511658591e-01);
	r = 3.999999999940941908e-01 +
	    z * (2.857142874366239149e-01 + z * (2.222219843214978396e-01 + z * r));
	r = z * (6.666666666666735130e-01 + z * r);
	*out = k * 6.93147180369123816490e-01 -
	       ((half - (s * (half + r) + (k * 1.90821492927058770002e-10 + lost))) - f);
}

ACCT_INLINED void acct_lane_atan2(const acct_lanes *y, const acct_lanes *x, acct_lanes *out)
{
	acct_lane_bits sign = (acct_lane_bits)*y & ACCT_LANE_MINUS, steep, left, middle;
	acct_lanes a, b, low, high, r, z, w, odd, even, other;

	acct_lane_abs(y, &a);
	acct_lane_abs(x, &b);
	steep = (acct_lane_bits)(a > b);
	left = (acct_lane_bits)(*x < 0);
	acct_lane_pick(&steep, &b, &a, &low);
	acct_lane_pick(&steep, &a, &b, &high);
	/* a slope above tan(pi/8) is measured from the angle pi/4, where the series is short */
	middle = (acct_lane_bits)(low > 0.41421356237309503 * high);
	a = low - high;
	b = low + high;
	acct_lane_pick(&middle, &a, &low, &a);
	acct_lane_pick(&middle, &b, &high, &b);
	r = a / b;
	z = r * r;
	w = z * z;
	odd = 6.66107313738753120669e-02 + w * (4.97687799461593236017e-02 + w * 1.62858201153657823623e-02);
	odd = 3.33333333333329318027e-01 +
	      w * (1.42857142725034663711e-01 + w * (9.09088713343650656196e-02 + w * odd));
	even = -7.69187620504482999495e-02 +
	       w * (-5.83357013379057348645e-02 + w * -3.65315727442169155270e-02);
	even = -1.99999999998764832476e-01 + w * (-1.11111104054623557880e-01 + w * even);
	r = r - r * (z * odd + w * even);
	other = r + 0x1.921fb54442d18p-1;
	acct_lane_pick(&middle, &other, &r, &r);
	other = 0x1.921fb54442d18p0 - r;
	acct_lane_pick(&steep, &other, &r, &r);
	other = 0x1.921fb54442d18p1 - r;
	acct_lane_pick(&left, &other, &r, &r);
	*out = (acct_lanes)((acct_lane_bits)r ^ sign);
}

/* Is every number in [from, to]? */
ACCT_INLINED int acct_lane_within(const acct_lanes *x, double from, double to)
{
	acct_lane_bits in = (acct_lane_bits)(*x >= from) & (acct_lane_bits)(*x <= to);

	return (in[0] & in[1] & in[2] & in[3]) != 0;
}

/* acct_lane_turn for numbers of any size: where one is beyond its range, the C library computes it. */
ACCT_INLINED void acct_lane_turn_any(const acct_lanes *x, acct_lanes *sine, acct_lanes *cosine)
{
	acct_lane_turn(x, sine, cosine);
	for (int i = 0; i < ACCT_LANES && !acct_lane_within(x, -ACCT_LANE_TURN, ACCT_LANE_TURN); i++) {
		(*sine)[i] = sin((*x)[i]);
		(*cosine)[i] = cos((*x)[i]);
	}
}

/* A complex number for each lane. */
struct acct_lane_pair {
	acct_lanes re, im;
};

/* *out = scale e^z, and *size the modulus of it. */
ACCT_INLINED void acct_lane_exp_pair(
	const struct acct_lane_pair *z, const acct_lanes *scale, struct acct_lane_pair *out, acct_lanes *size)
{
	acct_lanes s, c;

	acct_lane_exp(&z->re, size);
	for (int i = 0; i < ACCT_LANES && !acct_lane_within(&z->re, -ACCT_LANE_EXP, ACCT_LANE_EXP); i++)
		(*size)[i] = exp(z->re[i]);
	*size *= *scale;
	acct_lane_turn_any(&z->im, &s, &c);
	out->re = *size * c;
	out->im = *size * s;
}

/* e^(log + i phase) of n numbers, and its modulus, with a relative error of 6 + 3 |phase| ulps. */
void acct_lane_polar(size_t n, const double *log, const double *phase, double *re, double *im, double *size);
