/* test_multi_cells.c - the rows of one wide message among wide dummies: their blanket cells from their laws,
 * and the exact delta of small batches. */
#include <math.h>
#include <string.h>

#include "acct_spec.h"
#include "exact_batch.h"
#include "multi_rows.h"

/* Types of a message for two values: it names the cell of the first alone, of the second alone, of both, of
 * neither. */
static void hashed_laws(long double l, long double victim[2][SYMBOLS], long double dummy[SYMBOLS])
{
	const long double drawn[] = { (l - 1) / (l * l), (l - 1) / (l * l), 1 / (l * l),
		(l - 1) * (l - 1) / (l * l) };

	memset(victim, 0, 2 * sizeof victim[0]);
	memcpy(dummy, drawn, sizeof drawn);
	victim[0][0] = victim[1][1] = 1 - 1 / l;
	victim[0][2] = victim[1][2] = 1 / l;
}

static void hashed_cells_are_the_ratios_to_a_dummys_law(void **state)
{
	(void)state;
	for (uint32_t l = 2; l <= 4096; l = l < 20 ? l + 1 : l * 4 / 3) {
		struct pt_randomizer p = hashed(9, l, 3);
		long double victim[2][SYMBOLS], dummy[SYMBOLS], uu = 0, vv = 0;
		struct acct_round round;
		const char *why;

		hashed_laws(l, victim, dummy);
		assert_int_equal(pt_find("hashed")->cells(&p, 1000, &round, &err), CM_OK);
		assert_int_equal(acct_round_check(&round, &why), ACCT_OK);
		assert_true(round.others == 0 && round.dummies == 3000 && round.count == 1);
		assert_true(round.cells == 4 && round.levels == 0 && round.defect == 0);
		for (uint32_t c = 0; c < 4; c++) {
			const struct acct_cell *cell = &round.cell[c];

			assert_true(cell->omega <= dummy[c]);
			close_to(cell->omega, dummy[c], 1e-15);
			assert_true(cell->u >= victim[0][c] / dummy[c] * (1 - 1e-18L));
			assert_true(cell->v >= victim[1][c] / dummy[c] * (1 - 1e-18L));
			uu += (long double)cell->omega * cell->u;
			vv += (long double)cell->omega * cell->v;
		}
		assert_true(fabsl(uu - 1) < 1e-15L && fabsl(vv - 1) < 1e-15L);
		assert_true(isinf(pt_find("hashed")->device->epsilon0(&p)));
	}
}

/* The adversary knows everybody else's true messages; the victim's is left, among dummies. */
static void hashed_cells_give_the_exact_delta_of_a_batch(void **state)
{
	(void)state;
	for (uint32_t l = 2; l <= 4; l++) {
		for (uint32_t dummies = 1; dummies <= 6; dummies += l == 2 ? 2 : 1) {
			struct pt_randomizer p = hashed(9, l, dummies);
			struct batch b = { .symbols = 4, .messages = 1 + dummies };
			struct acct_round round;

			for (uint32_t i = 0; i < b.messages; i++) {
				long double victim[2][SYMBOLS], dummy[SYMBOLS];

				hashed_laws(l, victim, dummy);
				for (size_t x = 0; x < 2; x++)
					memcpy(b.law[x][i], i == 0 ? victim[x] : dummy, sizeof dummy);
			}
			assert_int_equal(pt_find("hashed")->cells(&p, 1, &round, &err), CM_OK);
			expect_bound(&round, &b, true);
		}
	}
}

/* omega is never above the law of any value, is proportional to that of the dummies, and ratios are never too
 * small. */
static void fake_users_cells_are_below_every_law(void **state)
{
	(void)state;
	for (uint32_t d = 2; d <= ITEMS_MAX; d++) {
		for (size_t j = 0; j < 4; j++) {
			struct pt_randomizer p = cheu(d, 0.3 + (double)(j * j), 2);
			long double real[ITEMS_MAX][SYMBOLS], fake[SYMBOLS], mass[4] = { 0 },
									     share[4] = { 0 };
			long double f = chance(p.cheu.other), g = (1 - f) / f, all = 0;
			struct acct_round round;
			const char *why;

			for (uint32_t x = 0; x < d; x++)
				bit_law(&p, 1, x, real[x], true);
			bit_law(&p, 1, 0, fake, false);
			assert_int_equal(pt_find("cheu")->cells(&p, 1000, &round, &err), CM_OK);
			assert_int_equal(acct_round_check(&round, &why), ACCT_OK);
			assert_true(round.others == 999 && round.dummies == 2000 && round.cells == 4);
			for (uint32_t y = 0; y < 1u << d; y++) {
				/* Cells in the order (1,0), (0,1), (0,0), (1,1) of the victim's two bits. */
				static const uint32_t order[] = { 2, 0, 1, 3 };
				uint32_t c = order[y & 3];
				long double omega = fake[y] / g;

				for (uint32_t x = 0; x < d; x++)
					assert_true(omega <= real[x][y] * (1 + 1e-17L));
				mass[c] += omega;
				share[c] += fake[y];
				close_to(round.cell[c].u, real[0][y] / omega, 1e-14);
				close_to(round.cell[c].v, real[1][y] / omega, 1e-14);
				assert_true(fmax(round.cell[c].u, round.cell[c].v) >=
						    fmaxl(real[0][y], real[1][y]) / omega * (1 - 1e-17L) ||
					    c == 2);
			}
			for (uint32_t c = 0; c < 4; c++) {
				assert_true(round.cell[c].omega <= mass[c]);
				close_to(round.cell[c].omega, mass[c], 1e-14);
				all += round.cell[c].omega;
			}
			for (uint32_t c = 0; c < 4; c++)
				close_to((double)(round.cell[c].omega / all), share[c], 1e-14);
			close_to(pt_find("cheu")->device->epsilon0(&p), 2 * logl(g), 1e-14);
			assert_true(pt_find("cheu")->device->epsilon0(&p) <= 0.3 + (double)(j * j));
		}
	}
}

/* The victim and another client with any value, and the fakes of both; then the victim with its fakes. */
static void fake_users_cells_never_give_less_than_the_exact_delta(void **state)
{
	static const double guarantees[] = { 0.7, 2.5, 6 };

	(void)state;
	for (uint32_t d = 2; d <= 3; d++) {
		for (size_t j = 0; j < 3; j++) {
			struct pt_randomizer p = cheu(d, guarantees[j], 1);
			long double real[ITEMS_MAX][SYMBOLS], fake[SYMBOLS];

			for (uint32_t x = 0; x < d; x++)
				bit_law(&p, 0, x, real[x], true);
			bit_law(&p, 0, 0, fake, false);
			for (uint32_t other = 0; other <= d; other++) {
				uint32_t n = other < d ? 2 : 1;
				struct batch b = { .symbols = 1u << d, .messages = 2 * n };
				struct acct_round round;

				for (size_t x = 0; x < 2; x++) {
					memcpy(b.law[x][0], real[x], sizeof fake);
					memcpy(b.law[x][1], fake, sizeof fake);
					memcpy(b.law[x][2], real[other % d], sizeof fake);
					memcpy(b.law[x][3], fake, sizeof fake);
				}
				assert_int_equal(pt_find("cheu")->cells(&p, n, &round, &err), CM_OK);
				/* With fakes alone the theorem is exact. */
				expect_bound(&round, &b, n == 1);
			}
		}
	}
}

static void expect_cells(const struct acct_round *a, const char *text)
{
	struct acct_spec s;
	char why[200];

	if (acct_spec_parse(text, &s, why, sizeof why) != ACCT_OK)
		fail_msg("%s", why);
	assert_true(a->others == s.round.others && a->dummies == s.round.dummies);
	assert_true(a->cells == s.round.cells && a->count == s.round.count);
	for (size_t i = 0; i < a->cells; i++) {
		size_t same = 0;

		for (size_t j = 0; j < s.round.cells; j++) {
			const struct acct_cell *c = &s.round.cell[j];

			if (fabs(c->u - a->cell[i].u) > 1e-9 * c->u ||
				fabs(c->v - a->cell[i].v) > 1e-9 * c->v)
				continue;
			same++;
			close_to(a->cell[i].omega, c->omega, 1e-9);
		}
		assert_int_equal(same, 1);
	}
}

/* What the accountant knows by these names is the same round. */
static void the_accountants_rounds_of_the_same_name_are_equal(void **state)
{
	struct pt_randomizer h = hashed(100, 16, 9), c = cheu(100, 2 * log(15), 3);
	struct acct_round round;

	(void)state;
	assert_int_equal(pt_find("hashed")->cells(&h, 100, &round, &err), CM_OK);
	expect_cells(&round, "hashed:b=16,dummies=900");
	h.shuffler.dummies = 77;
	assert_int_equal(pt_find("hashed")->cells(&h, 100, &round, &err), CM_OK);
	expect_cells(&round, "hashed:b=16,dummies=977");
	assert_int_equal(pt_find("cheu")->cells(&c, 1000, &round, &err), CM_OK);
	expect_cells(&round, "cheu:f=0.0625,fakes=3,n=1000");
}

static void participants_beyond_the_accountants_range_are_refused(void **state)
{
	struct pt_randomizer params[] = { hashed(4, 5, 1000), cheu(4, 1, 1000) };
	struct acct_round round;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct pt_protocol *row = pt_protocol_of(params[i].row);

		assert_int_equal(row->cells(&params[i], 0, &round, &err), CM_EPROTO);
		assert_int_equal(row->cells(&params[i], UINT64_MAX, &round, &err), CM_EPROTO);
		assert_int_equal(row->cells(&params[i], 1000000000, &round, &err), CM_EPROTO);
		assert_int_equal(row->cells(&params[i], 900000000, &round, &err), CM_OK);
		params[i].shuffler.dummies = 5;
		assert_int_equal(row->cells(&params[i], 7, &round, &err), CM_OK);
		assert_int_equal(round.dummies, 7005);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashed_cells_are_the_ratios_to_a_dummys_law),
		cmocka_unit_test(hashed_cells_give_the_exact_delta_of_a_batch),
		cmocka_unit_test(fake_users_cells_are_below_every_law),
		cmocka_unit_test(fake_users_cells_never_give_less_than_the_exact_delta),
		cmocka_unit_test(the_accountants_rounds_of_the_same_name_are_equal),
		cmocka_unit_test(participants_beyond_the_accountants_range_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
