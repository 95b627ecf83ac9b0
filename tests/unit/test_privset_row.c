/* test_privset_row.c - sets of items: what a device of each set says, the privacy of a whole round by
 * enumeration, and what counts say of the sets. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "encode_in_room.h"
#include "es_law.h"
#include "exact_batch.h"
#include "pt_mixbins_analysis.h"
#include "pt_privset.h"
#include "queries.h"
#include "seeded.h"

#define DRAWS   40000
#define SYMBOLS 12u

static struct cm_err err;
static struct cr_rng rng;

static struct pt_randomizer made(const struct qy_query *q, double epsilon0, uint32_t size)
{
	const struct pt_request r = { .epsilon0 = epsilon0, .size = size };
	struct pt_randomizer p;

	if (pt_derive(pt_find("privset"), q, &r, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return p;
}

/* A query of `items` items, with the symbol of none or without. */
static struct qy_query query(uint32_t items, enum qy_none none)
{
	struct qy_query q = query_of_kind(QY_SETS);

	q.categories = items;
	q.none = none;
	return q;
}

static uint32_t size_of(uint32_t set)
{
	return (uint32_t)__builtin_popcount(set);
}

/* Written anew from PrivSet's definition: a subset of one symbol, E times as likely if it is one of the s
 * that the set has; of more items than s, each set of s alike.  Bit i of the set is item i of D. */
static void message_law(double ratio, uint32_t items, uint32_t s, uint32_t set, long double law[SYMBOLS])
{
	uint32_t held = size_of(set), needed = held < s ? held : s, choices = 0;
	long double z = s * (long double)ratio + items;

	memset(law, 0, SYMBOLS * sizeof *law);
	for (uint32_t chosen = 0; chosen < 1u << items; chosen++) {
		if ((chosen & ~set) != 0 || size_of(chosen) != needed)
			continue;
		choices++;
		for (uint32_t y = 0; y < items + s; y++) {
			bool own = y < items ? chosen >> y & 1 : y >= items + needed;

			law[y] += (own ? (long double)ratio : 1) / z;
		}
	}
	for (uint32_t y = 0; y < items + s; y++)
		law[y] /= choices;
}

/* A quantile of one in a billion, both ways. */
static void expect_share(double count, double n, double p)
{
	if (!(fabs(count - n * p) <= 6.1 * sqrt(n * p * (1 - p)) + 1))
		fail_msg("%g of %g, not %g", count, n, p);
}

/* All sets of five items, and the symbol as a sixth, padded to two and to four. */
static void a_device_says_what_the_definition_says_of_its_set(void **state)
{
	struct qy_query q = query(5, QY_NONE_SYMBOL);

	(void)state;
	for (uint32_t s = 2; s <= 4; s += 2) {
		struct pt_randomizer p = made(&q, 2, s);

		for (uint32_t i = 0; i < query_values(&q); i++) {
			double said[SYMBOLS] = { 0 };
			long double law[SYMBOLS];
			uint32_t at[6], set = i == 32 ? 32 : i;
			struct qy_value v = query_value(&q, i, at);

			message_law((double)pt_ratio_value(pt_privset_ratio(&p)), 6, s, set, law);
			for (uint32_t k = 0; k < DRAWS; k++) {
				uint8_t record[PT_RECORD_LEN];
				uint32_t y;

				encode_in_room(p.row, &q, &p, &v, &rng, record);
				assert_int_equal(pt_record_get(record, 6 + s, &y, &err), CM_OK);
				said[y]++;
			}
			for (uint32_t y = 0; y < 6 + s; y++)
				expect_share(said[y], DRAWS, (double)law[y]);
		}
	}
}

/* The exact thresholds against the guarantee, over all sets and messages. */
static void the_local_guarantee_holds_for_all_sets(void **state)
{
	static const double epsilons[] = { 0.01, 0.5, 2, 8, 16 };

	(void)state;
	for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++)
		for (uint32_t s = 1; s <= 5; s++) {
			struct qy_query q = query(5, QY_NONE_EVEN);
			struct pt_randomizer p = made(&q, epsilons[i], s);
			long double most[SYMBOLS] = { 0 }, least[SYMBOLS];
			double claimed = p.row->epsilon0(&p), found = 0;

			for (uint32_t set = 0; set < 32; set++) {
				long double law[SYMBOLS];

				message_law((double)pt_ratio_value(pt_privset_ratio(&p)), 5, s, set, law);
				for (uint32_t y = 0; y < 5 + s; y++) {
					most[y] = fmaxl(most[y], law[y]);
					least[y] = set == 0 ? law[y] : fminl(least[y], law[y]);
				}
			}
			for (uint32_t y = 0; y < 5 + s; y++)
				found = fmax(found, (double)logl(most[y] / least[y]));
			assert_true(claimed <= epsilons[i] && claimed > epsilons[i] - 1e-9);
			assert_true(fabs(found - claimed) < 1e-9);
		}
}

static void a_peers_parameters_must_fit_the_set(void **state)
{
	struct qy_query q = query(5, QY_NONE_EVEN);
	const struct pt_randomizer good = made(&q, 2, 2);
	struct pt_randomizer p = good;

	(void)state;
	assert_int_equal(p.row->check(&q, &p, &err), CM_OK);
	p.privset.size = 3;
	assert_int_equal(p.row->check(&q, &p, &err), CM_EPROTO);
	p.privset.mixbins.bins = 8;
	assert_int_equal(p.row->check(&q, &p, &err), CM_OK);
	p.privset.size = 6;
	p.privset.mixbins.bins = 11;
	assert_int_equal(p.row->check(&q, &p, &err), CM_EPROTO);
	p.privset.size = 0;
	p.privset.mixbins.bins = 5;
	assert_int_equal(p.row->check(&q, &p, &err), CM_EPROTO);
	p = good;
	p.privset.mixbins.keep = 0;
	assert_int_equal(p.row->check(&q, &p, &err), CM_EPROTO);
	p.privset.mixbins.keep = UINT64_MAX / 7;
	assert_int_equal(p.row->check(&q, &p, &err), CM_EPROTO);
	p.privset.mixbins.keep = UINT64_MAX;
	assert_int_equal(p.row->check(&q, &p, &err), CM_EPROTO);
	q.none = QY_NONE_SYMBOL;
	p = good;
	assert_int_equal(p.row->check(&q, &p, &err), CM_EPROTO);
}

/* Three items padded to two: all pairs of sets of one device, all sets of the two others. */
static void a_round_costs_no_more_than_is_charged(void **state)
{
	static const double epsilons[] = { 0, 0.3, 1 };
	struct qy_query q = query(3, QY_NONE_EVEN);
	struct pt_randomizer p = made(&q, 1.5, 2);
	double ratio = (double)pt_ratio_value(pt_privset_ratio(&p));
	struct pt_loss loss;

	(void)state;
	assert_int_equal(pt_loss(&p, 3, &loss, &err), CM_OK);
	for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++) {
		struct acct_bound delta;
		double worst = 0;

		assert_int_equal(acct_delta(loss.part, loss.parts, epsilons[i], &delta), ACCT_OK);
		for (uint32_t code = 0; code < 8 * 8 * 8 * 8; code++) {
			uint32_t sets[4] = { code & 7, code >> 3 & 7, code >> 6 & 7, code >> 9 };
			static struct batch b = { .symbols = 5, .messages = 3 };
			long double law[SYMBOLS];

			if (sets[2] > sets[3])
				continue;
			for (uint32_t side = 0; side < 2; side++)
				for (uint32_t m = 0; m < 3; m++) {
					message_law(ratio, 3, 2, m == 0 ? sets[side] : sets[m + 1], law);
					for (uint32_t y = 0; y < 5; y++)
						b.law[side][m][y] = law[y];
				}
			worst = fmax(worst, exact_delta(&b, epsilons[i], false));
		}
		if (!(worst > 0 && worst <= delta.upper * (1 + 1e-9) && delta.upper <= 3 * worst))
			fail_msg("epsilon %g: %g of %g charged", epsilons[i], worst, delta.upper);
	}
}

/* Over all messages of one device: an item counts as often as it is among the s. */
static void an_answer_is_unbiased_for_what_is_drawn(void **state)
{
	struct qy_query q = query(5, QY_NONE_SYMBOL);
	struct pt_randomizer p = made(&q, 2, 3);

	(void)state;
	for (uint32_t set = 0; set <= 32; set++) {
		double mean[6] = { 0 };
		long double law[SYMBOLS];

		message_law((double)pt_ratio_value(pt_privset_ratio(&p)), 6, 3, set, law);
		for (uint32_t y = 0; y < 9; y++) {
			uint64_t counts[9] = { 0 };
			struct es_estimate e;

			counts[y] = 1;
			assert_int_equal(pt_answer(&q, &p, counts, 1, &e, &err), CM_OK);
			assert_int_equal(e.n, 6);
			assert_true(e.item[5].none && !e.item[4].none);
			for (uint32_t i = 0; i < 6; i++) {
				mean[i] += (double)law[y] * e.item[i].value;
				assert_true(e.item[i].projected >= 0 && e.item[i].projected <= 1);
			}
			es_estimate_fini(&e);
		}
		for (uint32_t i = 0; i < 6; i++) {
			double drawn = size_of(set) > 3 ? 3.0 / size_of(set) : 1;

			assert_true(fabs(mean[i] - (set >> i & 1 ? drawn : 0)) < 1e-9);
		}
	}
}

/* The law of an item's messages when c of n hold it: its stated variance, and no 95 % interval fails more
 * often than it may.  All others send the last symbol, which is padding. */
static void an_answer_has_its_exact_variance_and_covers(void **state)
{
	enum { N = 40 };
	struct qy_query q = query(5, QY_NONE_EVEN);
	struct pt_randomizer p = made(&q, 3, 2);
	long double with[SYMBOLS], without[SYMBOLS];

	(void)state;
	message_law((double)pt_ratio_value(pt_privset_ratio(&p)), 5, 2, 3, with);
	message_law((double)pt_ratio_value(pt_privset_ratio(&p)), 5, 2, 6, without);
	for (uint32_t c = 0; c <= N; c += 4) {
		double mean = 0, square = 0, missed = 0;
		long double variance;
		struct es_law kept, others, m;

		assert_true(es_law_binomial(&kept, c, (double)with[0]) &&
			    es_law_binomial(&others, N - c, (double)without[0]) &&
			    es_law_sum(&m, &kept, &others));
		for (size_t i = 0; i < m.len; i++) {
			uint64_t counts[7] = { 0 }, seen = (uint64_t)m.first + i;
			struct es_estimate e;

			counts[0] = seen;
			counts[6] = N - seen;
			assert_int_equal(pt_answer(&q, &p, counts, N, &e, &err), CM_OK);
			mean += m.p[i] * e.item[0].value;
			square += m.p[i] * (e.item[0].value - c) * (e.item[0].value - c);
			missed += c < e.item[0].lower || c > e.item[0].upper ? m.p[i] : 0;
			es_estimate_fini(&e);
		}
		es_law_fini(&kept);
		es_law_fini(&others);
		es_law_fini(&m);
		variance = (c * with[0] * (1 - with[0]) + (N - c) * without[0] * (1 - without[0])) /
			   ((with[0] - without[0]) * (with[0] - without[0]));
		assert_true(fabs(mean - c) < 1e-6 && fabsl(square / variance - 1) < 1e-6);
		if (missed > 0.05)
			fail_msg("%u of %d: missed with chance %g", (unsigned)c, N, missed);
	}
}

/* A set has the values at most: the symbol of none stands for the whole set. */
static void a_plan_pads_to_no_more_than_the_values(void **state)
{
	struct qy_query q = query(5, QY_NONE_SYMBOL);
	struct pt_request r = { .epsilon0 = 2, .size = 5 };
	struct pt_randomizer p;

	(void)state;
	assert_int_equal(pt_derive(pt_find("privset"), &q, &r, &p, &err), CM_OK);
	r.size = 6;
	assert_int_equal(pt_derive(pt_find("privset"), &q, &r, &p, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "1 to 5"));
}

/* Padding to a larger set adds noise: a plan that pads to more than anybody holds pays for it. */
static void padding_has_a_price(void **state)
{
	struct qy_query q = query(5, QY_NONE_EVEN);
	struct pt_randomizer two = made(&q, 2, 2), four = made(&q, 2, 4);

	(void)state;
	assert_true(pt_expected_error(&q, &four, 1000) > pt_expected_error(&q, &two, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_says_what_the_definition_says_of_its_set),
		cmocka_unit_test(the_local_guarantee_holds_for_all_sets),
		cmocka_unit_test(a_peers_parameters_must_fit_the_set),
		cmocka_unit_test(a_round_costs_no_more_than_is_charged),
		cmocka_unit_test(an_answer_is_unbiased_for_what_is_drawn),
		cmocka_unit_test(an_answer_has_its_exact_variance_and_covers),
		cmocka_unit_test(a_plan_pads_to_no_more_than_the_values),
		cmocka_unit_test(padding_has_a_price),
	};

	return RUN_SEEDED(tests, &rng, "privset_row");
}
