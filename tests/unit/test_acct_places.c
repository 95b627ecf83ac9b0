/* test_acct_places.c - places whose laws are known, but not which one is the victim's: the bound against
 * every choice of kinds, by enumeration of few places and by convolution of many (doc/imitation.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_places_sum.h"
#include "uniform.h"

#define SLACK 1e-10
#define MOST  7u   /* places that are enumerated */
#define MANY  300u /* places that are convolved */
#define FAR   8    /* of a lattice worth, either way */

/* A kind of three atoms whose worths are whole numbers times `unit`, moved so that the mean is `mean`. */
struct drawn {
	size_t atoms;
	double p[4], x[4];
};

static struct drawn drawn(double unit, double mean)
{
	struct drawn k = { .atoms = 2 + (size_t)(2 * uniform()) };
	double sum = 0, all = 0;

	for (size_t j = 0; j < k.atoms; j++) {
		k.p[j] = uniform() < 0.2 ? 1e-3 : 0.05 + uniform();
		k.x[j] = unit * floor((2 * uniform() - 1) * FAR);
		all += k.p[j];
		sum += k.p[j] * k.x[j];
	}
	for (size_t j = 0; j < k.atoms; j++)
		k.x[j] += mean - sum / all;
	return k;
}

static struct acct_place place_of(const struct drawn *k)
{
	return (struct acct_place){ k->atoms, k->p, k->x };
}

static double sum_from(const struct acct_place *const place[], size_t n, double chance, double worth)
{
	double sum = 0, all = 0;

	if (n == 0)
		return chance * fmax(0, worth);
	for (size_t j = 0; j < place[0]->atoms; j++)
		all += place[0]->p[j];
	for (size_t j = 0; j < place[0]->atoms; j++)
		sum += sum_from(place + 1, n - 1, chance * place[0]->p[j] / all, worth + place[0]->x[j]);
	return sum;
}

/* The largest of `left` more places of the kinds from `kind` on; the first ones are chosen. */
static double largest(
	const struct acct_places *of, const struct acct_place *place[], size_t chosen, size_t kind, size_t n)
{
	double most = 0;

	if (chosen == n)
		return sum_from(place, n, 1, 0) / (double)n;
	if (chosen >= n - (size_t)of->fixed) {
		place[chosen] = &of->kind[of->kinds];
		return largest(of, place, chosen + 1, kind, n);
	}
	for (; kind < of->kinds; kind++) {
		place[chosen] = &of->kind[kind];
		most = fmax(most, largest(of, place, chosen + 1, kind, n));
	}
	return most;
}

/* The same kinds, with silence as an atom more: what `absent` stands for. */
static struct acct_place silent(const struct drawn *k, double absent, double x, struct drawn *out)
{
	double all = 0;

	*out = *k;
	for (size_t j = 0; j < k->atoms; j++)
		all += k->p[j];
	for (size_t j = 0; j < k->atoms; j++)
		out->p[j] *= (1 - absent) / all;
	out->p[out->atoms] = absent;
	out->x[out->atoms++] = x;
	return place_of(out);
}

/* Also such as are covered by another, or equal to it. */
static void no_choice_of_few_places_is_above(void **state)
{
	const struct acct_place *place[MOST];
	size_t finite = 0;

	(void)state;
	for (int try = 0; try < 4000; try++) {
		struct drawn law[5];
		struct acct_place kind[5];
		struct acct_places of = { .kinds = 1 + (size_t)(4 * uniform()),
			.kind = kind,
			.free = 1 + floor(4 * uniform()),
			.fixed = floor(3 * uniform()) };
		double scale = exp(20 * uniform() - 10), mean = -0.3 * scale * uniform(), work = 0;

		for (size_t k = 0; k <= of.kinds; k++)
			law[k] = drawn(scale, mean), kind[k] = place_of(&law[k]);
		if (of.kinds > 2 && try % 3 == 0)
			kind[1] = kind[0];
		struct acct_places all = of;
		struct drawn also[5];
		struct acct_place quiet[5];
		if (try % 4 == 1) {
			of.absent = 0.9 * uniform();
			of.absent_x = mean;
			for (size_t k = 0; k <= of.kinds; k++)
				quiet[k] = silent(&law[k == 1 && of.kinds > 2 && try % 3 == 0 ? 0 : k],
					of.absent, mean, &also[k]);
			all.kind = quiet;
		}
		double most = largest(&all, place, 0, 0, (size_t)(of.free + of.fixed)),
		       bound = acct_places_largest(&of, 1e12, &work);
		if (!(bound >= most * (1 - SLACK)))
			fail_msg("try %d: %.15g above %.15g", try, most, bound);
		finite += bound < INFINITY;
	}
	assert_true(finite > 3900);
}

/* So many kinds that most are spread over the atoms of the first two, and so few worths that many are below
 * others. */
static void no_choice_of_many_kinds_is_above(void **state)
{
	const struct acct_place *place[MOST];
	double closest = INFINITY;

	(void)state;
	for (int try = 0; try < 400; try++) {
		struct drawn law[30];
		struct acct_place kind[30];
		struct acct_places of = {
			.kinds = 12 + (size_t)(18 * uniform()), .kind = kind, .free = 1 + floor(3 * uniform())
		};
		double scale = exp(20 * uniform() - 10), mean = -0.3 * scale * uniform(), work = 0,
		       least = try % 2 == 0 ? 0.3 : 0.9; /* the first two lose most, or they do not */

		for (size_t k = 0; k < of.kinds; k++)
			law[k] = drawn(scale * (k < 2 ? 1 : least + 0.5 * uniform()), mean),
			kind[k] = place_of(&law[k]);
		double most = largest(&of, place, 0, 0, (size_t)of.free),
		       bound = acct_places_largest(&of, 1e12, &work);
		if (!(bound >= most * (1 - SLACK)))
			fail_msg("try %d: %.15g above %.15g", try, most, bound);
		closest = fmin(closest, bound / most);
	}
	assert_true(closest < 1.1);
}

static double beyond(const double *p, const double *x, size_t atoms, double t)
{
	double sum = 0, all = 0;

	for (size_t j = 0; j < atoms; j++) {
		sum += p[j] * fmax(0, x[j] - t);
		all += p[j];
	}
	return sum / all;
}

/* On the points of all a kind has its mean, and nowhere less excess. */
static void what_is_spread_is_above_what_it_was(void **state)
{
	size_t moved = 0;

	(void)state;
	for (int try = 0; try < 200; try++) {
		struct drawn law[30];
		struct acct_place kind[30];
		struct acct_places of = { .kinds = 30, .kind = kind, .free = 3 };

		for (size_t k = 0; k < of.kinds; k++)
			law[k] = drawn(k < 2 ? 1 : 0.5 + uniform(), -0.2), kind[k] = place_of(&law[k]);
		struct acct_places_sum *s = acct_places_points_new(&of);
		assert_non_null(s);
		assert_true(s->kinds > 0);
		for (size_t k = 0; k < s->kinds; k++) {
			const struct acct_place *was = s->kind[k].of;
			double low = -100, far = beyond(s->kind[k].p, s->x, s->points, low);

			assert_true(fabs(far - beyond(was->p, was->x, was->atoms, low)) < 1e-11);
			for (double t = -10; t < 10; t += 0.37) {
				double now = beyond(s->kind[k].p, s->x, s->points, t);

				far = beyond(was->p, was->x, was->atoms, t);
				assert_true(now >= far - 1e-12);
				moved += now > far + 1e-6;
			}
		}
		free(s);
	}
	assert_true(moved > 100);
}

/* (1/N) E (X_1 + .. + X_N)+ by the law of the sum on the lattice; kind[i] is that of place i. */
static double convolved(const struct acct_place *const kind[], size_t n, double unit, double shift)
{
	static double law[2 * MANY * FAR + 1], next[2 * MANY * FAR + 1];
	const long zero = (long)(MANY * FAR);
	double sum = 0;

	memset(law, 0, sizeof law);
	law[zero] = 1;
	for (size_t i = 0; i < n; i++) {
		double all = 0;

		memset(next, 0, sizeof next);
		for (size_t j = 0; j < kind[i]->atoms; j++)
			all += kind[i]->p[j];
		for (size_t j = 0; j < kind[i]->atoms; j++) {
			long by = lround((kind[i]->x[j] - shift) / unit);

			for (long k = -(long)(i * FAR); k <= (long)(i * FAR); k++)
				next[zero + k + by] += law[zero + k] * kind[i]->p[j] / all;
		}
		memcpy(law, next, sizeof law);
	}
	for (long k = -zero; k <= zero; k++)
		sum += law[zero + k] * fmax(0, unit * (double)k + shift * (double)n);
	return sum / (double)n;
}

/* Two kinds of one mean, on a lattice that is moved by `shift` a place. */
static void the_bound_is_close_where_places_are_many(void **state)
{
	static const double shifts[] = { 0, -0.02, -0.1, -0.3 };
	const struct acct_place *place[MANY];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (int try = 0; try < 6; try++) {
			double shift = shifts[i], p = 0.1 + 0.05 * try, most = 0, work = 0;
			struct acct_place kind[3];
			struct acct_places of = { .kinds = 3, .kind = kind, .free = MANY };

			/* The third is covered by the first, and the second by neither. */
			const struct drawn law[3] = { { 3, { p, 1 - 2 * p, p },
							      { shift - 3, shift, shift + 3 } },
				{ 3, { 0.8 * p, 1 - 1.6 * p, 0.8 * p }, { shift - 4, shift, shift + 4 } },
				{ 3, { p, 1 - 2 * p, p }, { shift - 2, shift, shift + 2 } } };
			for (size_t k = 0; k < 3; k++)
				kind[k] = place_of(&law[k]);
			for (size_t first = 0; first <= MANY; first += MANY / 6) {
				for (size_t k = 0; k < MANY; k++)
					place[k] = &of.kind[k < first ? 0 : 1];
				most = fmax(most, convolved(place, MANY, 1, shift));
			}
			double bound = acct_places_largest(&of, 1e12, &work);
			if (!(bound >= most * (1 - SLACK) && bound <= most * 1.05))
				fail_msg("shift %g p %g: %.12g, largest %.12g", shift, p, bound, most);
			/* A kind that is covered changes nothing, but for what rounding is charged. */
			struct acct_places two = of;
			two.kinds = 2;
			double without = acct_places_largest(&two, 1e12, &work);
			assert_true(fabs(bound / without - 1) < 1e-11);
		}
}

/* Never 0 and never a NaN, however far apart the numbers are. */
static void extremes_are_bounds(void **state)
{
	static const double n[] = { 1, 2, 1e4, 1e9, 1e12 }, far[] = { 1e-9, 1e-3, 1, 1e3, 1e9 };

	(void)state;
	for (size_t i = 0; i < 5; i++)
		for (size_t j = 0; j < 5; j++)
			for (double down = 1e-12; down < 2; down *= 1e4) {
				double x = far[j], work = 0, mean = -down * x;
				struct acct_place kind[2];
				struct acct_places of = { .kinds = 2, .kind = kind, .free = n[i] };

				const struct drawn law[2] = { { 2, { 0.5, 0.5 }, { x + mean, -x + mean } },
					{ 2, { 0.9, 0.1 }, { x / 9 + mean, -x + mean } } };
				for (size_t k = 0; k < 2; k++)
					kind[k] = place_of(&law[k]);
				double bound = acct_places_largest(&of, 1e12, &work),
				       alone = n[i] < 2 ? 0.5 * fmax(0, x + mean) : 0;
				assert_true(bound >= fmax(DBL_MIN, alone * (1 - SLACK)));
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_choice_of_few_places_is_above),
		cmocka_unit_test(no_choice_of_many_kinds_is_above),
		cmocka_unit_test(what_is_spread_is_above_what_it_was),
		cmocka_unit_test(the_bound_is_close_where_places_are_many),
		cmocka_unit_test(extremes_are_bounds),
	};

	return cmocka_run_group_tests_name("acct_places", tests, NULL, NULL);
}
