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

static enum cm_rc refuse(const struct pt_query *q)
{
	struct cm_err e = { 0 };

	return pt_query_check(q, &e);
}

/* ---- queries ---- */

static void every_kind_knows_what_is_possible_without_a_reading(void **state)
{
	static const struct {
		enum pt_kind kind;
		bool even, symbol, value;
	} rows[] = { { PT_HISTOGRAM, true, true, true }, { PT_MEAN, true, true, true },
		{ PT_QUANTILES, true, true, true }, { PT_SUM, true, true, true },
		{ PT_VECTOR, true, false, true }, { PT_RANGES, true, true, true },
		{ PT_MARGINALS, true, true, false }, { PT_PREFIXES, false, true, false } };

	(void)state;
	for (size_t i = 0; pt_kind_at(i) != 0; i++) {
		struct pt_query q = query_of_kind(rows[i].kind);

		assert_int_equal(rows[i].kind, pt_kind_at(i));
		q.none = PT_NONE_EVEN;
		assert_int_equal(refuse(&q), rows[i].even ? CM_OK : CM_ECONFIG);
		q.none = PT_NONE_SYMBOL;
		assert_int_equal(refuse(&q), rows[i].symbol ? CM_OK : CM_ECONFIG);
		q.none = PT_NONE_VALUE;
		assert_int_equal(refuse(&q), rows[i].value ? CM_OK : CM_ECONFIG);
		q.none = (enum pt_none)3;
		assert_int_equal(refuse(&q), CM_ECONFIG);
	}
}

static void a_substitute_is_of_the_domain_and_stands_where_it_is_used(void **state)
{
	struct pt_query h = query_of_kind(PT_HISTOGRAM), m = query_of_kind(PT_MEAN);
	static const double bad[] = { -0.001, 10.001, (double)NAN, (double)INFINITY };

	(void)state;
	h.none = m.none = PT_NONE_VALUE;
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
		h.none = m.none = symbol ? PT_NONE_SYMBOL : PT_NONE_EVEN;
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
	struct pt_query q = query_of_kind(PT_HISTOGRAM);
	struct pt_query m = query_of_kind(PT_MARGINALS);
	struct pt_column both[2] = { { "a", words, 64 }, { "b", words, 64 } };
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
	q.none = m.none = PT_NONE_SYMBOL;
	assert_int_equal(refuse(&q), CM_ECONFIG);
	assert_int_equal(refuse(&m), CM_ECONFIG);
	q.categories--;
	both[0].categories = both[1].categories = 63;
	assert_int_equal(refuse(&q), CM_OK);
	assert_int_equal(refuse(&m), CM_OK);
	assert_int_equal(pt_query_bins(&q), MOST);
}

static void queries_differ_by_how_devices_without_a_reading_count(void **state)
{
	struct pt_query a = query_of_kind(PT_HISTOGRAM), b = a, m = query_of_kind(PT_MEAN), n = m;

	(void)state;
	assert_true(pt_query_equal(&a, &b));
	b.none = PT_NONE_SYMBOL;
	assert_false(pt_query_equal(&a, &b));
	a.none = b.none = PT_NONE_VALUE;
	b.none_category = 1;
	assert_false(pt_query_equal(&a, &b));
	m.none = n.none = PT_NONE_VALUE;
	n.none_value = 1;
	assert_false(pt_query_equal(&m, &n));
}

static void what_it_does_to_an_answer_is_said(void **state)
{
	static const struct {
		enum pt_kind kind;
		enum pt_none none;
		const char *text;
	} rows[] = { { PT_HISTOGRAM, PT_NONE_SYMBOL, "devices without a reading are counted apart" },
		{ PT_HISTOGRAM, PT_NONE_EVEN, "devices without a reading count as a category drawn evenly" },
		{ PT_HISTOGRAM, PT_NONE_VALUE, "devices without a reading count as 'c2'" },
		{ PT_MARGINALS, PT_NONE_EVEN, "devices without a reading count as a category drawn evenly" },
		{ PT_MEAN, PT_NONE_SYMBOL, "devices without a reading are counted apart" },
		{ PT_MEAN, PT_NONE_EVEN,
			"devices without a reading count as a number of the range drawn evenly" },
		{ PT_VECTOR, PT_NONE_VALUE, "devices without a reading count as 0.25" },
		{ PT_PREFIXES, PT_NONE_SYMBOL,
			"devices without a reading count among the texts that begin with no candidate" } };
	char text[160];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct pt_query q = query_of_kind(rows[i].kind);

		q.none = rows[i].none;
		q.none_value = 0.25;
		q.none_category = 2;
		pt_query_none_text(&q, text, sizeof text);
		assert_string_equal(text, rows[i].text);
	}
}

/* ---- values ---- */

static void the_symbol_is_beyond_the_domain_and_a_substitute_is_read_as_any_value(void **state)
{
	static const char *const three[] = { "3" };
	uint32_t at[QUERIES_DIMENSION];
	struct pt_value v, read;
	struct pt_query q = query_of_kind(PT_HISTOGRAM);
	char text[80];
	int clamped;

	(void)state;
	q.none = PT_NONE_SYMBOL;
	pt_value_none(&q, NULL, NULL, &v);
	assert_int_equal(v.x, 5);
	pt_value_text(&q, &v, text, sizeof text);
	assert_string_equal(text, PT_NONE_LABEL);
	q.none = PT_NONE_VALUE;
	q.none_category = 3;
	pt_value_none(&q, NULL, NULL, &v);
	assert_int_equal(v.x, 3);
	for (unsigned kind = PT_MEAN; kind <= PT_RANGES; kind <<= 1) {
		q = query_of_kind((enum pt_kind)kind);
		if (kind == PT_VECTOR)
			continue;
		q.none = PT_NONE_SYMBOL;
		pt_value_none(&q, NULL, NULL, &v);
		assert_true(v.x == PT_NUMBER_NONE && v.x > UINT64_C(1) << 32);
		pt_value_text(&q, &v, text, sizeof text);
		assert_string_equal(text, PT_NONE_LABEL);
		q.none = PT_NONE_VALUE;
		q.none_value = 3;
		pt_value_none(&q, NULL, NULL, &v);
		assert_int_equal(pt_value_read(&q, three, NULL, &read, &clamped, &err), CM_OK);
		assert_int_equal(v.x, read.x);
	}
	q = query_of_kind(PT_VECTOR);
	q.none = PT_NONE_VALUE;
	pt_value_none(&q, NULL, at, &v);
	for (uint32_t c = 0; c < QUERIES_DIMENSION; c++)
		assert_int_equal(v.at[c], UINT32_C(1) << 30);
	q = query_of_kind(PT_MARGINALS);
	q.none = PT_NONE_SYMBOL;
	pt_value_none(&q, NULL, at, &v);
	assert_true(at[0] == 2 && at[1] == 3 && at[2] == 2);
	pt_value_text(&q, &v, text, sizeof text);
	assert_string_equal(text, PT_NONE_LABEL ", " PT_NONE_LABEL ", " PT_NONE_LABEL);
	q = query_of_kind(PT_PREFIXES);
	pt_value_none(&q, NULL, NULL, &v);
	assert_int_equal(v.x, q.categories);
}

/* Five standard errors of a uniform law: of its mean, and of each category's share. */
static void even_is_uniform(void **state)
{
	struct pt_query h = query_of_kind(PT_HISTOGRAM), m = query_of_kind(PT_MEAN),
			k = query_of_kind(PT_MARGINALS), vector = query_of_kind(PT_VECTOR);
	uint32_t seen[5] = { 0 }, pair[2][3] = { { 0 } }, at[QUERIES_DIMENSION];
	double sum = 0, square = 0, coordinate = 0, sd = sqrt(1.0 / 12 / DRAWS);
	struct pt_value v;

	(void)state;
	for (int i = 0; i < DRAWS; i++) {
		pt_value_none(&h, &rng, NULL, &v);
		assert_true(v.x < 5);
		seen[v.x]++;
		pt_value_none(&m, &rng, NULL, &v);
		assert_true(v.x <= UINT64_C(1) << 32);
		sum += (double)v.x * 0x1p-32;
		square += (double)v.x * 0x1p-32 * (double)v.x * 0x1p-32;
		pt_value_none(&k, &rng, at, &v);
		assert_true(at[0] < 2 && at[1] < 3 && at[2] < 2);
		pair[at[0]][at[1]]++;
		pt_value_none(&vector, &rng, at, &v);
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

static void whatever_a_device_holds_it_has_a_value(void **state)
{
	static const struct {
		enum pt_kind kind;
		const char *text; /* NULL: there is no such field */
		uint32_t missing;
		uint64_t x;
		int clamped;
	} rows[] = { { PT_HISTOGRAM, "c1", 0, 1, 0 }, { PT_HISTOGRAM, "c9", 1, 5, 0 },
		{ PT_HISTOGRAM, "", 1, 5, 0 }, { PT_HISTOGRAM, PT_NONE_LABEL, 1, 5, 0 },
		{ PT_HISTOGRAM, NULL, 1, 5, 0 }, { PT_MEAN, "5", 0, UINT64_C(1) << 31, 0 },
		{ PT_MEAN, "50", 0, UINT64_C(1) << 32, 1 }, { PT_MEAN, "nan", 1, PT_NUMBER_NONE, 0 },
		{ PT_MEAN, "inf", 1, PT_NUMBER_NONE, 0 }, { PT_MEAN, "5 m", 1, PT_NUMBER_NONE, 0 },
		{ PT_MEAN, "", 1, PT_NUMBER_NONE, 0 }, { PT_MEAN, NULL, 1, PT_NUMBER_NONE, 0 },
		{ PT_PREFIXES, "pq", 0, 1, 0 }, { PT_PREFIXES, "AB", 0, 3, 0 }, { PT_PREFIXES, "", 1, 3, 0 },
		{ PT_PREFIXES, NULL, 1, 3, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct pt_query q = query_of_kind(rows[i].kind);
		struct pt_value v;
		int clamped = 2;

		q.none = PT_NONE_SYMBOL;
		assert_int_equal(pt_value_take(&q, &rows[i].text, NULL, NULL, &v, &clamped), rows[i].missing);
		assert_int_equal(v.x, rows[i].x);
		assert_int_equal(clamped, rows[i].clamped);
	}
}

static void what_is_valid_of_several_fields_counts(void **state)
{
	static struct pt_column xyz[3] = { { .name = "x" }, { .name = "y" }, { .name = "z" } };
	static const char *const numbers[] = { "0.5", "warm", NULL }, *const words[] = { "c1", NULL, "c2" };
	struct pt_query v = query_of_kind(PT_VECTOR), m = query_of_kind(PT_MARGINALS);
	uint32_t at[QUERIES_DIMENSION];
	struct pt_value out;
	int clamped;

	(void)state;
	v.field[0] = '\0';
	v.column = xyz;
	v.columns = v.dimension = 3;
	v.none = PT_NONE_VALUE;
	v.none_value = -0.5;
	assert_int_equal(pt_value_take(&v, numbers, NULL, at, &out, &clamped), 2);
	assert_true(at[0] == 3u << 29 && at[1] == 1u << 29 && at[2] == 1u << 29);
	/* One field that holds them all is read whole or not at all. */
	v = query_of_kind(PT_VECTOR);
	v.none = PT_NONE_VALUE;
	assert_int_equal(
		pt_value_take(&v, (const char *const[]){ "1 1 1 1 1" }, NULL, at, &out, &clamped), 1);
	for (uint32_t c = 0; c < QUERIES_DIMENSION; c++)
		assert_int_equal(at[c], UINT32_C(1) << 30);
	assert_int_equal(
		pt_value_take(&v, (const char *const[]){ "9 1 1 1 1 1" }, NULL, at, &out, &clamped), 0);
	assert_true(clamped == 1 && at[0] == UINT32_C(1) << 31);
	m.none = PT_NONE_SYMBOL;
	assert_int_equal(pt_value_take(&m, words, NULL, at, &out, &clamped), 2);
	assert_true(out.at == at && at[0] == 1 && at[1] == 3 && at[2] == 2);
	m.none = PT_NONE_EVEN;
	for (int i = 0; i < 50; i++) {
		assert_int_equal(pt_value_take(&m, words, &rng, at, &out, &clamped), 2);
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
		cmocka_unit_test(whatever_a_device_holds_it_has_a_value),
		cmocka_unit_test(what_is_valid_of_several_fields_counts),
	};

	return RUN_SEEDED(tests, &rng, "none");
}
