/* test_acct_laplace.c - the Laplace randomizer's cells against the continuous law. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "acct_laplace.h"
#include "csv.h"
#include "params.h"

#define ROUNDING 1e-12

typedef enum acct_rc cells_fn(double epsilon0, struct acct_round *r, const char **why);

static struct acct_round round_of(cells_fn *cells, double epsilon0, uint64_t n)
{
	struct acct_round r = { .others = n - 1, .count = 1 };
	const char *why = "";

	assert_int_equal(cells(epsilon0, &r, NULL), ACCT_OK);
	if (acct_round_check(&r, &why) != ACCT_OK)
		fail_msg("epsilon0 %g: %s", epsilon0, why);
	return r;
}

static void every_laplace_row_is_reproduced(void **state)
{
	struct csv c;
	size_t rows = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/bounds.csv"));
	while (csv_next(&c)) {
		const char *params = csv_get(&c, "params");
		double value = atof(csv_get(&c, "value")), rtol = atof(csv_get(&c, "rtol"));
		double epsilon0 = params_number(params, "eps0"), eps = params_number(params, "eps");
		uint64_t n = (uint64_t)params_number(params, "n");
		struct acct_bound above, below;

		if (strcmp(csv_get(&c, "method"), "exact_blanket") != 0 ||
			!params_is(params, "mech", "laplace"))
			continue;
		struct acct_round r = round_of(acct_laplace_above, epsilon0, n);
		assert_int_equal(acct_delta(&r, 1, eps, &above), ACCT_OK);
		r = round_of(acct_laplace_below, epsilon0, n);
		assert_int_equal(acct_delta(&r, 1, eps, &below), ACCT_OK);
		if (!(fabs(above.upper / value - 1) <= rtol && fabs(below.lower / value - 1) <= rtol))
			fail_msg("%s: [%.12g, %.12g], want %.12g", csv_get(&c, "id"), below.lower,
				above.upper, value);
		assert_true(below.lower <= above.upper);
		rows++;
	}
	fclose(c.file);
	assert_true(rows >= 3);
}

/* E (u - E v - t)+ over the cells. */
static double stop_loss(const struct acct_round *r, double e, double t)
{
	double sum = 0;

	for (size_t j = 0; j < r->cells; j++)
		sum += r->cell[j].omega * fmax(0, r->cell[j].u - e * r->cell[j].v - t);
	return sum;
}

/* The same over the continuous law.  On a leg s has density (g/4) s^{-3/2} on [1, p], g = e^{-epsilon0/2},
 * and mass e^{-epsilon0}/2 at p: the call (s - a)+ on the leg (s, 1), the put (c - s)+ on (1, s). */
static double true_stop_loss(double epsilon0, double e, double t)
{
	double g = exp(-epsilon0 / 2), p = exp(epsilon0), tail = exp(-epsilon0) / 2;
	double a = e + t, from = fmin(p, fmax(1, a)), c = (1 - t) / e, to = fmin(p, fmax(1, c));
	double call = g / 4 * ((2 * sqrt(p) + 2 * a / sqrt(p)) - (2 * sqrt(from) + 2 * a / sqrt(from)));
	double put = g / 4 * ((-2 * c / sqrt(to) - 2 * sqrt(to)) - (-2 * c - 2));

	return call + tail * fmax(0, p - a) + e * (fmax(0, put) + tail * fmax(0, c - p));
}

static void the_cells_enclose_the_continuous_law(void **state)
{
	(void)state;
	for (double epsilon0 = 0.1; epsilon0 < 9; epsilon0 *= 1.7) {
		double p = exp(epsilon0);
		struct acct_round above = round_of(acct_laplace_above, epsilon0, 2),
				  below = round_of(acct_laplace_below, epsilon0, 2), coarse = above;

		assert_int_equal(acct_laplace_coarse(epsilon0, 3, &coarse, NULL), ACCT_OK);
		assert_int_equal(coarse.cells, 7);
		for (double e = 1; e < p; e += (p - 1) / 13)
			for (double t = 1 - p * e; t <= p - e; t += (p * e + p - e - 1) / 200) {
				double truth = true_stop_loss(epsilon0, e, t), near = ROUNDING * p * e;

				assert_true(stop_loss(&above, e, t) >= truth - near);
				assert_true(stop_loss(&coarse, e, t) >= truth - near);
				assert_true(stop_loss(&below, e, t) <= truth + near);
				assert_true(
					stop_loss(&above, e, t) - stop_loss(&below, e, t) <= 2e-3 * p * e);
			}
	}
}

/* E (u_a - E u_b - t)+ for inputs a and b: outside [0, 1] reports have constant ratios; inside, midpoints. */
#define POINTS 1500

struct inputs {
	double x[POINTS + 2], mass[POINTS + 2];
};

static void inputs_init(struct inputs *in, double epsilon0, double a, double b, double e)
{
	for (int i = 0; i < POINTS + 2; i++) {
		double y = i < POINTS ? (i + 0.5) / POINTS : i - POINTS; /* then 0 and 1 */
		double w = epsilon0 * (fabs(y - 0.5) + 0.5);

		in->x[i] = exp(w - epsilon0 * fabs(y - a)) - e * exp(w - epsilon0 * fabs(y - b));
		in->mass[i] = i < POINTS ? epsilon0 / 2 * exp(-w) / POINTS : exp(-epsilon0) / 2;
	}
}

static double inputs_stop_loss(const struct inputs *in, double t)
{
	double sum = 0;

	for (int i = 0; i < POINTS + 2; i++)
		sum += in->mass[i] * fmax(0, in->x[i] - t);
	return sum;
}

static void no_pair_of_inputs_is_worse_than_zero_and_one(void **state)
{
	static struct inputs in;

	(void)state;
	for (double epsilon0 = 0.1; epsilon0 < 8; epsilon0 *= 2.3)
		for (int e_step = 0; e_step < 4; e_step++) {
			double p = exp(epsilon0), e = exp(epsilon0 * e_step / 4);

			for (int a = 0; a <= 8; a++)
				for (int b = 0; b <= 8; b++) {
					inputs_init(&in, epsilon0, a / 8.0, b / 8.0, e);
					for (double t = 1 - p * e; t < p - e; t += (p * e + p - e - 1) / 25)
						assert_true(inputs_stop_loss(&in, t) <=
							    true_stop_loss(epsilon0, e, t) + 1e-6 * p * e);
				}
		}
}

/* Against the blanket, u - E/g: every input's call is below that of the cells. */
static void no_input_is_worse_against_the_blanket(void **state)
{
	static struct inputs in;
	struct acct_round r;

	(void)state;
	for (double epsilon0 = 0.1; epsilon0 < 8; epsilon0 *= 2.3)
		for (int a = 0; a <= 8; a++)
			for (double e = 1 / exp(epsilon0 / 2); e < exp(epsilon0 / 2);
				e *= exp(epsilon0 / 5)) {
				double top = exp(epsilon0) + e * exp(epsilon0 / 2);

				assert_int_equal(acct_laplace_half(epsilon0, 63, &r, NULL), ACCT_OK);
				inputs_init(&in, epsilon0, a / 8.0, 0.5, e);
				for (double t = -top; t < top; t += top / 25) {
					double cells = stop_loss(&r, e, t);

					assert_true(inputs_stop_loss(&in, t) <= cells + 1e-6 * top);
					if (a == 0)
						assert_true(inputs_stop_loss(&in, t) >= cells - 1e-3 * top);
				}
			}
}

static void cells_are_a_pair_of_laws_at_every_epsilon(void **state)
{
	static cells_fn *const all[] = { acct_laplace_above, acct_laplace_below };

	(void)state;
	for (size_t i = 0; i < 2; i++)
		for (double epsilon0 = 1e-12; epsilon0 <= 300; epsilon0 *= 3) {
			struct acct_round r = round_of(all[i], epsilon0, 2);
			double blanket = 0;

			for (size_t j = 0; j < r.cells; j++)
				blanket += r.cell[j].omega;
			assert_true(blanket <= exp(-epsilon0 / 2) * (1 + 1e-12));
			assert_true(blanket >= exp(-epsilon0 / 2) * (1 - 1e-12));
		}
}

static void faults_are_named_and_nothing_is_filled(void **state)
{
	static const double bad[] = { 0, -1, 300.1, INFINITY, NAN };
	struct acct_round r = { .cells = 0 };
	const char *why = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(acct_laplace_above(bad[i], &r, &why), ACCT_EDOMAIN);
		assert_non_null(why);
		assert_int_equal(acct_laplace_below(bad[i], &r, NULL), ACCT_EDOMAIN);
	}
	assert_int_equal(acct_laplace_coarse(1, 0, &r, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_laplace_half(1, 0, &r, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_laplace_half(1, 64, &r, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_laplace_half(0, 8, &r, NULL), ACCT_EDOMAIN);
	assert_int_equal(acct_laplace_coarse(1, 32, &r, &why), ACCT_EDOMAIN);
	assert_int_equal(r.cells, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_laplace_row_is_reproduced),
		cmocka_unit_test(the_cells_enclose_the_continuous_law),
		cmocka_unit_test(no_pair_of_inputs_is_worse_than_zero_and_one),
		cmocka_unit_test(no_input_is_worse_against_the_blanket),
		cmocka_unit_test(cells_are_a_pair_of_laws_at_every_epsilon),
		cmocka_unit_test(faults_are_named_and_nothing_is_filled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
