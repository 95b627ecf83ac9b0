/* test_flame_rows.c - coordinates in messages of their own: which are sent, where to, what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "encode_in_room.h"
#include "flame_made.h"
#include "pt_flame_analysis.h"
#include "queries.h"
#include "seeded.h"

static struct cr_rng rng;

static uint64_t symbol(const uint8_t *record)
{
	uint64_t v = 0;

	for (int i = 15; i >= 8; i--)
		v = v << 8 | record[i];
	return v;
}

/* ---- what is sent ---- */

/* The coordinates furthest from the middle, the first of equal ones; the rest of the messages are
 * anything. */
static void the_furthest_coordinates_are_sent(void **state)
{
	const struct qy_query q = query_of_kind(QY_VECTOR);
	const struct pt_request r = { .epsilon0 = 16, .levels = 3, .size = 3 };
	struct pt_randomizer p = made("ss-topk", &q, &r);
	const uint32_t middle = UINT32_C(1) << 30;
	const struct {
		uint32_t at[QUERIES_DIMENSION];
		uint32_t sent[3]; /* in order */
	} cases[] = {
		{ { 0, 1, 2, 3, 4, 5 }, { 0, 1, 2 } },
		{ { middle, middle + 5, middle - 9, middle + 7, middle - 6, middle }, { 2, 3, 4 } },
		{ { middle, middle + 1, middle, middle, middle - 1, 2 * middle }, { 1, 4, 5 } },
		{ { 0, 2 * middle, 0, 2, 2, 2 * middle - 2 }, { 0, 1, 2 } },
		{ { 0, 2 * middle, 0, 2 * middle, 0, 2 * middle }, { 0, 1, 2 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct qy_value v = { .at = cases[i].at };
		uint8_t records[3 * PT_RECORD_LEN];
		uint16_t tag[3];
		bool seen[QUERIES_DIMENSION] = { false };

		encode_in_room(pt_find("ss-topk")->device, &q, &p, &v, &rng, records);
		pt_find("ss-topk")->device->route(&p, &v, records, tag);
		for (uint32_t m = 0; m < 3; m++) {
			assert_int_equal(tag[m], symbol(records + m * PT_RECORD_LEN) / 3);
			seen[tag[m]] = true;
		}
		for (uint32_t m = 0; m < 3; m++)
			assert_true(seen[cases[i].sent[m]]);
	}
}

/* The place of the value's message among the client's dummies says nothing: each is equally often taken. */
/* A device without a reading sends any of the coordinates in the middle, so that its tags do not give it
 * away. */
static void coordinates_in_the_middle_are_sent_at_random(void **state)
{
	enum { D = QUERIES_DIMENSION, DRAWS = 20000 };
	struct qy_query q = query_of_kind(QY_VECTOR);
	const struct pt_request r = { .epsilon0 = 1, .levels = 3, .size = 3 };
	struct pt_randomizer p = made("ss-topk", &q, &r);
	static unsigned sent[1u << D];
	uint8_t records[3 * 16];
	unsigned subsets = 0;
	uint32_t at[D];
	double chi = 0;

	(void)state;
	pt_none_default(pt_find("ss-topk"), &q);
	assert_int_equal(q.none, QY_NONE_VALUE);
	for (unsigned i = 0; i < DRAWS; i++) {
		unsigned set = 0;
		uint16_t tag[3];
		struct qy_value v;

		qy_value_none(&q, &rng, at, &v);
		encode_in_room(pt_find("ss-topk")->device, &q, &p, &v, &rng, records);
		pt_find("ss-topk")->device->route(&p, &v, records, tag);
		for (unsigned m = 0; m < 3; m++)
			set |= 1u << tag[m];
		sent[set]++;
	}
	for (unsigned set = 0; set < 1u << D; set++) {
		double expected = DRAWS / 20.0; /* subsets of 3 out of 6 */

		if (sent[set] == 0)
			continue;
		subsets++;
		chi += (sent[set] - expected) * (sent[set] - expected) / expected;
	}
	assert_int_equal(subsets, 20);
	assert_true(chi < 58); /* 19 degrees of freedom: one in 100,000 */
}

static void a_chosen_coordinate_is_in_any_place(void **state)
{
	const struct qy_query q = query_of_kind(QY_VECTOR);
	const struct pt_request r = { .epsilon0 = 16, .levels = 2, .size = 1, .dummies = 3 };
	struct pt_randomizer p = made("ss-topk", &q, &r);
	const uint32_t at[QUERIES_DIMENSION] = { 1u << 30, 1u << 30, 1u << 31, 1u << 30, 1u << 30, 1u << 30 };
	struct qy_value v = { .at = at };
	double there[4] = { 0 }, runs = 20000;

	(void)state;
	for (int i = 0; i < (int)runs; i++) {
		uint8_t records[4 * PT_RECORD_LEN];

		encode_in_room(pt_find("ss-topk")->device, &q, &p, &v, &rng, records);
		for (uint32_t m = 0; m < 4; m++)
			there[m] += symbol(records + m * PT_RECORD_LEN) == 5; /* level 1 of coordinate 2 */
	}
	/* The message is there with chance 1/4, a dummy looks like it with chance 1/12. */
	for (uint32_t m = 0; m < 4; m++)
		assert_true(fabs(there[m] / runs - (0.25 + 0.75 / 12)) < 5 * sqrt(0.25 / runs));
}

static void records_are_put_in_any_order(void **state)
{
	double seen[6] = { 0 }, runs = 30000;

	(void)state;
	for (int i = 0; i < (int)runs; i++) {
		uint8_t records[3 * PT_RECORD_LEN];
		uint64_t a, b, key[3];

		for (uint64_t k = 0; k < 3; k++)
			pt_record_put(records + k * PT_RECORD_LEN, k);
		pt_record_permute(records, 3, &rng, key);
		a = symbol(records);
		b = symbol(records + PT_RECORD_LEN);
		assert_true(a != b && a < 3 && b < 3);
		assert_int_equal(symbol(records + 2 * PT_RECORD_LEN), 3 - a - b);
		seen[a * 2 + (b > a ? b - 1 : b)]++;
	}
	for (size_t i = 0; i < 6; i++)
		assert_true(fabs(seen[i] / runs - 1.0 / 6) < 5 * sqrt(5.0 / 36 / runs));
}

/* One coordinate of each group, all of a group equally often, at the coordinate's tag. */
static void a_coordinate_of_each_group_is_sent(void **state)
{
	const struct qy_query q = query_of_kind(QY_VECTOR);
	const struct pt_request r = { .epsilon0 = 16, .levels = 5, .slots = 2, .min_reports = 100 };
	struct pt_randomizer p = made("ss-double", &q, &r);
	const uint32_t at[QUERIES_DIMENSION] = { 0, 1u << 29, 1u << 30, 3u << 29, 1u << 31, 1u << 30 };
	const uint32_t level[QUERIES_DIMENSION] = { 0, 1, 2, 3, 4, 2 };
	struct qy_value v = { .at = at };
	double sent[QUERIES_DIMENSION] = { 0 }, runs = 9000;

	(void)state;
	for (int i = 0; i < (int)runs; i++) {
		uint8_t records[2 * PT_RECORD_LEN];
		uint16_t tag[2];

		encode_in_room(pt_find("ss-double")->device, &q, &p, &v, &rng, records);
		pt_find("ss-double")->device->route(&p, &v, records, tag);
		for (uint32_t m = 0; m < 2; m++) {
			assert_in_range(tag[m], 3 * m, 3 * m + 2);
			sent[tag[m]]++;
			if (symbol(records + m * PT_RECORD_LEN) !=
				(tag[m] - UINT64_C(3) * m) * 5 + level[tag[m]])
				sent[tag[m]]--; /* once in a million */
		}
	}
	for (uint32_t c = 0; c < QUERIES_DIMENSION; c++)
		assert_true(fabs(sent[c] / runs - 1.0 / 3) < 5 * sqrt(2.0 / 9 / runs));
}

/* A dummy of a tag belongs to the tag's coordinate, and is uniform on the levels. */
static void dummies_are_of_their_tag(void **state)
{
	static const char *const rows[] = { "ss-double", "ss-topk" };
	const struct qy_query q = query_of_kind(QY_VECTOR);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct pt_request r = {
			.epsilon0 = 2, .levels = 4, .slots = 3, .size = 1, .min_reports = 100
		};
		struct pt_randomizer p = made(rows[i], &q, &r);
		uint64_t counts[QUERIES_DIMENSION * 4] = { 0 };
		uint8_t record[PT_RECORD_LEN];

		for (uint32_t t = 0; t < QUERIES_DIMENSION; t++)
			for (int k = 0; k < 4000; k++) {
				pt_find(rows[i])->device->dummy(&p, t, &rng, record);
				assert_int_equal(pt_find(rows[i])->tally(&p, record, counts, &err), CM_OK);
			}
		for (uint32_t s = 0; s < QUERIES_DIMENSION * 4; s++)
			assert_true(fabs((double)counts[s] - 1000) < 5 * sqrt(750));
	}
}

/* ---- how many are kept ---- */

static void what_is_kept_of_a_coordinate(void **state)
{
	struct pt_kept k;

	(void)state;
	/* Bin(2, 1/2) cut to 1: 1/4 of 0, 3/4 of 1. */
	k = pt_flame_kept(2, 0.5, 1);
	assert_true(fabs(k.mean - 0.75) < 1e-12 && fabs(k.variance - 0.1875) < 1e-12);
	k = pt_flame_kept(2, 0.5, 2);
	assert_true(fabs(k.mean - 1) < 1e-12 && fabs(k.variance - 0.5) < 1e-12);
	k = pt_flame_kept(1e6, 0.25, 1e6);
	assert_true(fabs(k.mean - 250000) < 1e-6 && fabs(k.variance - 187500) < 1e-6);
	/* Cut at its mean a normal law of standard deviation s loses s / sqrt(2 pi), and 1/2 - 1/(2 pi) of
	 * its variance is left; so large a binomial one is as good as normal. */
	k = pt_flame_kept(1e10, 0.5, 5e9);
	assert_true(fabs((5e9 - k.mean) / 50000 - 0.39894228) < 1e-3);
	assert_true(fabs(k.variance / 2.5e9 - (0.5 - 1 / (2 * acos(-1)))) < 1e-3);
	k = pt_flame_kept(1e6, 0.5, 5e5);
	assert_true(fabs((5e5 - k.mean) / 500 - 0.39894228) < 1e-3);
	assert_true(fabs(k.variance / 2.5e5 - (0.5 - 1 / (2 * acos(-1)))) < 1e-3);
}

/* ---- what is refused ---- */

static void a_peers_parameters_that_cannot_be_are_refused(void **state)
{
	static const char *const rows[] = { "ss-simple", "ss-double", "ss-topk" };
	const struct qy_query q = query_of_kind(QY_VECTOR), mean = query_of_kind(QY_MEAN);
	struct qy_query longer = q;

	(void)state;
	longer.dimension++;
	for (size_t i = 0; i < 3; i++) {
		const struct pt_protocol *row = pt_find(rows[i]);
		const struct pt_request r = {
			.epsilon0 = 2, .levels = 3, .slots = 2, .size = 2, .min_reports = 50
		};
		struct pt_randomizer good = made(rows[i], &q, &r), p;

#define REFUSED(change)                                                        \
	do {                                                                   \
		p = good;                                                      \
		change;                                                        \
		assert_int_equal(row->device->check(&q, &p, &err), CM_EPROTO); \
	} while (0)
		assert_int_equal(row->device->check(&mean, &good, &err), CM_EPROTO);
		assert_int_equal(row->device->check(&longer, &good, &err), CM_EPROTO);
		REFUSED(p.slots.kinds = 2);
		REFUSED(p.slots.slot[0].count++);
		REFUSED(p.slots.slot[0].count = 0);
		REFUSED(p.slots.slot[0].groups++);
		REFUSED(p.slots.slot[0].each.bins = 1);
		REFUSED(p.slots.slot[0].each.bins = UINT32_MAX);
		REFUSED(p.slots.slot[0].each.dummies = 2000);
		REFUSED(p.slots.slot[0].each.keep = 0);
		REFUSED((p.slots.slot[0].each.keep = 0, p.slots.slot[0].each.keep_always = true));
		REFUSED(p.shuffler.dummies = 1);
		REFUSED(p.shuffler.dummies = 1);
		if (i == 0)
			continue;
		REFUSED(p.shuffler.tags++);
		REFUSED(p.shuffler.tags = 0);
		REFUSED(p.shuffler.tag_messages = 0);
		REFUSED(p.shuffler.tag_messages = UINT64_MAX);
		if (i == 2) {
			REFUSED(p.topk.size = 0);
			REFUSED(p.topk.size = QUERIES_DIMENSION);
			REFUSED(p.topk.size = UINT32_MAX);
		}
#undef REFUSED
	}
}

/* A plan with such parameters would reserve budget for a round that no party takes. */
static void more_counts_than_a_round_may_have_are_not_planned(void **state)
{
	static const char *const names[] = { "ss-simple", "ss-double", "ss-topk" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct pt_protocol *row = pt_find(names[i]);
		struct qy_query q = query_of_kind(QY_VECTOR);
		struct pt_request r = { .epsilon0 = 1, .levels = 512, .padded = 1 };
		struct pt_randomizer p;

		q.dimension = 1024;
		assert_int_equal(pt_derive(row, &q, &r, &p, &err), CM_OK);
		assert_int_equal(row->device->check(&q, &p, &err), CM_OK);
		assert_int_equal(row->tallies(&p), 524288);
		r.levels++;
		assert_int_equal(pt_derive(row, &q, &r, &p, &err), CM_ECONFIG);
		assert_non_null(strstr(err.msg, "more than 524288 symbols"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_furthest_coordinates_are_sent),
		cmocka_unit_test(coordinates_in_the_middle_are_sent_at_random),
		cmocka_unit_test(a_chosen_coordinate_is_in_any_place),
		cmocka_unit_test(records_are_put_in_any_order),
		cmocka_unit_test(a_coordinate_of_each_group_is_sent),
		cmocka_unit_test(dummies_are_of_their_tag),
		cmocka_unit_test(what_is_kept_of_a_coordinate),
		cmocka_unit_test(a_peers_parameters_that_cannot_be_are_refused),
		cmocka_unit_test(more_counts_than_a_round_may_have_are_not_planned),
	};

	return RUN_SEEDED(tests, &rng, "flame_rows");
}
