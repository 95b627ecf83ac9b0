/* pt_gspa_classes_analysis.c - computes the loss of classes that each hide among their own members, and
 * adds up the classes' estimates. */
#include <math.h>
#include <stdlib.h>

#include "es_expect.h"
#include "es_histogram.h"
#include "es_law.h"
#include "es_project.h"
#include "pr_limits.h"
#include "pt_classes_analysis.h"
#include "pt_levels_analysis.h"
#include "pt_lied_analysis.h"
#include "pt_mixbins_analysis.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_slots_analysis.h"

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	return pt_classes_request(row, q, r, out, err);
}

/* The classes are separate, so a participant hides among the members of its own class, and the loss is the
 * largest of the classes'. */
static enum cm_rc loss(
	const struct pt_randomizer *p, uint64_t participants, struct pt_loss *out, struct cm_err *err)
{
	struct acct_round *r = &out->part[0];

	if (participants < 1)
		return cm_fail(
			err, CM_EPROTO, "%s: participants out of the accountant's range", p->row->name);
	out->parts = 1;
	*r = (struct acct_round){
		.event = ACCT_CLASSES_APART, .count = 1, .shape = { p->slots.slot[0].each.bins }
	};
	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		uint64_t least = p->shuffler.tag_least[i];

		r->level[r->levels++] =
			(struct acct_level){ .share = pt_mixbins_guarantee(&p->slots.slot[i].each),
				.count = least < participants ? least : participants };
	}
	return CM_OK;
}

/* Find the number of reports of each class, which is the sum of its counts. */
static enum cm_rc class_sizes(const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports,
	uint64_t *n, struct cm_err *err)
{
	uint64_t left = reports;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", p->row->name);
	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		n[i] = 0;
		for (uint32_t w = 0; w < p->slots.slot[0].each.bins; w++, counts++) {
			if (*counts > left)
				return cm_fail(err, CM_EDATA, "%s: more messages than can have been sent",
					p->row->name);
			left -= *counts;
			n[i] += *counts;
		}
	}
	return CM_OK;
}

static struct es_support support_of(const struct pt_slot *s)
{
	return pt_slot_support(s, 0, 1);
}

/* Add up the classes' estimates and their variances, each variance at its own estimate. */
static void fill_count(const struct pt_randomizer *p, const uint64_t *counts, const uint64_t *n, double z,
	double joint_z, struct qy_item *item)
{
	uint32_t bins = p->slots.slot[0].each.bins;
	double sd;

	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		struct es_support s = support_of(&p->slots.slot[i]);
		double of = (double)n[i],
		       c = ((double)counts[(size_t)i * bins] - of * s.other) / (s.keep - s.other);

		item->value += c;
		item->variance += es_support_variance(&s, of, fmin(fmax(c, 0), of));
	}
	sd = sqrt(item->variance);
	item->lower = item->value - z * sd;
	item->upper = item->value + z * sd;
	item->joint_lower = item->value - joint_z * sd;
	item->joint_upper = item->value + joint_z * sd;
	item->below_noise = item->joint_lower <= 0;
}

static enum cm_rc estimate_counts(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, const uint64_t *n, struct es_estimate *e, struct cm_err *err)
{
	uint32_t bins = p->slots.slot[0].each.bins;
	double z = es_normal_upper(0.025), joint_z = es_normal_upper(es_joint_tail(bins)), floor = 0;
	double *projected = calloc(bins, sizeof *projected);

	e->n = bins;
	e->item = calloc(bins, sizeof *e->item);
	if (!e->item || !projected) {
		free(projected);
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	}
	for (uint32_t w = 0; w < bins; w++) {
		es_histogram_name(q, w, &e->item[w]);
		fill_count(p, counts + w, n, z, joint_z, &e->item[w]);
		projected[w] = e->item[w].value;
	}
	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		struct es_support s = support_of(&p->slots.slot[i]);

		floor += es_support_variance(&s, (double)n[i], 0);
	}
	e->noise_floor = joint_z * sqrt(floor);
	if (!es_project_simplex(projected, bins, (double)e->reports)) {
		free(projected);
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	}
	for (uint32_t w = 0; w < bins; w++)
		e->item[w].projected = projected[w];
	free(projected);
	return CM_OK;
}

/* The mean of the classes' means, weighted by their sizes; halves of intervals add up in squares. */
static enum cm_rc estimate_mean(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const uint64_t *n, struct es_estimate *e,
	struct cm_err *err)
{
	double below = 0, above = 0;
	struct qy_item *item = e->item = calloc(1, sizeof *item);

	if (!item)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	e->n = 1;
	item->label = q->name;
	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		struct pt_randomizer one = pt_slot_alone(p, &p->slots.slot[i]);
		double part = (double)n[i] / (double)e->reports;
		struct es_estimate m = { 0 };
		enum cm_rc rc;

		if (n[i] == 0)
			continue;
		rc = pt_levels_estimate(row, q, &one, counts + (size_t)i * one.mixbins.bins, n[i], &m, err);
		if (rc != CM_OK)
			return rc;
		item->value += part * m.item[0].value;
		item->variance += part * part * m.item[0].variance;
		below += pow(part * (m.item[0].value - m.item[0].lower), 2);
		above += pow(part * (m.item[0].upper - m.item[0].value), 2);
		es_estimate_fini(&m);
	}
	item->lower = item->joint_lower = item->value - sqrt(below);
	item->upper = item->joint_upper = item->value + sqrt(above);
	item->projected = fmin(fmax(item->value, q->low), q->high);
	return CM_OK;
}

static enum cm_rc estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	struct es_estimate e = { 0 };
	uint64_t n[PT_SLOTS_MAX], all = 0;
	enum cm_rc rc = class_sizes(p, counts, reports, n, err);

	for (uint32_t i = 0; rc == CM_OK && i < p->slots.kinds; i++)
		all += n[i];
	e.reports = all;
	if (rc == CM_OK && all == 0)
		rc = cm_fail(err, CM_EDATA, "%s: no reports", p->row->name);
	if (rc == CM_OK)
		rc = q->kind == QY_MEAN ? estimate_mean(row, q, p, counts, n, &e, err)
					: estimate_counts(q, p, counts, n, &e, err);
	if (rc == CM_OK)
		*out = e;
	else
		es_estimate_fini(&e);
	return rc;
}

/* What one message adds to the sum that a class estimates, and how far the messages of a class vary. */
struct reach {
	double most, least, variance;
};

/* For a mean the sum is of levels, else of holders of a word. */
static bool reach_of(const struct qy_query *q, const struct pt_randomizer *p, uint32_t i, struct reach *out)
{
	struct pt_randomizer one = pt_slot_alone(p, &p->slots.slot[i]);
	struct es_support s = support_of(&p->slots.slot[i]);
	struct es_scores scores;

	*out = (struct reach){ (1 - s.other) / (s.keep - s.other), -s.other / (s.keep - s.other),
		fmax(s.keep * s.flip, s.other * (1 - s.other)) / pow(s.keep - s.other, 2) };
	if (q->kind != QY_MEAN)
		return true;
	if (!pt_levels_scores(&one, &scores))
		return false;
	*out = (struct reach){ scores.most, scores.least, scores.variance };
	return true;
}

/* Add up what came of a word, or of all levels, and set how far one liar reaches, who chooses its class. */
static bool add_classes(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	uint32_t word, double *value, struct reach *out)
{
	uint32_t bins = p->slots.slot[0].each.bins;

	*value = 0;
	*out = (struct reach){ -INFINITY, INFINITY, 0 };
	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		struct es_support s = support_of(&p->slots.slot[i]);
		double n = (double)pt_lied_came(counts + (size_t)i * bins, bins), more = s.keep - s.other,
		       sum = 0;
		struct reach one;

		if (!reach_of(q, p, i, &one))
			return false;
		for (uint32_t w = 0; w < bins; w++)
			sum += (q->kind == QY_MEAN ? w : w == word) * (double)counts[(size_t)i * bins + w];
		*value += (sum - n * s.other * (q->kind == QY_MEAN ? bins * (bins - 1.0) / 2 : 1)) / more;
		out->most = fmax(out->most, one.most);
		out->least = fmin(out->least, one.least);
		out->variance += n * one.variance;
	}
	return true;
}

static enum cm_rc influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	uint32_t bins = p->slots.slot[0].each.bins, items = q->kind == QY_MEAN ? 1 : bins;
	struct pt_lied lied = pt_lied_single(pt_lied_came(counts, pt_slots_symbols(p)), crowd);
	double low = q->kind == QY_MEAN ? q->low : 0, a = (double)lied.messages;
	double unit = q->kind == QY_MEAN ? (q->high - q->low) / ((bins - 1) * (double)lied.honest) : 1;

	(void)row;
	for (uint32_t w = 0; w < items; w++) {
		struct reach reach;
		double value;

		if (!add_classes(q, p, counts, w, &value, &reach))
			return cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
		es_honest_normal(low + unit * (value - a * reach.most),
			low + unit * (value - a * reach.least), unit * sqrt(reach.variance), items, 1,
			&out[w]);
	}
	return CM_OK;
}

/* Assume the classes at their least sizes, and the rest of the participants in the most private class. */
static double expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	double sum = 0, n = (double)participants, rest = n;

	for (uint32_t i = 0; i < p->slots.kinds; i++)
		rest -= p->shuffler.tag_least[i];
	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		struct pt_randomizer one = pt_slot_alone(p, &p->slots.slot[i]);
		struct es_support s = support_of(&p->slots.slot[i]);
		uint64_t of = p->shuffler.tag_least[i] + (i == 0 && rest > 0 ? (uint64_t)rest : 0);
		double error = q->kind == QY_MEAN
				       ? pt_levels_expected_error(row, q, &one, of) * (double)of / n
				       : es_support_expected_error(&s, of, one.mixbins.bins);

		sum += error * error;
	}
	return sqrt(sum);
}

const struct pt_protocol pt_row_gspa_classes = {
	.device = &pt_device_gspa_classes,
	.keys = PT_KEY_LEVELS | PT_KEY_CLASSES,
	.derive = derive,
	.tallies = pt_slots_symbols,
	.loss = loss,
	.tally = pt_slots_tally,
	.estimate = estimate,
	.influence = influence,
	.expected_error = expected_error,
};
