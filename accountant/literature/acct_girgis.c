/* acct_girgis.c - computes the closed forms of Girgis et al.  (acct_girgis.h).  Sums are sums of
 * logarithms, since terms leave the range of a double.
 *
 * l is the order, f the sampled fraction, C(l, i) a binomial coefficient. */
#include "acct_girgis.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "acct_binomial.h"
#include "acct_renyi_parts.h"

#define PRECISE 1e-10 /* part of a sum that may be left out; a bound on it is added */
/* rows, one for each number of reports, are grouped until their moments differ by this part */
#define GROUP 1e-3

bool acct_girgis_is_proved(enum acct_girgis_kind kind)
{
	return kind == ACCT_GIRGIS_UB1 || kind == ACCT_GIRGIS_UB1_REFINED || kind == ACCT_GIRGIS_SPECIAL ||
	       kind == ACCT_GIRGIS_WOR;
}

/* ---- Special pairs: sums over counts ---- */

struct special {
	double gain;   /* e^eps0 - e^-eps0 */
	double chance; /* chance of a one: 1/(e^eps0 + 1) */
	double n, l;
};

/* r - 1 = gain (k/n - chance), whose mean is exactly 0 */
static double excess(const struct special *s, double k)
{
	return s->gain * ((k - s->n * s->chance) / s->n);
}

/* log((1+z)^l - 1 - l z), where z = r - 1 at k ones */
static double log_summand(const struct special *s, double k)
{
	double z = excess(s, k), grown = s->l * log1p(z);

	return grown > 40 ? grown + log1p(-(1 + s->l * z) * exp(-grown)) : log(acct_power_excess(s->l, z));
}

/* Bounds on log(E r^l - 1) for the likelihood ratio r = (k/n) e^eps0 + (1 - k/n) e^-eps0, k ~ Bin(n,
 * 1/(e^eps0 + 1)): the moment of n reports of binary randomized response on equal inputs against the same
 * with one of them changed, for order l. */
static struct acct_bound moment(double eps0, double n, double l)
{
	struct special s = { 2 * sinh(eps0), exp(-eps0) / (1 + exp(-eps0)), n, l };
	double mode = fmin(n, floor((n + 1) * s.chance)), sum = -INFINITY, rest = -INFINITY, err = 0;

	/* Go up from the mode.  The summand is below (1+z)^l, whose product with the chance has falling
	 * ratios: they bound what is left out. */
	for (double k = mode; k <= n; k++) {
		double chance = acct_binomial_log(n, s.chance, k), now = chance + log_summand(&s, k);

		sum = acct_log_add(sum, now);
		err = fmax(err, now > sum - 20 ? acct_binomial_error(n, s.chance, k) : 0);
		if (k + 1 > n)
			break;
		double step = log(acct_binomial_ratio(n, s.chance, k)) +
			      l * log1p((excess(&s, k + 1) - excess(&s, k)) / (1 + excess(&s, k)));
		double tail = chance + l * log1p(excess(&s, k)) + step - log(-expm1(fmin(step, 0)));
		if (step < 0 && tail < sum + log(PRECISE)) {
			rest = tail;
			break;
		}
	}
	/* Go down from the mode.  There z <= 0, and the summand is at most C(l, 2) z^2, z^2 <= 1. */
	for (double k = mode - 1; k >= 0; k--) {
		double chance = acct_binomial_log(n, s.chance, k), now = chance + log_summand(&s, k);
		double ratio = k > 0 ? 1 / acct_binomial_ratio(n, s.chance, k - 1) : 0,
		       tail = chance + log(ratio / (1 - ratio)) + log(l * (l - 1) / 2);

		sum = acct_log_add(sum, now);
		err = fmax(err, now > sum - 20 ? acct_binomial_error(n, s.chance, k) : 0);
		if (ratio < 1 && tail < sum + log(PRECISE)) {
			rest = acct_log_add(rest, tail);
			break;
		}
	}
	/* Add what the summands may be off by: (1+z)^l is known to l ulps of the argument, and z to sqrt(n)
	 * ulps of itself where it matters. */
	err += 1e-11 + 8 * DBL_EPSILON * (l * (1 + eps0) + sqrt(n)) + 4 * DBL_EPSILON * fabs(sum);
	return (struct acct_bound){ sum - err, acct_log_add(sum, rest) + err };
}

/* The moment falls as messages are added, so a group of rows counts with its first. */
/* An upper bound on the log of the expectation of that moment over n = 1 + Bin(n-1, e^-eps0) reports,
 * larger by at most a relative 1e-3. */
static double special(double eps0, double n, double l)
{
	double others = n - 1, clone = exp(-eps0), one = moment(eps0, 1, l).upper;
	double sum;
	struct acct_bound middle = moment(eps0, 1 + floor(n * clone), l);

	if (others < 1)
		return one;
	double need = middle.lower + log(PRECISE),
	       first = others - acct_binomial_last(others, 1 - clone, need - one),
	       last = acct_binomial_last(others, clone, need - middle.upper);
	/* the rows left out below the first are charged `need`, and so are those above the last */
	sum = need;
	for (double k = first; k <= last;) {
		double end = fmin(last, k + floor(GROUP * (1 + k))), log_mass = -INFINITY;

		for (double i = k; i <= end; i++)
			log_mass = acct_log_add(log_mass,
				acct_binomial_log(others, clone, i) + acct_binomial_error(others, clone, i));
		sum = acct_log_add(sum, log_mass + moment(eps0, 1 + k, l).upper);
		k = end + 1;
	}
	return acct_log_add(sum, need);
}

/* ---- The closed forms ---- */

static double log_choose(double n, double k)
{
	int sign;

	return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

/* An upper bound on the log of C(l, i) i Gamma(i/2), the coefficient of UB1's sum: logarithms of gamma have
 * a relative error of a few ulps. */
static double log_coefficient(double l, double i)
{
	int sign;

	return log_choose(l, i) + log(i) + lgamma_r(i / 2, &sign) + 32 * DBL_EPSILON * (l * log(l) + 1);
}

/* The number of reports, with the victim's, in half of the expected number of clones: floor((n-1)/(2
 * e^eps0)) + 1, from below. */
static double clones(const struct acct_girgis *g)
{
	return floor(((double)g->n - 1) * exp(-g->eps0) / 2 * (1 - 4 * DBL_EPSILON)) + 1;
}

/* The divergence log(1+S)/(order-1) from log S, whose terms were rounded up.  Rounded up. */
static double divergence(double log_s, double order)
{
	return acct_log_one(log_s + 1e-13 + 16 * DBL_EPSILON * fabs(log_s)) / (order - 1) *
	       (1 + 16 * DBL_EPSILON);
}

static double ub1(const struct acct_girgis *g, double l, bool refined)
{
	double many = clones(g), half = sinh(g->eps0 / 2), full = sinh(g->eps0);
	/* written with half = sinh(eps0/2) and full = sinh(eps0): (e^eps0 - 1)^2/e^eps0 = 4 half^2, (e^{2
	 * eps0} - 1)^2/e^{2 eps0} = 4 full^2 */
	double s = log(l * (l - 1) / 2 * 4 * half * half / many), x = log(2 * full * full / many);
	double few = -((double)g->n - 1) * exp(-g->eps0) / 8, worst = g->eps0 * l;

	for (double i = 3; i <= l; i++)
		s = acct_log_add(s, log_coefficient(l, i) + i / 2 * x);
	/* the tail is charged F(1), the moment of one report, which is at most e^{eps0 l} */
	if (refined)
		worst = worst > 40 ? worst : log(expm1(worst));
	return divergence(acct_log_add(s, few + worst), l);
}

static double subsampled(const struct acct_girgis *g, double l)
{
	double many = clones(g), half = sinh(g->eps0 / 2), full = sinh(g->eps0), f = g->sampled;
	double s = log(4 * (l * (l - 1) / 2) * f * f * 4 * half * half / many),
	       x = log(8 * full * full / many);
	double few = -((double)g->n - 1) * exp(-g->eps0) / 8, z = f * full;
	/* with z = e^eps0 - 1: (1+z)^l - 1 - l z */
	double worst = l * log1p(z) > 40 ? l * log1p(z) : log(acct_power_excess(l, z));

	for (double i = 3; i <= l; i++)
		s = acct_log_add(s, log_coefficient(l, i) + i * log(f) + i / 2 * x);
	return divergence(acct_log_add(s, few + worst), l);
}

static enum acct_rc ub2(const struct acct_girgis *g, double l, double *rdp)
{
	double half = sinh(g->eps0 / 2), n = (double)g->n;

	if (!(4 * log(l) + 5 * g->eps0 < log(n / 9)))
		return ACCT_EDOMAIN;
	/* (e^eps0 - 1)^2 = 4 half^2 e^eps0, half = sinh(eps0/2) */
	*rdp = divergence(log(l * (l - 1) / 2 * 16 * half * half * exp(g->eps0) / n), l);
	return ACCT_OK;
}

static double erlingsson(const struct acct_girgis *g, double l)
{
	double step = expm1(g->eps0);

	return 2 * l * exp(4 * g->eps0) * step * step / (double)g->n * (1 + 1024 * DBL_EPSILON);
}

/* UB1's divergences of all orders from 2 on, for rounds before sampling. */
struct below {
	double *rdp;
	unsigned known;
};

static enum acct_rc extend(struct below *b, const struct acct_girgis *g, unsigned order)
{
	if (order <= b->known)
		return ACCT_OK;
	double *more = realloc(b->rdp, (order + 1) * sizeof *more);
	if (!more)
		return ACCT_ENOMEM;
	b->rdp = more;
	for (unsigned j = b->known < 2 ? 2 : b->known + 1; j <= order; j++)
		b->rdp[j] = ub1(g, j, false);
	b->known = order;
	return ACCT_OK;
}

/* The moment under Poisson sampling: (1-f)^{l-1}(1+(l-1) f) + C(l,2) f^2 (1-f)^{l-2} e^{eps(2)} + 3 sum
 * C(l,j)(1-f)^{l-j} f^j e^{(j-1) eps(j)}, where eps(j) is the divergence of order j before sampling.  From
 * it its own first terms are subtracted, which sum to 1 with sum C(l,j) (1-f)^{l-j} f^j, j >= 2. */
static double poisson(const struct below *b, double f, double l)
{
	double s = -INFINITY;

	for (double j = 2; j <= l; j++) {
		double grown = (j - 1) * b->rdp[(size_t)j], chance = log_choose(l, j) + j * log(f);
		double term = grown > 40 ? grown : log(expm1(grown));

		if (j < l) /* for j = l the factor is (1-f)^0 = 1 */
			chance += (l - j) * log1p(-f);
		if (j > 2) /* three times the term, less what is subtracted */
			term = log(3) + grown + log1p(-exp(-grown) / 3);
		s = acct_log_add(s, chance + term + 32 * DBL_EPSILON * (l * log(l) + grown + 1));
	}
	return divergence(s, l);
}

/* The moment without replacement: 1 + f^2 C(l,2) min(4 (e^{eps(2)} - 1), e^{eps(2)} least(2)) + sum f^j
 * C(l,j) e^{(j-1) eps(j)} least(j), where eps(j) is the divergence of order j before sampling, least(j) =
 * min(2, (e^{eps(inf)} - 1)^j) and eps(inf) = eps0. */
static double without_replacement(const struct below *b, const struct acct_girgis *g, double l)
{
	double s = -INFINITY, f = g->sampled, far = g->eps0 > 1 ? 1 : log(expm1(g->eps0));

	for (double j = 2; j <= l; j++) {
		double grown = (j - 1) * b->rdp[(size_t)j],
		       term = log_choose(l, j) + j * log(f) + 32 * DBL_EPSILON * (l * log(l) + grown + 1);
		double factor = grown + fmin(log(2), j * far);

		if (j < 3)
			factor = fmin(factor, log(4) + (grown > 40 ? grown : log(expm1(grown))));
		s = acct_log_add(s, term + factor);
	}
	return divergence(s, l);
}

static bool is_fine(enum acct_girgis_kind kind, const struct acct_girgis *g)
{
	bool sampling =
		kind == ACCT_GIRGIS_SUBSAMPLED || kind == ACCT_GIRGIS_POISSON || kind == ACCT_GIRGIS_WOR;
	bool summed = kind == ACCT_GIRGIS_SPECIAL || kind == ACCT_GIRGIS_LB;

	if (summed && g->n > ACCT_GIRGIS_MOST_SUMMED)
		return false;
	return g->eps0 > 0 && g->eps0 < 700 && g->n >= 1 && g->n <= ACCT_MAX_REPORTS && g->sampled > 0 &&
	       g->sampled <= 1 && (sampling || g->sampled >= 1);
}

static unsigned most_order(enum acct_girgis_kind kind)
{
	return kind == ACCT_GIRGIS_POISSON || kind == ACCT_GIRGIS_WOR ? ACCT_GIRGIS_MOST_BELOW
								      : ACCT_GIRGIS_MOST_ORDER;
}

static enum acct_rc at_order(
	enum acct_girgis_kind kind, const struct acct_girgis *g, unsigned order, struct below *b, double *rdp)
{
	double l = order;
	enum acct_rc rc = ACCT_OK;

	switch (kind) {
	case ACCT_GIRGIS_UB1:
	case ACCT_GIRGIS_UB1_REFINED:
		*rdp = ub1(g, l, kind == ACCT_GIRGIS_UB1_REFINED);
		return ACCT_OK;
	case ACCT_GIRGIS_SPECIAL:
		*rdp = divergence(special(g->eps0, (double)g->n, l), l);
		return ACCT_OK;
	case ACCT_GIRGIS_UB2:
		return ub2(g, l, rdp);
	case ACCT_GIRGIS_LB:
		*rdp = acct_log_one(moment(g->eps0, (double)g->n, l).lower) / (l - 1) *
		       (1 - 16 * DBL_EPSILON);
		return ACCT_OK;
	case ACCT_GIRGIS_SUBSAMPLED:
		*rdp = subsampled(g, l);
		return ACCT_OK;
	case ACCT_GIRGIS_ERLINGSSON:
		*rdp = erlingsson(g, l);
		return ACCT_OK;
	case ACCT_GIRGIS_POISSON:
	case ACCT_GIRGIS_WOR:
		rc = extend(b, g, order);
		if (!rc)
			*rdp = kind == ACCT_GIRGIS_POISSON ? poisson(b, g->sampled, l)
							   : without_replacement(b, g, l);
		return rc;
	}
	return ACCT_EDOMAIN;
}

enum acct_rc acct_girgis_rdp(
	enum acct_girgis_kind kind, const struct acct_girgis *g, unsigned order, double *rdp)
{
	struct below b = { NULL, 0 };
	enum acct_rc rc;

	if (!is_fine(kind, g) || order < 2 || order > most_order(kind))
		return ACCT_EDOMAIN;
	rc = at_order(kind, g, order, &b, rdp);
	free(b.rdp);
	return rc;
}

struct composed {
	enum acct_girgis_kind kind;
	const struct acct_girgis *g;
	double rounds;
	struct below below;
};

static enum acct_rc of_rounds(void *user, double alpha, double *rdp)
{
	struct composed *c = user;
	enum acct_rc rc = at_order(c->kind, c->g, (unsigned)alpha, &c->below, rdp);

	/* skip an order that does not meet UB2's condition: it is no error */
	if (rc == ACCT_EDOMAIN && c->kind == ACCT_GIRGIS_UB2) {
		*rdp = INFINITY;
		rc = ACCT_OK;
	}
	*rdp *= c->rounds;
	return rc;
}

enum acct_rc acct_girgis_epsilon(enum acct_girgis_kind kind, const struct acct_girgis *g, uint64_t rounds,
	enum acct_renyi_way way, double delta, double *eps, unsigned *order)
{
	struct composed c = { kind, g, (double)rounds, { NULL, 0 } };
	double best, out;
	enum acct_rc rc;

	if (!is_fine(kind, g) || rounds == 0 || rounds > 1000 * (uint64_t)ACCT_MAX_COUNT)
		return ACCT_EDOMAIN;
	rc = acct_renyi_minimise(of_rounds, &c, true, most_order(kind), way, delta, &out, &best);
	free(c.below.rdp);
	if (!rc && !(out < INFINITY)) /* no order meets the condition of UB2 */
		rc = ACCT_EDOMAIN;
	if (rc)
		return rc;
	*eps = out;
	if (order)
		*order = (unsigned)best;
	return ACCT_OK;
}
