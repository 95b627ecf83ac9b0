/* test_number.c - the rows that send one symbol of a bounded number: their output laws by enumeration of the
 * draws, and from the laws the guarantee, the blanket cells and the estimates. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_spec.h"
#include "encode_in_room.h"
#include "number_rows.h"
#include "scripted_rng.h"

#define LEVELS_MAX  9u
#define OUTPUTS_MAX 32u
#define DRAWS_MAX   12u

struct law {
	uint32_t levels, outputs;
	long double of[LEVELS_MAX][OUTPUTS_MAX];
};

/* One draw: a threshold, or a bound. */
struct draw {
	uint64_t threshold, bound;
};

static const struct {
	const char *row;
	uint32_t levels, size;
} small[] = { { "duchi", 2, 0 }, { "laplace-levels", 2, 0 }, { "laplace-levels", 3, 0 },
	{ "laplace-levels", 4, 0 }, { "laplace-levels", 7, 0 }, { "staircase", 2, 1 }, { "staircase", 3, 1 },
	{ "staircase", 3, 2 }, { "staircase", 5, 1 }, { "staircase", 5, 3 }, { "staircase", 6, 2 },
	{ "staircase", 6, 4 }, { "staircase", 6, 5 }, { "piecewise", 2, 1 }, { "piecewise", 3, 2 },
	{ "piecewise", 5, 1 }, { "piecewise", 5, 3 }, { "piecewise", 8, 2 }, { "piecewise", 8, 7 } };
static const double epsilons[] = { 0.05, 1, 2.5, 6 };

#define EACH_SMALL                                                  \
	for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) \
		for (size_t j = 0; j < sizeof epsilons / sizeof *epsilons; j++)

static long double chance(uint64_t threshold)
{
	return ldexpl((long double)threshold, -64);
}

static bool is(const struct pt_randomizer *p, const char *row)
{
	return strcmp(p->row->name, row) == 0;
}

/* Duchi's bit is a round of pt_mixbins.h. */
static uint64_t keep_of(const struct pt_randomizer *p)
{
	return is(p, "duchi") ? p->mixbins.keep : p->number.keep;
}

/* The draws after the rounding draw. */
static size_t draws(const struct pt_randomizer *p, struct draw *d)
{
	uint64_t b = p->number.bins - 1, drop = UINT64_C(0) - keep_of(p);
	size_t n = 0;

	if (is(p, "duchi")) {
		d[n++] = (struct draw){ .threshold = keep_of(p) };
		d[n++] = (struct draw){ .bound = 1 };
		d[n++] = (struct draw){ .bound = 1 };
		d[n++] = (struct draw){ .bound = 2 };
	} else if (is(p, "piecewise")) {
		d[n++] = (struct draw){ .threshold = keep_of(p) };
		d[n++] = (struct draw){ .bound = p->number.size };
		d[n++] = (struct draw){ .bound = b };
	} else if (is(p, "staircase")) {
		d[n++] = (struct draw){ .bound = b };
		for (int i = 0; i < 3; i++)
			d[n++] = (struct draw){ .threshold = drop };
		d[n++] = (struct draw){ .bound = 2 };
	} else {
		for (uint64_t i = 0; i < b; i++)
			d[n++] = (struct draw){ .threshold = drop };
		d[n++] = (struct draw){ .bound = 2 };
	}
	return n;
}

/* Every result of every draw, of a threshold right beside it; what is drawn again is left out.  A second
 * turn that is accepted ends the script. */
static void law_of(const struct pt_randomizer *p, struct law *l)
{
	const struct pt_protocol *row = pt_protocol_of(p->row);
	struct draw d[DRAWS_MAX];
	size_t n = draws(p, d);
	uint64_t ways = 1;

	*l = (struct law){ .levels = p->number.bins, .outputs = row->tallies(p) };
	assert_true(l->levels <= LEVELS_MAX && l->outputs <= OUTPUTS_MAX && n <= DRAWS_MAX);
	for (size_t i = 0; i < n; i++)
		ways *= d[i].threshold != 0 ? 2 : d[i].bound;
	for (uint32_t level = 0; level < p->number.bins; level++) {
		long double all = 0;

		for (uint64_t way = 0; way < ways; way++) {
			uint64_t script[1 + 2 * DRAWS_MAX] = { UINT64_MAX }, rest = way,
						counts[OUTPUTS_MAX] = { 0 };
			long double weight = 1;
			uint8_t record[16];
			struct qy_value v = { .x = ((uint64_t)level << 32) / (p->number.bins - 1) };
			struct scripted_rng s = { .script = script, .len = 1 + 2 * n };
			struct cr_rng rng = scripted_rng(&s);

			/* An exact level needs the range's fraction rounded up. */
			v.x += (uint64_t)(v.x * (p->number.bins - 1) < (uint64_t)level << 32);
			for (size_t i = 0; i < n; i++) {
				uint64_t t = d[i].threshold, k = t != 0 ? 2 : d[i].bound, r = rest % k;

				rest /= k;
				script[1 + i] = t == 0 ? draw_for(r, k) : r == 0 ? t - 1 : t;
				script[1 + n + i] = t == 0 ? draw_for(0, k) : 0;
				weight *= t == 0   ? 1 / (long double)k
					  : r == 0 ? chance(t)
						   : chance(UINT64_C(0) - t);
			}
			encode_in_room(row->device, &number, p, &v, &rng, record);
			assert_int_equal(row->tally(p, record, counts, &err), CM_OK);
			assert_true(s.used == 1 + n || s.used == 1 + 2 * n);
			if (s.used != 1 + n)
				continue;
			all += weight;
			for (uint32_t y = 0; y < l->outputs; y++)
				l->of[level][y] += weight * counts[y];
		}
		for (uint32_t y = 0; y < l->outputs; y++)
			l->of[level][y] /= all;
	}
}

/* Chance of the noise z, from the papers' definitions, up to a factor. */
static long double noise(const struct pt_randomizer *p, long z)
{
	long double drop = chance(UINT64_C(0) - keep_of(p));
	long b = (long)p->number.bins - 1, size = labs(z);

	if (is(p, "laplace-levels"))
		return powl(drop, size);
	return powl(drop, size / b + (size % b >= (long)p->number.size));
}

/* The law as defined, clamped or folded one noise at a time. */
static void defined(const struct pt_randomizer *p, struct law *l)
{
	long b = (long)p->number.bins - 1, far = 1000;
	bool clamp = is(p, "laplace-levels");

	*l = (struct law){ .levels = p->number.bins, .outputs = pt_protocol_of(p->row)->tallies(p) };
	for (long x = 0; x <= b; x++) {
		long double all = 0;

		if (is(p, "piecewise") || is(p, "duchi")) {
			long w = is(p, "duchi") ? 1 : (long)p->number.size;

			for (long y = 0; y < b + w; y++)
				l->of[x][y] = y >= x && y < x + w ? chance(keep_of(p)) / w
								  : chance(UINT64_C(0) - keep_of(p)) / b;
			continue;
		}
		for (long z = -far * b; z <= far * b; z++) {
			long y = x + z;

			while (!clamp && y < -b)
				y += (-b - y + b - 1) / b * b;
			while (!clamp && y > 2 * b)
				y -= (y - 2 * b + b - 1) / b * b;
			y = clamp ? (y < 0 ? 0 : y > b ? b : y) : y + b;
			all += noise(p, z);
			l->of[x][y] += noise(p, z);
		}
		for (uint32_t y = 0; y < l->outputs; y++)
			l->of[x][y] /= all;
	}
}

static void close_to(long double got, long double want, long double relative)
{
	if (!(fabsl(got - want) <= relative * fabsl(want)))
		fail_msg("%.18Lg, not %.18Lg", got, want);
}

static void a_report_has_the_law_that_the_thresholds_say(void **state)
{
	(void)state;
	EACH_SMALL
	{
		struct pt_randomizer p = made(small[i].row, small[i].levels, epsilons[j], small[i].size);
		static struct law got, want;

		law_of(&p, &got);
		defined(&p, &want);
		for (uint32_t x = 0; x < got.levels; x++) {
			for (uint32_t y = 0; y < got.outputs; y++)
				close_to(got.of[x][y], want.of[x][y], 1e-14L);
		}
	}
}

static void the_worst_ratio_of_the_output_laws_is_the_guarantee(void **state)
{
	(void)state;
	EACH_SMALL
	{
		struct pt_randomizer p = made(small[i].row, small[i].levels, epsilons[j], small[i].size);
		double said = p.row->epsilon0(&p);
		long double worst = 1;
		static struct law l;

		law_of(&p, &l);
		for (uint32_t y = 0; y < l.outputs; y++) {
			for (uint32_t x = 0; x < l.levels; x++) {
				for (uint32_t x1 = 0; x1 < l.levels; x1++)
					worst = fmaxl(worst, l.of[x][y] / l.of[x1][y]);
			}
		}
		assert_true(said <= epsilons[j]);
		close_to(logl(worst), said, 1e-15L / epsilons[j] + 1e-15L);
	}
}

static long double infimum(const struct law *l, uint32_t y)
{
	long double least = 1;

	for (uint32_t x = 0; x < l->levels; x++)
		least = fminl(least, l->of[x][y]);
	return least;
}

static bool same(double cell, long double ratio)
{
	return fabsl(cell - ratio) <= 1e-12L * ratio;
}

/* Levels 0 and b against the least of all laws: every cell has all its mass, rounded down, and its ratios,
 * rounded up. */
static void cells_are_those_of_the_ends(void **state)
{
	(void)state;
	EACH_SMALL
	{
		struct pt_randomizer p = made(small[i].row, small[i].levels, epsilons[j], small[i].size);
		struct acct_round round;
		static struct law l;
		const char *why;
		long double seen = 0, all = 0;

		law_of(&p, &l);
		assert_int_equal(pt_protocol_of(p.row)->cells(&p, 1000, &round, &err), CM_OK);
		assert_int_equal(acct_round_check(&round, &why), ACCT_OK);
		assert_true(round.others == 999 && round.dummies == 0 && round.count == 1);
		for (uint32_t y = 0; y < l.outputs; y++)
			all += infimum(&l, y);
		for (size_t c = 0; c < round.cells; c++) {
			const struct acct_cell *cell = &round.cell[c];
			long double mass = 0;
			size_t twins = 0;

			for (uint32_t y = 0; y < l.outputs; y++) {
				long double u = l.of[0][y] / infimum(&l, y),
					    v = l.of[l.levels - 1][y] / infimum(&l, y);

				if (!same(cell->u, u) || !same(cell->v, v))
					continue;
				assert_true(cell->u >= u * (1 - 1e-17L) && cell->v >= v * (1 - 1e-17L));
				mass += infimum(&l, y);
			}
			for (size_t o = 0; o < round.cells; o++)
				twins += same(cell->u, round.cell[o].u) && same(cell->v, round.cell[o].v);
			assert_int_equal(twins, 1);
			assert_true(cell->omega <= mass);
			close_to(cell->omega, mass, 1e-14L);
			seen += mass;
		}
		close_to(seen, all, 1e-15L);
	}
}

/* Every other pair of levels is below the ends' in convex order, for every E: no sum over a batch of what a
 * report says against E times what it says for the other level is greater (PROVED at acct_named_laplace and
 * acct_named_staircase for all; here for the laws as they are). */
static void no_pair_of_levels_is_worse_than_the_ends(void **state)
{
	static const long double factors[] = { 0.01L, 0.5L, 1, 1.001L, 1.5L, 3, 20 };

	(void)state;
	EACH_SMALL
	{
		struct pt_randomizer p = made(small[i].row, small[i].levels, epsilons[j], small[i].size);
		static struct law l;
		uint32_t b = p.number.bins - 1;

		law_of(&p, &l);
		for (uint32_t pair = 0; pair < l.levels * l.levels; pair++) {
			for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++) {
				for (long double at = -30; at < 30; at += 0.73L) {
					uint32_t s = pair % l.levels, t = pair / l.levels;
					long double here = 0, ends = 0;

					for (uint32_t y = 0; y < l.outputs; y++) {
						long double cut = at * infimum(&l, y), e = factors[f];

						here += fmaxl(l.of[s][y] - e * l.of[t][y] - cut, 0);
						ends += fmaxl(l.of[s <= t ? 0 : b][y] -
								      e * l.of[s <= t ? b : 0][y] - cut,
							0);
					}
					assert_true(here <= ends * (1 + 1e-12L) + 1e-15L);
				}
			}
		}
	}
}

/* The accountant's own formulas, for the epsilon0 that the integers give. */
static void cells_agree_with_the_accountants(void **state)
{
	static const uint32_t levels[] = { 2, 3, 8, 17, 64 };

	(void)state;
	for (size_t i = 0; i < 4 * 5; i++) {
		static const char *const names[] = { "duchi", "laplace-levels", "staircase", "piecewise" };
		const char *row = names[i % 4];
		uint32_t b = levels[i / 4] - 1;

		if (strcmp(row, "duchi") == 0 && b != 1)
			continue;
		for (size_t j = 0; j < sizeof epsilons / sizeof *epsilons; j++) {
			struct pt_randomizer p = made(row, b + 1, epsilons[j], 0);
			struct acct_round round;
			struct acct_spec spec;
			struct acct_bound ours, theirs;
			char why[256], text[128], size[32] = "", most[32] = "";

			if (p.number.size != 0)
				(void)snprintf(size, sizeof size, ",%s=%u", *row == 's' ? "r" : "w",
					(unsigned)p.number.size);
			if (*row != 'd')
				(void)snprintf(most, sizeof most, "b=%u,", (unsigned)b);
			(void)snprintf(text, sizeof text, "%s:%seps0=%.17g%s,n=5000", row, most,
				pt_find(row)->device->epsilon0(&p), size);
			if (acct_spec_parse(text, &spec, why, sizeof why) != ACCT_OK)
				fail_msg("%s: %s", text, why);
			assert_int_equal(pt_find(row)->cells(&p, 5000, &round, &err), CM_OK);
			assert_int_equal(round.others, spec.round.others);
			for (size_t c = 0; c < round.cells; c++) {
				size_t found = 0;

				for (size_t o = 0; o < spec.round.cells; o++) {
					const struct acct_cell *a = &round.cell[c], *z = &spec.round.cell[o];

					found += fabs(a->u - z->u) < 1e-9 * z->u &&
						 fabs(a->v - z->v) < 1e-9 * z->v &&
						 fabs(a->omega - z->omega) < 1e-9 * z->omega;
				}
				assert_int_equal(found, 1);
			}
			if (j != 1)
				continue;
			assert_int_equal(acct_epsilon(&round, 1, 1e-6, &ours), ACCT_OK);
			assert_int_equal(acct_epsilon(&spec.round, 1, 1e-6, &theirs), ACCT_OK);
			assert_true(ours.lower <= theirs.upper && theirs.lower <= ours.upper);
		}
	}
}

/* The estimator is linear: its score of a symbol is the estimate where everybody sends that symbol. */
static void scores_have_the_level_as_mean_and_the_variance_that_is_stated(void **state)
{
	const uint64_t n = 100000000;

	(void)state;
	EACH_SMALL
	{
		struct pt_randomizer p = made(small[i].row, small[i].levels, epsilons[j], small[i].size);
		double b = p.number.bins - 1, score[OUTPUTS_MAX];
		static struct law l;
		struct es_estimate e;

		law_of(&p, &l);
		for (uint32_t y = 0; y < l.outputs; y++) {
			uint64_t counts[OUTPUTS_MAX] = { 0 };

			counts[y] = n;
			assert_int_equal(pt_answer(&number, &p, counts, n, &e, &err), CM_OK);
			score[y] = e.item[0].value * b;
			assert_int_equal(e.n, 1);
			es_estimate_fini(&e);
		}
		for (uint32_t x = 0; x < l.levels; x++) {
			uint64_t counts[OUTPUTS_MAX], sent = 0;
			long double mean = 0, variance = 0, size = 0;

			for (uint32_t y = 0; y < l.outputs; y++) {
				mean += l.of[x][y] * score[y];
				variance += l.of[x][y] * (score[y] - x) * (score[y] - x);
				size += l.of[x][y] * fabs(score[y]);
				sent += counts[y] = (uint64_t)((double)n * (double)l.of[x][y]);
			}
			assert_true(fabsl(mean - x) < 1e-13L * size);
			assert_int_equal(pt_answer(&number, &p, counts, sent, &e, &err), CM_OK);
			close_to(e.item[0].variance, variance / (long double)n / b / b, 1e-5L);
			assert_true(e.item[0].lower < x / b && e.item[0].upper > x / b);
			assert_true(e.item[0].projected >= 0 && e.item[0].projected <= 1);
			es_estimate_fini(&e);
		}
	}
}

/* The noise at the worst value, rounding included, by the law: compare what the row says to expect. */
static void the_expected_error_is_that_of_the_worst_value(void **state)
{
	(void)state;
	EACH_SMALL
	{
		struct pt_randomizer p = made(small[i].row, small[i].levels, epsilons[j], small[i].size);
		double b = p.number.bins - 1, score[OUTPUTS_MAX], worst = 0;
		static struct law l;
		struct es_estimate e;

		law_of(&p, &l);
		for (uint32_t y = 0; y < l.outputs; y++) {
			uint64_t counts[OUTPUTS_MAX] = { 0 };

			counts[y] = 1;
			assert_int_equal(pt_answer(&number, &p, counts, 1, &e, &err), CM_OK);
			score[y] = e.item[0].value * b;
			es_estimate_fini(&e);
		}
		for (double at = 0; at <= b; at += 1.0 / 64) {
			uint32_t low = (uint32_t)fmin(floor(at), b - 1);
			double variance = 0;

			for (uint32_t y = 0; y < l.outputs; y++)
				variance += (double)((1 - (at - low)) * l.of[low][y] +
						     (at - low) * l.of[low + 1][y]) *
					    (score[y] - at) * (score[y] - at);
			worst = fmax(worst, variance);
		}
		assert_true(pt_expected_error(&number, &p, 100) >= sqrt(worst / 100) / b * (1 - 1e-12));
		close_to(pt_expected_error(&number, &p, 100), sqrt(worst / 100) / b, 1e-3L);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_has_the_law_that_the_thresholds_say),
		cmocka_unit_test(the_worst_ratio_of_the_output_laws_is_the_guarantee),
		cmocka_unit_test(cells_are_those_of_the_ends),
		cmocka_unit_test(no_pair_of_levels_is_worse_than_the_ends),
		cmocka_unit_test(cells_agree_with_the_accountants),
		cmocka_unit_test(scores_have_the_level_as_mean_and_the_variance_that_is_stated),
		cmocka_unit_test(the_expected_error_is_that_of_the_worst_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
