/* test_flame_rows.c - coordinates in messages of their own: which are sent, where to, and what a round of
 * them costs, by enumeration. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pt_flame_analysis.h"
#include "queries.h"
#include "seeded.h"

static struct cm_err err;
static struct cr_rng rng;

static struct pt_randomizer made(const char *row, const struct qy_query *q, const struct pt_request *r)
{
	struct pt_randomizer p;

	if (pt_derive(pt_find(row), q, r, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(pt_find(row)->device->check(q, &p, &err), CM_OK);
	return p;
}

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

		pt_find("ss-topk")->device->encode(&q, &p, &v, &rng, records);
		pt_find("ss-topk")->device->route(&p, &v, records, tag);
		for (uint32_t m = 0; m < 3; m++) {
			assert_int_equal(tag[m], symbol(records + m * PT_RECORD_LEN) / 3);
			seen[tag[m]] = true;
		}
		for (uint32_t m = 0; m < 3; m++)
			assert_true(seen[cases[i].sent[m]]);
	}
}

/* Where the value's message stands among the client's dummies says nothing: each place equally often. */
/* Of those in the middle any are sent: by its tags nobody knows a device that has no reading. */
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
		pt_find("ss-topk")->device->encode(&q, &p, &v, &rng, records);
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

		pt_find("ss-topk")->device->encode(&q, &p, &v, &rng, records);
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
		uint64_t a, b;

		for (uint64_t k = 0; k < 3; k++)
			pt_record_put(records + k * PT_RECORD_LEN, k);
		pt_record_permute(records, 3, &rng);
		a = symbol(records);
		b = symbol(records + PT_RECORD_LEN);
		assert_true(a != b && a < 3 && b < 3);
		assert_int_equal(symbol(records + 2 * PT_RECORD_LEN), 3 - a - b);
		seen[a * 2 + (b > a ? b - 1 : b)]++;
	}
	for (size_t i = 0; i < 6; i++)
		assert_true(fabs(seen[i] / runs - 1.0 / 6) < 5 * sqrt(5.0 / 36 / runs));
}

/* One of each group, each of a group equally often, at the tag of its coordinate. */
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

		pt_find("ss-double")->device->encode(&q, &p, &v, &rng, records);
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

/* A dummy of a tag is of its coordinate, and uniform on the levels. */
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

/* ---- what it costs ---- */

/* Two coordinates of one bit each; every device sends one of them, the shuffler leaves ROOM of each.  The law
 * of the ones among them. */
#define ROOM   2
#define DEVICE 3

struct evened {
	double mass[ROOM + 1][ROOM + 1];
};

/* P(ones) of a coordinate of which these bits were sent: dropped or filled up to ROOM. */
static void even(const unsigned *bit, unsigned sent, double ones[ROOM + 1])
{
	static const double fair[3][3] = { { 1, 0, 0 }, { 0.5, 0.5, 0 }, { 0.25, 0.5, 0.25 } };

	memset(ones, 0, (ROOM + 1) * sizeof *ones);
	if (sent <= ROOM) {
		unsigned real = 0;

		for (unsigned i = 0; i < sent; i++)
			real += bit[i];
		for (unsigned k = 0; k <= ROOM - sent; k++)
			ones[real + k] += fair[ROOM - sent][k];
	} else { /* three, of which one goes */
		for (unsigned out = 0; out < 3; out++)
			ones[bit[0] + bit[1] + bit[2] - bit[out]] += 1.0 / 3;
	}
}

/* chance[device][coordinate]: that it sends this one; p: that a bit is told truly. */
static void law_of(double chance[DEVICE][2], unsigned bits[DEVICE][2], double p, struct evened *l)
{
	memset(l, 0, sizeof *l);
	for (unsigned where = 0; where < 1u << DEVICE; where++)
		for (unsigned shown = 0; shown < 1u << DEVICE; shown++) {
			unsigned sent[2] = { 0 }, bit[2][DEVICE];
			double mass = 1, ones[2][ROOM + 1];

			for (unsigned d = 0; d < DEVICE; d++) {
				unsigned c = where >> d & 1, b = shown >> d & 1;

				mass *= chance[d][c] * (b == bits[d][c] ? p : 1 - p);
				bit[c][sent[c]++] = b;
			}
			even(bit[0], sent[0], ones[0]);
			even(bit[1], sent[1], ones[1]);
			for (unsigned i = 0; i <= ROOM; i++)
				for (unsigned j = 0; j <= ROOM; j++)
					l->mass[i][j] += mass * ones[0][i] * ones[1][j];
		}
}

static double hockey(const struct evened *a, const struct evened *b, double epsilon)
{
	double sum = 0;

	for (unsigned i = 0; i <= ROOM; i++)
		for (unsigned j = 0; j <= ROOM; j++)
			sum += fmax(0, a->mass[i][j] - exp(epsilon) * b->mass[i][j]);
	return sum;
}

static const double epsilons[] = { 0, 0.2, 0.7, 1.5 };

static void expect_charged(const struct pt_loss *loss, const double *worst)
{
	for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++) {
		struct acct_bound delta;

		assert_int_equal(acct_delta(loss->part, loss->parts, epsilons[i], &delta), ACCT_OK);
		if (worst[i] > delta.upper * (1 + 1e-9))
			fail_msg("%g is charged, %g the truth", delta.upper, worst[i]);
		assert_true(worst[0] > 0.05);
	}
}

static void a_round_of_double_costs_no_more_than_is_charged(void **state)
{
	struct qy_query q = query_of_kind(QY_VECTOR);
	const struct pt_request r = { .epsilon0 = 1.5, .levels = 2, .slots = 1, .padded = ROOM };
	static double either[DEVICE][2] = { { 0.5, 0.5 }, { 0.5, 0.5 }, { 0.5, 0.5 } };
	double worst[4] = { 0 };
	struct pt_randomizer p;
	struct pt_loss loss;

	(void)state;
	q.dimension = 2;
	p = made("ss-double", &q, &r);
	assert_int_equal(pt_loss(&p, DEVICE, &loss, &err), CM_OK);
	for (unsigned all = 0; all < 64; all++) {
		unsigned bits[DEVICE][2];
		struct evened here, there;

		for (unsigned k = 0; k < 6; k++)
			bits[k / 2][k % 2] = all >> k & 1;
		law_of(either, bits, pt_mixbins_keep(&p.slots.slot[0].each), &here);
		for (unsigned other = 0; other < 4; other++) {
			bits[0][0] = other & 1;
			bits[0][1] = other >> 1;
			law_of(either, bits, pt_mixbins_keep(&p.slots.slot[0].each), &there);
			for (size_t i = 0; i < 4; i++)
				worst[i] = fmax(worst[i], hockey(&here, &there, epsilons[i]));
		}
	}
	expect_charged(&loss, worst);
}

/* The victim's values say which coordinate it sends, as everybody's do. */
static void a_round_of_topk_costs_no_more_than_is_charged(void **state)
{
	struct qy_query q = query_of_kind(QY_VECTOR);
	const struct pt_request r = { .epsilon0 = 1.5, .levels = 2, .size = 1, .padded = ROOM };
	double worst[4] = { 0 };
	struct pt_randomizer p;
	struct pt_loss loss;

	(void)state;
	q.dimension = 2;
	p = made("ss-topk", &q, &r);
	assert_int_equal(pt_loss(&p, DEVICE, &loss, &err), CM_OK);
	assert_int_equal(loss.part[0].count, 2);
	for (unsigned all = 0; all < 64; all++)
		for (unsigned other = 0; other < 4; other++) {
			double chance[DEVICE][2];
			unsigned bits[DEVICE][2];
			struct evened here, there;

			for (unsigned d = 0; d < DEVICE; d++) {
				unsigned c = all >> (2 * d) & 1;

				chance[d][c] = 1;
				chance[d][!c] = 0;
				bits[d][0] = bits[d][1] = all >> (2 * d + 1) & 1;
			}
			law_of(chance, bits, pt_mixbins_keep(&p.slots.slot[0].each), &here);
			chance[0][other & 1] = 1;
			chance[0][!(other & 1)] = 0;
			bits[0][0] = bits[0][1] = other >> 1;
			law_of(chance, bits, pt_mixbins_keep(&p.slots.slot[0].each), &there);
			for (size_t i = 0; i < 4; i++)
				worst[i] = fmax(worst[i], hockey(&here, &there, epsilons[i]));
		}
	expect_charged(&loss, worst);
	/* Without the shuffler's messages nothing hides how many sent a coordinate. */
	pt_without_shuffler(&p);
	assert_int_equal(pt_loss(&p, DEVICE, &loss, &err), CM_OK);
	struct acct_bound epsilon;
	assert_int_equal(acct_epsilon(loss.part, loss.parts, 1e-3, &epsilon), ACCT_OK);
	assert_true(isinf(epsilon.upper));
}

static void chosen_coordinates_have_no_local_guarantee(void **state)
{
	const struct qy_query q = query_of_kind(QY_VECTOR);
	const struct pt_request r = { .epsilon0 = 1.5, .min_reports = 10 };
	struct pt_randomizer p = made("ss-topk", &q, &r);

	(void)state;
	assert_true(isinf(pt_find("ss-topk")->device->epsilon0(&p)) &&
		    pt_find("ss-topk")->device->routes_by_value);
	p = made("ss-double", &q, &r);
	assert_true(pt_find("ss-double")->device->epsilon0(&p) <= 1.5 &&
		    !pt_find("ss-double")->device->routes_by_value);
}

/* The number after the n-th "nu = " of what is shown with a result. */
static double nu_shown(const struct qy_query *q, const struct pt_randomizer *p, int n)
{
	char text[400];
	const char *at = text;

	pt_find("ss-topk")->statement(q, p, 1000, 5e-6, text, sizeof text);
	assert_true(strlen(text) + 1 < sizeof text);
	for (; n > 0 && at; n--)
		at = strstr(at + 1, "nu = ");
	return at ? strtod(at + 5, NULL) : NAN;
}

/* Devices whose k furthest coordinates are any k: how often one that was sent was chosen, as the shuffler
 * counts tags, is what nu says. */
static void tags_tell_the_shuffler_what_is_shown(void **state)
{
	const struct qy_query q = query_of_kind(QY_VECTOR);
	double runs = 20000;

	(void)state;
	for (uint32_t m = 0; m <= 6; m += 3) {
		const struct pt_request r = {
			.epsilon0 = 16, .levels = 2, .size = 2, .dummies = m, .padded = 9
		};
		struct pt_randomizer p = made("ss-topk", &q, &r);
		double sent = 0, chosen = 0, prior = 2.0 / QUERIES_DIMENSION;

		for (int i = 0; i < (int)runs; i++) {
			uint32_t at[QUERIES_DIMENSION], top[2] = { (uint32_t)cr_rng_below(&rng, 6), 0 };
			struct qy_value v = { .at = at };
			uint8_t records[8 * PT_RECORD_LEN];
			bool seen[QUERIES_DIMENSION] = { false };
			uint16_t tag[8];

			top[1] = (top[0] + 1 + (uint32_t)cr_rng_below(&rng, 5)) % 6;
			for (uint32_t c = 0; c < QUERIES_DIMENSION; c++)
				at[c] = c == top[0] || c == top[1] ? UINT32_C(1) << 31 : UINT32_C(1) << 30;
			pt_find("ss-topk")->device->encode(&q, &p, &v, &rng, records);
			pt_find("ss-topk")->device->route(&p, &v, records, tag);
			for (uint32_t k = 0; k < 2 + m; k++)
				seen[tag[k]] = true;
			for (uint32_t c = 0; c < QUERIES_DIMENSION; c++) {
				sent += seen[c];
				chosen += seen[c] && (c == top[0] || c == top[1]);
			}
		}
		assert_true(fabs(chosen / sent / prior - nu_shown(&q, &p, 1)) < 5 / prior / sqrt(sent));
	}
}

/* FLAME's own point: its Theorem 5 has 3.125 whatever devices send. */
static void index_privacy_is_that_of_the_dummies_sent(void **state)
{
	static const struct {
		uint32_t dummies;
		double nu;
	} row[] = { { 0, 50 }, { 15, 45.72 }, { 100, 30.86 }, { 867, 8.165 } };
	struct qy_query q = query_of_kind(QY_VECTOR);

	(void)state;
	q.dimension = 7850;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const struct pt_request r = {
			.epsilon0 = 0.5, .levels = 2, .size = 157, .padded = 333, .dummies = row[i].dummies
		};
		struct pt_randomizer p = made("ss-topk", &q, &r);

		assert_float_equal(nu_shown(&q, &p, 1), row[i].nu, 1e-9);
		if (row[i].dummies > 0)
			assert_float_equal(nu_shown(&q, &p, 2), 50, 1e-9);
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

/* A plan with them would reserve budget for a round that no party takes. */
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
		cmocka_unit_test(a_round_of_double_costs_no_more_than_is_charged),
		cmocka_unit_test(a_round_of_topk_costs_no_more_than_is_charged),
		cmocka_unit_test(chosen_coordinates_have_no_local_guarantee),
		cmocka_unit_test(tags_tell_the_shuffler_what_is_shown),
		cmocka_unit_test(index_privacy_is_that_of_the_dummies_sent),
		cmocka_unit_test(what_is_kept_of_a_coordinate),
		cmocka_unit_test(a_peers_parameters_that_cannot_be_are_refused),
		cmocka_unit_test(more_counts_than_a_round_may_have_are_not_planned),
	};

	return RUN_SEEDED(tests, &rng, "flame_rows");
}
