/* test_reference.c - every kind of row of the reference table is known to a test; the variances of numbers
 * among noise are met by the rows here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "csv.h"
#include "pt_protocol.h"
#include "queries.h"

#define N      1e8 /* so that whole counts are within 1e-7 of the law */
#define LEVELS 17u

/* At level 0 of 0..b. */
typedef void law_fn(const struct csv *c, double b, double *chance);

static double lost(double a)
{
	return a / ((1 - a) * (1 - a));
}

static double decay(const struct csv *c, double b)
{
	return exp(-csv_param(c, "eps0") / b);
}

static void laplace(const struct csv *c, double b, double *chance)
{
	double a = decay(c, b);

	chance[0] = 1 / (1 + a);
	for (uint32_t y = 1; y < b; y++)
		chance[y] = (1 - a) / (1 + a) * pow(a, y);
	chance[(uint32_t)b] = pow(a, b) / (1 + a);
}

static void window(const struct csv *c, double b, double *chance)
{
	double w = csv_param(c, "w"), e = exp(csv_param(c, "eps0")), z = w * e + b;

	for (uint32_t y = 0; y < b + w; y++)
		chance[y] = y < w ? e / z : 1 / z;
}

/* The stated variance of a mean when all hold 0, of the sum of the table's participants. */
static double stated(const struct csv *c, const char *row, double b, uint32_t size, law_fn *law)
{
	struct qy_query q = query_of_kind(QY_MEAN);
	struct pt_request r = { .epsilon0 = csv_param(c, "eps0"),
		.levels = (uint32_t)b + 1,
		.size = size,
		.min_reports = 10000 };
	double chance[2 * LEVELS] = { 0 }, v;
	uint64_t counts[2 * LEVELS] = { 0 }, left = (uint64_t)N;
	struct pt_randomizer p;
	struct es_estimate e;
	struct cm_err err = { 0 };

	q.high = 1;
	if (pt_derive(pt_find(row), &q, &r, &p, &err) != CM_OK)
		fail_msg("%s: %s", csv_get(c, "id"), err.msg);
	law(c, b, chance);
	for (uint32_t y = 1; y < pt_find(row)->tallies(&p); y++)
		left -= counts[y] = (uint64_t)llround(N * chance[y]);
	counts[0] = left;
	assert_int_equal(pt_answer(&q, &p, counts, (uint64_t)N, &e, &err), CM_OK);
	assert_true(fabs(e.item[0].value) < 1e-6);
	v = e.item[0].variance * N * csv_param(c, "n");
	es_estimate_fini(&e);
	return v;
}

static void variance_is(const struct csv *c, double got)
{
	double want = strtod(csv_get(c, "est_variance"), NULL);

	if (!(fabs(got / want - 1) < 1e-5))
		fail_msg("%s: a variance of %.12g, not %.12g", csv_get(c, "id"), got, want);
}

/* The table's noise is not cut off.  The row's is, and each end has the mean of what was cut: what is spared
 * is the spread of that, of which the chance is 1/(1+a) at 0 and a^b/(1+a) at b. */
static void check_laplace(const struct csv *c)
{
	double b = csv_param(c, "b"), a = decay(c, b);
	double spared = (1 + pow(a, b)) / (1 + a) * lost(a) / (b * b) * csv_param(c, "n");

	variance_is(c, stated(c, "laplace-levels", b, 0, laplace) + spared);
}

static void check_window(const struct csv *c)
{
	variance_is(c, stated(c, "piecewise", csv_param(c, "b"), (uint32_t)csv_param(c, "w"), window));
}

typedef void check_fn(const struct csv *c);

/* Without a check here: those of a test that is named; p, beta and q of all are met in test_acct_params.c. */
static const struct {
	const char *kind;
	int rows;
	bool variance; /* the table has it */
	check_fn *check;
} kinds[] = {
	{ "dlap", 6, true, check_laplace },
	{ "dpm", 6, true, check_window },
	/* test_protocols.c */
	{ "rr2", 3, true, NULL },
	{ "grr", 6, true, NULL },
	{ "sue", 3, true, NULL },
	{ "oue", 3, true, NULL },
	{ "subset", 6, true, NULL },
	{ "localhash_uniform", 6, true, NULL },
	{ "hadamard", 3, true, NULL },
	{ "blanket_rgb", 6, true, NULL },
	{ "duchi1", 3, true, NULL },
	{ "balls_into_bins", 2, true, NULL },
	{ "mixdump", 2, true, NULL },
	/* test_multi_params.c, test_multi_coins.c */
	{ "hashed_bins", 2, true, NULL },
	{ "cheu_zhilyaev", 2, true, NULL },
	{ "balcer_cheu", 2, true, NULL },
	/* test_vector.c */
	{ "bin_words", 2, true, NULL },
	{ "harmony", 3, true, NULL },
	{ "vector_rr", 9, true, NULL },
	/* No rows: names of the accountant alone. */
	{ "hadamard_blocks", 3, true, NULL },
	{ "duchi_fixed", 12, false, NULL },
	{ "privkv_exact", 6, false, NULL },
	{ "privset", 6, false, NULL },
	{ "pckv_grr", 3, false, NULL },
	{ "hier_grr_sample_level", 6, false, NULL },
};

#define KINDS (sizeof kinds / sizeof *kinds)

static void every_row_is_known_and_variances_are_met(void **state)
{
	static struct csv c;
	int rows[KINDS] = { 0 };

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/protocols.csv"));
	while (csv_next(&c)) {
		size_t i = 0;

		while (i < KINDS && strcmp(csv_get(&c, "randomizer"), kinds[i].kind) != 0)
			i++;
		if (i == KINDS)
			fail_msg("%s: no test knows the randomizer %s", csv_get(&c, "id"),
				csv_get(&c, "randomizer"));
		assert_int_equal(*csv_get(&c, "est_variance") != '\0', kinds[i].variance);
		if (kinds[i].check)
			kinds[i].check(&c);
		rows[i]++;
	}
	(void)fclose(c.file);
	for (size_t i = 0; i < KINDS; i++)
		if (rows[i] != kinds[i].rows)
			fail_msg("%s: %d rows, not %d", kinds[i].kind, rows[i], kinds[i].rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_known_and_variances_are_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
