/* acct_named_bits.c (acct_named.h) - reports of bits and signs: unary encodings, vector response, Duchi's
 * mechanisms, coins and fake users. */
#include <math.h>

#include "acct_fault.h"
#include "acct_named.h"

/* A report has d bits; every bit of the one-hot input is kept with chance g/(1+g), g = e^(eps0/2).  Let
 * Z(y) be the chance of report y under the all-zero input.  Under input x the chance is g Z(y) if bit x of
 * y is 1, else Z(y)/g.  The least chance over all inputs is Z(y)/g, except where all bits are set: there it
 * is g Z(y). */
enum acct_rc acct_named_rappor(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double d = arg[0].x[0], g = exp(arg[1].x[0] / 2), keep = g / (1 + g), flip = 1 / (1 + g);
	double full = pow(flip, d), both = d > 2 ? flip * flip - full : 0;

	(void)why;
	s->eps0 = arg[1].x[0];
	s->third = d > 2;
	s->triple = d > 3 ? (flip * flip * flip - full) / g : 0;
	acct_named_two_level(&s->round, g * g, keep * flip / g, both / g, keep * keep / g + full * g);
	if (d > 2) /* ACCT_SETS would let others hold a third input, which two inputs do not have */
		acct_named_sets(s);
	return ACCT_OK;
}

/* A report has d bits: the input's bit is a fair coin, every other bit is set with chance a = 1/(1+E).  Let
 * B(y) be the law of d bits set with chance a.  Under input x the chance of y is B(y) (1+E)/2 if bit x of y
 * is 1, else B(y) (1+E)/(2E).  The least chance is found as in rappor. */
enum acct_rc acct_named_oue(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double d = arg[0].x[0], e = exp(arg[1].x[0]), a = 1 / (1 + e);
	/* the mass in which both are likelier, divided by a */
	double full = pow(a, d - 1), both = d > 2 ? a - full : 0;

	(void)why;
	s->eps0 = arg[1].x[0];
	s->third = d > 2;
	s->triple = d > 3 ? (a * a - full) / (2 * e) : 0;
	acct_named_two_level(&s->round, e, a / 2, both / (2 * e), e * a / 2 + full / 2);
	if (d > 2)
		acct_named_sets(s);
	return ACCT_OK;
}

/* C(m, i) for m < 64.  Products below 2^53 are exact, larger ones are rounded once in each step. */
static double choose(double m, double i)
{
	double c = 1;

	for (double j = 0; j < fmin(i, m - i); j++)
		c = c * (m - j) / (j + 1);
	return c;
}

/* A report shows s sampled bits, each kept with chance g/(1+g), g = e^(eps0/s); the blanket is (1+g)^-s for
 * every word.  In cell i, i bits agree with the second input.  Inputs that agree in a sampled bit are
 * dominated: an agreeing bit turns (u, v) into (g u, g v) or (u, v) with equal weight, a differing bit into
 * (g u, v) or (u, g v).  The sums are the same, and the second pair encloses the first. */
enum acct_rc acct_named_vrr(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double m = arg[0].x[0], eps0 = arg[1].x[0];
	double word = (double)powl(1 / (1 + expl((long double)eps0 / m)), m);
	struct acct_round *r = &s->round;

	if (arg[2].size > 0 && arg[2].x[0] < m)
		return acct_fault(why, "s bits are sampled of d: s is at most d");
	s->eps0 = eps0;
	for (double i = 0; i <= m; i++)
		r->cell[r->cells++] = (struct acct_cell){ choose(m, i) * word, exp(eps0 * ((m - i) / m)),
			exp(eps0 * (i / m)) };
	if (m < 2) /* the report shows its coordinate, if there is more than one */
		r->messages = arg[2].size > 0 && arg[2].x[0] < 2 ? ACCT_BITS : ACCT_LABELLED_BITS;
	else if (eps0 > ACCT_NAMED_LEAST)
		acct_family_set(r, ACCT_WORDS, NULL);
	return ACCT_OK;
}

/* The chance that d fair signs sum to 0, for even d. */
static double tie(double d)
{
	long double c = 1;

	if (fmod(d, 2) > 0)
		return 0;
	for (double i = 1; i <= d / 2; i++)
		c *= (long double)(2 * i - 1) / (long double)(2 * i);
	return (double)c;
}

/* Set the data set in which the victim's inputs agree in one sign (d is even) and everybody else holds the
 * opposite of the second.  Let s be a report's sign at the place where the inputs agree, times their sign
 * there, and t the sum of its other signs times the first input's.  t is odd, the cell of a report follows
 * from the signs of s + t, s - t and t - s, and t = 1 with chance `none`. */
static void hold_opposite(double p, double none, double z, struct acct_spec *s)
{
	s->held = s->round;
	s->held.cells = 0;
	s->held.cell[s->held.cells++] = (struct acct_cell){ (0.5 - none) * p / z, 1, 1 / p };
	s->held.cell[s->held.cells++] = (struct acct_cell){ none / 2 / z, p, 1 };
	s->held.cell[s->held.cells++] = (struct acct_cell){ (1 - none) / 2 / z, 1, p };
	s->held.cell[s->held.cells++] = (struct acct_cell){ none / 2 * p / z, 1 / p, 1 / p };
	s->held.cell[s->held.cells++] = (struct acct_cell){ none / 2 / z, 1, 1 };
	if (!(none < 0.5)) { /* otherwise there are only two signs, and no other data set is worse */
		s->held.cells--;
		s->held.cell[0] = (struct acct_cell){ none / 2 / z, 1, 1 };
	}
}

/* A report has signs y in {-1,1}^d, and is E times as likely when y.v > 0, v being the input rounded to
 * signs.  The blanket is 1/Z for every y; opposite inputs have nothing in common.  For odd d a report
 * consists of the pair {y, -y}, which is uniform whatever v is, and of the choice between the two, which is
 * binary response. */
enum acct_rc acct_named_duchi(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double d = arg[1].size > 0 ? arg[1].x[0] : 1, p = exp(arg[0].x[0]), none = tie(d),
	       towards = (1 - none) / 2;
	double z = towards * p + (towards + none);

	(void)why;
	s->eps0 = arg[0].x[0];
	acct_named_two_level(&s->round, p, towards / z, 0, none / z);
	if (d < 2)
		s->round.messages = ACCT_BITS;
	else if (!(none > 0))
		s->round.messages = ACCT_LABELLED_BITS;
	else
		hold_opposite(p, none, z, s);
	/* With two signs the data set of hold_opposite() loses almost nothing. */
	if (none > 0 && d > 2 && d <= 14)
		acct_named_shape(s, ACCT_SIGNS, d, 0, 0);
	return ACCT_OK;
}

/* A report shows one random coordinate of d, and binary response on its sign. */
enum acct_rc acct_named_harmony(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	enum acct_rc rc = acct_named_duchi((const struct acct_arg[2]){ arg[0], { 0 } }, s, why);

	if (!(arg[1].size > 0 && arg[1].x[0] < 2)) /* the report shows its coordinate */
		s->round.messages = ACCT_LABELLED_BITS;
	return rc;
}

/* Set the cells of the messages of one counter: the victim sends one if its bit is set, and everybody's
 * coins send one each with chance t.  A message that is not sent is treated as a symbol, so that every coin
 * is certain to be blanket. */
static void coins(double t, struct acct_round *r)
{
	r->cell[0] = (struct acct_cell){ t, 1 / t, 0 };
	r->cell[1] = (struct acct_cell){ 1 - t, 0, 1 / (1 - t) };
	r->cells = 2;
}

/* A histogram of coins as one round.  Replacing a value changes two of the d counters, from (A+1, B) to (A,
 * B+1), where A and B are independent and Binomial(N, t).  Pair the coins of the two counters, and shuffle
 * the N pairs with the victim's pair, (1, 0) or (0, 1).  The counters are sums over the pairs, so by
 * post-processing they lose no more than this round. */
static void paired_coins(double t, struct acct_round *r)
{
	double apart = t * (1 - t);

	r->cell[0] = (struct acct_cell){ apart, 1 / apart, 0 };
	r->cell[1] = (struct acct_cell){ apart, 0, 1 / apart };
	r->cell[2] = (struct acct_cell){ 1 - 2 * apart, 0, 0 };
	r->cells = 3;
}

/* Two of the k counters may change, in any way, so each counts as one round.  In a histogram they change in
 * opposite directions, which is covered, since both directions of every round are bounded. */
enum acct_rc acct_named_balcer_cheu(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	struct acct_round *r = &s->round;
	double each = arg[3].size > 0 ? arg[3].x[0] : 1;

	if (arg[1].size > 0 && arg[2].size > 0)
		return acct_fault(why, "k, counters of which two change, or d, of which one is the input's");
	if (arg[1].size > 0 && arg[1].x[0] > 1) {
		if (r->sampling > 0)
			return acct_fault(why, "sampling with k above 1: one draw decides for both counters");
		r->count *= 2;
	}
	if (each * (double)s->participants > (double)ACCT_MAX_REPORTS)
		return acct_fault(why, "coins must be at most 1e12 in all");
	coins(arg[0].x[0], r);
	r->others = 0;
	r->dummies = (uint64_t)each * s->participants;
	if (arg[2].size > 0) {
		/* Under either input one of the two counters has one message more, and the counters are
		 * independent. */
		s->held = *r;
		s->opposite = true;
		paired_coins(arg[0].x[0], r);
	}
	s->eps0 = INFINITY;
	/* without dummies, truthful messages of others can be subtracted from the counts */
	s->exact = arg[2].size == 0;
	return ACCT_OK;
}

/* Set the data set in which everybody else holds a third input: at the victim's two places its bits are
 * flipped zeroes, as a fake's are. */
static void hold_zeroes(double f, double g, struct acct_spec *s)
{
	if (s->round.others > ACCT_MAX_REPORTS - s->round.dummies)
		return;
	s->held = s->round;
	s->held.cells = 0;
	s->held.others += s->held.dummies;
	s->held.dummies = 0;
	s->held.cell[s->held.cells++] = (struct acct_cell){ f * (1 - f), g, 1 / g };
	s->held.cell[s->held.cells++] = (struct acct_cell){ f * (1 - f), 1 / g, g };
	s->held.cell[s->held.cells++] = (struct acct_cell){ f * f, g, g };
	s->held.cell[s->held.cells++] = (struct acct_cell){ (1 - f) * (1 - f), 1 / g, 1 / g };
}

/* The unary encoding with bits flipped with chance f, among all-zero vectors flipped alike: `fakes` for
 * each participant, and the shuffler's.  The law of those is Z(y) = g times the blanket of rappor without
 * its exception, so they are certain to be blanket.  Real participants have q = p; the (1-f)/f of the
 * literature belongs to the fakes. */
enum acct_rc acct_named_cheu(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double f = arg[0].x[0], g = (1 - f) / f, fakes = arg[1].size > 0 ? arg[1].x[0] : 1;

	fakes = fakes * (double)s->participants + (arg[2].size > 0 ? arg[2].x[0] : 0);
	if (fakes > (double)ACCT_MAX_REPORTS)
		return acct_fault(why, "others and fakes must sum to at most 1e12");
	s->round.dummies = (uint64_t)fakes;
	s->eps0 = 2 * log(g);
	acct_named_two_level(&s->round, g * g, f * (1 - f) / g, f * f / g, (1 - f) * (1 - f) / g);
	if (!(arg[3].size > 0 && arg[3].x[0] < 3)) /* there is a third value */
		hold_zeroes(f, g, s);
	return ACCT_OK;
}
