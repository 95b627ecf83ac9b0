/* test_vector.c - from sums of signs to the mean of a vector: the exact bias, variance and coverage. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "csv.h"
#include "es_vector.h"
#include "pt_signs.h"
#include "scripted_rng.h"

static struct qy_query vector(uint32_t dimension)
{
	return (struct qy_query){
		.kind = QY_VECTOR, .name = "v", .field = "f", .low = -1, .high = 1, .dimension = dimension
	};
}

static void a_sign_has_exactly_its_chance(void **state)
{
	static const uint32_t some[] = { 0, 1, 2, 12345, 1u << 30, (1u << 31) - 1, 1u << 31 };

	(void)state;
	for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
		/* x of the 2^31 draws are below x: the last that shows 1, and the first that shows 0. */
		const uint64_t script[] = { ((uint64_t)(some[i] - 1) << 33) | UINT32_MAX,
			(uint64_t)some[i] << 33 };
		struct scripted_rng s = { .script = script, .len = 2 };
		struct cr_rng rng = scripted_rng(&s);
		uint64_t below = pt_signs_draw(some[i], &rng);
		uint64_t above = pt_signs_draw(some[i], &rng);

		assert_true(some[i] == 0 || below == 1);
		/* x = 2^31 is always 1: its threshold is no draw. */
		assert_true(some[i] == 1u << 31 || above == 0);
	}
}

/* ---- the exact law of S ---- */

struct scene {
	uint32_t n, dummies;
	double groups, slope;
	double h[2]; /* values of the participants, in turn */
};

/* chance[s + n + dummies] of S = s: one message after the other. */
static double *law_of(const struct scene *s)
{
	uint32_t all = s->n + s->dummies;
	double *now = calloc(2 * all + 1, sizeof *now), *next = calloc(2 * all + 1, sizeof *next);

	assert_true(now && next);
	now[all] = 1;
	for (uint32_t i = 0; i < all; i++) {
		double mean = i < s->n ? s->slope * s->h[i % 2] : 0, *swap = now;
		double plus = (1 + mean) / 2 / s->groups, minus = (1 - mean) / 2 / s->groups;

		for (uint32_t j = all - i - 1; j <= all + i + 1; j++)
			next[j] = now[j] * (1 - plus - minus) + (j > 0 ? now[j - 1] * plus : 0) +
				  (j < 2 * all ? now[j + 1] * minus : 0);
		now = next;
		next = swap;
		memset(next, 0, (2 * all + 1) * sizeof *next);
	}
	free(next);
	return now;
}

struct seen {
	double bias, variance, stated, cover, joint;
};

/* Over all S: what the estimate does, weighed with the chance of each. */
static struct seen exactly(const struct scene *s, uint32_t dimension)
{
	int64_t all = s->n + s->dummies, first = -all, last = all;
	struct pt_signs signs = { .groups = s->groups, .slope = s->slope, .dummies = s->dummies };
	/* As many coordinates as the intervals are joint for; sums beyond them wait for the next turn. */
	int64_t *sum = calloc(dimension, sizeof *sum);
	double *chance = law_of(s), truth = (s->h[0] + s->h[1]) / 2;
	struct qy_query q = vector(dimension);
	struct seen seen = { 0 };

	assert_non_null(sum);
	/* A coordinate that never comes up weighs nothing. */
	while (chance[first + all] < 1e-16)
		first++;
	while (chance[last + all] < 1e-16)
		last--;
	for (; first <= last; first += dimension) {
		struct es_estimate e;
		struct cm_err err = { 0 };

		for (uint32_t i = 0; i < dimension; i++)
			sum[i] = first + i <= last ? first + i : 0;
		assert_int_equal(es_vector_estimate(&q, &signs, sum, s->n, &e, &err), CM_OK);
		assert_int_equal(e.n, dimension);
		for (uint32_t i = 0; i < dimension && first + i <= last; i++) {
			const struct qy_item *it = &e.item[i];
			double p = chance[first + i + all], off = it->value - truth;

			assert_true(it->joint_lower <= it->lower && it->lower <= it->upper &&
				    it->upper <= it->joint_upper);
			assert_true(it->projected >= -1 && it->projected <= 1);
			assert_true(it->below_noise == (it->joint_lower <= 0 && it->joint_upper >= 0));
			seen.bias += p * off;
			seen.variance += p * off * off;
			seen.stated += p * it->variance;
			seen.cover += p * (it->lower <= truth && truth <= it->upper);
			seen.joint += p * (it->joint_lower <= truth && truth <= it->joint_upper);
		}
		es_estimate_fini(&e);
	}
	free(sum);
	free(chance);
	return seen;
}

static void estimates_have_no_bias_and_the_stated_variance(void **state)
{
	static const struct scene scenes[] = { { 400, 0, 49, 0.6, { 0.3, 0.3 } },
		{ 700, 1400, 8, 1, { -0.7, -0.7 } }, { 2000, 0, 1, 0.3, { 0.9, 0.9 } },
		{ 300, 0, 3.5, 0.9, { 0, 0 } }, { 60, 60, 12, 1, { 1, 1 } } };

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
		const struct scene *s = &scenes[i];
		struct pt_signs signs = { .groups = s->groups, .slope = s->slope, .dummies = s->dummies };
		struct scene apart = *s;
		struct seen one = exactly(s, 16), two;
		double want = es_signs_variance(&signs, s->n, s->h[0]);

		assert_true(fabs(one.bias) < 1e-12);
		assert_true(fabs(one.variance / want - 1) < 1e-10);
		/* It knows only an estimate of the mean's square, and errs upwards. */
		if (!(one.stated > want * (1 - 2e-3) && one.stated < want * 1.06))
			fail_msg("scene %zu: %g stated, %g true", i, one.stated, want);
		/* Participants with different values vary less, and never more. */
		apart.h[0] = s->h[0] > 0 ? 1 : -1;
		apart.h[1] = 2 * s->h[0] - apart.h[0];
		two = exactly(&apart, 16);
		assert_true(fabs(two.bias) < 1e-12);
		assert_true(two.variance <= one.variance * (1 + 1e-10));
	}
}

/* Few messages about a coordinate: exact, so never below 95 %; many: the normal law's coverage. */
static void intervals_cover_as_often_as_they_say(void **state)
{
	static const struct {
		struct scene s;
		double least, most;
	} good[] = {
		{ { 300, 0, 100, 0.6, { 0.3, 0.3 } }, 0.95, 0.995 },
		{ { 400, 0, 20, 0.6, { 0.3, 0.3 } }, 0.95, 0.985 },
		{ { 900, 0, 3, 0.8, { 0.5, 0.5 } }, 0.95, 0.965 },
		{ { 300, 0, 1, 0.96, { 0.98, 0.98 } }, 0.95, 0.985 },
		{ { 300, 0, 1, 0.96, { -0.4, -0.4 } }, 0.95, 0.97 },
		{ { 500, 1000, 10, 1, { 0.8, 0.8 } }, 0.95, 0.97 },
		{ { 1500, 0, 1, 0.9, { 0.99, 0.99 } }, 0.95, 0.97 },
		{ { 2500, 0, 1, 0.4, { 0, 0 } }, 0.94, 0.96 },
		{ { 2500, 0, 1, 0.9, { 0.99, 0.99 } }, 0.94, 0.96 },
		{ { 1500, 3000, 2, 1, { -0.5, -0.5 } }, 0.94, 0.965 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		struct seen one = exactly(&good[i].s, 1000);
		double miss = (1 - one.joint) / -expm1(log1p(-0.05) / 1000);

		if (one.cover < good[i].least || one.cover > good[i].most)
			fail_msg("scene %zu: covers %.4f", i, one.cover);
		/* The interval is that of one of a thousand joint ones. */
		if (miss > (good[i].least < 0.95 ? 1.25 : 1))
			fail_msg("scene %zu: a joint interval misses %.3g times too often", i, miss);
	}
}

static void sums_that_honest_devices_hardly_send_have_intervals_too(void **state)
{
	struct pt_signs signs = { .groups = 50, .slope = 0.5 };
	static const int64_t sum[] = { 0, 40, 400, -400, 20000, -20000 };
	struct qy_query q = vector(6);
	struct es_estimate e;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(es_vector_estimate(&q, &signs, sum, 20000, &e, &err), CM_OK);
	for (size_t i = 0; i < e.n; i++) {
		assert_true(isfinite(e.item[i].lower) && isfinite(e.item[i].joint_upper));
		assert_true(fabs(e.item[i].value - (double)sum[i] / 200) < 1e-12);
		assert_true(e.item[i].variance > 0);
	}
	assert_true(e.item[2].joint_lower > 0 && e.item[3].joint_upper < 0);
	assert_true(e.item[0].below_noise && !e.item[2].below_noise);
	/* Told apart from 0: just so. */
	assert_true(e.noise_floor > 0.1 && e.noise_floor < 1);
	es_estimate_fini(&e);
	assert_int_equal(es_vector_estimate(&q, &signs, sum, 0, &e, &err), CM_EDATA);
	assert_int_equal(es_vector_estimate(&q, &signs, sum, UINT64_MAX, &e, &err), CM_EDATA);
}

static void coordinates_are_in_the_units_of_the_range_and_have_names(void **state)
{
	struct qy_column column[2] = { { .name = "left" }, { .name = "right" } };
	struct pt_signs signs = { .groups = 1, .slope = 0.5 };
	static const int64_t sum[] = { 250, -500 };
	struct qy_query q = vector(2);
	struct es_estimate e;
	struct cm_err err = { 0 };

	(void)state;
	q.low = 0;
	q.high = 16;
	assert_int_equal(es_vector_estimate(&q, &signs, sum, 1000, &e, &err), CM_OK);
	assert_string_equal(e.item[0].label, "0");
	assert_string_equal(e.item[1].label, "1");
	assert_true(fabs(e.item[0].value - 12) < 1e-12 && fabs(e.item[1].value) < 1e-12);
	assert_true(fabs(e.item[0].variance - 64 * (4000 - 250.0 * 1000 / 1000) / 1e6) < 0.01);
	assert_true(e.item[1].below_noise && !e.item[0].below_noise);
	es_estimate_fini(&e);
	q.column = column;
	q.columns = 2;
	assert_int_equal(es_vector_estimate(&q, &signs, sum, 1000, &e, &err), CM_OK);
	assert_string_equal(e.item[0].label, "left");
	assert_string_equal(e.item[1].label, "right");
	es_estimate_fini(&e);
}

/* ---- reference values ---- */

static void reference_variances_are_met(void **state)
{
	struct csv c;
	int rows = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/protocols.csv"));
	while (csv_next(&c)) {
		const char *kind = csv_get(&c, "randomizer");
		struct pt_signs s = { .slope = 1 };
		double n, want = atof(csv_get(&c, "est_variance")), got, e;

		if (strcmp(kind, "bin_words") != 0 && strcmp(kind, "harmony") != 0 &&
			strcmp(kind, "vector_rr") != 0)
			continue;
		n = csv_param(&c, "n");
		s.groups = csv_param(&c, "d");
		if (kind[0] == 'b') {
			s.groups /= csv_param(&c, "s") * csv_param(&c, "w");
			s.dummies = (uint64_t)csv_param(&c, "N_slot");
		}
		if (kind[0] == 'h') {
			e = exp(csv_param(&c, "eps0"));
			s.slope = (e - 1) / (e + 1);
		}
		if (kind[0] == 'v') {
			e = exp(csv_param(&c, "eps0") / csv_param(&c, "s"));
			s.groups /= csv_param(&c, "s");
			s.slope = (e - 1) / (e + 1);
		}
		got = n * n * es_signs_variance(&s, n, kind[0] == 'v');
		/* There the sum of bits, in which only ones count: their number varies as it is drawn, ours
		 * varies with that of ones and zeroes alike. */
		if (kind[0] == 'v')
			got = got / 4 + (s.groups - 1) * (csv_param(&c, "ones") - n / 4);
		if (!(fabs(got / want - 1) < 1e-12))
			fail_msg("%s: %.15g, not %.15g", csv_get(&c, "id"), got, want);
		rows++;
	}
	fclose(c.file);
	assert_int_equal(rows, 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sign_has_exactly_its_chance),
		cmocka_unit_test(estimates_have_no_bias_and_the_stated_variance),
		cmocka_unit_test(intervals_cover_as_often_as_they_say),
		cmocka_unit_test(sums_that_honest_devices_hardly_send_have_intervals_too),
		cmocka_unit_test(coordinates_are_in_the_units_of_the_range_and_have_names),
		cmocka_unit_test(reference_variances_are_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
