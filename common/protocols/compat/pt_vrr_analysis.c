/* pt_vrr_analysis.c - computes the loss of several signs in one message, and the mean of each coordinate
 * from sums of signs. */
#include "pt_vrr.h"

#include <math.h>
#include <stdlib.h>

#include "acct_families.h"
#include "es_vector.h"
#include "pt_exact.h"
#include "pt_lied_analysis.h"
#include "pt_mixbins_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"

static enum cm_rc make(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	uint32_t size, struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made = { .row = row->device,
		.vrr = { .dimension = q->dimension, .size = size } },
			     sign;
	struct pt_request one = *r;
	enum cm_rc rc = pt_vrr_shape(q, size, CM_ECONFIG, err);

	if (rc != CM_OK)
		return rc;
	if (r->dummies != 0)
		return cm_fail(
			err, CM_ECONFIG, "%s: dummies must be 0; \"words\" has them", row->device->name);
	if (r->slots > 1)
		return cm_fail(err, CM_ECONFIG, "%s: sends one message, slots must be 1", row->device->name);
	if (!(r->epsilon0 > 0 && r->epsilon0 <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be above 0 and at most %g",
			row->device->name, PT_EPSILON0_MAX);
	/* Round down, so that all signs together stay within what was asked for. */
	one.epsilon0 = size == 1 ? r->epsilon0 : nextafter(r->epsilon0 / size, 0);
	if (r->shuffler_dummies != 0)
		return cm_fail(err, CM_ECONFIG, "%s: the shuffler adds no dummies", row->device->name);
	rc = pt_mixbins_request(row, 2, &one, &sign, err);
	if (rc != CM_OK)
		return rc;
	made.vrr.keep = sign.mixbins.keep;
	*out = made;
	return CM_OK;
}

/* The chance that a sign is kept, in the precision with which the device draws it. */
static long double keep_of(const struct pt_randomizer *p)
{
	return ldexpl((long double)p->vrr.keep, -64);
}

static long double flip_of(const struct pt_randomizer *p)
{
	return ldexpl((long double)pt_complement(p->vrr.keep), -64);
}

/* The blanket is omega = flip^s for every subset of s coordinates and all signs, whatever the chance of the
 * subset.  In the worst case all signs differ in the victim's two inputs, and k of them are as in the
 * second: doc/accounting.md, "The lists". */
static enum cm_rc loss(
	const struct pt_randomizer *p, uint64_t participants, struct pt_loss *out, struct cm_err *err)
{
	struct acct_round *round = &out->part[0];
	long double ratio = keep_of(p) / flip_of(p), omega = powl(flip_of(p), p->vrr.size);

	if (participants < 1 || participants > ACCT_MAX_REPORTS)
		return cm_fail(
			err, CM_EPROTO, "%s: participants out of the accountant's range", p->row->name);
	out->parts = 1;
	*round = (struct acct_round){ .others = participants - 1, .count = 1 };
	for (uint32_t k = 0; k <= p->vrr.size; k++) {
		round->cell[k] = (struct acct_cell){ .omega = nextafter((double)omega, 0),
			.u = nextafter((double)powl(ratio, p->vrr.size - k), INFINITY),
			.v = nextafter((double)powl(ratio, k), INFINITY) };
		omega = omega * (p->vrr.size - k) / (k + 1);
	}
	round->cells = p->vrr.size + 1;
	if (p->vrr.size == 1) /* a message of several signs shows which coordinates they are about */
		round->messages = p->vrr.dimension == 1 ? ACCT_BITS : ACCT_LABELLED_BITS;
	else if (ratio > 1 + 1e-6L)
		acct_family_set(round, ACCT_WORDS, NULL);
	return CM_OK;
}

/* The number of a round's counts: the ones of each coordinate, then the reports of each start. */
static uint32_t tallies(const struct pt_randomizer *p)
{
	return 2 * p->vrr.dimension;
}

static enum cm_rc tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	uint64_t value = 0;
	enum cm_rc rc = pt_vrr_read(p, record, &value, err);

	if (rc != CM_OK)
		return rc;
	for (uint32_t t = 0; t < p->vrr.size; t++)
		counts[pt_vrr_coordinate(p, (uint32_t)(value >> 16), t)] += value >> t & 1;
	counts[p->vrr.dimension + (value >> 16)]++;
	return CM_OK;
}

static struct pt_signs signs_of(const struct pt_randomizer *p)
{
	return (struct pt_signs){ .groups = (double)p->vrr.dimension / p->vrr.size,
		.slope = (double)(keep_of(p) - flip_of(p)) };
}

/* Compute sum[dimension]: ones minus zeroes of each coordinate. */
static enum cm_rc sums_of(const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports,
	int64_t *sum, struct cm_err *err)
{
	uint32_t d = p->vrr.dimension;
	uint64_t left = reports;

	for (uint32_t i = 0; i < d; i++) {
		if (counts[d + i] > left)
			return cm_fail(err, CM_EDATA, "%s: more messages than participants", p->row->name);
		left -= counts[d + i];
		for (uint32_t t = 0; t < p->vrr.size; t++)
			sum[pt_vrr_coordinate(p, i, t)] -= (int64_t)counts[d + i];
	}
	for (uint32_t i = 0; i < d; i++) {
		if (counts[i] > (uint64_t)-sum[i])
			return cm_fail(err, CM_EDATA, "%s: more ones than messages", p->row->name);
		sum[i] += 2 * (int64_t)counts[i];
	}
	return CM_OK;
}

static enum cm_rc estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	struct pt_signs s = signs_of(p);
	int64_t *sum = calloc(q->dimension, sizeof *sum);
	enum cm_rc rc = !sum ? cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name)
			     : sums_of(p, counts, reports, sum, err);

	(void)row;
	if (rc == CM_OK)
		rc = es_vector_estimate(q, &s, sum, reports, out, err);
	free(sum);
	return rc;
}

static enum cm_rc influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	struct pt_signs s = signs_of(p);
	uint32_t d = p->vrr.dimension;
	struct pt_lied lied = pt_lied_single(pt_lied_came(counts + d, d), crowd);
	int64_t *sum = calloc(d, sizeof *sum);
	uint64_t *about = calloc(d, sizeof *about);
	enum cm_rc rc = !sum || !about ? cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name)
				       : sums_of(p, counts, crowd->devices, sum, err);

	(void)row;
	/* A device draws its start evenly, so a coordinate has size/d of the honest messages. */
	for (uint32_t i = 0; rc == CM_OK && i < d; i++)
		for (uint32_t t = 0; t < p->vrr.size; t++)
			about[pt_vrr_coordinate(p, i, t)] += counts[d + i];
	for (uint32_t i = 0; rc == CM_OK && i < d; i++) {
		about[i] = pt_lied_beyond(about[i], lied.honest, 1 / s.groups, es_known_tail(d));
		about[i] = about[i] < lied.messages ? about[i] : lied.messages;
	}
	if (rc == CM_OK)
		rc = es_vector_honest(q, &s, sum, about, lied.honest, out, err);
	free(sum);
	free(about);
	return rc;
}

static double expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	struct pt_signs s = signs_of(p);

	(void)row;
	return es_vector_expected_error(q, &s, participants);
}

/* Without a size in the plan, choose the one with the least error: with a larger one each sign may have too
 * little of epsilon0. */
static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	uint64_t n = r->min_reports > 0 ? r->min_reports : 1;
	enum cm_rc rc = make(row, q, r, r->size > 0 ? r->size : 1, out, err);

	for (uint32_t size = 2; rc == CM_OK && r->size == 0 && size <= PT_VRR_SIZE_MAX; size++) {
		struct pt_randomizer p;
		struct cm_err ignored;

		if (size <= q->dimension && make(row, q, r, size, &p, &ignored) == CM_OK &&
			expected_error(row, q, &p, n) < expected_error(row, q, out, n))
			*out = p;
	}
	return rc;
}

const struct pt_protocol pt_row_vrr = {
	.device = &pt_device_vrr,
	.keys = PT_KEY_SLOTS | PT_KEY_SIZE,
	.derive = derive,
	.tallies = tallies,
	.loss = loss,
	.tally = tally,
	.estimate = estimate,
	.influence = influence,
	.expected_error = expected_error,
};
