/* pt_gspa_pooled_analysis.c - computes the loss of the weakest class among all others, and an answer that
 * accounts for the mix of classes. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acct_flame.h"
#include "acct_gspa.h"
#include "es_histogram.h"
#include "es_law.h"
#include "es_project.h"
#include "pr_limits.h"
#include "pt_classes.h"
#include "pt_classes_analysis.h"
#include "pt_lied_analysis.h"
#include "pt_mixbins.h"
#include "pt_mixbins_analysis.h"
#include "pt_protocol.h"
#include "pt_record.h"
#include "pt_rows.h"
#include "pt_slots_analysis.h"

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	return pt_classes_request(row, q, r, out, err);
}

/* The number of a round's counts: those of the words, then those of the classes. */
static uint32_t tallies(const struct pt_randomizer *p)
{
	return p->slots.slot[0].each.bins + p->slots.kinds;
}

/* Fill in the least number of participants of every class, and count everybody else in the weakest class,
 * which hides others least. */
static void fill_classes(const struct pt_randomizer *p, uint64_t participants, struct acct_gspa_class *cls)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		cls[i] = (struct acct_gspa_class){ .epsilon = pt_mixbins_guarantee(&p->slots.slot[i].each),
			.count = p->shuffler.tag_least[i] };
		all += p->shuffler.tag_least[i];
	}
	if (participants > all)
		cls[p->slots.kinds - 1].count += participants - all;
}

/* Fill in the classes of those who certainly take part besides the victim, and return how many there are.
 * A class of one may be the victim's alone. */
static size_t fill_others(const struct pt_randomizer *p, uint64_t participants, struct acct_gspa_class *cls)
{
	uint64_t all = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		cls[n] = (struct acct_gspa_class){ .epsilon = pt_mixbins_guarantee(&p->slots.slot[i].each),
			.count = p->shuffler.tag_least[i] > 1 ? p->shuffler.tag_least[i] : 0 };
		all += cls[n].count;
		if (i + 1 == p->slots.kinds && participants > all)
			cls[n].count += participants - all;
		n += cls[n].count > 0;
	}
	/* the victim is one of the weakest of all: any other among the rest loses less (doc/accounting.md) */
	cls[n - 1].count--;
	return cls[n - 1].count > 0 ? n : n - 1;
}

/* Describe a round of two words: every message is a bit, which a sender of class c keeps with its own
 * chance. */
static enum cm_rc bits(const struct pt_randomizer *alone, const struct acct_gspa_class *cls, size_t others,
	struct acct_round *out, struct cm_err *err)
{
	enum cm_rc rc = pt_mixbins_cells(alone, 1, out, err);

	out->messages = ACCT_BITS_OF_LEVELS;
	for (size_t i = 0; i < others && rc == CM_OK; i++) {
		double q = exp(-cls[i].epsilon) / (1 + exp(-cls[i].epsilon));

		/* rounded down by more than the chance and the quotient are off */
		out->level[out->levels++] =
			(struct acct_level){ q / out->cell[0].omega * (1 - 16 * DBL_EPSILON), cls[i].count };
	}
	return rc;
}

/* Compute the loss for a victim of the weakest class, which is the largest of all. */
static enum cm_rc loss(
	const struct pt_randomizer *p, uint64_t participants, struct pt_loss *out, struct cm_err *err)
{
	const struct pt_slot *weakest = &p->slots.slot[p->slots.kinds - 1];
	struct pt_randomizer alone = pt_slot_alone(p, weakest);
	struct acct_gspa_class cls[PT_SLOTS_MAX + 1] = { { 0 } };
	enum acct_rc rc;
	const char *why = "";
	size_t others;

	if (participants < 1 || participants > ACCT_MAX_REPORTS)
		return cm_fail(
			err, CM_EPROTO, "%s: participants out of the accountant's range", p->row->name);
	others = fill_others(p, participants, cls);
	out->parts = 1;
	if (others == 0)
		return pt_mixbins_cells(&alone, 1, &out->part[0], err);
	if (p->slots.slot[0].each.bins == 2)
		return bits(&alone, cls, others, &out->part[0], err);
	cls[others] = (struct acct_gspa_class){ .epsilon = pt_mixbins_guarantee(&weakest->each), .count = 1 };
	rc = acct_gspa_round(cls, others + 1, p->slots.slot[0].each.bins, others, &out->part[0], &why);
	return rc == ACCT_OK       ? CM_OK
	       : rc == ACCT_ENOMEM ? cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name)
				   : cm_fail(err, CM_EPROTO, "%s: %s", p->row->name, why);
}

static enum cm_rc tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	uint32_t slot = 0, bins = p->slots.slot[0].each.bins;
	uint64_t v = 0;
	enum cm_rc rc = pt_record_slot(record, PT_POOLED_MESSAGES, &slot, err);

	if (rc == CM_OK)
		rc = pt_record_value(record, slot == 0 ? bins : p->slots.kinds, &v, err);
	if (rc == CM_OK)
		counts[slot == 0 ? v : bins + v]++;
	return rc;
}

/* How a report depends on its sender's word, in classes with different chances: every word is sent with
 * chance Q, and the sender's own word with P - Q more.  slope stands for P - Q. */
struct mix {
	double n;
	double other, slope;   /* averages over the participants, of Q and of P - Q */
	double other_variance; /* sum of Q (1 - Q) over the participants */
	double keep_variance;  /* largest P (1 - P) and largest Q (1 - Q) in any class */
	/* the largest distance of a class's slope from the average slope, divided by the average */
	double off;
	/* the sum, over the participants whose class has a slope above the average, of how far it is above:
	 * a count may be biased by at most that many reports */
	double beyond;
};

static enum cm_rc mix_of(const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports,
	struct mix *m, struct cm_err *err)
{
	const uint64_t *of = counts + p->slots.slot[0].each.bins;
	double slope[PT_SLOTS_MAX], all = 0;
	uint64_t words = 0;

	*m = (struct mix){ .n = (double)reports };
	for (uint32_t w = 0; w < p->slots.slot[0].each.bins; w++)
		words += counts[w];
	for (uint32_t i = 0; i < p->slots.kinds; i++)
		all += (double)of[i];
	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX || !(all > 0) || words > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", p->row->name);
	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		double q = pt_mixbins_other(&p->slots.slot[i].each),
		       keep = pt_mixbins_keep(&p->slots.slot[i].each), part = (double)of[i] / all;

		slope[i] = keep - q;
		m->other += part * q;
		m->slope += part * slope[i];
		m->other_variance += m->n * part * q * (1 - q);
		if (of[i] > 0)
			m->keep_variance = fmax(m->keep_variance, fmax(keep * (1 - keep), q * (1 - q)));
	}
	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		double off = slope[i] / m->slope - 1;

		if (of[i] > 0)
			m->off = fmax(m->off, fabs(off));
		m->beyond += (double)of[i] / all * m->n * fmax(off, 0);
	}
	return CM_OK;
}

/* Set the range of counts c that an estimate does not exclude.  For c holders the estimate has a mean
 * between c (1 - off) and c (1 + off), and at most `beyond` away on either side. */
static void hold(const struct mix *m, double value, double half, double *lower, double *upper)
{
	double low = value - half, high = value + half;

	*lower = fmax(low > 0 ? low / (1 + m->off) : low, low - m->beyond);
	*upper = fmin(m->off < 1 && high > 0 ? high / (1 - m->off) : high + m->beyond, high + m->beyond);
}

static void fill_count(const struct mix *m, double count, double z, double joint_z, struct qy_item *item)
{
	double value = (count - m->n * m->other) / m->slope, held = fmin(fmax(value, 0), m->n);
	double sd;

	item->value = item->projected = value;
	item->variance = (held * m->keep_variance + m->other_variance) / (m->slope * m->slope);
	sd = sqrt(item->variance);
	hold(m, value, z * sd, &item->lower, &item->upper);
	hold(m, value, joint_z * sd, &item->joint_lower, &item->joint_upper);
	item->bias = fmin(held * m->off / fmax(1 - m->off, 0), m->beyond);
	item->below_noise = item->joint_lower <= 0;
}

static enum cm_rc estimate_counts(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, const struct mix *m, struct es_estimate *e, struct cm_err *err)
{
	uint32_t bins = p->slots.slot[0].each.bins;
	double z = es_normal_upper(0.025), joint_z = es_normal_upper(es_joint_tail(bins));
	double *projected = calloc(bins, sizeof *projected);
	enum cm_rc rc = CM_OK;

	e->n = bins;
	e->item = calloc(bins, sizeof *e->item);
	for (uint32_t w = 0; e->item && projected && w < bins; w++) {
		es_histogram_name(q, w, &e->item[w]);
		fill_count(m, (double)counts[w], z, joint_z, &e->item[w]);
		projected[w] = e->item[w].value;
	}
	e->noise_floor = joint_z * sqrt(m->other_variance) / m->slope;
	if (!e->item || !projected || !es_project_simplex(projected, bins, m->n))
		rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	for (uint32_t w = 0; rc == CM_OK && w < bins; w++)
		e->item[w].projected = projected[w];
	free(projected);
	return rc;
}

/* Estimate a mean of levels.  A report of level l has the mean Q B1 + (P - Q) l, where B1 is the sum of all
 * levels.  The distances of the slopes from the average sum to zero, so the bias is at most b times the sum
 * of those on one side of it. */
static enum cm_rc estimate_mean(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, const struct mix *m, struct es_estimate *e, struct cm_err *err)
{
	double b = p->slots.slot[0].each.bins - 1, first = 0, second = 0, words = 0, range = q->high - q->low,
	       sd, mean;
	struct qy_item *item = e->item = calloc(1, sizeof *item);

	if (!item)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	e->n = 1;
	for (uint32_t w = 0; w < p->slots.slot[0].each.bins; w++) {
		words += (double)counts[w];
		first += (double)counts[w] * w;
		second += (double)counts[w] * w * w;
	}
	if (!(words > 0))
		return cm_fail(err, CM_EDATA, "%s: no reports", p->row->name);
	mean = first / words;
	sd = sqrt(fmax(second / words - mean * mean, 0) / words);
	item->label = q->name;
	item->value = q->low + range * (mean - m->other * b * (b + 1) / 2) / (m->slope * b);
	item->variance = pow(range * sd / (m->slope * b), 2);
	item->bias = range * m->beyond / m->n;
	item->lower = item->joint_lower =
		item->value - es_normal_upper(0.025) * sqrt(item->variance) - item->bias;
	item->upper = item->joint_upper =
		item->value + es_normal_upper(0.025) * sqrt(item->variance) + item->bias;
	item->projected = fmin(fmax(item->value, q->low), q->high);
	return CM_OK;
}

static enum cm_rc estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	struct es_estimate e = { .reports = reports };
	struct mix m;
	enum cm_rc rc = mix_of(p, counts, reports, &m, err);

	(void)row;
	if (rc == CM_OK)
		rc = q->kind == QY_MEAN ? estimate_mean(q, p, counts, &m, &e, err)
					: estimate_counts(q, p, counts, &m, &e, err);
	if (rc == CM_OK)
		*out = e;
	else
		es_estimate_fini(&e);
	return rc;
}

/* ---- Where some devices may have lied ---- */

/* Of n counts take away as many as are more than `honest`: from `first` as long as it has some, then from the
 * next, upwards or downwards, and around. */
static void take(uint64_t *counts, uint32_t n, uint32_t first, bool up, uint64_t honest)
{
	uint64_t came = pt_lied_came(counts, n), lied = came > honest ? came - honest : 0;

	for (uint32_t i = 0; i < n && lied > 0; i++) {
		uint64_t *at = &counts[(first + (up ? i : n - i)) % n], here = *at < lied ? *at : lied;

		*at -= here;
		lied -= here;
	}
}

static void widen(const struct qy_item *item, bool fresh, struct es_honest *out)
{
	const struct es_honest h = { item->value, item->value, item->lower, item->upper, item->joint_lower,
		item->joint_upper };

	*out = fresh ? h
		     : (struct es_honest){ fmin(out->least, h.least), fmax(out->most, h.most),
			       fmin(out->lower, h.lower), fmax(out->upper, h.upper),
			       fmin(out->joint_lower, h.joint_lower), fmax(out->joint_upper, h.joint_upper) };
}

/* Set what makes intervals widest over all classes that the honest devices can have stated: the least slope,
 * the largest variances, and the largest bias.  In units of the average slope a, which is between those of
 * the ends, slopes from b to t are on average at most (t - a) (a - b) / ((t - b) a) above it. */
static enum cm_rc worst_of(const struct pt_randomizer *p, const uint64_t *counts, uint64_t honest,
	uint64_t *made, struct mix *w, struct cm_err *err)
{
	uint32_t bins = p->slots.slot[0].each.bins, kinds = p->slots.kinds;
	double low = 1, high = 0, top = 0, bottom = 1, a;
	struct mix m;

	*w = (struct mix){ .n = (double)honest };
	for (uint32_t c = 0; c < 2 * kinds; c++) {
		memcpy(made, counts, (bins + kinds) * sizeof *made);
		take(made + bins, kinds, c / 2, c % 2 == 0, honest);
		if (mix_of(p, made, honest, &m, err) != CM_OK)
			return err->code;
		low = fmin(low, m.slope);
		high = fmax(high, m.slope);
		w->other_variance = fmax(w->other_variance, m.other_variance);
	}
	for (uint32_t i = 0; i < kinds; i++) {
		double keep = pt_mixbins_keep(&p->slots.slot[i].each),
		       q = pt_mixbins_other(&p->slots.slot[i].each);

		if (counts[bins + i] == 0)
			continue;
		top = fmax(top, keep - q);
		bottom = fmin(bottom, keep - q);
		w->keep_variance = fmax(w->keep_variance, fmax(keep * (1 - keep), q * (1 - q)));
	}
	a = fmin(fmax(sqrt(top * bottom), low), high);
	w->slope = low;
	w->off = fmax(top / low - 1, 1 - bottom / high);
	w->beyond = top > bottom ? w->n * (top - a) * (a - bottom) / ((top - bottom) * a) : 0;
	return CM_OK;
}

/* Give a mix the widest intervals: its own slope divides, so that the variances are those of the least. */
static void make_worst(const struct mix *worst, struct mix *m)
{
	double k = pow(m->slope / worst->slope, 2);

	m->keep_variance = worst->keep_variance * k;
	m->other_variance = worst->other_variance * k;
	m->off = worst->off;
	m->beyond = worst->beyond;
}

/* Widen the items by what the honest devices' messages say if all of the liars' words are the same.  m: by
 * the classes that are left to the honest devices; fresh: the first time. */
static enum cm_rc add_mix(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	uint64_t honest, const struct mix *m, bool fresh, uint64_t *made, struct es_honest *out,
	struct cm_err *err)
{
	uint32_t bins = p->slots.slot[0].each.bins, items = q->kind == QY_MEAN ? 1 : bins;

	/* a word's own messages, and those of another; for a mean the lowest level, and the highest */
	for (uint32_t i = 0; i < 2 * items; i++) {
		uint32_t item = i / 2, word = items == 1 ? i * (bins - 1) : (item + i % 2) % bins;
		struct es_estimate e = { .reports = honest };
		enum cm_rc rc;

		memcpy(made, counts, bins * sizeof *made);
		/* the sum of a mean's levels is largest without the lowest, and least without the highest */
		take(made, bins, word, word == 0 || items > 1, honest);
		rc = items == 1 ? estimate_mean(q, p, made, m, &e, err)
				: estimate_counts(q, p, made, m, &e, err);
		if (rc == CM_OK)
			widen(&e.item[item], fresh && i % 2 == 0, &out[item]);
		es_estimate_fini(&e);
		if (rc != CM_OK)
			return rc;
	}
	return CM_OK;
}

/* A mean's own variance follows from what came, and liars could make it small: count it as the largest that
 * words have. */
static void set_spread(const struct qy_query *q, double n, double slope, double bias, struct es_honest *out)
{
	double half = es_normal_upper(0.025) * (q->high - q->low) / (2 * slope * sqrt(n)) + bias;

	out->lower = out->joint_lower = fmin(out->lower, out->least - half);
	out->upper = out->joint_upper = fmax(out->upper, out->most + half);
}

static enum cm_rc influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	uint32_t bins = p->slots.slot[0].each.bins, all = tallies(p);
	uint64_t *made = calloc(all, sizeof *made), honest = crowd->devices - crowd->liars;
	struct mix m, worst = { .slope = 1 };

	(void)row;
	if (!made)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	enum cm_rc rc = worst_of(p, counts, honest, made, &worst, err);
	/* from the weakest class up, from the strongest down, and from those between both ways */
	for (uint32_t c = 0; rc == CM_OK && c < 2 * p->slots.kinds; c++) {
		memcpy(made + bins, counts + bins, p->slots.kinds * sizeof *made);
		take(made + bins, p->slots.kinds, c / 2, c % 2 == 0, honest);
		rc = mix_of(p, made, honest, &m, err);
		if (rc != CM_OK)
			break;
		make_worst(&worst, &m);
		rc = add_mix(q, p, counts, honest, &m, c == 0, made, out, err);
	}
	if (rc == CM_OK && q->kind == QY_MEAN)
		set_spread(q, (double)honest, worst.slope, (q->high - q->low) * worst.beyond / (double)honest,
			out);
	free(made);
	return rc;
}

/* Every honest device sends one word and one class: whoever sends two of either, or none, is seen. */
static uint64_t seen(const struct pt_randomizer *p, const uint64_t *counts, uint64_t devices)
{
	uint32_t bins = p->slots.slot[0].each.bins;
	uint64_t words = pt_lied_came(counts, bins), classes = pt_lied_came(counts + bins, p->slots.kinds);
	uint64_t by_words = words > devices ? words - devices : devices - words,
		 by_classes = classes > devices ? classes - devices : devices - classes;

	return by_words > by_classes ? by_words : by_classes;
}

/* Write GSPA's own value for the classes at their least sizes, with everybody else in the weakest. */
static void statement(const struct qy_query *q, const struct pt_randomizer *p, uint64_t participants,
	double delta, char *out, size_t size)
{
	struct acct_gspa_class cls[PT_SLOTS_MAX] = { 0 };
	double mu, epsilon;

	(void)q;
	fill_classes(p, participants, cls);
	out[0] = '\0';
	if (acct_gspa_mu(cls, p->slots.kinds, 1, &mu, NULL) == ACCT_OK &&
		acct_gspa_gaussian_epsilon(mu, delta, &epsilon, NULL) == ACCT_OK)
		(void)snprintf(out, size,
			"GSPA says epsilon %.4g at delta %g: paper value (not a guarantee), of a Gaussian "
			"limit; what is charged is the exact bound",
			epsilon, delta);
}

/* The largest variance of a report of level l, with rounding to levels; pt_digits_analysis.c has the
 * formula. */
static double report_variance(const struct pt_slot *s, double l)
{
	double k = s->each.bins, q = pt_mixbins_other(&s->each), slope = pt_mixbins_keep(&s->each) - q;
	double b1 = k * (k - 1) / 2, b2 = b1 * (2 * k - 1) / 3, mean = q * b1 + slope * l;

	return q * b2 + slope * l * l - mean * mean + slope * slope / 4;
}

/* Assume the classes at their least sizes, the rest of the participants in the most private class, and no
 * bias. */
static double expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	double n = (double)participants, rest = n, slope = 0, other = 0, keep = 0,
	       b = p->slots.slot[0].each.bins - 1;
	double at[PT_SLOTS_MAX], worst = 0;

	(void)row;
	for (uint32_t i = 0; i < p->slots.kinds; i++)
		rest -= p->shuffler.tag_least[i];
	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		double qi = pt_mixbins_other(&p->slots.slot[i].each),
		       pi = pt_mixbins_keep(&p->slots.slot[i].each);

		at[i] = p->shuffler.tag_least[i] + (i == 0 ? fmax(rest, 0) : 0);
		slope += at[i] / n * (pi - qi);
		other += at[i] * qi * (1 - qi);
		keep = fmax(keep, pi * (1 - pi));
	}
	for (double l = 0; l <= b; l++) {
		double sum = 0;

		for (uint32_t i = 0; i < p->slots.kinds; i++)
			sum += at[i] * report_variance(&p->slots.slot[i], l);
		worst = fmax(worst, sum);
	}
	return q->kind == QY_MEAN ? (q->high - q->low) * sqrt(worst) / (slope * b * n)
				  : sqrt(other + (n / (b + 1) + n / 10) / 2 * keep) / slope;
}

const struct pt_protocol pt_row_gspa_pooled = {
	.device = &pt_device_gspa_pooled,
	.keys = PT_KEY_LEVELS | PT_KEY_CLASSES,
	.derive = derive,
	.tallies = tallies,
	.loss = loss,
	.tally = tally,
	.estimate = estimate,
	.influence = influence,
	.seen = seen,
	.expected_error = expected_error,
	.statement = statement,
};
