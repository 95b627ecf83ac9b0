/* test_single.c - the rows of one wide message: their output laws by enumeration of the draws, and from the
 * laws the guarantee, the blanket cells and the estimates. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode_in_room.h"
#include "pt_bits.h"
#include "pt_record.h"
#include "scripted_rng.h"
#include "single_rows.h"

#define OUTPUTS_MAX 128u
#define ITEMS_MAX   8u

static long double chance(uint64_t threshold)
{
	return ldexpl((long double)threshold, -64);
}

/* law[x][y]: the chance of output y under input x, from the thresholds, the outputs numbered somehow;
 * support[x][y]: does output y support item x? */
struct law {
	uint32_t items, outputs;
	long double of[ITEMS_MAX][OUTPUTS_MAX];
	bool supports[ITEMS_MAX][OUTPUTS_MAX];
};

static void note_support(const struct pt_randomizer *p, const uint8_t *record, struct law *l, uint32_t y)
{
	uint64_t counts[TALLIES_MAX] = { 0 };

	assert_int_equal(pt_protocol_of(p->row)->tally(p, record, counts, &err), CM_OK);
	for (uint32_t i = 0; i < p->single.bins; i++)
		l->supports[i][y] = counts[i] == 1;
}

/* Bit i is 1 exactly for the draws below its threshold: every pattern from one draw either side of each. */
static void unary_law(const struct pt_randomizer *p, struct law *l)
{
	uint32_t d = p->single.bins;
	uint8_t record[64];

	*l = (struct law){ .items = d, .outputs = 1u << d };
	for (uint32_t x = 0; x < d; x++) {
		for (uint32_t y = 0; y < l->outputs; y++) {
			uint64_t near[ITEMS_MAX], far[ITEMS_MAX];

			l->of[x][y] = 1;
			for (uint32_t i = 0; i < d; i++) {
				uint64_t t = i == x ? p->single.keep : p->unary.other;
				bool set = (y >> i & 1) != 0;

				near[i] = set ? t - 1 : t;
				far[i] = set ? 0 : UINT64_MAX;
				l->of[x][y] *= set ? chance(t) : chance(UINT64_C(0) - t);
			}
			scripted_report(p, x, near, d, record);
			assert_int_equal(record[PT_RECORD_HEAD], y);
			scripted_report(p, x, far, d, record);
			assert_int_equal(record[PT_RECORD_HEAD], y);
			note_support(p, record, l, y);
		}
	}
}

/* All results of the uniform draws, each kept and not kept. */
static void subset_law(const struct pt_randomizer *p, struct law *l)
{
	uint32_t d = p->single.bins, ways = 1;
	uint8_t record[64];

	*l = (struct law){ .items = d, .outputs = 1u << d };
	for (uint32_t i = 2; i < d; i++)
		ways *= i;
	for (uint32_t x = 0; x < d; x++) {
		for (uint32_t way = 0; way < 2 * ways; way++) {
			uint64_t script[ITEMS_MAX] = { way % 2 != 0 ? p->single.keep - 1 : p->single.keep };
			uint32_t rest = way / 2, y;

			for (uint32_t i = 1; i < d; i++) {
				script[i] = draw_for(rest % (d - i), d - i);
				rest /= d - i;
			}
			scripted_report(p, x, script, d, record);
			y = record[PT_RECORD_HEAD];
			assert_int_equal(__builtin_popcount(y), p->olh.size);
			assert_int_equal(y >> x & 1, way % 2);
			l->of[x][y] += (way % 2 != 0 ? chance(p->single.keep)
						     : chance(UINT64_C(0) - p->single.keep)) /
				       ways;
			note_support(p, record, l, y);
		}
	}
}

static void hadamard_law(const struct pt_randomizer *p, struct law *l)
{
	uint32_t k = pt_find("hadamard")->tallies(p);
	uint8_t record[PT_RECORD_LEN];

	*l = (struct law){ .items = p->single.bins, .outputs = k };
	assert_true(k > p->single.bins && k <= 2 * p->single.bins && (k & (k - 1)) == 0);
	for (uint32_t x = 0; x < p->single.bins; x++) {
		for (uint32_t column = 0; column < k; column++) {
			for (uint32_t kept = 0; kept < 2; kept++) {
				uint64_t script[] = { kept ? p->single.keep - 1 : p->single.keep,
					draw_for(column, k) };
				uint32_t y;

				scripted_report(p, x, script, 2, record);
				assert_int_equal(pt_record_get(record, k, &y, &err), CM_OK);
				l->of[x][y] +=
					chance(kept ? p->single.keep : UINT64_C(0) - p->single.keep) / k;
				l->supports[x][y] = __builtin_parity((x + 1) & y) == 0;
			}
		}
	}
}

/* A hash is drawn first, so its cells of two items are as good as independent and uniform: outputs are (cell
 * of item 0, cell of item 1, reported cell), for two items or the two that the victim may hold of more. */
static void olh_law(const struct pt_randomizer *p, struct law *l)
{
	uint32_t cells = p->olh.size;

	*l = (struct law){ .items = 2, .outputs = cells * cells * cells };
	assert_true(l->outputs <= OUTPUTS_MAX);
	for (uint32_t y = 0; y < l->outputs; y++) {
		uint32_t cell[2] = { y % cells, y / cells % cells }, said = y / cells / cells;

		for (uint32_t x = 0; x < 2; x++) {
			l->supports[x][y] = said == cell[x];
			l->of[x][y] = (said == cell[x] ? chance(p->single.keep)
						       : chance(UINT64_C(0) - p->single.keep) / (cells - 1)) /
				      (cells * cells);
		}
	}
}

static void law_of(const struct pt_randomizer *p, struct law *l)
{
	if (strcmp(p->row->name, "subset") == 0)
		subset_law(p, l);
	else if (strcmp(p->row->name, "olh") == 0)
		olh_law(p, l);
	else if (strcmp(p->row->name, "hadamard") == 0)
		hadamard_law(p, l);
	else
		unary_law(p, l);
}

static const struct {
	const char *row;
	uint32_t items, size;
} small[] = { { "rappor", 2, 0 }, { "rappor", 3, 0 }, { "rappor", 5, 0 }, { "oue", 2, 0 }, { "oue", 3, 0 },
	{ "oue", 6, 0 }, { "subset", 2, 1 }, { "subset", 3, 1 }, { "subset", 3, 2 }, { "subset", 5, 2 },
	{ "subset", 6, 3 }, { "subset", 6, 5 }, { "olh", 2, 2 }, { "olh", 2, 4 }, { "olh", 3, 2 },
	{ "olh", 7, 5 }, { "hadamard", 2, 0 }, { "hadamard", 3, 0 }, { "hadamard", 4, 0 },
	{ "hadamard", 7, 0 } };

#define EACH_SMALL for (size_t i = 0; i < sizeof small / sizeof small[0]; i++)

static double some_epsilons[] = { 0.3, 1, 2.25, 7 };

static void close_to(double got, long double want, double relative)
{
	if (!(fabsl(got - want) <= relative * fabsl(want)))
		fail_msg("%.17g, not %.17Lg", got, want);
}

/* The law sums to 1, its worst ratio is the local guarantee, and that is at most what was asked. */
static void the_worst_ratio_of_the_output_laws_is_the_guarantee(void **state)
{
	(void)state;
	EACH_SMALL
	{
		for (size_t j = 0; j < 4; j++) {
			struct pt_randomizer p =
				made(small[i].row, small[i].items, some_epsilons[j], small[i].size);
			double e = pt_find(small[i].row)->device->epsilon0(&p);
			long double worst = 0;
			static struct law l;

			law_of(&p, &l);
			for (uint32_t x = 0; x < l.items; x++) {
				long double sum = 0;

				for (uint32_t y = 0; y < l.outputs; y++) {
					sum += l.of[x][y];
					for (uint32_t z = 0; z < l.items && l.of[z][y] > 0; z++)
						worst = fmaxl(worst, l.of[x][y] / l.of[z][y]);
				}
				assert_true(fabsl(sum - 1) < 1e-17L);
			}
			close_to(e, logl(worst), 1e-15);
			assert_true(e >= (double)(logl(worst) * (1 - 1e-18L)));
			assert_true(e <= some_epsilons[j] && e > some_epsilons[j] * (1 - 1e-9));
		}
	}
}

/* The mass where the pair of inputs gives (u, v) times the infimum over all inputs. */
static long double mass_of(
	const struct law *l, uint32_t x0, uint32_t x1, double u, double v, long double *most)
{
	long double sum = 0;

	*most = 0;
	for (uint32_t y = 0; y < l->outputs; y++) {
		long double omega = l->of[x0][y];

		for (uint32_t x = 0; x < l->items; x++)
			omega = fminl(omega, l->of[x][y]);
		if (omega == 0 || fabsl(l->of[x0][y] / omega - u) > 1e-9L * u ||
			fabsl(l->of[x1][y] / omega - v) > 1e-9L * v)
			continue;
		sum += omega;
		*most = fmaxl(*most, fmaxl(l->of[x0][y], l->of[x1][y]) / omega);
	}
	return sum;
}

/* For every pair of inputs: omega never above the infimum of the laws and ratios never below, both close, and
 * nothing left out.  With local hashing, three and more items have omega everywhere: what two items' law has
 * beyond it where they meet is left to the others. */
static void cells_are_the_infimum_of_the_output_laws_and_its_ratios(void **state)
{
	(void)state;
	EACH_SMALL
	{
		for (size_t j = 0; j < 4; j++) {
			struct pt_randomizer p =
				made(small[i].row, small[i].items, some_epsilons[j], small[i].size);
			struct acct_round round;
			static struct law l;
			const char *why;

			law_of(&p, &l);
			if (strcmp(p.row->name, "olh") == 0 && p.single.bins > 2) {
				/* An item that is nowhere near: the infimum over all. */
				l.items = 3;
				for (uint32_t y = 0; y < l.outputs; y++)
					l.of[2][y] = chance(UINT64_C(0) - p.single.keep) / (p.olh.size - 1) /
						     (p.olh.size * p.olh.size);
			}
			assert_int_equal(pt_protocol_of(p.row)->cells(&p, 1000, &round, &err), CM_OK);
			assert_int_equal(acct_round_check(&round, &why), ACCT_OK);
			assert_true(round.others == 999 && round.dummies == 0 && round.count == 1);
			for (uint32_t pair = 0; pair < l.items * l.items; pair++) {
				uint32_t x0 = pair % l.items, x1 = pair / l.items;
				long double all = 0, worst;

				if (x0 == x1 || (strcmp(p.row->name, "olh") == 0 && (x0 > 1 || x1 > 1)))
					continue;
				for (size_t c = 0; c < round.cells; c++) {
					const struct acct_cell *cell = &round.cell[c];
					long double mass = mass_of(&l, x0, x1, cell->u, cell->v, &worst);

					assert_true(cell->omega <= mass);
					close_to(cell->omega, mass, 1e-14);
					assert_true(fmax(cell->u, cell->v) >= worst ||
						    (worst - 1 < 1e-17L && cell->u == 1));
					all += mass * cell->u;
				}
				assert_true(fabsl(all - 1) < 1e-14L);
			}
		}
	}
}

static void participants_beyond_the_accountants_range_are_refused(void **state)
{
	struct acct_round round;

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		struct pt_randomizer p = made(rows[i], 4, 1, 0);

		assert_int_equal(pt_find(rows[i])->cells(&p, 0, &round, &err), CM_EPROTO);
		assert_int_equal(pt_find(rows[i])->cells(&p, UINT64_MAX, &round, &err), CM_EPROTO);
		assert_int_equal(pt_find(rows[i])->cells(&p, 1, &round, &err), CM_OK);
		assert_int_equal(round.others, 0);
	}
}

/* Supports of an item among its holders and the others, from the law, make the estimate and its variance:
 * with every report of n from the law of its input, the expected counts estimate the truth. */
static void the_estimate_of_the_expected_counts_is_the_truth(void **state)
{
	const double n = 1e8;

	(void)state;
	EACH_SMALL
	{
		struct pt_randomizer p = made(small[i].row, small[i].items, 1.5, small[i].size);
		struct qy_query q = histogram(p.single.bins);
		uint64_t counts[TALLIES_MAX] = { 0 };
		long double held, not_held, expected[ITEMS_MAX] = { 0 };
		struct es_estimate e;
		static struct law l;
		bool columns = strcmp(p.row->name, "hadamard") == 0;

		law_of(&p, &l);
		/* Three in ten hold item 0, the others item 1. */
		for (uint32_t y = 0; y < l.outputs; y++) {
			long double got = 0.3L * l.of[0][y] + 0.7L * l.of[1][y];

			if (columns)
				counts[y] = (uint64_t)(n * (double)got);
			for (uint32_t x = 0; x < l.items; x++)
				expected[x] += l.supports[x][y] ? got : 0;
		}
		held = not_held = 0;
		for (uint32_t y = 0; y < l.outputs; y++) {
			held += l.supports[0][y] ? l.of[0][y] : 0;
			not_held += l.supports[0][y] ? l.of[1][y] : 0;
		}
		for (uint32_t x = 0; !columns && x < p.single.bins; x++)
			counts[x] = (uint64_t)llroundl(n * (x < l.items ? expected[x] : not_held));
		assert_int_equal(pt_answer(&q, &p, counts, (uint64_t)n, &e, &err), CM_OK);
		for (uint32_t x = 0; x < p.single.bins; x++) {
			long double c = x == 0 ? 0.3L * n : x == 1 ? 0.7L * n : 0;
			long double slope = held - not_held;

			/* Rounding of the counts, a unit each. */
			assert_true(fabsl(e.item[x].value - c) < 10 / slope);
			close_to(e.item[x].variance,
				(c * held * (1 - held) + (n - c) * not_held * (1 - not_held)) /
					(slope * slope),
				1e-5);
			assert_true(e.item[x].lower < c && e.item[x].upper > c);
		}
		es_estimate_fini(&e);
	}
}

/* The transform against the definition, on counts without structure. */
static void hadamard_supports_are_the_columns_where_the_row_is_plus_one(void **state)
{
	struct pt_randomizer p = made("hadamard", 100, 2, 0);
	struct qy_query q = histogram(100);
	uint64_t counts[128], n = 0;
	struct es_estimate e;

	(void)state;
	assert_int_equal(pt_find("hadamard")->tallies(&p), 128);
	for (uint64_t y = 0; y < 128; y++)
		n += counts[y] = y * y * 2654435761u % 1009;
	assert_int_equal(pt_answer(&q, &p, counts, n, &e, &err), CM_OK);
	for (uint32_t x = 0; x < 100; x++) {
		long double m = 0;

		for (uint32_t y = 0; y < 128; y++)
			m += __builtin_parity((x + 1) & y) == 0 ? counts[y] : 0;
		close_to(e.item[x].value, (m - n / 2.0L) / (chance(p.single.keep) - 0.5L), 1e-9);
	}
	es_estimate_fini(&e);
	counts[127] += 1;
	assert_int_equal(pt_answer(&q, &p, counts, n, &e, &err), CM_EDATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_worst_ratio_of_the_output_laws_is_the_guarantee),
		cmocka_unit_test(cells_are_the_infimum_of_the_output_laws_and_its_ratios),
		cmocka_unit_test(participants_beyond_the_accountants_range_are_refused),
		cmocka_unit_test(the_estimate_of_the_expected_counts_is_the_truth),
		cmocka_unit_test(hadamard_supports_are_the_columns_where_the_row_is_plus_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
