/* test_acct_truth.c - the accountant against the exact law of shuffled k-ary randomized response, every data
 * set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "acct.h"

#define MOST_CODES 1296 /* histograms of at most 5 reports of 4 symbols, base 6 */

/* law[code]: chance of the histogram, one digit per symbol. */
struct law {
	double mass[MOST_CODES];
	unsigned weight[4], codes, k;
};

static void law_init(struct law *l, unsigned k, unsigned n)
{
	memset(l, 0, sizeof *l);
	l->k = k;
	l->codes = 1;
	for (unsigned s = 0; s < k; s++) {
		l->weight[s] = l->codes;
		l->codes *= n + 1;
	}
	l->mass[0] = 1;
}

/* One more report, of a participant who holds `input`. */
static void law_add(struct law *l, unsigned input, double p)
{
	double z = p + l->k - 1, next[MOST_CODES] = { 0 };

	for (unsigned c = 0; c < l->codes; c++)
		for (unsigned s = 0; s < l->k && l->mass[c] > 0; s++)
			next[c + l->weight[s]] += l->mass[c] * (s == input ? p : 1) / z;
	memcpy(l->mass, next, sizeof next);
}

static double hockey(const struct law *a, const struct law *b, double e)
{
	double sum = 0;

	for (unsigned c = 0; c < a->codes; c++)
		sum += fmax(0, a->mass[c] - e * b->mass[c]);
	return sum;
}

/* Two independent rounds. */
static double hockey_twice(const struct law *a, const struct law *b, double e)
{
	double sum = 0;

	for (unsigned c = 0; c < a->codes; c++)
		for (unsigned d = 0; d < a->codes; d++)
			sum += fmax(0, a->mass[c] * a->mass[d] - e * b->mass[c] * b->mass[d]);
	return sum;
}

static struct acct_round grr(unsigned k, double p, unsigned n)
{
	double z = p + k - 1;
	struct acct_round r = { .cells = k > 2 ? 3 : 2,
		.others = n - 1,
		.count = 1,
		.cell = { { 1 / z, p, 1 }, { 1 / z, 1, p }, { (k - 2) / z, 1, 1 } } };

	return r;
}

/* Every vector of others' inputs (their order does not matter, but all are tried) and both victims'
 * inputs. */
static void compare(unsigned k, double p, unsigned n, double eps, double upper, double upper_twice)
{
	unsigned vectors = 1;

	for (unsigned i = 1; i < n; i++)
		vectors *= k;
	for (unsigned v = 0; v < vectors; v++) {
		struct law others, laws[4];
		unsigned rest = v;

		law_init(&others, k, n);
		for (unsigned i = 1; i < n; i++, rest /= k)
			law_add(&others, rest % k, p);
		for (unsigned x = 0; x < k; x++) {
			laws[x] = others;
			law_add(&laws[x], x, p);
		}
		for (unsigned x = 0; x < k; x++)
			for (unsigned y = 0; y < k; y++) {
				assert_true(
					hockey(&laws[x], &laws[y], exp(eps)) <= upper * (1 + 1e-12) + 1e-16);
				if (upper_twice < 1 && x < y)
					assert_true(hockey_twice(&laws[x], &laws[y], exp(eps)) <=
						    upper_twice * (1 + 1e-12) + 1e-16);
			}
	}
}

static void no_data_set_of_randomized_response_loses_more_than_the_bound(void **state)
{
	static const double ps[] = { 1.5, 3, 20 };

	(void)state;
	for (unsigned k = 2; k <= 4; k++)
		for (size_t i = 0; i < sizeof ps / sizeof *ps; i++)
			for (unsigned n = 1; n <= 5; n++)
				for (int step = 0; step < 5; step++) {
					struct acct_round r = grr(k, ps[i], n);
					struct acct_bound one, two = { 0, 1 };
					double eps = log(ps[i]) * step / 5;

					assert_int_equal(acct_delta(&r, 1, eps, &one), ACCT_OK);
					r.count = 2;
					if (n <= 3)
						assert_int_equal(acct_delta(&r, 1, eps, &two), ACCT_OK);
					compare(k, ps[i], n, eps, one.upper, two.upper);
				}
}

/* Dummies are uniform symbols; the others hold any inputs. */
static void no_data_set_among_dummies_loses_more_than_the_bound(void **state)
{
	(void)state;
	for (unsigned k = 2; k <= 4; k++)
		for (unsigned n = 1; n <= 3; n++)
			for (unsigned dummies = 1; dummies <= 2; dummies++)
				for (unsigned v = 0; v < (n > 1 ? k : 1) * (n > 2 ? k : 1); v++)
					for (double eps = 0; eps < 1; eps += 0.2) {
						struct acct_round r = grr(k, 3, n);
						struct acct_bound d;
						struct law a, b;

						law_init(&a, k, n + dummies);
						for (unsigned i = 1; i < n; i++)
							law_add(&a, i == 1 ? v % k : v / k, 3);
						for (unsigned i = 0; i < dummies; i++)
							law_add(&a, 0, 1);
						b = a;
						law_add(&a, 0, 3);
						law_add(&b, 1, 3);
						r.dummies = dummies;
						assert_int_equal(acct_delta(&r, 1, eps, &d), ACCT_OK);
						assert_true(
							hockey(&a, &b, exp(eps)) <= d.upper * (1 + 1e-12));
						if (n == 1) /* no left-overs: exact */
							assert_true(hockey(&a, &b, exp(eps)) >=
								    d.lower * (1 - 1e-12));
					}
}

static void truthful_messages_among_dummies_lose_exactly_the_bound(void **state)
{
	(void)state;
	for (unsigned k = 2; k <= 4; k++)
		for (unsigned dummies = 0; dummies <= 4; dummies++)
			for (double eps = 0; eps < 3; eps += 0.5) {
				double bins = k;
				struct acct_round r = { .cells = k > 2 ? 3 : 2,
					.dummies = dummies,
					.count = 1,
					.cell = { { 1 / bins, bins, 0 }, { 1 / bins, 0, bins },
						{ (bins - 2) / bins, 0, 0 } } };
				struct acct_bound d;
				struct law a, b;

				law_init(&a, k, 1 + dummies);
				for (unsigned i = 0; i < dummies; i++)
					law_add(&a, 0, 1);
				b = a;
				law_add(&a, 0, 1e300);
				law_add(&b, 1, 1e300);
				assert_int_equal(acct_delta(&r, 1, eps, &d), ACCT_OK);
				double truth = hockey(&a, &b, exp(eps));
				assert_true(truth <= d.upper * (1 + 1e-12) && truth >= d.lower * (1 - 1e-12));
				assert_true(d.upper - d.lower <= 1e-8 * d.upper);
			}
}

static void a_lone_participant_has_exactly_the_local_loss(void **state)
{
	struct law a, b;
	struct acct_round r = grr(2, 3, 1);
	struct acct_bound d;

	(void)state;
	law_init(&a, 2, 1);
	b = a;
	law_add(&a, 0, 3);
	law_add(&b, 1, 3);
	assert_int_equal(acct_delta(&r, 1, 0.5, &d), ACCT_OK);
	assert_true(fabs(hockey(&a, &b, exp(0.5)) - d.upper) < 1e-9 && fabs(d.lower - d.upper) < 1e-9);
}

/* Where there are few blanket messages delta falls to 0 in a last hundredth of epsilon, and upper ends of
 * points are wide there.  Outside values: in 45 decimal digits, the law of the number of ones
 * among all reports, summed by (P - e^eps Q)+; the largest over the number
 * of others who hold a one, which is reached where all do. */
static void epsilon_is_found_close_to_the_largest_loss(void **state)
{
	static const struct {
		unsigned n;
		double eps;
	} known[] = { { 1900, 5.98890204882524 }, { 1990, 5.9861128511406 }, { 2000, 5.98576226830874 } };

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct acct_round r = grr(2, exp(6), known[i].n);
		struct acct_bound eps;

		assert_int_equal(acct_epsilon(&r, 1, 1e-4, &eps), ACCT_OK);
		assert_true(eps.lower <= known[i].eps && known[i].eps <= eps.upper);
		assert_true(eps.upper - eps.lower <= 4e-4 * eps.upper);
	}
}

static long double chance(unsigned n, unsigned k, long double p)
{
	return expl(lgammal(n + 1.0L) - lgammal(k + 1.0L) - lgammal(n - k + 1.0L) +
		    (k > 0 ? k * logl(p) : 0) + (n > k ? (n - k) * log1pl(-p) : 0));
}

/* doc/accounting.md (1), term by term: M blanket messages, a and b of the two first cells. */
static double enumerated(unsigned k, long double p, unsigned n, long double e)
{
	enum { MOST = 150 }; /* more have less than 1e-40 below */
	long double w = k / (p + k - 1), delta = 0;

	for (unsigned m = 1; m <= n && m <= MOST; m++)
		for (unsigned a = 0; a <= m; a++)
			for (unsigned b = 0; a + b <= m; b++) {
				long double x = a * (p - e) + b * (1 - p * e) + (m - a - b) * (1 - e);

				if (x > 0)
					delta += chance(n - 1, m - 1, w) * chance(m, a, 1.0L / k) *
						 chance(m - a, b, 1.0L / (k - 1)) * w / m * x;
			}
	return (double)delta;
}

/* There upper ends of points are wide; chords to the largest loss and lines of tests make them narrow. */
static void intervals_close_to_the_largest_loss_are_narrow(void **state)
{
	static const double below[] = { 1, 0.3, 0.1, 0.01, 1e-3, 1e-5 };
	struct acct_round r = grr(16, exp(6), 300);

	(void)state;
	for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
		double at = 6 - below[i], value = enumerated(16, expl(6), 300, expl(at));
		struct acct_bound delta, eps;

		assert_int_equal(acct_delta(&r, 1, at, &delta), ACCT_OK);
		assert_true(delta.lower <= value * (1 + 1e-9) && value <= delta.upper * (1 + 1e-9));
		assert_true(delta.upper <= 1.04 * value);
		assert_int_equal(acct_epsilon(&r, 1, value, &eps), ACCT_OK);
		assert_true(eps.lower <= at + 1e-9 && at <= eps.upper + 1e-9);
		assert_true(eps.upper - eps.lower <= 1e-4 * eps.upper);
	}
	/* For bits the upper end was once six times this. */
	struct acct_bound delta;

	r = grr(2, exp(6), 2000);
	assert_int_equal(acct_delta(&r, 1, 5.995, &delta), ACCT_OK);
	assert_true(delta.upper <= 1.0001 * delta.lower && delta.lower > 3.52e-5 && delta.upper < 3.53e-5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_data_set_of_randomized_response_loses_more_than_the_bound),
		cmocka_unit_test(no_data_set_among_dummies_loses_more_than_the_bound),
		cmocka_unit_test(truthful_messages_among_dummies_lose_exactly_the_bound),
		cmocka_unit_test(a_lone_participant_has_exactly_the_local_loss),
		cmocka_unit_test(epsilon_is_found_close_to_the_largest_loss),
		cmocka_unit_test(intervals_close_to_the_largest_loss_are_narrow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
