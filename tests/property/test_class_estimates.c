/* test_class_estimates.c - participants of several guarantees: no bias where there is to be none, no more
 * than is said elsewhere, the stated variance and coverage, whoever chooses which class.
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
#include "seeded.h"

#define ITEMS 4u
#define N     600u

struct scene {
	const char *row;
	enum qy_kind kind;
	uint32_t levels;
	uint64_t (*value)(uint32_t participant);
	uint32_t (*class)(uint32_t participant);
	bool biased; /* by no more than is said */
	int runs;
	double least_cover, most_cover, least_variance, most_variance;
};

static struct cr_rng rng;
static char c0[] = "c0", c1[] = "c1", c2[] = "c2", c3[] = "c3", *words[] = { c0, c1, c2, c3 };

static int runs_factor(void)
{
	const char *text = getenv("PROPERTY_RUNS");

	return text ? (int)strtol(text, NULL, 10) : 1;
}

static struct qy_query query_of(const struct scene *s)
{
	struct qy_query q = { .kind = s->kind, .name = "q", .field = "f" };

	if (s->kind == QY_MEAN) {
		q.low = -5;
		q.high = 20;
	} else {
		q.category = words;
		q.categories = ITEMS;
	}
	return q;
}

static double truth_of(const struct scene *s, size_t item)
{
	double sum = 0;

	for (uint32_t j = 0; j < N; j++)
		sum += s->kind == QY_MEAN ? (double)s->value(j) * 0x1p-32 : s->value(j) == item;
	return s->kind == QY_MEAN ? -5 + 25 * sum / N : sum;
}

static void one_round(
	const struct scene *s, const struct qy_query *q, const struct pt_randomizer *p, struct es_estimate *e)
{
	const struct pt_protocol *row = pt_find(s->row);
	uint64_t counts[64] = { 0 };
	struct cm_err err = { 0 };

	assert_true(row->tallies(p) <= 64);
	for (uint32_t j = 0; j < N; j++) {
		struct qy_value v = { .x = s->value(j), .level = s->class(j) };
		uint8_t records[2 * 16];
		uint16_t tags[2];

		encode_in_room(row->device, q, p, &v, &rng, records);
		row->device->route(p, &v, records, tags);
		for (uint32_t m = 0; m < row->device->messages(p); m++) {
			assert_int_equal(tags[m], s->class(j));
			assert_int_equal(row->tally(p, records + 16 * m, counts, &err), CM_OK);
		}
	}
	if (pt_answer(q, p, counts, N, e, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

/* What the runs of a scene showed, beside what was said. */
struct seen {
	double error[ITEMS], variance[ITEMS], bias[ITEMS];
	double square, cover, joint, off, answers;
	size_t items;
	int runs;
};

static void add_round(const struct es_estimate *e, const double *truth, struct seen *n)
{
	bool all = true;

	n->items = e->n;
	for (size_t i = 0; i < e->n; i++) {
		double off = e->item[i].value - truth[i];

		n->error[i] += off / n->runs;
		n->variance[i] += e->item[i].variance / n->runs;
		n->bias[i] += e->item[i].bias / n->runs;
		n->square += off * off / e->item[i].variance;
		n->off += off * off;
		n->cover += truth[i] >= e->item[i].lower && truth[i] <= e->item[i].upper;
		all = all && truth[i] >= e->item[i].joint_lower && truth[i] <= e->item[i].joint_upper;
		n->answers++;
	}
	n->joint += all;
}

/* Five standard errors either way; `said` is the expected error. */
static void check_seen(const struct scene *s, const struct seen *n, double said)
{
	double square = n->square / n->answers, cover = n->cover / n->answers, joint = n->joint / n->runs;
	double rms = sqrt(n->off / n->answers);

	print_message("%s: item 0 off by %+.3f of %.3f allowed, variance %.3f, coverage %.4f, joint %.4f\n",
		s->row, n->error[0], n->bias[0], square, cover, joint);
	for (size_t i = 0; i < n->items; i++)
		if (fabs(n->error[i]) > (s->biased ? n->bias[i] : 0) + 5 * sqrt(n->variance[i] / n->runs))
			fail_msg("%s: item %zu is off by %g, %g is said", s->row, i, n->error[i], n->bias[i]);
	if (s->biased) {
		assert_true(fabs(n->error[0]) > 5 * sqrt(n->variance[0] / n->runs));
	} else {
		if (square > s->most_variance + 5 * sqrt(2 / n->answers) ||
			square < s->least_variance - 5 * sqrt(2 / n->answers))
			fail_msg("%s: %g times the stated variance", s->row, square);
		/* The size of the error with another mix of classes and counts. */
		if (rms > 1.5 * said || rms < said / 3)
			fail_msg("%s: error %g, %g was expected", s->row, rms, said);
	}
	if (cover < s->least_cover || cover > s->most_cover)
		fail_msg("%s: coverage %g", s->row, cover);
	if (joint < 0.95 - 4 * sqrt(0.05 * 0.95 / n->runs))
		fail_msg("%s: joint coverage %g", s->row, joint);
}

static void check(const struct scene *s)
{
	const struct pt_protocol *row = pt_find(s->row);
	const struct pt_request r = { .epsilon0 = 3,
		.levels = s->levels,
		.classes = 3,
		.class_epsilon0 = { 0.7, 1.5, 3 },
		.class_least = { 100, 100, 100 } };
	struct qy_query q = query_of(s);
	struct seen seen = { .runs = s->runs * runs_factor() };
	double truth[ITEMS];
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	if (pt_derive(row, &q, &r, &p, &err) != CM_OK || row->device->check(&q, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < ITEMS; i++)
		truth[i] = truth_of(s, i);
	for (int run = 0; run < seen.runs; run++) {
		struct es_estimate e;

		one_round(s, &q, &p, &e);
		add_round(&e, truth, &seen);
		es_estimate_fini(&e);
	}
	check_seen(s, &seen, s->biased ? 0 : pt_expected_error(&q, &p, N));
}

static uint64_t skewed(uint32_t j)
{
	return j % 2 == 0 ? 0 : j % 10 == 1 ? 1 : 2 + j / 2 % 2;
}

static uint64_t spread(uint32_t j)
{
	return (uint64_t)j * 2654435761u % ((UINT64_C(1) << 32) + 1);
}

/* Whatever the value. */
static uint32_t anyhow(uint32_t j)
{
	return j / 20 % 3;
}

/* Devices with something to hide choose the stronger class: those of category 0, or of the upper half. */
static uint32_t by_category(uint32_t j)
{
	return skewed(j) == 0 ? j / 2 % 2 : 2 - j / 2 % 2;
}

static uint32_t by_size(uint32_t j)
{
	return spread(j) > UINT64_C(1) << 31 ? j % 2 : 2 - j % 2;
}

static struct scene scene(const char *row, enum qy_kind kind, uint32_t (*class)(uint32_t), int runs)
{
	return (struct scene){ .row = row,
		.kind = kind,
		.levels = 3,
		.value = kind == QY_MEAN ? spread : skewed,
		.class = class,
		.runs = runs,
		.least_cover = 0.94,
		.most_cover = 0.965,
		.least_variance = 0.95,
		.most_variance = 1.03 };
}

static void classes_apart_are_unbiased_whoever_chooses_what(void **state)
{
	const struct scene scenes[] = { scene("gspa-classes", QY_HISTOGRAM, anyhow, 2500),
		scene("gspa-classes", QY_HISTOGRAM, by_category, 2500),
		scene("gspa-classes", QY_MEAN, anyhow, 10000),
		scene("gspa-classes", QY_MEAN, by_size, 10000) };

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
		check(&scenes[i]);
}

/* The intervals allow for a bias that is not there. */
static void pooled_values_are_unbiased_where_the_choice_is_free(void **state)
{
	struct scene h = scene("gspa-pooled", QY_HISTOGRAM, anyhow, 2500),
		     m = scene("gspa-pooled", QY_MEAN, anyhow, 10000);

	(void)state;
	h.most_cover = m.most_cover = 1;
	h.least_variance = m.least_variance = 0.8;
	check(&h);
	check(&m);
}

static void pooled_values_are_off_by_no_more_than_is_said(void **state)
{
	struct scene h = scene("gspa-pooled", QY_HISTOGRAM, by_category, 2500),
		     m = scene("gspa-pooled", QY_MEAN, by_size, 10000);

	(void)state;
	h.most_cover = m.most_cover = 1;
	h.biased = m.biased = true;
	check(&h);
	check(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_apart_are_unbiased_whoever_chooses_what),
		cmocka_unit_test(pooled_values_are_unbiased_where_the_choice_is_free),
		cmocka_unit_test(pooled_values_are_off_by_no_more_than_is_said),
	};

	return RUN_SEEDED(tests, &rng, "class_estimates");
}
