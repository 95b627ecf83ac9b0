/* test_sampled_rows.c - hierarchy and parallel: which slot a device answers and what it says there, the
 * privacy of a whole round by enumeration, and what counts say of those who were asked. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "encode_in_room.h"
#include "es_law.h"
#include "pt_sampled_analysis.h"
#include "queries.h"
#include "seeded.h"

static struct cm_err err;
static struct cr_rng rng;

static struct pt_randomizer made(const char *row, const struct qy_query *q, double epsilon0)
{
	const struct pt_request r = { .epsilon0 = epsilon0 };
	struct pt_randomizer p;

	if (pt_derive(pt_find(row), q, &r, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return p;
}

/* ---- messages ---- */

static struct pt_cell sent(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *v)
{
	uint8_t record[PT_RECORD_LEN];
	struct pt_cell cell;

	encode_in_room(p->row, q, p, v, &rng, record);
	assert_int_equal(pt_slots_read(p, record, &cell, &err), CM_OK);
	assert_int_equal(cell.group, 0);
	return cell;
}

/* A quantile of one in a billion, both ways. */
static void expect_share(double count, double n, double p)
{
	if (!(fabs(count - n * p) <= 6.1 * sqrt(n * p * (1 - p)) + 1))
		fail_msg("%g of %g, not %g", count, n, p);
}

#define DRAWS 40000

/* Levels are drawn evenly whatever the number is, and at each its node is kept with the slot's chance. */
static void a_device_answers_for_one_level_that_it_draws(void **state)
{
	struct qy_query q = query_of_kind(QY_RANGES); /* 9 leaves of [0, 10], threes */
	struct pt_randomizer p = made("hierarchy", &q, 1);

	(void)state;
	for (uint32_t leaf = 0; leaf < 9; leaf += 4) {
		struct qy_value v = { .x = (uint64_t)((leaf + 0.5) / 9 * 0x1p32) };
		double slot[2] = { 0 }, own[2] = { 0 }, next[2] = { 0 };

		for (uint32_t i = 0; i < DRAWS; i++) {
			struct pt_cell c = sent(&q, &p, &v);
			uint32_t node = c.slot == 0 ? leaf / 3 : leaf, nodes = c.slot == 0 ? 3 : 9;

			slot[c.slot]++;
			own[c.slot] += c.word == node;
			next[c.slot] += c.word == (node + 1) % nodes;
		}
		for (uint32_t i = 0; i < 2; i++) {
			expect_share(slot[i], DRAWS, 0.5);
			expect_share(own[i], slot[i], pt_mixbins_keep(&p.slots.slot[i].each));
			expect_share(next[i], slot[i], pt_mixbins_other(&p.slots.slot[i].each));
		}
	}
}

static void a_device_answers_for_one_marginal_that_it_draws(void **state)
{
	struct qy_query q = query_of_kind(QY_MARGINALS); /* sizes 2, 3, 2; sets {a, b} and {c} */
	struct pt_randomizer p = made("parallel", &q, 16);

	(void)state;
	for (uint32_t i = 0; i < 12; i++) {
		uint32_t at[QUERIES_COLUMNS], rare = 0;
		struct qy_value v = query_value(&q, i, at);
		double first = 0;

		for (uint32_t k = 0; k < 400; k++) {
			struct pt_cell c = sent(&q, &p, &v);

			first += c.slot == 0;
			rare += c.word != (c.slot == 0 ? at[0] * 3 + at[1] : at[2]);
		}
		expect_share(first, 400, 0.5);
		/* With chance 1e-6 each: not four of 400 in 12 runs. */
		assert_true(rare < 4);
	}
}

static void the_guarantee_is_one_slots_and_not_their_sum(void **state)
{
	struct qy_query q = query_of_kind(QY_RANGES);
	struct pt_randomizer p = made("hierarchy", &q, 1.5), all;
	const struct pt_request r = { .epsilon0 = 1.5 };

	(void)state;
	assert_true(p.row->epsilon0(&p) <= 1.5 && p.row->epsilon0(&p) > 1.5 - 1e-9);
	assert_int_equal(pt_derive(pt_find("ranges"), &q, &r, &all, &err), CM_OK);
	assert_true(all.row->epsilon0(&all) > 3 - 1e-8);
	/* The larger epsilon0 counts if a peer's slots differ. */
	p.slots.slot[0].each.keep = UINT64_MAX / 2;
	assert_true(p.row->epsilon0(&p) > 1.5 - 1e-9);
}

/* Parameters that `ranges` may have and this row may not. */
static void a_peers_dummies_are_refused(void **state)
{
	struct qy_query q = query_of_kind(QY_RANGES);
	struct pt_randomizer p = made("hierarchy", &q, 2);

	(void)state;
	p.slots.slot[1].each.dummies = 1;
	assert_int_equal(p.row->check(&q, &p, &err), CM_EPROTO);
	p.slots.slot[1].each.keep_always = true;
	p.slots.slot[1].each.keep = 0;
	assert_int_equal(p.row->check(&q, &p, &err), CM_EPROTO);
	p.row = pt_device_find("ranges");
	assert_int_equal(p.row->check(&q, &p, &err), CM_OK);
}

/* ---- privacy of a whole round ---- */

#define SYMBOLS 6 /* 2 nodes and 4 leaves */
#define MOST    3 /* others */
#define SIDE    5 /* counts of a symbol: 0 to MOST + 1 */

/* The law of one message of a device with this leaf, of slots 0 and 1: written anew from the definition. */
static void message_law(double epsilon0, uint32_t leaf, double law[SYMBOLS])
{
	double e = exp(epsilon0);

	for (uint32_t y = 0; y < 2; y++)
		law[y] = 0.5 * (y == leaf / 2 ? e : 1) / (e + 1);
	for (uint32_t y = 0; y < 4; y++)
		law[2 + y] = 0.5 * (y == leaf ? e : 1) / (e + 3);
}

/* Sum over all multisets of messages of (P0 - e^eps P1)+, P0 and P1 by permutations: of so few, all sequences
 * are summed by the multiset that they are. */
struct batch {
	double mass[2][SIDE * SIDE * SIDE * SIDE * SIDE * SIDE];
};

static void add(const double *from, double *to, const double law[SYMBOLS])
{
	size_t weight = 1;

	for (uint32_t y = 0; y < SYMBOLS; y++, weight *= SIDE)
		for (size_t c = 0; c + weight < (size_t)SIDE * SIDE * SIDE * SIDE * SIDE * SIDE; c++)
			to[c + weight] += from[c] * law[y];
}

static double exact(double epsilon0, uint32_t x, const uint32_t *held, uint32_t others, double epsilon)
{
	static struct batch now, next;
	const size_t codes = sizeof now.mass[0] / sizeof now.mass[0][0];
	double sum = 0;

	memset(&now, 0, sizeof now);
	now.mass[0][0] = now.mass[1][0] = 1;
	for (uint32_t side = 0; side < 2; side++)
		for (uint32_t k = 0; k <= others; k++) {
			double law[SYMBOLS];

			message_law(epsilon0, k < others ? held[k] : side == 0 ? 0 : x, law);
			memset(next.mass[side], 0, sizeof next.mass[side]);
			add(now.mass[side], next.mass[side], law);
			memcpy(now.mass[side], next.mass[side], sizeof now.mass[side]);
		}
	for (size_t c = 0; c < codes; c++)
		sum += fmax(0, now.mass[0][c] - exp(epsilon) * now.mass[1][c]);
	return sum;
}

/* Leaves 0 and 1 agree on the coarse level, 0 and 2 on none; other pairs are these by symmetry.  Every value
 * of every other one. */
static void a_round_costs_no_more_than_is_charged(void **state)
{
	static const double epsilons[] = { 0, 0.3, 1 };
	struct qy_query q = query_of_kind(QY_RANGES);
	struct pt_randomizer p;
	struct pt_loss loss;

	(void)state;
	q.leaves = 4;
	q.fanout = 2;
	p = made("hierarchy", &q, 1.5);
	for (uint32_t others = 1; others <= MOST; others++) {
		assert_int_equal(pt_loss(&p, others + 1, &loss, &err), CM_OK);
		assert_int_equal(loss.parts, 1);
		assert_int_equal(loss.part[0].cells, 5);
		for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++) {
			struct acct_bound delta;
			double worst = 0;

			assert_int_equal(acct_delta(loss.part, 1, epsilons[i], &delta), ACCT_OK);
			for (uint32_t x = 1; x < 3; x++)
				for (uint32_t code = 0; code < 1u << 2 * others; code++) {
					uint32_t held[MOST] = { code & 3, code >> 2 & 3, code >> 4 };

					worst = fmax(worst, exact(1.5, x, held, others, epsilons[i]));
				}
			assert_true(worst > 0);
			if (!(worst <= delta.upper * (1 + 1e-9) && delta.upper <= 4 * worst))
				fail_msg("%u others, epsilon %g: %g of %g charged", (unsigned)others,
					epsilons[i], worst, delta.upper);
		}
	}
}

/* One more equal slot does not cost what composition would: there is one message and one guarantee. */
static void a_sampled_round_costs_less_than_all_slots(void **state)
{
	struct qy_query q = query_of_kind(QY_RANGES);
	const struct pt_request r = { .epsilon0 = 3 };
	struct pt_randomizer one = made("hierarchy", &q, 3), all;
	struct acct_bound a, b;
	struct pt_loss loss;

	(void)state;
	assert_int_equal(pt_derive(pt_find("ranges"), &q, &r, &all, &err), CM_OK);
	assert_int_equal(pt_loss(&one, 10000, &loss, &err), CM_OK);
	assert_int_equal(acct_epsilon(loss.part, loss.parts, 1e-6, &a), ACCT_OK);
	assert_int_equal(pt_loss(&all, 10000, &loss, &err), CM_OK);
	assert_int_equal(acct_epsilon(loss.part, loss.parts, 1e-6, &b), ACCT_OK);
	assert_true(a.upper < b.lower);
}

/* ---- answers ---- */

/* The law of the messages for a node that c of n hold when A are asked, by summing over who is: the stated
 * variance is its own, and no 95 % interval fails more often than it may. */
static void answers_of_those_asked_have_their_exact_variance_and_cover(void **state)
{
	enum { N = 40, A = 13 };
	const struct es_support s = { .keep = 0.7, .flip = 0.3, .other = 0.1, .sampled = true, .asked = A };

	(void)state;
	for (uint32_t c = 0; c <= N; c += 4) {
		double mass[A + 1] = { 0 }, mean = 0, square = 0, missed = 0, floor;

		for (uint32_t k = 0; k <= A && k <= c; k++) {
			double chance;
			struct es_law kept, others, m;

			if (A - k > N - c)
				continue;
			chance = exp(lgamma(c + 1) - lgamma(k + 1) - lgamma(c - k + 1) + lgamma(N - c + 1) -
				     lgamma(A - k + 1) - lgamma(N - c - A + k + 1) - lgamma(N + 1) +
				     lgamma(A + 1) + lgamma(N - A + 1));
			assert_true(es_law_binomial(&kept, k, s.keep) &&
				    es_law_binomial(&others, A - k, s.other) &&
				    es_law_sum(&m, &kept, &others));
			for (size_t i = 0; i < m.len; i++)
				mass[m.first + (int64_t)i] += chance * m.p[i];
			es_law_fini(&kept);
			es_law_fini(&others);
			es_law_fini(&m);
		}
		for (uint64_t m = 0; m <= A; m++) {
			struct qy_item item = { .label = "x" };

			assert_int_equal(es_support_items(&s, &m, 1, N, 1, &item, &floor, &err), CM_OK);
			mean += mass[m] * item.value;
			square += mass[m] * (item.value - c) * (item.value - c);
			missed += c < item.lower || c > item.upper ? mass[m] : 0;
		}
		assert_true(fabs(mean - c) < 1e-9);
		assert_true(fabs(square / es_support_variance(&s, N, c) - 1) < 1e-9);
		if (missed > 0.05)
			fail_msg("%u of %d: missed with chance %g", (unsigned)c, N, missed);
	}
}

/* If all are asked, the variance is that of a histogram. */
static void to_ask_all_is_no_sampling(void **state)
{
	struct es_support s = { .keep = 0.7, .flip = 0.3, .other = 0.1 }, all = s;

	(void)state;
	all.sampled = true;
	all.asked = 40;
	for (uint32_t c = 0; c <= 40; c += 8)
		assert_true(
			fabs(es_support_variance(&s, 40, c) / es_support_variance(&all, 40, c) - 1) < 1e-12);
}

/* Nothing is known of a level that nobody drew, and the tree adds up without it. */
static void a_level_that_nobody_drew_is_undefined(void **state)
{
	struct qy_query q = query_of_kind(QY_RANGES);
	struct pt_randomizer p = made("hierarchy", &q, 4);
	uint64_t counts[12] = { 30, 6, 4 };
	struct es_estimate e;

	(void)state;
	assert_int_equal(pt_answer(&q, &p, counts, 40, &e, &err), CM_OK);
	for (size_t i = 0; i < 12; i++) {
		const struct qy_item *item = &e.item[i];

		assert_int_equal(isnan(item->value), i >= 3);
		assert_true(isfinite(item->projected));
		if (i >= 3)
			assert_true(item->lower == 0 && item->joint_upper == 40 && item->below_noise);
	}
	assert_true(fabs(e.item[0].projected + e.item[1].projected + e.item[2].projected - 40) < 1e-9);
	assert_true(fabs(e.item[3].projected + e.item[4].projected + e.item[5].projected -
			    e.item[0].projected) < 1e-9);
	es_estimate_fini(&e);
	/* Messages beyond the number of participants are not theirs. */
	assert_int_equal(pt_answer(&q, &p, counts, 39, &e, &err), CM_EDATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_answers_for_one_level_that_it_draws),
		cmocka_unit_test(a_device_answers_for_one_marginal_that_it_draws),
		cmocka_unit_test(the_guarantee_is_one_slots_and_not_their_sum),
		cmocka_unit_test(a_peers_dummies_are_refused),
		cmocka_unit_test(a_round_costs_no_more_than_is_charged),
		cmocka_unit_test(a_sampled_round_costs_less_than_all_slots),
		cmocka_unit_test(answers_of_those_asked_have_their_exact_variance_and_cover),
		cmocka_unit_test(to_ask_all_is_no_sampling),
		cmocka_unit_test(a_level_that_nobody_drew_is_undefined),
	};

	return RUN_SEEDED(tests, &rng, "sampled_rows");
}
