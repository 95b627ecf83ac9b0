/* pt_hadamard_analysis.c - counts the categories that columns support, half of all categories each, by a
 * Walsh-Hadamard transform. */
#include "pt_hadamard.h"

#include <math.h>
#include <stdlib.h>

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_liars.h"
#include "pt_protocol.h"
#include "pt_record.h"
#include "pt_rows.h"
#include "pt_single.h"
#include "pt_single_analysis.h"

/* Derive keep, where P = keep / 2^64 is the chance of a column in which the value's row is +1, so that P <=
 * e / (e + 1), e = e^epsilon0. */
static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made;
	enum cm_rc rc = pt_single_derive(row, q, r, &made, err);
	long double e;

	if (rc != CM_OK)
		return rc;
	e = expl((long double)r->epsilon0);
	made.single.keep = (uint64_t)floorl(ldexpl(e / (e + 1), 64) - PT_THRESHOLD_MARGIN);
	rc = pt_single_guarantee(&made, pt_hadamard_ratio(&made), CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

/* A row is +1 in half of the columns, each of which has chance 2P/K, and the others 2(1-P)/K; two rows have
 * each pair of signs in a quarter of the columns.  The blanket is 2(1-P)/K for every column but column 0,
 * where all rows are +1: K/2 <= d, so in every other column some category has -1. */
static enum cm_rc cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	long double keep = ldexpl((long double)p->single.keep, -64), half = 0.5L * pt_hadamard_order(p);
	long double flip = ldexpl((long double)pt_complement(p->single.keep), -64);
	struct pt_blanket b = { .one = flip / 2,
		.neither = flip / 2 + keep / half,
		.both = flip * (0.5L - 1 / half),
		.ratio = pt_ratio_value(pt_hadamard_ratio(p)) };

	return pt_single_cells(p, participants, &b, out, err);
}

static enum cm_rc tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	uint32_t y = 0;
	enum cm_rc rc = pt_record_get(record, pt_hadamard_order(p), &y, err);

	if (rc == CM_OK)
		counts[y]++;
	return rc;
}

/* Compute v = H v by the fast Walsh-Hadamard transform; k is a power of two. */
static void transform(int64_t *v, uint32_t k)
{
	for (uint32_t h = 1; h < k; h *= 2) {
		for (uint32_t i = 0; i < k; i++) {
			int64_t a = v[i];

			if ((i & h) != 0)
				continue;
			v[i] = a + v[i + h];
			v[i + h] = a - v[i + h];
		}
	}
}

/* Category x is supported by the columns in which its row is +1; a report of another category supports it
 * with chance 1/2, since two rows agree in half of the columns of either sign. */
static struct es_support support(const struct pt_randomizer *p)
{
	return (struct es_support){ .keep = pt_probability(p->single.keep),
		.flip = pt_probability(pt_complement(p->single.keep)),
		.other = 0.5 };
}

/* Compute supports[bins], the number of messages that support each category. */
static enum cm_rc supports_of(const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports,
	uint64_t *supports, struct cm_err *err)
{
	uint32_t k = pt_hadamard_order(p);
	int64_t *signs = calloc(k, sizeof *signs);
	uint64_t sum = 0;
	enum cm_rc rc = signs ? CM_OK : cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);

	if (rc == CM_OK && reports > PR_ROUND_REPORTS_MAX)
		rc = cm_fail(err, CM_EDATA, "%s: too many participants", p->row->name);
	for (uint32_t y = 0; rc == CM_OK && y < k; y++) {
		if (counts[y] > reports - sum)
			rc = cm_fail(err, CM_EDATA, "%s: more messages than participants", p->row->name);
		sum += counts[y];
		signs[y] = (int64_t)counts[y];
	}
	if (rc == CM_OK) {
		transform(signs, k);
		for (uint32_t x = 0; x < p->single.bins; x++)
			supports[x] = (uint64_t)((int64_t)sum + signs[x + 1]) / 2;
	}
	free(signs);
	return rc;
}

static enum cm_rc estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	uint64_t *supports = calloc(p->single.bins, sizeof *supports);
	enum cm_rc rc = supports ? supports_of(p, counts, reports, supports, err)
				 : cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);

	if (rc == CM_OK)
		rc = pt_single_estimate(row, q, p, supports, reports, out, err);
	free(supports);
	return rc;
}

static enum cm_rc influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	uint64_t *supports = calloc(p->single.bins, sizeof *supports);
	enum cm_rc rc = supports ? supports_of(p, counts, crowd->devices, supports, err)
				 : cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);

	if (rc == CM_OK)
		rc = pt_single_influence(row, q, p, supports, crowd, out, err);
	free(supports);
	return rc;
}

const struct pt_protocol pt_row_hadamard = {
	.device = &pt_device_hadamard,
	.derive = derive,
	.tallies = pt_hadamard_order,
	.cells = cells,
	.support = support,
	.tally = tally,
	.estimate = estimate,
	.influence = influence,
	.expected_error = pt_single_expected_error,
};
