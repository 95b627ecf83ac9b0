/* pt_number_analysis.c - chooses the number of levels for rows that send one symbol, and computes the mean
 * from symbols. */
#include "pt_number_analysis.h"

#include <math.h>
#include <stdlib.h>

#include "es_expect.h"
#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_lied_analysis.h"
#include "pt_record.h"

long double pt_number_keep(const struct pt_randomizer *p)
{
	return ldexpl((long double)p->number.keep, -64);
}

long double pt_number_drop(const struct pt_randomizer *p)
{
	return ldexpl((long double)pt_complement(p->number.keep), -64);
}

static struct es_rule rule_of(const struct pt_protocol *row, const struct pt_randomizer *p)
{
	return (struct es_rule){ .levels = p->number.bins,
		.symbols = row->tallies(p),
		.of = p,
		.law = row->number->law,
		.scores = row->number->scores };
}

double pt_number_expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	double *moment = calloc(p->number.bins, sizeof *moment), error = INFINITY;
	const struct es_rule rule = rule_of(row, p);

	if (moment && es_mean_moments(&rule, moment))
		error = es_mean_expected_error(q, participants, p->number.bins - 1, moment, 0, 0);
	free(moment);
	return error;
}

static enum cm_rc range(const struct pt_protocol *row, const struct pt_randomizer *p, struct cm_err *err)
{
	return pt_number_range(p, row->number->levels_max, row->number->sized, CM_ECONFIG, err);
}

static enum cm_rc choose(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *p, struct cm_err *err)
{
	double best = INFINITY;
	struct pt_randomizer made = *p;

	for (made.number.bins = r->size < 2 ? 2 : r->size + 1; made.number.bins <= PT_NUMBER_LEVELS;
		made.number.bins++) {
		double error;

		made.number.size = r->size;
		row->number->set(&made, r->epsilon0);
		if (range(row, &made, err) != CM_OK)
			return CM_ECONFIG;
		error = pt_number_expected_error(row, q, &made, 1);
		if (isinf(error))
			return cm_fail(err, CM_EINTERNAL, "%s: out of memory", row->device->name);
		if (error < best) {
			best = error;
			*p = made;
		}
	}
	if (isinf(best))
		return cm_fail(
			err, CM_ECONFIG, "%s: size %u needs 'levels'", row->device->name, (unsigned)r->size);
	return CM_OK;
}

enum cm_rc pt_number_derive(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made = { .row = row->device, .number.bins = r->levels, .number.size = r->size };
	enum cm_rc rc = CM_OK;

	if (!qy_is_mean(q))
		return cm_fail(err, CM_ECONFIG, "%s: answers means and sums only", row->device->name);
	if (r->dummies != 0 || r->shuffler_dummies != 0)
		return cm_fail(
			err, CM_ECONFIG, "%s: dummies must be 0; \"levels\" has them", row->device->name);
	if (!(r->epsilon0 > 0 && r->epsilon0 <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be above 0 and at most %g",
			row->device->name, PT_EPSILON0_MAX);
	if (r->size != 0 && !row->number->sized)
		return cm_fail(err, CM_ECONFIG, "%s: has no 'size'", row->device->name);
	if (made.number.bins == 0)
		rc = choose(row, q, r, &made, err);
	else if (made.number.bins >= 2 && made.number.bins <= row->number->levels_max &&
		 (r->size == 0 || r->size < made.number.bins))
		row->number->set(&made, r->epsilon0);
	if (rc == CM_OK)
		rc = range(row, &made, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

enum cm_rc pt_number_tally(uint32_t symbols, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	uint32_t y = 0;
	enum cm_rc rc = pt_record_get(record, symbols, &y, err);

	if (rc == CM_OK)
		counts[y]++;
	return rc;
}

enum cm_rc pt_number_estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	const struct es_rule rule = rule_of(row, p);
	uint32_t symbols = rule.symbols;
	uint64_t left = reports;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", row->device->name);
	for (uint32_t y = 0; y < symbols; y++) {
		if (counts[y] > left)
			return cm_fail(
				err, CM_EDATA, "%s: more messages than participants", row->device->name);
		left -= counts[y];
	}
	return es_mean_estimate(q, &rule, counts, reports, 0, out, err);
}

enum cm_rc pt_number_influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	const struct es_rule rule = rule_of(row, p);
	struct pt_lied lied = pt_lied_single(pt_lied_came(counts, rule.symbols), crowd);

	return es_mean_honest(q, &rule, counts, (double)lied.messages, lied.honest, 0, 1, out, err);
}
