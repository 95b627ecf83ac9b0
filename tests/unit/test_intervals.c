/* test_intervals.c - intervals of counts: exact without a local guarantee, and by their definition among
 * noise. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "few_bins.h"
#include "pt_mixbins_analysis.h"
#include "pt_protocol.h"
#include "queries.h"

/* With k = 2 and one dummy each, N = 8: by hand.  Binomial(8, 1/2) leaves 1/256 beyond 0 and 8, 9/256 beyond
 * 1 and 7: at 2.5 % a tail the noise is 1 to 7; jointly over two bins, at 1.27 %, also. */
static void intervals_without_a_local_guarantee_are_exact(void **state)
{
	struct qy_query q = histogram(2);
	struct pt_request r = { .epsilon0 = INFINITY, .dummies = 1 };
	const uint64_t counts[] = { 11, 5 };
	struct pt_randomizer p;
	struct es_estimate e;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(pt_derive(pt_find("bins"), &q, &r, &p, &err), CM_OK);
	assert_int_equal(pt_answer(&q, &p, counts, 8, &e, &err), CM_OK);
	assert_true(e.item[0].value == 7 && e.item[1].value == 1 && e.reports == 8 && e.n == 2);
	assert_true(e.item[0].variance == 2);
	assert_true(e.item[0].lower == 4 && e.item[0].upper == 10);
	assert_true(e.item[0].joint_lower == 4 && e.item[0].joint_upper == 10);
	assert_true(e.item[1].lower == -2 && e.item[1].upper == 4);
	assert_true(!e.item[0].below_noise && e.item[1].below_noise);
	assert_true(e.noise_floor == 3);
	assert_string_equal(e.item[1].label, "c1");
	es_estimate_fini(&e);
	assert_null(e.item);
}

/* The definition itself: the limits are the last counts whose law gives the observation at least 2.5 % on its
 * side.  With P(x) over all outcomes of three binomials summed by brute force. */
static void small_noise_intervals_are_the_counts_not_rejected(void **state)
{
	enum { N = 40, K = 8 };
	struct qy_query q = histogram(K);
	struct pt_request r = { .epsilon0 = 3 };
	struct pt_randomizer p;
	struct es_estimate e;
	struct cm_err err = { 0 };
	uint64_t counts[K] = { 14, 6, 4, 4, 4, 4, 2, 2 };
	double keep, other;

	(void)state;
	assert_int_equal(pt_derive(pt_find("grr"), &q, &r, &p, &err), CM_OK);
	assert_int_equal(pt_answer(&q, &p, counts, N, &e, &err), CM_OK);
	keep = pt_mixbins_keep(&p.mixbins);
	other = pt_mixbins_other(&p.mixbins);
	for (size_t i = 0; i < 2; i++) {
		double low = -1, high = -1;

		for (int c = 0; c <= N; c++) {
			double p0[N + 2] = { 1 }, at_least = 0, at_most = 0;

			/* One participant after another. */
			for (int j = 0; j < N; j++) {
				double s = j < c ? keep : other;

				for (int m = j + 1; m >= 0; m--)
					p0[m] = p0[m] * (1 - s) + (m > 0 ? p0[m - 1] * s : 0);
			}
			for (int m = 0; m <= N; m++) {
				at_least += m >= (int)counts[i] ? p0[m] : 0;
				at_most += m <= (int)counts[i] ? p0[m] : 0;
			}
			if (low < 0 && at_least > 0.025)
				low = c;
			if (at_most > 0.025)
				high = c;
		}
		assert_true(low > 0 && e.item[i].lower == low);
		assert_true(high > 0 && e.item[i].upper == high);
		assert_true(e.item[i].joint_lower <= low && e.item[i].joint_upper >= high);
	}
	es_estimate_fini(&e);
}

static void projected_counts_are_consistent_and_means_in_range(void **state)
{
	struct qy_query q = histogram(5), m = mean(-10, 10);
	struct pt_request r = { .epsilon0 = 1 }, coarse = { .epsilon0 = 1, .levels = 2 };
	const uint64_t counts[] = { 600, 100, 100, 100, 100 }, ends[] = { 0, 1000 };
	struct pt_randomizer p;
	struct es_estimate e;
	struct cm_err err = { 0 };
	double sum = 0;

	(void)state;
	assert_int_equal(pt_derive(pt_find("grr"), &q, &r, &p, &err), CM_OK);
	assert_int_equal(pt_answer(&q, &p, counts, 1000, &e, &err), CM_OK);
	for (size_t i = 0; i < 5; i++) {
		assert_true(e.item[i].projected >= 0);
		sum += e.item[i].projected;
	}
	assert_true(fabs(sum - 1000) < 1e-9);
	assert_true(e.item[1].value < 0 && e.item[1].below_noise && !e.item[0].below_noise);
	es_estimate_fini(&e);
	assert_int_equal(pt_derive(pt_find("levels"), &m, &coarse, &p, &err), CM_OK);
	assert_int_equal(pt_answer(&m, &p, ends, 1000, &e, &err), CM_OK);
	assert_true(e.item[0].value > 10 && e.item[0].projected == 10);
	assert_true(e.item[0].lower < e.item[0].value && e.item[0].value < e.item[0].upper);
	es_estimate_fini(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_without_a_local_guarantee_are_exact),
		cmocka_unit_test(small_noise_intervals_are_the_counts_not_rejected),
		cmocka_unit_test(projected_counts_are_consistent_and_means_in_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
