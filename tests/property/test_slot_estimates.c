/* test_slot_estimates.c - estimators of rounds with several slots over many random rounds: no bias, the
 * stated variance, the stated coverage.
 *
 * Seeded, so that a run repeats; PROPERTY_RUNS multiplies the rounds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cr_rand.h"
#include "encode_in_room.h"
#include "pt_protocol.h"
#include "seeded.h"

#define ITEMS_MAX   64
#define COLUMNS_MAX 24 /* or coordinates */

struct scene {
	const char *row;
	struct qy_query query;
	struct pt_request request;
	uint32_t participants;
	uint64_t (*value)(uint32_t participant);                         /* x, or */
	uint32_t (*column_value)(uint32_t participant, uint32_t column); /* at[] */
	double (*truth)(const struct scene *s, size_t item);
	int runs;
	double least_cover, most_cover, least_variance, most_variance;
};

struct tally {
	double sum, square, variances, cover, joint;
	int answers;
};

static struct cr_rng rng;

static int runs_factor(void)
{
	const char *text = getenv("PROPERTY_RUNS");

	return text ? (int)strtol(text, NULL, 10) : 1;
}

static struct qy_value value_of(const struct scene *s, uint32_t j, uint32_t at[COLUMNS_MAX])
{
	if (s->value)
		return (struct qy_value){ .x = s->value(j) };
	for (uint32_t c = 0; c < qy_value_width(&s->query); c++)
		at[c] = s->column_value(j, c);
	return (struct qy_value){ .at = at };
}

static void one_round(const struct scene *s, const struct pt_randomizer *p, struct es_estimate *e)
{
	const struct pt_protocol *row = pt_find(s->row);
	size_t record_len = row->device->record_len(p), messages = row->device->messages(p);
	uint8_t *records = calloc(messages, record_len);
	uint64_t *counts = calloc(row->tallies(p), sizeof *counts);
	struct cm_err err = { 0 };

	assert_true(records && counts);
	for (uint32_t j = 0; j < s->participants; j++) {
		uint32_t at[COLUMNS_MAX];
		struct qy_value v = value_of(s, j, at);

		encode_in_room(row->device, &s->query, p, &v, &rng, records);
		for (size_t m = 0; m < messages; m++)
			assert_int_equal(row->tally(p, records + m * record_len, counts, &err), CM_OK);
	}
	assert_int_equal(pt_answer(&s->query, p, counts, s->participants, e, &err), CM_OK);
	free(records);
	free(counts);
}

/* Errors of all items pooled, with alternating signs: the items of a histogram sum to what is known. */
static struct tally play(const struct scene *s, int runs)
{
	struct tally t = { 0 };
	struct pt_randomizer p;
	struct cm_err err = { 0 };
	double truth[ITEMS_MAX];

	assert_int_equal(pt_derive(pt_find(s->row), &s->query, &s->request, &p, &err), CM_OK);
	assert_int_equal(pt_find(s->row)->device->check(&s->query, &p, &err), CM_OK);
	for (int run = 0; run < runs; run++) {
		bool all = true;
		struct es_estimate e;

		one_round(s, &p, &e);
		assert_true(e.n <= ITEMS_MAX);
		for (size_t i = 0; i < e.n; i++) {
			const struct qy_item *item = &e.item[i];
			double error;

			if (run == 0)
				truth[i] = s->truth(s, i);
			error = item->value - truth[i];
			t.sum += i % 2 != 0 ? -error : error;
			t.variances += item->variance;
			t.square += error * error / item->variance;
			t.cover += truth[i] >= item->lower && truth[i] <= item->upper;
			all = all && truth[i] >= item->joint_lower && truth[i] <= item->joint_upper;
			t.answers++;
		}
		t.joint += all;
		es_estimate_fini(&e);
	}
	return t;
}

/* Five standard errors either way. */
static void check(const struct scene *s)
{
	int runs = s->runs * runs_factor();
	struct tally t = play(s, runs);
	double n = t.answers, bias = t.sum / sqrt(t.variances), joint = t.joint / runs;

	print_message("%s: error %+.4f, variance %.3f, coverage %.4f, joint %.4f (%d answers)\n", s->row,
		bias, t.square / n, t.cover / n, joint, t.answers);
	if (fabs(bias) > 5)
		fail_msg("%s: bias of %g standard errors", s->row, bias);
	if (t.square / n > s->most_variance + 5 * sqrt(2 / n) ||
		t.square / n < s->least_variance - 5 * sqrt(2 / n))
		fail_msg("%s: %g times the stated variance", s->row, t.square / n);
	if (t.cover / n < s->least_cover || t.cover / n > s->most_cover)
		fail_msg("%s: coverage %g", s->row, t.cover / n);
	if (joint < 0.95 - 4 * sqrt(0.05 * 0.95 / runs))
		fail_msg("%s: joint coverage %g", s->row, joint);
}

/* ---- numbers ---- */

static uint64_t spread(uint32_t j)
{
	return (uint64_t)j * 2654435761u % ((UINT64_C(1) << 32) + 1);
}

/* Half at one place, a third at the upper end. */
static uint64_t lumped(uint32_t j)
{
	return j % 2 == 0 ? (uint64_t)(0.47 * 0x1p32) : j % 3 == 0 ? UINT64_C(1) << 32 : spread(j);
}

static double mean_or_sum(const struct scene *s, size_t item)
{
	double sum = 0;

	(void)item;
	for (uint32_t j = 0; j < s->participants; j++)
		sum += s->query.low + (s->query.high - s->query.low) * (double)s->value(j) * 0x1p-32;
	return s->query.kind == QY_SUM ? sum : sum / s->participants;
}

static struct scene digits(enum qy_kind kind, double epsilon0, uint32_t dummies, uint32_t levels,
	uint32_t base, uint64_t (*value)(uint32_t), int runs)
{
	return (struct scene){ .row = "digits",
		.query = { .kind = kind, .name = "m", .field = "f", .low = -5, .high = 20 },
		.request = { .epsilon0 = epsilon0, .dummies = dummies, .levels = levels, .size = base },
		.participants = 300,
		.value = value,
		.truth = mean_or_sum,
		.runs = runs,
		.least_cover = 0.94,
		.most_cover = 0.965,
		.least_variance = 0.9,
		.most_variance = 1.02 };
}

static void means_and_sums_from_digits_are_unbiased_and_cover(void **state)
{
	const struct scene scenes[] = { digits(QY_MEAN, 2, 0, 64, 2, spread, 4000),
		digits(QY_MEAN, 3, 1, 16, 2, lumped, 4000), digits(QY_SUM, 3, 0, 64, 8, spread, 6000),
		digits(QY_SUM, INFINITY, 1, 16, 4, lumped, 6000) };

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
		check(&scenes[i]);
}

/* ---- ranges ---- */

/* Node i of a tree of fanout 2 and 8 leaves, or of fanout 4 and 16: level after level. */
static double in_node(const struct scene *s, size_t item)
{
	uint64_t nodes = s->query.fanout, node = item;
	double count = 0;

	while (node >= nodes) {
		node -= nodes;
		nodes *= s->query.fanout;
	}
	for (uint32_t j = 0; j < s->participants; j++) {
		uint64_t at = s->value(j) == UINT64_C(1) << 32 ? nodes - 1 : s->value(j) * nodes >> 32;

		count += at == node;
	}
	return count;
}

static struct scene ranges(
	uint32_t leaves, uint32_t fanout, double epsilon0, uint32_t dummies, uint32_t participants, int runs)
{
	return (struct scene){ .row = "ranges",
		.query = { .kind = QY_RANGES,
			.name = "r",
			.field = "f",
			.low = 0,
			.high = 16,
			.leaves = leaves,
			.fanout = fanout },
		.request = { .epsilon0 = epsilon0, .dummies = dummies },
		.participants = participants,
		.value = lumped,
		.truth = in_node,
		.runs = runs,
		.least_cover = 0.94,
		.most_cover = 0.965,
		.least_variance = 0.98,
		.most_variance = 1.02 };
}

static void nodes_of_ranges_are_unbiased_and_cover(void **state)
{
	const struct scene scenes[] = { ranges(8, 2, 1, 0, 1000, 800), ranges(16, 4, 2, 3, 500, 500),
		ranges(8, 2, INFINITY, 3, 700, 700) };

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
		check(&scenes[i]);
}

/* ---- marginals ---- */

static uint32_t correlated(uint32_t j, uint32_t column)
{
	return column == 0 ? j % 3 == 0 : column == 1 ? (j % 3 == 0 ? 2 : j % 2) : j / 7 % 2;
}

static const uint32_t sets[] = { 3, 4, 6 }; /* {a, b}, {c}, {b, c} */
static const uint32_t sizes[] = { 2, 3, 2 };

static double of_combination(const struct scene *s, size_t item)
{
	size_t set = 0, at = item, k[] = { 6, 2, 6 };
	double count = 0;

	while (at >= k[set])
		at -= k[set++];
	for (uint32_t j = 0; j < s->participants; j++) {
		size_t index = 0;

		for (uint32_t c = 0; c < 3; c++)
			if (sets[set] >> c & 1)
				index = index * sizes[c] + s->column_value(j, c);
		count += index == at;
	}
	return count;
}

static struct scene marginals(double epsilon0, uint32_t dummies, uint32_t participants, int runs)
{
	static char yes[] = "yes", no[] = "no", maybe[] = "maybe", *words[] = { yes, no, maybe };
	static struct qy_column column[] = { { .name = "a", .category = words, .categories = 2 },
		{ .name = "b", .category = words, .categories = 3 },
		{ .name = "c", .category = words, .categories = 2 } };

	return (struct scene){ .row = "marginals",
		.query = { .kind = QY_MARGINALS,
			.name = "m",
			.field = "f",
			.column = column,
			.columns = 3,
			.marginal = (uint32_t *)sets,
			.marginals = 3 },
		.request = { .epsilon0 = epsilon0, .dummies = dummies },
		.participants = participants,
		.column_value = correlated,
		.truth = of_combination,
		.runs = runs,
		.least_cover = 0.94,
		.most_cover = 0.965,
		.least_variance = 0.98,
		.most_variance = 1.02 };
}

static void combinations_are_unbiased_and_cover(void **state)
{
	const struct scene scenes[] = { marginals(1, 0, 1000, 800), marginals(2, 2, 600, 800),
		marginals(INFINITY, 3, 600, 800) };

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
		check(&scenes[i]);
}

/* ---- one slot of each ---- */

/* Levels or marginals that a device drew: exact laws where few messages are expected, normal ones else; and a
 * node that nearly all hold, where the devices that were not asked make the error. */
static void slots_that_devices_draw_are_unbiased_and_cover(void **state)
{
	struct scene scenes[] = { ranges(8, 2, 1, 0, 1000, 800), ranges(16, 4, 3, 0, 500, 500),
		ranges(8, 2, 4, 0, 2000, 300), marginals(1, 0, 1000, 800), marginals(4, 0, 2000, 300) };

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
		scenes[i].row = scenes[i].query.kind == QY_RANGES ? "hierarchy" : "parallel";
		/* Few messages: intervals as if a device could be asked twice, so wider. */
		scenes[i].most_cover = 0.995;
		/* The stated one is taken at the estimate, of few messages. */
		scenes[i].most_variance = 1.05;
		check(&scenes[i]);
	}
}

/* ---- vectors ---- */

/* Even coordinates of all devices alike, where the stated variance is exact; odd ones spread, a third at an
 * end. */
static uint32_t coordinate(uint32_t j, uint32_t column)
{
	return (uint32_t)((column % 2 == 0 ? (uint64_t)(column + 1) << 26 : lumped(j + column) >> 1));
}

static double mean_coordinate(const struct scene *s, size_t item)
{
	double sum = 0;

	for (uint32_t j = 0; j < s->participants; j++)
		sum += coordinate(j, (uint32_t)item) * 0x1p-31;
	return s->query.low + (s->query.high - s->query.low) * sum / s->participants;
}

/* Vectors no longer than half the range. */
static uint32_t short_coordinate(uint32_t j, uint32_t column)
{
	return (UINT32_C(1) << 30) + coordinate(j, column) / 8 - (UINT32_C(1) << 27);
}

static double mean_short_coordinate(const struct scene *s, size_t item)
{
	double sum = 0;

	for (uint32_t j = 0; j < s->participants; j++)
		sum += short_coordinate(j, (uint32_t)item) * 0x1p-31;
	return s->query.low + (s->query.high - s->query.low) * sum / s->participants;
}

static struct scene vectors(const char *row, struct pt_request r, uint32_t participants, int runs)
{
	return (struct scene){ .row = row,
		.query = { .kind = QY_VECTOR,
			.name = "v",
			.field = "f",
			.low = -3,
			.high = 5,
			.dimension = 23 },
		.request = r,
		.participants = participants,
		.column_value = coordinate,
		.truth = mean_coordinate,
		.runs = runs,
		.least_cover = 0.945,
		.most_cover = 0.97,
		.least_variance = 0.85,
		.most_variance = 1.01 };
}

static void coordinates_are_unbiased_and_cover(void **state)
{
	const struct scene scenes[] = {
		vectors("words", (struct pt_request){ .epsilon0 = 2, .slots = 3, .size = 2 }, 400, 500),
		vectors("words",
			(struct pt_request){ .epsilon0 = INFINITY, .slots = 4, .size = 3, .dummies = 2 }, 300,
			300),
		vectors("harmony", (struct pt_request){ .epsilon0 = 3 }, 1500, 400),
		vectors("vrr", (struct pt_request){ .epsilon0 = 6, .size = 5 }, 500, 500),
		vectors("words",
			(struct pt_request){ .epsilon0 = INFINITY,
				.slots = 4,
				.size = 3,
				.dummies = 1,
				.dummy_chance = UINT64_C(1) << 63 },
			300, 300),
	};
	struct scene rotated = vectors("rotated",
		(struct pt_request){ .epsilon0 = 3, .slots = 4, .size = 2, .min_reports = 400 }, 400, 500);

	(void)state;
	rotated.query.low = -5;
	rotated.column_value = short_coordinate;
	rotated.truth = mean_short_coordinate;
	check(&rotated);
	for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
		check(&scenes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(means_and_sums_from_digits_are_unbiased_and_cover),
		cmocka_unit_test(nodes_of_ranges_are_unbiased_and_cover),
		cmocka_unit_test(combinations_are_unbiased_and_cover),
		cmocka_unit_test(slots_that_devices_draw_are_unbiased_and_cover),
		cmocka_unit_test(coordinates_are_unbiased_and_cover),
	};

	return RUN_SEEDED(tests, &rng, "slot_estimates");
}
