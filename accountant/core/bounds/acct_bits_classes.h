/* acct_bits_classes.h - computes the exact curve of a round of bits in which some of the others have
 * guarantees of their own: the theorem of acct_bits.h, with a number of ones for each class.
 *
 * Of class c with the guarantee eps_c, m_c bits have chance P_c of a one and v_c have Q_c = 1 - P_c.  The
 * sum of acct_bits_sum.h has for v the terms
 *     G_k e^(-sum v_c lambda_c(t_k)),   lambda_c = L1 - L2 + a_1 - a_2 of the two bits of class c,
 * where G_k is the term for v = 0.  Re lambda_c >= 0, because log(E w^P-bit / E w^Q-bit) is concave in the
 * tilt and the bit of chance Q_c has the larger tilted variance.
 *
 * Certificate.  Let gamma_c > 0 be any numbers, tau = sum v_c gamma_c, and Lambda the mean of
 * lambda_c/gamma_c over all bits, in which class c counts n_c gamma_c; rho is the largest distance of a
 * lambda_c/gamma_c from Lambda.  For v with tau >= tau_0, and u = tau - tau_0,
 *     S(v) <= Re sum G e^(-tau_0 Lambda) - u min_c Re sum G e^(-tau_0 Lambda) lambda_c/gamma_c
 *           + u^2/2 sum |G e^(-tau_0 Lambda)| max_c |lambda_c/gamma_c|^2
 *           + sum |G| min(tau_0 rho, 2) e^(-tau_0 low),
 *     |S(v)| <= sum |G| e^(-tau_0 low),
 * where low is the least Re lambda_c/gamma_c: sum v_c lambda_c is tau times a mean of the lambda_c/gamma_c,
 * and that mean may differ from Lambda.  theta = j - mean is in [-1, 1], since the best j is a mode of the
 * tilted law.  A class whose guarantee is next to nothing is left out of tau: whatever v_c is, it moves S by
 * at most sum |G| n_c |lambda_c|, the `slack`.
 * 1.  `low` is the largest h found where v = 0, and where one v_c is 1, 2, ...  If there are few vectors v,
 * all are tried, and nothing remains to be covered.
 * 2.  Blocks: from tau_0 go on as far as no theta exceeds max(low, sup + tolerance/2 low).  Repeat until
 * every class is at its end, or the bound on moduli is at most low. */
#pragma once

#include "acct_list.h"
#include "acct_point.h"

/* Bound one point: at->hi is at most the trivial bound (1-y)/2, and at->lo >= 0 is what some data set loses.
 * The interval of delta may be as wide as moves epsilon by the relative `width`, at most 0.01.  Returns the
 * work done, in the unit of struct acct_work; beyond `most` the point is wide. */
double acct_bits_classes_at(
	const struct acct_bit_facts *b, double eps, double most, double width, struct acct_point *at);
