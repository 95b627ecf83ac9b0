/* pt_planar_analysis.c - computes the matrix of the noise and its inverse, the guarantee by distance, and
 * counts of cells. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "acct_envelope.h"
#include "es_histogram.h"
#include "es_matrix.h"
#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_lied_analysis.h"
#include "pt_planar.h"
#include "pt_protocol.h"
#include "pt_record.h"
#include "pt_rows.h"

#define HALVES 64 /* steps of the bisection for the decay */
#define PARTS  1024.0
#define SHOWN  3u /* the statement speaks of this many distances, 1, 2 and 4 cells, besides any distance */

/* ---- The matrix ---- */

/* Bound on the relative error of a chance in matrix_of: two integers and their quotient are each rounded by
 * at most 2^-53, whatever precision a long double has, and the law of the device is exactly these
 * integers. */
#define ROOM 0x1p-51

/* Compute chance[x * cells + y], within a factor 1 +- ROOM; NULL out of memory. */
static double *matrix_of(const struct pt_randomizer *p)
{
	uint32_t cells = pt_planar_cells(p);
	double *chance = calloc((size_t)cells * cells, sizeof *chance);
	uint64_t row[PT_PLANAR_CELLS_MAX];
	struct pt_planar_law law;

	if (!chance)
		return NULL;
	pt_planar_law_of(p, &law);
	for (uint32_t x = 0; x < cells; x++) {
		pt_planar_row(&law, x, row);
		for (uint32_t y = 0; y < cells; y++)
			chance[(size_t)x * cells + y] =
				(double)((long double)row[y] / (long double)law.total);
	}
	return chance;
}

static enum cm_rc no_memory(const struct pt_randomizer *p, struct cm_err *err)
{
	return cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
}

static enum cm_rc inverse_of(const struct pt_randomizer *p, struct es_matrix *m, struct cm_err *err)
{
	double *chance = matrix_of(p);
	enum cm_rc rc = chance ? es_matrix_init(m, pt_planar_cells(p), chance, err) : no_memory(p, err);

	free(chance);
	return rc;
}

/* ---- The plan ---- */

/* Set the fastest decay whose guarantee, computed from the integers, is within what is asked for. */
static void set_decay(struct pt_randomizer *p, double epsilon0)
{
	double low = 0, high = 4 * epsilon0 / PARTS;

	for (int i = 0; i < HALVES; i++) {
		double rate = low + (high - low) / 2;
		struct pt_randomizer tried = *p;

		tried.planar.decay =
			(uint64_t)floorl(fminl(ldexpl(expl(-(long double)rate), 64), 0x1.fffffffffffffp63L));
		if (p->row->epsilon0(&tried) <= epsilon0) {
			*p = tried;
			low = rate;
		} else {
			high = rate;
		}
	}
}

static enum cm_rc possible(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, struct cm_err *err)
{
	const char *name = row->device->name;
	enum cm_rc rc = pt_planar_sizes(row->device, q, CM_ECONFIG, err);

	if (rc != CM_OK)
		return rc;
	if (r->dummies != 0 || r->dummy_chance != 0)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be 0", name);
	if (r->shuffler_dummies != 0)
		return cm_fail(err, CM_ECONFIG, "%s: the shuffler adds no dummies", name);
	if (!(r->epsilon0 > 0 && r->epsilon0 <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be above 0 and at most %g", name,
			PT_EPSILON0_MAX);
	return CM_OK;
}

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made = { .row = row->device };
	struct es_matrix m;
	enum cm_rc rc = possible(row, q, r, err);

	if (rc != CM_OK)
		return rc;
	made.planar.width = q->column[0].cells;
	made.planar.height = q->column[1].cells;
	set_decay(&made, r->epsilon0);
	if (made.planar.decay == 0 || row->device->epsilon0(&made) < PT_EPSILON0_MIN)
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 %g is too small to say anything",
			row->device->name, r->epsilon0);
	rc = inverse_of(&made, &m, err);
	if (rc == CM_EDATA)
		return cm_fail(err, CM_ECONFIG,
			"%s: at epsilon0 %g %u by %u cells cannot be told apart: take fewer",
			row->device->name, r->epsilon0, (unsigned)made.planar.width,
			(unsigned)made.planar.height);
	if (rc != CM_OK)
		return rc;
	es_matrix_fini(&m);
	*out = made;
	return CM_OK;
}

/* ---- What it costs ---- */

static enum cm_rc in_range(const struct pt_randomizer *p, uint64_t participants, struct cm_err *err)
{
	return participants >= 1 && participants <= ACCT_MAX_REPORTS
		       ? CM_OK
		       : cm_fail(err, CM_EPROTO, "%s: participants out of the accountant's range",
				 p->row->name);
}

/* Set the cells of the two places that differ most: the budget is charged for any two places. */
static enum cm_rc cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	uint32_t k = pt_planar_cells(p);
	enum cm_rc rc = in_range(p, participants, err);
	const char *why = "";
	double *chance;

	if (rc != CM_OK)
		return rc;
	chance = matrix_of(p);
	if (!chance)
		return no_memory(p, err);
	*out = (struct acct_round){ .count = 1, .others = participants - 1 };
	enum acct_rc made = acct_cells_envelope(chance, k, k, ROOM, out, &why);
	if (made == ACCT_ENOMEM)
		rc = no_memory(p, err);
	else if (made != ACCT_OK)
		rc = cm_fail(err, CM_EPROTO, "%s: %s", p->row->name, why);
	free(chance);
	return rc;
}

static double apart(uint32_t w, uint32_t a, uint32_t b)
{
	uint32_t one = a / w, two = b / w;
	double across = (double)(a % w) - (double)(b % w), up = (double)one - (double)two;

	return across * across + up * up;
}

/* What holds for two places that are at most `distance` cells apart: the largest ratio p of their chances
 * of one cell, and the largest total variation beta. */
struct near {
	double p, beta;
};

static struct near near_of(const double *chance, const struct pt_randomizer *p, double distance)
{
	uint32_t k = pt_planar_cells(p);
	struct near found = { .p = 1 };

	for (uint32_t a = 0; a < k; a++)
		for (uint32_t b = 0; b < k; b++) {
			const double *one = chance + (size_t)a * k, *two = chance + (size_t)b * k;
			double sum = 0;

			if (apart(p->planar.width, a, b) > distance * distance)
				continue;
			for (uint32_t y = 0; y < k; y++) {
				found.p = fmax(found.p, one[y] / two[y]);
				sum += fmax(one[y] - two[y], 0);
			}
			found.beta = fmax(found.beta, sum);
		}
	found.p *= 1 + 1e-14;
	/* Each chance has a relative error of at most 2^-54, so the differences sum to an error of at most
	 * 2^-53. */
	found.beta = fmin(found.beta * (1 + 1e-12) + 0x1p-50, (found.p - 1) / (found.p + 1));
	return found;
}

/* An upper bound on the round's epsilon for nearby places, by definitions 4 and 5 of Wang et al.  2024
 * (acct_metric.h), with the ratio of any two places as q.  It is shown, and the budget is not charged this:
 * for it, all places are neighbours. */
static enum acct_rc near_epsilon(const struct near *of, const struct pt_randomizer *p, uint64_t participants,
	double delta, double *epsilon)
{
	double q = exp(p->row->epsilon0(p)) * (1 + 1e-14);
	struct acct_round round = { .count = 1, .others = participants - 1 };
	struct acct_bound found;
	enum acct_rc rc = acct_cells_pair(of->p, of->beta, q, q, &round, NULL);

	if (!rc)
		rc = acct_epsilon(&round, 1, delta, &found);
	if (!rc)
		*epsilon = found.upper;
	return rc;
}

/* Round up to three digits; 0 stays 0. */
static double upwards(double x)
{
	double unit = x > 0 ? pow(10, floor(log10(x)) - 2) : 1;

	return ceil(x / unit) * unit;
}

/* Write "1 cell 0.9 (0.31), 2 cells 1.8 (0.45), any 8 (0.53)"; false if the accountant has no answer. */
static bool near_text(
	const struct pt_randomizer *p, uint64_t participants, double delta, char *out, size_t size)
{
	double *chance = matrix_of(p);
	double furthest = p->row->epsilon0(p);
	struct acct_round any;
	struct acct_bound most;
	size_t used = 0;
	bool good = chance && cells(p, participants, &any, &(struct cm_err){ 0 }) == CM_OK &&
		    acct_epsilon(&any, 1, delta, &most) == ACCT_OK;

	for (uint32_t i = 0; good && i < SHOWN && used < size; i++) {
		double epsilon = 0;
		struct near near = near_of(chance, p, 1u << i);

		good = near_epsilon(&near, p, participants, delta, &epsilon) == ACCT_OK;
		used += (size_t)snprintf(out + used, size - used, "%u %s %.3g (%.3g), ", 1u << i,
			i > 0 ? "cells" : "cell", upwards(fmin(log(near.p), furthest)),
			upwards(fmin(epsilon, most.upper)));
	}
	if (good && used < size)
		(void)snprintf(
			out + used, size - used, "any %.3g (%.3g)", upwards(furthest), upwards(most.upper));
	free(chance);
	return good;
}

static void statement(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
	double delta, char *out, size_t size)
{
	char text[160];

	(void)q;
	if (size > 0)
		*out = '\0';
	if (near_text(p, participants, delta, text, sizeof text))
		(void)snprintf(out, size,
			"epsilon0 (epsilon of the round) by how far apart two places are: %s; the last is charged",
			text);
}

/* ---- Counts and answer ---- */

static enum cm_rc tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	uint32_t cell;
	enum cm_rc rc = pt_record_get(record, pt_planar_cells(p), &cell, err);

	if (rc == CM_OK)
		counts[cell]++;
	return rc;
}

/* Every participant sends one message, so there are as many messages as participants. */
static enum cm_rc totals(
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct cm_err *err)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < pt_planar_cells(p) && sum <= reports; i++)
		sum += counts[i] > reports ? reports + 1 : counts[i];
	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX || sum > reports)
		return cm_fail(err, CM_EDATA,
			"%s: no participants, too many, or more messages than they send", p->row->name);
	return CM_OK;
}

static enum cm_rc estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	struct es_estimate e = { .reports = reports };
	struct es_matrix m = { 0 };
	enum cm_rc rc = totals(p, counts, reports, err);

	(void)row;
	if (rc == CM_OK)
		rc = inverse_of(p, &m, err);
	if (rc == CM_OK)
		rc = es_histogram_items(q, &e, err);
	if (rc == CM_OK)
		rc = es_matrix_items(&m, counts, reports, e.item, &e.noise_floor, err);
	es_matrix_fini(&m);
	if (rc == CM_OK)
		*out = e;
	else
		es_estimate_fini(&e);
	return rc;
}

static enum cm_rc influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	struct pt_lied lied = pt_lied_single(pt_lied_came(counts, pt_planar_cells(p)), crowd);
	struct es_matrix m;
	enum cm_rc rc = inverse_of(p, &m, err);

	(void)row;
	(void)q;
	if (rc != CM_OK)
		return rc;
	es_matrix_honest(&m, counts, (double)lied.messages, lied.honest, out);
	es_matrix_fini(&m);
	return CM_OK;
}

static double expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	struct es_matrix m;
	double error;

	(void)row;
	(void)q;
	if (inverse_of(p, &m, &(struct cm_err){ 0 }) != CM_OK)
		return INFINITY;
	error = es_matrix_expected_error(&m, participants);
	es_matrix_fini(&m);
	return error;
}

const struct pt_protocol pt_row_planar = {
	.device = &pt_device_planar,
	.derive = derive,
	.automatic = PT_AUTO,
	.unnamed = QY_PLACES,
	.tallies = pt_planar_cells,
	.cells = cells,
	.tally = tally,
	.estimate = estimate,
	.influence = influence,
	.expected_error = expected_error,
	.statement = statement,
};
