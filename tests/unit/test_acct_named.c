/* test_acct_named.c - the cells of every named randomizer against its definition: all outputs, all pairs of
 * inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_families.h"
#include "acct_mech.h"
#include "acct_named.h"
#include "acct_parsed.h"

#define N        5
#define DUMMIES  7
#define ROUNDING 1e-12 /* some hundred operations on numbers of size one */

static const double scales[] = { 0.01, 1, 6 };

static struct acct_spec round_of(const struct mech *m)
{
	char text[200];
	bool add = m->dummies && m->per_participant == 0 && strncmp(m->text, "cheu", 4) != 0;

	snprintf(text, sizeof text, "%s,n=%d%s", m->text, N, add ? ",dummies=7" : "");
	return parsed(text);
}

static bool near(double a, double b)
{
	return a == b || fabs(a - b) <= ROUNDING * fmax(fabs(a), fabs(b)); /* NOLINT: infinities */
}

/* The largest blanket: what every other's law is at least, and dummies' law is proportional to. */
static void blanket(const struct mech *m, double omega[MECH_OUTPUTS])
{
	double share = INFINITY;

	for (size_t y = 0; y < m->outputs; y++) {
		omega[y] = INFINITY;
		for (size_t x = 0; x < m->inputs; x++)
			omega[y] = fmin(omega[y], m->law[x][y]);
		if (m->dummies)
			share = fmin(share, omega[y] / m->dummy[y]);
	}
	if (m->truthful)
		share = 1;
	for (size_t y = 0; y < m->outputs && m->dummies; y++)
		omega[y] = share * m->dummy[y];
}

/* The cells of one pair of inputs, output by output. */
static struct acct_round pair_cells(
	const struct mech *m, const double omega[MECH_OUTPUTS], size_t x0, size_t x1)
{
	struct acct_round r = { .cells = 0 };

	for (size_t y = 0; y < m->outputs; y++) {
		double u = m->law[x0][y] / omega[y], v = m->law[x1][y] / omega[y];
		size_t j = 0;

		while (j < r.cells && !(near(u, r.cell[j].u) && near(v, r.cell[j].v)))
			j++;
		if (j == r.cells) {
			assert_true(j < ACCT_MAX_CELLS);
			r.cell[r.cells++] = (struct acct_cell){ 0, u, v };
		}
		r.cell[j].omega += omega[y];
	}
	return r;
}

static bool is_listed(const struct acct_cell *c, const struct acct_round *r)
{
	for (size_t j = 0; j < r->cells; j++)
		if (near(c->u, r->cell[j].u) && near(c->v, r->cell[j].v) &&
			fabs(c->omega - r->cell[j].omega) <= ROUNDING * c->omega)
			return true;
	return false;
}

static bool equal_lists(const struct acct_round *a, const struct acct_round *b)
{
	bool equal = a->cells == b->cells;

	for (size_t j = 0; j < a->cells && equal; j++)
		equal = is_listed(&a->cell[j], b);
	return equal;
}

/* E(X - t)+, X = u - e v with chance omega, else 0. */
static double excess(const struct acct_round *r, double e, double t)
{
	double sum = 0, rest = 1;

	for (size_t j = 0; j < r->cells; j++) {
		sum += r->cell[j].omega * fmax(0, r->cell[j].u - e * r->cell[j].v - t);
		rest -= r->cell[j].omega;
	}
	return sum + fmax(0, rest) * fmax(0, -t);
}

/* X of the pair is below X of the list in convex order, for every e: then the round's curve is, for any n
 * (sums of independent terms, and (.)+ is convex).  E(X - t)+ has its kinks at the values of X. */
static bool dominates(const struct acct_round *list, const struct acct_round *pair)
{
	for (double e = 0; e < 1000; e = e < 1 ? e + 0.125 : e * 1.3)
		for (size_t j = 0; j < list->cells + pair->cells + 1; j++) {
			const struct acct_cell *c =
				j < list->cells ? &list->cell[j] : &pair->cell[j - list->cells];
			double t = j < list->cells + pair->cells ? c->u - e * c->v : 0;

			if (!(excess(pair, e, t) <= excess(list, e, t) + ROUNDING * (1 + e)))
				return false;
		}
	return true;
}

/* The accountant bounds both directions of a list. */
static struct acct_round mirrored(const struct acct_round *r)
{
	struct acct_round m = *r;

	for (size_t j = 0; j < r->cells; j++)
		m.cell[j] = (struct acct_cell){ r->cell[j].omega, r->cell[j].v, r->cell[j].u };
	return m;
}

static double total(const struct acct_round *r, int of)
{
	double sum = 0;

	for (size_t j = 0; j < r->cells; j++)
		sum += r->cell[j].omega * (of == 0 ? 1 : of == 1 ? r->cell[j].u : r->cell[j].v);
	return sum;
}

/* p, beta and q over all inputs. */
static void facts_are(const struct mech *m, const double omega[MECH_OUTPUTS], const struct acct_spec *s)
{
	double p = 0, beta = 0, q = 0;

	for (size_t x = 0; x < m->inputs; x++)
		for (size_t z = 0; z < m->inputs; z++) {
			double distance = 0;

			for (size_t y = 0; y < m->outputs; y++) {
				distance += fmax(0, m->law[x][y] - m->law[z][y]);
				if (m->law[x][y] > 0) {
					p = fmax(p, m->law[x][y] / m->law[z][y]);
					q = fmax(q, m->law[x][y] / omega[y]);
				}
			}
			beta = fmax(beta, distance);
		}
	/* The cells of planar have room for a rate that is solved for. */
	double room = m->above ? 1e-10 : ROUNDING * beta;

	if (!(near(p, s->p) && fabs(beta - s->beta) <= room && near(q, s->q)))
		fail_msg("%s: (%.15g, %.15g, %.15g) is not (%.15g, %.15g, %.15g)", m->text, s->p, s->beta,
			s->q, p, beta, q);
	if (!(fabs(s->eps0 - log(p)) <= ROUNDING * s->eps0) && isfinite(p))
		fail_msg("%s: eps0 %.15g is not %.15g", m->text, s->eps0, log(p));
	assert_true(isfinite(p) == isfinite(s->eps0));
}

static void the_cells_are_those_of_the_worst_pair_of_inputs(void **state)
{
	static struct mech m;
	size_t cases = 0;

	(void)state;
	for (size_t k = 0; k < sizeof scales / sizeof *scales; k++)
		for (size_t i = 0; mech_case(i, scales[k], &m); i++, cases++) {
			struct acct_spec s = round_of(&m);
			struct acct_round mirror = mirrored(&s.round);
			double omega[MECH_OUTPUTS];
			bool attained = false;

			blanket(&m, omega);
			assert_true(total(&s.round, 0) <= 1 + ROUNDING);
			assert_true(fabs(total(&s.round, 1) - 1) <= ROUNDING);
			assert_true(fabs(total(&s.round, 2) - 1) <= ROUNDING);
			for (size_t x = 0; x < m.inputs; x++)
				for (size_t z = 0; z < m.inputs; z++) {
					if (x == z)
						continue;
					struct acct_round pair = pair_cells(&m, omega, x, z);

					if (!dominates(&s.round, &pair) && !dominates(&mirror, &pair))
						fail_msg("%s: inputs %zu, %zu are not covered", m.text, x, z);
					attained = attained || equal_lists(&s.round, &pair);
				}
			if (attained == m.above)
				fail_msg("%s: %s pair of inputs has these cells", m.text,
					m.above ? "a" : "no");
			facts_are(&m, omega, &s);
		}
	assert_true(cases >= 3 * 70);
}

static void the_reports_of_the_round_are_those_that_hide_the_victim(void **state)
{
	static struct mech m;

	(void)state;
	for (size_t i = 0; mech_case(i, 1, &m); i++) {
		struct acct_spec s = round_of(&m);
		uint64_t dummies = m.per_participant * (uint64_t)N;

		if (m.dummies && strncmp(m.text, "cheu", 4) != 0 && m.per_participant == 0)
			dummies = DUMMIES;
		if (!(s.participants == N && s.round.others == (m.truthful ? 0 : N - 1) &&
			    s.round.dummies == dummies && s.round.count == 1))
			fail_msg("%s: %llu others, %llu dummies", m.text, (unsigned long long)s.round.others,
				(unsigned long long)s.round.dummies);
	}
}

/* Lists of cells as such; central events, in test_acct_central.c; and rounds of several slots or of none's
 * own law, which test_acct_slots.c holds to their parts and test_named_rows.c to the plan's rows, whose laws
 * are enumerated. */
static bool is_verified_elsewhere(const char *name)
{
	static const char *const names[] = { "pair", "cells", "noise", "prefixes", "rotated", "digits",
		"ranges", "marginals", "ss-simple", "ss-double", "ss-topk", "gspa-classes", "gspa-pooled",
		"gaussian", "sampled-gaussian", "laplace", "guarantee", "laplace-noise", "metric",
		"metric-laplace", "planar-laplace" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* The family of Tombola's row (common/protocols/shared/pt_hash.h), over a small field: x goes to the cell
 * floor(((a x + b) mod M) l / M). */
static void lines_over_a_field(unsigned field, unsigned inputs, unsigned cells, struct mech *m)
{
	memset(m, 0, sizeof *m);
	m->inputs = inputs;
	for (unsigned a = 0; a < field; a++)
		for (unsigned b = 0; b < field; b++)
			for (unsigned cell = 0; cell < cells; cell++, m->outputs++)
				for (unsigned x = 0; x < inputs; x++)
					m->law[x][m->outputs] =
						((a * x + b) % field * cells / field == cell ? exp(1) : 1) /
						(exp(1) + cells - 1) / (field * field);
	assert_true(m->outputs <= MECH_OUTPUTS);
}

static void local_hashing_holds_for_pairwise_independent_hashes(void **state)
{
	static struct mech m;
	static const unsigned row[][3] = { { 5, 3, 2 }, { 7, 3, 2 }, { 11, 3, 2 }, { 11, 5, 2 }, { 7, 3, 3 },
		{ 7, 7, 3 }, { 5, 5, 4 }, { 7, 2, 5 } };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		double omega[MECH_OUTPUTS];
		char text[100];

		lines_over_a_field(row[i][0], row[i][1], row[i][2], &m);
		blanket(&m, omega);
		(void)snprintf(text, sizeof text, "olh:l=%u,d=%u,eps0=1,n=%d", row[i][2], row[i][1], N);
		struct acct_spec s = parsed(text);
		for (size_t x = 0; x < m.inputs; x++)
			for (size_t z = 0; z < m.inputs; z++) {
				struct acct_round pair = pair_cells(&m, omega, x, z);

				if (x != z && !dominates(&s.round, &pair))
					fail_msg("%s: inputs %zu, %zu over F_%u are not covered", text, x, z,
						row[i][0]);
			}
	}
}

/* A name without a definition to compare with has a reason to be one. */
static void every_name_is_verified(void **state)
{
	static struct mech m;
	const struct acct_named *named;

	(void)state;
	for (size_t i = 0; (named = acct_named_row(i)); i++) {
		bool found = is_verified_elsewhere(named->name);

		assert_ptr_equal(acct_named_find(named->name), named);
		for (size_t j = 0; mech_case(j, 1, &m) && !found; j++)
			found = strncmp(m.text, named->name, strlen(named->name)) == 0 &&
				m.text[strlen(named->name)] == ':';
		if (!found)
			fail_msg("%s is not verified", named->name);
	}
	assert_true(strcmp(acct_named_row(0)->name, "generic") == 0);
}

/* Two counters change: a product of two curves. */
static void a_histogram_of_coins_counts_twice(void **state)
{
	(void)state;
	assert_int_equal(parsed("balcer-cheu:t=.1,k=5,n=9,count=4").round.count, 8);
	assert_int_equal(parsed("balcer-cheu:t=.1,k=1,n=9,count=4").round.count, 4);
}

/* 2 of 10000: of the 49995000 pairs of items 1 is both inputs', 9998 are one input's and another, so many are
 * neither's. */
static void rare_reports_keep_their_digits(void **state)
{
	struct acct_round r = parsed("privset:d=10000,k=2,s=1,eps0=1,n=9").round;
	double pairs = 49995000, hit = 9999, z = exp(1) * hit + (pairs - hit);

	(void)state;
	assert_true(r.cells == 4);
	assert_true(fabs(r.cell[0].omega - 9998 / z) <= 1e-14 * r.cell[0].omega);
	assert_true(fabs(r.cell[2].omega - 49975003 / z) <= 1e-14 * r.cell[2].omega);
	assert_true(fabs(r.cell[3].omega - 1 / z) <= 1e-14 * r.cell[3].omega);
}

/* E(X - t)+ of two levels of discrete Laplace noise, against the smaller law of 0 and b; the list's is above,
 * and hardly: at worst half way between two of its 64 nodes. */
static void many_levels_are_covered_by_few_cells(void **state)
{
	static const double bs[] = { 63, 64, 65, 200, 201, 1000 }, eps0s[] = { 0.01, 1, 5 };

	(void)state;
	for (size_t k = 0; k < sizeof bs / sizeof *bs; k++)
		for (size_t i = 0; i < sizeof eps0s / sizeof *eps0s; i++) {
			double b = bs[k], a = exp(-eps0s[i] / b), worst = 1;
			char text[100];

			snprintf(text, sizeof text, "laplace-levels:b=%g,eps0=%g,n=9", b, eps0s[i]);
			struct acct_round r = parsed(text).round;
			assert_true(r.cells <= ACCT_MAX_CELLS && (b > 63 || r.cells == 64));
			for (double e = 0.3; e < 3; e *= 1.7)
				for (double t = -e * exp(eps0s[i]); t < exp(eps0s[i]);
					t += 0.1 * exp(eps0s[i]) * e) {
					double pair = 0, near_pair = 0, rest = 0;

					for (double y = 0; y <= b; y++) {
						double scale =
							y <= 0 || y >= b ? 1 / (1 + a) : (1 - a) / (1 + a);
						double r0 = scale * pow(a, y), rb = scale * pow(a, b - y),
						       omega = fmin(r0, rb), x = floor(b / 3), z = b - 1;

						pair += fmax(0, r0 - e * rb - t * omega);
						near_pair += fmax(0, scale * pow(a, fabs(y - x)) -
									     e * scale * pow(a, fabs(y - z)) -
									     t * omega);
						rest += omega;
					}
					pair += (1 - rest) * fmax(0, -t);
					near_pair += (1 - rest) * fmax(0, -t);
					double list = excess(&r, e, t);
					if (!(fmax(pair, near_pair) <= list + 1e-12 * (1 + e)))
						fail_msg("%s: e %g t %g: %.15g is not below %.15g", text, e,
							t, fmax(pair, near_pair), list);
					if (pair > 1e-3)
						worst = fmax(worst, list / pair);
				}
			if (!(worst <= (b > 63 ? 1.05 : 1 + 1e-9)))
				fail_msg("%s: wide, %g", text, worst);
		}
}

static void the_steps_of_noise_default_to_the_best(void **state)
{
	(void)state;
	/* 10/(1+e) = 2.69, 10/e = 3.68 */
	assert_true(parsed("staircase:b=10,eps0=2,n=9").beta <= parsed("staircase:b=10,eps0=2,r=3,n=9").beta);
	assert_true(parsed("staircase:b=10,eps0=2,n=9").beta >= parsed("staircase:b=10,eps0=2,r=3,n=9").beta);
	assert_true(parsed("piecewise:b=10,eps0=2,n=9").beta <= parsed("piecewise:b=10,eps0=2,w=4,n=9").beta);
	assert_true(parsed("piecewise:b=10,eps0=2,n=9").beta >= parsed("piecewise:b=10,eps0=2,w=4,n=9").beta);
}

/* Domains too large to enumerate: the sums still hold, and the local guarantee. */
static void large_domains_stay_exact(void **state)
{
	static const char *const text[] = { "rappor:d=1e12,eps0=8,n=9", "oue:d=1e12,eps0=8,n=9",
		"subset:d=1e12,k=1e6,eps0=8,n=9", "subset:d=1e12,k=999999999999,eps0=1,n=9",
		"privset:d=1e4,k=1,s=1,eps0=8,n=9", "privset:d=1e4,k=1,s=5e3,eps0=8,n=9",
		"privset:d=1e4,k=50,s=2000,eps0=1,n=9", "olh:l=1e12,eps0=8,n=9", "olh:l=2,d=1e12,eps0=8,n=9",
		"hadamard:d=1e12,eps0=8,n=9", "hadamard:d=1e12,blocks=1e6,eps0=8,n=9",
		"hadamard:d=1e12,blocks=1e12,eps0=8,n=9", "duchi:eps0=8,d=4096,n=9", "vrr:s=63,eps0=699,n=9",
		"vrr:s=63,eps0=1,n=9", "laplace-levels:b=1e12,eps0=8,n=9",
		"laplace-levels:b=999999999999,eps0=8,n=9", "staircase:b=1e12,eps0=8,n=9",
		"piecewise:b=1e12,eps0=8,n=9", "hierarchy:f=2,H=39,eps0=8,n=9", "grr:k=1e12,eps0=699,n=9",
		"rappor:d=5,eps0=699,n=9" };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct acct_spec s = parsed(text[i]);

		if (!(total(&s.round, 0) <= 1 + ROUNDING && fabs(total(&s.round, 1) - 1) <= ROUNDING &&
			    fabs(total(&s.round, 2) - 1) <= ROUNDING))
			fail_msg("%s: %.17g %.17g", text[i], total(&s.round, 0), total(&s.round, 1));
		if (!(fabs(log(s.p) - s.eps0) <= ROUNDING * s.eps0 && s.beta > 0 &&
			    s.beta <= tanh(s.eps0 / 2) * (1 + ROUNDING) && s.q <= s.p * (1 + ROUNDING)))
			fail_msg("%s: p %.17g beta %.17g q %.17g", text[i], s.p, s.beta, s.q);
	}
}

/* With two inputs nobody holds a third, which the bound for sets and its lower end count with. */
static void sets_have_a_third_input(void **state)
{
	(void)state;
	assert_null(parsed("rappor:d=2,eps0=1,n=9").round.family);
	assert_null(parsed("oue:d=2,eps0=1,n=9").round.family);
	assert_ptr_equal(parsed("rappor:d=3,eps0=1,n=9").round.family, acct_family(ACCT_SETS));
	assert_ptr_equal(parsed("oue:d=3,eps0=1,n=9").round.family, acct_family(ACCT_SETS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cells_are_those_of_the_worst_pair_of_inputs),
		cmocka_unit_test(the_reports_of_the_round_are_those_that_hide_the_victim),
		cmocka_unit_test(every_name_is_verified),
		cmocka_unit_test(local_hashing_holds_for_pairwise_independent_hashes),
		cmocka_unit_test(a_histogram_of_coins_counts_twice),
		cmocka_unit_test(rare_reports_keep_their_digits),
		cmocka_unit_test(many_levels_are_covered_by_few_cells),
		cmocka_unit_test(the_steps_of_noise_default_to_the_best),
		cmocka_unit_test(large_domains_stay_exact),
		cmocka_unit_test(sets_have_a_third_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
