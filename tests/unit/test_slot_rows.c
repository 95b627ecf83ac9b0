/* test_slot_rows.c - digits, ranges and marginals: the words of a value, a peer's slots, the privacy of a
 * whole round by enumeration, and a tree that adds up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode_in_room.h"
#include "es_tree.h"
#include "pt_slots_analysis.h"
#include "queries.h"
#include "seeded.h"
#include "shuffled.h"

static struct cm_err err;
static struct cr_rng rng;

static struct pt_randomizer made(const char *row, const struct qy_query *q, const struct pt_request *r)
{
	struct pt_randomizer p;

	if (pt_derive(pt_find(row), q, r, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return p;
}

/* ---- words ---- */

/* With epsilon0 = 16 a word is lost once in a million: two equal readings of each slot are what was sent. */
static void read_words(const char *row, const struct qy_query *q, const struct pt_randomizer *p,
	const struct qy_value *v, uint32_t *word)
{
	uint8_t records[16 * 16];
	uint32_t n = pt_slots_total(p), seen[2][16];

	for (uint32_t turn = 0; turn < 2; turn++) {
		encode_in_room(pt_find(row)->device, q, p, v, &rng, records);
		for (uint32_t i = 0; i < n; i++) {
			struct pt_cell cell;

			assert_int_equal(pt_slots_read(p, records + 16 * i, &cell, &err), CM_OK);
			assert_int_equal(cell.slot, i);
			assert_int_equal(cell.group, 0);
			seen[turn][i] = cell.word;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(seen[0][i], seen[1][i]);
		word[i] = seen[0][i];
	}
}

static void a_numbers_digits_are_its_levels(void **state)
{
	const struct qy_query q = { .kind = QY_MEAN, .name = "q", .field = "f", .high = 1 };
	const struct pt_request r = { .epsilon0 = 16, .levels = 64, .size = 4 };
	struct pt_randomizer p = made("digits", &q, &r);

	(void)state;
	for (uint64_t level = 0; level < 64; level++) {
		/* Exactly at a level, up to 2^-32: rounded to it but once in a billion. */
		struct qy_value v = { .x = (level * (UINT64_C(1) << 32) + 62) / 63 };
		uint32_t word[3];

		read_words("digits", &q, &p, &v, word);
		assert_int_equal(word[0] * 16 + word[1] * 4 + word[2], level);
	}
}

static void a_number_is_in_one_node_of_each_level(void **state)
{
	struct qy_query q = query_of_kind(QY_RANGES); /* 9 leaves of [0, 10], threes */
	const struct pt_request r = { .epsilon0 = 16 };
	struct pt_randomizer p = made("ranges", &q, &r);
	const struct {
		double x;
		uint32_t leaf;
	} cases[] = { { 0, 0 }, { 0.111, 0 }, { 0.1112, 1 }, { 0.5, 4 }, { 0.6666, 5 }, { 0.6667, 6 },
		{ 0.8888, 7 }, { 0.8889, 8 }, { 1, 8 } };

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct qy_value v = { .x = (uint64_t)(cases[i].x * 0x1p32) };
		uint32_t word[2];

		read_words("ranges", &q, &p, &v, word);
		assert_int_equal(word[1], cases[i].leaf);
		assert_int_equal(word[0], cases[i].leaf / 3);
	}
}

/* Telemetry is whole numbers, and so are the ends of intervals. */
static void an_end_is_in_the_interval_that_begins_with_it(void **state)
{
	static const struct {
		double low, high;
		uint32_t leaves, fanout;
	} grids[] = { { 0, 125, 25, 5 }, { 0, 10, 9, 3 }, { -40, 85, 125, 5 }, { 0, 1, 1000, 10 },
		{ 0.1, 0.7, 6, 6 }, { -273.15, 1000, 4096, 2 } };
	const struct pt_request r = { .epsilon0 = 16 };

	(void)state;
	for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
		struct qy_query q = query_of_kind(QY_RANGES);
		double step = (grids[g].high - grids[g].low) / grids[g].leaves;

		q.low = grids[g].low;
		q.high = grids[g].high;
		q.leaves = grids[g].leaves;
		q.fanout = grids[g].fanout;
		struct pt_randomizer p = made("ranges", &q, &r);
		for (uint32_t i = 0; i < p.slots.kinds; i++)
			p.slots.slot[i].each.keep = UINT64_MAX;
		for (uint32_t leaf = 0; leaf < q.leaves; leaf++)
			for (uint32_t half = 0; half < 2; half++) {
				struct qy_value v;
				uint32_t word[PT_SLOTS_MAX];
				char text[40];
				const char *field = text;
				int clamped;

				(void)snprintf(
					text, sizeof text, "%.12g", q.low + step * (leaf + half / 2.0));
				assert_int_equal(qy_value_read(&q, &field, NULL, &v, &clamped, &err), CM_OK);
				read_words("ranges", &q, &p, &v, word);
				for (uint32_t i = p.slots.kinds, at = leaf; i-- > 0; at /= q.fanout)
					if (word[i] != at)
						fail_msg("%s of [%g, %g] is in %u, not %u, of level %u", text,
							q.low, q.high, word[i], at, i);
			}
	}
}

static void a_combination_is_the_index_of_its_categories(void **state)
{
	struct qy_query q = query_of_kind(QY_MARGINALS); /* sizes 2, 3, 2; sets {a, b} and {c} */
	const struct pt_request r = { .epsilon0 = 16 };
	struct pt_randomizer p = made("marginals", &q, &r);
	struct es_estimate e;
	uint64_t counts[8] = { 1, 2, 3, 4, 5, 6, 10, 11 };

	(void)state;
	for (uint32_t i = 0; i < 12; i++) {
		uint32_t at[QUERIES_COLUMNS], word[2];
		struct qy_value v = query_value(&q, i, at);

		read_words("marginals", &q, &p, &v, word);
		assert_int_equal(word[0], at[0] * 3 + at[1]);
		assert_int_equal(word[1], at[2]);
	}
	assert_int_equal(pt_answer(&q, &p, counts, 21, &e, &err), CM_OK);
	assert_int_equal(e.n, 8);
	assert_string_equal(e.item[0].label, "a=c0,b=c0");
	assert_string_equal(e.item[1].label, "a=c0,b=c1");
	assert_string_equal(e.item[5].label, "a=c1,b=c2");
	assert_string_equal(e.item[6].label, "c=c0");
	assert_string_equal(e.item[7].label, "c=c1");
	for (size_t i = 0; i < 8; i++)
		assert_true(fabs(e.item[i].value - (double)counts[i]) < 0.01);
	es_estimate_fini(&e);
}

static void ranges_are_named_by_their_ends(void **state)
{
	struct qy_query q = query_of_kind(QY_RANGES);
	const struct pt_request r = { .epsilon0 = 16 };
	struct pt_randomizer p = made("ranges", &q, &r);
	uint64_t counts[12] = { 30, 0, 3, 10, 10, 10, 0, 0, 0, 0, 0, 3 };
	struct es_estimate e;

	(void)state;
	q.high = 9;
	assert_int_equal(pt_answer(&q, &p, counts, 33, &e, &err), CM_OK);
	assert_int_equal(e.n, 12);
	assert_string_equal(e.item[0].label, "[0, 3)");
	assert_string_equal(e.item[2].label, "[6, 9]");
	assert_string_equal(e.item[4].label, "[1, 2)");
	assert_string_equal(e.item[11].label, "[8, 9]");
	es_estimate_fini(&e);
}

/* A slot may have more than its share, by who sends all its messages there; all slots not more than all
 * messages. */
static void counts_that_cannot_be_are_refused(void **state)
{
	struct qy_query q = query_of_kind(QY_MARGINALS);
	const struct pt_request r = { .epsilon0 = 2, .dummies = 1 };
	struct pt_randomizer p = made("marginals", &q, &r);
	struct es_estimate e;
	uint64_t counts[8] = { 3, 3, 3, 3, 3, 5, 4, 4 };

	(void)state;
	assert_int_equal(pt_answer(&q, &p, counts, 10, &e, &err), CM_OK);
	es_estimate_fini(&e);
	counts[5] += 12;
	assert_int_equal(pt_answer(&q, &p, counts, 10, &e, &err), CM_OK);
	es_estimate_fini(&e);
	counts[5]++;
	assert_int_equal(pt_answer(&q, &p, counts, 10, &e, &err), CM_EDATA);
	assert_int_equal(pt_answer(&q, &p, counts, 0, &e, &err), CM_EDATA);
}

/* ---- what is refused ---- */

static void impossible_questions_are_refused(void **state)
{
	struct qy_query ranges = query_of_kind(QY_RANGES), marginals = query_of_kind(QY_MARGINALS);
	struct qy_query number = query_of_kind(QY_MEAN);
	struct pt_request r = { .epsilon0 = 2 };
	struct pt_randomizer p;
	static const uint32_t bad_levels[] = { 2, 3, 6, 63, 8192 };

	(void)state;
	ranges.leaves = 10;
	assert_int_equal(pt_derive(pt_find("ranges"), &ranges, &r, &p, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "10 leaves are no power of the fanout 3"));
	ranges.leaves = 8192;
	ranges.fanout = 2;
	assert_int_equal(pt_derive(pt_find("ranges"), &ranges, &r, &p, &err), CM_ECONFIG);
	ranges.leaves = 1;
	assert_int_equal(pt_derive(pt_find("ranges"), &ranges, &r, &p, &err), CM_ECONFIG);
	ranges.leaves = 4096;
	assert_int_equal(pt_derive(pt_find("ranges"), &ranges, &r, &p, &err), CM_OK);
	assert_int_equal(p.slots.kinds, 12);
	/* 65 values of two columns each. */
	marginals.column[0].categories = marginals.column[1].categories = 65;
	assert_int_equal(pt_derive(pt_find("marginals"), &marginals, &r, &p, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "marginal 1 has"));
	marginals.column[0].categories = 2;
	marginals.column[1].categories = 3;
	assert_int_equal(pt_derive(pt_find("marginals"), &number, &r, &p, &err), CM_ECONFIG);
	assert_int_equal(pt_derive(pt_find("ranges"), &number, &r, &p, &err), CM_ECONFIG);
	assert_int_equal(pt_derive(pt_find("digits"), &marginals, &r, &p, &err), CM_ECONFIG);
	for (size_t i = 0; i < sizeof bad_levels / sizeof *bad_levels; i++) {
		r.levels = bad_levels[i];
		assert_int_equal(pt_derive(pt_find("digits"), &number, &r, &p, &err), CM_ECONFIG);
	}
	r = (struct pt_request){ .epsilon0 = INFINITY, .dummies = 8, .levels = 256 };
	assert_int_equal(pt_derive(pt_find("digits"), &number, &r, &p, &err), CM_ECONFIG);
	assert_non_null(strstr(err.msg, "at most 1023"));
}

/* Each field of a peer's slots changed by itself. */
static void a_peers_slots_for_another_question_are_refused(void **state)
{
	static const struct {
		const char *row;
		enum qy_kind kind;
	} rows[] = { { "digits", QY_MEAN }, { "ranges", QY_RANGES }, { "marginals", QY_MARGINALS },
		{ "hierarchy", QY_RANGES }, { "parallel", QY_MARGINALS } };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct pt_protocol *row = pt_find(rows[i].row);
		struct qy_query q = query_of_kind(rows[i].kind);
		struct pt_randomizer good, p;

		assert_int_equal(query_derive(row, &q, 2, &good, &err), CM_OK);
#define REFUSED(change)                                                        \
	do {                                                                   \
		p = good;                                                      \
		change;                                                        \
		assert_int_equal(row->device->check(&q, &p, &err), CM_EPROTO); \
	} while (0)
		assert_int_equal(row->device->check(&q, &good, &err), CM_OK);
		REFUSED(p.slots.kinds = 0);
		REFUSED(p.slots.kinds = 1);
		REFUSED(p.slots.kinds = PT_SLOTS_MAX + 1);
		REFUSED(p.slots.kinds = UINT32_MAX);
		REFUSED((p.slots.kinds++,
			p.slots.slot[p.slots.kinds - 1] = (struct pt_slot){
				.count = 1, .groups = 1, .each = { .bins = 3, .keep = UINT64_MAX / 2 } }));
		REFUSED(p.slots.slot[1].count = 0);
		REFUSED(p.slots.slot[1].count = 2);
		REFUSED(p.slots.slot[1].groups = 0);
		REFUSED(p.slots.slot[1].groups = 2);
		REFUSED(p.slots.slot[1].each.bins = 0);
		REFUSED(p.slots.slot[1].each.bins = 1);
		REFUSED(p.slots.slot[1].each.bins++);
		REFUSED(p.slots.slot[1].each.keep = 0);
		REFUSED(p.slots.slot[1].each.keep = 1);
		REFUSED(p.slots.slot[1].each.keep_always = true);
		REFUSED((p.slots.slot[1].each.keep_always = true, p.slots.slot[1].each.keep = 0));
		REFUSED(p.slots.slot[1].each.dummies = UINT32_MAX);
		REFUSED(p.shuffler.dummies = 2);
#undef REFUSED
	}
}

/* ---- privacy of a whole round ---- */

/* Fanout 2 and 4 leaves: a slot of 2 nodes and one of 4.  The batches are apart, so the round's law is a
 * product. */
static double exact(
	const struct pt_randomizer *p, const uint32_t leaf[3], uint32_t other_value, double epsilon)
{
	static struct law coarse[2], fine[2];
	double sum = 0;

	for (uint32_t side = 0; side < 2; side++) {
		struct law *at[2] = { &coarse[side], &fine[side] };

		for (uint32_t i = 0; i < 2; i++) {
			double ratio = pt_mixbins_keep(&p->slots.slot[i].each) /
				       pt_mixbins_other(&p->slots.slot[i].each),
			       r[SYMBOLS];

			memset(at[i], 0, sizeof *at[i]);
			at[i]->mass[0] = 1;
			grr_report(
				r, p->slots.slot[i].each.bins, ratio, i == 0 ? leaf[side] / 2 : leaf[side]);
			law_add(at[i], r);
			for (uint32_t k = 0; k < leaf[2]; k++) {
				grr_report(r, p->slots.slot[i].each.bins, ratio,
					i == 0 ? other_value / 2 : other_value);
				law_add(at[i], r);
			}
		}
	}
	for (unsigned a = 0; a < MOST_CODES; a++) {
		if (coarse[0].mass[a] == 0)
			continue;
		for (unsigned b = 0; b < MOST_CODES; b++)
			sum += fmax(0, coarse[0].mass[a] * fine[0].mass[b] -
					       exp(epsilon) * coarse[1].mass[a] * fine[1].mass[b]);
	}
	return sum;
}

static void a_round_of_slots_costs_no_more_than_is_charged(void **state)
{
	struct qy_query q = query_of_kind(QY_RANGES);
	struct pt_request r = { .epsilon0 = 1.5 };
	struct pt_randomizer p;
	struct pt_loss loss;
	static const double epsilons[] = { 0, 0.3, 1, 2 };

	(void)state;
	q.leaves = 4;
	q.fanout = 2;
	p = made("ranges", &q, &r);
	for (uint32_t others = 1; others <= 3; others++) {
		assert_int_equal(pt_loss(&p, others + 1, &loss, &err), CM_OK);
		assert_int_equal(loss.parts, 2);
		for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++) {
			struct acct_bound delta;
			double worst = 0;

			assert_int_equal(acct_delta(loss.part, loss.parts, epsilons[i], &delta), ACCT_OK);
			for (uint32_t x = 1; x < 4; x++)
				for (uint32_t held = 0; held < 4; held++)
					worst = fmax(worst,
						exact(&p, (uint32_t[]){ 0, x, others }, held, epsilons[i]));
			assert_true(worst > 0);
			assert_true(worst <= delta.upper * (1 + 1e-9));
			/* The charge is that of this round, not of some larger one. */
			assert_true(delta.upper <= 4 * worst);
		}
	}
}

static void the_local_guarantees_of_slots_add_up(void **state)
{
	struct qy_query q = query_of_kind(QY_RANGES);
	const struct pt_request r = { .epsilon0 = 1.5 };
	struct pt_randomizer p = made("ranges", &q, &r);
	double epsilon0 = pt_find("ranges")->device->epsilon0(&p);

	(void)state;
	if (!(epsilon0 <= 3 && epsilon0 > 3 - 1e-8))
		fail_msg("%.17g", epsilon0);
}

/* ---- trees ---- */

/* Any weights leave a tree that adds up as it is, and make one add up that does not. */
static void trees_add_up(void **state)
{
	const double variance[] = { 4, 1, 9 };
	double node[] = { 6, 4, 1, 5, 4, 0, 1, 0, 2, 3, 3, 1, 0, 0 }, same[14];

	(void)state;
	memcpy(same, node, sizeof node);
	es_tree_consistent(same, 2, 3, variance, 10);
	for (size_t i = 0; i < 14; i++)
		assert_true(fabs(same[i] - node[i]) < 1e-12);
	for (size_t i = 0; i < 14; i++)
		node[i] += (double)(i * 7 % 5) - 2;
	es_tree_consistent(node, 2, 3, variance, 10);
	assert_true(fabs(node[0] + node[1] - 10) < 1e-12);
	for (size_t i = 0; i < 2; i++)
		assert_true(fabs(node[2 + 2 * i] + node[3 + 2 * i] - node[i]) < 1e-12);
	for (size_t i = 0; i < 4; i++)
		assert_true(fabs(node[6 + 2 * i] + node[7 + 2 * i] - node[2 + i]) < 1e-12);
}

/* Least squares by hand: one level of two, observed 7 and 5 of 10 in all, is 6 and 4; two levels of fanout 2
 * with variances 1 and 1, all zero but one leaf. */
static void trees_are_least_squares(void **state)
{
	const double one[] = { 1, 1 };
	double flat[] = { 7, 5 }, tree[] = { 0, 0, 3, 0, 0, 0 };

	(void)state;
	es_tree_consistent(flat, 2, 1, one, 10);
	assert_true(fabs(flat[0] - 6) < 1e-12 && fabs(flat[1] - 4) < 1e-12);
	/* a, b: the leaves of the first node, c, d of the second; a + b + c + d = 0.  With s = a + b the sum
	 * of squares 2 s^2 + (a-3)^2 + b^2 + c^2 + d^2 is least at s = 1/2, where a - b = 3 and c = d =
	 * -1/4. */
	es_tree_consistent(tree, 2, 2, one, 0);
	assert_true(fabs(tree[0] - 0.5) < 1e-12 && fabs(tree[1] + 0.5) < 1e-12);
	assert_true(fabs(tree[2] - 1.75) < 1e-12 && fabs(tree[3] + 1.25) < 1e-12);
	assert_true(fabs(tree[4] + 0.25) < 1e-12 && fabs(tree[5] + 0.25) < 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_numbers_digits_are_its_levels),
		cmocka_unit_test(a_number_is_in_one_node_of_each_level),
		cmocka_unit_test(an_end_is_in_the_interval_that_begins_with_it),
		cmocka_unit_test(a_combination_is_the_index_of_its_categories),
		cmocka_unit_test(ranges_are_named_by_their_ends),
		cmocka_unit_test(counts_that_cannot_be_are_refused),
		cmocka_unit_test(impossible_questions_are_refused),
		cmocka_unit_test(a_peers_slots_for_another_question_are_refused),
		cmocka_unit_test(a_round_of_slots_costs_no_more_than_is_charged),
		cmocka_unit_test(the_local_guarantees_of_slots_add_up),
		cmocka_unit_test(trees_add_up),
		cmocka_unit_test(trees_are_least_squares),
	};

	return RUN_SEEDED(tests, &rng, "slot_rows");
}
