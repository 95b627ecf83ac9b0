/* test_liars.c - what dishonest devices can have done: every record that a device can send, through the real
 * estimators, and all counts that honest devices can have sent, by enumeration. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "encode_in_room.h"
#include "es_law.h"
#include "pt_liars.h"
#include "pt_slots.h"
#include "queries.h"
#include "seeded.h"

/* at this number no row changes between exact laws and the normal law when a few devices are left out */
#define HONEST 230u
#define DRAWS  3000u
#define POOL   256u

static struct cm_err err;
static struct cr_rng rng;

static uint32_t below(uint32_t n)
{
	uint64_t v;

	rng.fill(rng.ctx, &v, sizeof v);
	return (uint32_t)(v % n);
}

/* A round: what honest devices sent, and all different records that were seen in many draws. */
struct round {
	struct qy_query q;
	struct pt_randomizer p;
	uint32_t messages, len, tallies, records;
	uint64_t *honest, *came;
	uint8_t *pool;
};

static void remember(struct round *r, const uint8_t *record)
{
	for (uint32_t j = 0; j < r->records; j++)
		if (memcmp(r->pool + (size_t)j * r->len, record, r->len) == 0)
			return;
	if (r->records < POOL)
		memcpy(r->pool + (size_t)r->records++ * r->len, record, r->len);
}

static void tally(const struct round *r, const uint8_t *record, uint64_t *counts)
{
	assert_int_equal(pt_protocol_of(r->p.row)->tally(&r->p, record, counts, &err), CM_OK);
}

static void play(struct round *r, const struct qy_query *q, const struct pt_randomizer *p)
{
	uint8_t *sent;

	*r = (struct round){ .q = *q,
		.p = *p,
		.messages = p->row->messages(p),
		.len = p->row->record_len(p),
		.tallies = pt_tallies(p) };
	r->honest = calloc(r->tallies, sizeof *r->honest);
	r->came = calloc(r->tallies, sizeof *r->came);
	r->pool = calloc(POOL, r->len);
	sent = calloc(r->messages, r->len);
	assert_true(r->honest && r->came && r->pool && sent);
	for (uint32_t i = 0; i < DRAWS; i++) {
		uint32_t at[QUERIES_DIMENSION];
		struct qy_value v = query_value(q, below(query_values(q)), at);

		v.level = p->row->class_epsilon0 ? i % 2 : 0;
		encode_in_room(p->row, q, p, &v, &rng, sent);
		for (uint32_t m = 0; m < r->messages; m++) {
			remember(r, sent + (size_t)m * r->len);
			if (i < HONEST)
				tally(r, sent + (size_t)m * r->len, r->honest);
		}
	}
	free(sent);
}

static void over(struct round *r)
{
	free(r->honest);
	free(r->came);
	free(r->pool);
}

/* What came if one liar sends this record again and again. */
static void with_liar(struct round *r, uint32_t record)
{
	memcpy(r->came, r->honest, r->tallies * sizeof *r->came);
	for (uint32_t m = 0; m < r->messages; m++)
		tally(r, r->pool + (size_t)record * r->len, r->came);
}

static struct es_honest *honest_of(const struct round *r, uint64_t liars, size_t items)
{
	const struct pt_crowd crowd = { .devices = HONEST + liars, .liars = liars };
	struct es_honest *h = calloc(items, sizeof *h);

	assert_non_null(h);
	if (pt_honest(&r->q, &r->p, r->came, &crowd, h, items, &err) != CM_OK)
		fail_msg("%s", err.msg);
	return h;
}

/* Rows whose bound on an item is not reached: `rotated` bounds the length of what liars add, and quantiles
 * are rounded to levels. */
static bool is_reached(const struct round *r)
{
	return strcmp(r->p.row->name, "rotated") != 0 && r->q.kind != QY_QUANTILES;
}

/* Rows whose intervals are those of their estimators: the others count with the largest variance. */
static bool has_own_intervals(const struct round *r)
{
	return (r->q.kind & (QY_HISTOGRAM | QY_MARGINALS | QY_RANGES | QY_SETS | QY_PREFIXES |
				    QY_QUANTILES)) != 0 &&
	       strncmp(r->p.row->name, "gspa", 4) != 0;
}

/* One item, for one record of the liar: the truth, which is what the estimator says of the honest messages
 * alone, is in the range, and *low and *high are how near its ends came to it. */
static void expect_item(const struct round *r, const struct qy_item *truth, const struct es_honest *h,
	double *low, double *high)
{
	double slack = 1e-9 * (1 + fabs(truth->value));

	if (!isnan(truth->value) && r->q.kind != QY_QUANTILES &&
		!(h->least <= truth->value + slack && truth->value <= h->most + slack))
		fail_msg("%s %s: %s is %.9g, not in [%.9g, %.9g]", r->p.row->name, qy_kind_name(r->q.kind),
			truth->label, truth->value, h->least, h->most);
	if (!(h->lower <= h->least && h->most <= h->upper && h->joint_lower <= h->lower &&
		    h->joint_upper >= h->upper))
		fail_msg("%s %s: %s has intervals out of order", r->p.row->name, qy_kind_name(r->q.kind),
			truth->label);
	if (has_own_intervals(r) && !(h->lower <= truth->lower + slack && h->upper >= truth->upper - slack &&
					    h->joint_lower <= truth->joint_lower + slack &&
					    h->joint_upper >= truth->joint_upper - slack))
		fail_msg("%s %s: the interval of %s leaves out that of the honest devices", r->p.row->name,
			qy_kind_name(r->q.kind), truth->label);
	*low = fmin(*low, fabs(truth->value - h->least) / (1 + fabs(truth->value)));
	*high = fmin(*high, fabs(truth->value - h->most) / (1 + fabs(truth->value)));
}

/* Who says that at most m lied says no less than who says that at most m + 1 did, as far as an answer can be
 * at all: a count is not below 0, nor a mean outside its range. */
static void expect_nested(const struct round *r, size_t items)
{
	bool counts = (r->q.kind & (QY_MEAN | QY_SUM | QY_VECTOR | QY_QUANTILES)) == 0;
	double low = counts ? 0 : r->q.kind == QY_SUM ? -INFINITY : r->q.low;
	double high = counts || r->q.kind == QY_SUM ? INFINITY : r->q.high;
	struct es_honest inner[64], outer[64];

	assert_true(items <= 64);
	for (uint64_t m = 0; m < 5; m++) {
		struct pt_crowd crowd = { .devices = HONEST, .liars = m };

		assert_int_equal(pt_honest(&r->q, &r->p, r->honest, &crowd, inner, items, &err), CM_OK);
		crowd.liars++;
		assert_int_equal(pt_honest(&r->q, &r->p, r->honest, &crowd, outer, items, &err), CM_OK);
		for (size_t i = 0; i < items; i++)
			if (!(outer[i].lower <= fmax(inner[i].lower, low) + 1e-9 &&
				    outer[i].upper >= fmin(inner[i].upper, high) - 1e-9 &&
				    outer[i].joint_lower <= fmax(inner[i].joint_lower, low) + 1e-9 &&
				    outer[i].joint_upper >= fmin(inner[i].joint_upper, high) - 1e-9))
				fail_msg(
					"%s %s: item %zu is in [%g, %g] with %d liars, in [%g, %g] with one more",
					r->p.row->name, qy_kind_name(r->q.kind), i, inner[i].lower,
					inner[i].upper, (int)m, outer[i].lower, outer[i].upper);
	}
}

/* The bound holds for every record of a liar, and for some record it is the truth itself. */
static void expect_worst(struct round *r)
{
	struct es_estimate truth;
	double *near;

	if (pt_answer(&r->q, &r->p, r->honest, HONEST, &truth, &err) != CM_OK)
		fail_msg("%s", err.msg);
	near = calloc(2 * truth.n, sizeof *near);
	assert_non_null(near);
	for (size_t i = 0; i < 2 * truth.n; i++)
		near[i] = INFINITY;
	for (uint32_t j = 0; j < r->records; j++) {
		struct es_honest *h;

		with_liar(r, j);
		h = honest_of(r, 1, truth.n);
		for (size_t i = 0; i < truth.n; i++)
			expect_item(r, &truth.item[i], &h[i], &near[2 * i], &near[2 * i + 1]);
		free(h);
	}
	for (size_t i = 0; is_reached(r) && i < 2 * truth.n; i++)
		if (!(near[i] < 1e-9))
			fail_msg("%s %s: no record brings %s nearer than %g to its %s end", r->p.row->name,
				qy_kind_name(r->q.kind), truth.item[i / 2].label, near[i],
				i % 2 == 0 ? "lower" : "upper");
	expect_nested(r, truth.n);
	free(near);
	es_estimate_fini(&truth);
}

static void try_query(const struct pt_protocol *row, const struct qy_query *q)
{
	const struct pt_request by_chance = {
		.epsilon0 = 2, .dummies = 1, .dummy_chance = UINT64_C(1) << 62, .min_reports = 1000
	};
	struct pt_randomizer p;
	struct round r;

	if (query_derive(row, q, 2, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	play(&r, q, &p);
	expect_worst(&r);
	over(&r);
	if (!row->device->rare_dummy || pt_derive(row, q, &by_chance, &p, &err) != CM_OK)
		return;
	play(&r, q, &p);
	expect_worst(&r);
	over(&r);
}

static void the_worst_record_of_every_row_is_the_bound(void **state)
{
	const struct pt_protocol *row;

	(void)state;
	for (size_t i = 0; (row = pt_row(i)); i++)
		for (unsigned kind = 1; kind <= QY_PLACES; kind <<= 1) {
			struct qy_query q = query_of_kind((enum qy_kind)kind);

			if ((row->device->kinds & kind) == 0)
				continue;
			try_query(row, &q);
			if ((row->device->none_symbol & kind) == 0 || kind == QY_PREFIXES)
				continue;
			q.none = QY_NONE_SYMBOL;
			try_query(row, &q);
		}
}

/* ---- Enumeration ---- */

/* All counts that honest devices can have sent, and the hull of the estimator's intervals over them. */
struct search {
	const struct round *r;
	uint64_t *left, devices, most_sent, least_sent;
	struct es_honest *hull;
	size_t items, tried;
};

static void add_candidate(struct search *s)
{
	struct es_estimate e;

	if (pt_answer(&s->r->q, &s->r->p, s->left, s->devices, &e, &err) != CM_OK)
		return;
	for (size_t i = 0; i < s->items; i++) {
		struct es_honest *h = &s->hull[i];

		h->least = fmin(h->least, e.item[i].value);
		h->most = fmax(h->most, e.item[i].value);
		h->lower = fmin(h->lower, e.item[i].lower);
		h->upper = fmax(h->upper, e.item[i].upper);
		h->joint_lower = fmin(h->joint_lower, e.item[i].joint_lower);
		h->joint_upper = fmax(h->joint_upper, e.item[i].joint_upper);
	}
	s->tried++;
	es_estimate_fini(&e);
}

/* Take up to `lied` messages away from tallies `at` and up, so that between least_sent and most_sent are
 * left. */
static void enumerate(struct search *s, uint32_t at, uint64_t lied, uint64_t all)
{
	uint64_t here = at < s->r->tallies ? s->left[at] : 0;

	if (at == s->r->tallies) {
		if (all >= s->least_sent && all <= s->most_sent)
			add_candidate(s);
		return;
	}
	for (uint64_t a = 0; a <= here && a <= lied; a++) {
		s->left[at] = here - a;
		enumerate(s, at + 1, lied - a, all - a);
	}
	s->left[at] = here;
}

/* Two liars send random records; the intervals are those of the enumeration. */
static void expect_hull(const char *name, enum qy_kind kind, const struct pt_request *request)
{
	struct qy_query q = query_of_kind(kind);
	struct pt_randomizer p;
	struct round r;
	struct search s;
	struct es_estimate e;
	struct es_honest *h;
	uint64_t all = 0;

	if (pt_derive(pt_find(name), &q, request, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	play(&r, &q, &p);
	memcpy(r.came, r.honest, r.tallies * sizeof *r.came);
	for (uint32_t m = 0; m < 2 * r.messages; m++)
		tally(&r, r.pool + (size_t)below(r.records) * r.len, r.came);
	assert_int_equal(pt_answer(&q, &p, r.honest, HONEST, &e, &err), CM_OK);
	s = (struct search){ .r = &r,
		.left = calloc(r.tallies, sizeof *s.left),
		.devices = HONEST,
		.hull = calloc(e.n, sizeof *s.hull),
		.items = e.n,
		.least_sent = (uint64_t)HONEST * (1 + request->dummies),
		.most_sent = (uint64_t)HONEST * r.messages };
	assert_true(s.left && s.hull);
	for (size_t i = 0; i < e.n; i++)
		s.hull[i] = (struct es_honest){ .lower = INFINITY,
			.upper = -INFINITY,
			.joint_lower = INFINITY,
			.joint_upper = -INFINITY };
	memcpy(s.left, r.came, r.tallies * sizeof *s.left);
	for (uint32_t i = 0; i < r.tallies; i++)
		all += r.came[i];
	enumerate(&s, 0, (uint64_t)2 * r.messages, all);
	assert_true(s.tried > 1);
	h = honest_of(&r, 2, e.n);
	for (size_t i = 0; i < e.n; i++) {
		const double got[] = { h[i].lower, h[i].upper, h[i].joint_lower, h[i].joint_upper };
		const double want[] = { s.hull[i].lower, s.hull[i].upper, s.hull[i].joint_lower,
			s.hull[i].joint_upper };

		for (size_t k = 0; k < sizeof got / sizeof *got; k++)
			if (!(fabs(got[k] - want[k]) <= 1e-9 * (1 + fabs(want[k]))))
				fail_msg("%s: end %zu of %s is %.9g, and by enumeration %.9g", name, k,
					e.item[i].label, got[k], want[k]);
	}
	free(h);
	free(s.left);
	free(s.hull);
	es_estimate_fini(&e);
	over(&r);
}

static void intervals_are_the_hull_over_all_that_honest_devices_can_have_sent(void **state)
{
	const struct pt_request plain = { .epsilon0 = 2, .min_reports = 1000 },
				dummies = { .epsilon0 = 2, .dummies = 1, .min_reports = 1000 },
				chance = { .epsilon0 = 2,
					.dummy_chance = UINT64_C(1) << 61,
					.min_reports = 1000 },
				certain = { .epsilon0 = (double)INFINITY, .dummies = 1, .min_reports = 1000 };

	(void)state;
	expect_hull("grr", QY_HISTOGRAM, &plain);
	expect_hull("mixbins", QY_HISTOGRAM, &dummies);
	expect_hull("mixbins", QY_HISTOGRAM, &chance);
	expect_hull("bins", QY_HISTOGRAM, &certain);
	expect_hull("parallel", QY_MARGINALS, &plain);
	expect_hull("hierarchy", QY_RANGES, &plain);
}

/* ---- How far a liar reaches, by the formulas of doc/liars.md ---- */

/* A histogram of 5 of so many devices, all of which came evenly: how much one liar can have added to a count,
 * and taken away. */
static void expect_reach(const char *name, double dummies, double up, double down)
{
	struct qy_query q = query_of_kind(QY_HISTOGRAM);
	const struct pt_request request = { .epsilon0 = dummies > 0 ? (double)INFINITY : 2,
		.dummies = (uint32_t)dummies,
		.min_reports = 1000 };
	struct round r;
	struct pt_randomizer p;
	struct es_estimate e;
	struct es_honest *h;

	if (pt_derive(pt_find(name), &q, &request, &p, &err) != CM_OK)
		fail_msg("%s", err.msg);
	play(&r, &q, &p);
	with_liar(&r, 0);
	assert_int_equal(pt_answer(&q, &p, r.came, HONEST + 1, &e, &err), CM_OK);
	h = honest_of(&r, 1, e.n);
	for (size_t i = 0; i < e.n; i++)
		if (!(fabs(e.item[i].value - h[i].least - up) < 1e-6 &&
			    fabs(h[i].most - e.item[i].value - down) < 1e-6))
			fail_msg("%s: a liar adds up to %g and takes up to %g, not %g and %g", name,
				e.item[i].value - h[i].least, h[i].most - e.item[i].value, up, down);
	free(h);
	es_estimate_fini(&e);
	over(&r);
}

static void a_liar_reaches_as_far_as_the_formulas_say(void **state)
{
	double e = exp(2), h = exp(1), p = e / (e + 4), q = 1 / (e + 4);

	(void)state;
	expect_reach("grr", 0, (1 - q) / (p - q), q / (p - q));
	expect_reach("rappor", 0, h / (h - 1), 1 / (h - 1));
	expect_reach("oue", 0, 2 * e / (e - 1), 2 / (e - 1));
	expect_reach("hadamard", 0, (e + 1) / (e - 1), (e + 1) / (e - 1));
	expect_reach("bins", 1, 2 - 1.0 / 5, 1.0 / 5);
}

/* ---- Words and classes that are counted apart ---- */

/* Every way to take `lied` messages away from the n tallies at `at`, and then from the next list. */
static void take_all(
	struct search *s, const uint32_t *ends, uint32_t list, uint32_t at, uint64_t lied, uint64_t each)
{
	uint64_t here = s->left[at];

	if (at + 1 == ends[list]) {
		if (lied > here)
			return;
		s->left[at] = here - lied;
		if (list == 0)
			take_all(s, ends, 1, at + 1, each, each);
		else
			add_candidate(s);
	} else {
		for (uint64_t a = 0; a <= here && a <= lied; a++) {
			s->left[at] = here - a;
			take_all(s, ends, list, at + 1, lied - a, each);
		}
	}
	s->left[at] = here;
}

/* Of HONEST + 5 devices 5 lie, of few words and three classes: no honest counts are outside. */
static void pooled_classes_hold_all_that_honest_devices_can_have_sent(void **state)
{
	static const enum qy_kind kinds[] = { QY_MEAN, QY_HISTOGRAM };
	const struct pt_request request = { .epsilon0 = 6,
		.levels = 4,
		.min_reports = 100,
		.classes = 3,
		.class_epsilon0 = { 0.5, 1.5, 6 },
		.class_least = { 2, 2, 2 } };
	/* the lowest and the highest word and the strongest classes can be emptied */
	static const uint64_t words[] = { 2, 103, 127, 3, 0 }, classes[] = { 228, 4, 3 };

	(void)state;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		struct round r = { .q = query_of_kind(kinds[k]) };
		struct search s = { .r = &r, .devices = HONEST };
		struct es_honest hull[5], *h;
		uint64_t came[8] = { 0 }, left[8];
		uint32_t ends[2];

		if (pt_derive(pt_find("gspa-pooled"), &r.q, &request, &r.p, &err) != CM_OK)
			fail_msg("%s", err.msg);
		ends[0] = r.p.slots.slot[0].each.bins;
		ends[1] = ends[0] + 3;
		assert_int_equal(pt_tallies(&r.p), ends[1]);
		memcpy(came, words, ends[0] * sizeof *came);
		memcpy(came + ends[0], classes, sizeof classes);
		memcpy(left, came, sizeof left);
		s.items = kinds[k] == QY_MEAN ? 1 : 5;
		for (size_t i = 0; i < s.items; i++)
			hull[i] = (struct es_honest){ INFINITY, -INFINITY, INFINITY, -INFINITY, INFINITY,
				-INFINITY };
		s.hull = hull;
		s.left = left;
		take_all(&s, ends, 0, 0, 5, 5);
		assert_true(s.tried > 100);
		r.came = came;
		h = honest_of(&r, 5, s.items);
		for (size_t i = 0; i < s.items; i++) {
			assert_true(h[i].lower <= hull[i].lower && hull[i].upper <= h[i].upper);
			assert_true(h[i].joint_lower <= hull[i].joint_lower &&
				    hull[i].joint_upper <= h[i].joint_upper);
			assert_true(fabs(h[i].least - hull[i].least) < 1e-9);
			assert_true(fabs(h[i].most - hull[i].most) < 1e-9);
		}
		free(h);
	}
}

/* ---- Liars who are seen ---- */

static void stuffed_slots_and_bad_messages_tell_of_liars(void **state)
{
	struct qy_query q = query_of_kind(QY_SUM);
	const struct pt_request request = { .epsilon0 = 4, .levels = 256, .min_reports = 1000 };
	uint64_t counts[16] = { 0 };
	struct pt_randomizer p;
	struct es_honest h;
	struct pt_crowd crowd = { .devices = 1000, .liars = 9 };

	(void)state;
	assert_int_equal(pt_derive(pt_find("digits"), &q, &request, &p, &err), CM_OK);
	assert_int_equal(p.row->messages(&p), 8);
	for (uint32_t i = 0; i < 16; i++)
		counts[i] = 500;
	assert_int_equal(pt_liars_seen(&p, counts, 1000, 0), 0);
	/* bad messages are whole devices' */
	assert_int_equal(pt_liars_seen(&p, counts, 1000, 8), 1);
	assert_int_equal(pt_liars_seen(&p, counts, 1000, 9), 2);
	/* ten of the thousand put all eight messages into the first slot */
	for (uint32_t i = 2; i < 16; i += 2)
		counts[i] -= 10;
	counts[1] += 70;
	assert_int_equal(pt_liars_seen(&p, counts, 1000, 0), 10);
	/* nine cannot have done that, so no interval holds for nine */
	assert_int_equal(pt_honest(&q, &p, counts, &crowd, &h, 1, &err), CM_EDATA);
	crowd.liars = 10;
	assert_int_equal(pt_honest(&q, &p, counts, &crowd, &h, 1, &err), CM_OK);
	/* The slots' totals say what the liars sent: 80 messages to the first, none to the others. */
	{
		double pk = exp(4) / (exp(4) + 1), more = 2 * pk - 1, unit = 10.0 / 255;

		assert_true(fabs((h.most - h.least) - unit * 128 * 80 / more) < 1e-6);
	}
	crowd.liars = crowd.devices;
	assert_int_equal(pt_honest(&q, &p, counts, &crowd, &h, 1, &err), CM_EDATA);
}

/* Of 100,000 devices 1,000 may lie, and as many messages came of each group as are expected: a liar that is
 * about this coordinate is hidden in the spread of the groups, and more are not. */
static void groups_that_are_not_too_large_hide_few_liars(void **state)
{
	struct qy_query q = query_of_kind(QY_VECTOR);
	const struct pt_request request = { .epsilon0 = 4, .slots = 1, .size = 1, .min_reports = 1000 };
	const struct pt_crowd crowd = { .devices = 102000, .liars = 2000 };
	/* a coordinate's tail, 0.9 * 5 % of a Sidak interval's of six: 2 * 0.5 (1 - 0.95^(1/6)) * 0.045 */
	double tail = 0.045 * (1 - pow(0.95, 1.0 / 6)), p = exp(4) / (exp(4) + 1);
	uint64_t counts[2 * QUERIES_DIMENSION];
	struct es_honest h[QUERIES_DIMENSION];
	struct pt_randomizer made;
	struct es_law law;
	double hidden;

	(void)state;
	assert_int_equal(pt_derive(pt_find("words"), &q, &request, &made, &err), CM_OK);
	assert_int_equal(made.slots.slot[0].groups, QUERIES_DIMENSION);
	for (uint32_t c = 0; c < QUERIES_DIMENSION; c++) {
		counts[c] = 8500;
		counts[QUERIES_DIMENSION + c] = 17000;
	}
	assert_true(es_law_binomial(&law, 100000, 1.0 / 6));
	hidden = 17000 - (double)es_law_lower(&law, tail);
	es_law_fini(&law);
	assert_true(hidden > 333 && hidden < 900);
	assert_int_equal(pt_honest(&q, &made, counts, &crowd, h, QUERIES_DIMENSION, &err), CM_OK);
	for (uint32_t c = 0; c < QUERIES_DIMENSION; c++) {
		assert_true(fabs(h[c].most - hidden * 6 / (100000 * (2 * p - 1))) < 1e-9);
		assert_true(fabs(h[c].least + h[c].most) < 1e-9);
	}
}

/* With no liars nothing changes. */
static void without_liars_the_answer_is_the_estimators(void **state)
{
	struct qy_query q = query_of_kind(QY_HISTOGRAM);
	struct pt_randomizer p;
	struct round r;
	struct es_estimate e;
	struct es_honest *h;

	(void)state;
	assert_int_equal(query_derive(pt_find("grr"), &q, 2, &p, &err), CM_OK);
	play(&r, &q, &p);
	memcpy(r.came, r.honest, r.tallies * sizeof *r.came);
	assert_int_equal(pt_answer(&q, &p, r.came, HONEST, &e, &err), CM_OK);
	h = honest_of(&r, 0, e.n);
	for (size_t i = 0; i < e.n; i++) {
		assert_memory_equal(&h[i].lower, &e.item[i].lower, sizeof(double));
		assert_memory_equal(&h[i].upper, &e.item[i].upper, sizeof(double));
		assert_memory_equal(&h[i].least, &e.item[i].value, sizeof(double));
	}
	free(h);
	es_estimate_fini(&e);
	over(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_worst_record_of_every_row_is_the_bound),
		cmocka_unit_test(intervals_are_the_hull_over_all_that_honest_devices_can_have_sent),
		cmocka_unit_test(a_liar_reaches_as_far_as_the_formulas_say),
		cmocka_unit_test(pooled_classes_hold_all_that_honest_devices_can_have_sent),
		cmocka_unit_test(stuffed_slots_and_bad_messages_tell_of_liars),
		cmocka_unit_test(groups_that_are_not_too_large_hide_few_liars),
		cmocka_unit_test(without_liars_the_answer_is_the_estimators),
	};

	return RUN_SEEDED(tests, &rng, "liars");
}
