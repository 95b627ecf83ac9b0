/* test_acct_kinds.c - rounds whose reports have laws of a few kinds: the theorem for any laws, the kinds
 * against the definitions of the randomizers, the sums against enumeration (doc/imitation.md). */
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

#include "acct_bags.h"
#include "acct_families.h"
#include "acct_kinds.h"
#include "acct_ladder.h"
#include "acct_listed.h"
#include "acct_mech_laws.h"
#include "acct_method.h"
#include "acct_parsed.h"
#include "acct_sets.h"
#include "acct_triples.h"
#include "acct_words.h"

#define SLACK 1e-10

/* The law is (R - eta F)/(1 - eta). */
static void set_place(struct places *d, size_t l, const struct mech *m, size_t x0, size_t x1, size_t z,
	double eta, const double *f, double e)
{
	for (size_t y = 0; y < m->outputs; y++) {
		double law = (m->law[z][y] - eta * f[y]) / (1 - eta);

		d->p[l][y] = law;
		d->x[l][y] = (m->law[x0][y] - e * m->law[x1][y]) / law;
	}
}

/* The largest D of `from`.. more of these inputs. */
static double largest(struct places *d, const struct mech *m, size_t x0, size_t x1, size_t from, size_t l,
	double eta, const double *f, double e)
{
	double most = 0;

	if (l == d->n)
		return sum_from(d, 0, 1, 0) / (double)d->n;
	for (size_t z = from; z < m->inputs; z++) {
		set_place(d, l, m, x0, x1, z, eta, f, e);
		most = fmax(most, largest(d, m, x0, x1, z, l + 1, eta, f, e));
	}
	return most;
}

static double choose(size_t n, size_t k)
{
	double c = 1;

	for (size_t i = 0; i < k; i++)
		c = c * (double)(n - i) / (double)(i + 1);
	return c;
}

/* What all inputs have in common, as a law; returns its mass before. */
static double blanket_of(const struct mech *m, double blanket[MECH_OUTPUTS])
{
	double w = 0;

	for (size_t y = 0; y < MECH_OUTPUTS; y++)
		blanket[y] = y < m->outputs;
	for (size_t y = 0; y < m->outputs; y++) {
		for (size_t x = 0; x < m->inputs; x++)
			blanket[y] = fmin(blanket[y], m->law[x][y]);
		w += blanket[y];
	}
	for (size_t y = 0; y < m->outputs; y++)
		blanket[y] /= w;
	return w;
}

/* The theorem for n = 3 with every term exact, where a part of the blanket is taken in equal stages. */
static double staged(const struct mech *m, double part, unsigned stages, double e)
{
	static struct places d;
	double blanket[MECH_OUTPUTS], w = blanket_of(m, blanket), before = 0, none = 1, bound = 0, local = 0;

	d.outputs = m->outputs;
	for (unsigned i = 1; i <= stages; i++) {
		double taken = part * w * i / stages, eta = (taken - before) / (1 - before);

		for (size_t b = 1; b < 3; b++) {
			d.n = 3 - b;
			bound += none * choose(2, b) * pow(eta, (double)b) * pow(1 - eta, 2 - (double)b) *
				 largest(&d, m, 0, 1, 0, 0, taken, blanket, e);
		}
		none *= (1 - eta) * (1 - eta);
		before = taken;
	}
	for (size_t y = 0; y < m->outputs; y++)
		local += fmax(0, m->law[0][y] - e * m->law[1][y]);
	return bound + none * local;
}

/* The worst data set of n = 3, exactly, against the theorem. */
static double compare(const struct bags *bags, const struct mech *m, double part, unsigned stages, double e)
{
	double bound = staged(m, part, stages, e), tightest = 0;

	for (size_t z = 0; z < m->inputs; z++)
		for (size_t t = z; t < m->inputs; t++) {
			static struct law law[2];

			for (size_t v = 0; v < 2; v++) {
				memset(&law[v], 0, sizeof law[v]);
				law[v].mass[0] = 1;
				law_add(bags, &law[v], m->law[z]);
				law_add(bags, &law[v], m->law[t]);
				law_add(bags, &law[v], m->law[v]);
			}
			double exact = hockey(bags, &law[0], &law[1], e);
			if (!(exact <= bound * (1 + SLACK) + 1e-14))
				fail_msg("%s: %.15g above %.15g", m->text, exact, bound);
			tightest = fmax(tightest, exact / fmax(bound, 1e-300));
		}
	return tightest;
}

static void the_theorem_holds_for_every_randomizer(void **state)
{
	static struct mech m;
	static struct bags bags;
	double tightest = 0;
	size_t cases = 0;

	(void)state;
	for (size_t i = 0; mech_case(i, 1, &m); i++) {
		mech_merge(&m);
		if (m.truthful || m.dummies || m.inputs > 6 || !bags_init(&bags, m.outputs, 3))
			continue;
		for (int k = 0; k < 4; k++)
			for (int part = 1; part < 4; part++)
				for (unsigned stages = 1; stages < 4; stages += 2)
					tightest = fmax(tightest,
						compare(&bags, &m, 0.3 * part, stages, exp(0.25 * k)));
		cases++;
	}
	assert_true(cases >= 20 && tightest > 0.8);
}

/* E (X - t)+ of one kind. */
static double potential(const struct acct_kind *k, double e, double t)
{
	double sum = 0;

	for (size_t j = 0; j < k->atoms; j++)
		sum += k->atom[j].mass * fmax(0, k->atom[j].u - e * k->atom[j].v - t);
	return sum;
}

/* The kinds of sets, or those of the ends of triples, which are returned. */
static struct acct_triples *kinds_of(const struct acct_list *l, struct acct_kinds *k)
{
	struct acct_triples *t = NULL;

	*k = (struct acct_kinds){ 0 };
	if (l->family == acct_family(ACCT_SETS)) {
		acct_sets_kinds(l, k);
		return NULL;
	}
	assert_true(acct_are_triples(l->family));
	t = acct_triples_of(l);
	assert_non_null(t);
	acct_triples_ends(t, k);
	return t;
}

/* The kinds that are tried where a part eta is thin. */
static bool tried(const struct acct_list *l, double eta, double first, double eps, struct acct_kinds *out)
{
	static struct acct_kinds kinds;
	struct acct_triples *t = kinds_of(l, &kinds);
	double work = 0;
	bool few = true;

	assert_true(kinds.kinds >= 2);
	if (t)
		few = acct_triples_tried(t, &kinds, l->blanket, eta, first, eps, out, &work);
	else
		acct_kinds_thinned(&kinds, l->blanket, eta, first, out);
	free(t);
	return few;
}

/* The bound of the list's family.  alike: thin reports are drawn from all of the blanket alike. */
static double bound_of(const struct acct_list *l, double eta, bool alike, double n, double eps)
{
	static struct acct_kinds kinds;
	double work = 0, first = 0, quiet = 0;

	if (!alike && l->family->quiet)
		quiet = l->family->quiet(l, &first);
	if (l->family == acct_family(ACCT_LADDER))
		return acct_ladder_largest(l, eta / l->blanket, eta, n, eps, 1e12, &work);
	if (l->family == acct_family(ACCT_WORDS))
		return acct_words_largest(
			l, acct_shares_of(eta, l->blanket, quiet, first), eta, n, eps, 1e12, &work);
	assert_true(tried(l, eta, first, eps, &kinds));
	return acct_kinds_largest(&kinds, n, eps, 1e12, &work);
}

/* No input has a larger spread than those that are tried, at any E and t. */
static void compare_potentials(const struct mech *m, const struct acct_list *l, double eps)
{
	static struct acct_kinds kinds;

	assert_true(tried(l, 0, 0, eps, &kinds));
	for (int step = -40; step < 40; step++) {
		double e = exp(eps), t = 0.25 * step, most = 0;

		for (size_t k = 0; k < kinds.kinds; k++)
			most = fmax(most, potential(&kinds.kind[k], e, t));
		for (size_t x0 = 0; x0 < m->inputs; x0++)
			for (size_t x1 = 0; x1 < m->inputs; x1++)
				for (size_t z = 0; x0 != x1 && z < m->inputs; z++) {
					double sum = 0;

					for (size_t y = 0; y < m->outputs; y++)
						sum += fmax(0,
							m->law[x0][y] - e * m->law[x1][y] - t * m->law[z][y]);
					if (!(sum <= most * (1 + 1e-9) + 1e-12))
						fail_msg("%s: %zu %zu %zu at %g: %.12g above %.12g", m->text,
							x0, x1, z, t, sum, most);
				}
	}
}

/* The next small randomizer that is charged by kinds, from case *i on, and its list; false past the last. */
static bool next_of_kinds(size_t *i, struct mech *m, struct acct_list *l)
{
	for (; mech_case(*i, 1, m); ++*i) {
		char text[200];

		if (m->truthful || m->dummies)
			continue;
		(void)snprintf(text, sizeof text, "%.119s%s", m->text, ",n=100000");
		*l = list_of(text);
		if (l->family)
			return true;
	}
	return false;
}

/* For any pair, the law of any third input is no larger a spread than the kinds, and for sets it is one of
 * them. */
static void kinds_are_those_of_the_definition(void **state)
{
	static struct mech m;
	struct acct_list l;
	size_t cases = 0;

	(void)state;
	for (size_t i = 0; next_of_kinds(&i, &m, &l); i++, cases++)
		if (l.family != acct_family(ACCT_LADDER) && l.family != acct_family(ACCT_WORDS))
			compare_potentials(&m, &l, log(1.4));
	assert_true(cases >= 8);
}

/* Set the law of thin reports for these two inputs of the victim; false if these are the same word under some
 * label, where nothing is lost and the law is another. */
static bool thin_law(const struct mech *m, const struct acct_list *l, size_t x0, size_t x1, double eta,
	bool alike, const double blanket[], double w, double law[])
{
	bool quiet[MECH_OUTPUTS] = { false };
	double first = 0, all = 0, top = 0, meant = 0;

	if (!alike && l->family->quiet)
		meant = l->family->quiet(l, &first);
	for (size_t y = 0; y < m->outputs; y++)
		top = fmax(top, m->law[x0][y] / (w * blanket[y]));
	for (size_t y = 0; y < m->outputs && first > 0; y++) {
		double u = m->law[x0][y] / (w * blanket[y]), v = m->law[x1][y] / (w * blanket[y]);
		/* of words all but these two */
		quiet[y] = l->family == acct_family(ACCT_WORDS) ? fmax(u, v) < top * (1 - 1e-9)
								: fabs(u - v) < 1e-9 * top;
		all += quiet[y] ? w * blanket[y] : 0;
	}
	if (l->family == acct_family(ACCT_WORDS) && fabs(all - meant) > 1e-9 * w)
		return false;
	struct acct_shares share = acct_shares_of(eta, w, all, first);
	for (size_t y = 0; y < m->outputs; y++)
		law[y] = eta > 0 ? w * blanket[y] * (quiet[y] ? share.quiet : share.loud) / eta : blanket[y];
	return true;
}

/* Place all inputs of the definition in all places, whatever the victim's two are. */
static void compare_places(
	const struct mech *m, const struct acct_list *l, double part, bool alike, double eps)
{
	static struct places d;
	double blanket[MECH_OUTPUTS], w = blanket_of(m, blanket), law[MECH_OUTPUTS];
	size_t most_n = m->inputs * m->outputs > 40 ? 2 : 3;

	d.outputs = m->outputs;
	for (d.n = 1; d.n <= most_n; d.n++) {
		double bound = bound_of(l, part * w, alike, (double)d.n, eps);

		for (size_t x0 = 0; x0 < m->inputs; x0++)
			for (size_t x1 = 0; x1 < m->inputs; x1++) {
				double most = 0;

				if (x0 != x1 && thin_law(m, l, x0, x1, part * w, alike, blanket, w, law))
					most = largest(&d, m, x0, x1, 0, 0, part * w, law, exp(eps));

				if (!(most <= bound * (1 + SLACK)))
					fail_msg("%s N=%zu eps=%g %zu %zu: %.12g above %.12g", m->text, d.n,
						eps, x0, x1, most, bound);
			}
	}
}

static void no_inputs_are_above_the_sum(void **state)
{
	static struct mech m;
	struct acct_list l;
	size_t cases = 0;

	(void)state;
	for (size_t i = 0; next_of_kinds(&i, &m, &l); i++) {
		mech_merge(&m);
		if (m.inputs * m.outputs > 100)
			continue;
		for (int k = 0; k < 3; k++)
			for (int alike = 0; alike < 2; alike++)
				compare_places(&m, &l, 0.3 * k, alike, 0.3 * k);
		cases++;
	}
	assert_true(cases >= 12);
}

/* Windows of every length, though few levels are tried. */
static void levels_between_corners_are_below_them(void **state)
{
	static struct mech m;
	size_t cases = 0;

	(void)state;
	for (unsigned b = 2; b <= 13; b += b < 5 ? 1 : 4)
		for (unsigned w = 1; w <= b + 2; w++)
			for (int stairs = 0; stairs < 2; stairs++) {
				char text[100];
				struct mech_args args = {
					.eps0 = 2, .a = b, .b = stairs ? 2 * b : w, .c = w
				};

				if (stairs ? w > b : 2 * w <= b)
					continue;
				(void)snprintf(text, sizeof text, "%s:b=%u,%c=%u,eps0=2,n=100000",
					stairs ? "staircase" : "piecewise", b, stairs ? 'r' : 'w', w);
				memset(&m, 0, sizeof m);
				memcpy(m.text, text, sizeof text);
				(stairs ? mech_staircase : mech_piecewise)(&m, &args);
				mech_normalise(&m);
				mech_merge(&m);
				struct acct_list l = list_of(text);
				assert_true(acct_are_triples(l.family));
				compare_potentials(&m, &l, 0.4 * (double)(cases++ % 3));
			}
	assert_true(cases > 50);
}

static double of_kinds(struct places *d, const struct acct_kinds *k, size_t l, size_t from, double e)
{
	double most = 0;

	if (l == d->n)
		return sum_from(d, 0, 1, 0) / (double)d->n;
	for (size_t i = from; i < k->kinds; i++) {
		memset(d->p[l], 0, sizeof d->p[l]);
		for (size_t j = 0; j < k->kind[i].atoms; j++) {
			d->p[l][j] = k->kind[i].atom[j].mass;
			d->x[l][j] = k->kind[i].atom[j].u - e * k->kind[i].atom[j].v;
		}
		most = fmax(most, of_kinds(d, k, l + 1, i, e));
	}
	return most;
}

static void no_places_are_above_the_sum(void **state)
{
	static const char *const text[] = { "rappor:d=5,eps0=1,n=10000", "oue:d=4,eps0=2,n=10000",
		"subset:d=6,k=2,eps0=1,n=10000", "subset:d=3,k=1,eps0=1,n=10000",
		"staircase:b=7,eps0=2,n=10000", "piecewise:b=5,w=4,eps0=1,n=10000",
		"privset:d=9,k=3,s=2,eps0=2,n=10000" };
	static struct acct_kinds kinds;
	static struct places d;

	(void)state;
	d.outputs = ACCT_ATOMS;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct acct_list l = list_of(text[i]);

		assert_non_null(l.family);
		free(kinds_of(&l, &kinds));
		for (d.n = 1; d.n <= (kinds.kinds > 10 ? 2u : 3u); d.n++)
			for (int part = 0; part < 5; part++) {
				double eps = 0.2 * part, work = 0,
				       most = of_kinds(&d, &kinds, 0, 0, exp(eps));
				double bound = acct_kinds_largest(&kinds, (double)d.n, eps, 1e12, &work);

				if (!(bound >= most * (1 - SLACK)))
					fail_msg("%s N=%zu eps=%g: %.12g above %.12g", text[i], d.n, eps,
						most, bound);
			}
	}
}

static double epsilon_of(const char *method, const char *text, double delta)
{
	struct acct_spec s = parsed(text);
	struct acct_method_answer a;
	const char *why;

	assert_int_equal(acct_method_find(method)->epsilon(&s, 1, delta, &a, &why), ACCT_OK);
	return a.worth == ACCT_LOWER ? a.bound.lower : a.bound.upper;
}

/* Compare the charge with the losses of data sets, and with the cells without what is known. */
static void little_is_left(void **state)
{
	static const struct {
		const char *text;
		double left, won;
	} row[] = { { "vrr:s=2,eps0=3,n=10000", 1.02, 1.3 }, { "vrr:s=3,eps0=3,n=10000", 1.02, 1.4 },
		{ "vrr:s=3,eps0=1,n=1000000", 1.004, 1.2 }, { "rappor:d=16,eps0=1,n=10000", 1.02, 1.1 },
		{ "rappor:d=16,eps0=3,n=1000000", 1.007, 1.09 }, { "oue:d=4,eps0=1,n=10000", 1.02, 1.08 },
		{ "subset:d=12,k=3,eps0=3,n=10000", 1.02, 1.09 },
		{ "subset:d=6,k=2,eps0=3,n=1000000,count=16", 1.03, 1.1 },
		{ "vrr:s=2,eps0=3,n=10000,count=256", 1.03, 1.3 },
		{ "vrr:s=2,eps0=1,n=1000000000000", 1.004, 1.2 }, { "vrr:s=4,eps0=3,n=10000", 1.02, 1.5 },
		{ "vrr:s=4,eps0=1,n=10000", 1.01, 1.23 }, { "vrr:s=6,eps0=3,n=1000000", 1.01, 1.7 },
		{ "vrr:s=8,eps0=3,n=100000000", 1.01, 1.7 }, { "vrr:s=9,eps0=3,n=10000", 1.01, 1.7 },
		{ "vrr:s=16,eps0=3,n=10000", 1.01, 1.9 }, { "vrr:s=17,eps0=3,n=10000", 3, 1 },
		{ "laplace-levels:b=2,eps0=1,n=10000", 1.01, 1.2 },
		{ "laplace-levels:b=8,eps0=3,n=1000000", 1.01, 1.38 },
		{ "laplace-levels:b=4,eps0=3,n=100000000,count=64", 1.02, 1.3 },
		{ "laplace-levels:b=11,eps0=3,n=10000", 1.02, 1.33 },
		{ "laplace-levels:b=63,eps0=1,n=1000000", 1.004, 1.22 },
		{ "laplace-levels:b=63,eps0=3,n=1000000", 1.004, 1.4 },
		{ "olh:l=3,eps0=3,n=10000,triple=.1111111111111111", 1.02, 1.17 },
		{ "duchi:d=4,eps0=3,n=1000000", 1.01, 1.1 }, { "duchi:d=10,eps0=3,n=1000000", 1.01, 1.2 },
		{ "staircase:b=4,eps0=1,n=10000", 1.01, 1.15 },
		{ "staircase:b=1000000,eps0=1,n=1000000", 1.01, 1.17 },
		{ "piecewise:b=8,w=6,eps0=3,n=1000000", 1.01, 1.2 },
		{ "privset:d=8,k=2,s=2,eps0=3,n=10000", 1.04, 1.3 },
		{ "privset:d=30,k=6,s=4,eps0=3,n=1000000", 1.01, 1.4 },
		{ "rappor:d=4,eps0=3,n=20", 2, 0.9999 } };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct acct_spec s = parsed(row[i].text);
		struct acct_bound cells;
		double charged = epsilon_of("pld", row[i].text, 1e-6),
		       lower = epsilon_of("lower", row[i].text, 1e-6);

		s.round.messages = ACCT_ANY_MESSAGES;
		s.round.family = NULL;
		memset(s.round.shape, 0, sizeof s.round.shape);
		assert_int_equal(acct_epsilon(&s.round, 1, 1e-6, &cells), ACCT_OK);
		if (!(charged >= lower && charged <= row[i].left * lower &&
			    charged * row[i].won <= cells.upper))
			fail_msg("%s: charged %.9g, lower %.9g, cells %.9g", row[i].text, charged, lower,
				cells.upper);
	}
}

/* As charged where nothing is known but the cells, or that messages are bits. */
static double charged_as(struct acct_round r, enum acct_messages messages)
{
	struct acct_bound d;

	r.messages = messages;
	r.family = NULL;
	memset(r.shape, 0, sizeof r.shape);
	assert_int_equal(acct_delta(&r, 1, 0.3, &d), ACCT_OK);
	return d.upper;
}

/* Reports of two cells are bits if there are two inputs.  Else others may have laws that are neither of the
 * victim's, of which no theorem speaks but that of the cells, and of the kinds where there are many. */
static void two_cells_are_bits_where_there_are_two_inputs(void **state)
{
	static const struct {
		const char *text;
		bool bits;
	} row[] = { { "piecewise:b=1,w=1,eps0=1", true }, { "piecewise:b=2,w=2,eps0=1", false },
		{ "piecewise:b=30,w=30,eps0=1", false }, { "staircase:b=1,r=1,eps0=1", true },
		{ "staircase:b=3,r=2,eps0=1", false }, { "privset:d=2,k=1,s=1,eps0=1", true },
		{ "privset:d=4,k=1,s=2,eps0=1", false }, { "privset:d=12,k=1,s=6,eps0=1", false },
		{ "cells:omega=.25/.25,u=3/1,v=1/3,messages=4,triple=0", true },
		{ "cells:omega=.25/.25,u=3/1,v=1/3,messages=5", false },
		{ "cells:omega=.25/.25,u=3/1,v=1/3,messages=6", true } };

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		for (unsigned n = 5; n <= 5000; n *= 10) {
			struct acct_bound d;
			bool few = n <= 100; /* with more participants the kinds bound the loss, too */
			char text[120];

			snprintf(text, sizeof text, "%s,n=%u", row[i].text, n);
			struct acct_round r = parsed(text).round;
			double cells = charged_as(r, ACCT_ANY_MESSAGES), bits = charged_as(r, ACCT_BITS);
			assert_non_null(r.family);
			assert_true(bits < 0.9 * cells);
			assert_int_equal(acct_delta(&r, 1, 0.3, &d), ACCT_OK);
			if (!(row[i].bits || few
					    ? fabs(d.upper - (row[i].bits ? bits : cells)) <= SLACK * d.upper
					    : d.upper <= cells * (1 + SLACK) &&
						      d.upper >= bits * (1 - SLACK)))
				fail_msg("%s: %.12g, bits %.12g, cells %.12g", text, d.upper, bits, cells);
		}
}

static void what_is_not_sets_or_words_is_refused(void **state)
{
	(void)state;
	refused("cells:omega=.25/.25,u=3/1,v=1/3,n=9,messages=4,triple=.1", "not those of such");
	refused("cells:omega=.25/.25,u=3/1,v=1/3,n=9,triple=.1", "triple is of sets");
	refused("cells:omega=.2/.2/.2,u=3/1/1,v=1/3/1,n=9,messages=5", "not those of such");
	refused("cells:omega=.25/.25,u=3/1,v=1/3,n=9,messages=5,dummies=2", "no dummies");
	assert_ptr_equal(parsed("cells:omega=.25/.25,u=3/1,v=1/3,n=9,messages=5").round.family,
		acct_family(ACCT_WORDS));
	assert_null(parsed("rappor:d=4,eps0=1e-9,n=9").round.family);
	assert_null(parsed("olh:l=4,eps0=1,n=9").round.family);
	assert_ptr_equal(parsed("olh:l=4,eps0=1,triple=.0625,n=9").round.family, acct_family(ACCT_SETS));
	refused("olh:l=4,eps0=1,triple=.3,n=9", "no three inputs agree");
	refused("olh:l=4,eps0=1,d=5,triple=.0625,n=9", "goes without d");
	refused("cells:omega=.25/.25,u=3/1,v=1/3,n=9,shape=2/1/0", "shape is of messages above 6");
	refused("cells:omega=.25/.25,u=3/1,v=1/3,n=9,messages=7,shape=3/2/0", "not those of such");
	refused("cells:omega=.25/.25,u=3/1,v=1/3,n=9,messages=10,shape=2/0", "three numbers");
	assert_ptr_equal(parsed("cells:omega=.25/.25,u=3/1,v=1/3,n=9,messages=7,shape=1/1/0").round.family,
		acct_family(ACCT_WINDOWS));
	assert_null(parsed("laplace-levels:b=65,eps0=1,n=9").round.family);
	assert_null(parsed("privset:d=40,k=2,s=7,eps0=1,n=9").round.family);
	assert_null(parsed("piecewise:b=8,w=4,eps0=1,n=9").round.family);
	assert_null(parsed("duchi:d=16,eps0=1,n=9").round.family);
	assert_null(parsed("hadamard:d=7,eps0=1,n=9").round.family);
}

static void refused_round(const struct acct_round *r, const char *part)
{
	const char *why = "";

	assert_int_equal(acct_round_check(r, &why), ACCT_EDOMAIN);
	if (!strstr(why, part))
		fail_msg("'%s' does not say '%s'", why, part);
}

static void a_family_comes_with_its_own_shape_and_alone(void **state)
{
	struct acct_round r = parsed("rappor:d=4,eps0=1,n=9").round;

	(void)state;
	assert_int_equal(acct_round_check(&r, NULL), ACCT_OK);
	assert_true(r.shape[0] > 0);
	r.messages = ACCT_BITS;
	refused_round(&r, "not both");
	r.messages = ACCT_ANY_MESSAGES;
	r.dummies = 1;
	refused_round(&r, "no dummies");
	r.dummies = 0;
	r.family = acct_family(ACCT_WORDS);
	refused_round(&r, "not those of such");
	r.family = NULL;
	refused_round(&r, "shape is of a family");
	acct_family_set(&r, ACCT_SETS, NULL);
	assert_true(r.shape[0] <= 0);
}

static void a_family_has_the_number_that_texts_know(void **state)
{
	static const double shape[3] = { 4, 1, 2 }, none[3] = { 0, 0, 0 };

	(void)state;
	for (unsigned number = 0; number <= ACCT_SIGNS; number++) {
		struct acct_round r = { .cells = 1 };
		const char *why;

		assert_int_equal(acct_family_read(&r, number, number == ACCT_SETS ? 0.25 : 0,
					 number > ACCT_LADDER ? shape : none, &why),
			ACCT_OK);
		assert_int_equal(acct_family_number(&r), number);
		assert_int_equal(r.family != NULL, number > ACCT_LABELLED_BITS);
		assert_true(r.shape[0] >= (number == ACCT_SETS ? 0.25 : number > ACCT_LADDER ? 4 : 0));
		assert_int_equal(acct_family_read(&r, number, number == ACCT_SETS ? 0 : 0.25, none, &why),
			number == ACCT_SETS ? ACCT_OK : ACCT_EDOMAIN);
	}
	assert_int_equal(acct_family_read(&(struct acct_round){ .cells = 1 }, ACCT_SIGNS + 1, 0, none, NULL),
		ACCT_EDOMAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_family_comes_with_its_own_shape_and_alone),
		cmocka_unit_test(a_family_has_the_number_that_texts_know),
		cmocka_unit_test(two_cells_are_bits_where_there_are_two_inputs),
		cmocka_unit_test(what_is_not_sets_or_words_is_refused),
		cmocka_unit_test(the_theorem_holds_for_every_randomizer),
		cmocka_unit_test(kinds_are_those_of_the_definition),
		cmocka_unit_test(levels_between_corners_are_below_them),
		cmocka_unit_test(no_inputs_are_above_the_sum),
		cmocka_unit_test(no_places_are_above_the_sum),
		cmocka_unit_test(little_is_left),
	};

	return cmocka_run_group_tests_name("acct_kinds", tests, NULL, NULL);
}
