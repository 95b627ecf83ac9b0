/* test_acct_params.c - p, beta, q and q2 of every named randomizer against a table computed elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_own.h"
#include "acct_parsed.h"
#include "csv.h"

#define ROUNDING 1e-12 /* the table has 15 digits */

static bool near(double a, double b)
{
	return a == b || fabs(a - b) <= ROUNDING * fmax(fabs(a), fabs(b)); /* NOLINT: infinities */
}

static double blanket(const struct acct_round *r)
{
	double sum = 0;

	for (size_t j = 0; j < r->cells; j++)
		sum += r->cell[j].omega;
	return sum;
}

/* "eps0": "0.5" or "k": 3 */
static double json(const struct csv *c, const char *key)
{
	double x = csv_param(c, key);

	if (isnan(x))
		fail_msg("%s: no %s in %s", csv_get(c, "id"), key, csv_get(c, "params"));
	return x;
}

/* The row's round. */
static void row_text(const struct csv *c, char *text, size_t room)
{
	const char *kind = csv_get(c, "randomizer");
	/* name in the file; the round, its parameters in the file's order of use */
	static const struct {
		const char *kind, *format, *key[3];
	} same[] = {
		{ "rr2", "rr:eps0=%.17g", { "eps0" } },
		{ "grr", "grr:eps0=%.17g,k=%g", { "eps0", "k" } },
		{ "sue", "sue:eps0=%.17g,d=%g", { "eps0", "d" } },
		{ "oue", "oue:eps0=%.17g,d=%g", { "eps0", "d" } },
		{ "subset", "subset:eps0=%.17g,d=%g,k=%g", { "eps0", "d", "k" } },
		{ "localhash_uniform", "olh:eps0=%.17g,l=%g", { "eps0", "l" } },
		{ "vector_rr", "vrr:eps0=%.17g,s=%g", { "eps0", "s" } },
		{ "dlap", "laplace-levels:eps0=%.17g,b=%g", { "eps0", "b" } },
		{ "dpm", "piecewise:eps0=%.17g,b=%g,w=%g", { "eps0", "b", "w" } },
		{ "blanket_rgb", "levels:eps0=%.17g,b=%g", { "eps0", "b" } },
		{ "duchi1", "duchi:eps0=%.17g", { "eps0" } },
		{ "duchi_fixed", "duchi:eps0=%.17g,d=%g", { "eps0", "d" } },
		{ "harmony", "harmony:eps0=%.17g,d=%g", { "eps0", "d" } },
		{ "hier_grr_sample_level", "hierarchy:eps0=%.17g,H=%g,f=2", { "eps0", "H" } },
		{ "balcer_cheu", "balcer-cheu:t=%.17g", { "coin" } },
		{ "hashed_bins", "hashed:b=%g,dummies=%g", { "b", "N" } },
		{ "cheu_zhilyaev", "cheu:f=%.17g,fakes=%g", { "f", "kfake" } },
	};

	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		if (strcmp(kind, same[i].kind) == 0) {
			double x[3] = { 0 };

			for (size_t j = 0; j < 3 && same[i].key[j]; j++)
				x[j] = json(c, same[i].key[j]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(text, room, same[i].format, x[0], x[1], x[2]);
#pragma GCC diagnostic pop
			return;
		}
	if (strcmp(kind, "hadamard") == 0)
		snprintf(text, room, "hadamard:eps0=%.17g,d=%g", json(c, "eps0"), json(c, "K") - 1);
	else if (strcmp(kind, "hadamard_blocks") == 0)
		snprintf(text, room, "hadamard:eps0=%.17g,d=%g,blocks=%g", json(c, "eps0"),
			json(c, "B") * (json(c, "b") - 1), json(c, "B"));
	else if (strcmp(kind, "privset") == 0)
		snprintf(text, room, "privset:eps0=%.17g,d=%g,k=%g,s=%g", json(c, "eps0"), json(c, "d"),
			json(c, "k"), json(c, "s"));
	else if (strcmp(kind, "balls_into_bins") == 0)
		snprintf(text, room, "bins:k=%g,dummies=%g", json(c, "d") / json(c, "s"), json(c, "N"));
	else if (strcmp(kind, "bin_words") == 0)
		snprintf(text, room, "bins:k=%g,dummies=%g", exp2(json(c, "w")), json(c, "N_slot"));
	else if (strcmp(kind, "mixdump") == 0)
		snprintf(text, room, "mixbins:k=%g,dummies=%g,eps0=%.17g", json(c, "d"), json(c, "N"),
			log((1 - json(c, "f")) / (json(c, "f") / (json(c, "d") - 1))));
	else
		fail_msg("%s: no such randomizer '%s'", csv_get(c, "id"), kind);
}

/* Key-value pairs: a participant holds s of d keys, each with a value -1 or 1.  An input is one sign (0:
 * none) for each key. */
#define MOST_KEYS   5
#define MOST_INPUTS 64

static size_t key_values(size_t d, size_t s, int held[MOST_INPUTS][MOST_KEYS])
{
	size_t n = 0, all = 1;

	for (size_t j = 0; j < d; j++)
		all *= 3;
	for (size_t code = 0; code < all; code++) {
		size_t rest = code, keys = 0;
		int sign[MOST_KEYS] = { 0 };

		for (size_t j = 0; j < d; j++, rest /= 3) {
			sign[j] = (int)(rest % 3) - 1;
			keys += sign[j] != 0;
		}
		if (keys != s)
			continue;
		assert_true(n < MOST_INPUTS);
		memcpy(held[n++], sign, sizeof sign);
	}
	return n;
}

/* PrivKV (Ye et al. 2019): a random key j of d; whether it is held is flipped at eps1, its value at eps2; who
 * does not hold it sends a random value.  Outputs: j and one of none, -1, 1. */
static size_t privkv(const struct csv *c, const int *sign, double *p)
{
	size_t d = (size_t)json(c, "d");
	double keep = 1 / (1 + exp(-json(c, "eps1"))), right = 1 / (1 + exp(-json(c, "eps2")));

	for (size_t j = 0; j < d; j++) {
		double shown = sign[j] ? keep : 1 - keep;

		p[3 * j] = (1 - shown) / (double)d;
		for (int v = -1; v <= 1; v += 2)
			p[3 * j + (v < 0 ? 1 : 2)] = shown *
						     (sign[j] == 0          ? 0.5
							     : sign[j] == v ? right
									    : 1 - right) /
						     (double)d;
	}
	return 3 * d;
}

/* PCKV-GRR (Gu et al. 2020): one of the s pairs at random, response on the 2 d pairs; sampling makes the
 * response's e^eps a mean of it and s - 1 ones. */
static size_t pckv(const struct csv *c, const int *sign, double *p)
{
	size_t d = (size_t)json(c, "d");
	double s = json(c, "s"), ratio = s * expm1(json(c, "eps0")) + 1, whole = ratio + 2 * (double)d - 1;

	for (size_t j = 0; j < d; j++)
		for (int v = -1; v <= 1; v += 2)
			p[2 * j + (v < 0 ? 0 : 1)] = (sign[j] == v ? (ratio + s - 1) / s : 1) / whole;
	return 2 * d;
}

/* The parameters of the two, derived from all their probabilities and all pairs of inputs. */
static bool key_value_parameters(const struct csv *c, struct acct_spec *out)
{
	bool first = strcmp(csv_get(c, "randomizer"), "privkv_exact") == 0;
	static double p[MOST_INPUTS * 3 * MOST_KEYS];
	int held[MOST_INPUTS][MOST_KEYS];
	struct acct_profile *owned;
	char why[200] = "";
	struct acct_matrix m = { .p = p };

	if (!first && strcmp(csv_get(c, "randomizer"), "pckv_grr") != 0)
		return false;
	m.inputs = key_values((size_t)json(c, "d"), (size_t)json(c, "s"), held);
	for (size_t x = 0; x < m.inputs; x++)
		m.outputs =
			first ? privkv(c, held[x], p + x * m.outputs) : pckv(c, held[x], p + x * m.outputs);
	if (acct_own_matrix(&m, "n=1000", out, &owned, why, sizeof why))
		fail_msg("%s: %s", csv_get(c, "id"), why);
	acct_profile_free(owned);
	return true;
}

static void the_parameters_of_the_literature_are_met(void **state)
{
	struct csv c;
	size_t rows = 0, pairs = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/protocols.csv"));
	while (csv_next(&c)) {
		const char *kind = csv_get(&c, "randomizer"), *q2 = csv_get(&c, "q2");
		struct acct_spec s;
		char text[200];

		if (key_value_parameters(&c, &s)) {
			if (!(near(s.p, atof(csv_get(&c, "p"))) && near(s.beta, atof(csv_get(&c, "beta"))) &&
				    near(s.q, atof(csv_get(&c, "q")))))
				fail_msg("%s: (%.15g, %.15g, %.15g)", csv_get(&c, "id"), s.p, s.beta, s.q);
			pairs++;
			continue;
		}
		row_text(&c, text, sizeof text - 10);
		strcat(text, ",n=1000");
		s = parsed(text);
		double q = s.q, blanket_share = blanket(&s.round), twin = 0;

		/* These rows have the q of dummies, whose law is the blanket's over its share. */
		bool of_dummies = strcmp(kind, "mixdump") == 0 || strcmp(kind, "cheu_zhilyaev") == 0;
		if (of_dummies)
			q *= blanket_share;
		if (!(near(s.p, atof(csv_get(&c, "p"))) && near(s.beta, atof(csv_get(&c, "beta"))) &&
			    near(q, atof(csv_get(&c, "q")))))
			fail_msg("%s %s: (%.15g, %.15g, %.15g)", csv_get(&c, "id"), text, s.p, s.beta, q);
		/* q2: what the cells without a difference exceed the blanket by.  The file's of fake users is
		 * a ratio of totals, not of laws: no bound, and not what the cells here are made from. */
		for (size_t j = 0; j < s.round.cells; j++)
			if (near(s.round.cell[j].u, s.round.cell[j].v))
				twin = fmax(twin, s.round.cell[j].u * (of_dummies ? blanket_share : 1));
		if (*q2 && strcmp(kind, "cheu_zhilyaev") != 0 && !(twin <= atof(q2) * (1 + ROUNDING)))
			fail_msg("%s %s: q2 %.15g", csv_get(&c, "id"), text, twin);
		if (strcmp(kind, "grr") == 0 || strcmp(kind, "subset") == 0 || strcmp(kind, "mixdump") == 0 ||
			strcmp(kind, "hashed_bins") == 0)
			assert_true(near(twin, atof(q2)));
		rows++;
	}
	fclose(c.file);
	assert_int_equal(rows + pairs, 111);
	assert_int_equal(pairs, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_parameters_of_the_literature_are_met) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
