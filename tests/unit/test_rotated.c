/* test_rotated.c - words of a rotated vector: it comes back, and errs by as much less as its range is
 * smaller. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "encode_in_room.h"
#include "pt_rotated.h"
#include "pt_slots_analysis.h"
#include "vector_rows.h"

/* The answer of a round of `n` devices that hold this vector of numbers in [-1, 1]. */
static void ask(const struct qy_query *q, const struct pt_randomizer *p, const double *truth, uint32_t n,
	struct es_estimate *e)
{
	const struct pt_protocol *row = pt_find("rotated");
	uint64_t *counts = calloc(row->tallies(p), sizeof *counts);
	uint32_t *at = calloc(q->dimension, sizeof *at), messages = p->row->messages(p);
	uint8_t *records = malloc((size_t)messages * PT_RECORD_LEN);
	struct qy_value v = { .at = at };
	struct cr_rng rng;

	assert_true(counts && at && records);
	for (uint32_t c = 0; c < q->dimension; c++)
		at[c] = (uint32_t)llround((truth[c] + 1) * 0x1p30);
	assert_int_equal(cr_rng_system(&rng, &err), CM_OK);
	for (uint32_t j = 0; j < n; j++) {
		encode_in_room(p->row, q, p, &v, &rng, records);
		for (uint32_t m = 0; m < messages; m++)
			assert_int_equal(
				row->tally(p, records + (size_t)m * PT_RECORD_LEN, counts, &err), CM_OK);
	}
	assert_int_equal(pt_answer(q, p, counts, n, e, &err), CM_OK);
	assert_int_equal(e->n, q->dimension);
	free(counts);
	free(at);
	free(records);
}

/* With hardly any noise and as many messages as coordinates the mean comes back, a vector as long as may
 * be. */
static void a_rotated_vector_comes_back(void **state)
{
	static const double truth[5] = { 0.6, -0.3, 0, 0.7, 0.245 };
	struct qy_query q = vector(5);
	struct pt_request r = { .epsilon0 = 16, .slots = 8, .min_reports = 20000 };
	struct pt_randomizer p = made("rotated", &q, &r);
	struct es_estimate e;

	(void)state;
	assert_int_equal(pt_slots_total(&p), 8);
	ask(&q, &p, truth, 20000, &e);
	for (uint32_t c = 0; c < 5; c++) {
		assert_true(e.item[c].variance < 1.01 / 20000);
		/* Seven standard deviations. */
		assert_true(fabs(e.item[c].value - truth[c]) < 7 * sqrt(e.item[c].variance));
	}
	es_estimate_fini(&e);
}

#define LONG 100u

/* All devices hold the same, which cutting errs most about: nothing, one coordinate, some of it, all alike,
 * half the length. */
static double shape_of(unsigned shape, uint32_t c)
{
	switch (shape) {
	case 0:
		return 0;
	case 1:
		return c == 7 ? 1 : 0;
	case 2:
		return c == 7 ? -0.3 : 0;
	case 3:
		return c % 3 == 0 ? 0.1 : -0.1;
	default:
		return c < 25 ? 0.1 : 0;
	}
}

/* The estimate makes up for what is cut, for every vector: the rotation gives each a random direction and
 * keeps its length. */
static void what_is_cut_comes_back(void **state)
{
	struct qy_query q = vector(LONG);
	struct pt_request r = { .epsilon0 = 6, .slots = 16, .size = 2, .min_reports = 4000 };
	struct pt_randomizer p = made("rotated", &q, &r);
	double truth[LONG];

	(void)state;
	assert_true(pt_rotated_cut(&q, p.rotated.scale) < 2.6);
	assert_in_range(pt_rotated_rotations(&q, &p), 4, PT_ROTATIONS_MAX);
	for (unsigned shape = 0; shape < 5; shape++) {
		struct es_estimate e;
		double square = 0, along = 0, length = 0, sd;

		for (uint32_t c = 0; c < LONG; c++)
			truth[c] = shape_of(shape, c);
		ask(&q, &p, truth, 4000, &e);
		sd = sqrt(e.item[0].variance);
		for (uint32_t c = 0; c < LONG; c++) {
			double off = e.item[c].value - truth[c];

			square += off * off / (sd * sd) / LONG;
			along += off * truth[c];
			length += truth[c] * truth[c];
			assert_true(fabs(off) < 7 * sd);
		}
		/* The mean of 100 squares exceeds this by chance once in 1e9; it is less than stated, since
		 * signs vary less where they lean to one side. */
		if (square > 2.2 || square < 0.3)
			fail_msg("shape %u: %g times the stated variance", shape, square);
		if (fabs(along) > 7 * sd * sqrt(length) + 1e-12)
			fail_msg("shape %u: %g too long, %g is one deviation", shape, along,
				sd * sqrt(length));
		es_estimate_fini(&e);
	}
}

/* Each coordinate of a vector of d numbers of the greatest length is about 1 / sqrt(d), and so is c, where
 * `words` has 1. */
static void the_error_is_that_of_a_small_range(void **state)
{
	struct qy_query q = vector(1000);
	struct pt_request r = { .epsilon0 = 3, .slots = 16, .size = 2, .min_reports = 10000 };
	struct pt_randomizer rotated = made("rotated", &q, &r), words = made("words", &q, &r),
			     never = rotated;
	double error = pt_expected_error(&q, &rotated, 10000), least = INFINITY;

	(void)state;
	/* Without a cut, c = sqrt(2 ln(2 d n) / d). */
	never.slots.slot[0].groups /= pt_rotated_rotations(&q, &rotated);
	never.rotated.scale = (uint64_t)(pt_rotated_cut(&q, 1) / sqrt(2 * log(2 * 1024.0 * 10000)));
	assert_true(fabs(pt_expected_error(&q, &never, 10000) / pt_expected_error(&q, &words, 10000) /
				    sqrt(2 * log(2 * 1024.0 * 10000) / 1024) -
			    1) < 0.02);
	assert_true(error < 0.45 * pt_expected_error(&q, &never, 10000));
	/* No other cut of as many rotations has a smaller error. */
	for (double a = 0.5; a < 6; a += 0.01) {
		struct pt_randomizer other = rotated;

		other.rotated.scale = (uint64_t)(pt_rotated_cut(&q, 1) / a);
		least = fmin(least, pt_expected_error(&q, &other, 10000));
	}
	assert_true(error < 1.001 * least);
}

/* Groups that are no whole rotations, and cuts that nobody chooses. */
static void other_parameters_are_refused(void **state)
{
	struct qy_query q = vector(1000), wide = vector(2000), long_one = vector(131072);
	struct pt_request r = { .epsilon0 = 3, .slots = 16, .size = 3, .min_reports = 10000 };
	struct pt_randomizer p = made("rotated", &q, &r), bent = p;
	uint32_t each = p.slots.slot[0].groups / pt_rotated_rotations(&q, &p);

	(void)state;
	assert_int_equal(p.row->check(&q, &p, &err), CM_OK);
	bent.slots.slot[0].groups++;
	assert_int_equal(p.row->check(&q, &bent, &err), CM_EPROTO);
	bent.slots.slot[0].groups = each * (PT_ROTATIONS_MAX + 1);
	assert_int_equal(p.row->check(&q, &bent, &err), CM_EPROTO);
	assert_non_null(strstr(err.msg, "rotations of 1024 coordinates"));
	/* 128 rotations of 2048 coordinates by one sign have as many counts as there may be. */
	p = made("rotated", &wide,
		&(struct pt_request){ .epsilon0 = 3, .slots = 4, .size = 1, .min_reports = 10000 });
	bent = p;
	bent.slots.slot[0].groups = 2048 / 4 * 128;
	assert_int_equal(p.row->check(&wide, &bent, &err), CM_OK);
	bent.slots.slot[0].groups *= 2;
	assert_int_equal(p.row->check(&wide, &bent, &err), CM_EPROTO);
	assert_non_null(strstr(err.msg, "counts"));
	p = made("rotated", &q, &r);
	bent = p;
	bent.rotated.scale = (UINT64_C(1) << 34) + 1;
	assert_int_equal(p.row->check(&q, &bent, &err), CM_EPROTO);
	bent.rotated.scale = (UINT64_C(1) << 20) - 1;
	assert_int_equal(p.row->check(&q, &bent, &err), CM_EPROTO);
	assert_int_equal(pt_derive(pt_find("rotated"), &long_one, &r, &bent, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "at most 131071"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rotated_vector_comes_back),
		cmocka_unit_test(what_is_cut_comes_back),
		cmocka_unit_test(the_error_is_that_of_a_small_range),
		cmocka_unit_test(other_parameters_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
