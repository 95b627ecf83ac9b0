/* test_none_rows.c - devices without a valid reading: the rows that count them apart, to the last bit, and
 * what that costs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "acct.h"
#include "encode_in_room.h"
#include "es_histogram.h"
#include "exact_batch.h"
#include "pt_mixbins_analysis.h"
#include "queries.h"

#define OF_CATEGORIES ((unsigned)QY_HISTOGRAM | QY_MARGINALS | QY_PREFIXES | QY_SETS)
#define PEOPLE        600u

static struct cm_err err;

/* ---- rows ---- */

static void a_row_without_room_says_so(void **state)
{
	const struct pt_protocol *row;

	(void)state;
	for (size_t i = 0; (row = pt_row(i)); i++) {
		assert_int_equal(row->device->none_symbol & ~row->device->kinds, 0);
		/* A row can count one item more than before. */
		if ((row->device->none_symbol & OF_CATEGORIES) != (row->device->kinds & OF_CATEGORIES))
			fail_msg("%s: its kinds of categories need none_symbol", row->device->name);
		for (unsigned kind = 1; kind <= QY_PLACES; kind <<= 1) {
			struct qy_query q = query_of_kind((enum qy_kind)kind);
			bool room = (row->device->none_symbol & kind) != 0;

			if ((row->device->kinds & kind) == 0)
				continue;
			q.none = QY_NONE_SYMBOL;
			assert_int_equal(
				pt_none_check(row->device, &q, CM_EPROTO, &err), room ? CM_OK : CM_EPROTO);
			q.none = QY_NONE_EVEN;
			assert_int_equal(pt_none_check(row->device, &q, CM_EPROTO, &err), CM_OK);
			pt_none_default(row, &q);
			assert_int_equal(q.none, room                  ? QY_NONE_SYMBOL
						 : q.kind == QY_PLACES ? QY_NONE_EVEN
								       : QY_NONE_VALUE);
			assert_int_equal(qy_query_check(&q, &err), CM_OK);
			assert_true(room || q.none == QY_NONE_EVEN || q.none_value == (q.low + q.high) / 2);
		}
	}
}

/* Two versions of a round: `more` lacks the symbol of none of `with`, and has one category more. */
struct pair {
	struct qy_query with, more;
};

static void derive_2(const struct pt_protocol *row, const struct qy_query *q, struct pt_randomizer *p)
{
	if (query_derive(row, q, 2, p, &err) != CM_OK)
		fail_msg("%s: %s", row->device->name, err.msg);
}

static struct pair pair_of(enum qy_kind kind)
{
	static struct qy_column larger[QUERIES_COLUMNS];
	struct pair p = { query_of_kind(kind), query_of_kind(kind) };

	p.with.none = QY_NONE_SYMBOL;
	if (kind == QY_HISTOGRAM) {
		p.with.categories--;
		return p;
	}
	for (uint32_t c = 0; c < QUERIES_COLUMNS; c++) {
		larger[c] = p.with.column[c];
		larger[c].categories++;
	}
	p.more.column = larger;
	return p;
}

static void same_cells(
	const struct pt_protocol *row, const struct pt_randomizer *a, const struct pt_randomizer *b)
{
	static struct pt_loss of[2];

	memset(of, 0, sizeof of);
	for (int i = 0; i < 2; i++) {
		const struct pt_randomizer *p = i == 0 ? a : b;

		if (row->cells)
			assert_int_equal(row->cells(p, PEOPLE, &of[i].part[0], &err), CM_OK);
		else
			assert_int_equal(row->loss(p, PEOPLE, &of[i], &err), CM_OK);
	}
	assert_memory_equal(&of[0], &of[1], sizeof of[0]);
}

/* The value that each of PEOPLE holds: all values in turn, and those of a device without a reading. */
static struct qy_value held(const struct qy_query *more, uint32_t i, uint32_t *at)
{
	struct qy_value v = { .x = i % 5 };

	if (more->kind == QY_HISTOGRAM)
		return v;
	v = (struct qy_value){ .at = at };
	for (uint32_t c = 0; c < more->columns; c++) {
		at[c] = i % more->column[c].categories;
		i /= more->column[c].categories;
	}
	return v;
}

/* Encode all values of both with the same draws and tally them. */
static void play(
	const struct pt_protocol *row, const struct pair *q, const struct pt_randomizer *p, uint64_t *counts)
{
	size_t len = (size_t)row->device->messages(p) * row->device->record_len(p);
	uint8_t *record[2] = { calloc(1, len), calloc(1, len) };

	assert_true(record[0] && record[1]);
	for (uint32_t i = 0; i < PEOPLE; i++) {
		uint8_t seed[CR_SEED_LEN] = { (uint8_t)i, (uint8_t)(i >> 8), 1 };
		uint32_t at[QUERIES_COLUMNS];
		struct qy_value v = held(&q->more, i, at);

		for (int which = 0; which < 2; which++) {
			struct cr_rng same;
			struct cr_rng_seeded *g = cr_rng_seeded_new(seed, &same);

			assert_non_null(g);
			encode_in_room(
				row->device, which == 0 ? &q->with : &q->more, p, &v, &same, record[which]);
			cr_rng_seeded_free(g);
		}
		assert_memory_equal(record[0], record[1], len);
		for (uint32_t m = 0; m < row->device->messages(p); m++)
			assert_int_equal(row->tally(p, record[0] + (size_t)m * row->device->record_len(p),
						 counts, &err),
				CM_OK);
	}
	free(record[0]);
	free(record[1]);
}

static void same_answers(const struct pt_protocol *row, const struct pair *q, const struct pt_randomizer *p)
{
	uint64_t *counts = calloc(row->tallies(p), sizeof *counts);
	struct es_estimate a, b;
	size_t none = 0;

	assert_non_null(counts);
	play(row, q, p, counts);
	assert_int_equal(pt_answer(&q->with, p, counts, PEOPLE, &a, &err), CM_OK);
	assert_int_equal(pt_answer(&q->more, p, counts, PEOPLE, &b, &err), CM_OK);
	assert_true(a.n == b.n && a.noise_floor == b.noise_floor);
	for (size_t i = 0; i < a.n; i++) {
		const struct qy_item *x = &a.item[i], *y = &b.item[i];
		bool labelled = strstr(x->label, QY_NONE_LABEL);

		assert_true(x->value == y->value && x->variance == y->variance && x->lower == y->lower &&
			    x->upper == y->upper && x->joint_lower == y->joint_lower &&
			    x->joint_upper == y->joint_upper && x->projected == y->projected &&
			    x->bias == y->bias && x->below_noise == y->below_noise);
		assert_int_equal(x->none, labelled);
		assert_false(y->none);
		assert_true(labelled || strcmp(x->label, y->label) == 0);
		none += x->none;
	}
	/* Cells of {a, b}, 3 by 4, all but 2 by 3, and one of {c}. */
	assert_int_equal(none, q->with.kind == QY_HISTOGRAM ? 1 : 12 - 6 + 1);
	assert_true(a.item[a.n - 1].none);
	assert_true(pt_expected_error(&q->with, p, PEOPLE) == pt_expected_error(&q->more, p, PEOPLE));
	es_estimate_fini(&a);
	es_estimate_fini(&b);
	free(counts);
}

/* So everything that is proved of the rows' laws, cells, intervals and constant time holds for the symbol,
 * too. */
static void a_round_with_the_symbol_is_one_with_a_category_more_to_the_last_bit(void **state)
{
	const struct pt_protocol *row;
	size_t seen = 0;

	(void)state;
	for (size_t i = 0; (row = pt_row(i)); i++) {
		unsigned kind = row->device->kinds & ((unsigned)QY_HISTOGRAM | QY_MARGINALS);
		struct pair q;
		struct pt_randomizer p, same;

		if (kind == 0)
			continue;
		seen++;
		q = pair_of((enum qy_kind)kind);
		derive_2(row, &q.with, &p);
		derive_2(row, &q.more, &same);
		assert_true(pt_randomizer_equal(&p, &same));
		assert_int_equal(row->device->check(&q.with, &p, &err), CM_OK);
		same_cells(row, &p, &same);
		same_answers(row, &q, &p);
		/* The bins in a peer's parameters are those of the query. */
		q.with.none = QY_NONE_EVEN;
		q.more.none = QY_NONE_SYMBOL;
		assert_int_equal(row->device->check(&q.with, &p, &err), CM_EPROTO);
		assert_int_equal(row->device->check(&q.more, &p, &err), CM_EPROTO);
	}
	assert_int_equal(seen, 15);
}

struct counted {
	struct cr_rng from;
	uint64_t calls, bytes;
};

static void count_fill(void *ctx, void *out, size_t n)
{
	struct counted *c = ctx;

	c->calls++;
	c->bytes += n;
	c->from.fill(c->from.ctx, out, n);
}

/* With one seed every value, the symbol too, draws equally much and equally often. */
static void encoding_draws_alike_with_and_without_a_reading(void **state)
{
	const struct pt_protocol *row;

	(void)state;
	for (size_t i = 0; (row = pt_row(i)); i++) {
		struct qy_query q = query_of_row(row);
		struct pt_randomizer p;
		uint8_t *records;
		uint64_t calls = 0, bytes = 0;

		derive_2(row, &q, &p);
		records = calloc(row->device->messages(&p), row->device->record_len(&p));
		assert_non_null(records);
		for (uint32_t x = 0; x < query_values(&q); x++) {
			uint8_t seed[CR_SEED_LEN] = { 7, (uint8_t)i };
			struct counted c = { .calls = 0 };
			struct cr_rng counting = { count_fill, &c };
			struct cr_rng_seeded *g = cr_rng_seeded_new(seed, &c.from);
			uint32_t at[QUERIES_DIMENSION];
			struct qy_value v = query_value(&q, x, at);

			assert_non_null(g);
			encode_in_room(row->device, &q, &p, &v, &counting, records);
			cr_rng_seeded_free(g);
			if (x > 0 && (c.calls != calls || c.bytes != bytes))
				fail_msg("%s: value %u takes other draws", row->device->name, (unsigned)x);
			calls = c.calls;
			bytes = c.bytes;
		}
		assert_true(calls > 0);
		free(records);
	}
}

/* The law of each value of two categories and the symbol, by what every message of a response can be: the
 * delta between a reading and none, among three others whatever they hold. */
static void the_loss_between_a_reading_and_none_is_what_is_charged(void **state)
{
	struct qy_query q = query_of_kind(QY_HISTOGRAM);
	struct pt_request r = { .epsilon0 = 1.5 };
	struct pt_randomizer p;
	struct acct_round round;
	static struct batch b;

	(void)state;
	q.categories = 2;
	q.none = QY_NONE_SYMBOL;
	assert_int_equal(pt_derive(pt_find("grr"), &q, &r, &p, &err), CM_OK);
	assert_int_equal(pt_find("grr")->cells(&p, 4, &round, &err), CM_OK);
	for (uint32_t others = 0; others < 27; others++) {
		uint32_t value[4] = { 0, others % 3, others / 3 % 3, others / 9 };

		b = (struct batch){ .symbols = 3, .messages = 4 };
		for (uint32_t side = 0; side < 2; side++)
			for (uint32_t m = 0; m < 4; m++)
				for (uint32_t y = 0; y < 3; y++) {
					/* The victim holds category 0 or has no reading. */
					uint32_t x = m == 0 ? 2 * side : value[m];

					b.law[side][m][y] =
						y == x ? ldexpl((long double)p.mixbins.keep, -64)
						       : ldexpl((long double)-p.mixbins.keep, -64) / 2;
				}
		expect_bound(&round, &b, false);
	}
}

/* ---- what it costs ---- */

static double epsilon_of(const struct qy_query *q)
{
	struct pt_request r = { .epsilon0 = 1 };
	struct pt_randomizer p;
	struct acct_round round;
	struct acct_bound epsilon;

	assert_int_equal(pt_derive(pt_find("grr"), q, &r, &p, &err), CM_OK);
	assert_int_equal(pt_find("grr")->cells(&p, 10000, &round, &err), CM_OK);
	assert_int_equal(acct_epsilon(&round, 1, 1e-6, &epsilon), ACCT_OK);
	return epsilon.upper;
}

/* Values from outside: two categories at epsilon0 1 among 10,000 devices cost .0357
 * (tests/data/make-acct-bits.py), with the symbol .0380, and the variance of an empty category is 1.37 times
 * as large. */
static void a_symbol_costs_more_error_and_two_categories_privacy_too(void **state)
{
	struct qy_query q = query_of_kind(QY_HISTOGRAM);
	struct pt_request r = { .epsilon0 = 1 };
	struct pt_randomizer p;
	double variance[2];

	(void)state;
	q.categories = 2;
	for (int symbol = 0; symbol < 2; symbol++) {
		struct es_support s;

		q.none = symbol ? QY_NONE_SYMBOL : QY_NONE_EVEN;
		assert_true(fabs(epsilon_of(&q) - (symbol ? 0.0380 : 0.0357)) < 5e-5);
		assert_int_equal(pt_derive(pt_find("grr"), &q, &r, &p, &err), CM_OK);
		s = pt_mixbins_support(&p, 0);
		variance[symbol] = es_support_variance(&s, 1e4, 0);
	}
	assert_true(fabs(variance[1] / variance[0] - 1.37) < 5e-3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_without_room_says_so),
		cmocka_unit_test(a_round_with_the_symbol_is_one_with_a_category_more_to_the_last_bit),
		cmocka_unit_test(encoding_draws_alike_with_and_without_a_reading),
		cmocka_unit_test(the_loss_between_a_reading_and_none_is_what_is_charged),
		cmocka_unit_test(a_symbol_costs_more_error_and_two_categories_privacy_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
