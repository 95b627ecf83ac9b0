/* test_liars_estimates.c - intervals for liars over many random rounds of every row: they hold the honest
 * devices' answer under each attack, also under those that narrow what an estimator states.
 *
 * Seeded, so that a run repeats; PROPERTY_RUNS multiplies the rounds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode_in_room.h"
#include "pt_liars.h"
#include "queries.h"
#include "seeded.h"

#define DEVICES 1000u
#define LIARS   50u
#define HONEST  (DEVICES - LIARS)
#define POOL    300u
#define ROUNDS  60

/* What all liars do: all of their messages are the record that raises the first item most, that lowers it
 * most, that makes its stated interval narrowest, or any one record; or they send nothing that the round
 * accepts. */
enum attack { RAISE, LOWER, NARROW, ANY, BAD, ATTACKS };

static struct cm_err err;
static struct cr_rng rng;

static uint32_t below(uint32_t n)
{
	uint64_t v;

	rng.fill(rng.ctx, &v, sizeof v);
	return (uint32_t)(v % n);
}

struct scene {
	const struct pt_protocol *row;
	struct qy_query q;
	struct pt_randomizer p;
	uint32_t messages, len, records;
	uint64_t *counts;
	uint8_t *pool, *sent;
	double number[HONEST]; /* what the honest devices hold, as far as the first item is about it */
};

/* Values that rows promise to answer for: sets of at most two items, rotated vectors of bounded length. */
static struct qy_value draw(const struct scene *s, uint32_t *index, uint32_t *at)
{
	struct qy_value v;

	*index = s->q.kind != QY_QUANTILES && below(2) == 0 ? 0 : below(query_values(&s->q));
	while (s->q.kind == QY_SETS && __builtin_popcount(*index) > 2)
		*index = below(query_values(&s->q));
	v = query_value(&s->q, *index, at);
	for (uint32_t c = 0; strcmp(s->row->device->name, "rotated") == 0 && c < s->q.dimension; c++)
		at[c] = (uint32_t)(0x1p30 * (1 + (at[c] != 0 ? 1 : -1) / sqrt(QUERIES_DIMENSION)));
	v.level = s->row->device->class_epsilon0 ? below(2) : 0;
	return v;
}

static double held(const struct scene *s, const struct qy_value *v, uint32_t index)
{
	const struct qy_query *q = &s->q;

	switch (q->kind) {
	case QY_HISTOGRAM:
	case QY_PLACES:
	case QY_PREFIXES:
		return index == 0;
	case QY_SETS:
		return index & 1;
	case QY_MARGINALS:
		return v->at[0] == 0 && v->at[1] == 0;
	case QY_RANGES:
		return (double)v->x * 3 < 0x1p32;
	case QY_VECTOR:
		return q->low + (q->high - q->low) * v->at[0] / 0x1p31;
	case QY_MEAN:
	case QY_SUM:
	case QY_QUANTILES:
		return q->low + (q->high - q->low) * (double)v->x / 0x1p32;
	}
	return NAN;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The first item's truth. */
static double truth_of(struct scene *s)
{
	double sum = 0;

	if (s->q.kind == QY_QUANTILES) {
		qsort(s->number, HONEST, sizeof *s->number, by_size);
		return s->number[(HONEST + 3) / 4 - 1];
	}
	for (uint32_t i = 0; i < HONEST; i++)
		sum += s->number[i];
	return s->q.kind == QY_MEAN || s->q.kind == QY_VECTOR ? sum / HONEST : sum;
}

static void tally(struct scene *s, const uint8_t *record)
{
	assert_int_equal(s->row->tally(&s->p, record, s->counts, &err), CM_OK);
}

static void send_honest(struct scene *s)
{
	memset(s->counts, 0, s->row->tallies(&s->p) * sizeof *s->counts);
	for (uint32_t i = 0; i < HONEST; i++) {
		uint32_t at[QUERIES_DIMENSION], index;
		struct qy_value v = draw(s, &index, at);

		s->number[i] = held(s, &v, index);
		encode_in_room(s->row->device, &s->q, &s->p, &v, &rng, s->sent);
		for (uint32_t m = 0; m < s->messages; m++) {
			const uint8_t *record = s->sent + (size_t)m * s->len;
			bool known = false;

			tally(s, record);
			for (uint32_t j = 0; j < s->records && !known; j++)
				known = memcmp(s->pool + (size_t)j * s->len, record, s->len) == 0;
			if (!known && s->records < POOL)
				memcpy(s->pool + (size_t)s->records++ * s->len, record, s->len);
		}
	}
}

static void send_liars(struct scene *s, const uint8_t *record)
{
	for (uint32_t i = 0; record && i < LIARS * s->messages; i++)
		tally(s, record);
}

/* Find the records of the attacks, on counts that honest devices sent. */
static void choose(struct scene *s, const uint8_t *best[ATTACKS])
{
	uint32_t tallies = s->row->tallies(&s->p);
	uint64_t *kept = calloc(tallies, sizeof *kept);
	double high = -INFINITY, low = INFINITY, narrow = INFINITY;

	assert_non_null(kept);
	memcpy(kept, s->counts, tallies * sizeof *kept);
	for (uint32_t j = 0; j < s->records; j++) {
		const uint8_t *record = s->pool + (size_t)j * s->len;
		struct es_estimate e;

		send_liars(s, record);
		if (pt_answer(&s->q, &s->p, s->counts, DEVICES, &e, &err) != CM_OK)
			fail_msg("%s", err.msg);
		if (e.item[0].value > high) {
			high = e.item[0].value;
			best[RAISE] = record;
		}
		if (e.item[0].value < low) {
			low = e.item[0].value;
			best[LOWER] = record;
		}
		if (e.item[0].upper - e.item[0].lower < narrow) {
			narrow = e.item[0].upper - e.item[0].lower;
			best[NARROW] = record;
		}
		es_estimate_fini(&e);
		memcpy(s->counts, kept, tallies * sizeof *kept);
	}
	free(kept);
}

/* How many rounds were covered: by the intervals for liars, and by those that the estimator states. */
struct cover {
	double rounds, liars, stated;
};

static void one_round(struct scene *s, const uint8_t *record, struct cover *c)
{
	static const struct pt_crowd crowd = { .devices = DEVICES, .liars = LIARS };
	struct es_estimate e;
	struct es_honest *h;
	double truth;

	send_honest(s);
	send_liars(s, record);
	truth = truth_of(s);
	if (pt_answer(&s->q, &s->p, s->counts, DEVICES, &e, &err) != CM_OK)
		fail_msg("%s", err.msg);
	h = calloc(e.n, sizeof *h);
	assert_non_null(h);
	if (pt_honest(&s->q, &s->p, s->counts, &crowd, h, e.n, &err) != CM_OK)
		fail_msg("%s", err.msg);
	c->rounds++;
	c->liars += h[0].lower <= truth && truth <= h[0].upper;
	c->stated += e.item[0].lower <= truth && truth <= e.item[0].upper;
	free(h);
	es_estimate_fini(&e);
}

static int runs_factor(void)
{
	const char *text = getenv("PROPERTY_RUNS");

	return text ? (int)strtol(text, NULL, 10) : 1;
}

/* Returns the worst share of rounds in which the stated interval holds the honest devices' answer. */
static double check(const struct pt_protocol *row, enum qy_kind kind)
{
	static const char *const name[] = { "raise", "lower", "narrow", "any", "bad" };
	struct scene s = { .row = row, .q = query_of_kind(kind) };
	const uint8_t *best[ATTACKS] = { 0 };
	double worst = 1;

	if (query_derive(row, &s.q, 2, &s.p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	s.messages = row->device->messages(&s.p);
	s.len = row->device->record_len(&s.p);
	s.counts = calloc(row->tallies(&s.p), sizeof *s.counts);
	s.pool = calloc(POOL, s.len);
	s.sent = calloc(s.messages, s.len);
	assert_true(s.counts && s.pool && s.sent);
	send_honest(&s);
	send_honest(&s);
	choose(&s, best);
	for (int a = 0; a < ATTACKS; a++) {
		struct cover c = { 0 };

		for (int i = 0; i < ROUNDS * runs_factor(); i++)
			one_round(&s, a == ANY ? s.pool + (size_t)below(s.records) * s.len : best[a], &c);
		if (c.liars / c.rounds < 0.95 - 4 * sqrt(0.05 * 0.95 / c.rounds))
			fail_msg("%s %s, %s: the interval for liars holds in %g of the rounds",
				row->device->name, qy_kind_name(kind), name[a], c.liars / c.rounds);
		worst = fmin(worst, c.stated / c.rounds);
	}
	free(s.counts);
	free(s.pool);
	free(s.sent);
	return worst;
}

/* The attacks are attacks: without the widening most rows' intervals seldom hold the honest answer. */
static void intervals_for_liars_hold_under_every_attack(void **state)
{
	const struct pt_protocol *row;
	int rows = 0, misled = 0;

	(void)state;
	for (size_t i = 0; (row = pt_row(i)); i++)
		for (unsigned kind = 1; kind <= QY_PLACES; kind <<= 1) {
			double stated;

			/* what ss-topk answers is no function of the first coordinate alone */
			if ((row->device->kinds & kind) == 0 || strcmp(row->device->name, "ss-topk") == 0)
				continue;
			stated = check(row, (enum qy_kind)kind);
			rows++;
			misled += stated < 0.5;
			print_message("%s %s: stated intervals hold in %.2f at worst\n", row->device->name,
				qy_kind_name((enum qy_kind)kind), stated);
		}
	assert_true(2 * misled > rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_for_liars_hold_under_every_attack),
	};

	return RUN_SEEDED(tests, &rng, "liars_estimates");
}
