/* acct_blanket.h - bounds delta of one shuffled round by concentration inequalities on the privacy blanket.
 * Epsilons are in nats; neighbours replace one record.
 *
 * The bounds are closed forms, rounded up, but loose: acct_delta of the same randomizer's cells is smaller
 * by a factor of ten to fifty.
 *
 * Source: Balle, Bell, Gascon, Nissim 2019, section 5.
 *
 * Proof.  L = (R0 - E R1)/omega under omega has mean -a, a = E-1, and delta <= 1/(gamma n) E_{m ~ Bin(n,
 * gamma)} int_0^inf P(L_1+..+L_m >= s) ds.  Hoeffding with range b gives int e^{-2m(a+s/m)^2/b^2} <=
 * b^2/(4a) e^{-2ma^2/b^2}. Bennett with L <= t and E L^2 <= c about 0: E e^{lambda L} <= 1 - lambda a +
 * (c/t^2) (e^{lambda t} - 1 - lambda t) needs no centring, so P <= e^{-m (c/t^2) phi(t(a+s/m)/c)}, phi(u) =
 * (1+u)log(1+u) - u.  phi lies above its tangents of slope log(1+u), so the integral is at most
 * t/log(1+ta/c) e^{-m(c/t^2) phi(ta/c)}, in which m cancels.  E_m is the binomial's transform, without m =
 * 0.  From eps0 on delta is 0, since shuffling is post-processing.  Second moments are written without
 * differences of large numbers: for Laplace c = a^2 (2g + g^-2)/3 + (4/3) E g^-2 (g-1)^2 (g+2), g =
 * e^{eps0/2}. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

enum acct_blanket_bound {
	ACCT_BLANKET_HOEFFDING, /* proved */
	ACCT_BLANKET_BENNETT,   /* proved: the inequality as its authors' code has corrected it */
	/* The inequality as first published, which has a factor 1/(a m) too much.  A paper value: in places
	 * it is below the exact loss.  Later papers made figures with it.  n at most 1e9. */
	ACCT_BLANKET_BENNETT_FIRST,
};

enum acct_blanket_mechanism {
	ACCT_BLANKET_KRR,     /* k-ary randomized response */
	ACCT_BLANKET_LAPLACE, /* x + Laplace(1/eps0), x in [0, 1] */
	ACCT_BLANKET_GENERIC, /* any eps0-LDP randomizer */
};

struct acct_blanket {
	enum acct_blanket_mechanism mechanism;
	double eps0; /* (0, 50] */
	double k;    /* ACCT_BLANKET_KRR: number of symbols, a whole number 2..1e9 */
	uint64_t n;  /* number of reports, including the victim's, 1..ACCT_MAX_REPORTS */
};

/* Compute the bound's delta, in [0, 1], at epsilon [0, inf). */
ACCT_CHECK enum acct_rc acct_blanket_delta(
	enum acct_blanket_bound bound, const struct acct_blanket *b, double epsilon, double *delta);

/* Compute the least epsilon, with a relative error of 1e-9, at which the bound's delta is at most this one,
 * (0, 1).  It is never above eps0. */
ACCT_CHECK enum acct_rc acct_blanket_epsilon(
	enum acct_blanket_bound bound, const struct acct_blanket *b, double delta, double *epsilon);

#ifdef __cplusplus
}
#endif
