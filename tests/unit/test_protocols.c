/* test_protocols.c - the rows: what each accepts, and reference values of its estimates. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pt_mixbins_analysis.h"
#include "pt_protocol.h"
#include "queries.h"

#define BINS_MAX 64

static char *labels[BINS_MAX];
static char label_text[BINS_MAX][8];

static struct qy_query histogram(uint32_t k)
{
	struct qy_query q = {
		.kind = QY_HISTOGRAM, .name = "h", .field = "f", .category = labels, .categories = k
	};

	for (uint32_t i = 0; i < BINS_MAX; i++) {
		(void)snprintf(label_text[i], sizeof label_text[i], "c%u", (unsigned)i);
		labels[i] = label_text[i];
	}
	return q;
}

static struct qy_query mean(double low, double high)
{
	return (struct qy_query){ .kind = QY_MEAN, .name = "m", .field = "f", .low = low, .high = high };
}

static void rows_are_found_by_name_and_strangers_are_not(void **state)
{
	static const char *const names[] = { "grr", "levels", "bins", "mixbins", "rappor", "oue", "subset",
		"olh", "hadamard", "hashed", "cheu", "balcer-cheu", "duchi", "laplace-levels", "staircase",
		"piecewise", "digits", "ranges", "marginals", "prefixes", "words", "harmony", "vrr",
		"rotated", "ss-simple", "ss-double", "ss-topk", "gspa-classes", "gspa-pooled" };
	size_t rows = 0;

	(void)state;
	for (; pt_row(rows); rows++) {
		const struct pt_protocol *row = pt_row(rows);

		assert_ptr_equal(pt_find(row->device->name), row);
		assert_true(strlen(row->device->summary) > 0 && strlen(row->device->name) < 32);
	}
	assert_int_equal(rows, sizeof names / sizeof names[0]);
	for (size_t i = 0; i < rows; i++)
		assert_non_null(pt_find(names[i]));
	assert_null(pt_find(""));
	assert_null(pt_find("GRR"));
	assert_null(pt_find("laplace"));
	assert_null(pt_row(SIZE_MAX));
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

/* The bytes and nothing but the bytes: of any other length they are no parameters. */
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
	/* No slots are slots; check() says that there must be some. */
	assert_int_equal(pt_parameters_read(bytes, 0, &back, &err),
		p->row->parameters->fields == 0 ? CM_OK : CM_EPROTO);
	pt_parameters_text(p, text, sizeof text);
	assert_true(strstr(text, "bins ") || strstr(text, "dimension "));
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
	{ { "grr", QY_MEAN, { .epsilon0 = 1 } }, "grr: answers histograms only" },
	{ { "bins", QY_MEAN, { .epsilon0 = INFINITY, .dummies = 1 } }, "bins: answers histograms only" },
	{ { "mixbins", QY_MEAN, { .epsilon0 = 1 } }, "mixbins: answers histograms only" },
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
		/* Of a kind it does not answer. */
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

/* A value of the params column, which reads {"eps0": "0.5", "k": 3}, undoubled. */
static double param(const char *params, const char *key)
{
	char quoted[16];
	const char *at;

	(void)snprintf(quoted, sizeof quoted, "\"%s\"", key);
	at = strstr(params, quoted);
	assert_non_null(at);
	at += strlen(quoted);
	at += strspn(at, "\": ");
	return strtod(at, NULL);
}

/* The file quotes its JSON by doubling; put it back. */
static void undouble(const char *line, char *out, size_t max)
{
	size_t n = 0;

	for (const char *c = strchr(line, '{'); c && *c != '}' && n + 1 < max; c++) {
		if (c[0] == '"' && c[1] == '"')
			c++;
		out[n++] = *c;
	}
	out[n] = '\0';
}

static void close_to(double got, double want, double relative)
{
	if (!(fabs(got - want) <= relative * fabs(want)))
		fail_msg("%.17g, not %.17g", got, want);
}

static double after(const char *line, int commas_from_end)
{
	/* The variance and what follows it hold no comma but the last field's, which is quoted then. */
	const char *quoted = strstr(line, ",\"Var"), *end = quoted ? quoted : strstr(line, ",Var");
	int seen = 0;

	assert_non_null(end);
	while (end > line && seen < commas_from_end) {
		end--;
		seen += *end == ',';
	}
	return strtod(end + 1, NULL);
}

static double variance(const struct pt_randomizer *p, double n, double dummies, double c)
{
	struct es_support s = pt_mixbins_support(p, dummies);

	return es_support_variance(&s, n, c);
}

static void check_grr(const char *line, const char *params, uint32_t k)
{
	struct pt_randomizer p;
	struct acct_round round;
	struct cm_err err = { 0 };

	assert_int_equal(pt_mixbins_derive(pt_find("grr"), k, param(params, "eps0"), 0, &p, &err), CM_OK);
	assert_int_equal(pt_mixbins_cells(&p, 10000, &round, &err), CM_OK);
	close_to(after(line, 1), variance(&p, param(params, "n"), 0, param(params, "nj")), 1e-11);
	close_to(after(line, 2), pt_mixbins_other(&p.mixbins), 1e-13);
	close_to(after(line, 3), pt_mixbins_keep(&p.mixbins), 1e-13);
	close_to(after(line, 6), pt_mixbins_keep(&p.mixbins) - pt_mixbins_other(&p.mixbins), 1e-12);
	close_to(after(line, 7), round.cell[0].u, 1e-13);
}

/* Everybody at the lowest level: the expected level counts in place of random ones give the variance
 * exactly. */
static void check_levels(const char *line, const char *params)
{
	uint32_t k = (uint32_t)param(params, "b") + 1;
	struct qy_query q = mean(0, 1);
	struct pt_request r = { .epsilon0 = param(params, "eps0"), .levels = k };
	double n = 1e8, scale = n / param(params, "n");
	uint64_t counts[BINS_MAX];
	struct es_estimate e;
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	assert_true(k <= BINS_MAX);
	assert_int_equal(pt_derive(pt_find("levels"), &q, &r, &p, &err), CM_OK);
	close_to(after(line, 6), pt_mixbins_keep(&p.mixbins) - pt_mixbins_other(&p.mixbins), 1e-12);
	for (uint32_t l = 0; l < k; l++)
		counts[l] =
			(uint64_t)(n * (l == 0 ? pt_mixbins_keep(&p.mixbins) : pt_mixbins_other(&p.mixbins)));
	assert_int_equal(pt_answer(&q, &p, counts, (uint64_t)n, &e, &err), CM_OK);
	assert_true(fabs(e.item[0].value) < 1e-5);
	close_to(e.item[0].variance * n * n / scale, after(line, 1), 1e-5);
	es_estimate_fini(&e);
}

/* In [-1, 1], everybody at 0: half of them send each bit. */
static void check_duchi(const char *line, const char *params)
{
	struct qy_query q = mean(-1, 1);
	struct pt_request r = { .epsilon0 = param(params, "eps0") };
	double n = 1e8, scale = n / param(params, "n");
	uint64_t counts[2] = { (uint64_t)n / 2, (uint64_t)n / 2 };
	struct acct_round round;
	struct es_estimate e;
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	assert_int_equal(pt_derive(pt_find("duchi"), &q, &r, &p, &err), CM_OK);
	assert_int_equal(pt_answer(&q, &p, counts, (uint64_t)n, &e, &err), CM_OK);
	assert_true(fabs(e.item[0].value) < 1e-9);
	close_to(e.item[0].variance * n * n / scale, after(line, 1), 1e-6);
	es_estimate_fini(&e);
	assert_int_equal(pt_find("duchi")->cells(&p, 10000, &round, &err), CM_OK);
	close_to(round.cell[0].omega * (round.cell[0].u - 1), after(line, 6), 1e-12);
	close_to(round.cell[0].u, after(line, 7), 1e-12);
}

static void check_bins(const char *line, const char *params)
{
	struct pt_randomizer p;
	struct cm_err err = { 0 };
	uint32_t k = (uint32_t)param(params, "d");

	assert_int_equal(pt_mixbins_derive(pt_find("bins"), k, INFINITY, 1, &p, &err), CM_OK);
	close_to(after(line, 1), variance(&p, 1e6, param(params, "N"), 5000), 1e-13);
}

static void check_mixdump(const char *line, const char *params)
{
	struct pt_randomizer p;
	struct cm_err err = { 0 };
	uint32_t k = (uint32_t)param(params, "d");

	assert_int_equal(pt_mixbins_derive(pt_find("mixbins"), k, 1, 1, &p, &err), CM_OK);
	p.mixbins.keep = (uint64_t)ldexpl(1 - (long double)param(params, "f"), 64);
	close_to(after(line, 1), variance(&p, param(params, "n"), param(params, "N"), param(params, "nj")),
		1e-11);
	close_to(exp(pt_mixbins_epsilon0(&p)), after(line, 7), 1e-11);
}

/* Two estimates give P and Q, a third the variance; counts are supports, or those of columns of the same
 * sign. */
static void check_support(const char *line, const char *params, const char *row, uint32_t d, uint32_t size)
{
	struct qy_query q = histogram(d);
	struct pt_request r = { .epsilon0 = param(params, "eps0"), .size = size };
	double n = 1e8, scale = n / param(params, "n"), c = scale * param(params, "nj");
	double keep = 0, other = 0, at[3];
	bool columns = strcmp(row, "hadamard") == 0;
	struct acct_round round;
	struct es_estimate e;
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	assert_int_equal(pt_derive(pt_find(row), &q, &r, &p, &err), CM_OK);
	for (int step = 0; step < 3; step++) {
		double m = step == 0 ? 0 : step == 1 ? n : c * keep + (n - c) * other;
		uint64_t counts[BINS_MAX] = { (uint64_t)(m + 0.5) };

		/* Category 0 has row 1: +1 in column 0, -1 in column 1. */
		if (columns)
			counts[1] = (uint64_t)n - counts[0];
		assert_int_equal(pt_answer(&q, &p, counts, (uint64_t)n, &e, &err), CM_OK);
		at[step] = step < 2 ? e.item[0].value : e.item[0].variance;
		es_estimate_fini(&e);
		if (step == 1) {
			other = -at[0] / (at[1] - at[0]);
			keep = other + n / (at[1] - at[0]);
		}
	}
	close_to(at[2] / scale, after(line, 1), 1e-6);
	if (!columns) {
		close_to(other, after(line, 2), 1e-12);
		close_to(keep, after(line, 3), 1e-12);
	}
	/* p, and the total variation by the cells where it stems from. */
	assert_int_equal(pt_find(row)->cells(&p, 10000, &round, &err), CM_OK);
	close_to(round.cell[0].omega * (round.cell[0].u - 1), after(line, 6), 1e-11);
	close_to(round.cell[0].u, after(line, 7), 1e-12);
	close_to(exp(pt_find(row)->device->epsilon0(&p)), after(line, 7), 1e-12);
}

static bool check_wide(const char *line, const char *params, const char *name)
{
	if (strcmp(name, "sue") == 0)
		check_support(line, params, "rappor", (uint32_t)param(params, "d"), 0);
	else if (strcmp(name, "oue") == 0)
		check_support(line, params, "oue", (uint32_t)param(params, "d"), 0);
	else if (strcmp(name, "subset") == 0)
		check_support(
			line, params, "subset", (uint32_t)param(params, "d"), (uint32_t)param(params, "k"));
	else if (strcmp(name, "localhash_uniform") == 0)
		check_support(line, params, "olh", 7, (uint32_t)param(params, "l"));
	else if (strcmp(name, "hadamard") == 0)
		check_support(line, params, "hadamard", (uint32_t)param(params, "K") - 1, 0);
	else
		return false;
	return true;
}

static void reference_values_are_met(void **state)
{
	static char line[4096], params[1024], name[64];
	FILE *in = fopen(TEST_DATA "/vectors/protocols.csv", "r");
	int grr = 0, levels = 0, bins = 0, mixed = 0, wide = 0, duchi = 0;

	(void)state;
	assert_non_null(in);
	while (fgets(line, sizeof line, in)) {
		if (sscanf(line, "%*[^,],%63[^,]", name) != 1)
			continue;
		undouble(line, params, sizeof params);
		if (strcmp(name, "grr") == 0 && ++grr)
			check_grr(line, params, (uint32_t)param(params, "k"));
		else if (strcmp(name, "rr2") == 0 && ++grr)
			check_grr(line, params, 2);
		else if (strcmp(name, "blanket_rgb") == 0 && ++levels)
			check_levels(line, params);
		else if (strcmp(name, "duchi1") == 0 && ++duchi)
			check_duchi(line, params);
		else if (strcmp(name, "balls_into_bins") == 0 && ++bins)
			check_bins(line, params);
		else if (strcmp(name, "mixdump") == 0 && ++mixed)
			check_mixdump(line, params);
		else
			wide += check_wide(line, params, name);
	}
	(void)fclose(in);
	assert_true(grr == 9 && levels == 6 && bins == 2 && mixed == 2 && wide == 21 && duchi == 3);
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

/* With k = 2 and one dummy each, N = 8: by hand.  Binomial(8, 1/2) leaves 1/256 beyond 0 and 8, 9/256 beyond
 * 1 and 7: at 2.5 % a tail the noise is 1 to 7; jointly over two bins, at 1.27 %, also. */
static void intervals_without_a_local_guarantee_are_exact(void **state)
{
	struct qy_query q = histogram(2);
	struct pt_request r = { .epsilon0 = INFINITY, .dummies = 1 };
	const uint64_t counts[] = { 11, 5 };
	struct pt_randomizer p;
	struct es_estimate e;
	struct cm_err err = { 0 };

	(void)state;
	assert_int_equal(pt_derive(pt_find("bins"), &q, &r, &p, &err), CM_OK);
	assert_int_equal(pt_answer(&q, &p, counts, 8, &e, &err), CM_OK);
	assert_true(e.item[0].value == 7 && e.item[1].value == 1 && e.reports == 8 && e.n == 2);
	assert_true(e.item[0].variance == 2);
	assert_true(e.item[0].lower == 4 && e.item[0].upper == 10);
	assert_true(e.item[0].joint_lower == 4 && e.item[0].joint_upper == 10);
	assert_true(e.item[1].lower == -2 && e.item[1].upper == 4);
	assert_true(!e.item[0].below_noise && e.item[1].below_noise);
	assert_true(e.noise_floor == 3);
	assert_string_equal(e.item[1].label, "c1");
	es_estimate_fini(&e);
	assert_null(e.item);
}

/* The definition itself: the limits are the last counts whose law gives the observation at least 2.5 % on its
 * side. With P(x) over all outcomes of three binomials summed by brute force. */
static void small_noise_intervals_are_the_counts_not_rejected(void **state)
{
	enum { N = 40, K = 8 };
	struct qy_query q = histogram(K);
	struct pt_request r = { .epsilon0 = 3 };
	struct pt_randomizer p;
	struct es_estimate e;
	struct cm_err err = { 0 };
	uint64_t counts[K] = { 14, 6, 4, 4, 4, 4, 2, 2 };
	double keep, other;

	(void)state;
	assert_int_equal(pt_derive(pt_find("grr"), &q, &r, &p, &err), CM_OK);
	assert_int_equal(pt_answer(&q, &p, counts, N, &e, &err), CM_OK);
	keep = pt_mixbins_keep(&p.mixbins);
	other = pt_mixbins_other(&p.mixbins);
	for (size_t i = 0; i < 2; i++) {
		double low = -1, high = -1;

		for (int c = 0; c <= N; c++) {
			double p0[N + 2] = { 1 }, at_least = 0, at_most = 0;

			/* One participant after another. */
			for (int j = 0; j < N; j++) {
				double s = j < c ? keep : other;

				for (int m = j + 1; m >= 0; m--)
					p0[m] = p0[m] * (1 - s) + (m > 0 ? p0[m - 1] * s : 0);
			}
			for (int m = 0; m <= N; m++) {
				at_least += m >= (int)counts[i] ? p0[m] : 0;
				at_most += m <= (int)counts[i] ? p0[m] : 0;
			}
			if (low < 0 && at_least > 0.025)
				low = c;
			if (at_most > 0.025)
				high = c;
		}
		assert_true(low > 0 && e.item[i].lower == low);
		assert_true(high > 0 && e.item[i].upper == high);
		assert_true(e.item[i].joint_lower <= low && e.item[i].joint_upper >= high);
	}
	es_estimate_fini(&e);
}

static void projected_counts_are_consistent_and_means_in_range(void **state)
{
	struct qy_query q = histogram(5), m = mean(-10, 10);
	struct pt_request r = { .epsilon0 = 1 }, coarse = { .epsilon0 = 1, .levels = 2 };
	const uint64_t counts[] = { 600, 100, 100, 100, 100 }, ends[] = { 0, 1000 };
	struct pt_randomizer p;
	struct es_estimate e;
	struct cm_err err = { 0 };
	double sum = 0;

	(void)state;
	assert_int_equal(pt_derive(pt_find("grr"), &q, &r, &p, &err), CM_OK);
	assert_int_equal(pt_answer(&q, &p, counts, 1000, &e, &err), CM_OK);
	for (size_t i = 0; i < 5; i++) {
		assert_true(e.item[i].projected >= 0);
		sum += e.item[i].projected;
	}
	assert_true(fabs(sum - 1000) < 1e-9);
	assert_true(e.item[1].value < 0 && e.item[1].below_noise && !e.item[0].below_noise);
	es_estimate_fini(&e);
	assert_int_equal(pt_derive(pt_find("levels"), &m, &coarse, &p, &err), CM_OK);
	assert_int_equal(pt_answer(&m, &p, ends, 1000, &e, &err), CM_OK);
	assert_true(e.item[0].value > 10 && e.item[0].projected == 10);
	assert_true(e.item[0].lower < e.item[0].value && e.item[0].value < e.item[0].upper);
	es_estimate_fini(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_found_by_name_and_strangers_are_not),
		cmocka_unit_test(what_a_row_derives_it_accepts_and_reads_from_its_bytes),
		cmocka_unit_test(what_a_row_cannot_do_is_refused_with_the_reason),
		cmocka_unit_test(a_peers_parameters_for_another_query_are_refused),
		cmocka_unit_test(counts_that_cannot_be_are_refused),
		cmocka_unit_test(reference_values_are_met),
		cmocka_unit_test(intervals_without_a_local_guarantee_are_exact),
		cmocka_unit_test(small_noise_intervals_are_the_counts_not_rejected),
		cmocka_unit_test(projected_counts_are_consistent_and_means_in_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
