/* test_multi.c - the rows of one wide message among wide dummies: their laws by enumeration of the draws, and
 * from the laws the cells and the exact delta of small batches. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_spec.h"
#include "multi_rows.h"
#include "pt_bits.h"
#include "pt_hash.h"
#include "scripted_rng.h"

#define ITEMS_MAX  5u
#define SYMBOLS    32u /* 2^ITEMS_MAX */
#define TUPLES_MAX 32768u

/* All messages of a client from a script, which they use up exactly. */
static void client(
	const struct pt_params *p, uint64_t x, const uint64_t *script, size_t len, uint8_t *records)
{
	struct scripted_rng s = { .script = script, .len = len, .fallback = SCRIPT_END };
	struct cm_rng rng = scripted_rng(&s);
	struct pt_query q = histogram(p->bins);
	struct pt_value v = { x };

	pt_find(p->protocol)->encode(&q, p, &v, &rng, records);
	assert_int_equal(s.used, len);
}

/* a x + b by long multiplication, modulo the prime, and its cell. */
static uint64_t cell_of(uint64_t a, uint64_t b, uint64_t x, uint32_t cells)
{
	__extension__ unsigned __int128 v = ((unsigned __int128)a * x + b) % PT_HASH_POINTS;

	return (uint64_t)(v * cells >> 61);
}

/* Every place and every value: the message there is the value's cell under its own hash, all others are what
 * was drawn. */
static void a_hashed_value_is_at_its_place_and_dummies_are_what_was_drawn(void **state)
{
	static const uint64_t a[] = { 0x0123456789abcdef, 1, 0x1abcdef012345678, 0 };
	static const uint64_t b[] = { 7, PT_HASH_POINTS - 2, 0x0fedcba987654321, 0x1000000000000000 };
	const uint32_t cells = 5, m = 4;
	struct pt_params p = hashed(40, cells, m - 1);
	uint8_t records[4 * PT_HASH_RECORD_LEN], one[PT_HASH_RECORD_LEN];

	(void)state;
	assert_int_equal(pt_find("hashed")->messages(&p), m);
	assert_int_equal(pt_find("hashed")->record_len(&p), PT_HASH_RECORD_LEN);
	for (uint64_t place = 0; place < m; place++) {
		for (uint64_t x = 0; x < 40; x++) {
			uint64_t script[13] = { draw_for(place, m) };

			for (uint32_t i = 0; i < m; i++) {
				script[1 + 3 * i] = draw_for(a[i], PT_HASH_POINTS);
				script[2 + 3 * i] = draw_for(b[i], PT_HASH_POINTS);
				script[3 + 3 * i] = draw_for((x + i) % cells, cells);
			}
			client(&p, x, script, 13, records);
			for (uint32_t i = 0; i < m; i++) {
				const uint8_t *r = records + i * PT_HASH_RECORD_LEN;
				struct scripted_rng s = {
					.script = script + 1 + 3 * i, .len = 3, .fallback = SCRIPT_END
				};
				struct cm_rng rng = scripted_rng(&s);

				assert_true(cm_get_le64(r + 8) == a[i] && cm_get_le64(r + 16) == b[i]);
				assert_int_equal(cm_get_le64(r + 24),
					i == place ? cell_of(a[i], b[i], x, cells) : (x + i) % cells);
				pt_find("hashed")->dummy(&p, &rng, one);
				assert_int_equal(s.used, 3);
				if (i != place)
					assert_memory_equal(one, r, sizeof one);
			}
		}
	}
}

/* A message supports exactly the categories whose cell it names. */
static void a_hashed_message_counts_for_the_categories_of_its_cell(void **state)
{
	struct pt_params p = hashed(300, 7, 1);
	struct pt_hash h = { 0x1123456789abcdef, 0x0badcafe12345678 };
	uint8_t record[PT_HASH_RECORD_LEN];
	uint64_t counts[300] = { 0 }, all = 0;

	(void)state;
	for (uint64_t cell = 0; cell < 7; cell++) {
		uint64_t before[300];

		memcpy(before, counts, sizeof before);
		pt_hash_put(record, &h, cell);
		assert_int_equal(pt_find("hashed")->tally(&p, record, counts, &err), CM_OK);
		for (uint64_t x = 0; x < 300; x++)
			assert_int_equal(counts[x] - before[x], cell_of(h.a, h.b, x, 7) == cell);
	}
	for (size_t x = 0; x < 300; x++)
		all += counts[x];
	assert_int_equal(all, 300);
}

/* The law of the message that stands at `place`, from a draw either side of each threshold; the other
 * messages get draws that flip nothing.  Bit i of y is item i's. */
static void bit_law(
	const struct pt_params *p, uint64_t place, uint64_t x, long double law[SYMBOLS], bool is_real)
{
	uint32_t d = p->bins, m = pt_find("cheu")->messages(p), len = pt_bits_len(d);
	uint64_t at = is_real ? place : (place + 1) % m;
	uint8_t records[4 * 16];

	for (uint32_t y = 0; y < 1u << d; y++) {
		law[y] = 1;
		for (int far = 0; far < 2; far++) {
			uint64_t script[1 + 4 * ITEMS_MAX] = { draw_for(place, m) };

			for (uint32_t i = 0; i < m * d; i++)
				script[1 + i] = UINT64_MAX;
			for (uint32_t i = 0; i < d; i++) {
				uint64_t t = is_real && i == x ? p->keep : p->other;
				bool set = (y >> i & 1) != 0;

				script[1 + at * d + i] = far ? (set ? 0 : UINT64_MAX) : set ? t - 1 : t;
				if (far)
					law[y] *= set ? chance(t) : chance(UINT64_C(0) - t);
			}
			client(p, x, script, 1 + m * d, records);
			assert_int_equal(records[at * len + PT_RECORD_HEAD], y);
		}
	}
}

/* At every place the value's message has the law of unary encoding, and the others that of no value, which is
 * what the shuffler's dummies have. */
static void a_fake_users_report_is_that_of_no_value(void **state)
{
	struct pt_params p = cheu(3, 1.5, 2);
	uint64_t script[3];
	uint8_t record[16];

	(void)state;
	for (uint64_t place = 0; place < 3; place++) {
		for (uint64_t x = 0; x < 3; x++) {
			long double real[SYMBOLS], fake[SYMBOLS], f = chance(p.other), sum = 0;

			bit_law(&p, place, x, real, true);
			bit_law(&p, place, x, fake, false);
			for (uint32_t y = 0; y < 8; y++) {
				int ones = __builtin_popcount(y);

				close_to((double)fake[y], powl(f, ones) * powl(1 - f, 3 - ones), 1e-15);
				sum += real[y];
			}
			assert_true(fabsl(sum - 1) < 1e-17L);
		}
	}
	for (uint32_t y = 0; y < 8; y++) {
		struct scripted_rng s = { .script = script, .len = 3, .fallback = SCRIPT_END };
		struct cm_rng rng = scripted_rng(&s);

		for (uint32_t i = 0; i < 3; i++)
			script[i] = (y >> i & 1) != 0 ? p.other - 1 : p.other;
		pt_find("cheu")->dummy(&p, &rng, record);
		assert_int_equal(s.used, 3);
		assert_int_equal(record[PT_RECORD_HEAD], y);
	}
}

static void every_value_and_outcome_uses_the_same_number_of_draws(void **state)
{
	struct pt_params h = hashed(300, 9, 3), c = cheu(300, 2, 3);
	static uint8_t records[4 * 64];

	(void)state;
	for (uint64_t x = 0; x < 300; x += 23) {
		const uint64_t first[] = { draw_for(0, 4), draw_for(3, 4) };

		for (size_t i = 0; i < 2; i++) {
			uint64_t script[1 + 4 * 300] = { first[i] };

			for (size_t j = 1; j < sizeof script / sizeof script[0]; j++)
				script[j] = x % 2 == 0 ? SCRIPT_END : j % 3 == 0 ? 0 : UINT64_MAX - 1;
			client(&c, x, script, 1 + 4 * 300, records);
			for (size_t j = 1; j < 13; j++)
				script[j] = SCRIPT_END;
			client(&h, x, script, 13, records);
		}
	}
}

/* ---- cells ---- */

/* Messages of a batch: each one's law under the victim's two values. */
struct batch {
	uint32_t symbols, messages;
	long double law[2][8][SYMBOLS];
};

static int by_digit(const void *a, const void *b)
{
	return *(const uint8_t *)a - *(const uint8_t *)b;
}

/* Hockey stick of the shuffled batch: all tuples of symbols, gathered by their multiset. */
static double exact_delta(const struct batch *b, double epsilon, bool reverse)
{
	static long double mass[2][TUPLES_MAX];
	uint32_t tuples = 1;
	long double sum = 0;

	for (uint32_t i = 0; i < b->messages; i++)
		tuples *= b->symbols;
	assert_true(tuples <= TUPLES_MAX);
	memset(mass, 0, sizeof mass);
	for (uint32_t t = 0; t < tuples; t++) {
		long double p[2] = { 1, 1 };
		uint8_t digit[8];
		uint32_t rest = t, code = 0;

		for (uint32_t i = 0; i < b->messages; i++, rest /= b->symbols) {
			digit[i] = (uint8_t)(rest % b->symbols);
			p[0] *= b->law[0][i][digit[i]];
			p[1] *= b->law[1][i][digit[i]];
		}
		qsort(digit, b->messages, 1, by_digit);
		for (uint32_t i = 0; i < b->messages; i++)
			code = code * b->symbols + digit[i];
		mass[0][code] += p[0];
		mass[1][code] += p[1];
	}
	for (uint32_t t = 0; t < tuples; t++)
		sum += fmaxl(0, mass[reverse][t] - expl((long double)epsilon) * mass[!reverse][t]);
	return (double)sum;
}

static const double some_epsilons[] = { 0, 0.25, 1, 2 };

/* Never less than the exact delta; where the theorem is exact also never more. */
static void expect_bound(const struct acct_round *round, const struct batch *b, bool is_exact)
{
	for (size_t i = 0; i < sizeof some_epsilons / sizeof some_epsilons[0]; i++) {
		double truth =
			fmax(exact_delta(b, some_epsilons[i], false), exact_delta(b, some_epsilons[i], true));
		struct acct_bound delta;

		assert_int_equal(acct_delta(round, 1, some_epsilons[i], &delta), ACCT_OK);
		if (!(truth <= delta.upper * (1 + 1e-12) + 1e-15))
			fail_msg("exact %.17g above %.17g at %g", truth, delta.upper, some_epsilons[i]);
		if (is_exact && truth > 0)
			close_to(delta.upper, truth, 1e-6);
		else
			assert_true(truth > 0 || !is_exact || delta.upper < 1e-200);
	}
}

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
		struct pt_params p = hashed(9, l, 3);
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
		assert_true(isinf(pt_find("hashed")->epsilon0(&p)));
	}
}

/* Everybody else's true messages are known to the adversary, and what is left is the victim's among dummies.
 */
static void hashed_cells_give_the_exact_delta_of_a_batch(void **state)
{
	(void)state;
	for (uint32_t l = 2; l <= 4; l++) {
		for (uint32_t dummies = 1; dummies <= 6; dummies += l == 2 ? 2 : 1) {
			struct pt_params p = hashed(9, l, dummies);
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

/* omega nowhere above the law of any value, in proportion to that of the dummies, ratios never below. */
static void fake_users_cells_are_below_every_law(void **state)
{
	(void)state;
	for (uint32_t d = 2; d <= ITEMS_MAX; d++) {
		for (size_t j = 0; j < 4; j++) {
			struct pt_params p = cheu(d, 0.3 + (double)(j * j), 2);
			long double real[ITEMS_MAX][SYMBOLS], fake[SYMBOLS], mass[4] = { 0 },
									     share[4] = { 0 };
			long double f = chance(p.other), g = (1 - f) / f, all = 0;
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
			close_to(pt_find("cheu")->epsilon0(&p), 2 * logl(g), 1e-14);
			assert_true(pt_find("cheu")->epsilon0(&p) <= 0.3 + (double)(j * j));
		}
	}
}

/* The victim, another client with any value, and the fakes of both; and alone with its fakes. */
static void fake_users_cells_never_give_less_than_the_exact_delta(void **state)
{
	static const double guarantees[] = { 0.7, 2.5, 6 };

	(void)state;
	for (uint32_t d = 2; d <= 3; d++) {
		for (size_t j = 0; j < 3; j++) {
			struct pt_params p = cheu(d, guarantees[j], 1);
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
	struct pt_params h = hashed(100, 16, 9), c = cheu(100, 2 * log(15), 3);
	struct acct_round round;

	(void)state;
	assert_int_equal(pt_find("hashed")->cells(&h, 100, &round, &err), CM_OK);
	expect_cells(&round, "hashed:b=16,dummies=900");
	h.shuffler_dummies = 77;
	assert_int_equal(pt_find("hashed")->cells(&h, 100, &round, &err), CM_OK);
	expect_cells(&round, "hashed:b=16,dummies=977");
	assert_int_equal(pt_find("cheu")->cells(&c, 1000, &round, &err), CM_OK);
	expect_cells(&round, "cheu:f=0.0625,fakes=3,n=1000");
}

static void participants_beyond_the_accountants_range_are_refused(void **state)
{
	struct pt_params params[] = { hashed(4, 5, 1000), cheu(4, 1, 1000) };
	struct acct_round round;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct pt_protocol *row = pt_find(params[i].protocol);

		assert_int_equal(row->cells(&params[i], 0, &round, &err), CM_EPROTO);
		assert_int_equal(row->cells(&params[i], UINT64_MAX, &round, &err), CM_EPROTO);
		assert_int_equal(row->cells(&params[i], 1000000000, &round, &err), CM_EPROTO);
		assert_int_equal(row->cells(&params[i], 900000000, &round, &err), CM_OK);
		params[i].shuffler_dummies = 5;
		assert_int_equal(row->cells(&params[i], 7, &round, &err), CM_OK);
		assert_int_equal(round.dummies, 7005);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hashed_value_is_at_its_place_and_dummies_are_what_was_drawn),
		cmocka_unit_test(a_hashed_message_counts_for_the_categories_of_its_cell),
		cmocka_unit_test(a_fake_users_report_is_that_of_no_value),
		cmocka_unit_test(every_value_and_outcome_uses_the_same_number_of_draws),
		cmocka_unit_test(hashed_cells_are_the_ratios_to_a_dummys_law),
		cmocka_unit_test(hashed_cells_give_the_exact_delta_of_a_batch),
		cmocka_unit_test(fake_users_cells_are_below_every_law),
		cmocka_unit_test(fake_users_cells_never_give_less_than_the_exact_delta),
		cmocka_unit_test(the_accountants_rounds_of_the_same_name_are_equal),
		cmocka_unit_test(participants_beyond_the_accountants_range_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
