/* test_none_estimates.c - what rows answer where none, some, half or all of the devices have no reading: no
 * bias, the stated variance, the stated coverage, of the answer and of how many there are without.
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
#include "queries.h"
#include "seeded.h"

#define PEOPLE    400u
#define ITEMS_MAX 32u
#define RUNS      500

struct scene {
	const char *row;
	double epsilon0;
	uint32_t dummies, size;
	enum qy_none none;
	uint32_t without; /* of a hundred devices */
};

struct tally {
	double error, none_error, variance, none_variance, square, cover, joint;
	int answers, runs;
};

static struct cr_rng rng;
static struct cm_err err;

static int runs_factor(void)
{
	const char *text = getenv("PROPERTY_RUNS");

	return text ? (int)strtol(text, NULL, 10) : 1;
}

static struct pt_request request_of(const struct scene *s)
{
	struct pt_request r = {
		.epsilon0 = s->epsilon0, .dummies = s->dummies, .size = s->size, .min_reports = PEOPLE
	};

	if (strncmp(s->row, "gspa", 4) == 0) {
		r.classes = 2;
		r.class_epsilon0[0] = s->epsilon0 / 2;
		r.class_epsilon0[1] = s->epsilon0;
		r.class_least[0] = r.class_least[1] = PEOPLE / 4;
	}
	return r;
}

/* Device j's reading, as text: a third has the first category of each field, the others all in turn. */
static void reading(const struct qy_query *q, uint32_t j, const char **text)
{
	for (uint32_t c = 0; c < qy_query_fields(q); c++) {
		uint32_t n = q->columns > 0 ? q->column[c].categories : q->categories;
		char **category = q->columns > 0 ? q->column[c].category : q->category;

		text[c] = category[j % 3 == 0 ? 0 : (j + c) % n];
	}
}

static bool is_without(const struct scene *s, uint32_t j)
{
	return j * 37 % 100 < s->without;
}

/* One more for each item that the value is in: where several fields are asked for, item after item of each
 * marginal, the last column fastest. */
static void count_truth(const struct qy_query *q, const struct qy_value *v, double *truth)
{
	uint32_t at = 0;

	if (q->kind != QY_MARGINALS) {
		truth[v->x]++;
		return;
	}
	for (uint32_t i = 0; i < q->marginals; i++) {
		uint32_t index = 0, all = 1;

		for (uint32_t c = 0; c < q->columns; c++) {
			uint32_t n = q->column[c].categories + qy_query_symbols(q);

			if ((q->marginal[i] >> c & 1) == 0)
				continue;
			index = index * n + v->at[c];
			all *= n;
		}
		truth[at + index]++;
		at += all;
	}
}

static void one_round(const struct scene *s, const struct qy_query *q, const struct pt_randomizer *p,
	double *truth, struct es_estimate *e)
{
	const struct pt_protocol *row = pt_find(s->row);
	size_t len = row->device->record_len(p), messages = row->device->messages(p);
	uint8_t *records = calloc(messages, len);
	uint64_t *counts = calloc(row->tallies(p), sizeof *counts);

	assert_true(records && counts);
	for (uint32_t j = 0; j < PEOPLE; j++) {
		const char *text[QUERIES_COLUMNS] = { NULL };
		uint32_t at[QUERIES_COLUMNS];
		struct qy_value v;
		int clamped;

		if (!is_without(s, j))
			reading(q, j, text);
		assert_int_equal(qy_value_take(q, text, &rng, at, &v, &clamped),
			is_without(s, j) ? qy_query_fields(q) : 0);
		v.level = p->shuffler.tags > 0 ? j % 2 : 0;
		count_truth(q, &v, truth);
		encode_in_room(row->device, q, p, &v, &rng, records);
		for (size_t m = 0; m < messages; m++)
			assert_int_equal(row->tally(p, records + m * len, counts, &err), CM_OK);
	}
	if (pt_answer(q, p, counts, PEOPLE, e, &err) != CM_OK)
		fail_msg("%s: %s", s->row, err.msg);
	free(records);
	free(counts);
}

/* Alternate signs keep the pool honest: the items of a histogram sum to what is known. */
static void note(struct tally *t, const struct es_estimate *e, const double *truth)
{
	bool all = true;

	for (size_t i = 0; i < e->n; i++) {
		const struct qy_item *item = &e->item[i];
		double error = item->value - truth[i];

		t->error += i % 2 != 0 ? -error : error;
		t->variance += item->variance;
		t->square += error * error;
		t->cover += truth[i] >= item->lower && truth[i] <= item->upper;
		all = all && truth[i] >= item->joint_lower && truth[i] <= item->joint_upper;
		t->none_error += item->none ? error : 0;
		t->none_variance += item->none ? item->variance : 0;
		t->answers++;
	}
	t->joint += all;
	t->runs++;
}

/* Five standard errors either way.  Exact intervals of whole numbers may cover more, and never less. */
static void judge(const struct scene *s, const struct tally *t)
{
	double n = t->answers, bias = t->error / sqrt(t->variance), cover = t->cover / n;
	double none = t->none_variance > 0 ? t->none_error / sqrt(t->none_variance) : 0;
	double joint = t->joint / t->runs, variance = t->square / t->variance;

	print_message(
		"%s, %u %% without: error %+.2f, of none %+.2f, variance %.3f, coverage %.4f, joint %.4f\n",
		s->row, s->without, bias, none, variance, cover, joint);
	if (fabs(bias) > 5 || fabs(none) > 5)
		fail_msg("%s: bias of %g and %g standard errors", s->row, bias, none);
	if (variance > 1.02 + 5 * sqrt(2 / n) || variance < 0.85)
		fail_msg("%s: %g times the stated variance", s->row, variance);
	if (cover < 0.94 || cover > 0.995)
		fail_msg("%s: coverage %g", s->row, cover);
	if (joint < 0.95 - 4 * sqrt(0.05 * 0.95 / t->runs))
		fail_msg("%s: joint coverage %g", s->row, joint);
}

/* Against what the devices held: a drawn category is held as a read one is. */
static void check(const struct scene *s)
{
	const struct pt_protocol *row = pt_find(s->row);
	struct qy_query q = query_of_row(row);
	struct pt_request r = request_of(s);
	struct tally t = { 0 };
	struct pt_randomizer p;

	q.none = s->none;
	q.none_category = s->none == QY_NONE_VALUE ? 3 : 0;
	if (pt_derive(row, &q, &r, &p, &err) != CM_OK || row->device->check(&q, &p, &err) != CM_OK)
		fail_msg("%s: %s", s->row, err.msg);
	for (int run = 0; run < RUNS * runs_factor(); run++) {
		double truth[ITEMS_MAX] = { 0 };
		struct es_estimate e;

		one_round(s, &q, &p, truth, &e);
		assert_true(e.n <= ITEMS_MAX);
		note(&t, &e, truth);
		es_estimate_fini(&e);
	}
	judge(s, &t);
}

static void check_all(struct scene s)
{
	static const uint32_t parts[] = { 0, 1, 50, 100 };

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		s.without = parts[i];
		check(&s);
	}
}

static void devices_without_a_reading_are_counted_apart_and_rightly(void **state)
{
	static const struct scene scenes[] = { { "grr", 1, 0, 0, QY_NONE_SYMBOL, 0 },
		{ "mixbins", 2, 2, 0, QY_NONE_SYMBOL, 0 }, { "bins", INFINITY, 3, 0, QY_NONE_SYMBOL, 0 },
		{ "rappor", 1, 0, 0, QY_NONE_SYMBOL, 0 }, { "oue", 1, 0, 0, QY_NONE_SYMBOL, 0 },
		{ "subset", 1, 0, 0, QY_NONE_SYMBOL, 0 }, { "olh", 1, 0, 0, QY_NONE_SYMBOL, 0 },
		{ "hadamard", 1, 0, 0, QY_NONE_SYMBOL, 0 }, { "hashed", INFINITY, 2, 4, QY_NONE_SYMBOL, 0 },
		{ "cheu", 2, 1, 0, QY_NONE_SYMBOL, 0 }, { "balcer-cheu", INFINITY, 2, 4, QY_NONE_SYMBOL, 0 },
		{ "gspa-classes", 2, 0, 0, QY_NONE_SYMBOL, 0 }, { "marginals", 2, 0, 0, QY_NONE_SYMBOL, 0 },
		{ "marginals", INFINITY, 3, 0, QY_NONE_SYMBOL, 0 },
		{ "parallel", 2, 0, 0, QY_NONE_SYMBOL, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
		check_all(scenes[i]);
}

static void devices_that_draw_or_have_a_substitute_count_as_what_they_hold(void **state)
{
	static const struct scene scenes[] = { { "grr", 1, 0, 0, QY_NONE_EVEN, 0 },
		{ "bins", INFINITY, 3, 0, QY_NONE_EVEN, 0 }, { "marginals", 2, 0, 0, QY_NONE_EVEN, 0 },
		{ "grr", 1, 0, 0, QY_NONE_VALUE, 0 }, { "olh", 1, 0, 0, QY_NONE_VALUE, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
		check_all(scenes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_without_a_reading_are_counted_apart_and_rightly),
		cmocka_unit_test(devices_that_draw_or_have_a_substitute_count_as_what_they_hold),
	};

	return RUN_SEEDED(tests, &rng, "none estimates");
}
