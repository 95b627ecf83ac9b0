/* test_rd_query.c - questions and slots on the wire: every kind there and back, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bend.h"
#include "cm_buf.h"
#include "golden.h"
#include "pt_protocol.h"
#include "rd_query.h"
#include "rd_randomizer.h"

static struct cm_err err;

static char *yes_no[] = { (char *)"yes", (char *)"no" };
static char *candidates[] = { (char *)"00", (char *)"fe" };
static char *xyz[] = { (char *)"x", (char *)"y", (char *)"z" };
static struct qy_column xy[] = { { .name = "x" }, { .name = "y" } };
static struct qy_column grid[] = { { .name = "x", .high = 2, .cells = 3 },
	{ .name = "y", .low = -1, .high = 1, .cells = 1365 } };
static struct qy_column ab[] = { { .name = "a", .category = yes_no, .categories = 2 },
	{ .name = "b", .category = yes_no, .categories = 2 } };
static uint32_t sets[] = { 3, 1 };
static double thirds[] = { 1.0 / 3, 2.0 / 3 };

/* One of each, and each way to take part without a reading. */
static const struct qy_query all[] = {
	{ .kind = QY_HISTOGRAM, .name = "q", .field = "f", .category = yes_no, .categories = 2 },
	{ .kind = QY_MEAN, .name = "q", .field = "f", .low = -1, .high = 2 },
	{ .kind = QY_QUANTILES, .name = "q", .field = "f", .high = 2 },
	{ .kind = QY_QUANTILES,
		.name = "q",
		.field = "f",
		.high = 2,
		.probability = thirds,
		.probabilities = 2 },
	{ .kind = QY_SUM, .name = "q", .field = "f", .high = 2 },
	{ .kind = QY_VECTOR, .name = "q", .field = "f", .high = 2, .dimension = 100000 },
	{ .kind = QY_VECTOR, .name = "q", .high = 2, .dimension = 2, .column = xy, .columns = 2 },
	{ .kind = QY_RANGES, .name = "q", .field = "f", .high = 2, .leaves = 64, .fanout = 8 },
	{ .kind = QY_MARGINALS, .name = "q", .column = ab, .columns = 2, .marginal = sets, .marginals = 2 },
	{ .kind = QY_HISTOGRAM,
		.name = "q",
		.field = "f",
		.category = xyz,
		.categories = 3,
		.none = QY_NONE_SYMBOL },
	{ .kind = QY_HISTOGRAM,
		.name = "q",
		.field = "f",
		.category = xyz,
		.categories = 3,
		.none = QY_NONE_VALUE,
		.none_category = 2 },
	{ .kind = QY_MEAN, .name = "q", .field = "f", .high = 2, .none = QY_NONE_VALUE, .none_value = 0.25 },
	{ .kind = QY_SETS,
		.name = "q",
		.field = "f",
		.category = xyz,
		.categories = 3,
		.none = QY_NONE_VALUE,
		.none_category = 1 },
	{ .kind = QY_PREFIXES,
		.name = "q",
		.field = "f",
		.bits = 8,
		.category = candidates,
		.categories = 2,
		.none = QY_NONE_SYMBOL },
	{ .kind = QY_PLACES, .name = "q", .column = grid, .columns = 2 },
};

enum { PREFIXES = sizeof all / sizeof all[0] - 2, PLACES };

static void encode(const struct qy_query *q, struct cm_buf *out)
{
	struct rd_query_wire w;

	cm_buf_init(out, PR_DESCRIPTOR_MAX);
	assert_int_equal(rd_query_wire(q, &w, &err), CM_OK);
	assert_int_equal(pr_doc_encode(&w.m.base, out, &err), CM_OK);
	rd_query_wire_fini(&w);
}

static void same_texts(char *const *a, uint32_t n, char *const *b, uint32_t m)
{
	assert_int_equal(n, m);
	for (uint32_t i = 0; i < n; i++)
		assert_string_equal(a[i], b[i]);
}

static void same(const struct qy_query *a, const struct qy_query *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_string_equal(a->name, b->name);
	assert_string_equal(a->field, b->field);
	same_texts(a->category, a->categories, b->category, b->categories);
	assert_true(a->low == b->low && a->high == b->high);
	assert_true(
		a->none == b->none && a->none_value == b->none_value && a->none_category == b->none_category);
	assert_int_equal(a->columns, b->columns);
	for (uint32_t i = 0; i < a->columns; i++) {
		assert_string_equal(a->column[i].name, b->column[i].name);
		same_texts(a->column[i].category, a->column[i].categories, b->column[i].category,
			b->column[i].categories);
	}
	assert_int_equal(a->marginals, b->marginals);
	for (uint32_t i = 0; i < a->marginals; i++)
		assert_int_equal(a->marginal[i], b->marginal[i]);
	assert_int_equal(a->probabilities, b->probabilities);
	for (uint32_t i = 0; i < a->probabilities; i++)
		assert_true(a->probability[i] == b->probability[i]);
	assert_true(a->dimension == b->dimension && a->leaves == b->leaves && a->fanout == b->fanout &&
		    a->bits == b->bits);
}

static void a_question_of_each_kind_survives_the_wire(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		struct qy_query back = { 0 };
		struct pr_doc doc;
		struct cm_buf b;

		encode(&all[i], &b);
		assert_int_equal(pr_doc_decode(&tombola__v1__query__descriptor, b.data, b.len,
					 PR_DESCRIPTOR_MAX, &doc, &err),
			CM_OK);
		if (rd_query_read((const Tombola__V1__Query *)doc.msg, &back, &err) != CM_OK)
			fail_msg("%s: %s", qy_kind_name(all[i].kind), err.msg);
		same(&all[i], &back);
		assert_int_equal(rd_descriptor_fits(&all[i], NULL, &err), CM_OK);
		qy_query_fini(&back);
		pr_doc_free(&doc);
		cm_buf_fini(&b);
	}
}

/* Question i with one thing changed. */
#define REFUSED(i, text, statement)                                        \
	do {                                                               \
		struct qy_query back = { 0 };                              \
		struct rd_query_wire w;                                    \
		assert_int_equal(rd_query_wire(&all[i], &w, &err), CM_OK); \
		statement;                                                 \
		if (rd_query_read(&w.m, &back, &err) != CM_EPROTO)         \
			fail_msg("line %d: accepted", __LINE__);           \
		if (!strstr(err.msg, text))                                \
			fail_msg("line %d: '%s'", __LINE__, err.msg);      \
		qy_query_fini(&back);                                      \
		rd_query_wire_fini(&w);                                    \
	} while (0)

static void what_a_question_does_not_have_is_refused(void **state)
{
	uint32_t bad_sets[] = { 3, 3 };
	double falls[] = { 0.5, 0.25 };
	char *bell[] = { (char *)"a", (char *)"b\a" };

	(void)state;
	REFUSED(0, "histogram has no dimension", w.m.dimension = 2);
	REFUSED(0, "histogram has no bits", w.m.bits = 4);
	REFUSED(0, "histogram has no probabilities", (w.m.probabilities = thirds, w.m.n_probabilities = 1));
	REFUSED(1, "mean has no leaves", w.m.fanout = 2);
	REFUSED(1, "mean has no marginals", (w.m.marginals = sets, w.m.n_marginals = 1));
	REFUSED(3, "probabilities must rise", w.m.probabilities = falls);
	REFUSED(5, "query.kind", w.m.kind = (Tombola__V1__QueryKind)(16 + 8));
	REFUSED(5, "query.kind", w.m.kind = (Tombola__V1__QueryKind)1024);
	REFUSED(5, "query.kind", w.m.kind = (Tombola__V1__QueryKind)-1);
	REFUSED(5, "dimension 4294967295", w.m.dimension = UINT32_MAX);
	REFUSED(6, "query.field: given", w.m.field = (char *)(uintptr_t) "f");
	REFUSED(6, "query.field: missing", w.m.n_columns = 0);
	REFUSED(6, "2 columns for dimension 3", w.m.dimension = 3);
	REFUSED(6, "query.columns.name", w.column[1].name = (char *)(uintptr_t) "");
	REFUSED(6, "query.columns.name", w.column[1].name = (char *)(uintptr_t) "two\nlines");
	REFUSED(7, "leaves of fanout", w.m.leaves = 63);
	REFUSED(8, "query.columns.categories: number 2", w.column[1].categories = bell);
	REFUSED(8, "marginal 1 twice", w.m.marginals = bad_sets);
	REFUSED(8, "must be 1 to 16", w.m.n_marginals = 0);
	REFUSED(PREFIXES, "candidate 0 is not", w.m.bits = 4);
	REFUSED(PREFIXES, "0 candidates", w.m.n_categories = 0);
	REFUSED(PREFIXES, "none of prefixes", w.m.none = 0);
	REFUSED(0, "no way to take part", w.m.none = 3);
	REFUSED(0, "no way to take part", w.m.none = UINT32_MAX);
	REFUSED(0, "where it has no use", w.m.none_category = 1);
	REFUSED(0, "where it has no use", w.m.none_value = NAN);
	REFUSED(1, "where it has no use", w.m.none_value = 1);
	REFUSED(1, "none must be in the range, -1 to 2", (w.m.none = 2, w.m.none_value = 2.5));
	REFUSED(1, "none must be in the range, -1 to 2", (w.m.none = 2, w.m.none_value = NAN));
	REFUSED(5, "no room for a symbol", w.m.none = 1);
	REFUSED(8, "no substitute", w.m.none = 2);
	REFUSED(PLACES, "none of places must be", w.m.none = 1);
	REFUSED(PLACES, "range of 'y'", w.m.columns[1]->high = NAN);
	REFUSED(PLACES, "range of 'x'", w.m.columns[0]->high = -INFINITY);
	REFUSED(PLACES, "1 cells of 'x'", w.m.columns[0]->cells = 1);
	REFUSED(PLACES, "more than 4096 cells", w.m.columns[0]->cells = 4);
	REFUSED(PLACES, "1 columns, places have two", w.m.n_columns = 1);
	REFUSED(6, "only places have cells", w.m.columns[1]->cells = 2);
	REFUSED(10, "none is category 3 of 3", w.m.none_category = 3);
}

static void a_question_too_long_for_a_descriptor_is_said_in_the_plan(void **state)
{
	enum { N = 400 };
	static char text[N][PR_TEXT_MAX + 1], *list[N], *few[4096], digit[4096][8];
	struct qy_column column[4];
	struct qy_query q = {
		.kind = QY_HISTOGRAM, .name = "q", .field = "f", .category = list, .categories = N
	};

	(void)state;
	for (size_t i = 0; i < N; i++) {
		(void)snprintf(text[i], sizeof text[i], "%0200zu", i);
		list[i] = text[i];
	}
	assert_int_equal(qy_query_check(&q, &err), CM_OK);
	assert_int_equal(rd_descriptor_fits(&q, NULL, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "make a descriptor of 85"));
	q.categories = 300;
	assert_int_equal(rd_descriptor_fits(&q, NULL, &err), CM_OK);
	/* Short ones are too many for a frame before they are too long. */
	for (size_t i = 0; i < 4096; i++) {
		(void)snprintf(digit[i], sizeof digit[i], "%zx", i);
		few[i] = digit[i];
	}
	for (size_t i = 0; i < 4; i++) {
		column[i] = (struct qy_column){ .category = few, .categories = 4096 };
		(void)snprintf(column[i].name, sizeof column[i].name, "%zu", i);
	}
	q = (struct qy_query){ .kind = QY_MARGINALS, .name = "q", .column = column, .columns = 3 };
	assert_int_equal(rd_descriptor_fits(&q, NULL, &err), CM_OK);
	q.columns = 4;
	assert_int_equal(rd_descriptor_fits(&q, NULL, &err), CM_ECONFIG);
}

/* ---- slots ---- */

/* The randomizer of the marginals above, as a row makes it. */
static void made_slots(struct rd_descriptor *d, struct rd_randomizer_wire *w)
{
	const struct pt_request r = { .epsilon0 = 2, .dummies = 3, .min_reports = 1000 };
	struct pt_randomizer p;

	*d = (struct rd_descriptor){ .query = all[8] };
	if (pt_derive(pt_find("marginals"), &d->query, &r, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(p.slots.kinds, 2);
	d->randomizer = p;
	rd_randomizer_wire(&d->randomizer, w);
}

static void slots_survive_the_wire(void **state)
{
	struct rd_descriptor d, back;
	struct rd_randomizer_wire w;
	struct cm_buf b;
	struct pr_doc doc;

	(void)state;
	made_slots(&d, &w);
	cm_buf_init(&b, PR_DESCRIPTOR_MAX);
	assert_int_equal(pr_doc_encode(&w.m.base, &b, &err), CM_OK);
	assert_int_equal(pr_doc_decode(&tombola__v1__randomizer__descriptor, b.data, b.len, PR_DESCRIPTOR_MAX,
				 &doc, &err),
		CM_OK);
	back = (struct rd_descriptor){ .query = all[8] };
	if (rd_randomizer_read(
		    (const Tombola__V1__Randomizer *)doc.msg, &back.query, &back.randomizer, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_true(pt_randomizer_equal(&d.randomizer, &back.randomizer));
	assert_int_equal(back.randomizer.slots.kinds, 2);
	assert_true(
		back.randomizer.slots.slot[0].each.bins == 4 && back.randomizer.slots.slot[1].each.bins == 2);
	pr_doc_free(&doc);
	cm_buf_fini(&b);
}

#define BAD_SLOTS(text, statement)                                                        \
	do {                                                                              \
		struct rd_descriptor d;                                                   \
		struct rd_randomizer_wire w;                                              \
		made_slots(&d, &w);                                                       \
		statement;                                                                \
		if (rd_randomizer_read(&w.m, &d.query, &d.randomizer, &err) != CM_EPROTO) \
			fail_msg("line %d: accepted", __LINE__);                          \
		if (!strstr(err.msg, text))                                               \
			fail_msg("line %d: '%s'", __LINE__, err.msg);                     \
	} while (0)

static void slots_out_of_range_are_refused(void **state)
{
	(void)state;
	BAD_SLOTS("0 slots of a kind", BEND(&w.m, "marginals", p.slots.slot[0].count = 0));
	BAD_SLOTS("messages of a device", BEND(&w.m, "marginals", p.slots.slot[0].count = UINT32_MAX));
	BAD_SLOTS("0 groups", BEND(&w.m, "marginals", p.slots.slot[0].groups = 0));
	BAD_SLOTS("131073 groups", BEND(&w.m, "marginals", p.slots.slot[0].groups = PR_DIMENSION_MAX + 1));
	BAD_SLOTS("1 bins", BEND(&w.m, "marginals", p.slots.slot[1].each.bins = 1));
	BAD_SLOTS("4097 bins", BEND(&w.m, "marginals", p.slots.slot[1].each.bins = PR_CATEGORIES_MAX + 1));
	BAD_SLOTS("messages of a device",
		BEND(&w.m, "marginals", p.slots.slot[0].each.dummies = PR_MESSAGES_MAX));
	BAD_SLOTS(
		"both a keep probability", BEND(&w.m, "marginals", p.slots.slot[0].each.keep_always = true));
	BAD_SLOTS("hardly above", BEND(&w.m, "marginals", p.slots.slot[0].each.keep = 0));
	BAD_SLOTS("not its marginal's", BEND(&w.m, "marginals", p.slots.slot[0].each.bins = 5));
	BAD_SLOTS("not its marginal's", BEND(&w.m, "marginals", p.slots.slot[0].count = 2));
	BAD_SLOTS("1 slots for 2 marginals", BEND(&w.m, "marginals", p.slots.kinds = 1));
	BAD_SLOTS("0 kinds of slots", BEND(&w.m, "marginals", p.slots.kinds = 0));
	/* The bytes of other rows, and lists that are too long or end within a slot. */
	BAD_SLOTS("66 bytes are no parameters of 'grr'",
		(w.m.protocol = (char *)(uintptr_t) "grr", d.query = all[0]));
	BAD_SLOTS("65 bytes", w.m.parameters.len--);
	BAD_SLOTS("67 bytes", w.m.parameters.len++);
	BAD_SLOTS("561 bytes", w.m.parameters.len = 33 * 17);
}

/* Written by another implementation: tests/data/golden/descriptor_marginals.json. */
static void the_golden_descriptor_of_marginals_reads_as_its_json_says(void **state)
{
	struct rd_descriptor d;
	struct cm_buf bytes, b;

	(void)state;
	golden_bytes("descriptor_marginals", &bytes);
	if (rd_descriptor_decode(bytes.data, bytes.len, &d, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(d.query.kind, QY_MARGINALS);
	assert_string_equal(d.query.field, "");
	assert_string_equal(d.query.column[0].category[2], "caf\xc3\xa9");
	assert_true(d.query.marginals == 2 && d.query.marginal[0] == 3 && d.query.marginal[1] == 2);
	assert_true(d.randomizer.slots.kinds == 2 && d.randomizer.slots.slot[0].each.bins == 6 &&
		    d.randomizer.slots.slot[1].each.bins == 2);
	assert_true(d.randomizer.slots.slot[1].each.keep == UINT64_C(13485650502877570698));
	cm_buf_init(&b, PR_DESCRIPTOR_MAX);
	assert_int_equal(rd_descriptor_encode(&d, &b, &err), CM_OK);
	assert_int_equal(b.len, bytes.len);
	assert_memory_equal(b.data, bytes.data, b.len);
	cm_buf_fini(&b);
	cm_buf_fini(&bytes);
	rd_descriptor_fini(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_of_each_kind_survives_the_wire),
		cmocka_unit_test(what_a_question_does_not_have_is_refused),
		cmocka_unit_test(a_question_too_long_for_a_descriptor_is_said_in_the_plan),
		cmocka_unit_test(the_golden_descriptor_of_marginals_reads_as_its_json_says),
		cmocka_unit_test(slots_survive_the_wire),
		cmocka_unit_test(slots_out_of_range_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
