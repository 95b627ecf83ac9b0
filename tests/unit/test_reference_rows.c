/* test_reference_rows.c - estimates and variances of rows are those of the reference table. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "csv.h"
#include "few_bins.h"
#include "pt_mixbins_analysis.h"
#include "pt_protocol.h"
#include "queries.h"

static void close_to(double got, double want, double relative)
{
	if (!(fabs(got - want) <= relative * fabs(want)))
		fail_msg("%.17g, not %.17g", got, want);
}

static double column(const struct csv *c, const char *name)
{
	return strtod(csv_get(c, name), NULL);
}

static void check_grr(const struct csv *c, uint32_t k)
{
	struct pt_randomizer p;
	struct acct_round round;
	struct cm_err err = { 0 };

	assert_int_equal(pt_mixbins_derive(pt_find("grr"), k, csv_param(c, "eps0"), 0, &p, &err), CM_OK);
	assert_int_equal(pt_mixbins_cells(&p, 10000, &round, &err), CM_OK);
	close_to(column(c, "est_variance"), variance(&p, csv_param(c, "n"), 0, csv_param(c, "nj")), 1e-11);
	close_to(column(c, "Q_other"), pt_mixbins_other(&p.mixbins), 1e-13);
	close_to(column(c, "P_keep"), pt_mixbins_keep(&p.mixbins), 1e-13);
	close_to(column(c, "beta"), pt_mixbins_keep(&p.mixbins) - pt_mixbins_other(&p.mixbins), 1e-12);
	close_to(column(c, "p"), round.cell[0].u, 1e-13);
}

/* Everybody at the lowest level: the expected level counts in place of random ones give the variance
 * exactly. */
static void check_levels(const struct csv *c)
{
	uint32_t k = (uint32_t)csv_param(c, "b") + 1;
	struct qy_query q = mean(0, 1);
	struct pt_request r = { .epsilon0 = csv_param(c, "eps0"), .levels = k };
	double n = 1e8, scale = n / csv_param(c, "n");
	uint64_t counts[BINS_MAX];
	struct es_estimate e;
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	assert_true(k <= BINS_MAX);
	assert_int_equal(pt_derive(pt_find("levels"), &q, &r, &p, &err), CM_OK);
	close_to(column(c, "beta"), pt_mixbins_keep(&p.mixbins) - pt_mixbins_other(&p.mixbins), 1e-12);
	for (uint32_t l = 0; l < k; l++)
		counts[l] =
			(uint64_t)(n * (l == 0 ? pt_mixbins_keep(&p.mixbins) : pt_mixbins_other(&p.mixbins)));
	assert_int_equal(pt_answer(&q, &p, counts, (uint64_t)n, &e, &err), CM_OK);
	assert_true(fabs(e.item[0].value) < 1e-5);
	close_to(e.item[0].variance * n * n / scale, column(c, "est_variance"), 1e-5);
	es_estimate_fini(&e);
}

/* In [-1, 1], everybody at 0: half of them send each bit. */
static void check_duchi(const struct csv *c)
{
	struct qy_query q = mean(-1, 1);
	struct pt_request r = { .epsilon0 = csv_param(c, "eps0") };
	double n = 1e8, scale = n / csv_param(c, "n");
	uint64_t counts[2] = { (uint64_t)n / 2, (uint64_t)n / 2 };
	struct acct_round round;
	struct es_estimate e;
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	assert_int_equal(pt_derive(pt_find("duchi"), &q, &r, &p, &err), CM_OK);
	assert_int_equal(pt_answer(&q, &p, counts, (uint64_t)n, &e, &err), CM_OK);
	assert_true(fabs(e.item[0].value) < 1e-9);
	close_to(e.item[0].variance * n * n / scale, column(c, "est_variance"), 1e-6);
	es_estimate_fini(&e);
	assert_int_equal(pt_find("duchi")->cells(&p, 10000, &round, &err), CM_OK);
	close_to(round.cell[0].omega * (round.cell[0].u - 1), column(c, "beta"), 1e-12);
	close_to(round.cell[0].u, column(c, "p"), 1e-12);
}

static void check_bins(const struct csv *c)
{
	struct pt_randomizer p;
	struct cm_err err = { 0 };
	uint32_t k = (uint32_t)csv_param(c, "d");

	assert_int_equal(pt_mixbins_derive(pt_find("bins"), k, INFINITY, 1, &p, &err), CM_OK);
	close_to(column(c, "est_variance"), variance(&p, 1e6, csv_param(c, "N"), 5000), 1e-13);
}

static void check_mixdump(const struct csv *c)
{
	struct pt_randomizer p;
	struct cm_err err = { 0 };
	uint32_t k = (uint32_t)csv_param(c, "d");

	assert_int_equal(pt_mixbins_derive(pt_find("mixbins"), k, 1, 1, &p, &err), CM_OK);
	p.mixbins.keep = (uint64_t)ldexpl(1 - (long double)csv_param(c, "f"), 64);
	close_to(column(c, "est_variance"),
		variance(&p, csv_param(c, "n"), csv_param(c, "N"), csv_param(c, "nj")), 1e-11);
	close_to(exp(pt_mixbins_epsilon0(&p)), column(c, "p"), 1e-11);
}

/* Two estimates give P and Q, a third the variance; counts are supports, or those of columns of the same
 * sign. */
static void check_support(const struct csv *c, const char *row, uint32_t d, uint32_t size)
{
	struct qy_query q = histogram(d);
	struct pt_request r = { .epsilon0 = csv_param(c, "eps0"), .size = size };
	double n = 1e8, scale = n / csv_param(c, "n"), holders = scale * csv_param(c, "nj");
	double keep = 0, other = 0, at[3];
	bool columns = strcmp(row, "hadamard") == 0;
	struct acct_round round;
	struct es_estimate e;
	struct pt_randomizer p;
	struct cm_err err = { 0 };

	assert_int_equal(pt_derive(pt_find(row), &q, &r, &p, &err), CM_OK);
	for (int step = 0; step < 3; step++) {
		double m = step == 0 ? 0 : step == 1 ? n : holders * keep + (n - holders) * other;
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
	close_to(at[2] / scale, column(c, "est_variance"), 1e-6);
	if (!columns) {
		close_to(other, column(c, "Q_other"), 1e-12);
		close_to(keep, column(c, "P_keep"), 1e-12);
	}
	/* p, and the total variation by the cells where it stems from. */
	assert_int_equal(pt_find(row)->cells(&p, 10000, &round, &err), CM_OK);
	close_to(round.cell[0].omega * (round.cell[0].u - 1), column(c, "beta"), 1e-11);
	close_to(round.cell[0].u, column(c, "p"), 1e-12);
	close_to(exp(pt_find(row)->device->epsilon0(&p)), column(c, "p"), 1e-12);
}

static bool check_wide(const struct csv *c, const char *name)
{
	if (strcmp(name, "sue") == 0)
		check_support(c, "rappor", (uint32_t)csv_param(c, "d"), 0);
	else if (strcmp(name, "oue") == 0)
		check_support(c, "oue", (uint32_t)csv_param(c, "d"), 0);
	else if (strcmp(name, "subset") == 0)
		check_support(c, "subset", (uint32_t)csv_param(c, "d"), (uint32_t)csv_param(c, "k"));
	else if (strcmp(name, "localhash_uniform") == 0)
		check_support(c, "olh", 7, (uint32_t)csv_param(c, "l"));
	else if (strcmp(name, "hadamard") == 0)
		check_support(c, "hadamard", (uint32_t)csv_param(c, "K") - 1, 0);
	else
		return false;
	return true;
}

static void reference_values_are_met(void **state)
{
	static struct csv csv;
	const struct csv *c = &csv;
	int grr = 0, levels = 0, bins = 0, mixed = 0, wide = 0, duchi = 0;

	(void)state;
	assert_true(csv_open(&csv, TEST_DATA "/vectors/protocols.csv"));
	while (csv_next(&csv)) {
		const char *name = csv_get(c, "randomizer");

		if (strcmp(name, "grr") == 0 && ++grr)
			check_grr(c, (uint32_t)csv_param(c, "k"));
		else if (strcmp(name, "rr2") == 0 && ++grr)
			check_grr(c, 2);
		else if (strcmp(name, "blanket_rgb") == 0 && ++levels)
			check_levels(c);
		else if (strcmp(name, "duchi1") == 0 && ++duchi)
			check_duchi(c);
		else if (strcmp(name, "balls_into_bins") == 0 && ++bins)
			check_bins(c);
		else if (strcmp(name, "mixdump") == 0 && ++mixed)
			check_mixdump(c);
		else
			wide += check_wide(c, name);
	}
	(void)fclose(csv.file);
	assert_true(grr == 9 && levels == 6 && bins == 2 && mixed == 2 && wide == 21 && duchi == 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference_values_are_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
