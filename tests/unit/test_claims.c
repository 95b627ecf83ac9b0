/* test_claims.c - how many liars a claim about an answer stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode_in_room.h"
#include "pt_liars.h"
#include "queries.h"
#include "seeded.h"

#define HONEST 230u

static struct cm_err err;
static struct cr_rng rng;

/* A round, and what honest devices sent in it. */
struct round {
	struct qy_query q;
	struct pt_randomizer p;
	uint64_t *came;
};

/* Most devices hold one value, so that some claims stand. */
static void play(struct round *r, const struct qy_query *q, const struct pt_randomizer *p)
{
	uint32_t messages = p->row->messages(p), len = p->row->record_len(p);
	uint8_t *sent = calloc(messages, len);

	*r = (struct round){ .q = *q, .p = *p, .came = calloc(pt_tallies(p), sizeof *r->came) };
	assert_true(sent && r->came);
	for (uint32_t i = 0; i < HONEST; i++) {
		uint32_t at[QUERIES_DIMENSION];
		struct qy_value v = query_value(q, i % 3 == 0 ? i % query_values(q) : 1, at);

		v.level = p->row->class_epsilon0 ? i % 2 : 0;
		encode_in_room(p->row, q, p, &v, &rng, sent);
		for (uint32_t m = 0; m < messages; m++)
			assert_int_equal(
				pt_protocol_of(p->row)->tally(p, sent + (size_t)m * len, r->came, &err),
				CM_OK);
	}
	free(sent);
}

/* Whether the claim about each of the items stands if so many of the devices lied. */
static void claims_of(
	const struct round *r, uint64_t devices, uint64_t liars, double above, bool *stands, size_t items)
{
	const struct pt_crowd crowd = { .devices = devices, .liars = liars };
	struct es_honest *h = calloc(items, sizeof *h);

	assert_non_null(h);
	if (pt_honest(&r->q, &r->p, r->came, &crowd, h, items, &err) != CM_OK)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < items; i++)
		stands[i] = h[i].joint_lower > above;
	free(h);
}

/* Of honest messages alone: the numbers of liars are those that trying one after the other finds. */
static void expect_claims(const struct pt_protocol *row, const struct qy_query *q, double above)
{
	const struct pt_crowd nobody = { .devices = HONEST };
	struct pt_randomizer p;
	struct es_estimate e;
	struct round r;
	int64_t *found, *tried;
	bool *stands;

	assert_int_equal(query_derive(row, q, 2, &p, &err), CM_OK);
	play(&r, q, &p);
	assert_int_equal(pt_answer(q, &p, r.came, HONEST, &e, &err), CM_OK);
	found = calloc(e.n, sizeof *found);
	tried = calloc(e.n, sizeof *tried);
	stands = calloc(e.n, sizeof *stands);
	assert_true(found && tried && stands);
	for (size_t i = 0; i < e.n; i++)
		tried[i] = PT_NO_CLAIM;
	for (uint64_t m = 0; m < HONEST; m++) {
		claims_of(&r, HONEST, m, above, stands, e.n);
		for (size_t i = 0; i < e.n; i++)
			if (stands[i])
				tried[i] = (int64_t)m;
	}
	if (pt_holds_to(q, &p, r.came, &nobody, above, found, e.n, &err) != CM_OK)
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < e.n; i++)
		if (found[i] != tried[i])
			fail_msg("%s %s: item %zu is above %g with up to %lld liars, not %lld",
				row->device->name, qy_kind_name(q->kind), i, above, (long long)tried[i],
				(long long)found[i]);
	free(stands);
	free(tried);
	free(found);
	es_estimate_fini(&e);
	free(r.came);
}

static void a_claim_stands_to_the_last_number_of_liars(void **state)
{
	const struct pt_protocol *row;

	(void)state;
	for (size_t i = 0; (row = pt_row(i)); i++)
		for (unsigned kind = 1; kind <= QY_PLACES; kind <<= 1) {
			struct qy_query q = query_of_kind((enum qy_kind)kind);

			if ((row->device->kinds & kind) == 0)
				continue;
			expect_claims(row, &q, kind == QY_SUM ? 500 : 0);
		}
}

/* Of many items a number may be a 64th too small, and is never too large. */
static void of_many_items_no_claim_holds_to_more_than_it_does(void **state)
{
	enum { ITEMS = PT_HOLDS_EXACT + 2, DEVICES = 200000 };
	static char *category[ITEMS], name[ITEMS][16];
	const struct pt_request request = { .epsilon0 = 4, .min_reports = 1000 };
	const struct pt_crowd nobody = { .devices = DEVICES };
	struct round r = { .q = query_of_kind(QY_HISTOGRAM) };
	uint64_t counts[ITEMS], sum = 0;
	int64_t found[ITEMS];
	bool stands[ITEMS];

	(void)state;
	for (int i = 0; i < ITEMS; i++) {
		(void)snprintf(name[i], sizeof name[i], "c%d", i);
		category[i] = name[i];
		counts[i] = 1000 + (uint64_t)i * 50;
		sum += counts[i];
	}
	counts[ITEMS - 1] += DEVICES - sum;
	r.q.category = category;
	r.q.categories = ITEMS;
	r.came = counts;
	assert_int_equal(pt_derive(pt_find("grr"), &r.q, &request, &r.p, &err), CM_OK);
	assert_int_equal(pt_holds_to(&r.q, &r.p, counts, &nobody, 0, found, ITEMS, &err), CM_OK);
	assert_int_equal(found[0], PT_NO_CLAIM);
	assert_true(found[ITEMS - 1] > 1000);
	for (int i = 0; i < ITEMS; i++) {
		if (found[i] == PT_NO_CLAIM)
			continue;
		claims_of(&r, DEVICES, (uint64_t)found[i], 0, stands, ITEMS);
		assert_true(stands[i]);
		claims_of(&r, DEVICES, (uint64_t)(found[i] + found[i] / 64 + 1), 0, stands, ITEMS);
		assert_false(stands[i]);
	}
}

/* All of 1000 devices are honest, hold the first category, or read the lowest number, and 100 are assumed to
 * lie: what they all hold, and the sum of what they all read, are in the intervals. */
static void if_fewer_lie_the_answer_of_all_is_in_the_interval(void **state)
{
	static const enum qy_kind kinds[] = { QY_HISTOGRAM, QY_SUM };
	static const char *const rows[] = { "grr", "levels" };
	static const double truth[] = { 1000, 5000 };
	const struct pt_request request = { .epsilon0 = 8, .levels = 3, .min_reports = 1000 };
	const struct pt_crowd crowd = { .devices = 1000, .liars = 100 };

	(void)state;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		uint64_t counts[5] = { 999, 1 };
		struct qy_query q = query_of_kind(kinds[k]);
		struct pt_randomizer p;
		struct es_honest h[5];

		if (kinds[k] == QY_SUM)
			q.low = 5;
		assert_int_equal(pt_derive(pt_find(rows[k]), &q, &request, &p, &err), CM_OK);
		assert_true(pt_tallies(&p) <= 5);
		assert_int_equal(
			pt_honest(&q, &p, counts, &crowd, h, kinds[k] == QY_SUM ? 1 : 5, &err), CM_OK);
		assert_true(h[0].lower <= truth[k] && truth[k] <= h[0].upper);
		assert_true(h[0].joint_lower <= truth[k] && truth[k] <= h[0].joint_upper);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_claim_stands_to_the_last_number_of_liars),
		cmocka_unit_test(of_many_items_no_claim_holds_to_more_than_it_does),
		cmocka_unit_test(if_fewer_lie_the_answer_of_all_is_in_the_interval),
	};

	return RUN_SEEDED(tests, &rng, "claims");
}
