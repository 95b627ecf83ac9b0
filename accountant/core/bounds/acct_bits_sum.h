/* acct_bits_sum.h - the finite sum that tells what a test achieves in a round of bits, and bounds on it.
 * Private to acct_bits*.c; acct_bits.h has the certificate.
 *
 * Of `others` bits m have chance P of a one, and the rest have chance Q = 1 - P; `coins` are fair.  Z is
 * the number of ones, f its law, and G(j) = P(Z > j).  The test "more than j ones" achieves P - E Q times
 * h_m(j) = f(j) - c G(j).
 *
 * Best tests.  Let c = (E-1)/(P-EQ), w = 1+c, s = log w, D = P-Q.  f is log-concave, so tests "more than j
 * ones" are best.  Tilted by w, the three kinds of bit (P, Q, fair) have chances P1, P2, P3 of a one.  mu_m
 * is the mean of the tilted law, and L(m) = log E w^Z - s mu_m, which is a sum of -KL(tilted||plain).  P1 =
 * P(EP-Q)/(ED), P2 = Q(EP-Q)/D, and the variances satisfy V2 = E^2 V1.
 * 1.  h_m(j+1) - h_m(j) is a positive multiple of f~(j+1) - f~(j), where f~ is the tilted law.  So the best
 * j is the mode of f~, and |j - mu_m| < 1 (Darroch 1964).
 * 2.  h_(m+1)(j) - h_m(j) is a positive multiple of f'_m(j-1) - f'_m(j), where f' is the tilted law with
 * one bit of chance Q less.  The ratio of the two falls with m, so for a given j, h rises and then falls.
 * At a maximum over (m, j) with 1 <= m <= n-2 a mode of f'_m is at least j, and one of f'_(m-1) at most
 * j-1: theta = j - mu_m lies in [-P1, 1-P2].
 *
 * Finite sum.  With t_k = 2 pi k/N, a_i(t) = log(1 + P_i(e^it - 1)) - i t P_i, g = w(e^it - 1)/(w e^it -
 * 1),
 *     h_m(j) = S(m, theta) + c/(w^N - 1) + r,
 *     S(m, theta) = Re (1/N) sum_k g exp(L(m) + m a_1 + (n-1-m) a_2 + C a_3 - (s+it) theta).
 * The sum over k folds h(j + rN) w^(rN) on h(j).  Left of the support h = -c, which gives a geometric
 * series.  Nodes with 2 ((n-1) V1 + C V3) sin^2(t/2) > q are left out; |g| <= 2.
 *
 * Folded tails.  Besides the series they are at most, summed over r >= 1,
 *     e^(L - s theta) (P~(Z - mu >= rN + theta) + P~(Z - mu <= theta - rN)) + c w^(-rN) P(Z <= j - rN),
 * where P~ is the tilted law, since c/w <= 1 and f(i) w^(i-j) = e^(L - s theta) f~(i).  By Jensen's
 * inequality e^L >= w^-shift, where shift is the most by which mu_m exceeds the plain mean; and c <= w =
 * e^s.  So the last term is at most e^(L - s theta) e^(s - s x) P(Z <= EZ - x), x = rN - shift - theta.  N
 * is chosen in one of two ways.  Either it is so long that by Bernstein's inequality both chances of P~ and
 * e^(-s x) P(Z <= EZ - x) are below e^(-B-2) for r = 1, and thus less than a third of e^-B in all; or it is
 * longer than the support, and then they are 0.  With B = q + 4 + s the three terms are less than e^(L - s
 * theta) e^-(q+4), so |r| <= e^(L - s theta) (2e^-q + e^-(q+4)).  q is 26 plus the log of the tilted
 * variance, at most 40: h is at least of the order of e^L over that variance.
 *
 * Rounding.  The error is ACCT_BITS_ERROR of the sum of moduli; phases and KL are computed by forms without
 * cancellation. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "acct_round.h"

#define ACCT_BITS_NODES 2048u
/* Relative error of a term.  Exponents are sums of a few products, each known to a relative error of some
 * tens of ulps.  They are below 700 in all, and those that matter are below 100.  Phases t_k theta = k t_1
 * theta turn by products, 4 ulp each: after 2048 of them the error is below 1e-12. */
#define ACCT_BITS_ERROR 1e-10

/* One of the three kinds of bit, with its chances under the tilt. */
struct acct_bit {
	double one, zero; /* its chances of a one and of a zero */
	double variance;
	double lost; /* log E w^bit - log(w) one, at most 0: what the bit adds to the exponent L */
};

struct acct_node {
	double t;
	double half, rest; /* half: sin(t/2); rest: cos(t/2) */
	double g[2];       /* real and imaginary part of the node's weight times w(e^it - 1)/(w e^it - 1) */
	double size;       /* |g| */
	/* real and imaginary part of log E e^it(bit - one) for the three kinds of bit: P, Q, coin */
	double a[3][2];
	/* derivative of the term's exponent with respect to m, real and imaginary part */
	double lambda[2];
	/* |s + it| and its square */
	double length, length2;
	double lambda_size; /* |lambda| */
};

struct acct_bits_sum {
	double others, coins;
	double all;            /* the number of all bits but the victim's, of every guarantee */
	double s, c, w, scale; /* s = log w; c, w: as in the first comment; scale = P - E Q */
	struct acct_bit bit[3];
	double left_out;       /* q of the first comment: nodes below e^-q of the sum are left out */
	double period, folded; /* period: N, the number of points of the whole sum; folded: c/(w^N - 1) */
	size_t nodes;
	struct acct_node node[ACCT_BITS_NODES];
};

/* The terms of the sum at one m. */
struct acct_bits_terms {
	double m, mean, exponent; /* m; mean of the tilted law, mu_m; the exponent L(m) */
	double variance;          /* of the tilted law; it only chooses how finely theta is cut */
	/* each node's term without the factor e^(-(s+it) theta), and its modulus */
	double re[ACCT_BITS_NODES], im[ACCT_BITS_NODES], size[ACCT_BITS_NODES];
};

/* Choose the nodes.  eps is in [0, eps0).  only_ones: the sum serves m = others alone, which takes fewer
 * terms.  Returns false if there are more than ACCT_BITS_NODES terms. */
ACCT_CHECK bool acct_bits_sum_init(
	struct acct_bits_sum *f, double others, double coins, double eps0, double eps, bool only_ones);
void acct_bits_terms_at(const struct acct_bits_sum *f, double m, struct acct_bits_terms *t);

/* What the choice of nodes needs to know of the bits' laws: their number, bounds on the sum of the tilted
 * variances from above and below, the sum of the plain variances, and a bound on how far the tilted mean
 * exceeds the plain one. */
struct acct_bits_spread {
	double all, tilted, least, plain, shift;
};

/* The two steps of acct_bits_sum_init() where the caller adds the bits to the terms itself, and others =
 * coins = 0: choose the tilt, which returns false if eps is too close to eps0; and choose the nodes. */
ACCT_CHECK bool acct_bits_sum_tilt(struct acct_bits_sum *f, double eps0, double eps);
ACCT_CHECK bool acct_bits_sum_open(struct acct_bits_sum *f, const struct acct_bits_spread *bits);

/* Set a bit with chance `one` of a one before the tilt, and `zero` of a zero. */
void acct_bits_tilt(const struct acct_bits_sum *f, double one, double zero, struct acct_bit *b);
/* Set real and imaginary part of log E e^it(bit - its mean) at this node. */
void acct_bits_log(const struct acct_bit *b, const struct acct_node *n, double a[2]);

/* The most by which h exceeds S and its rounding, for every theta from this one up: the sum S cannot tell j
 * from j + N, N = period, and so adds them up. */
double acct_bits_rest(const struct acct_bits_sum *f, const struct acct_bits_terms *t, double theta);

/* h: the value h_m(j), where theta = j - mean; err: a bound on its error. */
struct acct_bits_value {
	double h, err;
};
struct acct_bits_value acct_bits_value(
	const struct acct_bits_sum *f, const struct acct_bits_terms *t, double theta);
/* The same for G(j). */
struct acct_bits_value acct_bits_above(
	const struct acct_bits_sum *f, const struct acct_bits_terms *t, double theta);

/* acct_bits_bound.c: bounds what any test achieves, for all numbers m up to a given one. */

#define ACCT_BITS_STEPS 512  /* most cells of theta */
#define ACCT_BITS_NODE  50.0 /* work of computing a node's terms at one m */
#define ACCT_BITS_TURN  30.0 /* work of turning a node to one theta */

struct acct_bits_search {
	const struct acct_bits_sum *f;
	struct acct_bits_terms terms;
	double tolerance; /* relative width of delta that is narrow enough */
	/* low: the largest h found so far, less its error; high: a bound on h for all m that are done */
	double low, high;
	double best_m, best_j; /* the m and j at which low was found */
	double spent, most;
};

/* Set the terms for m. */
void acct_bits_search_at(struct acct_bits_search *s, double m);

/* Bounds on S(m + u, theta) made at one m: they hold for all u <= 0, and for theta in each of `cells` equal
 * parts of its range.  S there is at most most[] - |u| rise[] + u^2 bend[] / 2. */
struct acct_bits_bound {
	size_t cells;
	double sup;   /* the largest of most[] */
	double theta; /* the middle of the part that has it */
	/* bound on |S| for every theta */
	double size;
	double most[ACCT_BITS_STEPS]; /* bound on S in this part at u = 0 */
	double rise[ACCT_BITS_STEPS]; /* least derivative with respect to u in this part */
	double bend[ACCT_BITS_STEPS]; /* largest second derivative with respect to u in this part */
};

/* Compute the bounds at m.  A part's bound may exceed S by about `allowed`: a larger one takes fewer
 * parts. */
void acct_bits_bound_at(struct acct_bits_search *s, double m, double allowed, struct acct_bits_bound *b);
/* The same where s->terms are set already, for theta from `from` to from + length.  cells: how many parts; 0:
 * choose by `allowed`. */
void acct_bits_bound_of(struct acct_bits_search *s, double from, double length, size_t cells, double allowed,
	struct acct_bits_bound *b);

/* How far below m no part exceeds `target`, at least. */
double acct_bits_reach(const struct acct_bits_bound *b, double target);
