/* acct_envelope.h - computes one list of cells that bounds every two inputs of a randomizer given by its
 * matrix.
 *
 * No I/O, no state.  Sets cell[] and cells only; *why as in acct.h (may be NULL).
 *
 * Proof.  Let omega_y = min_x p(y|x), W its sum, and for two inputs x and x' let s_y = p(y|x)/omega_y - 1,
 * and t_y the same for x'.  A round's delta at epsilon is the mean of a convex function of the sum of
 * independent losses u - e v, e = e^epsilon, so delta does not fall when the law of one loss becomes larger
 * in convex order.  For convex f, s, t >= 0 and m = 1 - e we have f(m + s - e t) <= f(m + s) + f(m - e t) -
 * f(m), since the increments of f rise.  So the list that has the cells (1 + s_y, 1) and (1, 1 + t_y)
 * apart, and (1, 1) for the rest of W, is at least as bad, provided that the first two take no more than W.
 * Each of these two halves depends on one input alone, by C_x(s) = sum_y (p(y|x) - (1 + s) omega_y)^+. A
 * larger C with the same C(0) = 1 - W belongs to a law that is larger in convex order.  G = max_x C_x is
 * convex and falls.  The line through G at knots 0 < s_1 < .. < s_k, where G(s_k) = 0, is above G, and is
 * convex and falls too; its law has an atom at each knot, whose mass is the change of slope there.  s_1 is
 * so large that the first slope is at least -W/2, so the two halves fit in W.  The list is symmetric, and
 * the bound holds for every epsilon, and so for compositions too.
 *
 * Rounding.  Let every true chance be within a factor 1 +- room of p, and let d = room + 2^-46 + 2^-52
 * outputs.  The list stands for any omega that has the mass of its cells, is nowhere above the true omega,
 * and whose C are below the list's C.  We take omega as (1 - d) times the least p, and every p in C and in
 * the last knot as (1 + d) p.  The part `room` of d covers p itself; the rest covers sums of up to
 * `outputs` numbers, each term of which may be rounded up, and the few operations on a term.  C(0) = 1 - W
 * needs no room. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* p[x * outputs + y] is the chance, above 0, that input x gives output y; inputs and outputs are 2..65536.
 * Every row is a law, and each of its true chances is within a factor 1 +- room of the one given, where
 * room, in [0, 0.01], covers the rounding of the caller's arithmetic.  PROVED for every two inputs.
 * ACCT_EDOMAIN: a chance is 0, or the rows do not differ by more than `room`.  Cost: O(inputs *
 * outputs). */
ACCT_CHECK enum acct_rc acct_cells_envelope(
	const double *p, size_t inputs, size_t outputs, double room, struct acct_round *r, const char **why);

#ifdef __cplusplus
}
#endif
