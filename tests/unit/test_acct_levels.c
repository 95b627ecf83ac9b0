/* test_acct_levels.c - personalised levels against sums over every outcome of small mechanisms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "acct_answers.h"
#include "acct_cells.h"
#include "acct_examples.h"
#include "shuffled.h"

/* Others have three different guarantees: symbol s is blanket for all of them with probability 1/Z_i. */
static void no_data_set_of_personalised_response_loses_more_than_the_bound(void **state)
{
	static const double ps[5] = { 2, 6, 6, 1.2, 30 }; /* the victim's first */

	(void)state;
	for (unsigned k = 2; k <= 3; k++)
		for (unsigned n = 2; n <= 5; n++)
			for (double eps = 0; eps < log(ps[0]); eps += 0.17) {
				struct acct_round r = grr_victim(k, ps[0]);
				unsigned vectors = 1;

				for (unsigned i = 1; i < n; i++) {
					r.level[r.levels++] =
						(struct acct_level){ (ps[0] + k - 1) / (ps[i] + k - 1), 1 };
					vectors *= k;
				}
				struct acct_bound d = delta_at(&r, eps);
				double worst = 0;
				for (unsigned v = 0; v < vectors; v++) {
					static struct law a, b;
					double report[SYMBOLS];
					unsigned rest = v;

					memset(&a, 0, sizeof a);
					a.mass[0] = 1;
					for (unsigned i = 1; i < n; i++, rest /= k) {
						grr_report(report, k, ps[i], rest % k);
						law_add(&a, report);
					}
					b = a;
					grr_report(report, k, ps[0], 0);
					law_add(&a, report);
					grr_report(report, k, ps[0], 1);
					law_add(&b, report);
					worst = fmax(worst, fmax(hockey(&a, &b, eps), hockey(&b, &a, eps)));
				}
				assert_true(worst <= d.upper * (1 + 1e-12));
				assert_true(worst > 0.2 * d.upper); /* the comparison means something */
			}
}

/* The mechanism whose outcome is what the theorem reveals: two cells and one symbol for all left-overs. */
static const struct acct_round revealing = {
	.cells = 2, .count = 1, .cell = { { 0.3, 2.5, 0.5 }, { 0.25, 1, 3.4 } }
};

static void revealing_laws(struct law *a, struct law *b, const double *share, size_t others, size_t dummies)
{
	const struct acct_cell *c = revealing.cell;

	memset(a, 0, sizeof *a);
	a->mass[0] = 1;
	for (size_t i = 0; i < others; i++)
		law_add(a, (double[]){ share[i] * c[0].omega, share[i] * c[1].omega,
				   1 - share[i] * (c[0].omega + c[1].omega), 0 });
	for (size_t i = 0; i < dummies; i++)
		law_add(a, (double[]){ c[0].omega / 0.55, c[1].omega / 0.55, 0, 0 });
	*b = *a;
	law_add(a, (double[]){ c[0].omega * c[0].u, c[1].omega * c[1].u, 0, 0 });
	law_add(b, (double[]){ c[0].omega * c[0].v, c[1].omega * c[1].v, 0, 0 });
}

static void a_mechanism_that_reveals_the_blanket_loses_exactly_the_bound(void **state)
{
	static const double share[] = { 0.4, 1.7, 1.7, 0.4, 1 };
	static struct law a, b;

	(void)state;
	for (size_t others = 0; others <= 5; others++)
		for (size_t dummies = 0; dummies <= 1; dummies++) {
			struct acct_round r = revealing;

			r.dummies = dummies;
			for (size_t i = 0; i < others; i++)
				if (i == 4)
					r.others = 1;
				else
					r.level[r.levels++] = (struct acct_level){ share[i], 1 };
			revealing_laws(&a, &b, share, others, dummies);
			for (double eps = 0; eps < 1.8; eps += 0.3) {
				double truth = fmax(hockey(&a, &b, eps), hockey(&b, &a, eps));

				if (truth > 1e-12)
					expect(delta_at(&r, eps), truth, 1e-8);
			}
		}
}

static void a_level_of_share_one_is_others_and_levels_may_be_split(void **state)
{
	struct acct_round a = { .others = 900, .dummies = 5, .count = 3 }, b, c;

	(void)state;
	assert_int_equal(acct_cells_pair(4, 0.4, 4, 2, &a, NULL), ACCT_OK);
	b = a;
	b.others = 300;
	b.levels = 2;
	b.level[0] = (struct acct_level){ 1, 250 };
	b.level[1] = (struct acct_level){ 1, 350 };
	c = b; /* too close to matter, and not equal */
	c.level[0].share = 1 - 1e-9;
	c.level[1].share = 1 + 1e-9;
	struct acct_bound x = epsilon(&a, 1e-6), y = epsilon(&b, 1e-6), z = epsilon(&c, 1e-6);
	assert_true(x.lower == y.lower && x.upper == y.upper);
	assert_true(z.lower <= x.upper && x.lower <= z.upper && fabs(z.upper - x.upper) < 1e-3 * x.upper);
}

/* As a mixture of two binomials: one participant of another level. */
static void one_odd_participant_is_a_mixture(void **state)
{
	(void)state;
	for (double share = 0.2; share < 2; share += 0.6) {
		struct acct_round with = revealing, without, certain;

		with.others = 1500;
		with.levels = 1;
		with.level[0] = (struct acct_level){ share, 1 };
		without = certain = with;
		without.levels = 0;
		certain.levels = 0;
		certain.dummies = 1;
		for (double eps = 0; eps < 0.25; eps += 0.06) {
			struct acct_bound d = delta_at(&with, eps), d0 = delta_at(&without, eps),
					  d1 = delta_at(&certain, eps);
			double w = share * 0.55;

			assert_true(d.lower <= (1 - w) * d0.upper + w * d1.upper);
			assert_true(d.upper >= (1 - w) * d0.lower + w * d1.lower);
			assert_true(d.upper - d.lower < 1e-2 * d.upper);
		}
	}
}

static void less_blanket_never_loses_less(void **state)
{
	struct acct_bound last = { INFINITY, INFINITY };

	(void)state;
	for (double share = 0.05; share <= 2; share *= 1.5) {
		struct acct_round r = { .others = 10, .count = 20, .levels = 2 };

		assert_int_equal(acct_cells_generic(1.5, &r, NULL), ACCT_OK);
		r.level[0] = (struct acct_level){ share, 3000 };
		r.level[1] = (struct acct_level){ 0.01, 100 };
		struct acct_bound e = epsilon(&r, 1e-7);
		assert_true(e.lower <= last.upper && e.upper < last.upper);
		assert_true(e.upper - e.lower < 1e-3 * e.upper);
		last = e;
	}
}

static void sixty_four_levels_of_sixty_four_cells_end(void **state)
{
	struct acct_round r = { .cells = 64, .count = 4, .levels = 64 };
	double u = 0;

	(void)state;
	for (size_t j = 0; j < 64; j++) {
		r.cell[j].omega = 0.01;
		r.cell[j].u = exp(sin((double)j));
		u += 0.01 * r.cell[j].u;
	}
	for (size_t j = 0; j < 64; j++)
		r.cell[j].u /= u;
	for (size_t j = 0; j < 64; j++) {
		r.cell[j].v = r.cell[63 - j].u;
		r.level[j] = (struct acct_level){ 0.01 + 0.02 * (double)j, 100 + 10 * j };
	}
	struct acct_bound e = epsilon(&r, 1e-6);
	assert_true(e.lower > 0 && e.upper - e.lower < 1e-2 * e.upper);
}

/* Two cells, of which the first has infinite loss: 1/8 of the victim's reports.  Who is missing lets it be
 * seen: every number here is a power of two, so that chances are exact. */
static struct acct_round short_of_one(unsigned others, bool as_level)
{
	double most = 1 - 0x1p-53, tiny = 0x1p-66;
	struct acct_round r = { .cells = 2, .count = 1 };

	if (as_level) { /* share W = 1 - 2^-53 + 2^-66 as well */
		r.levels = 1;
		r.level[0] = (struct acct_level){ 2, others };
		most /= 2;
		tiny /= 2;
	} else {
		r.others = others;
	}
	r.cell[0] = (struct acct_cell){ tiny, 0.125 / tiny, 0 };
	r.cell[1] = (struct acct_cell){ most, 0.875 / most, 1 / most };
	return r;
}

static void a_blanket_that_is_short_of_one_by_an_ulp_hides_nobody_there(void **state)
{
	(void)state;
	for (unsigned others = 1; others <= 4; others++)
		for (int as_level = 0; as_level < 2; as_level++) {
			struct acct_round r = short_of_one(others, as_level);
			/* all others outside the second cell: 2^-53 each, or 2^-66 were the blanket whole */
			double lost = ldexp(0.125, -53 * (int)others),
			       whole = ldexp(0.125, -66 * (int)others);
			struct acct_bound d = delta_at(&r, 300), e;

			assert_true(d.upper >= lost && d.lower <= whole);
			assert_true(d.upper <= lost * (1 + 1e-9) + 1e-59); /* what a listing leaves out */
			if (lost < 2e-200)
				continue;
			e = epsilon(&r, lost / 2);
			assert_true(isinf(e.upper));
			r.count = 3;
			d = delta_at(&r, 300);
			assert_true(d.upper >= 3 * lost * (1 - 1e-15) && d.lower <= 3 * whole);
		}
}

static void a_blanket_that_is_one_by_construction_is_whole(void **state)
{
	struct acct_round r = { .count = 1, .others = 2 }, given = { .count = 1, .others = 2, .cells = 10 };

	(void)state;
	/* q = 1 + beta: every other message is blanket, though doubles may not sum to one */
	for (double beta = 0.1; beta < 0.5; beta += 0.0123) {
		assert_int_equal(acct_cells_pair(4, beta, 1 + beta, 1 + beta, &r, NULL), ACCT_OK);
		struct acct_bound e = epsilon(&r, 1e-20);
		assert_true(e.lower > 1.3 && e.upper <= log(4) * (1 + 1e-9));
	}
	for (size_t j = 0; j < 10; j++) /* ten tenths are more than one, and three thirds less */
		given.cell[j] = (struct acct_cell){ 0.1, j % 2 ? 2 : 0, j % 2 ? 0 : 2 };
	assert_true(delta_at(&given, 30).upper > 0.2);
	acct_cells_fill(given.cell, 10);
	assert_true(given.cell[0].omega <= 0.1 && given.cell[0].omega >= 0.1);
	for (size_t j = 0; j < 3; j++)
		given.cell[j] = (struct acct_cell){ 1.0 / 3, 1, 1 };
	acct_cells_fill(given.cell, 3);
	assert_true(given.cell[0].omega > 1.0 / 3 && given.cell[0].omega < 1.0 / 3 + 1e-15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_data_set_of_personalised_response_loses_more_than_the_bound),
		cmocka_unit_test(a_mechanism_that_reveals_the_blanket_loses_exactly_the_bound),
		cmocka_unit_test(a_level_of_share_one_is_others_and_levels_may_be_split),
		cmocka_unit_test(one_odd_participant_is_a_mixture),
		cmocka_unit_test(less_blanket_never_loses_less),
		cmocka_unit_test(sixty_four_levels_of_sixty_four_cells_end),
		cmocka_unit_test(a_blanket_that_is_short_of_one_by_an_ulp_hides_nobody_there),
		cmocka_unit_test(a_blanket_that_is_one_by_construction_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
