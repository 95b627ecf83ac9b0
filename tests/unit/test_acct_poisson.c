/* test_acct_poisson.c - participants who take part by chance, against sums over every outcome of small
 * mechanisms, and against mixtures over their number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "acct_answers.h"
#include "acct_spec.h"
#include "shuffled.h"

#define INPUTS 3u
#define MOST   5u

static struct acct_spec spec_of(const char *text)
{
	struct acct_spec s;
	char why[200];

	if (acct_spec_parse(text, &s, why, sizeof why))
		fail_msg("%s: %s", text, why);
	return s;
}

/* The law of all reports of ternary response; the fourth symbol is silence, of chance 1 - rate. */
static void shuffled_law(double eps0, double rate, const unsigned *input, unsigned n, struct law *out)
{
	double report[SYMBOLS];

	memset(out, 0, sizeof *out);
	out->mass[0] = 1;
	for (unsigned i = 0; i < n; i++) {
		grr_report(report, INPUTS, exp(eps0), input[i]);
		for (unsigned y = 0; y < INPUTS; y++)
			report[y] *= rate;
		report[INPUTS] = 1 - rate;
		law_add(out, report);
	}
}

/* The largest loss of a data set of n, in both directions. */
static double worst(double eps0, double rate, unsigned n, double eps)
{
	static struct law p, q;
	unsigned sets = 1, input[MOST];
	double most = 0;

	for (unsigned i = 1; i < n; i++)
		sets *= INPUTS;
	for (unsigned set = 0; set < sets; set++) {
		for (unsigned i = 1, rest = set; i < n; i++, rest /= INPUTS)
			input[i] = rest % INPUTS;
		input[0] = 0;
		shuffled_law(eps0, rate, input, n, &p);
		input[0] = 1;
		shuffled_law(eps0, rate, input, n, &q);
		most = fmax(most, fmax(hockey(&p, &q, eps), hockey(&q, &p, eps)));
	}
	return most;
}

static void no_data_set_loses_more_than_the_bound(void **state)
{
	static const double rates[] = { 0.05, 0.4, 0.9 }, levels[] = { 0.5, 2 };

	(void)state;
	for (unsigned n = 1; n <= MOST; n++)
		for (size_t i = 0; i < 3; i++)
			for (size_t j = 0; j < 2; j++) {
				char text[100];

				(void)snprintf(text, sizeof text, "grr:k=3,eps0=%.17g,n=%u,poisson=%.17g",
					levels[j], n, rates[i]);
				struct acct_round r = spec_of(text).round;
				for (double eps = 0; eps < levels[j]; eps += levels[j] / 7) {
					double truth = worst(levels[j], rates[i], n, eps);
					struct acct_bound d = delta_at(&r, eps);

					assert_true(truth <= d.upper * (1 + 1e-12) + 1e-15);
					/* Alone, nobody hides the victim: the bound is the truth. */
					if (n == 1)
						assert_true(truth >= d.lower * (1 - 1e-9) - 1e-15);
					assert_true(eps > 0.2 || truth > 0.3 * d.lower);
				}
			}
}

/* Given how many took part, they are a uniform subset: the mixture of bounds for fixed numbers holds too, and
 * is above this one, which does not need that inequality. */
static void a_mixture_over_the_number_is_no_tighter(void **state)
{
	enum { N = 60 };
	static const double rates[] = { 0.1, 0.5 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char text[100];

		(void)snprintf(text, sizeof text, "generic:eps0=2,n=%u,poisson=%g", N, rates[i]);
		struct acct_round r = spec_of(text).round;
		for (double eps = 0.05; eps < 1; eps += 0.3) {
			double mixed = 0, chance = pow(1 - rates[i], N);

			for (unsigned m = 1; m <= N; m++) {
				struct acct_round fixed;

				chance *= (double)(N - m + 1) / m * rates[i] / (1 - rates[i]);
				(void)snprintf(text, sizeof text, "generic:eps0=2,n=%u%s%.17g", m,
					m < N ? ",sampling=" : ",defect=", m < N ? (double)m / N : 0.0);
				fixed = spec_of(text).round;
				mixed += chance * delta_at(&fixed, eps).upper;
			}
			assert_true(delta_at(&r, eps).lower <= mixed);
		}
	}
}

/* delta of a bit among n - 1 others who hold 1, each silent with chance 1 - rate: the sum over all counts of
 * ones and zeroes. */
static double silent_bits(unsigned n, double eps0, double rate, double eps)
{
	const double one = rate / (1 + exp(-eps0)), zero = rate / (1 + exp(eps0)), e = exp(eps);
	const double logs[3] = { log(one), log(zero), log1p(-rate) };
	double sum = 0;

	for (unsigned a = 0; a <= n; a++)
		for (unsigned b = 0; a + b <= n; b++) {
			/* the chance of these counts if the victim is silent, a one, or a zero */
			double of[3] = { 0, 0, 0 }, u, v;

			for (unsigned y = 0; y < 3; y++) {
				double k[3] = { a - (y == 1), b - (y == 2), n - a - b - (y == 0) };

				if (k[0] < 0 || k[1] < 0 || k[2] < 0)
					continue;
				of[y] = exp(lgamma(n) - lgamma(k[0] + 1) - lgamma(k[1] + 1) -
					    lgamma(k[2] + 1) + k[0] * logs[0] + k[1] * logs[1] +
					    k[2] * logs[2]);
			}
			u = (1 - rate) * of[0] + one * of[1] + zero * of[2];
			v = (1 - rate) * of[0] + zero * of[1] + one * of[2];
			sum += fmax(0, u - e * v);
		}
	return sum;
}

/* Bits, with and without labels, are charged little more than a data set loses. */
static void bits_that_may_be_silent(void **state)
{
	static const struct {
		unsigned n;
		double eps0, rate, more;
	} of[] = { { 600, 1, 0.5, 1.2 }, { 1500, 2, 0.3, 1.1 }, { 2500, 0.5, 0.1, 1.25 },
		{ 2000, 3, 0.6, 1.1 } };

	(void)state;
	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		for (int labels = 0; labels < 2; labels++) {
			char text[120];

			(void)snprintf(text, sizeof text, "%s:eps0=%g,n=%u,poisson=%g",
				labels ? "harmony" : "rr", of[i].eps0, of[i].n, of[i].rate);
			struct acct_round r = spec_of(text).round, back;
			struct acct_bound e = epsilon(&r, 1e-6);
			double at = e.upper / of[i].more,
			       delta = silent_bits(of[i].n, of[i].eps0, of[i].rate, at);
			char out[ACCT_SPEC_MAX];

			if (!(delta <= delta_at(&r, at).upper * (1 + 1e-9) && delta > 1e-6))
				fail_msg("%s at %g: %g, charged %g", text, at, delta, delta_at(&r, at).upper);
			assert_int_equal(acct_spec_text(&r, out), ACCT_OK);
			back = spec_of(out).round;
			assert_true(acct_round_equal(&r, &back));
		}
}

static void nearly_all_is_all_and_fewer_lose_less(void **state)
{
	struct acct_round all = spec_of("grr:k=16,eps0=3,n=10000,count=3").round;
	double last = epsilon(&all, 1e-6).upper;
	struct acct_round near = spec_of("grr:k=16,eps0=3,n=10000,count=3,poisson=0.9999999").round;

	(void)state;
	assert_true(fabs(epsilon(&near, 1e-6).upper / last - 1) < 1e-3);
	for (double rate = 0.5; rate > 1e-3; rate /= 4) {
		char text[100];

		(void)snprintf(text, sizeof text, "grr:k=16,eps0=3,n=10000,poisson=%g,count=3", rate);
		struct acct_round r = spec_of(text).round;
		struct acct_bound e = epsilon(&r, 1e-6);
		assert_true(e.upper < last && e.upper - e.lower < 2e-3 * e.upper);
		last = e.upper;
	}
}

static void what_cannot_be_silent_is_refused(void **state)
{
	static const char *const text[] = { "bins:k=4,dummies=10,n=5,poisson=0.5",
		"grr:k=4,eps0=1,n=10,sampling=0.1,poisson=0.5", "rr:eps0=1,n=10,poisson=1",
		"rr:eps0=1,n=10,poisson=0", "rr:eps0=1,n=10,poisson=nan", "gaussian:sigma=1,poisson=0.5",
		"rr:eps0=1,n=10,others_eps=0.5,others_n=3,poisson=0.5",
		"ranges:leaves=16,fanout=4,eps0=1,n=10,poisson=0.5",
		"words:w=2,slots=3,eps0=1,n=10,poisson=0.5" };
	struct acct_spec s;
	char why[200];

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct acct_spec part[ACCT_SPEC_PARTS];
		size_t parts;

		why[0] = '\0';
		assert_int_equal(acct_spec_parts(text[i], part, &parts, why, sizeof why), ACCT_EDOMAIN);
		assert_non_null(strstr(why, "poisson"));
	}
	/* Its text is its cells, and reads back to an equal round. */
	s = spec_of("rr:eps0=1,n=10,poisson=0.5,count=3");
	char out[ACCT_SPEC_MAX];
	assert_int_equal(acct_spec_text(&s.round, out), ACCT_OK);
	struct acct_round again = spec_of(out).round;
	assert_true(acct_round_equal(&s.round, &again));
	assert_true(fabs(s.eps0 - 1) < 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_data_set_loses_more_than_the_bound),
		cmocka_unit_test(a_mixture_over_the_number_is_no_tighter),
		cmocka_unit_test(bits_that_may_be_silent),
		cmocka_unit_test(nearly_all_is_all_and_fewer_lose_less),
		cmocka_unit_test(what_cannot_be_silent_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
