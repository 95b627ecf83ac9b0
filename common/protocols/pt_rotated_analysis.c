/* pt_rotated_analysis.c - the analysis half of pt_rotated.c: the row's plan, loss, counts and answer. */
#include "pt_rotated.h"

#include <math.h>
#include <stdlib.h>

#include "pr_limits.h"
#include "pt_law.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_slots_analysis.h"
#include "pt_vector.h"
#include "pt_words_analysis.h"

/* c over L. */
static double cut(const struct pt_query *q, const struct pt_randomizer *p)
{
	return ldexp(1 / ((double)p->rotated.scale * sqrt(pt_rotated_padded(q->dimension))), 32);
}

static enum cm_rc derive(const struct pt_protocol *row, const struct pt_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_query w = pt_rotated_wide(q);
	double n = r->min_batch > 0 ? (double)r->min_batch : 1, d = w.dimension;
	enum cm_rc rc = pt_rotated_query(q, CM_ECONFIG, err);
	struct pt_randomizer made;

	if (rc == CM_OK)
		rc = pt_words_choose(row, &w, r, &made, err);
	if (rc != CM_OK)
		return rc;
	made.rotated.scale = (uint64_t)(0x1p32 / fmin(sqrt(2 * log(2 * d * n)), sqrt(d)));
	*out = made;
	return CM_OK;
}

static void transform(double *v, uint32_t d)
{
	for (uint32_t h = 1; h < d; h *= 2)
		for (uint32_t i = 0; i < d; i += 2 * h)
			for (uint32_t j = i; j < i + h; j++) {
				double a = v[j], b = v[j + h];

				v[j] = a + b;
				v[j + h] = a - b;
			}
}

/* Lengths of errors are kept: the mean over the coordinates of their variances is that of the rotated
 * ones'. */
static double error_of(const struct pt_protocol *row, const struct pt_query *q, const struct pt_randomizer *p,
	uint64_t participants)
{
	struct pt_signs s = pt_words_signs(p, participants);

	(void)row;
	return q->high * cut(q, p) * sqrt(pt_signs_variance(&s, (double)participants, 0));
}

static void fill(const struct pt_query *q, double sd, double *v, struct pt_estimate *e)
{
	double z = pt_normal_upper(0.025), joint_z = pt_normal_upper(pt_joint_tail(q->dimension));

	for (uint32_t j = 0; j < q->dimension; j++) {
		struct pt_item *it = &e->item[j];
		double x = pt_rotated_sign(j) != 0 ? -v[j] : v[j];

		*it = (struct pt_item){ .label = it->label,
			.value = x,
			.variance = sd * sd,
			.lower = x - z * sd,
			.upper = x + z * sd,
			.joint_lower = x - joint_z * sd,
			.joint_upper = x + joint_z * sd,
			.projected = fmin(fmax(x, q->low), q->high),
			.below_noise = fabs(x) <= joint_z * sd };
	}
	e->noise_floor = joint_z * sd;
}

static enum cm_rc estimate(const struct pt_protocol *row, const struct pt_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct pt_estimate *out,
	struct cm_err *err)
{
	struct pt_query w = pt_rotated_wide(q);
	struct pt_signs s = pt_words_signs(p, reports);
	int64_t *sum = NULL;
	double *v = NULL;
	struct pt_estimate e = { .reports = reports };
	enum cm_rc rc = CM_OK;

	(void)row;
	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", p->row->name);
	sum = calloc(w.dimension, sizeof *sum);
	v = calloc(w.dimension, sizeof *v);
	rc = sum == NULL || v == NULL ? cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name)
				      : pt_vector_items(q, &e, err);
	if (rc == CM_OK)
		rc = pt_words_sums(&w, p, counts, reports, sum, err);
	if (rc == CM_OK) {
		double unit =
			q->high * cut(q, p) * s.groups / ((double)reports * s.slope * sqrt(w.dimension));

		for (uint32_t k = 0; k < w.dimension; k++)
			v[k] = unit * (double)sum[k];
		transform(v, w.dimension);
		fill(q, error_of(row, q, p, reports), v, &e);
		*out = e;
		e = (struct pt_estimate){ 0 };
	}
	pt_estimate_fini(&e);
	free(sum);
	free(v);
	return rc;
}

const struct pt_protocol pt_row_rotated = {
	.device = &pt_device_rotated,
	.keys = PT_KEY_SLOTS | PT_KEY_SIZE,
	.derive = derive,
	.tallies = pt_words_tallies,
	.tally = pt_words_tally,
	.estimate = estimate,
	.expected_error = error_of,
	PT_SLOTS_ANALYSIS,
};
