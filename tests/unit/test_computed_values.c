/* test_computed_values.c - what a map may answer, whatever the payload and the reading: a value of the
 * domain, of a length of at most the clip in exact arithmetic, the same at every time; and what it must
 * answer: derivatives, inner products. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "computed.h"
#include "cr_rand.h"
#include "seeded.h"

#define ROOM   4096u
#define MIDDLE (INT64_C(1) << 30)

static struct cr_rng rng;

static double uniform(void)
{
	return (double)(cr_rng_u64(&rng) >> 11) * 0x1p-53;
}

/* A number that is mostly moderate, and sometimes at the ends of a float's range. */
static float number(unsigned wild)
{
	static const double extreme[] = { 0, 1e-45, -1e-45, 1e-310, 5e-324, 1e-20, 1e20, -1e38,
		(double)FLT_MAX, -(double)FLT_MAX, 1 };

	if (cr_rng_below(&rng, 100) < wild)
		return (float)extreme[cr_rng_below(&rng, sizeof extreme / sizeof extreme[0])];
	return (float)ldexp(2 * uniform() - 1, (int)cr_rng_below(&rng, 12) - 6);
}

static void floats(struct computed_payload *p, uint32_t n, unsigned wild)
{
	for (uint32_t i = 0; i < n; i++)
		computed_float(p, number(wild));
}

/* A map with random parameters and a random payload. */
struct drawn {
	struct qy_computing c;
	struct qy_query q;
	struct computed_payload p;
	uint32_t m, k;
	double clip;
	uint32_t split; /* moments: numbers of the first part; otherwise all numbers */
	double part;    /* greatest length of each part */
};

static void matrix(struct drawn *d, const char *name, uint32_t rows, uint32_t columns, unsigned wild)
{
	const uint32_t dim[2] = { rows, columns };

	computed_head(&d->p, name, 1, 2, dim);
	floats(&d->p, rows * columns, wild);
}

static void draw(struct drawn *d, const char *map, unsigned wild)
{
	double bound = ldexp(1 + uniform(), (int)cr_rng_below(&rng, 56) - 28);
	uint32_t m = 1 + (uint32_t)cr_rng_below(&rng, 6), k = 2 + (uint32_t)cr_rng_below(&rng, 4), h = 3, n;

	memset(d, 0, sizeof *d);
	d->m = m;
	d->k = k;
	d->clip = cr_rng_below(&rng, 2) ? bound : fmax(bound * uniform(), CO_BOUND_MIN);
	d->part = d->clip;
	if (strcmp(map, "linear-gradient") == 0) {
		n = k * (m + 1);
		matrix(d, "weights", k, m + 1, wild);
		if (cr_rng_below(&rng, 2) == 0) {
			computed_head(&d->p, "scale", 1, 1, &m);
			floats(&d->p, m, wild);
		}
	} else if (strcmp(map, "network-gradient") == 0) {
		n = h * (m + 1) + k * (h + 1);
		matrix(d, "weights", k, h + 1, wild);
		matrix(d, "hidden", h, m + 1, wild);
	} else if (strcmp(map, "moments") == 0) {
		d->split = (m + 1) * (m + 2) / 2;
		n = d->split + k * (m + 1);
		d->part = d->clip * sqrt(0.5);
		computed_head(&d->p, "mean", 1, 1, &m);
		floats(&d->p, m, wild);
		computed_head(&d->p, "scale", 1, 1, &m);
		floats(&d->p, m, wild);
	} else {
		n = 4 * (m + 1);
		d->k = 0;
		matrix(d, "centroids", 4, m, wild);
	}
	computed_end(&d->p);
	d->c = computed_by(map, m, d->k, CO_PART_ALL, d->clip);
	d->q = computed_vector(n, bound);
}

/* The square of the distance of numbers first..last-1 from b's, or from the middle without b, in units of (L
 * / 2^30)^2: exact. */
static uint64_t square(const uint32_t *at, const uint32_t *b, uint32_t first, uint32_t last)
{
	uint64_t sum = 0;

	for (uint32_t i = first; i < last; i++) {
		int64_t v = (int64_t)at[i] - (b ? (int64_t)b[i] : MIDDLE);

		sum += (uint64_t)(v * v);
		assert_true(sum <= UINT64_C(1) << 62); /* no distance is beyond two clips */
	}
	return sum;
}

/* length <= most, both exact but for the last bits of a long double's product. */
static bool within(uint64_t sum, double most, double bound)
{
	long double units = (long double)most / bound * 0x1p30L;

	return (long double)sum <= units * units * (1 + 0x1p-60L);
}

static void check_value(const struct drawn *d, const uint32_t *at)
{
	uint32_t n = d->q.dimension;

	for (uint32_t i = 0; i < n; i++)
		assert_true(at[i] <= 2 * (uint32_t)MIDDLE);
	assert_true(within(square(at, NULL, 0, n), d->clip, d->q.high));
	if (d->split > 0) {
		assert_true(within(square(at, NULL, 0, d->split), d->part, d->q.high));
		assert_true(within(square(at, NULL, d->split, n), d->part, d->q.high));
	}
}

static const char *const vectors[] = { "linear-gradient", "network-gradient", "moments", "nearest-centroid" };

static void no_value_is_longer_than_the_clip(void **state)
{
	static struct drawn d;
	uint32_t at[ROOM];
	float x[8];

	(void)state;
	for (unsigned round = 0; round < 4000; round++) {
		struct co_maker *m = NULL;
		struct cm_err err = { 0 };
		unsigned wild = (unsigned)cr_rng_below(&rng, 3) * 40;

		draw(&d, vectors[round % 4], wild);
		assert_int_equal(co_maker_new(&d.c, &d.q, d.p.bytes, d.p.len, &m, &err), CM_OK);
		for (unsigned i = 0; i < 8; i++) {
			for (uint32_t j = 0; j < d.m; j++)
				x[j] = number(wild);
			assert_true(co_value(m, x, d.k > 0 ? (uint32_t)cr_rng_below(&rng, d.k) : 0, at));
			check_value(&d, at);
		}
		co_maker_free(m);
	}
}

/* Try each pair of readings of a grid that contains the ends of the domain. */
static void two_readings_are_at_most_two_clips_apart(void **state)
{
	static const double grid[] = { 0, 1, -1, 0.1, 1e-310, 3e38, -3e38 };
	static struct drawn d;
	static uint32_t at[7 * 7 * 2][64];
	enum { G = sizeof grid / sizeof grid[0] };

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		struct co_maker *m = NULL;
		struct cm_err err = { 0 };
		uint32_t n = 0;

		do
			draw(&d, vectors[round % 4], 0);
		while (d.m != 2 || d.q.dimension > 64);
		assert_int_equal(co_maker_new(&d.c, &d.q, d.p.bytes, d.p.len, &m, &err), CM_OK);
		for (unsigned i = 0; i < G * G; i++)
			for (uint32_t y = 0; y < (d.k > 0 ? 2u : 1u); y++) {
				const float x[2] = { (float)grid[i / G], (float)grid[i % G] };

				assert_true(co_value(m, x, y, at[n++]));
			}
		for (uint32_t a = 0; a < n; a++)
			for (uint32_t b = 0; b < a; b++) {
				uint64_t apart = square(at[a], at[b], 0, d.q.dimension);

				assert_true(within(apart, 2 * d.clip, d.q.high));
			}
		co_maker_free(m);
	}
}

static void a_value_does_not_depend_on_readings_before_it(void **state)
{
	static struct drawn d;
	uint32_t first[ROOM], again[ROOM];
	float x[8], other[8];

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		struct co_maker *m = NULL, *fresh = NULL;
		struct cm_err err = { 0 };
		uint32_t width;

		draw(&d, vectors[round % 4], 10);
		width = d.q.dimension * 4;
		for (uint32_t j = 0; j < d.m; j++) {
			x[j] = number(10);
			other[j] = number(50);
		}
		assert_int_equal(co_maker_new(&d.c, &d.q, d.p.bytes, d.p.len, &m, &err), CM_OK);
		assert_int_equal(co_maker_new(&d.c, &d.q, d.p.bytes, d.p.len, &fresh, &err), CM_OK);
		assert_true(co_value(fresh, x, 0, first));
		assert_true(co_value(m, other, d.k > 0 ? 1 : 0, again));
		other[0] = NAN;
		assert_false(co_value(m, other, 0, again));
		assert_true(co_value(m, x, 0, again));
		assert_memory_equal(first, again, width);
		co_maker_free(m);
		co_maker_free(fresh);
	}
}

static void none_is_for_readings_out_of_the_domain_alone(void **state)
{
	const float bad[] = { NAN, -NAN, INFINITY, -INFINITY };
	static struct drawn d;
	uint32_t at[ROOM];

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		struct co_maker *m = NULL;
		struct cm_err err = { 0 };
		float x[8] = { 0 };

		draw(&d, vectors[round % 4], 30);
		assert_int_equal(co_maker_new(&d.c, &d.q, d.p.bytes, d.p.len, &m, &err), CM_OK);
		for (uint32_t j = 0; j < d.m; j++) {
			for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
				x[j] = bad[i];
				assert_false(co_value(m, x, 0, at));
			}
			x[j] = j % 2 == 0 ? FLT_MAX : -FLT_MAX;
			assert_true(co_value(m, x, 0, at));
		}
		assert_false(co_value(m, x, d.k > 0 ? d.k : 1, at));
		assert_false(co_value(m, x, UINT32_MAX, at));
		co_maker_free(m);
	}
}

static void answers_of_programs_are_cut_alike(void **state)
{
	uint32_t at[ROOM];
	uint32_t other[64], out;
	float answer[64];

	(void)state;
	for (unsigned round = 0; round < 4000; round++) {
		uint32_t n = 2 + (uint32_t)cr_rng_below(&rng, 60);
		double bound = ldexp(1 + uniform(), (int)cr_rng_below(&rng, 56) - 28);
		struct drawn d = { .clip = bound, .q = computed_vector(n, bound) };
		struct co_maker *m = NULL;
		struct cm_err err = { 0 };

		d.c = computed_by("program", 3, 0, CO_PART_ALL, d.clip);
		assert_int_equal(co_maker_new(&d.c, &d.q, (const uint8_t *)"any", 3, &m, &err), CM_OK);
		for (uint32_t i = 0; i < n; i++)
			answer[i] = number(50);
		assert_true(co_value_answer(m, answer, at));
		check_value(&d, at);
		/* A value that is not a number is cut like any other, with the same work. */
		out = (uint32_t)cr_rng_below(&rng, n);
		answer[out] = 0;
		assert_true(co_value_answer(m, answer, at));
		answer[out] = round % 2 ? INFINITY : NAN;
		assert_false(co_value_answer(m, answer, other));
		assert_memory_equal(at, other, n * sizeof *at);
		co_maker_free(m);
	}
}

/* ---- what a map must answer ---- */

static double coordinate(const struct drawn *d, const uint32_t *at, uint32_t i)
{
	return ((double)at[i] - (double)MIDDLE) * 0x1p-30 * d->q.high;
}

static double weight(const struct drawn *d, uint32_t i)
{
	uint32_t bits = cm_get_le32(d->p.body + 4 * (size_t)i);
	float f;

	memcpy(&f, &bits, sizeof f);
	return (double)f;
}

/* -log softmax(W (x, 1))_y, with weight i moved by h. */
static double loss(const struct drawn *d, const float *x, uint32_t y, uint32_t moved, double h)
{
	double sum = 0, own = 0;

	for (uint32_t k = 0; k < d->k; k++) {
		double z = 0;

		for (uint32_t j = 0; j <= d->m; j++) {
			uint32_t i = k * (d->m + 1) + j;

			z += (weight(d, i) + (i == moved ? h : 0)) * (j < d->m ? (double)x[j] : 1);
		}
		sum += exp(z);
		own = k == y ? z : own;
	}
	return log(sum) - own;
}

static void the_gradient_is_the_derivative_of_the_loss(void **state)
{
	static struct drawn d;
	const float x[3] = { 0.5, -1.25, 2 };
	uint32_t at[ROOM], k = 4;

	(void)state;
	d = (struct drawn){ .m = 3, .k = k, .clip = 100, .q = computed_vector(k * 4, 100) };
	matrix(&d, "weights", k, 4, 0);
	computed_end(&d.p);
	d.c = computed_by("linear-gradient", 3, k, CO_PART_ALL, 100);
	for (uint32_t y = 0; y < k; y++) {
		struct co_maker *m = NULL;
		struct cm_err err = { 0 };

		assert_int_equal(co_maker_new(&d.c, &d.q, d.p.bytes, d.p.len, &m, &err), CM_OK);
		assert_true(co_value(m, x, y, at));
		for (uint32_t i = 0; i < k * 4; i++) {
			double h = 1e-5, slope = (loss(&d, x, y, i, h) - loss(&d, x, y, i, -h)) / (2 * h);

			/* Central differences: h^2 times a third derivative, at most |x|^3, rounding. */
			assert_true(fabs(slope - coordinate(&d, at, i)) < 1e-7);
		}
		co_maker_free(m);
	}
}

static void triangles_multiply_as_squares_of_inner_products(void **state)
{
	const float x[2][4] = { { 1, -2, 0.5, 3 }, { 0.25, 1, -1, 2 } };
	struct drawn d = { .clip = 1000, .q = computed_vector(15, 1000) };
	uint32_t at[2][15];
	double inner = 1, sum = 0;

	(void)state;
	d.c = computed_by("moments", 4, 0, CO_PART_ALL, 1000);
	for (unsigned i = 0; i < 2; i++) {
		struct co_maker *m = NULL;
		struct cm_err err = { 0 };

		assert_int_equal(co_maker_new(&d.c, &d.q, NULL, 0, &m, &err), CM_OK);
		assert_true(co_value(m, x[i], 0, at[i]));
		co_maker_free(m);
	}
	for (unsigned j = 0; j < 4; j++)
		inner += (double)x[0][j] * (double)x[1][j];
	for (uint32_t i = 0; i < 15; i++)
		sum += coordinate(&d, at[0], i) * coordinate(&d, at[1], i);
	/* 15 products of numbers below 25, each off by 1000 / 2^30. */
	assert_true(fabs(sum - inner * inner) < 15 * 2 * 25 * 1000 * 0x1p-30);
}

static void a_bin_is_the_count_of_edges_up_to_the_number(void **state)
{
	static const uint32_t columns[] = { 7, 7, 3 };
	struct qy_computing c = computed_by("statistics", 2, 3, CO_PART_ALL, 0);
	struct qy_query q = computed_columns(columns, 3);
	struct computed_payload p = { .arrays = 0 };
	const uint32_t dim[2] = { 2, 6 };
	double edge[12];
	struct co_maker *m = NULL;
	struct cm_err err = { 0 };

	(void)state;
	computed_head(&p, "edges", 1, 2, dim);
	for (unsigned i = 0; i < 12; i++) {
		edge[i] = (i % 6 == 0 ? -3 : edge[i - 1] + 0.25) + floor(uniform() * 4) / 8;
		computed_float(&p, (float)edge[i]);
	}
	computed_end(&p);
	assert_int_equal(co_maker_new(&c, &q, p.bytes, p.len, &m, &err), CM_OK);
	for (unsigned round = 0; round < 2000; round++) {
		const float x[2] = { (float)edge[round % 12],
			round % 3 == 0 ? number(50) : (float)edge[round / 12 % 12] };
		uint32_t at[3], want[2] = { 0, 0 };

		assert_true(co_value(m, x, round % 3, at));
		for (unsigned i = 0; i < 12; i++)
			want[i / 6] += edge[i] <= (double)x[i / 6];
		assert_int_equal(at[0], want[0]);
		assert_int_equal(at[1], want[1]);
		assert_int_equal(at[2], round % 3);
		assert_false(co_value(m, x, 3, at));
	}
	co_maker_free(m);
	qy_query_fini(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_value_is_longer_than_the_clip),
		cmocka_unit_test(two_readings_are_at_most_two_clips_apart),
		cmocka_unit_test(a_value_does_not_depend_on_readings_before_it),
		cmocka_unit_test(none_is_for_readings_out_of_the_domain_alone),
		cmocka_unit_test(answers_of_programs_are_cut_alike),
		cmocka_unit_test(the_gradient_is_the_derivative_of_the_loss),
		cmocka_unit_test(triangles_multiply_as_squares_of_inner_products),
		cmocka_unit_test(a_bin_is_the_count_of_edges_up_to_the_number),
	};

	return RUN_SEEDED(tests, &rng, "computed values");
}
