/* test_acct_labels.c - bits with public labels: the theorem by enumeration of small batches, the bound
 * against exact sums, and rounds by name (doc/imitation.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_digits.h"
#include "acct_labels.h"
#include "acct_parsed.h"

#define SLACK 1e-10
#define MOST  5 /* participants of a batch that is enumerated */

static uint64_t seed = 1;

static double uniform(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(seed >> 11) * 0x1p-53;
}

static double keep_of(double eps0)
{
	return 1 / (1 + exp(-eps0));
}

/* Probabilities of 0..n ones among n bits of probability p. */
static double *binomial(size_t n, double p)
{
	double *law = calloc(n + 1, sizeof *law);

	assert_non_null(law);
	for (size_t i = 0; i <= n; i++)
		law[i] = exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) +
			     (i > 0 ? (double)i * log(p) : 0) + (i < n ? (double)(n - i) * log1p(-p) : 0));
	return law;
}

/* (1/N) E(X_1 + .. + X_N)+ where p places have chance P, q have Q and `fair` one half: the loss of a victim
 * who may be in any of them. */
static double batch(size_t p, size_t q, size_t fair, double eps0, double eps)
{
	double one = keep_of(eps0), zero = 1 - one, e = exp(eps), a = one - e * zero, b = e * one - zero,
	       sum = 0;
	double *x = binomial(p, one), *y = binomial(q, zero), *z = binomial(fair, 0.5);

	for (size_t i = 0; i <= p; i++)
		for (size_t j = 0; x[i] > 1e-30 && j <= q; j++)
			for (size_t k = 0; x[i] * y[j] > 1e-30 && k <= fair; k++) {
				double value = (double)i * a / one - (double)(p - i) * b / zero +
					       (double)j * a / zero - (double)(q - j) * b / one +
					       2 * (double)k * a - 2 * (double)(fair - k) * b;

				sum += x[i] * y[j] * z[k] * fmax(0, value);
			}
	free(x);
	free(y);
	free(z);
	return sum / (double)(p + q + fair);
}

static double largest_batch(size_t n, size_t fair, double eps0, double eps)
{
	double most = 0;

	for (size_t p = 0; p <= n; p++)
		most = fmax(most, batch(p, n - p, fair, eps0, eps));
	return most;
}

static void no_batch_is_above_the_sum(void **state)
{
	static const double eps0[] = { 0.1, 1, 3, 6 }, part[] = { 0, 0.05, 0.2, 0.5, 0.9, 0.999 };

	(void)state;
	for (size_t n = 1; n <= 40; n += 1 + n / 4)
		for (size_t fair = 0; fair <= 6; fair += 3)
			for (size_t i = 0; i < 4; i++)
				for (size_t k = 0; k < 6; k++) {
					double eps = part[k] * eps0[i], work = 0;
					double most = largest_batch(n, fair, eps0[i], eps);
					double bound = acct_labels_largest(
						(double)n, (double)fair, eps0[i], eps, 1e12, &work);

					if (!(bound >= most * (1 - SLACK)))
						fail_msg("n=%zu fair=%zu eps0=%g eps=%g: %.15g above %.15g",
							n, fair, eps0[i], eps, most, bound);
				}
}

static void the_sum_is_close_in_large_batches(void **state)
{
	static const double eps0[] = { 0.3, 1, 3 }, deviations[] = { 0.1, 1, 3, 6 };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < 4; k++) {
			double p = keep_of(eps0[i]), sd = (2 * p - 1) / sqrt(3000 * p * (1 - p)),
			       eps = deviations[k] * sd, work = 0, most = 0;
			double bound = acct_labels_largest(3000, 0, eps0[i], eps, 1e12, &work);

			for (size_t ones = 0; ones <= 3000; ones += 300)
				most = fmax(most, batch(ones, 3000 - ones, 0, eps0[i], eps));
			if (!(bound >= most * (1 - SLACK) && bound <= most * 1.12))
				fail_msg("eps0=%g eps=%g: %.12g, of the batches %.12g", eps0[i], eps, bound,
					most);
		}
}

/* Sums over all ways to put participants `from`.. into the places that are free of the chance of the bits y;
 * sum[k]: where place k stays free. */
static void fill(size_t n, unsigned char row[][MOST], size_t from, unsigned used, unsigned y, double one,
	double chance, double *sum)
{
	for (size_t k = 0; k < n; k++) {
		if (used >> k & 1)
			continue;
		if (from == n - 1)
			sum[k] += chance;
		else
			fill(n, row, from + 1, used | 1u << k, y, one,
				chance * (row[from][k] == (y >> k & 1) ? one : 1 - one), sum);
	}
}

/* The exact delta of the victim's bit P against Q in every place, where n - 1 others, of chance P or Q by
 * place and participant, and the victim are put into n labelled places at random. */
static double labelled(size_t n, unsigned char row[][MOST], double eps0, double eps)
{
	double one = keep_of(eps0), e = exp(eps), delta = 0, ways = tgamma((double)n + 1);

	for (unsigned y = 0; y < 1u << n; y++) {
		double sum[MOST] = { 0 }, gain = 0;

		fill(n, row, 0, 0, y, one, 1, sum);
		for (size_t k = 0; k < n; k++)
			gain += sum[k] * (y >> k & 1 ? one - e * (1 - one) : 1 - one - e * one);
		delta += fmax(0, gain) / ways;
	}
	return delta;
}

/* The theorem with every term exact, for a thin participant's chance eta. */
static double theorem(size_t n, double eta, double eps0, double eps)
{
	double one = (keep_of(eps0) - eta / 2) / (1 - eta), inner = log(one / (1 - one)), sum = 0;
	double *thin = binomial(n - 1, eta);

	for (size_t r = 1; r < n; r++)
		sum += thin[r] * largest_batch(n - r, 0, inner, eps);
	sum += thin[0] * fmax(0, one - exp(eps) * (1 - one));
	free(thin);
	return sum;
}

static void labels_lose_no_more_than_the_theorem_says(void **state)
{
	static const double eps0[] = { 0.2, 1, 3 }, part[] = { 0, 0.1, 0.4, 0.8 }, thin[] = { 0.1, 0.5, 0.9 };
	double tightest = 0;

	(void)state;
	for (size_t n = 2; n <= MOST; n++)
		for (int try = 0; try < 120; try++) {
			unsigned char row[MOST][MOST];
			double e0 = eps0[try % 3];

			for (size_t i = 0; i < MOST; i++)
				for (size_t k = 0; k < MOST; k++)
					row[i][k] = try % 4 == 0 && i > 0 ? row[0][k] : uniform() < 0.5;
			for (size_t k = 0; k < 4; k++)
				for (size_t t = 0; t < 3; t++) {
					double exact = labelled(n, row, e0, part[k] * e0);
					double most =
						theorem(n, thin[t] * 2 * (1 - keep_of(e0)), e0, part[k] * e0);

					tightest = fmax(tightest, exact / most);
					if (!(exact <= most * (1 + SLACK)))
						fail_msg("n=%zu eps0=%g eps=%g: %.15g above %.15g", n, e0,
							part[k] * e0, exact, most);
				}
		}
	assert_true(tightest > 0.8); /* the comparison is not empty */
}

static struct acct_bound delta_of(const char *text, double eps)
{
	struct acct_round r = parsed(text).round;
	struct acct_bound b = { -1, -1 };

	assert_int_equal(acct_delta(&r, 1, eps, &b), ACCT_OK);
	return b;
}

static struct acct_bound epsilon_of(const char *text, double delta)
{
	struct acct_round r = parsed(text).round;
	struct acct_bound b = { -1, -1 };

	assert_int_equal(acct_epsilon(&r, 1, delta, &b), ACCT_OK);
	return b;
}

/* Two groups, every other holding 1 in one of them and 0 in the other, or 1 in both: losses of data sets. */
static void rounds_cover_data_sets(void **state)
{
	static const struct {
		const char *text;
		double eps0, eps;
	} round[] = { { "harmony:eps0=1,n=2000", 1, 0.06 }, { "harmony:eps0=1,n=2000", 1, 0.12 },
		{ "duchi:eps0=2,d=3,n=2000", 2, 0.15 }, { "vrr:s=1,eps0=2,n=2000", 2, 0.2 } };

	(void)state;
	for (size_t i = 0; i < sizeof round / sizeof *round; i++) {
		struct acct_bound b = delta_of(round[i].text, round[i].eps);

		for (size_t p = 0; p <= 2000; p += 500)
			if (!(batch(p, 2000 - p, 0, round[i].eps0, round[i].eps) <= b.upper))
				fail_msg("%s p=%zu: above %.12g", round[i].text, p, b.upper);
		/* Inputs that do not depend on the group: the labels say nothing. */
		assert_true(b.lower > 0.9 * batch(2000, 0, 0, round[i].eps0, round[i].eps));
	}
}

/* Whether the round is so large that more than its cells is computed. */
static bool bound_helps(const char *text)
{
	struct acct_spec s = parsed(text);
	struct acct_list l;

	assert_int_equal(acct_list_init(&l, &s.round, NULL), ACCT_OK);
	return l.bits.known;
}

/* Where inputs do not depend on the label, the loss is that of bits, known to 60 digits for n up to 1e8. */
static void labels_of_digits(const struct acct_digits *x)
{
	char text[200];

	(void)snprintf(
		text, sizeof text, "words:w=1,eps0=%.17g,n=%.0f,dummies=%.0f", x->eps0, x->n, x->coins);
	if (!(delta_of(text, x->eps).upper >= x->delta * (1 - 1e-12)))
		fail_msg("%s eps=%g: %.13g is above", text, x->eps, x->delta);
	if (bound_helps(text) && !(delta_of(text, x->eps).lower <= x->delta * (1 + 1e-5)))
		fail_msg("%s eps=%g: %.13g is below", text, x->eps, x->delta);
}

static void sixty_digits_are_inside(void **state)
{
	(void)state;
	acct_digits_each(labels_of_digits);
}

static void labels_cost_little(void **state)
{
	static const struct {
		const char *labels, *bits, *cells;
		double more, won;
	} row[] = {
		{ "harmony:eps0=3,n=10000", "rr:eps0=3,n=10000", "generic:eps0=3,n=10000", 1.02, 1.3 },
		{ "harmony:eps0=1,n=10000", "rr:eps0=1,n=10000", "generic:eps0=1,n=10000", 1.01, 1.19 },
		{ "vrr:s=1,d=9,eps0=5,n=1000000", "rr:eps0=5,n=1000000", "generic:eps0=5,n=1000000", 1.004,
			1.4 },
		{ "words:w=1,eps0=3,n=10000,count=64", "rr:eps0=3,n=10000,count=64",
			"generic:eps0=3,n=10000,count=64", 1.02, 1.35 },
		{ "duchi:d=5,eps0=2,n=100000,sampling=.1,count=4", "rr:eps0=2,n=100000,sampling=.1,count=4",
			"generic:eps0=2,n=100000,sampling=.1,count=4", 1.02, 1.3 },
		{ "harmony:eps0=1,n=1000000000000", "rr:eps0=1,n=1000000000000",
			"generic:eps0=1,n=1000000000000", 1.004, 1.2 },
		{ "harmony:eps0=3,n=10", "rr:eps0=3,n=10", "generic:eps0=3,n=10", 2, 0.999 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct acct_bound labels = epsilon_of(row[i].labels, 1e-6),
				  bits = epsilon_of(row[i].bits, 1e-6),
				  cells = epsilon_of(row[i].cells, 1e-6);

		if (!(labels.upper <= row[i].more * bits.upper && labels.upper * row[i].won <= cells.upper &&
			    labels.upper >= bits.lower && labels.lower <= bits.upper))
			fail_msg("%s: [%.9g, %.9g]; bits [%.9g, %.9g], cells %.9g", row[i].labels,
				labels.lower, labels.upper, bits.lower, bits.upper, cells.upper);
	}
}

static void who_sends_labelled_bits(void **state)
{
	static const char *const yes[] = { "words:w=1,eps0=1,n=9", "words:w=1,groups=2,eps0=1,n=9,dummies=4",
		"vrr:s=1,eps0=1,n=9", "vrr:s=1,d=2,eps0=1,n=9", "duchi:eps0=1,d=3,n=9", "harmony:eps0=1,n=9",
		"ss-double:k=2,levels=2,eps0=1,n=9", "parallel:k=2/2,eps0=1,n=9",
		"parallel:k=2/2/2,eps0=1,share=.5/.25/.25,n=9" };
	static const char *const no[] = { "words:w=2,eps0=1,n=9", "words:w=1,eps0=1,n=9,chance=.1",
		"words:w=1,eps0=inf,n=9,dummies=3", "duchi:eps0=1,d=4,n=9", "vrr:s=2,eps0=1,n=9",
		"words:w=1,groups=1,eps0=1,n=9", "parallel:k=2/2,eps0=1/2,n=9", "parallel:k=2/3,eps0=1,n=9",
		"hierarchy:f=2,H=2,eps0=1,n=9", "hierarchy:f=2,H=1,eps0=1,n=9",
		"ss-double:k=2,levels=3,eps0=1,n=9", "ss-topk:k=2,levels=2,eps0=1,padded=9",
		"olh:l=2,eps0=1,n=9" };

	(void)state;
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		if (parsed(yes[i]).round.messages != ACCT_LABELLED_BITS)
			fail_msg("%s sends labelled bits", yes[i]);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		if (parsed(no[i]).round.messages == ACCT_LABELLED_BITS)
			fail_msg("%s does not send labelled bits", no[i]);
	assert_int_equal(
		parsed("cells:omega=.25/.25,u=3/1,v=1/3,n=9,messages=3").round.messages, ACCT_LABELLED_BITS);
	refused("cells:omega=.25/.25,u=3/1,v=1/3,n=9,messages=3,others_share=.5,others_n=3",
		"labelled bits have no");
	refused("cells:omega=.25/.25,u=3/1,v=1/3,n=9,messages=11", "messages=11");
}

/* One round whose loss takes few values decides how fine a grid has to be, whatever the other's bounds. */
static void rough_rounds_beside_labels_are_answered_closely(void **state)
{
	const struct acct_round r[] = { parsed("harmony:eps0=1,n=3000").round,
		parsed("generic:eps0=6,n=5").round };

	(void)state;
	for (double delta = 1e-4; delta > 1e-11; delta /= 100) {
		struct acct_bound eps, back;

		assert_int_equal(acct_epsilon(r, 2, delta, &eps), ACCT_OK);
		assert_true(eps.upper - eps.lower < 4e-3 * eps.upper);
		assert_int_equal(acct_delta(r, 2, eps.upper, &back), ACCT_OK);
		assert_true(back.lower <= delta && back.upper < 1e4 * back.lower);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_sends_labelled_bits),
		cmocka_unit_test(no_batch_is_above_the_sum),
		cmocka_unit_test(the_sum_is_close_in_large_batches),
		cmocka_unit_test(labels_lose_no_more_than_the_theorem_says),
		cmocka_unit_test(rounds_cover_data_sets),
		cmocka_unit_test(sixty_digits_are_inside),
		cmocka_unit_test(labels_cost_little),
		cmocka_unit_test(rough_rounds_beside_labels_are_answered_closely),
	};

	return cmocka_run_group_tests_name("acct_labels", tests, NULL, NULL);
}
