/* test_acct_blanket.c - the inequalities on the blanket against reference values and the exact loss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "acct_blanket.h"
#include "analyses.h"

static struct acct_round responses(double k, double eps0, uint64_t n)
{
	double p = exp(eps0), z = 1 / (p + k - 1);
	struct acct_round r = { .cells = k > 2 ? 3 : 2, .others = n - 1, .count = 1 };

	r.cell[0] = (struct acct_cell){ z, p, 1 };
	r.cell[1] = (struct acct_cell){ z, 1, p };
	r.cell[2] = (struct acct_cell){ (k - 2) * z, 1, 1 };
	return r;
}

static struct acct_blanket read_row(const char *params)
{
	const char *name = params_text(params, "mech");
	bool krr = starts(name, "krr");

	assert_true(krr || starts(name, "laplace") || starts(name, "generic"));
	return (struct acct_blanket){ krr                       ? ACCT_BLANKET_KRR
				      : starts(name, "laplace") ? ACCT_BLANKET_LAPLACE
								: ACCT_BLANKET_GENERIC,
		row_value(params, "eps0"), krr ? strtod(name + 3, NULL) : 0,
		(uint64_t)row_value(params, "n") };
}

static void the_rows_are_reproduced(void **state)
{
	struct csv c;
	size_t rows = 0, exact = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/bounds.csv"));
	while (csv_next(&c)) {
		const char *method = csv_get(&c, "method"), *params = csv_get(&c, "params");
		double want = atof(csv_get(&c, "value")), rtol = atof(csv_get(&c, "rtol")), got;

		if (strcmp(csv_get(&c, "section"), "blanket") != 0)
			continue;
		struct acct_blanket b = read_row(params);
		if (strcmp(method, "exact_blanket") == 0) {
			struct acct_round r = responses(b.k, b.eps0, b.n);
			struct acct_bound d;

			if (b.mechanism != ACCT_BLANKET_KRR)
				continue; /* a continuous law */
			assert_int_equal(acct_delta(&r, 1, row_value(params, "eps"), &d), ACCT_OK);
			assert_true(is_close(d.upper, want, rtol) && is_close(d.lower, want, rtol));
			exact++;
			continue;
		}
		enum acct_blanket_bound bound = strcmp(method, "hoeffding") == 0 ? ACCT_BLANKET_HOEFFDING
						: strcmp(method, "bennett") == 0 ? ACCT_BLANKET_BENNETT
										 : ACCT_BLANKET_BENNETT_FIRST;
		assert_int_equal(acct_blanket_delta(bound, &b, row_value(params, "eps"), &got), ACCT_OK);
		if (!is_close(got, want, rtol))
			fail_msg("%s %s: %.14g, want %.14g", method, params, got, want);
		rows++;
	}
	fclose(c.file);
	assert_int_equal(rows, 27);
	assert_int_equal(exact, 3);
}

/* The bound holds for other mechanisms, too: the generic one covers k-ary response. */
static void proved_bounds_are_above_the_exact_loss(void **state)
{
	size_t used = 0;

	(void)state;
	for (double k = 2; k < 100; k = 3 * k - 1)
		for (double eps0 = 0.1; eps0 < 5; eps0 *= 2.2)
			for (uint64_t n = 2; n < 30000; n *= 11)
				for (double part = 0.02; part < 1; part *= 2.5) {
					struct acct_round r = responses(k, eps0, n);
					struct acct_blanket b = { ACCT_BLANKET_KRR, eps0, k, n };
					struct acct_bound exact;

					assert_int_equal(acct_delta(&r, 1, part * eps0, &exact), ACCT_OK);
					for (unsigned i = 0; i < 4; i++) {
						double d;

						b.mechanism = i < 2 ? ACCT_BLANKET_KRR : ACCT_BLANKET_GENERIC;
						assert_int_equal(
							acct_blanket_delta(i % 2, &b, part * eps0, &d), 0);
						if (!(d >= exact.lower))
							fail_msg("%d k %g eps0 %g n %g eps %g: %g below %g",
								i, k, eps0, (double)n, part * eps0, d,
								exact.lower);
						used += d < 1;
					}
				}
	assert_true(used > 300);
}

static void the_first_version_is_below_the_exact_loss(void **state)
{
	/* eps0, n, eps, the exact delta: binary randomized response */
	static const double row[][4] = { { 1, 1000, 0.1, 1.71e-5 }, { 0.5, 1e6, 0.0019, 1.03e-8 } };

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct acct_blanket b = { ACCT_BLANKET_KRR, row[i][0], 2, (uint64_t)row[i][1] };
		double first, now;

		assert_int_equal(
			acct_blanket_delta(ACCT_BLANKET_BENNETT_FIRST, &b, row[i][2], &first), ACCT_OK);
		assert_int_equal(acct_blanket_delta(ACCT_BLANKET_BENNETT, &b, row[i][2], &now), ACCT_OK);
		assert_true(first < 0.95 * row[i][3] && now > row[i][3]);
	}
}

static void epsilon_inverts_delta(void **state)
{
	(void)state;
	for (unsigned bound = 0; bound < 3; bound++)
		for (unsigned mechanism = 0; mechanism < 3; mechanism++)
			for (double delta = 0.3; delta > 1e-12; delta *= 1e-3)
				for (uint64_t n = 1; n < 2000000; n *= 1000) {
					struct acct_blanket b = { mechanism, 0.7, 5, n };
					double eps, d;

					assert_int_equal(
						acct_blanket_epsilon(bound, &b, delta, &eps), ACCT_OK);
					assert_true(eps > 0 && eps <= 0.7);
					assert_int_equal(acct_blanket_delta(bound, &b, eps, &d), ACCT_OK);
					assert_true(d <= delta);
					assert_int_equal(
						acct_blanket_delta(bound, &b, eps * (1 - 1e-8), &d), ACCT_OK);
					assert_true(d > delta);
				}
}

static void ends_are_what_they_must_be(void **state)
{
	struct acct_blanket b = { ACCT_BLANKET_LAPLACE, 1, 0, 100 };
	double d;

	(void)state;
	for (unsigned bound = 0; bound < 3; bound++) {
		assert_int_equal(acct_blanket_delta(bound, &b, 0, &d), ACCT_OK);
		assert_true(d >= 1);
		assert_int_equal(acct_blanket_delta(bound, &b, 1, &d), ACCT_OK);
		assert_true(d <= 0); /* the local guarantee */
	}
}

/* Constants of small parameters must not be differences of large ones: delta is eps0 times a function of
 * eps/eps0 and n, to first order. */
static void small_parameters_keep_their_digits(void **state)
{
	(void)state;
	for (unsigned mechanism = 0; mechanism < 2; mechanism++)
		for (unsigned bound = 0; bound < 2; bound++) {
			struct acct_blanket a = { mechanism, 1e-3, 4, 10000000 },
					    b = { mechanism, 1e-5, 4, 10000000 };
			double x, y;

			assert_int_equal(acct_blanket_delta(bound, &a, 1e-6, &x), ACCT_OK);
			assert_int_equal(acct_blanket_delta(bound, &b, 1e-8, &y), ACCT_OK);
			assert_true(x > 0 && is_close(y / x, 0.01, 1e-2));
		}
}

static void faults_are_refused(void **state)
{
	static const struct acct_blanket bad[] = { { ACCT_BLANKET_KRR, 1, 1, 10 },
		{ ACCT_BLANKET_KRR, 1, 2.5, 10 }, { ACCT_BLANKET_KRR, 1, NAN, 10 },
		{ ACCT_BLANKET_KRR, 0, 2, 10 }, { ACCT_BLANKET_LAPLACE, NAN, 0, 10 },
		{ ACCT_BLANKET_LAPLACE, 51, 0, 10 }, { ACCT_BLANKET_GENERIC, 1, 0, 0 },
		{ ACCT_BLANKET_GENERIC, 1, 0, ACCT_MAX_REPORTS + 1 } };
	struct acct_blanket good = { ACCT_BLANKET_GENERIC, 1, 0, 10 }, many = good;
	double out = 5;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(acct_blanket_delta(ACCT_BLANKET_BENNETT, &bad[i], 0.1, &out), ACCT_EDOMAIN);
		assert_int_equal(
			acct_blanket_epsilon(ACCT_BLANKET_BENNETT, &bad[i], 0.1, &out), ACCT_EDOMAIN);
	}
	assert_int_equal(acct_blanket_delta(ACCT_BLANKET_BENNETT, &good, -0.1, &out), ACCT_EDOMAIN);
	assert_int_equal(acct_blanket_delta(ACCT_BLANKET_BENNETT, &good, NAN, &out), ACCT_EDOMAIN);
	assert_int_equal(acct_blanket_delta(ACCT_BLANKET_BENNETT, &good, INFINITY, &out), ACCT_EDOMAIN);
	assert_int_equal(acct_blanket_epsilon(ACCT_BLANKET_BENNETT, &good, 0, &out), ACCT_EDOMAIN);
	assert_int_equal(acct_blanket_epsilon(ACCT_BLANKET_BENNETT, &good, 1, &out), ACCT_EDOMAIN);
	assert_int_equal(acct_blanket_epsilon(ACCT_BLANKET_BENNETT, &good, NAN, &out), ACCT_EDOMAIN);
	many.n = 2000000000;
	assert_int_equal(acct_blanket_delta(ACCT_BLANKET_BENNETT_FIRST, &many, 0.1, &out), ACCT_EDOMAIN);
	assert_true(out == 5); /* untouched */
}

/* A loss that is too small for a double is not reported as 0. */
static void underflow_is_rounded_up(void **state)
{
	(void)state;
	struct acct_blanket b = { ACCT_BLANKET_KRR, 0.5, 2, 1000000000000 };
	double delta;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(acct_blanket_delta(
					 i ? ACCT_BLANKET_BENNETT : ACCT_BLANKET_HOEFFDING, &b, 0.4, &delta),
			ACCT_OK);
		assert_true(delta > 0 && delta < 1e-300);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rows_are_reproduced),
		cmocka_unit_test(proved_bounds_are_above_the_exact_loss),
		cmocka_unit_test(the_first_version_is_below_the_exact_loss),
		cmocka_unit_test(epsilon_inverts_delta),
		cmocka_unit_test(ends_are_what_they_must_be),
		cmocka_unit_test(small_parameters_keep_their_digits),
		cmocka_unit_test(underflow_is_rounded_up),
		cmocka_unit_test(faults_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
