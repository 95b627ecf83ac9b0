/* test_evened.c - what rounds cost whose messages the shuffler evens by coordinate, by enumeration: several
 * coordinates of a device, and a colluder who sees what becomes of its messages. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "charged.h"

static const double epsilons[] = { 0, 0.2, 0.7, 1.5 };

/* A coordinate in what is released: ones among the messages of honest devices and dummies, up to 3 of them,
 * and whether the colluder's message is there. */
#define OUTCOMES 8u

static double choose(unsigned n, unsigned k)
{
	return k > n ? 0 : round(tgamma(n + 1.0) / tgamma(k + 1.0) / tgamma(n - k + 1.0));
}

/* `ones` and `zeroes` of honest devices and perhaps a colluder's message, of which `cap` are left or to which
 * fair dummies are added. */
static void even(unsigned ones, unsigned zeroes, unsigned colluder, unsigned cap, double mass, double *law)
{
	unsigned all = ones + zeroes + colluder;

	for (unsigned k = 0; all <= cap && k <= cap - all; k++)
		law[2 * (ones + k) + colluder] += mass * choose(cap - all, k) * ldexp(1, -(int)(cap - all));
	for (unsigned k = 0; all > cap && k <= cap && k <= ones; k++)
		for (unsigned seen = 0; seen <= colluder && k + seen <= cap; seen++)
			law[2 * k + seen] +=
				mass * choose(ones, k) * choose(zeroes, cap - k - seen) / choose(all, cap);
}

/* The law of a coordinate that `sent` devices send, device i a one with chance p[i]. */
static void law_of(const double *p, unsigned sent, unsigned colluder, unsigned cap, double law[OUTCOMES])
{
	double sum = 0;

	memset(law, 0, OUTCOMES * sizeof *law);
	for (unsigned bits = 0; bits < 1u << sent; bits++) {
		unsigned ones = (unsigned)__builtin_popcount(bits);
		double mass = 1;

		for (unsigned i = 0; i < sent; i++)
			mass *= bits >> i & 1 ? p[i] : 1 - p[i];
		even(ones, sent - ones, colluder, cap, mass, law);
	}
	for (unsigned k = 0; k < OUTCOMES; k++)
		sum += law[k];
	assert_true(fabs(sum - 1) < 1e-12);
}

static struct pt_randomizer of_dimension(const char *row, uint32_t dimension, const struct pt_request *r)
{
	struct qy_query q = query_of_kind(QY_VECTOR);

	q.dimension = dimension;
	return made(row, &q, r);
}

static void compare(const double *here, const double *there, size_t n, const double paid[4], double *worst)
{
	for (size_t i = 0; i < 4; i++) {
		double delta = 0, e = exp(epsilons[i]);

		for (size_t k = 0; k < n; k++)
			delta += fmax(here[k] - e * there[k], 0);
		if (delta > paid[i] * (1 + 1e-9) + 1e-14)
			fail_msg("%g at %g, %g is charged", delta, epsilons[i], paid[i]);
		*worst = fmax(*worst, delta / paid[i]);
	}
}

/* A device sends two of three coordinates: option / 4 is the one that it leaves out, the bits are those of
 * the others in their order. */
#define OPTIONS 12u

static void topk_law(const unsigned *option, unsigned devices, unsigned cap, double keep, double *law)
{
	double at[3][OUTCOMES];

	for (unsigned c = 0; c < 3; c++) {
		double p[3];
		unsigned sent = 0;

		for (unsigned d = 0; d < devices; d++) {
			unsigned without = option[d] / 4, place = c > without;

			if (c != without)
				p[sent++] = option[d] >> place & 1 ? keep : 1 - keep;
		}
		law_of(p, sent, 0, cap, at[c]);
	}
	for (unsigned k = 0; k < OUTCOMES * OUTCOMES * OUTCOMES; k++)
		law[k] = at[0][k / 64] * at[1][k / 8 % 8] * at[2][k % 8];
}

static void several_chosen_coordinates_cost_no_more_than_is_charged(void **state)
{
	static double law[OPTIONS][512];

	(void)state;
	for (unsigned cap = 1; cap <= 3; cap++) {
		const struct pt_request r = { .epsilon0 = 0.9, .levels = 2, .size = 2, .padded = cap };
		struct pt_randomizer p = of_dimension("ss-topk", 3, &r);
		double paid[4], worst = 0;

		charged(&p, 3, epsilons, paid);
		for (unsigned others = 0; others < OPTIONS * OPTIONS; others++) {
			for (unsigned x = 0; x < OPTIONS; x++)
				topk_law((unsigned[]){ x, others % OPTIONS, others / OPTIONS }, 3, cap,
					pt_mixbins_keep(&p.slots.slot[0].each), law[x]);
			for (unsigned pair = 0; pair < OPTIONS * OPTIONS; pair++)
				compare(law[pair % OPTIONS], law[pair / OPTIONS], 512, paid, &worst);
		}
		assert_true(worst > 0.3);
	}
}

/* Two groups of two coordinates, a bit for each; two devices draw one of each group, and a colluder sends the
 * first coordinate.  The groups are apart. */
static void double_law(const unsigned *bits, unsigned cap, double keep, double law[4096])
{
	double group[2][64] = { { 0 } };

	for (unsigned g = 0; g < 2; g++)
		for (unsigned drawn = 0; drawn < 4; drawn++) {
			double at[2][OUTCOMES];

			for (unsigned c = 0; c < 2; c++) {
				double p[2];
				unsigned sent = 0;

				for (unsigned d = 0; d < 2; d++)
					if ((drawn >> d & 1) == c)
						p[sent++] = bits[d] >> (2 * g + c) & 1 ? keep : 1 - keep;
				law_of(p, sent, g == 0 && c == 0, cap, at[c]);
			}
			for (unsigned k = 0; k < 64; k++)
				group[g][k] += 0.25 * at[0][k / 8] * at[1][k % 8];
		}
	for (unsigned k = 0; k < 4096; k++)
		law[k] = group[0][k / 64] * group[1][k % 64];
}

/* The fate of a colluder's message follows from what everybody else draws, whatever they hold. */
static void evened_draws_cost_no_more_than_is_charged_among_colluders(void **state)
{
	static double law[16][4096];

	(void)state;
	for (unsigned cap = 1; cap <= 2; cap++) {
		const struct pt_request r = { .epsilon0 = 1.5, .levels = 2, .slots = 2, .padded = cap };
		struct pt_randomizer p = of_dimension("ss-double", 4, &r);
		double paid[4], worst = 0;

		charged(&p, 2, epsilons, paid);
		for (unsigned other = 0; other < 16; other++) {
			for (unsigned x = 0; x < 16; x++)
				double_law((unsigned[]){ x, other }, cap,
					pt_mixbins_keep(&p.slots.slot[0].each), law[x]);
			for (unsigned x = 0; x < 16; x++) /* the worst pair differs in every coordinate */
				compare(law[x], law[15 - x], 4096, paid, &worst);
			compare(law[0], law[7], 4096, paid, &worst);
		}
		assert_true(worst > 0.3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_chosen_coordinates_cost_no_more_than_is_charged),
		cmocka_unit_test(evened_draws_cost_no_more_than_is_charged_among_colluders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
