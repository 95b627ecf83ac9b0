/* test_planar_row.c - places: what a device of each cell says, the privacy of a whole round by enumeration,
 * and what counts say of the cells. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode_in_room.h"
#include "exact_batch.h"
#include "pt_planar.h"
#include "pt_protocol.h"
#include "pt_record.h"
#include "queries.h"
#include "seeded.h"

#define DRAWS 40000
#define CELLS 20u

static struct cm_err err;
static struct cr_rng rng;
static struct qy_column axes[2];

static struct qy_query grid(uint32_t width, uint32_t height)
{
	struct qy_query q = query_of_kind(QY_PLACES);

	memcpy(axes, q.column, sizeof axes);
	axes[0].cells = width;
	axes[1].cells = height;
	q.column = axes;
	return q;
}

static struct pt_randomizer made(const struct qy_query *q, double epsilon0)
{
	const struct pt_request r = { .epsilon0 = epsilon0 };
	struct pt_randomizer p;

	if (pt_derive(pt_find("planar"), q, &r, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return p;
}

/* Written anew from the definition, in real numbers: all places of the torus, distances by the shortest of
 * nine images. */
static void law_of(const struct pt_randomizer *p, uint32_t x, long double *law)
{
	int w = (int)p->planar.width, h = (int)p->planar.height, tw = 2 * w - w % 2, th = 2 * h - h % 2;
	long double decay = logl(ldexpl((long double)p->planar.decay, -64)), sum = 0;

	for (int y = 0; y < w * h; y++)
		law[y] = 0;
	for (int j = 0; j < th; j++)
		for (int i = 0; i < tw; i++) {
			int col = i < w ? i : i - (w - 1) < tw - i ? w - 1 : 0;
			int row = j < h ? j : j - (h - 1) < th - j ? h - 1 : 0;
			double square = 1e9;
			long double chance;

			for (int k = 0; k < 9; k++) {
				double across = i - (int)x % w + tw * (k % 3 - 1);
				double up = j - (int)x / w + th * (k / 3 - 1);

				square = fmin(square, across * across + up * up);
			}
			chance = expl(decay * ceill(1024 * sqrtl((long double)square)));
			law[col + w * row] += chance;
			sum += chance;
		}
	for (int y = 0; y < w * h; y++)
		law[y] /= sum;
}

static void the_integers_are_the_law(void **state)
{
	static const uint32_t sizes[][2] = { { 2, 2 }, { 3, 2 }, { 2, 7 }, { 5, 4 }, { 16, 16 }, { 128, 2 },
		{ 2, 128 } };
	static const double epsilons[] = { 0.01, 1, 8, 16 };

	(void)state;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
		for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++) {
			struct pt_randomizer p = { .row = pt_device_find("planar"),
				.planar = { .width = sizes[s][0],
					.height = sizes[s][1],
					.decay = (uint64_t)ldexpl(
						expl(-(long double)epsilons[i] / 131072), 64) } };
			uint32_t cells = pt_planar_cells(&p);
			uint64_t row[PT_PLANAR_CELLS_MAX], sum;
			static long double law[PT_PLANAR_CELLS_MAX];
			struct pt_planar_law exact;

			pt_planar_law_of(&p, &exact);
			assert_true(exact.total < UINT64_C(1) << 63);
			for (uint32_t x = 0; x < cells; x++) {
				law_of(&p, x, law);
				pt_planar_row(&exact, x, row);
				sum = 0;
				for (uint32_t y = 0; y < cells; y++) {
					long double got = (long double)row[y] / (long double)exact.total;

					sum += row[y];
					if (fabsl(got / law[y] - 1) > 1e-6L)
						fail_msg("%u by %u, %u to %u: %Lg, not %Lg",
							(unsigned)sizes[s][0], (unsigned)sizes[s][1],
							(unsigned)x, (unsigned)y, got, law[y]);
				}
				assert_true(sum == exact.total);
			}
		}
}

/* A quantile of one in a billion, both ways. */
static void expect_share(double count, double n, double p)
{
	if (!(fabs(count - n * p) <= 6.1 * sqrt(n * p * (1 - p)) + 1))
		fail_msg("%g of %g, not %g", count, n, n * p);
}

static void a_device_says_what_the_definition_says_of_its_cell(void **state)
{
	static const uint32_t sizes[][2] = { { 2, 2 }, { 3, 2 }, { 4, 5 } };

	(void)state;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		struct qy_query q = grid(sizes[s][0], sizes[s][1]);
		struct pt_randomizer p = made(&q, 3);
		long double law[CELLS];

		for (uint32_t x = 0; x < qy_query_cells(&q); x++) {
			const struct qy_value v = { .x = x };
			uint32_t said[CELLS] = { 0 };

			law_of(&p, x, law);
			for (uint32_t k = 0; k < DRAWS; k++) {
				uint8_t record[PT_RECORD_LEN];
				uint32_t y;

				encode_in_room(p.row, &q, &p, &v, &rng, record);
				assert_int_equal(pt_record_get(record, qy_query_cells(&q), &y, &err), CM_OK);
				said[y]++;
			}
			for (uint32_t y = 0; y < qy_query_cells(&q); y++)
				expect_share(said[y], DRAWS, (double)law[y]);
		}
	}
}

/* The largest ratio of any two places, and of those at every distance: metric privacy. */
static void the_guarantee_is_that_of_any_two_places_and_falls_with_distance(void **state)
{
	static const double epsilons[] = { 0.01, 0.5, 2, 8, 16 };

	(void)state;
	for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++) {
		struct qy_query q = grid(5, 4);
		struct pt_randomizer p = made(&q, epsilons[i]);
		double claimed = p.row->epsilon0(&p), found = 0;
		long double law[CELLS][CELLS], unit = -logl(ldexpl((long double)p.planar.decay, -64));

		for (uint32_t x = 0; x < CELLS; x++)
			law_of(&p, x, law[x]);
		for (uint32_t a = 0; a < CELLS; a++)
			for (uint32_t b = 0; b < CELLS; b++) {
				double across = (int)(a % 5) - (int)(b % 5), up = (int)(a / 5) - (int)(b / 5);
				double most = 0;

				for (uint32_t y = 0; y < CELLS; y++)
					most = fmax(most, (double)logl(law[a][y] / law[b][y]));
				found = fmax(found, most);
				assert_true(
					most <=
					(double)unit * ceil(1024 * sqrt(across * across + up * up)) + 1e-12);
			}
		assert_true(claimed <= epsilons[i] && claimed > epsilons[i] * (1 - 1e-6));
		assert_true(fabs(found - claimed) < 1e-7);
	}
}

/* It is computed of a quarter of the places, and the last one is kept. */
static void the_guarantee_is_that_of_all_places_of_every_shape(void **state)
{
	static const uint32_t shape[][2] = { { 2, 2 }, { 3, 2 }, { 2, 5 }, { 3, 3 }, { 7, 9 }, { 6, 5 },
		{ 16, 16 }, { 2, 128 }, { 85, 3 } };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof shape / sizeof *shape; i++) {
		struct pt_randomizer p = { .row = pt_find("planar")->device };
		uint64_t row[PT_PLANAR_CELLS_MAX], low[PT_PLANAR_CELLS_MAX],
			high[PT_PLANAR_CELLS_MAX] = { 0 };
		struct pt_planar_law law;
		long double ratio = 1;

		p.planar.width = shape[i / 2][0];
		p.planar.height = shape[i / 2][1];
		p.planar.decay = UINT64_MAX / 1000 * (i % 2 == 0 ? 998 : 999);
		memset(low, 0xff, sizeof low);
		pt_planar_law_of(&p, &law);
		for (uint32_t x = 0; x < pt_planar_cells(&p); x++) {
			pt_planar_row(&law, x, row);
			for (uint32_t y = 0; y < pt_planar_cells(&p); y++) {
				low[y] = row[y] < low[y] ? row[y] : low[y];
				high[y] = row[y] > high[y] ? row[y] : high[y];
			}
		}
		for (uint32_t y = 0; y < pt_planar_cells(&p); y++)
			ratio = fmaxl(ratio, (long double)high[y] / (long double)low[y]);
		for (int again = 0; again < 2; again++)
			assert_true(p.row->epsilon0(&p) >= (double)logl(ratio) &&
				    p.row->epsilon0(&p) <= (double)logl(ratio) * (1 + 1e-12));
	}
}

static void a_peers_parameters_must_fit_the_grid(void **state)
{
	struct qy_query q = grid(4, 3), larger = grid(4, 4);
	const struct pt_randomizer good = made(&larger, 2);
	struct pt_randomizer p;

	(void)state;
	assert_int_equal(good.row->check(&larger, &good, &err), CM_OK);
	q = grid(4, 3);
	assert_int_equal(good.row->check(&q, &good, &err), CM_EPROTO);
	p = good;
	p.planar.height = 3;
	assert_int_equal(p.row->check(&q, &p, &err), CM_OK);
	p.planar.width = UINT32_MAX;
	assert_int_equal(p.row->check(&q, &p, &err), CM_EPROTO);
	p.planar.width = 4;
	p.planar.decay = 0;
	assert_int_equal(p.row->check(&q, &p, &err), CM_EPROTO);
	p.planar.decay = UINT64_MAX;
	assert_int_equal(p.row->check(&q, &p, &err), CM_EPROTO);
	p.planar.decay = UINT64_MAX / 100 * 98;
	assert_int_equal(p.row->check(&q, &p, &err), CM_EPROTO);
	q = grid(86, 3);
	p.planar.width = 86;
	p.planar.decay = good.planar.decay;
	assert_int_equal(p.row->check(&q, &p, &err), CM_EPROTO);
}

/* Three by two cells: all pairs of places of one device, all places of the two others. */
static void a_round_costs_no_more_than_is_charged(void **state)
{
	static const double epsilons[] = { 0, 0.3, 1 };
	struct qy_query q = grid(3, 2);
	struct pt_randomizer p = made(&q, 1.5);
	struct pt_loss loss;

	(void)state;
	assert_int_equal(pt_loss(&p, 3, &loss, &err), CM_OK);
	for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++) {
		struct acct_bound delta;
		double worst = 0;

		assert_int_equal(acct_delta(loss.part, loss.parts, epsilons[i], &delta), ACCT_OK);
		for (uint32_t code = 0; code < 6 * 6 * 6 * 6; code++) {
			uint32_t at[4] = { code % 6, code / 6 % 6, code / 36 % 6, code / 216 };
			static struct batch b = { .symbols = 6, .messages = 3 };

			if (at[2] > at[3])
				continue;
			for (uint32_t side = 0; side < 2; side++)
				for (uint32_t m = 0; m < 3; m++)
					law_of(&p, m == 0 ? at[side] : at[m + 1], b.law[side][m]);
			worst = fmax(worst, exact_delta(&b, epsilons[i], false));
		}
		if (!(worst > 0 && worst <= delta.upper * (1 + 1e-9) && delta.upper <= 4 * worst))
			fail_msg("epsilon %g: %g of %g charged", epsilons[i], worst, delta.upper);
	}
}

/* One message of a device of every cell: the estimate's mean, its stated variance, and the expected error. */
static void an_answer_is_unbiased_and_has_the_variance_that_is_expected(void **state)
{
	struct qy_query q = grid(5, 4);
	struct pt_randomizer p = made(&q, 6);
	static double variance[CELLS][CELLS];
	double even = 0, heavy = 0;

	(void)state;
	memset(variance, 0, sizeof variance);
	for (uint32_t x = 0; x < CELLS; x++) {
		double mean[CELLS] = { 0 };
		long double law[CELLS];

		law_of(&p, x, law);
		for (uint32_t y = 0; y < CELLS; y++) {
			uint64_t counts[CELLS] = { 0 };
			struct es_estimate e;

			counts[y] = 1;
			assert_int_equal(pt_answer(&q, &p, counts, 1, &e, &err), CM_OK);
			assert_int_equal(e.n, CELLS);
			for (uint32_t j = 0; j < CELLS; j++) {
				double score = e.item[j].value;

				mean[j] += (double)law[y] * score;
				variance[x][j] += (double)law[y] * (score - (x == j)) * (score - (x == j));
				assert_true(e.item[j].projected >= 0 && e.item[j].projected <= 1 + 1e-12);
			}
			es_estimate_fini(&e);
		}
		for (uint32_t j = 0; j < CELLS; j++)
			assert_true(fabs(mean[j] - (x == j)) < 1e-6);
	}
	for (uint32_t j = 0; j < CELLS; j++)
		for (uint32_t x = 0; x < CELLS; x++) {
			even += variance[x][j] / CELLS / CELLS;
			heavy += variance[x][j] * (x == j ? 0.1 : 0.9 / (CELLS - 1)) / CELLS;
		}
	assert_true(fabs(pt_expected_error(&q, &p, 1000) / sqrt(1000 * (even + heavy) / 2) - 1) < 1e-5);
}

/* 95 % intervals of whole rounds: misses of all cells of many rounds, some far from even. */
static void intervals_cover(void **state)
{
	enum { ROUNDS = 300, N = 600 };
	struct qy_query q = grid(5, 4);
	struct pt_randomizer p = made(&q, 8);
	unsigned missed = 0, joint = 0;
	double square = 0, stated = 0;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t counts[CELLS] = { 0 };
		uint32_t truth[CELLS] = { 0 };
		struct es_estimate e;
		bool off = false;

		for (uint32_t i = 0; i < N; i++) {
			struct qy_value v = { .x = i % 3 == 0 ? 7 : i % 4 };
			uint8_t record[PT_RECORD_LEN];

			truth[v.x]++;
			encode_in_room(p.row, &q, &p, &v, &rng, record);
			assert_int_equal(pt_protocol_of(p.row)->tally(&p, record, counts, &err), CM_OK);
		}
		assert_int_equal(pt_answer(&q, &p, counts, N, &e, &err), CM_OK);
		for (uint32_t j = 0; j < CELLS; j++) {
			const struct qy_item *it = &e.item[j];

			missed += truth[j] < it->lower || truth[j] > it->upper;
			off = off || truth[j] < it->joint_lower || truth[j] > it->joint_upper;
			square += (it->value - truth[j]) * (it->value - truth[j]);
			stated += it->variance;
		}
		joint += off;
		es_estimate_fini(&e);
	}
	/* Cells of a round are not independent: the bound is that of rounds, six deviations. */
	if (missed > 0.05 * ROUNDS * CELLS + 6 * CELLS * sqrt(0.05 * 0.95 * ROUNDS / CELLS * 4))
		fail_msg("%u of %u missed", missed, ROUNDS * CELLS);
	if (joint > 0.05 * ROUNDS + 6.1 * sqrt(0.05 * 0.95 * ROUNDS))
		fail_msg("%u of %d rounds missed", joint, ROUNDS);
	if (!(fabs(square / stated - 1) < 0.25))
		fail_msg("a variance of %g, %g stated", square, stated);
}

static void cells_that_cannot_be_told_apart_are_refused(void **state)
{
	struct qy_query q = grid(16, 16);
	const struct pt_request r = { .epsilon0 = 1e-4 };
	struct pt_randomizer p;
	enum cm_rc rc = pt_derive(pt_find("planar"), &q, &r, &p, &err);

	(void)state;
	if (rc == CM_OK)
		assert_true(pt_expected_error(&q, &p, 1000) > 1e6);
	else
		assert_non_null(strstr(err.msg, "16 by 16 cells cannot be told apart: take fewer"));
}

static void the_statement_names_the_distances_and_the_charge(void **state)
{
	struct qy_query q = grid(8, 6);
	struct pt_randomizer p = made(&q, 8);
	char text[400];

	(void)state;
	pt_find("planar")->statement(&q, &p, 3000, 1e-6, text, sizeof text);
	assert_non_null(strstr(text, "1 cell "));
	assert_non_null(strstr(text, "any 8 ("));
	pt_find("planar")->statement(&q, &p, 3000, 1e-6, text, 20);
	assert_int_equal(strlen(text), 19);
	pt_find("planar")->statement(&q, &p, 0, 1e-6, text, sizeof text);
	assert_string_equal(text, "");
}

static void the_statement_has_a_number_where_delta_covers_all(void **state)
{
	struct qy_query q = grid(2, 2);
	struct pt_randomizer p = made(&q, 0.001);
	char text[400];

	(void)state;
	pt_find("planar")->statement(&q, &p, 1000000, 1e-6, text, sizeof text);
	assert_non_null(
		strstr(text, "1 cell 0.000611 (0), 2 cells 0.001 (0), 4 cells 0.001 (0), any 0.001 (0);"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_integers_are_the_law),
		cmocka_unit_test(a_device_says_what_the_definition_says_of_its_cell),
		cmocka_unit_test(the_guarantee_is_that_of_any_two_places_and_falls_with_distance),
		cmocka_unit_test(the_guarantee_is_that_of_all_places_of_every_shape),
		cmocka_unit_test(a_peers_parameters_must_fit_the_grid),
		cmocka_unit_test(a_round_costs_no_more_than_is_charged),
		cmocka_unit_test(an_answer_is_unbiased_and_has_the_variance_that_is_expected),
		cmocka_unit_test(intervals_cover),
		cmocka_unit_test(cells_that_cannot_be_told_apart_are_refused),
		cmocka_unit_test(the_statement_names_the_distances_and_the_charge),
		cmocka_unit_test(the_statement_has_a_number_where_delta_covers_all),
	};

	return RUN_SEEDED(tests, &rng, "planar_row");
}
