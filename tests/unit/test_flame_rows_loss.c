/* test_flame_rows_loss.c - what a round of coordinates in messages of their own costs and shows, by
 * enumeration. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode_in_room.h"
#include "flame_made.h"
#include "pt_flame_analysis.h"
#include "queries.h"
#include "seeded.h"

static struct cr_rng rng;

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

/* As for everybody, the victim's values say which coordinate it sends. */
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

/* The k furthest coordinates of the devices are any k: how often a coordinate that was sent had been chosen,
 * as the shuffler counts tags, is what nu says. */
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
			encode_in_room(pt_find("ss-topk")->device, &q, &p, &v, &rng, records);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_round_of_double_costs_no_more_than_is_charged),
		cmocka_unit_test(a_round_of_topk_costs_no_more_than_is_charged),
		cmocka_unit_test(chosen_coordinates_have_no_local_guarantee),
		cmocka_unit_test(tags_tell_the_shuffler_what_is_shown),
		cmocka_unit_test(index_privacy_is_that_of_the_dummies_sent),
	};

	return RUN_SEEDED(tests, &rng, "flame_rows");
}
