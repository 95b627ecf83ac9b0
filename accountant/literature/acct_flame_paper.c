/* acct_flame_paper.c (acct_flame.h) - the theorems of the FLAME paper, as printed. */
#include <math.h>

#include "acct_blanket.h"
#include "acct_fault.h"
#include "acct_flame_slot.h"

#define MOST_BLANKET_EPSILON 50.0  /* largest epsilon of acct_blanket.h */
#define ROUNDING             1e-12 /* relative error of a dozen operations, rounded up */
/* a quotient of counts this near to a whole number is taken for that number */
#define NEAR 1e-12

enum acct_rc acct_flame_lemma1(double epsilon0, uint64_t bins, uint64_t n, double delta, double *epsilon,
	bool *valid, const char **why)
{
	struct acct_flame_slot slot = { epsilon0, bins };
	enum acct_rc rc;

	if ((rc = acct_flame_check_slot(&slot, why)) || (rc = acct_flame_check_delta(delta, why)))
		return rc;
	if (bins < 2)
		return acct_fault(why, "there must be at least two bins");
	if (n < 2 || n > ACCT_MAX_REPORTS)
		return acct_fault(why, "there must be from 2 to 1e12 reports");
	double l = 14 * log(2 / delta), reports = (double)n - 1;
	*epsilon = sqrt(l * (expm1(epsilon0) + (double)bins) / reports) * (1 + ROUNDING);
	*valid = *epsilon <= 1 && l >= 27 * *epsilon && *epsilon > sqrt(l * ((double)bins - 1) / reports);
	return ACCT_OK;
}

/* The epsilon of one coordinate among n messages, by the amplifier. */
static enum acct_rc amplified(const struct acct_flame_slot *slot, uint64_t n, double delta,
	enum acct_flame_amplifier by, double *epsilon, const char **why)
{
	struct acct_blanket b = { .mechanism = slot->bins ? ACCT_BLANKET_KRR : ACCT_BLANKET_LAPLACE,
		.eps0 = slot->epsilon,
		.k = (double)slot->bins,
		.n = n };
	static const enum acct_blanket_bound bound[] = { [ACCT_FLAME_HOEFFDING] = ACCT_BLANKET_HOEFFDING,
		[ACCT_FLAME_BENNETT] = ACCT_BLANKET_BENNETT,
		[ACCT_FLAME_BENNETT_FIRST] = ACCT_BLANKET_BENNETT_FIRST };

	if (by == ACCT_FLAME_EXACT) {
		struct acct_round r = { .others = n - 1, .count = 1 };
		struct acct_bound e = { 0, INFINITY };
		enum acct_rc rc = acct_flame_full(slot, &r, why);

		if (!rc)
			rc = acct_epsilon(&r, 1, delta, &e);
		if (!rc)
			*epsilon = e.upper;
		return rc;
	}
	if (by == ACCT_FLAME_LEMMA1) {
		bool valid = false;
		enum acct_rc rc =
			acct_flame_lemma1(slot->epsilon, slot->bins, n, delta, epsilon, &valid, why);

		return rc || valid ? rc : acct_fault(why, "the conditions of Lemma 1 are not met");
	}
	if (by < ACCT_FLAME_HOEFFDING || by > ACCT_FLAME_BENNETT_FIRST)
		return acct_fault(why, "there is no such amplifier");
	if (slot->epsilon > MOST_BLANKET_EPSILON)
		return acct_fault(why, "this inequality needs an epsilon of a message of at most 50");
	return acct_blanket_epsilon(bound[by], &b, delta, epsilon);
}

/* The epsilon of `many` coordinates by basic or advanced composition, whichever is less. */
static double composed(double epsilon, double many, double delta)
{
	double advanced = epsilon * sqrt(-2 * many * log(delta)) + many * epsilon * expm1(epsilon);

	return fmin(many * epsilon, advanced) * (1 + ROUNDING);
}

enum acct_rc acct_flame_simple_theorem1(const struct acct_flame_slot *slot, uint64_t length, uint64_t users,
	double delta, enum acct_flame_amplifier by, double *epsilon, const char **why)
{
	struct acct_flame_sparse s = { *slot, users, users, length, 1 };
	double d = (double)length, each, one = 0;
	enum acct_rc rc;

	if ((rc = acct_flame_check_sparse(&s, why)) || (rc = acct_flame_check_delta(delta, why)))
		return rc;
	each = delta / (d + 1) * (1 - ROUNDING);
	if ((rc = amplified(slot, users, each, by, &one, why)))
		return rc;
	*epsilon = composed(one, d, each);
	return ACCT_OK;
}

/* The delta of each of 2k coordinates. */
static enum acct_rc share_of_delta(
	const struct acct_flame_sparse *s, double delta, double *each, const char **why)
{
	enum acct_rc rc;

	if ((rc = acct_flame_check_sparse(s, why)) || (rc = acct_flame_check_delta(delta, why)))
		return rc;
	*each = delta / (2 * (double)s->sent + 1) * (1 - ROUNDING);
	return ACCT_OK;
}

enum acct_rc acct_flame_double_theorem4(const struct acct_flame_sparse *s, double delta,
	enum acct_flame_amplifier by, double *epsilon, const char **why)
{
	double rate = (double)s->sent / (double)s->length, one = 0, each;
	enum acct_rc rc = share_of_delta(s, delta, &each, why);

	if (rc)
		return rc;
	if (!(each < rate))
		return acct_fault(why, "delta/(2 sent + 1) must be below sent/length");
	if ((rc = amplified(&s->slot, s->padded, each / rate, by, &one, why)))
		return rc;
	*epsilon = composed(log1p(rate * expm1(one)), 2 * (double)s->sent, each);
	return ACCT_OK;
}

enum acct_rc acct_flame_double_unsampled(const struct acct_flame_sparse *s, double delta,
	enum acct_flame_amplifier by, double *epsilon, const char **why)
{
	double one = 0, each;
	enum acct_rc rc = share_of_delta(s, delta, &each, why);

	if (rc || (rc = amplified(&s->slot, s->padded, each, by, &one, why)))
		return rc;
	*epsilon = composed(one, 2 * (double)s->sent, each);
	return ACCT_OK;
}

static enum acct_rc check_rate(double beta, const char **why)
{
	if (!(beta > 0 && beta <= 1))
		return acct_fault(why, "beta must be above 0 and at most 1");
	return ACCT_OK;
}

enum acct_rc acct_flame_nu(uint64_t padded, uint64_t users, double beta, double *nu, const char **why)
{
	enum acct_rc rc = check_rate(beta, why);

	if (rc)
		return rc;
	if (users == 0 || users > ACCT_MAX_REPORTS || padded > ACCT_MAX_REPORTS)
		return acct_fault(why, "users and padding must be from 1 to 1e12");
	double times = floor((double)padded / ((double)users * beta) * (1 + NEAR));
	if (times < 1)
		return acct_fault(why, "the padding must be at least users times beta");
	*nu = fmax(1, 1 / (times * beta));
	return ACCT_OK;
}

enum acct_rc acct_flame_nu_of(
	uint64_t length, uint64_t sent, uint64_t dummies, double *nu, double *most, const char **why)
{
	double d = (double)length, beta = (double)sent / d;

	if (length == 0 || length > ACCT_MAX_REPORTS || sent == 0 || sent > length ||
		dummies > ACCT_MAX_REPORTS)
		return acct_fault(why, "a user must send from 1 to all of up to 1e12 coordinates");
	/* The chance that a dummy falls on a given index; without dummies 0, which avoids 0 * log 0. */
	double hit = dummies > 0 ? -expm1((double)dummies * log1p(-1 / d)) : 0;
	*nu = fmin(1 / beta, 1 / (beta + (1 - beta) * hit)) * (1 + ROUNDING);
	if (most)
		*most = 1 / beta * (1 + ROUNDING);
	return ACCT_OK;
}

enum acct_rc acct_flame_nu_reports(double nu, double beta, double *reports, const char **why)
{
	enum acct_rc rc = check_rate(beta, why);

	if (rc)
		return rc;
	if (!(nu >= 1 && nu <= 1 / beta * (1 + NEAR)))
		return acct_fault(why, "nu must be from 1 to 1/beta");
	*reports = ceil(fmax(1 / (nu * beta), nu / (nu - 1 + beta)) * (1 - NEAR));
	return ACCT_OK;
}
