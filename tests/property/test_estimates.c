/* test_estimates.c - estimators over many random rounds: no bias, the stated variance, the stated coverage.
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

#define BINS_MAX 64

struct scene {
	const char *row;
	struct qy_query query;
	struct pt_request request;
	uint32_t participants;
	uint64_t (*value)(uint32_t participant); /* in the query's domain */
	int runs;
	double least_cover, most_cover;
	double most_variance; /* times the stated one, which is taken at the estimate; 0: 1.02 */
};

struct tally {
	double error, square, squares, sum, variances, cover, joint;
	int answers, runs;
};

static char *labels[BINS_MAX];
static struct cr_rng rng;

static int runs_factor(void)
{
	const char *text = getenv("PROPERTY_RUNS");

	return text ? (int)strtol(text, NULL, 10) : 1;
}

static bool of_numbers(const struct scene *s)
{
	return s->query.kind == QY_MEAN || s->query.kind == QY_SUM;
}

/* True answer of item i. */
static double truth_of(const struct scene *s, size_t item)
{
	double sum = 0, n = s->participants;

	for (uint32_t j = 0; j < s->participants; j++)
		sum += of_numbers(s) ? (double)s->value(j) * 0x1p-32 : s->value(j) == item;
	if (!of_numbers(s))
		return sum;
	sum = n * s->query.low + (s->query.high - s->query.low) * sum;
	return s->query.kind == QY_SUM ? sum : sum / n;
}

static void one_round(const struct scene *s, const struct pt_randomizer *p, struct es_estimate *e)
{
	const struct pt_protocol *row = pt_find(s->row);
	uint8_t records[16 * 64];
	uint64_t counts[2 * BINS_MAX] = { 0 };
	struct cm_err err = { 0 };

	for (uint32_t j = 0; j < s->participants; j++) {
		struct qy_value v = { .x = s->value(j) };

		encode_in_room(row->device, &s->query, p, &v, &rng, records);
		for (uint32_t m = 0; m < row->device->messages(p); m++)
			assert_int_equal(
				row->tally(p, records + m * row->device->record_len(p), counts, &err), CM_OK);
	}
	assert_int_equal(pt_answer(&s->query, p, counts, s->participants, e, &err), CM_OK);
}

/* Errors of all items pooled: their sum against its standard error, their squares against the stated
 * variance. */
static struct tally play(const struct scene *s)
{
	struct tally t = { .runs = s->runs * runs_factor() };
	struct pt_randomizer p;
	struct cm_err err = { 0 };
	double truth[BINS_MAX];

	assert_int_equal(pt_derive(pt_find(s->row), &s->query, &s->request, &p, &err), CM_OK);
	assert_true(p.mixbins.bins <= BINS_MAX && pt_find(s->row)->tallies(&p) <= 2 * BINS_MAX);
	assert_true(
		pt_find(s->row)->device->messages(&p) * pt_find(s->row)->device->record_len(&p) <= 16 * 64);
	for (size_t i = 0; i < BINS_MAX; i++)
		truth[i] = truth_of(s, i);
	for (int run = 0; run < t.runs; run++) {
		bool all = true;
		struct es_estimate e;

		one_round(s, &p, &e);
		for (size_t i = 0; i < e.n; i++) {
			const struct qy_item *item = &e.item[i];
			double error = item->value - truth[i];

			/* The last item of a histogram follows from the others: alternate signs keep the pool
			 * honest. */
			t.sum += e.n > 1 && i % 2 != 0 ? -error : error;
			t.variances += item->variance;
			t.square += error * error / item->variance;
			t.squares += error * error;
			t.cover += truth[i] >= item->lower && truth[i] <= item->upper;
			all = all && truth[i] >= item->joint_lower && truth[i] <= item->joint_upper;
			t.answers++;
		}
		t.joint += all;
		es_estimate_fini(&e);
	}
	t.error = t.sum / sqrt(t.variances);
	/* The stated variance of a mean comes from the reports, too, and goes with the error. */
	t.square = of_numbers(s) ? t.squares / t.variances : t.square / t.answers;
	t.cover /= t.answers;
	t.joint /= t.runs;
	return t;
}

/* Five standard errors either way. */
static void check(const struct scene *s, double least_variance)
{
	struct tally t = play(s);
	double n = t.answers;

	print_message("%s: error %+.4f, variance %.3f, coverage %.4f, joint %.4f (%d answers)\n", s->row,
		t.error, t.square, t.cover, t.joint, t.answers);
	if (fabs(t.error) > 5)
		fail_msg("%s: bias of %g standard errors, %d answers", s->row, t.error, t.answers);
	if (t.square > (s->most_variance > 0 ? s->most_variance : 1.02) + 5 * sqrt(2 / n) ||
		t.square < least_variance - 5 * sqrt(2 / n))
		fail_msg("%s: %g times the stated variance", s->row, t.square);
	if (t.cover < s->least_cover || t.cover > s->most_cover)
		fail_msg("%s: coverage %g", s->row, t.cover);
	if (t.joint < 0.95 - 4 * sqrt(0.05 * 0.95 / t.runs))
		fail_msg("%s: joint coverage %g", s->row, t.joint);
}

/* Half in bin 0, a tenth in bin 1, the rest even. */
static uint64_t skewed(uint32_t j)
{
	return j % 2 == 0 ? 0 : j % 10 == 1 ? 1 : 2 + j / 2 % 6;
}

static uint64_t spread(uint32_t j)
{
	return (uint64_t)j * 2654435761u % ((UINT64_C(1) << 32) + 1);
}

static uint64_t at_a_level(uint32_t j)
{
	(void)j;
	return UINT64_C(1) << 30;
}

static uint64_t at_an_end(uint32_t j)
{
	(void)j;
	return 0;
}

static struct scene histogram(
	const char *row, double epsilon0, uint32_t dummies, uint32_t participants, int runs)
{
	for (size_t i = 0; i < BINS_MAX; i++)
		labels[i] = (char *)"c";
	return (struct scene){ .row = row,
		.query = { .kind = QY_HISTOGRAM,
			.name = "h",
			.field = "f",
			.category = labels,
			.categories = 8 },
		.request = { .epsilon0 = epsilon0, .dummies = dummies },
		.participants = participants,
		.value = skewed,
		.runs = runs,
		.least_cover = 0.94,
		.most_cover = 0.965 };
}

static struct scene mean_of(const char *row, double epsilon0, uint32_t dummies, uint32_t levels,
	uint64_t (*value)(uint32_t), int runs)
{
	return (struct scene){ .row = row,
		.query = { .kind = QY_MEAN, .name = "m", .field = "f", .low = -5, .high = 20 },
		.request = { .epsilon0 = epsilon0, .dummies = dummies, .levels = levels },
		.participants = 300,
		.value = value,
		.runs = runs,
		.least_cover = 0.94,
		.most_cover = 0.965 };
}

static struct scene mean(
	double epsilon0, uint32_t dummies, uint32_t levels, uint64_t (*value)(uint32_t), int runs)
{
	return mean_of("levels", epsilon0, dummies, levels, value, runs);
}

static void grr_is_unbiased_and_covers(void **state)
{
	struct scene s = histogram("grr", 1, 0, 1000, 700);

	(void)state;
	check(&s, 0.98);
}

static void mixbins_is_unbiased_and_covers(void **state)
{
	struct scene s = histogram("mixbins", 2, 2, 600, 600);

	(void)state;
	check(&s, 0.98);
}

static void bins_are_unbiased_and_cover(void **state)
{
	struct scene s = histogram("bins", INFINITY, 3, 400, 700);

	(void)state;
	check(&s, 0.98);
}

/* The estimate knows how many dummies came, and its variance is theirs. */
static void dummies_by_chance_leave_no_bias_and_the_stated_variance(void **state)
{
	struct scene scenes[] = { histogram("mixbins", 2, 0, 600, 600), histogram("mixbins", 2, 0, 600, 300),
		histogram("bins", INFINITY, 0, 1600, 500), histogram("hashed", INFINITY, 0, 800, 700),
		mean_of("levels", 3, 0, 9, spread, 3000),
		mean_of("levels", INFINITY, 0, 17, at_a_level, 3000) };
	static const double dummies[] = { 0.25, 2.5, 0.75, 0.75, 0.5, 1.5 };

	(void)state;
	scenes[3].request.size = 4;
	for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
		pt_request_dummies(&scenes[i].request, dummies[i]);
		check(&scenes[i], i < 4 ? 0.98 : 0.9);
	}
}

/* Whole numbers cannot cover 95 % exactly when there are few: never less, and not much more. */
static void small_noise_never_covers_less(void **state)
{
	struct scene grr = histogram("grr", 5, 0, 300, 800), bins = histogram("bins", INFINITY, 1, 100, 1500);

	(void)state;
	grr.most_cover = bins.most_cover = 0.995;
	check(&grr, 0.9);
	check(&bins, 0.98);
}

static void means_are_unbiased_and_cover(void **state)
{
	struct scene a = mean(1, 0, 2, spread, 6000), b = mean(3, 0, 9, at_a_level, 6000),
		     c = mean(3, 2, 9, spread, 3000);
	struct scene d = mean(INFINITY, 2, 17, at_a_level, 3000);

	(void)state;
	check(&a, 0.9);
	check(&b, 0.9);
	check(&c, 0.9);
	check(&d, 0.9);
}

static void means_from_one_symbol_are_unbiased_and_cover(void **state)
{
	struct scene scenes[] = { mean_of("duchi", 1, 0, 0, spread, 10000),
		mean_of("duchi", 3, 0, 0, at_a_level, 3000),
		mean_of("laplace-levels", 2, 0, 9, spread, 10000),
		mean_of("laplace-levels", 6, 0, 9, at_a_level, 3000),
		mean_of("laplace-levels", 4, 0, 0, at_an_end, 10000),
		mean_of("staircase", 2, 0, 9, spread, 10000), mean_of("staircase", 3, 0, 5, at_a_level, 3000),
		mean_of("piecewise", 2, 0, 9, spread, 10000), mean_of("piecewise", 3, 0, 9, at_a_level, 3000),
		mean_of("piecewise", 3, 0, 0, at_an_end, 10000) };

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
		check(&scenes[i], 0.9);
}

/* A sum is its mean times the participants: the rows are tried above. */
static void sums_are_unbiased_and_cover(void **state)
{
	struct scene scenes[] = { mean_of("levels", 2, 1, 5, spread, 10000),
		mean_of("levels", INFINITY, 2, 17, spread, 2000), mean_of("duchi", 1, 0, 0, spread, 2000),
		mean_of("laplace-levels", 2, 0, 9, spread, 2000), mean_of("staircase", 2, 0, 9, spread, 2000),
		mean_of("piecewise", 2, 0, 9, spread, 2000) };

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
		scenes[i].query.kind = QY_SUM;
		/* With 2,000 runs the share is known to half a percent. */
		scenes[i].most_cover = scenes[i].runs < 10000 ? 0.98 : 0.965;
		check(&scenes[i], 0.9);
	}
}

/* 10,000 answers and more of each row, where the noise is wide enough for the normal law. */
static void reports_of_several_items_are_unbiased_and_cover(void **state)
{
	struct scene scenes[] = { histogram("rappor", 1, 0, 300, 1500), histogram("oue", 1, 0, 400, 1500),
		histogram("subset", 1, 0, 450, 1500), histogram("olh", 1, 0, 450, 1500),
		histogram("hadamard", 1, 0, 250, 1500) };

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
		check(&scenes[i], 0.98);
}

/* The same as in small_noise_never_covers_less. */
static void few_reports_of_several_items_never_cover_less(void **state)
{
	struct scene scenes[] = { histogram("rappor", 5, 0, 100, 800), histogram("oue", 5, 0, 100, 800),
		histogram("subset", 5, 0, 100, 800), histogram("olh", 5, 0, 100, 800),
		histogram("hadamard", 5, 0, 100, 800) };

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
		scenes[i].most_cover = 0.995;
		/* With P = 1/2 it is the holders that vary, and of few holders the estimate says little. */
		if (strcmp(scenes[i].row, "oue") == 0 || strcmp(scenes[i].row, "olh") == 0)
			scenes[i].most_variance = 1.4;
		check(&scenes[i], 0.9);
	}
}

/* The same as the last two, with dummies; the hash has few cells, so that categories meet. */
static void reports_among_wide_dummies_are_unbiased_and_cover(void **state)
{
	struct scene scenes[] = { histogram("hashed", INFINITY, 2, 300, 1500),
		histogram("cheu", 2, 1, 300, 1500), histogram("cheu", 5, 2, 600, 1500),
		histogram("balcer-cheu", INFINITY, 2, 400, 1500) };

	(void)state;
	scenes[0].request.size = scenes[3].request.size = 4;
	for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
		check(&scenes[i], 0.98);
}

static void few_reports_among_wide_dummies_never_cover_less(void **state)
{
	struct scene scenes[] = { histogram("hashed", INFINITY, 1, 100, 800),
		histogram("cheu", 6, 1, 100, 800), histogram("balcer-cheu", INFINITY, 1, 100, 800) };

	(void)state;
	scenes[0].request.size = scenes[2].request.size = 16;
	for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
		scenes[i].most_cover = 0.995;
		check(&scenes[i], 0.9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grr_is_unbiased_and_covers),
		cmocka_unit_test(mixbins_is_unbiased_and_covers),
		cmocka_unit_test(bins_are_unbiased_and_cover),
		cmocka_unit_test(small_noise_never_covers_less),
		cmocka_unit_test(means_are_unbiased_and_cover),
		cmocka_unit_test(means_from_one_symbol_are_unbiased_and_cover),
		cmocka_unit_test(sums_are_unbiased_and_cover),
		cmocka_unit_test(reports_of_several_items_are_unbiased_and_cover),
		cmocka_unit_test(few_reports_of_several_items_never_cover_less),
		cmocka_unit_test(reports_among_wide_dummies_are_unbiased_and_cover),
		cmocka_unit_test(few_reports_among_wide_dummies_never_cover_less),
		cmocka_unit_test(dummies_by_chance_leave_no_bias_and_the_stated_variance),
	};

	return RUN_SEEDED(tests, &rng, "estimates");
}
