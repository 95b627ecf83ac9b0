/* test_reference_rows.c - estimates and variances of rows are those of the reference table. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "few_bins.h"
#include "pt_mixbins_analysis.h"
#include "pt_protocol.h"
#include "queries.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference_values_are_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
