/* test_rotated.c - words of a rotated vector: it comes back, and errs by as much less as its range is
 * smaller. */
#include <math.h>

#include "pt_slots_analysis.h"
#include "vector_rows.h"

/* With hardly any noise and as many messages as coordinates the mean comes back, a vector as long as may
 * be. */
static void a_rotated_vector_comes_back(void **state)
{
	static const double truth[5] = { 0.6, -0.3, 0, 0.7, 0.245 };
	struct pt_query q = vector(5);
	struct pt_request r = { .epsilon0 = 16, .slots = 8, .min_batch = 20000 };
	struct pt_randomizer p = made("rotated", &q, &r);
	uint64_t counts[32] = { 0 };
	uint32_t at[5];
	struct pt_value v = { .at = at };
	struct pt_estimate e;
	struct cr_rng rng;

	(void)state;
	assert_int_equal(pt_slots_total(&p), 8);
	assert_int_equal(pt_find("rotated")->tallies(&p), 16);
	for (uint32_t c = 0; c < 5; c++)
		at[c] = (uint32_t)llround((truth[c] + 1) * 0x1p30);
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	for (uint32_t j = 0; j < 20000; j++) {
		uint8_t records[8 * PT_RECORD_LEN];

		pt_find("rotated")->device->encode(&q, &p, &v, &rng, records);
		for (uint32_t m = 0; m < 8; m++)
			assert_int_equal(
				pt_find("rotated")->tally(&p, records + m * PT_RECORD_LEN, counts, &err),
				CM_OK);
	}
	assert_int_equal(pt_answer(&q, &p, counts, 20000, &e, &err), CM_OK);
	assert_int_equal(e.n, 5);
	for (uint32_t c = 0; c < 5; c++) {
		assert_true(e.item[c].variance < 1.01 / 20000);
		/* Seven standard deviations. */
		assert_true(fabs(e.item[c].value - truth[c]) < 7 * sqrt(e.item[c].variance));
	}
	pt_estimate_fini(&e);
}

/* Long vectors of length 1 along one coordinate, along many: each transformed coordinate is small, so the
 * range of what is sent is, and the error is by so much less than of words. */
static void the_error_is_that_of_a_small_range(void **state)
{
	struct pt_query q = vector(1000);
	struct pt_request r = { .epsilon0 = 3, .slots = 16, .size = 2, .min_batch = 10000 };
	struct pt_randomizer rotated = made("rotated", &q, &r), words = made("words", &q, &r);
	double ratio = pt_expected_error(&q, &rotated, 10000) / pt_expected_error(&q, &words, 10000);

	(void)state;
	assert_true(fabs(ratio / sqrt(2 * log(2 * 1024.0 * 10000) / 1024) - 1) < 0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rotated_vector_comes_back),
		cmocka_unit_test(the_error_is_that_of_a_small_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
