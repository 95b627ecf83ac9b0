/* test_multi_coins.c - the row balcer-cheu: coins of every category, in pairs no less private than they
 * are. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_spec.h"
#include "csv.h"
#include "multi_rows.h"

static struct pt_randomizer made_for(uint32_t d, uint32_t size, uint32_t dummies)
{
	struct pt_request r = { .epsilon0 = INFINITY, .dummies = dummies, .size = size };

	return made_of("balcer-cheu", d, &r);
}

static uint32_t value_at(const uint8_t *records, uint32_t i, uint32_t d)
{
	uint32_t v = 0;

	assert_int_equal(pt_record_get(records + i * PT_RECORD_LEN, d + 1, &v, &err), CM_OK);
	return v;
}

/* Draws: an order of the coins, the place, then one for each message, of which 0 of `size` shows. */
static void write_script(uint64_t *script, uint32_t coins, uint64_t order, uint64_t place, uint32_t size,
	uint32_t shown, uint64_t hidden)
{
	for (uint32_t i = 0; i < coins; i++) {
		script[i] = draw_for(order % (i + 1), i + 1);
		order /= i + 1;
	}
	script[coins] = draw_for(place, coins + 1);
	for (uint32_t i = 0; i <= coins; i++)
		script[coins + 1 + i] = draw_for((shown >> i & 1) != 0 ? 0 : hidden, size);
}

/* All orders of three coins, all places and values, all results of the coins: the value is at its place, a
 * coin that shows says its category and one that does not says nothing, and orders are equally likely. */
static void the_value_is_among_a_coin_of_each_category_in_any_order(void **state)
{
	enum { D = 3, SIZE = 5, WAYS = 6 };
	struct pt_randomizer p = made_for(D, SIZE, 1);
	uint8_t records[4 * PT_RECORD_LEN];

	(void)state;
	assert_int_equal(pt_find("balcer-cheu")->device->messages(&p), 1 + D);
	for (uint64_t place = 0; place <= D; place++) {
		uint32_t seen[WAYS] = { 0 };

		for (uint64_t way = 0; way < WAYS; way++) {
			uint32_t label[D + 1] = { 0 }, code = 0, set = 0;
			uint64_t script[2 * D + 2];

			write_script(script, D, way, place, SIZE, 0xf, 1);
			client(&p, 0, script, 2 * D + 2, records);
			for (uint32_t i = 0; i <= D; i++) {
				label[i] = value_at(records, i, D);
				if (i == place)
					continue;
				code = code * D + label[i];
				set |= 1u << label[i];
			}
			assert_int_equal(set, 7);
			for (uint64_t other = 0; other < way; other++)
				assert_int_not_equal(seen[other], code);
			seen[way] = code;
			for (uint32_t x = 0; x < D; x++) {
				for (uint32_t shown = 0; shown < 16; shown++) {
					write_script(
						script, D, way, place, SIZE, shown, 1 + shown % (SIZE - 1));
					client(&p, x, script, 2 * D + 2, records);
					for (uint32_t i = 0; i <= D; i++)
						assert_int_equal(value_at(records, i, D),
							i == place              ? x
							: (shown >> i & 1) != 0 ? label[i]
										: D);
				}
			}
		}
	}
}

static void several_coins_a_category_are_that_many(void **state)
{
	struct pt_randomizer p = made_for(4, 2, 3);
	uint8_t records[13 * PT_RECORD_LEN];
	uint64_t script[26], counts[4] = { 0 };

	(void)state;
	write_script(script, 12, 123456789, 12, 2, 0xfff, 1);
	client(&p, 2, script, 26, records);
	for (uint32_t i = 0; i < 13; i++)
		assert_int_equal(
			pt_find("balcer-cheu")->tally(&p, records + i * PT_RECORD_LEN, counts, &err), CM_OK);
	for (uint32_t x = 0; x < 4; x++)
		assert_int_equal(counts[x], x == 2 ? 4 : 3);
}

#define N_MAX 1024

/* p[k]: k - 1 of n coins show. */
static void shown(int n, double t, double p[N_MAX + 3])
{
	memset(p, 0, (N_MAX + 3) * sizeof *p);
	for (int k = 0; k <= n; k++)
		p[k + 1] = exp(
			lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(t) + (n - k) * log1p(-t));
}

/* Both counts of one participant more in the first, or in the second. */
static double exact_delta(int n, double t, double epsilon)
{
	double sum = 0, p[N_MAX + 3];

	shown(n, t, p);
	for (int a = 0; a <= n + 1; a++) {
		for (int b = 0; b <= n + 1; b++)
			sum += fmax(0, p[a] * p[b + 1] - exp(epsilon) * p[a + 1] * p[b]);
	}
	return sum;
}

static void cells_never_give_less_than_the_exact_delta(void **state)
{
	static const uint32_t sizes[] = { 2, 3, 8, 50 };
	static const double epsilons[] = { 0, 0.1, 0.5, 1, 2 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		for (int n = 1; n <= N_MAX; n *= 4) {
			struct pt_randomizer p = made_for(5, sizes[i], 1);
			struct acct_round round;
			const char *why;

			assert_int_equal(pt_find("balcer-cheu")->cells(&p, (uint64_t)n, &round, &err), CM_OK);
			assert_int_equal(acct_round_check(&round, &why), ACCT_OK);
			for (size_t j = 0; j < 5; j++) {
				double truth = exact_delta(n, 1.0 / sizes[i], epsilons[j]);
				struct acct_bound delta;

				assert_int_equal(acct_delta(&round, 1, epsilons[j], &delta), ACCT_OK);
				assert_true(truth <= delta.upper * (1 + 1e-9) + 1e-12);
				/* Compare by total variation, in which nothing is lost. */
				if (j == 0)
					close_to(delta.upper, truth, 1e-3);
			}
		}
	}
}

/* One count rises and the other falls.  The accountant's two counters are bounded for both rising, too, which
 * costs up to a tenth where coins seldom show; pairs lose a thousandth where they show half the time. */
static void pairs_cost_no_more_than_the_two_counters(void **state)
{
	static const uint32_t sizes[] = { 2, 16, 100 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct pt_randomizer p = made_for(5, sizes[i], 1);
		struct acct_bound pairs, counters;
		struct acct_round round;
		struct acct_spec s;
		char text[80], why[200];

		(void)snprintf(text, sizeof text, "balcer-cheu:t=%.17g,k=5,n=10000", 1.0 / sizes[i]);
		assert_int_equal(acct_spec_parse(text, &s, why, sizeof why), ACCT_OK);
		assert_int_equal(s.round.count, 2);
		assert_int_equal(pt_find("balcer-cheu")->cells(&p, 10000, &round, &err), CM_OK);
		assert_true(round.others == 0 && round.dummies == 10000 && round.count == 1);
		assert_int_equal(acct_epsilon(&round, 1, 1e-6, &pairs), ACCT_OK);
		assert_int_equal(acct_epsilon(&s.round, 1, 1e-6, &counters), ACCT_OK);
		assert_true(pairs.upper <= counters.upper * 1.001 && pairs.upper >= counters.lower * 0.9);
	}
}

/* From the law of two coins. */
static void cells_are_those_of_two_coins(void **state)
{
	(void)state;
	for (uint32_t size = 2; size <= 4096; size = size < 20 ? size + 1 : size * 4 / 3) {
		struct pt_randomizer p = made_for(5, size, 2);
		long double t = 1.0L / size, mass[] = { t * (1 - t), t * (1 - t), t * t + (1 - t) * (1 - t) };
		struct acct_round round;

		assert_int_equal(pt_find("balcer-cheu")->cells(&p, 100, &round, &err), CM_OK);
		assert_true(round.cells == 3 && round.dummies == 200 && round.others == 0);
		for (size_t c = 0; c < 3; c++) {
			assert_true(round.cell[c].omega <= mass[c] * (1 + 1e-18L));
			close_to(round.cell[c].omega, mass[c], 1e-15);
		}
		assert_true(round.cell[0].u >= 1 / mass[0] * (1 - 1e-18L) && round.cell[0].v <= 0);
		close_to(round.cell[0].u, 1 / mass[0], 1e-15);
		assert_true(round.cell[1].v >= round.cell[0].u && round.cell[1].u <= 0);
		assert_true(round.cell[2].u <= 0 && round.cell[2].v <= 0);
		assert_true(isinf(pt_find("balcer-cheu")->device->epsilon0(&p)));
		assert_int_equal(pt_find("balcer-cheu")->cells(&p, 0, &round, &err), CM_EPROTO);
		assert_int_equal(pt_find("balcer-cheu")->cells(&p, UINT64_MAX, &round, &err), CM_EPROTO);
		assert_int_equal(pt_find("balcer-cheu")->cells(&p, 900000000000, &round, &err), CM_EPROTO);
	}
}

static void what_it_cannot_do_is_refused_with_the_reason(void **state)
{
	static const struct {
		struct pt_request request;
		const char *said;
	} bad[] = {
		{ { .epsilon0 = 1, .dummies = 1 }, "balcer-cheu: has no local guarantee" },
		{ { .epsilon0 = (double)NAN, .dummies = 1 }, "balcer-cheu: has no local guarantee" },
		{ { .epsilon0 = (double)INFINITY }, "balcer-cheu: needs dummies" },
		{ { .epsilon0 = (double)INFINITY, .shuffler_dummies = 9 },
			"the shuffler has no coins to add" },
		{ { .epsilon0 = (double)INFINITY, .dummies = 1, .shuffler_dummies = 9 },
			"the shuffler has no coins to add" },
		{ { .epsilon0 = (double)INFINITY, .dummies = 1, .size = 1 }, "size 1, must be 2 to 4096" },
		{ { .epsilon0 = (double)INFINITY, .dummies = 171 },
			"dummies times categories must be at most 1023" },
	};
	struct qy_query q = histogram(6), wide = histogram(1024);
	struct qy_query m = { .kind = QY_MEAN, .name = "m", .field = "f", .high = 1 };
	struct pt_request one = { .epsilon0 = INFINITY, .dummies = 1 };
	struct pt_randomizer p = { .multi.bins = 77 };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(
			pt_derive(pt_find("balcer-cheu"), &q, &bad[i].request, &p, &err), CM_ECONFIG);
		if (!strstr(err.msg, bad[i].said))
			fail_msg("%s", err.msg);
	}
	assert_int_equal(pt_derive(pt_find("balcer-cheu"), &m, &one, &p, &err), CM_ECONFIG);
	assert_int_equal(pt_derive(pt_find("balcer-cheu"), &wide, &one, &p, &err), CM_ECONFIG);
	assert_int_equal(p.multi.bins, 77);
	wide = histogram(1023);
	assert_int_equal(pt_derive(pt_find("balcer-cheu"), &wide, &one, &p, &err), CM_OK);
	assert_int_equal(pt_find("balcer-cheu")->device->messages(&p), 1024);
	one.min_reports = 1000;
	assert_int_equal(pt_derive(pt_find("balcer-cheu"), &q, &one, &p, &err), CM_OK);
	assert_int_equal(p.multi.size, 16);
}

#define REFUSED(statement)                                                     \
	do {                                                                   \
		p = good;                                                      \
		statement;                                                     \
		assert_int_equal(row->device->check(&q, &p, &err), CM_EPROTO); \
	} while (0)

static void parameters_that_no_plan_gives_are_refused(void **state)
{
	const struct pt_randomizer good = made_for(6, 9, 2);
	const struct pt_protocol *row = pt_find("balcer-cheu");
	struct qy_query q = histogram(6), five = histogram(5);
	struct pt_randomizer p;

	(void)state;
	assert_int_equal(row->device->check(&five, &good, &err), CM_EPROTO);
	REFUSED(p.multi.bins = 5);
	REFUSED(p.multi.bins = 0);
	REFUSED(p.multi.dummies = 0);
	REFUSED(p.multi.dummies = 171);
	REFUSED(p.multi.dummies = UINT32_MAX);
	REFUSED(p.shuffler.dummies = 1);
	REFUSED((p.shuffler.dummies = 1, p.multi.dummies = 0));
	REFUSED(p.multi.size = 0);
	REFUSED(p.multi.size = 1);
	REFUSED(p.multi.size = CATEGORIES_MAX + 1);
	REFUSED(p.multi.size = UINT32_MAX);
}

static void malformed_records_add_nothing(void **state)
{
	struct pt_randomizer p = made_for(5, 9, 1);
	const struct pt_protocol *row = pt_find("balcer-cheu");
	uint64_t counts[5] = { 0 };
	uint8_t record[PT_RECORD_LEN];

	(void)state;
	for (size_t bit = 0; bit < 64; bit++) {
		pt_record_put(record, 3);
		record[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(row->tally(&p, record, counts, &err), CM_EDATA);
	}
	pt_record_put(record, 6);
	assert_int_equal(row->tally(&p, record, counts, &err), CM_EDATA);
	pt_record_put(record, UINT64_MAX);
	assert_int_equal(row->tally(&p, record, counts, &err), CM_EDATA);
	/* Nothing, and well-formed. */
	pt_record_put(record, 5);
	assert_int_equal(row->tally(&p, record, counts, &err), CM_OK);
	for (size_t i = 0; i < 5; i++)
		assert_true(counts[i] == 0);
	pt_record_put(record, 4);
	assert_int_equal(row->tally(&p, record, counts, &err), CM_OK);
	assert_int_equal(counts[4], 1);
}

static void counts_that_cannot_be_are_refused(void **state)
{
	struct pt_randomizer p = made_for(5, 9, 2);
	struct qy_query q = histogram(5);
	struct es_estimate e = { .n = 77 };
	uint64_t counts[5] = { 1101 };

	(void)state;
	assert_int_equal(pt_answer(&q, &p, counts, 100, &e, &err), CM_EDATA);
	assert_int_equal(pt_answer(&q, &p, counts, 0, &e, &err), CM_EDATA);
	assert_int_equal(e.n, 77);
	counts[0] = 1100;
	assert_int_equal(pt_answer(&q, &p, counts, 100, &e, &err), CM_OK);
	es_estimate_fini(&e);
}

/* Eight coins of chance 1/2, by hand: as for two bins, 1 to 7 of them show but for 1/256 either side. */
static void intervals_are_the_quantiles_of_the_coins(void **state)
{
	struct pt_randomizer p = made_for(2, 2, 1);
	struct qy_query q = histogram(2);
	const uint64_t counts[] = { 11, 5 };
	struct es_estimate e;

	(void)state;
	assert_int_equal(pt_answer(&q, &p, counts, 8, &e, &err), CM_OK);
	assert_true(e.item[0].value == 7 && e.item[1].value == 1 && e.item[0].variance == 2);
	assert_true(e.item[0].lower == 4 && e.item[0].upper == 10 && e.noise_floor == 3);
	es_estimate_fini(&e);
}

/* "coin": "0.0625", "n": 10000 */
static void reference_values_are_met(void **state)
{
	static struct csv csv;
	int seen = 0;

	(void)state;
	assert_true(csv_open(&csv, TEST_DATA "/vectors/protocols.csv"));
	while (csv_next(&csv)) {
		const char *params = csv_get(&csv, "params");
		struct qy_query q = histogram(5);
		struct es_estimate e;
		struct pt_randomizer p;
		uint64_t counts[5] = { 0 };

		if (strcmp(csv_get(&csv, "randomizer"), "balcer_cheu") != 0)
			continue;
		assert_non_null(strstr(params, "\"n\": 10000"));
		p = made_for(5, (uint32_t)(1 / strtod(strstr(params, "0."), NULL)), 1);
		assert_int_equal(pt_answer(&q, &p, counts, 10000, &e, &err), CM_OK);
		close_to(e.item[0].variance, strtod(csv_get(&csv, "est_variance"), NULL), 1e-12);
		es_estimate_fini(&e);
		seen++;
	}
	(void)fclose(csv.file);
	assert_int_equal(seen, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_value_is_among_a_coin_of_each_category_in_any_order),
		cmocka_unit_test(several_coins_a_category_are_that_many),
		cmocka_unit_test(cells_never_give_less_than_the_exact_delta),
		cmocka_unit_test(pairs_cost_no_more_than_the_two_counters),
		cmocka_unit_test(cells_are_those_of_two_coins),
		cmocka_unit_test(what_it_cannot_do_is_refused_with_the_reason),
		cmocka_unit_test(parameters_that_no_plan_gives_are_refused),
		cmocka_unit_test(malformed_records_add_nothing),
		cmocka_unit_test(counts_that_cannot_be_are_refused),
		cmocka_unit_test(intervals_are_the_quantiles_of_the_coins),
		cmocka_unit_test(reference_values_are_met),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
