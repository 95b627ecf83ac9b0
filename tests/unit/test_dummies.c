/* test_dummies.c - messages the shuffler adds, as the protocols see them: law, cells, parameters,
 * estimate. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "pt_mixbins_analysis.h"

static void the_shufflers_dummies_are_blanket_beside_the_clients(void **state)
{
	(void)state;
	for (unsigned own = 0; own <= 3; own += 3) {
		struct pt_request r = { .epsilon0 = INFINITY, .dummies = own, .shuffler_dummies = 777 };
		struct pt_randomizer p, same;
		struct acct_round a, b;
		struct cm_err err = { 0 };

		assert_int_equal(pt_mixbins_request(pt_find("mixbins"), 5, &r, &p, &err), CM_OK);
		assert_int_equal(pt_mixbins_check(&p, &err), CM_OK);
		assert_int_equal(pt_mixbins_cells(&p, 200, &a, &err), CM_OK);
		assert_int_equal(a.dummies, 200 * own + 777);
		assert_true(pt_mixbins_dummies(&p, 200) == 200 * own + 777);
		assert_int_equal(pt_mixbins_messages(&p), 1 + own);
		/* One client that adds as many dummies gives the same cells. */
		same = p;
		same.shuffler.dummies = 0;
		same.mixbins.dummies = 200 * own + 777;
		assert_int_equal(pt_mixbins_cells(&same, 1, &b, &err), CM_OK);
		assert_int_equal(b.dummies, a.dummies);
		assert_memory_equal(a.cell, b.cell, sizeof a.cell[0] * a.cells);
	}
}

static void too_many_dummies_of_the_shuffler_or_none_at_all_are_refused(void **state)
{
	struct pt_request r = { .epsilon0 = INFINITY, .shuffler_dummies = PT_SHUFFLER_DUMMIES_MAX };
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(pt_mixbins_request(pt_find("bins"), 5, &r, &p, &err), CM_OK);
	p.shuffler.dummies++;
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
	p.shuffler.dummies = 0;
	assert_int_equal(pt_mixbins_check(&p, &err), CM_EPROTO);
	r.shuffler_dummies++;
	assert_int_equal(pt_mixbins_request(pt_find("bins"), 5, &r, &p, &err), CM_ECONFIG);
	r.shuffler_dummies = 0;
	assert_int_equal(pt_mixbins_request(pt_find("bins"), 5, &r, &p, &err), CM_ECONFIG);
}

/* Chi-square of k-1 = 6 degrees: 69 is exceeded with chance 1e-12. */
static void a_dummy_is_uniform_and_reads_as_a_report(void **state)
{
	enum { K = 7, N = 700000 };
	struct pt_randomizer p;
	uint64_t counts[K] = { 0 };
	struct cr_rng rng;
	struct cm_err err = { 0 };
	double square = 0;

	(void)state;
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	assert_int_equal(pt_mixbins_derive(pt_find("mixbins"), K, 1, 1, &p, &err), CM_OK);
	for (unsigned i = 0; i < N; i++) {
		uint8_t record[PT_RECORD_LEN];

		memset(record, 0xaa, sizeof record);
		pt_mixbins_dummy(&p, 0, &rng, record);
		assert_int_equal(pt_mixbins_tally(&p, record, counts, &err), CM_OK);
	}
	for (unsigned y = 0; y < K; y++)
		square += ((double)counts[y] - N / K) * ((double)counts[y] - N / K) / (N / K);
	assert_true(square < 69);
}

/* Three values, and only the shuffler's messages hide them: the mean of the estimates is the truth, their
 * variance what the estimate says. */
static void the_estimate_takes_the_shufflers_dummies_out(void **state)
{
	enum { RUNS = 2000, N = 300, DUMMIES = 3000 };
	static char *label[] = { "a", "b", "c" };
	const struct qy_query q = {
		.kind = QY_HISTOGRAM, .name = "q", .field = "f", .category = label, .categories = 3
	};
	const struct pt_protocol *row = pt_find("bins");
	struct pt_request r = { .epsilon0 = INFINITY, .shuffler_dummies = DUMMIES };
	struct pt_randomizer p;
	struct cr_rng rng;
	struct cm_err err = { 0 };
	double sum = 0, squares = 0, said = 0;
	unsigned held = 0;

	(void)state;
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	assert_int_equal(pt_derive(row, &q, &r, &p, &err), CM_OK);
	for (unsigned run = 0; run < RUNS; run++) {
		uint64_t counts[3] = { 200, 100, 0 }; /* the true values as they are */
		struct es_estimate e = { 0 };

		for (unsigned i = 0; i < DUMMIES; i++) {
			uint8_t record[PT_RECORD_LEN];

			row->device->dummy(&p, 0, &rng, record);
			assert_int_equal(row->tally(&p, record, counts, &err), CM_OK);
		}
		assert_int_equal(pt_answer(&q, &p, counts, N, &e, &err), CM_OK);
		sum += e.item[0].value - 200;
		squares += (e.item[0].value - 200) * (e.item[0].value - 200);
		said += e.item[0].variance;
		held += e.item[0].lower <= 200 && 200 <= e.item[0].upper;
		es_estimate_fini(&e);
	}
	/* Variance 3000 * 2/9; 7.5 standard errors, of a square 8: each is passed with chance 1e-12. */
	assert_true(fabs(sum / RUNS) < 7.5 * sqrt(3000 * 2 / 9.0 / RUNS));
	assert_true(fabs(squares / RUNS / (3000 * 2 / 9.0) - 1) < 8 * sqrt(2.0 / RUNS));
	assert_true(fabs(said / RUNS / (3000 * 2 / 9.0) - 1) < 1e-9);
	assert_true(held >= RUNS * 0.95 - 7.5 * sqrt(RUNS * 0.05 * 0.95));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shufflers_dummies_are_blanket_beside_the_clients),
		cmocka_unit_test(too_many_dummies_of_the_shuffler_or_none_at_all_are_refused),
		cmocka_unit_test(a_dummy_is_uniform_and_reads_as_a_report),
		cmocka_unit_test(the_estimate_takes_the_shufflers_dummies_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
