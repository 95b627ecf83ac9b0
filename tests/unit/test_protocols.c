/* test_protocols.c - the rows: what each derives, accepts and refuses. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "few_bins.h"
#include "pt_mixbins_analysis.h"
#include "pt_protocol.h"
#include "queries.h"

static void rows_are_found_by_name_and_strangers_are_not(void **state)
{
	static const char *const names[] = { "grr", "levels", "bins", "mixbins", "rappor", "oue", "subset",
		"olh", "hadamard", "hashed", "cheu", "balcer-cheu", "duchi", "laplace-levels", "staircase",
		"piecewise", "digits", "ranges", "marginals", "prefixes", "words", "harmony", "vrr",
		"rotated", "ss-simple", "ss-double", "ss-topk", "gspa-classes", "gspa-pooled", "hierarchy",
		"parallel", "privset", "planar" };
	const size_t known = sizeof names / sizeof names[0];
	size_t rows = 0;

	(void)state;
	for (; pt_row(rows); rows++) {
		const struct pt_protocol *row = pt_row(rows);
		bool is_known = false;

		for (size_t i = 0; i < known; i++)
			is_known = is_known || strcmp(names[i], row->device->name) == 0;
		if (!is_known)
			fail_msg("the row %s is not in names[]", row->device->name);
		assert_ptr_equal(pt_find(row->device->name), row);
		assert_true(strlen(row->device->summary) > 0 && strlen(row->device->name) < 32);
	}
	assert_int_equal(rows, known);
	for (size_t i = 0; i < rows; i++)
		assert_non_null(pt_find(names[i]));
	assert_null(pt_find(""));
	assert_null(pt_find("GRR"));
	assert_null(pt_find("laplace"));
	assert_null(pt_row(SIZE_MAX));
}

/* All rows are unbiased but these, numbers outside the range, and gspa-pooled, whose items have a bound. */
static void a_row_that_answers_something_else_says_what(void **state)
{
	static const struct {
		const char *row;
		enum qy_kind kind;
		struct pt_request request;
		const char *says;
	} others[] = {
		{ "privset", QY_SETS, { .epsilon0 = 2, .size = 1 }, "a set of more than 1 item counts by 1" },
		{ "rotated", QY_VECTOR, { .epsilon0 = 2 }, "a vector longer than 3 counts as a shorter one" },
		{ "ss-topk", QY_VECTOR, { .epsilon0 = 2, .levels = 3, .size = 2 },
			"of each vector the 2 coordinates furthest from the middle of the range, and 1 for" },
	};
	const size_t n = sizeof others / sizeof others[0];
	size_t stated = 0;
	struct cm_err err;

	(void)state;
	for (size_t i = 0; pt_row(i); i++)
		stated += pt_row(i)->estimand != NULL;
	assert_int_equal(stated, n);
	for (size_t i = 0; i < n; i++) {
		const struct pt_protocol *row = pt_find(others[i].row);
		struct qy_query q = query_of_kind(others[i].kind);
		struct pt_randomizer p;
		char text[300];

		if (others[i].kind == QY_VECTOR) {
			q.low = strcmp(others[i].row, "rotated") == 0 ? -3 : -1;
			q.high = 3;
		}
		assert_int_equal(pt_derive(row, &q, &others[i].request, &p, &err), CM_OK);
		row->estimand(&q, &p, text, sizeof text);
		if (!strstr(text, others[i].says))
			fail_msg("%s: %s", others[i].row, text);
		row->estimand(&q, &p, text, 8);
		assert_int_equal(strlen(text), 7);
	}
}

struct wish {
	const char *row;
	enum qy_kind kind; /* of the query */
	struct pt_request request;
};

static enum cm_rc derive(
	const struct wish *w, struct qy_query *q, struct pt_randomizer *p, struct cm_err *err)
{
	*q = w->kind == QY_MEAN        ? mean(0, 1)
	     : w->kind == QY_HISTOGRAM ? histogram(5)
				       : query_of_kind(w->kind);
	return pt_derive(pt_find(w->row), q, &w->request, p, err);
}

static const struct {
	struct wish wish;
	uint32_t record_len, tallies, messages; /* of what is derived */
} good[] = {
	{ { "grr", QY_HISTOGRAM, { .epsilon0 = 2 } }, 16, 5, 1 },
	{ { "bins", QY_HISTOGRAM, { .epsilon0 = INFINITY, .dummies = 3 } }, 16, 5, 4 },
	{ { "mixbins", QY_HISTOGRAM, { .epsilon0 = 2, .dummies = 3 } }, 16, 5, 4 },
	{ { "mixbins", QY_HISTOGRAM, { .epsilon0 = INFINITY, .dummies = 3 } }, 16, 5, 4 },
	{ { "mixbins", QY_HISTOGRAM, { .epsilon0 = 2 } }, 16, 5, 1 },
	{ { "levels", QY_MEAN, { .epsilon0 = 2, .min_reports = 1000 } }, 16, 3, 1 },
	{ { "levels", QY_MEAN, { .epsilon0 = 2, .levels = 4096, .dummies = 1023 } }, 16, 4096, 1024 },
	{ { "levels", QY_MEAN, { .epsilon0 = INFINITY, .dummies = 1, .min_reports = 100000 } }, 16, 22, 2 },
	{ { "rappor", QY_HISTOGRAM, { .epsilon0 = 2 } }, 16, 5, 1 },
	{ { "oue", QY_HISTOGRAM, { .epsilon0 = 2 } }, 16, 5, 1 },
	{ { "subset", QY_HISTOGRAM, { .epsilon0 = 2, .size = 3 } }, 16, 5, 1 },
	{ { "olh", QY_HISTOGRAM, { .epsilon0 = 2, .size = 6 } }, 32, 5, 1 },
	{ { "hadamard", QY_HISTOGRAM, { .epsilon0 = 2 } }, 16, 8, 1 },
	{ { "hashed", QY_HISTOGRAM, { .epsilon0 = INFINITY, .dummies = 3, .size = 9 } }, 32, 5, 4 },
	{ { "cheu", QY_HISTOGRAM, { .epsilon0 = 2, .dummies = 3 } }, 16, 5, 4 },
	{ { "balcer-cheu", QY_HISTOGRAM, { .epsilon0 = INFINITY, .dummies = 3 } }, 16, 5, 16 },
	{ { "duchi", QY_MEAN, { .epsilon0 = 2 } }, 16, 2, 1 },
	{ { "laplace-levels", QY_MEAN, { .epsilon0 = 2, .levels = 64 } }, 16, 64, 1 },
	{ { "staircase", QY_MEAN, { .epsilon0 = 2, .levels = 1024, .size = 5 } }, 16, 3070, 1 },
	{ { "piecewise", QY_MEAN, { .epsilon0 = 2, .levels = 4096, .size = 4095 } }, 16, 8190, 1 },
	{ { "digits", QY_MEAN, { .epsilon0 = 2 } }, 16, 16, 8 },
	{ { "digits", QY_SUM, { .epsilon0 = INFINITY, .dummies = 3, .levels = 64, .size = 8 } }, 16, 16, 29 },
	{ { "digits", QY_MEAN, { .epsilon0 = 2, .levels = 4096, .size = 64 } }, 16, 128, 2 },
	{ { "ranges", QY_RANGES, { .epsilon0 = 2 } }, 16, 12, 2 },
	{ { "ranges", QY_RANGES, { .epsilon0 = INFINITY, .dummies = 3 } }, 16, 12, 8 },
	{ { "hierarchy", QY_RANGES, { .epsilon0 = 2 } }, 16, 12, 1 },
	{ { "parallel", QY_MARGINALS, { .epsilon0 = 2 } }, 16, 8, 1 },
	{ { "privset", QY_SETS, { .epsilon0 = 2, .size = 2 } }, 16, 7, 1 },
	{ { "privset", QY_SETS, { .epsilon0 = 16, .size = 5 } }, 16, 10, 1 },
	{ { "privset", QY_SETS, { .epsilon0 = 0.01, .size = 1 } }, 16, 6, 1 },
	{ { "grr", QY_PLACES, { .epsilon0 = 2 } }, 16, 6, 1 },
	{ { "mixbins", QY_PLACES, { .epsilon0 = 2, .dummies = 3 } }, 16, 6, 4 },
	{ { "bins", QY_PLACES, { .epsilon0 = INFINITY, .dummies = 3 } }, 16, 6, 4 },
	{ { "planar", QY_PLACES, { .epsilon0 = 2 } }, 16, 6, 1 },
	{ { "planar", QY_PLACES, { .epsilon0 = 16 } }, 16, 6, 1 },
	{ { "planar", QY_PLACES, { .epsilon0 = 0.01 } }, 16, 6, 1 },
	{ { "ss-simple", QY_VECTOR, { .epsilon0 = 2, .levels = 3 } }, 16, 18, 6 },
	{ { "ss-double", QY_VECTOR, { .epsilon0 = 2, .levels = 3, .slots = 2, .min_reports = 9 } }, 16, 18,
		2 },
	{ { "ss-topk", QY_VECTOR, { .epsilon0 = 2, .levels = 3, .size = 2, .dummies = 5 } }, 16, 18, 7 },
	{ { "gspa-classes", QY_HISTOGRAM,
		  { .epsilon0 = 2, .classes = 2, .class_epsilon0 = { 1, 2 }, .class_least = { 5, 6 } } },
		16, 10, 1 },
	{ { "gspa-pooled", QY_HISTOGRAM,
		  { .epsilon0 = 2, .classes = 2, .class_epsilon0 = { 1, 2 }, .class_least = { 5, 6 } } },
		16, 7, 2 },
	{ { "gspa-pooled", QY_MEAN,
		  { .epsilon0 = 2,
			  .levels = 9,
			  .classes = 3,
			  .class_epsilon0 = { 0.5, 1, 2 },
			  .class_least = { 5, 6, 7 } } },
		16, 12, 2 },
	{ { "prefixes", QY_PREFIXES, { .epsilon0 = 2, .dummies = 3 } }, 16, 4, 4 },
	{ { "marginals", QY_MARGINALS, { .epsilon0 = 2 } }, 16, 8, 2 },
	{ { "marginals", QY_MARGINALS, { .epsilon0 = INFINITY, .dummies = 3 } }, 16, 8, 8 },
	{ { "words", QY_VECTOR, { .epsilon0 = 2 } }, 16, 12, 6 },
	{ { "words", QY_VECTOR, { .epsilon0 = INFINITY, .dummies = 3, .slots = 2, .size = 2 } }, 16, 12, 8 },
	{ { "harmony", QY_VECTOR, { .epsilon0 = 2 } }, 16, 12, 1 },
	{ { "rotated", QY_VECTOR, { .epsilon0 = 2, .slots = 2, .size = 3 } }, 16, 16, 2 },
	{ { "vrr", QY_VECTOR, { .epsilon0 = 2 } }, 16, 12, 1 },
};

/* Parameters are exactly these bytes: bytes of any other length are refused. */
static void bytes_are_the_parameters(const struct pt_randomizer *p)
{
	struct pt_randomizer back = { .row = p->row, .shuffler = p->shuffler };
	uint8_t bytes[PT_PARAMETERS_MAX + 1] = { 0 };
	size_t len = pt_parameters_write(p, bytes);
	struct cm_err err = { 0 };
	char text[400];

	assert_int_equal(pt_parameters_read(bytes, len, &back, &err), CM_OK);
	assert_true(pt_randomizer_equal(p, &back));
	assert_int_equal(pt_parameters_read(bytes, len - 1, &back, &err), CM_EPROTO);
	assert_int_equal(pt_parameters_read(bytes, len + 1, &back, &err), CM_EPROTO);
	/* An empty list of slots is accepted here; check() says that there must be some. */
	assert_int_equal(pt_parameters_read(bytes, 0, &back, &err),
		p->row->parameters->fields == 0 ? CM_OK : CM_EPROTO);
	pt_parameters_text(p, text, sizeof text);
	assert_true(strstr(text, "bins ") || strstr(text, "dimension ") || strstr(text, "width "));
}

static void what_a_row_derives_it_accepts_and_reads_from_its_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		struct qy_query q;
		struct pt_randomizer p;
		struct cm_err err = { 0 };

		assert_int_equal(derive(&good[i].wish, &q, &p, &err), CM_OK);
		assert_string_equal(p.row->name, good[i].wish.row);
		assert_int_equal(p.row->check(&q, &p, &err), CM_OK);
		bytes_are_the_parameters(&p);
		assert_int_equal(pt_find(good[i].wish.row)->device->messages(&p), good[i].messages);
		assert_int_equal(pt_find(good[i].wish.row)->device->record_len(&p), good[i].record_len);
		assert_int_equal(pt_find(good[i].wish.row)->tallies(&p), good[i].tallies);
	}
}

static const struct {
	struct wish wish;
	const char *said;
} impossible[] = {
	{ { "hierarchy", QY_MARGINALS, { .epsilon0 = 1 } }, "hierarchy: answers ranges only" },
	{ { "hierarchy", QY_RANGES, { .epsilon0 = 1, .dummies = 1 } }, "hierarchy: dummies must be 0" },
	{ { "hierarchy", QY_RANGES, { .epsilon0 = INFINITY } }, "hierarchy: epsilon0 must be finite" },
	{ { "hierarchy", QY_RANGES, { .epsilon0 = 17 } }, "hierarchy: epsilon0 must be above 0" },
	{ { "hierarchy", QY_RANGES, { .epsilon0 = 1, .shuffler_dummies = 1 } },
		"the shuffler adds no dummies" },
	{ { "parallel", QY_RANGES, { .epsilon0 = 1 } }, "parallel: answers marginals only" },
	{ { "privset", QY_HISTOGRAM, { .epsilon0 = 1, .size = 2 } }, "privset: answers sets only" },
	{ { "privset", QY_SETS, { .epsilon0 = 1 } },
		"privset: needs size, the most items of a set that count together: 1 to 5" },
	{ { "privset", QY_SETS, { .epsilon0 = 1, .size = 6 } },
		"privset: needs size, the most items of a set that count together: 1 to 5" },
	{ { "privset", QY_SETS, { .epsilon0 = 1, .size = 2, .dummies = 1 } }, "privset: dummies must be 0" },
	{ { "privset", QY_SETS, { .epsilon0 = INFINITY, .size = 2 } }, "privset: epsilon0 must be above 0" },
	{ { "privset", QY_SETS, { .epsilon0 = 17, .size = 2 } }, "privset: epsilon0 must be above 0" },
	{ { "privset", QY_SETS, { .epsilon0 = NAN, .size = 2 } }, "privset: epsilon0 must be above 0" },
	{ { "privset", QY_SETS, { .epsilon0 = 1e-9, .size = 2 } }, "too small to say anything" },
	{ { "privset", QY_SETS, { .epsilon0 = 1, .size = 2, .shuffler_dummies = 1 } },
		"the shuffler adds no dummies" },
	{ { "planar", QY_HISTOGRAM, { .epsilon0 = 1 } }, "planar: answers places only" },
	{ { "planar", QY_PLACES, { .epsilon0 = 1, .dummies = 1 } }, "planar: dummies must be 0" },
	{ { "planar", QY_PLACES, { .epsilon0 = 1, .dummy_chance = 1 } }, "planar: dummies must be 0" },
	{ { "planar", QY_PLACES, { .epsilon0 = 1, .shuffler_dummies = 1 } }, "the shuffler adds no dummies" },
	{ { "planar", QY_PLACES, { .epsilon0 = INFINITY } }, "planar: epsilon0 must be above 0" },
	{ { "planar", QY_PLACES, { .epsilon0 = 17 } }, "planar: epsilon0 must be above 0" },
	{ { "planar", QY_PLACES, { .epsilon0 = NAN } }, "planar: epsilon0 must be above 0" },
	{ { "planar", QY_PLACES, { .epsilon0 = 1e-9 } }, "too small to say anything" },
	{ { "parallel", QY_MARGINALS, { .epsilon0 = 1, .dummy_chance = 1 } }, "parallel: dummies must be 0" },
	{ { "parallel", QY_MARGINALS, { .epsilon0 = INFINITY } }, "parallel: epsilon0 must be finite" },
	{ { "grr", QY_MEAN, { .epsilon0 = 1 } }, "grr: answers histograms and places only" },
	{ { "bins", QY_MEAN, { .epsilon0 = INFINITY, .dummies = 1 } },
		"bins: answers histograms and places only" },
	{ { "mixbins", QY_MEAN, { .epsilon0 = 1 } }, "mixbins: answers histograms and places only" },
	{ { "levels", QY_HISTOGRAM, { .epsilon0 = 1 } }, "levels: answers means, sums and quantiles only" },
	{ { "grr", QY_HISTOGRAM, { .epsilon0 = 1, .dummies = 1 } }, "grr: dummies must be 0" },
	{ { "grr", QY_HISTOGRAM, { .epsilon0 = INFINITY } }, "grr: epsilon0 must be finite" },
	{ { "grr", QY_HISTOGRAM, { .epsilon0 = 17 } }, "grr: epsilon0 must be above 0 and at most 16" },
	{ { "grr", QY_HISTOGRAM, { .epsilon0 = 0 } }, "grr: epsilon0 must be above 0" },
	{ { "grr", QY_HISTOGRAM, { .epsilon0 = NAN } }, "grr: epsilon0 must be above 0" },
	{ { "bins", QY_HISTOGRAM, { .epsilon0 = 1, .dummies = 1 } }, "bins: has no local guarantee" },
	{ { "bins", QY_HISTOGRAM, { .epsilon0 = INFINITY } }, "bins: epsilon0 \"inf\" needs dummies" },
	{ { "mixbins", QY_HISTOGRAM, { .epsilon0 = INFINITY } }, "needs dummies" },
	{ { "levels", QY_MEAN, { .epsilon0 = INFINITY } }, "levels: epsilon0 \"inf\" needs dummies" },
	{ { "levels", QY_MEAN, { .epsilon0 = 1, .levels = 1 } }, "levels: 1 bins" },
	{ { "levels", QY_MEAN, { .epsilon0 = 1, .levels = 4097 } }, "levels: 4097 bins" },
	{ { "levels", QY_MEAN, { .epsilon0 = NAN } }, "levels: " },
	{ { "levels", QY_MEAN, { .epsilon0 = 1, .dummies = 1024 } }, "dummies must be at most 1023" },
	{ { "duchi", QY_HISTOGRAM, { .epsilon0 = 1 } }, "duchi: answers means and sums only" },
	{ { "duchi", QY_MEAN, { .epsilon0 = 1, .levels = 3 } }, "duchi: sends one bit" },
	{ { "duchi", QY_MEAN, { .epsilon0 = INFINITY } }, "duchi: epsilon0 must be finite" },
	{ { "duchi", QY_MEAN, { .epsilon0 = 1, .dummies = 1 } }, "duchi: dummies must be 0" },
	{ { "piecewise", QY_HISTOGRAM, { .epsilon0 = 1 } }, "piecewise: answers means and sums only" },
	{ { "piecewise", QY_MEAN, { .epsilon0 = 1, .dummies = 1 } }, "piecewise: dummies must be 0" },
	{ { "piecewise", QY_MEAN, { .epsilon0 = INFINITY } }, "piecewise: epsilon0 must be above 0" },
	{ { "piecewise", QY_MEAN, { .epsilon0 = NAN } }, "piecewise: epsilon0 must be above 0" },
	{ { "piecewise", QY_MEAN, { .epsilon0 = 1e-18 } }, "too small to say anything" },
	{ { "piecewise", QY_MEAN, { .epsilon0 = 1, .levels = 9, .size = 9 } },
		"piecewise: size 9, must be 1 to 8 for 9 levels" },
	{ { "piecewise", QY_MEAN, { .epsilon0 = 1, .size = 64 } }, "size 64 needs 'levels'" },
	{ { "piecewise", QY_MEAN, { .epsilon0 = 1, .levels = 4097 } },
		"piecewise: 4097 levels, must be 2 to 4096" },
	{ { "staircase", QY_MEAN, { .epsilon0 = 1, .levels = 1025 } },
		"staircase: 1025 levels, must be 2 to 1024" },
	{ { "staircase", QY_MEAN, { .epsilon0 = 1e-19 } }, "too small to say anything" },
	{ { "laplace-levels", QY_MEAN, { .epsilon0 = 1, .levels = 65 } },
		"laplace-levels: 65 levels, must be 2 to 64" },
	{ { "laplace-levels", QY_MEAN, { .epsilon0 = 1, .levels = 1 } },
		"laplace-levels: 1 levels, must be 2 to 64" },
	{ { "laplace-levels", QY_MEAN, { .epsilon0 = 1, .size = 1 } }, "laplace-levels: has no 'size'" },
	{ { "laplace-levels", QY_MEAN, { .epsilon0 = 17 } }, "at most 16" },
	{ { "laplace-levels", QY_MEAN, { .epsilon0 = 1e-19 } }, "too small to say anything" },
};

static void what_a_row_cannot_do_is_refused_with_the_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof impossible / sizeof impossible[0]; i++) {
		struct qy_query q;
		struct pt_randomizer p;
		struct cm_err err = { 0 };

		assert_int_equal(derive(&impossible[i].wish, &q, &p, &err), CM_ECONFIG);
		assert_non_null(strstr(err.msg, impossible[i].said));
	}
}

static void a_peers_parameters_for_another_query_are_refused(void **state)
{
	struct qy_query h5 = histogram(5), h6 = histogram(6), m = mean(0, 1), v = query_of_kind(QY_VECTOR);
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		const struct pt_protocol *row = pt_find(good[i].wish.row);
		struct qy_query q;

		assert_int_equal(derive(&good[i].wish, &q, &p, &err), CM_OK);
		/* A query of a kind that the row does not answer. */
		assert_int_equal(row->device->check(!(row->device->kinds & QY_MEAN)        ? &m
						    : !(row->device->kinds & QY_HISTOGRAM) ? &h5
											   : &v,
					 &p, &err),
			CM_EPROTO);
		if (good[i].wish.kind == QY_HISTOGRAM)
			assert_int_equal(row->device->check(&h6, &p, &err), CM_EPROTO);
	}
	/* A grr that keeps everything would send the value in the clear. */
	assert_int_equal(derive(&good[0].wish, &h5, &p, &err), CM_OK);
	p.mixbins.keep_always = true;
	p.mixbins.keep = 0;
	assert_int_equal(pt_find("grr")->device->check(&h5, &p, &err), CM_EPROTO);
}

static void counts_that_cannot_be_are_refused(void **state)
{
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		const struct pt_protocol *row = pt_find(good[i].wish.row);
		static uint64_t counts[8192];
		struct es_estimate e = { .n = 77 };
		struct qy_query q;
		struct pt_randomizer p;
		struct cm_err err = { 0 };

		(void)state;
		memset(counts, 0, sizeof counts);
		assert_int_equal(derive(&good[i].wish, &q, &p, &err), CM_OK);
		assert_int_equal(pt_answer(&q, &p, counts, 0, &e, &err), CM_EDATA);
		assert_int_equal(pt_answer(&q, &p, counts, UINT64_MAX, &e, &err), CM_EDATA);
		counts[0] = 100 * row->device->messages(&p) + 1;
		assert_int_equal(pt_answer(&q, &p, counts, 100, &e, &err), CM_EDATA);
		counts[0] = UINT64_MAX;
		counts[1] = 2;
		assert_int_equal(pt_answer(&q, &p, counts, 100, &e, &err), CM_EDATA);
		assert_int_equal(e.n, 77);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_found_by_name_and_strangers_are_not),
		cmocka_unit_test(a_row_that_answers_something_else_says_what),
		cmocka_unit_test(what_a_row_derives_it_accepts_and_reads_from_its_bytes),
		cmocka_unit_test(what_a_row_cannot_do_is_refused_with_the_reason),
		cmocka_unit_test(a_peers_parameters_for_another_query_are_refused),
		cmocka_unit_test(counts_that_cannot_be_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
