/* test_acct_below.c - kinds that need not be tried: what is left out is below a mixture of two others in
 * convex order, and what spreads more is not left out (doc/imitation.md, "Spreads"). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "acct_below.h"
#include "uniform.h"

#define ENDS 3u

static double eps;

/* Three atoms; u and v have mean 1. */
static struct acct_kind drawn(void)
{
	struct acct_kind k = { .atoms = 3 };
	double mass = 0, u = 0, v = 0;

	for (size_t j = 0; j < k.atoms; j++) {
		k.atom[j] = (struct acct_atom){ 0.1 + uniform(), 0.2 + uniform(), 0.2 + uniform(), 1e9 };
		mass += k.atom[j].mass;
	}
	for (size_t j = 0; j < k.atoms; j++) {
		k.atom[j].mass /= mass;
		u += k.atom[j].mass * k.atom[j].u;
		v += k.atom[j].mass * k.atom[j].v;
	}
	for (size_t j = 0; j < k.atoms; j++) {
		k.atom[j].u /= u;
		k.atom[j].v /= v;
	}
	return k;
}

/* Spread the atoms about their mean by the factor `times`. */
static struct acct_kind stretched(struct acct_kind k, double times)
{
	for (size_t j = 0; j < k.atoms; j++) {
		k.atom[j].u = 1 + times * (k.atom[j].u - 1);
		k.atom[j].v = 1 + times * (k.atom[j].v - 1);
	}
	return k;
}

static double worth(const struct acct_kind *k, size_t j)
{
	return k->atom[j].u - exp(eps) * k->atom[j].v;
}

/* E (X - t)+. */
static double beyond(const struct acct_kind *k, double t)
{
	double sum = 0;

	for (size_t j = 0; j < k->atoms; j++)
		sum += k->atom[j].mass * fmax(0, worth(k, j) - t);
	return sum;
}

/* Whether `k` is below a mixture of a and b.  Compare at the atoms of all three: between them all curves are
 * linear. */
static bool below(const struct acct_kind *k, const struct acct_kind *a, const struct acct_kind *b)
{
	const struct acct_kind *of[] = { k, a, b };
	double least = 0, most = 1;

	for (size_t i = 0; i < 3; i++)
		for (size_t j = 0; j < of[i]->atoms; j++) {
			double t = worth(of[i], j), slope = beyond(a, t) - beyond(b, t),
			       need = beyond(k, t) - beyond(b, t);

			if (fabs(slope) < 1e-12)
				most = need > 1e-12 ? -1 : most;
			else if (slope > 0)
				least = fmax(least, (need - 1e-12) / slope);
			else
				most = fmin(most, (need - 1e-12) / slope);
		}
	return least <= most;
}

static bool is_left_out(const struct acct_kinds *ends, struct acct_kind k)
{
	struct acct_kinds tried = *ends;
	double work = 0;
	struct acct_below *b = acct_below_new(ends, eps, &work);

	assert_non_null(b);
	assert_true(acct_below_try(b, &k, &tried, &work));
	free(b);
	assert_true(tried.kinds == ends->kinds || tried.kinds == ends->kinds + 1);
	return tried.kinds == ends->kinds;
}

static void what_is_left_out_is_below_a_mixture_of_two(void **state)
{
	size_t left_out = 0, added = 0;

	(void)state;
	for (int turn = 0; turn < 20000; turn++) {
		struct acct_kinds ends = { .kinds = ENDS };
		struct acct_kind k = stretched(drawn(), 0.3 + uniform());
		bool is = false;

		eps = uniform();
		for (size_t i = 0; i < ENDS; i++)
			ends.kind[i] = drawn();
		for (size_t i = 0; i < ENDS; i++)
			for (size_t j = 0; j < ENDS; j++)
				is = is || below(&k, &ends.kind[i], &ends.kind[j]);
		if (is_left_out(&ends, k)) {
			assert_true(is);
			left_out++;
		} else {
			added += !is;
		}
	}
	assert_true(left_out > 1000 && added > 1000);
}

static void what_spreads_more_is_tried_and_what_spreads_less_is_not(void **state)
{
	(void)state;
	for (int turn = 0; turn < 1000; turn++) {
		struct acct_kinds ends = { .kinds = 1, .kind = { drawn() } };

		eps = uniform();
		assert_true(is_left_out(&ends, stretched(ends.kind[0], 0.5)));
		assert_false(is_left_out(&ends, stretched(ends.kind[0], 1.001)));
	}
}

static void more_kinds_than_there_is_room_for_are_refused(void **state)
{
	struct acct_kinds ends = { .kinds = ACCT_KINDS };
	struct acct_kind wide;
	struct acct_below *b;
	double work = 0;

	(void)state;
	eps = 0.5;
	for (size_t i = 0; i < ACCT_KINDS; i++)
		ends.kind[i] = drawn();
	wide = stretched(ends.kind[0], 10);
	b = acct_below_new(&ends, eps, &work);
	assert_non_null(b);
	assert_false(acct_below_try(b, &wide, &ends, &work));
	assert_int_equal(ends.kinds, ACCT_KINDS);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_out_is_below_a_mixture_of_two),
		cmocka_unit_test(what_spreads_more_is_tried_and_what_spreads_less_is_not),
		cmocka_unit_test(more_kinds_than_there_is_room_for_are_refused),
	};

	return cmocka_run_group_tests_name("acct_below", tests, NULL, NULL);
}
