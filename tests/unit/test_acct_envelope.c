/* test_acct_envelope.c - one list for all pairs of a matrix: against the lists of all pairs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "acct_envelope.h"
#include "acct_parsed.h"

#define MOST 6

static double state_of_draws = 0.5;

/* Chances that are not random, and have no pattern. */
static double draw(void)
{
	state_of_draws = fmod(state_of_draws * 997 + 0.61803398874989485, 1);
	return state_of_draws;
}

static void fill(double *p, size_t inputs, size_t outputs, double spread)
{
	for (size_t x = 0; x < inputs; x++) {
		double sum = 0;

		for (size_t y = 0; y < outputs; y++)
			sum += p[x * outputs + y] = exp(spread * draw());
		for (size_t y = 0; y < outputs; y++)
			p[x * outputs + y] /= sum;
	}
}

/* The mean of what is above 0 of so_far and `more` + 1 independent losses, which are 0 outside the cells. */
static double above(const struct acct_round *r, double e, double so_far, int more)
{
	double sum = 0, left = 1;

	for (size_t j = 0; j <= r->cells; j++) {
		double weight = j < r->cells ? r->cell[j].omega : left;
		double loss = so_far + (j < r->cells ? r->cell[j].u - e * r->cell[j].v : 0);

		sum += weight * (more == 0 ? fmax(loss, 0) : above(r, e, loss, more - 1));
		left -= weight;
	}
	return sum;
}

static struct acct_round pair_of(const double *p, size_t inputs, size_t outputs, size_t a, size_t b)
{
	struct acct_round r = { .cells = outputs };

	for (size_t y = 0; y < outputs; y++) {
		double omega = p[y];

		for (size_t x = 1; x < inputs; x++)
			omega = fmin(omega, p[x * outputs + y]);
		r.cell[y] =
			(struct acct_cell){ omega, p[a * outputs + y] / omega, p[b * outputs + y] / omega };
	}
	return r;
}

/* The largest ratio to the list's mean positive part, over sums of one, two and three losses of all pairs of
 * p; deltas are means of such. */
static double most_of_list(const double *p, size_t inputs, size_t outputs, const struct acct_round *list)
{
	static const double epsilons[] = { 0, 0.1, 0.7, 2 };
	double most = 0;

	for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++)
		for (int more = 0; more < 3; more++) {
			double e = exp(epsilons[i]), bound = above(list, e, 0, more) + 1e-15;

			for (size_t k = 0; k < inputs * inputs; k++) {
				struct acct_round r = pair_of(p, inputs, outputs, k / inputs, k % inputs);

				most = fmax(most, above(&r, e, 0, more) / bound);
			}
		}
	return most;
}

static void no_pair_is_above_the_list(void **state)
{
	static const double spreads[] = { 0.1, 1, 4, 8 };

	(void)state;
	for (int k = 0; k < 48; k++) {
		double p[MOST * MOST];
		size_t inputs = 2 + (size_t)k % 4, outputs = 2 + (size_t)k % 5;
		struct acct_round list = { .cells = 0 };

		fill(p, inputs, outputs, spreads[k % 4]);
		assert_int_equal(acct_cells_envelope(p, inputs, outputs, 0, &list, NULL), ACCT_OK);
		if (most_of_list(p, inputs, outputs, &list) > 1 + 1e-9)
			fail_msg("%d: %g", k, most_of_list(p, inputs, outputs, &list));
	}
}

/* The given chances are off by up to 1/1000: large enough to be seen. */
static void the_room_covers_what_is_given_wrongly(void **state)
{
	static const double spreads[] = { 0.1, 1, 4, 8 };
	int without = 0;

	(void)state;
	for (int k = 0; k < 48; k++) {
		double p[MOST * MOST], given[MOST * MOST];
		size_t inputs = 2 + (size_t)k % 4, outputs = 2 + (size_t)k % 5;
		struct acct_round list = { .cells = 0 };

		fill(p, inputs, outputs, spreads[k % 4]);
		for (size_t i = 0; i < inputs * outputs; i++)
			given[i] = p[i] / (1 + (draw() < 0.5 ? 1e-3 : -1e-3));
		assert_int_equal(acct_cells_envelope(given, inputs, outputs, 1e-3, &list, NULL), ACCT_OK);
		if (most_of_list(p, inputs, outputs, &list) > 1 + 1e-9)
			fail_msg("%d: %g", k, most_of_list(p, inputs, outputs, &list));
		assert_int_equal(acct_cells_envelope(given, inputs, outputs, 0, &list, NULL), ACCT_OK);
		without += most_of_list(p, inputs, outputs, &list) > 1 + 1e-5;
	}
	if (without < 20)
		fail_msg("%d", without);
}

/* The result is a list that the accountant takes, symmetric, with the whole blanket. */
static void the_list_is_a_round(void **state)
{
	(void)state;
	for (int k = 0; k < 40; k++) {
		double p[MOST * MOST], blanket = 0, least = 0;
		struct acct_round r = { .count = 1, .others = 100 };
		struct acct_bound delta;

		fill(p, MOST, MOST, pow(10, -6 + k % 8));
		assert_int_equal(acct_cells_envelope(p, MOST, MOST, 0, &r, NULL), ACCT_OK);
		assert_int_equal(acct_round_check(&r, NULL), ACCT_OK);
		assert_int_equal(acct_delta(&r, 1, 0.1, &delta), ACCT_OK);
		for (size_t j = 0; j < r.cells; j++)
			blanket += r.cell[j].omega;
		for (size_t y = 0; y < MOST; y++) {
			double omega = 1;

			for (size_t x = 0; x < MOST; x++)
				omega = fmin(omega, p[x * MOST + y]);
			least += omega;
		}
		assert_true(blanket <= least && blanket > least * (1 - 1e-12));
	}
}

/* Every sum with 0.6 rounds a chance of little more than 2^-54 up to 2^-53. */
static void sums_that_round_upwards_make_no_larger_blanket(void **state)
{
	enum { OUTPUTS = 65536, TINY = OUTPUTS - 3 };
	double *p = calloc(2 * OUTPUTS, sizeof *p);
	struct acct_round r = { .cells = 0 };
	long double blanket = 0, least = 0;

	(void)state;
	assert_non_null(p);
	for (size_t x = 0; x < 2; x++) {
		double *row = p + x * OUTPUTS;

		row[0] = 0.6;
		for (size_t y = 1; y <= TINY; y++)
			row[y] = 0x1.001p-54;
		row[OUTPUTS - 2 + x] = 0.3;
		row[OUTPUTS - 1 - x] = 0.1 - TINY * 0x1.001p-54;
	}
	for (size_t y = 0; y < OUTPUTS; y++)
		least += (long double)fmin(p[y], p[OUTPUTS + y]);
	assert_int_equal(acct_cells_envelope(p, 2, OUTPUTS, 0, &r, NULL), ACCT_OK);
	for (size_t j = 0; j < r.cells; j++)
		blanket += (long double)r.cell[j].omega;
	assert_true(blanket <= least);
	free(p);
}

/* For response on k symbols nothing is lost: every pair has the list's cells. */
static void response_is_its_own_list(void **state)
{
	(void)state;
	for (size_t k = 2; k <= MOST; k++) {
		double p[MOST * MOST], other = 1 / (exp(3) + (double)k - 1);
		struct acct_round r = { .cells = 0 };
		double most = 0, apart = 0;

		for (size_t i = 0; i < k * k; i++)
			p[i] = i % (k + 1) == 0 ? exp(3) * other : other;
		assert_int_equal(acct_cells_envelope(p, k, k, 0, &r, NULL), ACCT_OK);
		for (size_t j = 0; j < r.cells; j++) {
			most = fmax(most, r.cell[j].u);
			apart += r.cell[j].omega * (r.cell[j].u > 1);
		}
		assert_true(fabs(most / exp(3) - 1) < 1e-7 && fabs(apart / other - 1) < 1e-7);
	}
}

static void what_is_no_matrix_is_refused(void **state)
{
	const double zero[] = { 1, 0, 0.5, 0.5 }, same[] = { 0.25, 0.75, 0.25, 0.75 };
	struct acct_round r;
	const char *why = NULL;

	(void)state;
	assert_int_equal(acct_cells_envelope(zero, 2, 2, 0, &r, &why), ACCT_EDOMAIN);
	assert_string_equal(why, "every chance must be above 0");
	assert_int_equal(acct_cells_envelope(same, 2, 2, 0, &r, &why), ACCT_EDOMAIN);
	assert_string_equal(why, "all inputs have the same law");
	assert_int_equal(acct_cells_envelope(zero, 2, 2, -0x1p-60, &r, &why), ACCT_EDOMAIN);
	assert_string_equal(why, "the room for rounding must be from 0 to 0.01");
	assert_int_equal(acct_cells_envelope(same, 1, 4, 0, &r, &why), ACCT_EDOMAIN);
}

static double epsilon(const char *text)
{
	struct acct_round r = parsed(text).round;
	struct acct_bound b;

	assert_int_equal(acct_epsilon(&r, 1, 1e-6, &b), ACCT_OK);
	return b.upper;
}

/* The grid as a name: nearer places are told apart less, any two never more than by the local guarantee. */
static void planar_is_between_its_distances_and_any_randomizer(void **state)
{
	double one = epsilon("planar:w=6,h=5,eps0=6,distance=1,n=10000");
	double three = epsilon("planar:w=6,h=5,eps0=6,distance=3,n=10000");
	double any = epsilon("planar:w=6,h=5,eps0=6,n=10000");

	(void)state;
	assert_true(one < three && any < epsilon("generic:eps0=6,n=10000"));
	assert_true(three <= epsilon("planar:w=6,h=5,eps0=6,distance=100,n=10000"));
}

/* Two by two cells on a torus of four by four: the chance of (x, y) from (0, 0) times the sum of all. */
static long double corner(long double a, int x, int y)
{
	long double sum = 0;

	for (int j = 0; j < 4; j++)
		for (int i = 0; i < 4; i++) {
			int across = i == 3 ? 1 : i, up = j == 3 ? 1 : j;

			if ((i == 1 || i == 2) == x && (j == 1 || j == 2) == y)
				sum += expl(-a * ceill(1024 * sqrtl(across * across + up * up)));
		}
	return sum;
}

/* Two cells side by side: beta is a difference of probabilities that are nearly equal. */
static void small_differences_are_rounded_upwards(void **state)
{
	(void)state;
	for (int k = 0; k < 60; k++) {
		char text[80];
		long double low = 0, high, eps0 = powl(10, -5 + k * 0.1L), beta, p;
		struct acct_spec s;

		(void)snprintf(text, sizeof text, "planar:w=2,h=2,eps0=%.17g,distance=1,n=9", (double)eps0);
		s = parsed(text);
		high = (long double)s.eps0 / 256;
		for (int i = 0; i < 80; i++) {
			long double a = low + (high - low) / 2;

			if (logl(corner(a, 0, 0) / corner(a, 1, 1)) <= (long double)s.eps0)
				low = a;
			else
				high = a;
		}
		p = fmaxl(corner(low, 0, 0) / corner(low, 1, 0), corner(low, 0, 1) / corner(low, 1, 1));
		beta = corner(low, 0, 0) + corner(low, 0, 1) - corner(low, 1, 0) - corner(low, 1, 1);
		beta /= corner(low, 0, 0) + 2 * corner(low, 0, 1) + corner(low, 1, 1);
		if (!((long double)s.beta >= beta && (long double)s.p >= p &&
			    (long double)s.beta < beta + 1e-10L))
			fail_msg("%s: beta %.17g of %.17Lg, p %.17g of %.17Lg", text, s.beta, beta, s.p, p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_pair_is_above_the_list),
		cmocka_unit_test(the_room_covers_what_is_given_wrongly),
		cmocka_unit_test(the_list_is_a_round),
		cmocka_unit_test(sums_that_round_upwards_make_no_larger_blanket),
		cmocka_unit_test(response_is_its_own_list),
		cmocka_unit_test(what_is_no_matrix_is_refused),
		cmocka_unit_test(planar_is_between_its_distances_and_any_randomizer),
		cmocka_unit_test(small_differences_are_rounded_upwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
