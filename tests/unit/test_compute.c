/* test_compute.c - what is refused before there is a reading, and what a reading is. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "co_clip.h"
#include "co_compute.h"
#include "computed.h"

static void refused(
	const struct qy_computing *c, const struct qy_query *q, const char *says, const char *or_says)
{
	struct cm_err err = { .msg = "nothing" };

	if (co_check(c, q, &err) != CM_EDATA || (!strstr(err.msg, says) && !strstr(err.msg, or_says)))
		fail_msg("wanted '%s', got: %s", says, err.msg);
}

static void passes(const struct qy_computing *c, const struct qy_query *q)
{
	struct cm_err err = { 0 };

	if (co_check(c, q, &err) != CM_OK)
		fail_msg("%s", err.msg);
}

static void parameters_survive_being_written_and_read(void **state)
{
	static const char *const name[] = { "High", "a b", "\xc3\xa9" };
	struct co_parameters p = { .map = co_map_find("linear-gradient"),
		.array = true,
		.label = true,
		.features = 12,
		.clip = 0.25,
		.classes = 3 },
			     out;
	struct qy_computing c = { .fields = 2, .field = { "x", "y" } };
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(co_parameters_write(&p, name, &c, &err), CM_OK);
	assert_int_equal(co_parameters_read(&c, &out, &err), CM_OK);
	assert_ptr_equal(out.map, p.map);
	assert_true(out.array && out.label && out.named && out.clip == 0.25);
	assert_int_equal(out.features, 12);
	assert_int_equal(out.classes, 3);
	for (int i = 0; i < 3; i++)
		assert_memory_equal(c.parameters + out.name_at[i], name[i], strlen(name[i]));
	/* Every other length, and other first four bytes, are refused. */
	for (uint32_t n = 0; n <= PR_COMPUTING_MAX; n++) {
		struct qy_computing cut = c;

		cut.parameters_len = n;
		if (n != c.parameters_len)
			assert_int_equal(co_parameters_read(&cut, &out, &err), CM_EDATA);
	}
	for (unsigned i = 0; i < 4; i++) {
		struct qy_computing other = c;

		other.parameters[i] = 2;
		assert_int_equal(co_parameters_read(&other, &out, &err), CM_EDATA);
	}
}

static void a_map_has_only_what_it_reads(void **state)
{
	struct qy_query q = computed_vector(8, 1);
	struct qy_computing c = computed_by("linear-gradient", 3, 2, CO_PART_ALL, 1), bad;

	(void)state;
	passes(&c, &q);
	bad = computed_by("linear-gradient", 3, 0, CO_PART_ALL, 1);
	refused(&bad, &q, "needs a label", "");
	bad = computed_by("linear-gradient", 3, 2, CO_PART_MEAN, 1);
	refused(&bad, &q, "no parts", "-");
	bad = computed_by("nearest-centroid", 3, 2, CO_PART_ALL, 1);
	refused(&bad, &q, "reads no label", "-");
	bad = computed_by("linear-gradient", 3, 1, CO_PART_ALL, 1);
	refused(&bad, &q, "1 classes", "-");
	bad = computed_by("linear-gradient", 3, 2, CO_PART_ALL, 1);
	bad.fields = 1;
	refused(&bad, &q, "reads 2 fields", "-");
	bad.fields = 2;
	(void)strcpy(bad.field[1], "x");
	refused(&bad, &q, "field 'x' twice", "-");
	bad = computed_by("linear-gradient", 0, 2, CO_PART_ALL, 1);
	refused(&bad, &q, "0 features", "-");
	(void)strcpy(bad.map, "linear");
	refused(&bad, &q, "'linear' is no map", "-");
}

static void bounds_of_vectors_are_checked(void **state)
{
	const double clips[] = { 1.5, INFINITY, NAN, -1, 1e-10 };
	struct qy_computing c = computed_by("linear-gradient", 3, 2, CO_PART_ALL, 1);
	struct qy_query q = computed_vector(8, 1);

	(void)state;
	for (size_t i = 0; i < sizeof clips / sizeof clips[0]; i++) {
		struct qy_computing bad = c;
		uint64_t bits;

		memcpy(&bits, &clips[i], sizeof bits);
		cm_put_le64(bad.parameters + 8, bits);
		refused(&bad, &q, "clip", "-");
	}
	q.low = -2;
	refused(&c, &q, "range must be [-L, L]", "-");
	q = computed_vector(8, 2e9);
	refused(&c, &q, "range must be [-L, L]", "-");
	q = computed_vector(9, 1);
	refused(&c, &q, "dimension is 9", "-");
	q.kind = QY_MEAN;
	refused(&c, &q, "answers queries of type \"vector\"", "-");
	c = computed_by("moments", 3, 2, CO_PART_ALL, 1);
	q = computed_vector(10 + 8, 1);
	passes(&c, &q);
	c = computed_by("network-gradient", 3, 2, CO_PART_ALL, 1);
	q = computed_vector(5 * 4 + 2 * 6, 1);
	passes(&c, &q);
	q = computed_vector(5 * 4 + 2 * 6 + 1, 1);
	refused(&c, &q, "H (m + 1)", "-");
	q = computed_vector(2, 1);
	refused(&c, &q, "H (m + 1)", "-");
}

static enum cm_rc tree_with(
	int32_t feature, int32_t left, int32_t right, float second_edge, struct cm_err *err)
{
	static const uint32_t nodes[1] = { 2 }, edges[2] = { 2, 2 }, columns[] = { 3, 3, 3, 4 };
	struct qy_computing c = computed_by("tree-path", 2, 4, CO_PART_ALL, 0);
	struct qy_query q = computed_columns(columns, 4);
	struct computed_payload p = { .arrays = 0 };
	enum cm_rc rc;

	computed_head(&p, "edges", 1, 2, edges);
	computed_head(&p, "feature", 2, 1, nodes);
	computed_head(&p, "threshold", 1, 1, nodes);
	computed_head(&p, "left", 2, 1, nodes);
	computed_head(&p, "right", 2, 1, nodes);
	computed_float(&p, 0);
	computed_float(&p, second_edge);
	computed_float(&p, -1);
	computed_float(&p, 1);
	computed_int(&p, 0);
	computed_int(&p, feature);
	computed_float(&p, 0);
	computed_float(&p, 0);
	computed_int(&p, left);
	computed_int(&p, -1);
	computed_int(&p, -2);
	computed_int(&p, right);
	computed_end(&p);
	rc = co_payload_check(&c, &q, p.bytes, p.len, err);
	qy_query_fini(&q);
	return rc;
}

/* A chain of n nodes, each with leaf 0 at its left. */
static enum cm_rc chain_of(uint32_t n, struct cm_err *err)
{
	static const uint32_t edges[2] = { 2, 1 }, columns[] = { 3, 2, 2, 4 };
	struct qy_computing c = computed_by("tree-path", 2, 4, CO_PART_ALL, 0);
	struct qy_query q = computed_columns(columns, 4);
	struct computed_payload p = { .arrays = 0 };
	enum cm_rc rc;

	computed_head(&p, "feature", 2, 1, &n);
	computed_head(&p, "threshold", 1, 1, &n);
	computed_head(&p, "left", 2, 1, &n);
	computed_head(&p, "right", 2, 1, &n);
	computed_head(&p, "edges", 1, 2, edges);
	computed_end(&p);
	size_t len = p.len + 16 * (size_t)n + 8;
	uint8_t *bytes = calloc(1, len), *left = bytes + p.len + 8 * (size_t)n, *right = left + 4 * (size_t)n;
	assert_non_null(bytes);
	memcpy(bytes, p.bytes, p.len);
	for (uint32_t i = 0; i < n; i++) {
		cm_put_le32(left + 4 * (size_t)i, UINT32_MAX);
		cm_put_le32(right + 4 * (size_t)i, i + 1 < n ? i + 1 : UINT32_MAX - 1);
	}
	rc = co_payload_check(&c, &q, bytes, len, err);
	free(bytes);
	qy_query_fini(&q);
	return rc;
}

static void the_work_of_a_tree_is_bounded(void **state)
{
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(chain_of(CO_NODES_MAX, &err), CM_OK);
	assert_int_equal(chain_of(CO_NODES_MAX + 1, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "65537 nodes, more than 65536"));
}

static void a_tree_always_ends_in_a_leaf_that_is_asked_for(void **state)
{
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(tree_with(1, 1, -3, 1, &err), CM_OK);
	assert_int_equal(tree_with(2, 1, -3, 1, &err), CM_EDATA); /* a feature beyond */
	assert_int_equal(tree_with(-1, 1, -3, 1, &err), CM_EDATA);
	assert_int_equal(tree_with(1, 0, -3, 1, &err), CM_EDATA); /* a circle */
	assert_int_equal(tree_with(1, 2, -3, 1, &err), CM_EDATA); /* no such node */
	assert_int_equal(tree_with(1, INT32_MAX, -3, 1, &err), CM_EDATA);
	assert_int_equal(tree_with(1, 1, 1, 1, &err), CM_EDATA);  /* itself */
	assert_int_equal(tree_with(1, 1, -4, 1, &err), CM_EDATA); /* leaf 3 of 3 */
	assert_int_equal(tree_with(1, 1, INT32_MIN, 1, &err), CM_EDATA);
	assert_int_equal(tree_with(1, 1, -3, 0, &err), CM_EDATA); /* edges that do not rise */
	assert_non_null(strstr(err.msg, "do not rise"));
}

static void a_payload_has_the_arrays_of_its_map(void **state)
{
	static const uint32_t right[2] = { 2, 4 }, wrong[2] = { 4, 2 };
	struct qy_computing c = computed_by("linear-gradient", 3, 2, CO_PART_ALL, 1);
	struct qy_query q = computed_vector(8, 1);
	struct computed_payload p[5] = { { .arrays = 0 } };
	struct cm_err err = { 0 };

	(void)state;
	computed_head(&p[0], "weights", 1, 2, right);
	computed_head(&p[1], "weights", 1, 2, wrong);
	computed_head(&p[2], "weights", 2, 2, right);
	computed_head(&p[3], "weight", 1, 2, right);
	computed_head(&p[4], "weights", 1, 2, right);
	computed_head(&p[4], "more", 1, 0, right);
	for (unsigned i = 0; i < 5; i++) {
		for (unsigned k = 0; k < 8 + (i == 4); k++)
			computed_int(&p[i], 0);
		computed_end(&p[i]);
		assert_int_equal(
			co_payload_check(&c, &q, p[i].bytes, p[i].len, &err), i == 0 ? CM_OK : CM_EDATA);
	}
	assert_int_equal(co_payload_check(&c, &q, NULL, 0, &err), CM_EDATA);
	assert_non_null(strstr(err.msg, "needs a payload"));
	c = computed_by("moments", 3, 0, CO_PART_MEAN, 1);
	q = computed_vector(3, 1);
	assert_int_equal(co_payload_check(&c, &q, NULL, 0, &err), CM_OK);
}

static bool text_has_value(struct co_maker *m, const char *const *text, uint32_t *at)
{
	uint32_t label;
	float x[3];

	return co_reading(m, text, x, &label) && co_value(m, x, label, at);
}

static void a_reading_is_whole_or_none(void **state)
{
	static const char *const bad[] = { "", "1", "1 2", "1 2 3 4", "1 2 x", "1 2 nan", "inf 1 2",
		"1 2 3.5e38", "1,,2,3", "1 2 3,", "1;2 3 ;", ",1,2,3", NULL };
	static const char *const labels[] = { "", "3", "-1", "01", "1 ", "+1", " 1", "99999999999", NULL };
	struct qy_computing c = computed_by("moments", 3, 3, CO_PART_ALL, 1);
	struct qy_query q = computed_vector(10 + 12, 1);
	struct co_maker *m = NULL;
	struct cm_err err = { 0 };
	uint32_t at[22], as_it_was[22];
	const char *text[2];

	(void)state;
	assert_int_equal(co_maker_new(&c, &q, NULL, 0, &m, &err), CM_OK);
	text[0] = " 1, 2;-3e2 ";
	text[1] = "2";
	assert_true(text_has_value(m, text, at));
	text[0] = "1 2 3.4028234e38";
	assert_true(text_has_value(m, text, at));
	memcpy(as_it_was, at, sizeof at);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		text[0] = bad[i];
		assert_false(text_has_value(m, text, at));
	}
	text[0] = "1 2 3";
	for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
		text[1] = labels[i];
		assert_false(text_has_value(m, text, at));
	}
	assert_memory_equal(at, as_it_was, sizeof at);
	co_maker_free(m);
}

static void labels_are_texts_where_classes_have_names(void **state)
{
	static const char *const name[] = { "High", "Low" };
	struct co_parameters p = {
		.map = co_map_find("moments"), .label = true, .features = 2, .clip = 1, .classes = 2
	};
	struct qy_computing c = { .fields = 3, .field = { "V1", "V2", "state" } };
	struct qy_query q = computed_vector(6 + 6, 1);
	struct co_maker *m = NULL;
	struct cm_err err = { 0 };
	const char *text[3] = { "1", "2", "Low" };
	float x[2];
	uint32_t label = 9;

	(void)state;
	assert_int_equal(co_parameters_write(&p, name, &c, &err), CM_OK);
	assert_int_equal(co_maker_new(&c, &q, NULL, 0, &m, &err), CM_OK);
	assert_true(co_reading(m, text, x, &label));
	assert_int_equal(label, 1);
	assert_true(x[0] == 1 && x[1] == 2);
	text[2] = "0";
	assert_false(co_reading(m, text, x, &label));
	text[2] = "Lo";
	assert_false(co_reading(m, text, x, &label));
	text[2] = "High";
	assert_true(co_reading(m, text, x, &label));
	text[1] = "2 ";
	assert_false(co_reading(m, text, x, &label));
	text[1] = NULL;
	assert_false(co_reading(m, text, x, &label));
	co_maker_free(m);
}

/* A payload can make all numbers of a value but one very small: products of two scales are 1e-180. */
static void no_number_that_is_cut_is_subnormal(void **state)
{
	static const double small[] = { 1e-100, 1e-159, 1e-161, 1e-180, DBL_MIN };

	(void)state;
	for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
		double v[3] = { 1e150, -small[i], 0 };

		co_cut(v, 3, 1e-9);
		assert_true(v[0] > 0.99e-9 && v[0] <= 1e-9);
		assert_true(v[1] <= -DBL_MIN || fpclassify(v[1]) == FP_ZERO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_survive_being_written_and_read),
		cmocka_unit_test(a_map_has_only_what_it_reads),
		cmocka_unit_test(bounds_of_vectors_are_checked),
		cmocka_unit_test(a_tree_always_ends_in_a_leaf_that_is_asked_for),
		cmocka_unit_test(the_work_of_a_tree_is_bounded),
		cmocka_unit_test(a_payload_has_the_arrays_of_its_map),
		cmocka_unit_test(a_reading_is_whole_or_none),
		cmocka_unit_test(labels_are_texts_where_classes_have_names),
		cmocka_unit_test(no_number_that_is_cut_is_subnormal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
