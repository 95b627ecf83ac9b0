/* test_flame_estimates.c - coordinates of vectors, evened as the shuffler evens them: no bias, the stated
 * variance, the stated coverage.
 *
 * Seeded, so that a run repeats; PROPERTY_RUNS multiplies the rounds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cr_rand.h"
#include "encode_in_room.h"
#include "pt_protocol.h"
#include "pt_record.h"
#include "seeded.h"

#define DIMENSION 8u
#define N_MAX     1000u
#define EACH_MAX  16u

struct scene {
	const char *row;
	uint32_t dimension, participants;
	struct pt_request request;
	double (*value)(uint32_t participant, uint32_t coordinate); /* in [0, 1] */
	uint32_t top;                                               /* coordinates that count; 0: all */
	int runs;
	double least_cover, most_cover, least_variance, most_variance;
};

static struct cr_rng rng;

static int runs_factor(void)
{
	const char *text = getenv("PROPERTY_RUNS");

	return text ? (int)strtol(text, NULL, 10) : 1;
}

static struct qy_query query_of(const struct scene *s)
{
	return (struct qy_query){
		.kind = QY_VECTOR, .name = "v", .field = "f", .low = -3, .high = 5, .dimension = s->dimension
	};
}

static void vector_of(const struct scene *s, uint32_t j, uint32_t at[DIMENSION])
{
	for (uint32_t c = 0; c < s->dimension; c++)
		at[c] = (uint32_t)lround(s->value(j, c) * 0x1p31);
}

/* Is c among the `top` coordinates of participant j that are furthest from the middle? */
static bool counts_for(const struct scene *s, uint32_t j, uint32_t c)
{
	double own = fabs(s->value(j, c) - 0.5);
	uint32_t before = 0;

	for (uint32_t o = 0; o < s->dimension; o++) {
		double far = fabs(s->value(j, o) - 0.5);

		before += o != c && (far > own || (far >= own && o < c));
	}
	return s->top == 0 || before < s->top;
}

static double truth_of(const struct scene *s, uint32_t c)
{
	double sum = 0;

	for (uint32_t j = 0; j < s->participants; j++)
		sum += counts_for(s, j, c) ? s->value(j, c) : 0.5;
	return -3 + 8 * sum / s->participants;
}

/* All messages with their tags, evened to tag_messages of each as a shuffler does. */
static void even(const struct pt_protocol *row, const struct pt_randomizer *p, uint8_t *records,
	uint16_t *tag, size_t n, uint64_t *counts)
{
	struct cm_err err = { 0 };

	for (uint32_t t = 0; t < p->shuffler.tags; t++) {
		uint64_t ahead = 0, room = p->shuffler.tag_messages;
		uint8_t record[PT_RECORD_LEN];

		for (size_t i = 0; i < n; i++)
			ahead += tag[i] == t;
		for (size_t i = 0; i < n; i++) {
			if (tag[i] != t)
				continue;
			if (ahead <= room || cr_rng_below(&rng, ahead) < room) {
				assert_int_equal(
					row->tally(p, records + i * PT_RECORD_LEN, counts, &err), CM_OK);
				room--;
			}
			ahead--;
		}
		for (; room > 0; room--) {
			row->device->dummy(p, t, &rng, record);
			assert_int_equal(row->tally(p, record, counts, &err), CM_OK);
		}
	}
}

static void one_round(const struct scene *s, const struct pt_randomizer *p, struct es_estimate *e)
{
	static uint8_t records[N_MAX * EACH_MAX * PT_RECORD_LEN];
	static uint16_t tag[N_MAX * EACH_MAX];
	const struct pt_protocol *row = pt_find(s->row);
	struct qy_query q = query_of(s);
	uint64_t *counts = calloc(row->tallies(p), sizeof *counts);
	uint32_t each = row->device->messages(p);
	size_t n = (size_t)s->participants * each;
	struct cm_err err = { 0 };

	assert_true(counts && each <= EACH_MAX && s->participants <= N_MAX);
	for (uint32_t j = 0; j < s->participants; j++) {
		uint32_t at[DIMENSION];
		struct qy_value v = { .at = at };

		vector_of(s, j, at);
		encode_in_room(row->device, &q, p, &v, &rng, records + (size_t)j * each * PT_RECORD_LEN);
		if (row->device->route)
			row->device->route(
				p, &v, records + (size_t)j * each * PT_RECORD_LEN, tag + (size_t)j * each);
	}
	if (row->device->route)
		even(row, p, records, tag, n, counts);
	for (size_t i = 0; !row->device->route && i < n; i++)
		assert_int_equal(row->tally(p, records + i * PT_RECORD_LEN, counts, &err), CM_OK);
	assert_int_equal(pt_answer(&q, p, counts, s->participants, e, &err), CM_OK);
	free(counts);
}

/* Five standard errors either way. */
static void check(const struct scene *s)
{
	const struct pt_protocol *row = pt_find(s->row);
	struct qy_query q = query_of(s);
	int runs = s->runs * runs_factor();
	double sum = 0, variances = 0, square = 0, cover = 0, joint = 0, n = (double)runs * s->dimension;
	double truth[DIMENSION], expected = 0;
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	if (pt_derive(row, &q, &s->request, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	for (uint32_t c = 0; c < s->dimension; c++)
		truth[c] = truth_of(s, c);
	for (int run = 0; run < runs; run++) {
		bool all = true;
		struct es_estimate e;

		one_round(s, &p, &e);
		assert_int_equal(e.n, s->dimension);
		for (size_t i = 0; i < e.n; i++) {
			double error = e.item[i].value - truth[i];

			sum += error;
			variances += e.item[i].variance;
			square += error * error / e.item[i].variance;
			expected += error * error;
			cover += truth[i] >= e.item[i].lower && truth[i] <= e.item[i].upper;
			all = all && truth[i] >= e.item[i].joint_lower && truth[i] <= e.item[i].joint_upper;
		}
		joint += all;
		es_estimate_fini(&e);
	}
	expected = sqrt(expected / n) / pt_expected_error(&q, &p, s->participants);
	print_message("%s: error %+.3f, variance %.3f, coverage %.4f, joint %.4f, of the expected %.3f\n",
		s->row, sum / sqrt(variances), square / n, cover / n, joint / runs, expected);
	if (fabs(sum / sqrt(variances)) > 5)
		fail_msg("%s: bias of %g standard errors", s->row, sum / sqrt(variances));
	if (square / n > s->most_variance + 5 * sqrt(2 / n) ||
		square / n < s->least_variance - 5 * sqrt(2 / n))
		fail_msg("%s: %g times the stated variance", s->row, square / n);
	if (cover / n < s->least_cover || cover / n > s->most_cover)
		fail_msg("%s: coverage %g", s->row, cover / n);
	if (joint / runs < 0.95 - 4 * sqrt(0.05 * 0.95 / runs))
		fail_msg("%s: joint coverage %g", s->row, joint / runs);
	/* The worst case is above, and not out of sight. */
	if (expected > 1.03 || expected < 0.6)
		fail_msg("%s: %g times the expected error", s->row, expected);
}

/* All hold one vector, from end to end. */
static double alike(uint32_t j, uint32_t c)
{
	(void)j;
	return c / 7.0;
}

static double spread(uint32_t j, uint32_t c)
{
	return (double)((j * 8 + c) * 2654435761u % 10007) / 10006;
}

/* One coordinate far out in each vector, another near it, the rest about the middle. */
static double sparse(uint32_t j, uint32_t c)
{
	return c == j % 6 ? 0.95 : c == j % 6 + 1 ? 0.1 + j % 4 * 0.05 : 0.5 + (j % 5 - 2.0) * 0.01 * (c + 1);
}

static struct scene scene(const char *row, double epsilon0, uint32_t levels,
	double (*value)(uint32_t, uint32_t), uint32_t participants, int runs)
{
	return (struct scene){ .row = row,
		.dimension = DIMENSION,
		.participants = participants,
		.request = { .epsilon0 = epsilon0, .levels = levels, .min_reports = participants },
		.value = value,
		.runs = runs,
		.least_cover = 0.94,
		.most_cover = 0.965,
		.least_variance = 0.95,
		.most_variance = 1.03 };
}

static void every_coordinate_is_unbiased_and_covered(void **state)
{
	struct scene a = scene("ss-simple", 1, 2, alike, 300, 1300),
		     b = scene("ss-simple", 2, 5, alike, 300, 1300),
		     c = scene("ss-simple", 1, 0, spread, 300, 1300),
		     d = scene("ss-simple", 5, 3, spread, 300, 500);

	(void)state;
	check(&a);
	check(&b);
	check(&c);
	/* With little noise the spread of the values themselves is counted too. */
	d.most_cover = 0.995;
	d.least_variance = 0.5;
	check(&d);
}

static void a_coordinate_of_each_group_is_unbiased_and_covered(void **state)
{
	struct scene a = scene("ss-double", 2, 2, alike, 800, 1300),
		     b = scene("ss-double", 3, 5, spread, 800, 1300),
		     c = scene("ss-double", 3, 3, alike, 800, 1300);

	(void)state;
	a.request.slots = 2;
	check(&a);
	b.request.slots = 1;
	check(&b);
	/* At most 190 of the 200 messages expected about a coordinate are kept. */
	c.request.slots = 2;
	c.request.padded = 190;
	check(&c);
}

static void chosen_coordinates_are_unbiased_and_covered(void **state)
{
	struct scene a = scene("ss-topk", 2, 2, sparse, 400, 1000),
		     b = scene("ss-topk", 3, 4, sparse, 400, 1000);

	(void)state;
	a.request.size = a.top = 2;
	a.request.dummies = 3;
	check(&a);
	b.request.size = b.top = 1;
	/* Dummies of the client's own are above what is expected of the shuffler's alone: nothing changes. */
	b.request.dummies = 2;
	check(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_coordinate_is_unbiased_and_covered),
		cmocka_unit_test(a_coordinate_of_each_group_is_unbiased_and_covered),
		cmocka_unit_test(chosen_coordinates_are_unbiased_and_covered),
	};

	return RUN_SEEDED(tests, &rng, "flame_estimates");
}
