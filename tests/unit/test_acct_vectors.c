/* test_acct_vectors.c - the accountant against reference intervals of independent high-precision programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "acct_parsed.h"
#include "csv.h"

#define MOST 32

#define WIDTH 1e-3

static size_t read_rounds(const char *text, struct acct_round r[MOST])
{
	char copy[8192], *state = NULL;
	size_t n = 0;

	assert_true(strlen(text) < sizeof copy);
	memcpy(copy, text, strlen(text) + 1);
	for (char *spec = strtok_r(copy, " ", &state); spec; spec = strtok_r(NULL, " ", &state)) {
		assert_true(n < MOST);
		r[n++] = parsed(spec).round;
	}
	return n;
}

static void epsilon_rows(const char *file, size_t least)
{
	static struct acct_round r[MOST];
	struct csv c;
	size_t rows = 0;

	assert_true(csv_open(&c, file));
	while (csv_next(&c)) {
		const char *bound = csv_get(&c, "bound"), *eps_query = csv_get(&c, "eps_query");
		struct acct_bound got;

		if (bound && strcmp(bound, "proved") != 0)
			continue; /* the published reduction is false, and not offered */
		size_t n = read_rounds(csv_get(&c, "rounds_spec"), r);
		assert_int_equal(acct_epsilon(r, n, atof(csv_get(&c, "delta")), &got), ACCT_OK);
		overlap(csv_get(&c, "case"), got, atof(csv_get(&c, "eps_lower")),
			atof(csv_get(&c, "eps_upper")), WIDTH);
		rows++;
		if (!eps_query)
			continue;
		/* delta falls by turn^2 <= 100 relative units per relative unit of epsilon. */
		assert_int_equal(acct_delta(r, n, atof(eps_query), &got), ACCT_OK);
		overlap(csv_get(&c, "case"), got, atof(csv_get(&c, "delta_lower")),
			atof(csv_get(&c, "delta_upper")), 1e-2);
	}
	fclose(c.file);
	assert_true(rows >= least);
}

static void the_proved_intervals_are_reproduced(void **state)
{
	(void)state;
	epsilon_rows(TEST_DATA "/vectors/proved.csv", 44);
}

static void the_pair_intervals_are_reproduced(void **state)
{
	(void)state;
	epsilon_rows(TEST_DATA "/vectors/pairs.csv", 60);
}

static double choose(double n, double k)
{
	double c = 1;

	if (k < 0 || k > n)
		return 0;
	for (double i = 1; i <= k; i++)
		c *= (n - k + i) / i;
	return c;
}

/* "3/2" or "20" after the equals sign. */
static double parameter(const char *text)
{
	char *end;
	double x = strtod(strchr(text, '=') + 1, &end);

	return *end == '/' ? x / strtod(end + 1, NULL) : x;
}

/* The best cells of a row's randomizer; 0 when the row's kind has none here. */
static int level_cells(const char *kind, double x, struct acct_round *r)
{
	unsigned d = 0, k = 0;

	r->cells = 0;
	if (sscanf(kind, "grr%u", &d) == 1) {
		double z = x + d - 1;

		r->cell[0] = (struct acct_cell){ 1 / z, x, 1 };
		r->cell[1] = (struct acct_cell){ 1 / z, 1, x };
		r->cell[2] = (struct acct_cell){ (d - 2) / z, 1, 1 };
		r->cells = 3;
	} else if (sscanf(kind, "rappor%u", &d) == 1) {
		double keep = x / (1 + x), p = x * x;

		r->cell[0] = (struct acct_cell){ keep * (1 - keep) / x, p, 1 };
		r->cell[1] = (struct acct_cell){ keep * (1 - keep) / x, 1, p };
		r->cell[2] = (struct acct_cell){ keep * keep / x + pow(1 - keep, d) * x, 1, 1 };
		r->cell[3] = (struct acct_cell){ (pow(1 - keep, 2) - pow(1 - keep, d)) / x, p, p };
		r->cells = 4;
	} else if (sscanf(kind, "vrr%u,%u", &d, &k) == 2) {
		for (unsigned i = 0; i <= k; i++)
			r->cell[i] = (struct acct_cell){ choose(k, i) * pow(1 / (1 + x), k), pow(x, k - i),
				pow(x, i) };
		r->cells = k + 1;
	} else if (sscanf(kind, "subset%u,%u", &d, &k) == 2) {
		double z = x * choose(d - 1, k - 1) + choose(d - 1, k), some[4];

		some[0] = some[1] = choose(d - 2, (double)k - 1);
		some[2] = choose(d - 2, (double)k - 2);
		some[3] = choose(d - 2, k);
		for (size_t i = 0; i < 4; i++)
			if (some[i] > 0)
				r->cell[r->cells++] = (struct acct_cell){ some[i] / z,
					i == 0 || i == 2 ? x : 1, i == 1 || i == 2 ? x : 1 };
	}
	return r->cells > 0;
}

static void no_counterexample_is_above_the_bound(void **state)
{
	struct csv c;
	size_t rows = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/counterexamples.csv"));
	while (csv_next(&c)) {
		struct acct_round r = { .count = 1 };
		struct acct_bound got;
		double truth = atof(csv_get(&c, "exact_delta")), level = atof(csv_get(&c, "level_pair"));

		if (!level_cells(csv_get(&c, "randomizer"), parameter(csv_get(&c, "params")), &r))
			continue;
		r.others = (uint64_t)atoll(csv_get(&c, "n")) - 1;
		assert_int_equal(acct_delta(&r, 1, atof(csv_get(&c, "eps")), &got), ACCT_OK);
		if (!(got.upper >= truth * (1 - 1e-12) && got.upper >= level * (1 - 1e-12) &&
			    got.lower <= level * (1 + 1e-12)))
			fail_msg("%s %s n=%s eps=%s: [%.15g, %.15g], truth %.15g, pair %.15g",
				csv_get(&c, "randomizer"), csv_get(&c, "params"), csv_get(&c, "n"),
				csv_get(&c, "eps"), got.lower, got.upper, truth, level);
		assert_true(atof(csv_get(&c, "published")) < truth); /* else the row shows nothing */
		rows++;
	}
	fclose(c.file);
	assert_true(rows >= 80);
}

static double named(const char *params, const char *name)
{
	const char *at = params;

	for (size_t n = strlen(name); at; at = strchr(at, ';')) {
		at += *at == ';';
		if (strncmp(at, name, n) == 0 && at[n] == '=')
			return strtod(at + n + 1, NULL);
	}
	fail_msg("%s lacks %s", params, name);
	return NAN;
}

/* Local epsilons of the rows: a constant, a grid's midpoints, or half and half. */
static double local_epsilon(const char *params, double i)
{
	double lo = named(params, "lo"), hi = named(params, "hi"), n = named(params, "n");

	return strstr(params, "grid") ? lo + (hi - lo) * (i + 0.5) / n : i < n / 2 ? lo : hi;
}

/* Binary response of everybody's own epsilon, the victim's the largest.  At most 64 levels: shares rounded
 * down (worse), or up. */
static struct acct_round personal(const char *params, bool up)
{
	struct acct_round r = { .count = 1,
		.defect = strstr(params, "delta_i") ? named(params, "delta_i") : 0 };
	double n = named(params, "n"), victim = 0, clone[64], last = 0;
	size_t who = 0;

	for (double i = 0; i < n; i++)
		if (local_epsilon(params, i) > victim) {
			victim = local_epsilon(params, i);
			who = (size_t)i;
		}
	assert_int_equal(acct_cells_generic(victim, &r, NULL), ACCT_OK);
	double blanket = r.cell[0].omega + r.cell[1].omega;
	for (size_t k = 0; k < (size_t)n; k++) {
		double c = 2 * (1 - r.defect) / (1 + exp(local_epsilon(params, (double)k)));

		if (k == who)
			continue;
		if (r.levels == 0 || (fabs(c - last) > 0 && k % ((size_t)n / 20) == 0)) {
			clone[r.levels] = c;
			r.levels++;
		}
		last = c;
		clone[r.levels - 1] = up ? fmax(c, clone[r.levels - 1]) : fmin(c, clone[r.levels - 1]);
		r.level[r.levels - 1].count++;
	}
	for (size_t i = 0; i < r.levels; i++)
		r.level[i].share = clone[i] / blanket;
	return r;
}

static void personalised_rows_are_reproduced(void **state)
{
	struct csv c;
	size_t rows = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/bounds.csv"));
	while (csv_next(&c)) {
		const char *method = csv_get(&c, "method"), *params = csv_get(&c, "params");
		bool many = strcmp(method, "pld_compose") == 0;
		struct acct_bound upper, lower;

		if (strcmp(csv_get(&c, "section"), "gspa") != 0 ||
			!(many || strcmp(method, "exact_canonical_pair_victim_max_eps") == 0))
			continue;
		double value = atof(csv_get(&c, "value")), delta = atof(csv_get(&c, "delta")),
		       rtol = atof(csv_get(&c, "rtol"));
		struct acct_round worse = personal(params, false), better = personal(params, true);
		worse.count = better.count = many ? (uint64_t)named(params, "T") : 1;
		assert_int_equal(acct_epsilon(&worse, 1, delta, &upper), ACCT_OK);
		assert_int_equal(acct_epsilon(&better, 1, delta, &lower), ACCT_OK);
		if (!(upper.upper >= value * (1 - rtol) && lower.lower <= value * (1 + rtol)))
			fail_msg("%s: [%.12g, %.12g] misses %.12g", csv_get(&c, "id"), lower.lower,
				upper.upper, value);
		if (!(upper.upper - lower.lower <= (worse.levels > 2 ? 5e-2 : WIDTH) * value))
			fail_msg("%s: [%.12g, %.12g] is wide", csv_get(&c, "id"), lower.lower, upper.upper);
		rows++;
	}
	fclose(c.file);
	assert_true(rows >= 11);
}

static void sampled_rows_are_reproduced(void **state)
{
	struct csv c;
	size_t rows = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/bounds.csv"));
	while (csv_next(&c)) {
		const char *method = csv_get(&c, "method"), *params = csv_get(&c, "params");
		struct acct_bound got;

		if (strncmp(method, "wor_pld_", 8) != 0)
			continue;
		/* clone: others are (R0 + R1)/(2p) with chance 1/p; strong: with 2/(p+1). */
		double p = exp(named(params, "eps0")),
		       q = strcmp(method, "wor_pld_clone") == 0 ? 2 * p * p / (p + 1) : p;
		struct acct_round r = { .others = (uint64_t)named(params, "m") - 1,
			.count = (uint64_t)named(params, "T"),
			.sampling = named(params, "gamma") };
		assert_int_equal(acct_cells_pair(p, (p - 1) / (p + 1), q, q, &r, NULL), ACCT_OK);
		assert_int_equal(acct_epsilon(&r, 1, atof(csv_get(&c, "delta")), &got), ACCT_OK);
		double value = atof(csv_get(&c, "value")), rtol = atof(csv_get(&c, "rtol"));
		if (!(got.upper >= value * (1 - rtol) && got.lower <= value * (1 + rtol)))
			fail_msg("%s: [%.12g, %.12g] misses %.12g", csv_get(&c, "id"), got.lower, got.upper,
				value);
		if (!(got.upper - got.lower <= WIDTH * got.upper))
			fail_msg("%s: [%.12g, %.12g] is wide", csv_get(&c, "id"), got.lower, got.upper);
		rows++;
	}
	fclose(c.file);
	assert_true(rows >= 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_proved_intervals_are_reproduced),
		cmocka_unit_test(the_pair_intervals_are_reproduced),
		cmocka_unit_test(no_counterexample_is_above_the_bound),
		cmocka_unit_test(personalised_rows_are_reproduced),
		cmocka_unit_test(sampled_rows_are_reproduced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
