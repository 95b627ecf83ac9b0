/* acct_envelope.h - one list of cells for every two inputs of a randomizer that is given by its matrix.
 *
 * Pure.  Fills cell[] and cells only; *why as in acct.h (may be NULL).
 *
 * Proof.  Let omega_y = min_x p(y|x), W its sum, and for two inputs s_y = p(y|x)/omega_y - 1 and t_y the same
 * of x'.  A round's delta at epsilon is the mean of a convex function of the sum of independent losses
 * u - e v, e = e^epsilon, so it is not larger where the law of one loss is larger in convex order.  For
 * convex f, s, t >= 0 and m = 1 - e:  f(m + s - e t) <= f(m + s) + f(m - e t) - f(m), since the increments of
 * f rise.  So the list with cells (1 + s_y, 1) and (1, 1 + t_y) apart, and (1, 1) for the rest of W, is at
 * least as bad, if those two take no more than W.  Each half depends on one input alone, by
 * C_x(s) = sum_y (p(y|x) - (1 + s) omega_y)^+, and a larger C with the same C(0) = 1 - W is a law that is
 * larger in convex order.  G = max_x C_x is convex and falls, and so is the line through G at knots 0 < s_1 <
 * .. < s_k, where G(s_k) = 0, which is above it: an atom at each knot, of the change of slope there.  s_1 is
 * so large that the first slope is at least -W/2: then the two halves fit in W.  The list is symmetric, and
 * the bound holds for every epsilon, so for compositions too.
 *
 * Rounding.  Let every true chance be within a factor 1 +- room of p, and d = room + 2^-46 + 2^-52 outputs.
 * The list stands for some omega of the mass that its cells have: it may be any that is nowhere above the
 * true one and whose C are below the list's.  omega is taken as (1 - d) of the least p, and every p in C and
 * in the last knot as (1 + d) p: room of d is for p itself, the rest for sums of up to `outputs` numbers,
 * each term of which may be rounded upwards, and for the few operations on a term.  C(0) = 1 - W needs no
 * room. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* p[x * outputs + y], above 0; inputs and outputs 2..65536.  Every row is a law, each of whose chances is
 * within a factor 1 +- room of the one given, room in [0, 0.01]: what the caller's own arithmetic is good
 * for.  PROVED for every two inputs.  ACCT_EDOMAIN: a chance is 0, or the rows are alike, as far as room
 * tells.  O(inputs * outputs). */
ACCT_CHECK enum acct_rc acct_cells_envelope(
	const double *p, size_t inputs, size_t outputs, double room, struct acct_round *r, const char **why);

#ifdef __cplusplus
}
#endif
