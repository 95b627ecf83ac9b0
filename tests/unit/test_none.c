/* test_none.c - devices without a valid reading: what a query may ask of them, and the values they hold. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "queries.h"
#include "seeded.h"

#define DRAWS 60000

static struct cr_rng rng;
static struct cm_err err;

static enum cm_rc refuse(const struct qy_query *q)
{
	struct cm_err e = { 0 };

	return qy_query_check(q, &e);
}

/* ---- queries ---- */

static void every_kind_knows_what_is_possible_without_a_reading(void **state)
{
	static const struct {
		enum qy_kind kind;
		bool even, symbol, value;
	} rows[] = { { QY_HISTOGRAM, true, true, true }, { QY_MEAN, true, true, true },
		{ QY_QUANTILES, true, true, true }, { QY_SUM, true, true, true },
		{ QY_VECTOR, true, false, true }, { QY_RANGES, true, true, true },
		{ QY_MARGINALS, true, true, false }, { QY_PREFIXES, false, true, false },
		{ QY_SETS, true, true, true }, { QY_PLACES, true, false, false } };

	(void)state;
	for (size_t i = 0; qy_kind_at(i) != 0; i++) {
		struct qy_query q = query_of_kind(rows[i].kind);

		assert_int_equal(rows[i].kind, qy_kind_at(i));
		q.none = QY_NONE_EVEN;
		assert_int_equal(refuse(&q), rows[i].even ? CM_OK : CM_ECONFIG);
		q.none = QY_NONE_SYMBOL;
		assert_int_equal(refuse(&q), rows[i].symbol ? CM_OK : CM_ECONFIG);
		q.none = QY_NONE_VALUE;
		assert_int_equal(refuse(&q), rows[i].value ? CM_OK : CM_ECONFIG);
		q.none = (enum qy_none)3;
		assert_int_equal(refuse(&q), CM_ECONFIG);
	}
}

static void a_substitute_is_of_the_domain_and_stands_where_it_is_used(void **state)
{
	struct qy_query h = query_of_kind(QY_HISTOGRAM), m = query_of_kind(QY_MEAN);
	static const double bad[] = { -0.001, 10.001, (double)NAN, (double)INFINITY };

	(void)state;
	h.none = m.none = QY_NONE_VALUE;
	h.none_category = 4;
	m.none_value = 10;
	assert_int_equal(refuse(&h), CM_OK);
	assert_int_equal(refuse(&m), CM_OK);
	h.none_category = 5;
	assert_int_equal(refuse(&h), CM_ECONFIG);
	h.none_category = 0;
	h.none_value = 1;
	assert_int_equal(refuse(&h), CM_ECONFIG);
	m.none_category = 1;
	assert_int_equal(refuse(&m), CM_ECONFIG);
	m.none_category = 0;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		m.none_value = bad[i];
		assert_int_equal(refuse(&m), CM_ECONFIG);
	}
	for (int symbol = 0; symbol < 2; symbol++) {
		h.none = m.none = symbol ? QY_NONE_SYMBOL : QY_NONE_EVEN;
		h.none_value = 0;
		h.none_category = 1;
		m.none_value = 1;
		assert_int_equal(refuse(&h), CM_ECONFIG);
		assert_int_equal(refuse(&m), CM_ECONFIG);
	}
}

/* 4096 bins is what a message can say. */
static void the_symbol_takes_the_place_of_a_category(void **state)
{
	enum { MOST = 4096 };
	static char text[MOST][12], *words[MOST];
	struct qy_query q = query_of_kind(QY_HISTOGRAM);
	struct qy_query m = query_of_kind(QY_MARGINALS);
	struct qy_column both[2] = { { .name = "a", .category = words, .categories = 64 },
		{ .name = "b", .category = words, .categories = 64 } };
	uint32_t all = 3;

	(void)state;
	for (int i = 0; i < MOST; i++) {
		(void)snprintf(text[i], sizeof text[i], "%d", i);
		words[i] = text[i];
	}
	q.category = words;
	q.categories = MOST;
	m.column = both;
	m.columns = 2;
	m.marginal = &all;
	m.marginals = 1;
	assert_int_equal(refuse(&q), CM_OK);
	assert_int_equal(refuse(&m), CM_OK);
	q.none = m.none = QY_NONE_SYMBOL;
	assert_int_equal(refuse(&q), CM_ECONFIG);
	assert_int_equal(refuse(&m), CM_ECONFIG);
	q.categories--;
	both[0].categories = both[1].categories = 63;
	assert_int_equal(refuse(&q), CM_OK);
	assert_int_equal(refuse(&m), CM_OK);
	assert_int_equal(qy_query_bins(&q), MOST);
}

static void queries_differ_by_how_devices_without_a_reading_count(void **state)
{
	struct qy_query a = query_of_kind(QY_HISTOGRAM), b = a, m = query_of_kind(QY_MEAN), n = m;

	(void)state;
	assert_true(qy_query_equal(&a, &b));
	b.none = QY_NONE_SYMBOL;
	assert_false(qy_query_equal(&a, &b));
	a.none = b.none = QY_NONE_VALUE;
	b.none_category = 1;
	assert_false(qy_query_equal(&a, &b));
	m.none = n.none = QY_NONE_VALUE;
	n.none_value = 1;
	assert_false(qy_query_equal(&m, &n));
}

static void what_it_does_to_an_answer_is_said(void **state)
{
	static const struct {
		enum qy_kind kind;
		enum qy_none none;
		const char *text;
	} rows[] = { { QY_HISTOGRAM, QY_NONE_SYMBOL, "devices without a reading are counted apart" },
		{ QY_HISTOGRAM, QY_NONE_EVEN, "devices without a reading count as a category drawn evenly" },
		{ QY_HISTOGRAM, QY_NONE_VALUE, "devices without a reading count as 'c2'" },
		{ QY_MARGINALS, QY_NONE_EVEN, "devices without a reading count as a category drawn evenly" },
		{ QY_MEAN, QY_NONE_SYMBOL, "devices without a reading are counted apart" },
		{ QY_MEAN, QY_NONE_EVEN,
			"devices without a reading count as a number of the range drawn evenly" },
		{ QY_VECTOR, QY_NONE_VALUE, "devices without a reading count as 0.25" },
		{ QY_PREFIXES, QY_NONE_SYMBOL,
			"devices without a reading count among the texts that begin with no candidate" } };
	char text[160];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct qy_query q = query_of_kind(rows[i].kind);

		q.none = rows[i].none;
		q.none_value = 0.25;
		q.none_category = 2;
		qy_query_none_text(&q, text, sizeof text);
		assert_string_equal(text, rows[i].text);
	}
}

/* ---- values ---- */

static void the_symbol_is_beyond_the_domain_and_a_substitute_is_read_as_any_value(void **state)
{
	static const char *const three[] = { "3" };
	uint32_t at[QUERIES_DIMENSION];
	struct qy_value v, read;
	struct qy_query q = query_of_kind(QY_HISTOGRAM);
	char text[80];
	int clamped;

	(void)state;
	q.none = QY_NONE_SYMBOL;
	qy_value_none(&q, NULL, NULL, &v);
	assert_int_equal(v.x, 5);
	qy_value_text(&q, &v, text, sizeof text);
	assert_string_equal(text, QY_NONE_LABEL);
	q.none = QY_NONE_VALUE;
	q.none_category = 3;
	qy_value_none(&q, NULL, NULL, &v);
	assert_int_equal(v.x, 3);
	for (unsigned kind = QY_MEAN; kind <= QY_RANGES; kind <<= 1) {
		q = query_of_kind((enum qy_kind)kind);
		if (kind == QY_VECTOR)
			continue;
		q.none = QY_NONE_SYMBOL;
		qy_value_none(&q, NULL, NULL, &v);
		assert_true(v.x == QY_NUMBER_NONE && v.x > UINT64_C(1) << 32);
		qy_value_text(&q, &v, text, sizeof text);
		assert_string_equal(text, QY_NONE_LABEL);
		q.none = QY_NONE_VALUE;
		q.none_value = 3;
		qy_value_none(&q, NULL, NULL, &v);
		assert_int_equal(qy_value_read(&q, three, NULL, &read, &clamped, &err), CM_OK);
		assert_int_equal(v.x, read.x);
	}
	q = query_of_kind(QY_VECTOR);
	q.none = QY_NONE_VALUE;
	qy_value_none(&q, NULL, at, &v);
	for (uint32_t c = 0; c < QUERIES_DIMENSION; c++)
		assert_int_equal(v.at[c], UINT32_C(1) << 30);
	q = query_of_kind(QY_MARGINALS);
	q.none = QY_NONE_SYMBOL;
	qy_value_none(&q, NULL, at, &v);
	assert_true(at[0] == 2 && at[1] == 3 && at[2] == 2);
	qy_value_text(&q, &v, text, sizeof text);
	assert_string_equal(text, QY_NONE_LABEL ", " QY_NONE_LABEL ", " QY_NONE_LABEL);
	q = query_of_kind(QY_PREFIXES);
	qy_value_none(&q, NULL, NULL, &v);
	assert_int_equal(v.x, q.categories);
}

/* Five standard errors of a uniform law: of its mean, and of each category's share. */
static void even_is_uniform(void **state)
{
	struct qy_query h = query_of_kind(QY_HISTOGRAM), m = query_of_kind(QY_MEAN),
			k = query_of_kind(QY_MARGINALS), vector = query_of_kind(QY_VECTOR);
	uint32_t seen[5] = { 0 }, pair[2][3] = { { 0 } }, at[QUERIES_DIMENSION];
	double sum = 0, square = 0, coordinate = 0, sd = sqrt(1.0 / 12 / DRAWS);
	struct qy_value v;

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		qy_value_none(&h, &rng, NULL, &v);
		assert_true(v.x < 5);
		seen[v.x]++;
		qy_value_none(&m, &rng, NULL, &v);
		assert_true(v.x <= UINT64_C(1) << 32);
		sum += (double)v.x * 0x1p-32;
		square += (double)v.x * 0x1p-32 * (double)v.x * 0x1p-32;
		qy_value_none(&k, &rng, at, &v);
		assert_true(at[0] < 2 && at[1] < 3 && at[2] < 2);
		pair[at[0]][at[1]]++;
		qy_value_none(&vector, &rng, at, &v);
		assert_true(at[5] <= UINT32_C(1) << 31);
		coordinate += at[5] * 0x1p-31;
	}
	for (int x = 0; x < 5; x++)
		assert_true(fabs(seen[x] - DRAWS / 5.0) < 5 * sqrt(DRAWS * 0.16));
	for (int x = 0; x < 6; x++)
		assert_true(fabs(pair[x / 3][x % 3] - DRAWS / 6.0) < 5 * sqrt(DRAWS * 5 / 36.0));
	assert_true(fabs(sum / DRAWS - 0.5) < 5 * sd && fabs(coordinate / DRAWS - 0.5) < 5 * sd);
	assert_true(fabs(square / DRAWS - 1 / 3.0) < 5 * sqrt((1 / 5.0 - 1 / 9.0) / DRAWS));
}

/* Take values from draws, and from the same draws with all bits inverted. */
struct turned {
	uint8_t mask;
	uint64_t drawn;
};

static void fill_turned(void *ctx, void *out, size_t n)
{
	struct turned *t = ctx;

	for (size_t i = 0; i < n; i++)
		((uint8_t *)out)[i] = (uint8_t)(++t->drawn * 157 >> 3) ^ t->mask;
}

static void fill_ones(void *ctx, void *out, size_t n)
{
	(void)ctx;
	memset(out, 255, n);
}

/* Two opposite draws give opposite values, so the mean is the middle; equal bits give the ends. */
static void an_even_vector_is_in_the_middle(void **state)
{
	struct qy_query q = { .kind = QY_VECTOR, .low = -1, .high = 1, .dimension = 7, .none = QY_NONE_EVEN };
	uint32_t at[7], other[7], ends[7];
	struct turned some = { 0, 0 }, opposite = { 255, 0 };
	struct cr_rng from = { fill_turned, &some }, turned = { fill_turned, &opposite }, ones;
	struct qy_value v;

	(void)state;
	for (int turn = 0; turn < 100; turn++) {
		qy_value_none(&q, &from, at, &v);
		qy_value_none(&q, &turned, other, &v);
		for (uint32_t i = 0; i < 7; i++) {
			assert_true(at[i] <= UINT32_C(1) << 31 && (i == 0 || at[i] != at[0]));
			assert_int_equal((uint64_t)at[i] + other[i], UINT64_C(1) << 31);
		}
	}
	ones = (struct cr_rng){ fill_ones, NULL };
	qy_value_none(&q, &ones, ends, &v);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(ends[i], UINT32_C(1) << 31);
}

static void whatever_a_device_holds_it_has_a_value(void **state)
{
	static const struct {
		enum qy_kind kind;
		const char *text; /* NULL: there is no such field */
		uint32_t missing;
		uint64_t x;
		int clamped;
	} rows[] = { { QY_HISTOGRAM, "c1", 0, 1, 0 }, { QY_HISTOGRAM, "c9", 1, 5, 0 },
		{ QY_HISTOGRAM, "", 1, 5, 0 }, { QY_HISTOGRAM, QY_NONE_LABEL, 1, 5, 0 },
		{ QY_HISTOGRAM, NULL, 1, 5, 0 }, { QY_MEAN, "5", 0, UINT64_C(1) << 31, 0 },
		{ QY_MEAN, "50", 0, UINT64_C(1) << 32, 1 }, { QY_MEAN, "nan", 1, QY_NUMBER_NONE, 0 },
		{ QY_MEAN, "inf", 1, QY_NUMBER_NONE, 0 }, { QY_MEAN, "5 m", 1, QY_NUMBER_NONE, 0 },
		{ QY_MEAN, "", 1, QY_NUMBER_NONE, 0 }, { QY_MEAN, NULL, 1, QY_NUMBER_NONE, 0 },
		{ QY_PREFIXES, "pq", 0, 1, 0 }, { QY_PREFIXES, "AB", 0, 3, 0 }, { QY_PREFIXES, "", 1, 3, 0 },
		{ QY_PREFIXES, NULL, 1, 3, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct qy_query q = query_of_kind(rows[i].kind);
		struct qy_value v;
		int clamped = 2;

		q.none = QY_NONE_SYMBOL;
		assert_int_equal(qy_value_take(&q, &rows[i].text, NULL, NULL, &v, &clamped), rows[i].missing);
		assert_int_equal(v.x, rows[i].x);
		assert_int_equal(clamped, rows[i].clamped);
	}
}

static void what_is_valid_of_several_fields_counts(void **state)
{
	static struct qy_column xyz[3] = { { .name = "x" }, { .name = "y" }, { .name = "z" } };
	static const char *const numbers[] = { "0.5", "warm", NULL }, *const words[] = { "c1", NULL, "c2" };
	struct qy_query v = query_of_kind(QY_VECTOR), m = query_of_kind(QY_MARGINALS);
	uint32_t at[QUERIES_DIMENSION];
	struct qy_value out;
	int clamped;

	(void)state;
	v.field[0] = '\0';
	v.column = xyz;
	v.columns = v.dimension = 3;
	v.none = QY_NONE_VALUE;
	v.none_value = -0.5;
	assert_int_equal(qy_value_take(&v, numbers, NULL, at, &out, &clamped), 2);
	assert_true(at[0] == 3u << 29 && at[1] == 1u << 29 && at[2] == 1u << 29);
	/* A single field that holds all numbers is read whole or not at all. */
	v = query_of_kind(QY_VECTOR);
	v.none = QY_NONE_VALUE;
	assert_int_equal(
		qy_value_take(&v, (const char *const[]){ "1 1 1 1 1" }, NULL, at, &out, &clamped), 1);
	for (uint32_t c = 0; c < QUERIES_DIMENSION; c++)
		assert_int_equal(at[c], UINT32_C(1) << 30);
	assert_int_equal(
		qy_value_take(&v, (const char *const[]){ "9 1 1 1 1 1" }, NULL, at, &out, &clamped), 0);
	assert_true(clamped == 1 && at[0] == UINT32_C(1) << 31);
	m.none = QY_NONE_SYMBOL;
	assert_int_equal(qy_value_take(&m, words, NULL, at, &out, &clamped), 2);
	assert_true(out.at == at && at[0] == 1 && at[1] == 3 && at[2] == 2);
	m.none = QY_NONE_EVEN;
	for (int i = 0; i < 50; i++) {
		assert_int_equal(qy_value_take(&m, words, &rng, at, &out, &clamped), 2);
		assert_true(at[0] == 1 && at[1] < 3 && at[2] < 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_knows_what_is_possible_without_a_reading),
		cmocka_unit_test(a_substitute_is_of_the_domain_and_stands_where_it_is_used),
		cmocka_unit_test(the_symbol_takes_the_place_of_a_category),
		cmocka_unit_test(queries_differ_by_how_devices_without_a_reading_count),
		cmocka_unit_test(what_it_does_to_an_answer_is_said),
		cmocka_unit_test(the_symbol_is_beyond_the_domain_and_a_substitute_is_read_as_any_value),
		cmocka_unit_test(even_is_uniform),
		cmocka_unit_test(an_even_vector_is_in_the_middle),
		cmocka_unit_test(whatever_a_device_holds_it_has_a_value),
		cmocka_unit_test(what_is_valid_of_several_fields_counts),
	};

	return RUN_SEEDED(tests, &rng, "none");
}
