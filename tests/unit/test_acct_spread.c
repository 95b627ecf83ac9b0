/* test_acct_spread.c - a second route to one round: the blanket variable's sums, number of messages by
 * number.
 *
 * delta = sum over m of P(M = m) (W/m) E(x_1 + ... + x_m)+ with M - 1 a Poisson-binomial number, the x iid on
 * a grid: exactly, where they are multiples of its step; else spread to both neighbours with their mean kept,
 * which is above, and by at most E(noise)+ <= sqrt(m) h / 4 too high. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct.h"

#define MOST_MESSAGES 700

/* chance[k]: k of the others and dummies are blanket. */
static size_t count_messages(const struct acct_round *r, double blanket, double chance[MOST_MESSAGES])
{
	double w[MOST_MESSAGES];
	size_t n = 0;

	for (uint64_t i = 0; i < r->others; i++)
		w[n++] = blanket;
	for (size_t l = 0; l < r->levels; l++)
		for (uint64_t i = 0; i < r->level[l].count; i++)
			w[n++] = r->level[l].share * blanket;
	for (uint64_t i = 0; i < r->dummies; i++)
		w[n++] = 1;
	assert_true(n < MOST_MESSAGES - 1);
	memset(chance, 0, MOST_MESSAGES * sizeof *chance);
	chance[0] = 1;
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k + 1 > 0; k--)
			chance[k] = chance[k] * (1 - w[i]) + (k > 0 ? chance[k - 1] * w[i] : 0);
	return n;
}

struct steps {
	long at[2 * ACCT_MAX_CELLS];
	double p[2 * ACCT_MAX_CELLS];
	size_t size;
	long lo, hi;
};

/* x_j = u_j - E v_j in units of h, spread to both neighbours. */
static struct steps spread(const struct acct_round *r, double blanket, double eps, double h)
{
	struct steps s = { .size = 0 };

	for (size_t j = 0; j < r->cells; j++) {
		double x = (r->cell[j].u - exp(eps) * r->cell[j].v) / h, up = x - floor(x);

		if (up < 1e-9 || up > 1 - 1e-9) { /* on the grid, but for rounding */
			x = round(x);
			up = 0;
		}
		for (int side = 0; side < (up > 0 ? 2 : 1); side++) {
			s.at[s.size] = (long)floor(x) + side;
			s.p[s.size] = r->cell[j].omega / blanket * (side ? up : 1 - up);
			s.lo = s.at[s.size] < s.lo ? s.at[s.size] : s.lo;
			s.hi = s.at[s.size] > s.hi ? s.at[s.size] : s.hi;
			s.size++;
		}
	}
	return s;
}

/* delta, and what spreading may have added to it. */
static double summed(const struct acct_round *r, double eps, double h, double *added)
{
	double blanket = 0, chance[MOST_MESSAGES], delta = 0;

	for (size_t j = 0; j < r->cells; j++)
		blanket += r->cell[j].omega;
	size_t n = count_messages(r, blanket, chance);
	struct steps s = spread(r, blanket, eps, h);
	size_t size = (n + 1) * (size_t)(s.hi - s.lo) + 1, zero = (n + 1) * (size_t)-s.lo;
	double *law = calloc(size, sizeof *law), *next = calloc(size, sizeof *next);

	assert_true(law && next);
	law[zero] = 1;
	*added = 0;
	for (size_t m = 1; m <= n + 1; m++) {
		size_t from = zero - (size_t) - (s.lo * (long)(m - 1)),
		       to = zero + (size_t)(s.hi * (long)(m - 1));
		double mean = 0;

		memset(next, 0, size * sizeof *next);
		for (size_t i = from; i <= to; i++)
			for (size_t k = 0; k < s.size && law[i] > 0; k++)
				next[(size_t)((long)i + s.at[k])] += law[i] * s.p[k];
		double *swap = law;
		law = next;
		next = swap;
		if (chance[m - 1] < 1e-30)
			continue;
		for (size_t i = zero + 1; i < size; i++)
			mean += law[i] * h * (double)(i - zero);
		delta += chance[m - 1] * blanket / (double)m * mean;
		*added += chance[m - 1] * blanket / (double)m * sqrt((double)m) * h / 4;
	}
	free(law);
	free(next);
	return delta;
}

static struct acct_round response(double p, double k)
{
	double z = p + k - 1;

	return (struct acct_round){
		.cells = 3, .count = 1, .cell = { { 1 / z, p, 1 }, { 1 / z, 1, p }, { (k - 2) / z, 1, 1 } }
	};
}

/* E is a multiple of 1/8, so is every x. */
static void on_its_own_lattice_the_sum_is_exact(void **state)
{
	static const double e[] = { 1, 1.125, 1.25, 1.5, 2, 2.5 };

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		struct acct_round r = response(4, 12);

		r.others = kind == 3 ? 0 : 300;
		r.dummies = kind & 1 ? 40 : 0;
		if (kind & 2) {
			r.levels = 3;
			/* The omegas sum to 0.8 less an ulp: with 1.25 the share would lack that of a
			 * blanket. */
			r.level[0] = (struct acct_level){ nextafter(1.25, 2), 60 };
			r.level[1] = (struct acct_level){ 0.3, 100 };
			r.level[2] = (struct acct_level){ 0.01, 90 };
		}
		for (size_t i = 0; i < sizeof e / sizeof *e; i++) {
			double added, truth = summed(&r, log(e[i]), 0.125, &added);
			struct acct_bound d;

			assert_int_equal(acct_delta(&r, 1, log(e[i]), &d), ACCT_OK);
			if (!(d.lower <= truth * (1 + 1e-11) && d.upper >= truth * (1 - 1e-11)))
				fail_msg("kind %d E %g: [%.15g, %.15g] misses %.15g", kind, e[i], d.lower,
					d.upper, truth);
			assert_true(d.upper - d.lower < 1e-2 * truth);
		}
	}
}

static void spread_onto_any_grid_the_sum_is_just_above(void **state)
{
	struct acct_round r = { .cells = 5,
		.others = 150,
		.dummies = 3,
		.count = 1,
		.levels = 2,
		.level = { { 0.5, 50 }, { 1.3, 25 } } };
	double g = exp(0.4), choose[] = { 1, 4, 6, 4, 1 };

	(void)state;
	for (size_t j = 0; j < 5; j++)
		r.cell[j] = (struct acct_cell){ choose[j] / pow(1 + g, 4), pow(g, 4 - (double)j),
			pow(g, (double)j) };
	for (double eps = 0; eps < 0.5; eps += 0.12) {
		double added, above = summed(&r, eps, 0.01, &added);
		struct acct_bound d;

		assert_int_equal(acct_delta(&r, 1, eps, &d), ACCT_OK);
		assert_true(d.lower <= above && d.upper >= above - added);
		assert_true(added < 0.1 * above || eps > 0.2); /* the comparison means something */
		assert_true(d.upper <= above * (1 + 1e-3));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_its_own_lattice_the_sum_is_exact),
		cmocka_unit_test(spread_onto_any_grid_the_sum_is_just_above),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
