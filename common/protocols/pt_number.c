/* pt_number.c - what the rows that send one symbol of a bounded number have in common. */
#include "pt_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_expect.h"

long double pt_number_keep(const struct pt_params *p)
{
	return ldexpl((long double)p->keep, -64);
}

long double pt_number_drop(const struct pt_params *p)
{
	return ldexpl((long double)pt_complement(p->keep), -64);
}

/* What derive and a peer's parameters share: `code` for either. */
static enum cm_rc in_range(
	const struct pt_number *row, const struct pt_params *p, enum cm_rc code, struct cm_err *err)
{
	double epsilon0;

	if (p->bins < 2 || p->bins > row->levels_max)
		return cm_fail(err, code, "%s: %u levels, must be 2 to %u", row->name, (unsigned)p->bins,
			(unsigned)row->levels_max);
	if (row->sized && (p->size < 1 || p->size >= p->bins))
		return cm_fail(err, code, "%s: size %u, must be 1 to %u for %u levels", row->name,
			(unsigned)p->size, (unsigned)p->bins - 1, (unsigned)p->bins);
	if (p->keep == 0)
		return cm_fail(err, code, "%s: epsilon0 is too small to say anything", row->name);
	epsilon0 = row->epsilon0(p);
	if (!(epsilon0 >= PT_EPSILON0_MIN))
		return cm_fail(err, code, "%s: epsilon0 is too small to say anything", row->name);
	if (epsilon0 > PT_EPSILON0_MAX)
		return cm_fail(err, code, "%s: epsilon0 above %g", row->name, PT_EPSILON0_MAX);
	return CM_OK;
}

double pt_number_expected_error(const struct pt_number *row, const struct pt_query *q,
	const struct pt_params *p, uint64_t participants)
{
	double *moment = calloc(p->bins, sizeof *moment), error = INFINITY;

	if (moment != NULL && pt_mean_moments(&row->rule, p, moment))
		error = pt_mean_expected_error(q, participants, p->bins - 1, moment, 0, 0);
	free(moment);
	return error;
}

static enum cm_rc choose(const struct pt_number *row, const struct pt_query *q, const struct pt_request *r,
	struct pt_params *p, struct cm_err *err)
{
	double best = INFINITY;
	struct pt_params made = *p;

	for (made.bins = r->size < 2 ? 2 : r->size + 1; made.bins <= PT_NUMBER_LEVELS; made.bins++) {
		double error;

		made.size = r->size;
		row->set(&made, r->epsilon0);
		if (in_range(row, &made, CM_ECONFIG, err) != CM_OK)
			return CM_ECONFIG;
		error = pt_number_expected_error(row, q, &made, 1);
		if (isinf(error))
			return cm_fail(err, CM_EINTERNAL, "%s: out of memory", row->name);
		if (error < best) {
			best = error;
			*p = made;
		}
	}
	if (isinf(best))
		return cm_fail(err, CM_ECONFIG, "%s: size %u needs 'levels'", row->name, (unsigned)r->size);
	return CM_OK;
}

enum cm_rc pt_number_derive(const struct pt_number *row, const struct pt_query *q, const struct pt_request *r,
	struct pt_params *out, struct cm_err *err)
{
	struct pt_params made = { .bins = r->levels, .size = r->size };
	enum cm_rc rc = CM_OK;

	if (!pt_is_mean(q))
		return cm_fail(err, CM_ECONFIG, "%s: answers means and sums only", row->name);
	if (r->dummies != 0 || r->shuffler_dummies != 0)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be 0; \"levels\" has them", row->name);
	if (!(r->epsilon0 > 0 && r->epsilon0 <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be above 0 and at most %g", row->name,
			PT_EPSILON0_MAX);
	if (r->size != 0 && !row->sized)
		return cm_fail(err, CM_ECONFIG, "%s: has no 'size'", row->name);
	(void)snprintf(made.protocol, sizeof made.protocol, "%s", row->name);
	if (made.bins == 0)
		rc = choose(row, q, r, &made, err);
	else if (made.bins >= 2 && made.bins <= row->levels_max && (r->size == 0 || r->size < made.bins))
		row->set(&made, r->epsilon0);
	if (rc == CM_OK)
		rc = in_range(row, &made, CM_ECONFIG, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

enum cm_rc pt_number_check(
	const struct pt_number *row, const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	if (strncmp(p->protocol, row->name, sizeof p->protocol) != 0)
		return cm_fail(err, CM_EPROTO, "%s: parameters of another protocol", row->name);
	if (!pt_is_mean(q))
		return cm_fail(err, CM_EPROTO, "%s: answers means and sums only", row->name);
	if (p->keep_always || p->dummies != 0 || p->shuffler_dummies != 0)
		return cm_fail(err, CM_EPROTO, "%s: a keep probability and no dummies are wanted", row->name);
	if (p->other != 0 || p->slots != 0 || (p->size != 0 && !row->sized))
		return cm_fail(err, CM_EPROTO,
			"%s: a size, a second probability or slots where there are none", row->name);
	return in_range(row, p, CM_EPROTO, err);
}

uint32_t pt_number_record_len(const struct pt_params *p)
{
	(void)p;
	return PT_RECORD_LEN;
}

enum cm_rc pt_number_tally(const struct pt_number *row, const struct pt_params *p, const uint8_t *record,
	uint64_t *counts, struct cm_err *err)
{
	uint32_t y = 0;
	enum cm_rc rc = pt_record_get(record, row->rule.symbols(p), &y, err);

	if (rc == CM_OK)
		counts[y]++;
	return rc;
}

enum cm_rc pt_number_estimate(const struct pt_number *row, const struct pt_query *q,
	const struct pt_params *p, const uint64_t *counts, uint64_t reports, struct pt_estimate *out,
	struct cm_err *err)
{
	uint32_t symbols = row->rule.symbols(p);
	uint64_t left = reports;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", row->name);
	for (uint32_t y = 0; y < symbols; y++) {
		if (counts[y] > left)
			return cm_fail(err, CM_EDATA, "%s: more messages than participants", row->name);
		left -= counts[y];
	}
	return pt_mean_estimate(q, p, &row->rule, counts, reports, 0, out, err);
}
