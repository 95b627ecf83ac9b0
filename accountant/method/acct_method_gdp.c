/* acct_method_gdp.c (acct_method_rows.h) - takes rounds as Gaussian mechanisms with a defect, whose squared
 * means add up.  The Gaussian filter charges the same; here the list of rounds is known beforehand. */
#include <math.h>

#include "acct_fault.h"
#include "acct_gdp.h"
#include "acct_method_rows.h"

/* bounds the relative error of a sum of up to 2^20 squares and of its root */
#define ROUNDING    1e-9
#define LEAST       1e-9
#define MOST        700.0
#define LEAST_DELTA 1e-15
#define SHARES      5

/* Compute mu of all rounds together, rounded up.  Each round is mu-GDP with a defect, and the defects may
 * add up to `defects`. */
static enum acct_rc mean_of(const struct acct_spec *s, size_t n, double defects, double *mu)
{
	double total = 0, sum = 0, one;

	for (size_t i = 0; i < n; i++)
		total += (double)s[i].round.count;
	for (size_t i = 0; i < n; i++) {
		struct acct_round once = s[i].round;

		once.count = 1;
		enum acct_rc rc = acct_gdp_round(&once, defects / total * (1 - 1e-12), &one);
		if (rc)
			return rc;
		sum += (double)s[i].round.count * one * one;
	}
	*mu = sqrt(sum) * (1 + ROUNDING);
	return ACCT_OK;
}

enum acct_rc acct_gdp_method_epsilon(
	const struct acct_spec *s, size_t n, double delta, struct acct_method_answer *out, const char **why)
{
	double mu, low = 0;
	enum acct_rc rc = acct_method_asked(n, true, delta, why);

	if (!rc)
		rc = mean_of(s, n, delta / 2, &mu);
	if (rc)
		return rc;
	/* search from below: far above the answer, the error of the computed curve alone exceeds delta */
	double high = LEAST;
	while (isfinite(high) && !(isfinite(mu) && acct_gdp_delta_above(high, mu) <= delta / 2)) {
		low = high;
		high = isfinite(mu) && 2 * high <= MOST ? 2 * high : INFINITY;
	}
	while (isfinite(high) && high - low > 1e-9 * high) {
		double middle = low + (high - low) / 2;

		if (acct_gdp_delta_above(middle, mu) <= delta / 2)
			high = middle;
		else
			low = middle;
	}
	out->bound = (struct acct_bound){ 0, high };
	out->worth = ACCT_PROVED;
	out->note = "half of delta is given to defects; a filter charges so when rounds are chosen as "
		    "answers come";
	return ACCT_OK;
}

/* The defects may take any part of delta.  Try several parts, all below the delta of the normal limit,
 * which is too large for bits, and take the best answer. */
enum acct_rc acct_gdp_method_delta(
	const struct acct_spec *s, size_t n, double epsilon, struct acct_method_answer *out, const char **why)
{
	struct acct_method_answer guess = { .bound = { 0, 0 } };
	double mu, delta = 1;
	enum acct_rc rc = acct_clt_delta(s, n, epsilon, &guess, why);

	if (rc)
		return rc;
	if (epsilon > MOST)
		return acct_fault(why, "it needs epsilon of at most 700");
	for (int i = 1; i <= SHARES; i++) {
		double defects = fmin(0.5, fmax(LEAST_DELTA, ldexp(guess.bound.upper, -i)));

		rc = mean_of(s, n, defects, &mu);
		if (rc)
			return rc;
		if (isfinite(mu))
			delta = fmin(delta, defects + acct_gdp_delta_above(epsilon, mu));
	}
	out->bound = (struct acct_bound){ 0, fmin(1, nextafter(delta, INFINITY)) };
	out->worth = ACCT_PROVED;
	return ACCT_OK;
}
