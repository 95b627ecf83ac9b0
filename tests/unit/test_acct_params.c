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
	else if (strcmp(kind, "privkv_exact") == 0 || strcmp(kind, "pckv_grr") == 0)
		/* no cells of their own: their parameters are a pair */
		snprintf(text, room, "pair:p=%s,beta=%s,q=%s", csv_get(c, "p"), csv_get(c, "beta"),
			csv_get(c, "q"));
	else
		fail_msg("%s: no such randomizer '%s'", csv_get(c, "id"), kind);
}

static void the_parameters_of_the_literature_are_met(void **state)
{
	struct csv c;
	size_t rows = 0;

	(void)state;
	assert_true(csv_open(&c, TEST_DATA "/vectors/protocols.csv"));
	while (csv_next(&c)) {
		const char *kind = csv_get(&c, "randomizer"), *q2 = csv_get(&c, "q2");
		char text[200];

		row_text(&c, text, sizeof text - 10);
		strcat(text, ",n=1000");
		struct acct_spec s = parsed(text);
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
	assert_int_equal(rows, 111);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_parameters_of_the_literature_are_met) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
