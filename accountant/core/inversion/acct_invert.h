/* acct_invert.h - computes one point of a round's privacy curve by inverting the transform of the blanket
 * variable.
 *
 * Source: the blanket identity (Balle, Bell, Gascon, Nissim 2019, Lemma 5.3), Gaussian smoothing and the
 * trapezoid rule.  doc/accounting.md, "Any number: inversion", defines value, slope and excess.
 *
 * Integrals.  Each of the three is an integral along z = c + it of
 *     factor(z) prod_c B_c(z)^count_c C(z)^dummies e^{tau^2 z^2/2} [1/z],
 *     B_c = 1 + share_c sum omega (e^{zx}-1), where `others` is the level of share 1,
 *     C = 1 + sum (omega/W)(e^{zx}-1).
 * The factor is sum omega x e^{zx} (value), sum omega (u+v)/2 e^{zx} (slope), or one B_c or C (excess).  c
 * minimises e^{K(c)}/c^2, where K is the log of the product; any c > 0 is sound.  The excess needs E[1/M].
 * With one level and no dummies E_{Bin(o,W)}[g(B)/(B+1)] = E_{Bin(o+1,W)}[g(B-1); B>=1]/((o+1)W) makes it a
 * transform with one other participant more; otherwise 1/M is bounded by dummies alone or by one level
 * alone.
 *
 * Five errors are charged: the trapezoid rule's aliases (acct_path.h); truncation at a = tau t, int_a
 * e^{-s^2/2}/s ds <= e^{-a^2/2}/a^2; skipped nodes, which are certainly below e^-(q+1) of the top, at e^-q,
 * q = 35 or less (acct_screen.c); rounding, below; and rounded inputs u, v, E, by acct_plan_blur
 * (acct_plan.h).
 *
 * Rounding.  Let a = cx, b = tx, and an ulp 2^-53.  e^{zx}-1 is computed as expm1(a) cos b - 2 sin^2(b/2) +
 * i e^a sin b, with cos b = 1 - 2 sin^2(b/2) and sin b = 2 sin(b/2) cos(b/2).  Arguments are off by an ulp
 * each, functions by two (sines by 3/2 of their argument more where that is large: acct_lane.h), products
 * and sums by one.  So 2 sin^2(b/2) is off by 5 ulp |b|, and the whole by at most 17 ulp (|a|+|b|) max(1,
 * e^a); products with omega and sums make that less than 32 + cells.  omega is known to 128 ulp, a share
 * other than 1 to 32.  With size = sum omega |zx| max(1, e^a) and w = B_c - 1, the powers and the Gaussian
 * are off by
 *     err = sum_c count_c ((160+cells) share_c size/|B_c| + 4 (|w|+|w|^2)/|B_c|^2) + the same for C
 *           + (9 + levels) (the moduli of all terms of the exponent) + 64   ulp.
 * For a share other than 1 the 160 is 192.  Of the 9, 4 are for the angle and 3/2 for the sines.  |B_c| is
 * replaced by a lower bound.  Every term counts by its modulus, since terms cancel.  e^err - 1 <= 2 err
 * below 1/2; above, the point has no bound.  The factor has an error of its own: (8 |zx| + 32 + cells +
 * 160) ulp of the moduli of its terms.  Where 1 + w would cancel, the sum is rest + share_c sum omega
 * e^{zx}. N added nodes cost N ulp of their moduli; the correction y/(e^{cT}-1) is known to 1e-13 + 16 ulp
 * cT. */
#pragma once

#include "acct_list.h"
#include "acct_point.h"

/* The relative width of delta that smoothing may add to a point: it moves epsilon by half of that. */
#define ACCT_INVERT_WIDTH 2e-5

/* Compute a point for any number of messages.  Returns the work done (struct acct_work), which is at most
 * about most + acct_invert_least.  A point that reaches the limit has wide bounds.  width: the relative
 * width of delta that smoothing may add, ACCT_INVERT_WIDTH or more.  More smoothing needs fewer nodes, and
 * nodes that are small against the width are skipped. */
double acct_invert_within(
	const struct acct_list *l, double eps, bool swap, double most, double width, struct acct_point *at);

/* The work of a point that is cut off as early as possible, and so has its widest bounds. */
double acct_invert_least(const struct acct_list *l);
