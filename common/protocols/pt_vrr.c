/* pt_vrr.c - vector randomized response: the signs of some coordinates in one message, each flipped alike. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pt_exact.h"
#include "pt_record.h"
#include "pt_rows.h"
#include "pt_slots.h"
#include "pt_vector.h"

/* size = s coordinates of d, evenly spaced from a uniform start: coordinate t of them is start + floor(t d /
 * s) modulo d, so every coordinate is in s of the d subsets.  slot[0].groups = d, slot[0].bins = 2, and keep
 * is a sign's.  A record's value is start * 2^16 + signs. */

#define SIZE_MAX_COORDINATES 16u
#define SIGNS_MASK           UINT64_C(0xffff)

static const char name[] = "vrr";

/* One sign is a round of binary response without dummies; what the row adds is the size. */
static struct pt_params one_sign(const struct pt_params *p)
{
	struct pt_params one = *p;

	one.size = 0;
	return one;
}

static enum cm_rc shape_check(const struct pt_query *q, uint32_t size, enum cm_rc code, struct cm_err *err)
{
	if (q->kind != PT_VECTOR)
		return cm_fail(err, code, "%s: answers vectors only", name);
	if (size < 1 || size > q->dimension || size > SIZE_MAX_COORDINATES)
		return cm_fail(err, code, "%s: size %u, must be 1 to %u coordinates", name, (unsigned)size,
			q->dimension < SIZE_MAX_COORDINATES ? (unsigned)q->dimension : SIZE_MAX_COORDINATES);
	return CM_OK;
}

/* Of a report: all its signs. */
static double epsilon0(const struct pt_params *p)
{
	/* Exact before it is rounded: 5 bits times 53. */
	return pt_round_up(p->size * (long double)pt_slots_epsilon0(p));
}

static enum cm_rc make(const struct pt_query *q, const struct pt_request *r, uint32_t size,
	struct pt_params *out, struct cm_err *err)
{
	struct pt_params made = { .slots = 1, .size = size };
	struct pt_request one = *r;
	enum cm_rc rc = shape_check(q, size, CM_ECONFIG, err);

	if (rc != CM_OK)
		return rc;
	if (r->dummies != 0)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be 0; \"words\" has them", name);
	if (r->slots > 1)
		return cm_fail(err, CM_ECONFIG, "%s: sends one message, slots must be 1", name);
	if (!(r->epsilon0 > 0 && r->epsilon0 <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be above 0 and at most %g", name,
			PT_EPSILON0_MAX);
	/* Downwards, so that all signs together are within what was asked for. */
	one.epsilon0 = size == 1 ? r->epsilon0 : nextafter(r->epsilon0 / size, 0);
	(void)snprintf(made.protocol, sizeof made.protocol, "%s", name);
	made.slot[0] = (struct pt_slot){ .count = 1, .groups = q->dimension, .bins = 2 };
	rc = pt_slots_request(name, &one, &made.slot[0], err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	struct pt_params one = one_sign(p);
	const struct pt_slot *s = &p->slot[0];
	enum cm_rc rc = shape_check(q, p->size, CM_EPROTO, err);

	if (rc == CM_OK)
		rc = pt_slots_check(name, &one, err);
	if (rc == CM_OK && (p->slots != 1 || s->count != 1 || s->bins != 2 || s->keep_always ||
				   s->dummies != 0 || s->groups != q->dimension))
		rc = cm_fail(err, CM_EPROTO,
			"%s: one slot of a bit of each coordinate, kept at random, is wanted", name);
	if (rc == CM_OK && epsilon0(p) > PT_EPSILON0_MAX)
		rc = cm_fail(err, CM_EPROTO, "%s: epsilon0 above %g", name, PT_EPSILON0_MAX);
	return rc;
}

/* As a participant would have it who reports `keep`: chances in their own precision. */
static long double keep_of(const struct pt_params *p)
{
	return ldexpl((long double)p->slot[0].keep, -64);
}

static long double flip_of(const struct pt_params *p)
{
	return ldexpl((long double)pt_complement(p->slot[0].keep), -64);
}

/* omega = flip^s on every subset and signs, whatever the chance of the subset; with all signs different in
 * the victim's two inputs, k of them as in the second: doc/protocols.md, "Vectors". */
static enum cm_rc loss(
	const struct pt_params *p, uint64_t participants, struct pt_loss *out, struct cm_err *err)
{
	struct acct_round *round = &out->part[0];
	long double ratio = keep_of(p) / flip_of(p), omega = powl(flip_of(p), p->size);

	if (participants < 1 || participants > ACCT_MAX_REPORTS)
		return cm_fail(err, CM_EPROTO, "%s: participants out of the accountant's range", name);
	out->parts = 1;
	*round = (struct acct_round){ .others = participants - 1, .count = 1 };
	for (uint32_t k = 0; k <= p->size; k++) {
		round->cell[k] = (struct acct_cell){ .omega = nextafter((double)omega, 0),
			.u = nextafter((double)powl(ratio, p->size - k), INFINITY),
			.v = nextafter((double)powl(ratio, k), INFINITY) };
		omega = omega * (p->size - k) / (k + 1);
	}
	round->cells = p->size + 1;
	return CM_OK;
}

static uint32_t messages(const struct pt_params *p)
{
	(void)p;
	return 1;
}

/* Coordinate t of the subset that begins at `start`. */
static uint32_t coordinate(const struct pt_params *p, uint32_t start, uint32_t t)
{
	uint32_t d = p->slot[0].groups;

	return (uint32_t)((start + (uint64_t)t * d / p->size) % d);
}

/* Every coordinate is read for every place; start, and where it leads, pass through masks. */
static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	uint32_t d = q->dimension;
	uint64_t start = cm_rng_below(rng, d), made = start << 16;

	for (uint32_t t = 0; t < p->size; t++) {
		uint64_t at = start + (uint64_t)t * d / p->size, keep;

		at -= d & ~pt_below_mask(at, d);
		keep = cm_rng_bernoulli(rng, p->slot[0].keep);
		made |= (pt_vector_sign(pt_vector_pick(q, value, at), rng) ^ keep ^ 1) << t;
	}
	pt_record_put(records, made);
}

/* Ones of each coordinate, then reports of each start. */
static uint32_t tallies(const struct pt_params *p)
{
	return 2 * p->slot[0].groups;
}

/* *value: start and signs. */
static enum cm_rc read_value(
	const struct pt_params *p, const uint8_t *record, uint64_t *value, struct cm_err *err)
{
	enum cm_rc rc = pt_record_opens(record, err);

	if (rc == CM_OK)
		rc = pt_record_value(record, (uint64_t)p->slot[0].groups << 16, value, err);
	if (rc == CM_OK && (*value & SIGNS_MASK) >> p->size != 0)
		rc = cm_fail(err, CM_EDATA, "record: more than %u signs", (unsigned)p->size);
	return rc;
}

static enum cm_rc tally(
	const struct pt_params *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	uint64_t value = 0;
	enum cm_rc rc = read_value(p, record, &value, err);

	if (rc != CM_OK)
		return rc;
	for (uint32_t t = 0; t < p->size; t++)
		counts[coordinate(p, (uint32_t)(value >> 16), t)] += value >> t & 1;
	counts[p->slot[0].groups + (value >> 16)]++;
	return CM_OK;
}

static void describe(
	const struct pt_query *q, const struct pt_params *p, const uint8_t *record, char *out, size_t size)
{
	uint64_t value = 0;
	struct cm_err ignored;
	size_t used = 0;

	if (read_value(p, record, &value, &ignored) != CM_OK) {
		(void)snprintf(out, size, "?");
		return;
	}
	for (uint32_t t = 0; t < p->size; t++)
		pt_vector_describe(
			q, coordinate(p, (uint32_t)(value >> 16), t), value >> t & 1, out, size, &used);
}

static struct pt_signs signs_of(const struct pt_params *p)
{
	return (struct pt_signs){ .groups = (double)p->slot[0].groups / p->size,
		.slope = (double)(keep_of(p) - flip_of(p)) };
}

/* sum[dimension]: ones less zeroes. */
static enum cm_rc sums_of(
	const struct pt_params *p, const uint64_t *counts, uint64_t reports, int64_t *sum, struct cm_err *err)
{
	uint32_t d = p->slot[0].groups;
	uint64_t left = reports;

	for (uint32_t i = 0; i < d; i++) {
		if (counts[d + i] > left)
			return cm_fail(err, CM_EDATA, "%s: more messages than participants", name);
		left -= counts[d + i];
		for (uint32_t t = 0; t < p->size; t++)
			sum[coordinate(p, i, t)] -= (int64_t)counts[d + i];
	}
	for (uint32_t i = 0; i < d; i++) {
		if (counts[i] > (uint64_t)-sum[i])
			return cm_fail(err, CM_EDATA, "%s: more ones than messages", name);
		sum[i] += 2 * (int64_t)counts[i];
	}
	return CM_OK;
}

static enum cm_rc estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	struct pt_signs s = signs_of(p);
	int64_t *sum = calloc(q->dimension, sizeof *sum);
	enum cm_rc rc = sum == NULL ? cm_fail(err, CM_EINTERNAL, "%s: out of memory", name)
				    : sums_of(p, counts, reports, sum, err);

	if (rc == CM_OK)
		rc = pt_vector_estimate(q, name, &s, sum, reports, out, err);
	free(sum);
	return rc;
}

static double expected_error(const struct pt_query *q, const struct pt_params *p, uint64_t participants)
{
	struct pt_signs s = signs_of(p);

	return pt_vector_expected_error(q, &s, participants);
}

/* Without a size, that of least error; a larger one may have too little left for each sign. */
static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	uint64_t n = r->min_batch > 0 ? r->min_batch : 1;
	enum cm_rc rc = make(q, r, r->size > 0 ? r->size : 1, out, err);

	for (uint32_t size = 2; rc == CM_OK && r->size == 0 && size <= SIZE_MAX_COORDINATES; size++) {
		struct pt_params p;
		struct cm_err ignored;

		if (size <= q->dimension && make(q, r, size, &p, &ignored) == CM_OK &&
			expected_error(q, &p, n) < expected_error(q, out, n))
			*out = p;
	}
	return rc;
}

const struct pt_protocol pt_row_vrr = {
	.name = name,
	.summary = "vector response: the mean of each coordinate of a vector from a few signs of each device",
	.kinds = PT_VECTOR,
	.derive = derive,
	.check = check,
	.messages = messages,
	.record_len = pt_slots_record_len,
	.tallies = tallies,
	.epsilon0 = epsilon0,
	.loss = loss,
	.encode = encode,
	.tally = tally,
	.describe = describe,
	.estimate = estimate,
	.expected_error = expected_error,
};
