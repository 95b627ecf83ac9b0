/* pt_digits_analysis.c - divides dummies among the digits by their place value, and adds the digits up to a
 * mean or sum. */
#include "pt_digits.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "es_holders.h"
#include "es_honest.h"
#include "es_law.h"
#include "pr_limits.h"
#include "pt_lied_analysis.h"
#include "pt_mixbins.h"
#include "pt_protocol.h"
#include "pt_rows.h"
#include "pt_slots_analysis.h"

#define LEVELS_DEFAULT 256u
#define BASE_DEFAULT   2u
#define BINS_MAX       65u /* two digits of base 64, and the symbol of none */

/* The place value of digit i, base^(slots - 1 - i): the first digit is the most significant. */
static double place(const struct qy_query *q, const struct pt_randomizer *p, uint32_t i)
{
	return ldexp(1, (int)(pt_digits_bits(pt_digits_base(q, p)) * (p->slots.kinds - 1 - i)));
}

/* The noise of a digit counts with the square of its place value, and is inversely proportional to its
 * dummies.  The total is least if dummies are proportional to the place value. */
static enum cm_rc make_slots(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_request *r, uint32_t base, uint32_t digits, struct pt_randomizer *p,
	struct cm_err *err)
{
	struct pt_request one = *r;
	enum cm_rc rc = CM_OK;

	p->slots.kinds = digits;
	for (uint32_t i = 0; rc == CM_OK && i < digits; i++) {
		p->slots.slot[i] =
			(struct pt_slot){ .count = 1, .groups = 1, .each.bins = base + qy_query_symbols(q) };
		rc = pt_slots_request(row, &one, &p->slots.slot[i], err);
		one.dummies = one.dummies < PR_BLANKET_MAX ? one.dummies * base : one.dummies;
	}
	return rc == CM_OK ? pt_slots_limit(p, err) : rc;
}

static enum cm_rc derive(const struct pt_protocol *row, const struct qy_query *q, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	struct pt_randomizer made = { 0 };
	uint32_t levels = r->levels != 0 ? r->levels : LEVELS_DEFAULT;
	uint32_t base = r->size != 0 ? r->size : BASE_DEFAULT;
	uint32_t bits = pt_digits_bits(levels), width = pt_digits_bits(base);
	enum cm_rc rc = pt_digits_kind(q, CM_ECONFIG, err);

	if (rc != CM_OK)
		return rc;
	if (bits == 0 || width == 0 || bits % width != 0 || bits / width < 2 || levels > PR_CATEGORIES_MAX)
		return cm_fail(err, CM_ECONFIG,
			"%s: levels must be size to the power of 2 or more, both powers of two, and at most "
			"%u",
			row->device->name, PR_CATEGORIES_MAX);
	made.row = row->device;
	rc = make_slots(row, q, r, base, bits / width, &made, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

/* A report y of digit l has the score (y - Q B1) / (P - Q), whose mean is l; B1 and B2 are the sums of y
 * and y^2 over all digits.  The variance follows from E y = Q B1 + (P - Q) l and E y^2 = Q B2 + (P - Q)
 * l^2. */
static double score_variance(const struct pt_slot *s, double l)
{
	double k = s->each.bins, q = pt_mixbins_other(&s->each), more = pt_mixbins_keep(&s->each) - q;
	double b1 = k * (k - 1) / 2, b2 = b1 * (2 * k - 1) / 3, mean = q * b1 + more * l;

	return (q * b2 + more * l * l - mean * mean) / (more * more);
}

static double dummy_variance(const struct pt_slot *s, double reports)
{
	double k = s->each.bins, more = pt_mixbins_keep(&s->each) - pt_mixbins_other(&s->each);

	return reports * s->each.dummies * (k * k - 1) / 12 / (more * more);
}

/* The sum of a digit over all participants, and its variance given the digits. */
static double digit_sum(const struct pt_slot *s, const uint64_t *counts, double n, double *variance)
{
	double k = s->each.bins, q = pt_mixbins_other(&s->each), more = pt_mixbins_keep(&s->each) - q;
	double noise = n * s->each.dummies / k + n * q, sum = 0, own = 0, least = INFINITY, most = 0;

	for (uint32_t l = 0; l < s->each.bins; l++) {
		double held = ((double)counts[l] - noise) / more, one = score_variance(s, l);

		sum += l * held;
		own += held * one;
		least = fmin(least, one);
		most = fmax(most, one);
	}
	*variance = fmin(fmax(own, n * least), n * most) + dummy_variance(s, n);
	return sum;
}

/* ---- Of those who have a reading ---- */

/* Each slot counts the devices that have a reading; its variance follows from public numbers.  A slot's
 * weight in the combined number is inverse to its variance there, assuming that half of the participants
 * have a reading. */
static double holders_variance(const struct pt_slot *s, double *weight, double n)
{
	const struct es_counted c = { .bins = s->each.bins,
		.keep = pt_mixbins_keep(&s->each),
		.other = pt_mixbins_other(&s->each),
		.n = n,
		.dummies = n * s->each.dummies };

	for (uint32_t y = 0; y < s->each.bins; y++)
		weight[y] = y + 1 < s->each.bins;
	return n / 2 * (es_score_variance(&c, weight, 0) + es_score_variance(&c, weight, s->each.bins - 1)) +
	       c.dummies * es_score_dummy_variance(&c, weight);
}

/* Add what one slot says to the sum of levels and, with the weight `part`, to the number of holders. */
static enum cm_rc add_digit(const struct qy_query *q, const struct pt_randomizer *p, uint32_t i,
	const uint64_t *counts, double n, double part, double *score, struct es_sums *sums,
	struct cm_err *err)
{
	const struct pt_slot *s = &p->slots.slot[i];
	const struct es_counted c = { .counts = counts,
		.bins = s->each.bins,
		.keep = pt_mixbins_keep(&s->each),
		.other = pt_mixbins_other(&s->each),
		.n = n,
		.dummies = n * s->each.dummies };
	struct es_held held = { 0 };
	enum cm_rc rc = CM_OK;

	for (uint32_t y = 0; y < s->each.bins; y++) {
		score[y] = y + 1 < s->each.bins ? y * place(q, p, i) : 0;
		score[s->each.bins + y] = y + 1 < s->each.bins ? part : 0;
	}
	if (es_held(&c, &held))
		es_sums_add(&c, &held, score, score + s->each.bins, sums);
	else
		rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	es_held_fini(&held);
	return rc;
}

static enum cm_rc estimate_holders(const struct qy_query *q, const struct pt_randomizer *p,
	const uint64_t *counts, uint64_t reports, struct es_estimate *out, struct cm_err *err)
{
	uint32_t bins = p->slots.slot[0].each.bins;
	double *score = calloc(2 * (size_t)bins, sizeof *score), part[PT_SLOTS_MAX] = { 0 }, parts = 0;
	struct es_estimate e = { .n = 2, .item = calloc(2, sizeof *e.item), .reports = reports };
	struct es_support symbol = pt_slot_support(&p->slots.slot[0], reports, 1);
	struct es_sums sums = { 0 };
	enum cm_rc rc = CM_OK;

	if (!score || !e.item)
		rc = cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	for (uint32_t i = 0; rc == CM_OK && i < p->slots.kinds; i++) {
		part[i] = 1 / fmax(holders_variance(&p->slots.slot[i], score, (double)reports), DBL_MIN);
		parts += part[i];
	}
	for (uint32_t i = 0; rc == CM_OK && i < p->slots.kinds; i++)
		rc = add_digit(q, p, i, counts + (size_t)i * bins, (double)reports, part[i] / parts, score,
			&sums, err);
	if (rc == CM_OK) {
		es_holders_mean(q, &sums, pt_digits_top(q, p), &e.item[0]);
		rc = es_none_item(&symbol, counts[bins - 1], reports, 1, &e.item[1], &e.noise_floor, err);
	}
	free(score);
	if (rc == CM_OK)
		*out = e;
	else
		es_estimate_fini(&e);
	return rc;
}

/* Expect the variance as if everybody had a reading: it is that without a symbol of none, except for the
 * bin that the symbol takes. */
static double digit_variance(const struct qy_query *q, const struct pt_randomizer *p, uint32_t i, double n)
{
	const struct pt_slot *s = &p->slots.slot[i];
	const struct es_counted c = { .bins = s->each.bins,
		.keep = pt_mixbins_keep(&s->each),
		.other = pt_mixbins_other(&s->each),
		.n = n,
		.dummies = n * s->each.dummies };
	double score[BINS_MAX], worst = 0, dummy = 0;
	uint32_t base = pt_digits_base(q, p);

	/* a mean is a ratio, so a digit counts by its distance from the mean */
	for (uint32_t l = 0; l < base; l++) {
		for (uint32_t y = 0; y < s->each.bins; y++)
			score[y] = y < base ? (double)y - l : 0;
		worst = fmax(worst, es_score_variance(&c, score, l));
		dummy = fmax(dummy, es_score_dummy_variance(&c, score));
	}
	return n * worst + c.dummies * dummy;
}

static enum cm_rc estimate(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, struct es_estimate *out,
	struct cm_err *err)
{
	double n = (double)reports, top = pt_digits_top(q, p), sum = 0,
	       variance = n / 4; /* the largest variance that rounding to levels may have */
	double z = es_normal_upper(0.025), unit, scale;
	struct qy_item *item;
	enum cm_rc rc = pt_slots_totals(p, counts, reports, err);

	(void)row;
	if (rc != CM_OK)
		return rc;
	if (qy_query_symbols(q) > 0)
		return estimate_holders(q, p, counts, reports, out, err);
	item = calloc(1, sizeof *item);
	if (!item)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		double of_digit;

		sum += place(q, p, i) *
		       digit_sum(&p->slots.slot[i], counts + (size_t)i * pt_digits_base(q, p), n, &of_digit);
		variance += place(q, p, i) * place(q, p, i) * of_digit;
	}
	scale = (q->kind == QY_SUM ? 1 : 1 / n);
	unit = (q->high - q->low) * scale * sqrt(variance) / top;
	item->label = q->name;
	item->value = scale * (n * q->low + (q->high - q->low) * sum / top);
	item->variance = unit * unit;
	item->lower = item->joint_lower = item->value - z * unit;
	item->upper = item->joint_upper = item->value + z * unit;
	item->projected = fmin(fmax(item->value, scale * n * q->low), scale * n * q->high);
	*out = (struct es_estimate){ .item = item, .n = 1, .reports = reports };
	return CM_OK;
}

/* ---- Where some devices may have lied ---- */

/* Fill in the slots' batches.  score: of every slot first its digits' place values, then their weights, which
 * are 1 in all slots together where a device has a reading. */
static void honest_batches(const struct qy_query *q, const struct pt_randomizer *p, const uint64_t *counts,
	const struct pt_crowd *crowd, double *score, struct es_batch *batch)
{
	uint32_t bins = p->slots.slot[0].each.bins, base = pt_digits_base(q, p);
	double part[PT_SLOTS_MAX], parts = 0, n = (double)(crowd->devices - crowd->liars);

	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		part[i] = 1 / fmax(holders_variance(&p->slots.slot[i], score, n), DBL_MIN);
		parts += part[i];
	}
	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		const struct pt_slot *s = &p->slots.slot[i];
		struct pt_lied lied = pt_lied_slot(p, s, counts + (size_t)i * bins, crowd);
		double *own = score + (size_t)2 * i * bins;

		for (uint32_t y = 0; y < bins; y++) {
			own[y] = y < base ? y * place(q, p, i) : 0;
			own[bins + y] = y < base ? part[i] / parts : 0;
		}
		batch[i] = (struct es_batch){ .c = { .counts = counts + (size_t)i * bins,
						      .bins = bins,
						      .keep = pt_mixbins_keep(&s->each),
						      .other = pt_mixbins_other(&s->each),
						      .n = n,
						      .dummies = lied.dummies },
			.lied = (double)lied.messages,
			.score = own,
			.weight = own + bins };
	}
}

/* The sum of the levels, and so a mean or a sum of the numbers of all honest devices. */
static void honest_sum(const struct qy_query *q, const struct pt_randomizer *p, const struct es_batch *batch,
	double *room, struct es_honest *out)
{
	struct es_honest_sum sum = es_honest_sum_of(batch, p->slots.kinds, 1, 0, room);
	double n = batch[0].c.n, scale = q->kind == QY_SUM ? 1 : 1 / n;
	double unit = scale * (q->high - q->low) / pt_digits_top(q, p), low = scale * n * q->low;

	es_honest_normal(
		low + unit * sum.least, low + unit * sum.most, unit * sqrt(sum.variance + n / 4), 1, 1, out);
}

static enum cm_rc influence(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, const uint64_t *counts, const struct pt_crowd *crowd,
	struct es_honest *out, struct cm_err *err)
{
	uint32_t bins = p->slots.slot[0].each.bins;
	double *score = calloc(((size_t)2 * p->slots.kinds + 1) * bins, sizeof *score);
	struct pt_lied first = pt_lied_slot(p, &p->slots.slot[0], counts, crowd);
	struct es_batch batch[PT_SLOTS_MAX];
	enum cm_rc rc = CM_OK;

	(void)row;
	if (!score)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", p->row->name);
	honest_batches(q, p, counts, crowd, score, batch);
	if (qy_query_symbols(q) == 0)
		honest_sum(q, p, batch, score + (size_t)2 * p->slots.kinds * bins, out);
	else
		rc = es_holders_honest(q, batch, p->slots.kinds, pt_digits_top(q, p), &out[0], err);
	if (rc == CM_OK && qy_query_symbols(q) > 0)
		rc = pt_lied_supports(&first, pt_slot_support(&p->slots.slot[0], first.honest, 1),
			counts + bins - 1, 1, 1, &out[1], err);
	free(score);
	return rc;
}

static double expected_error(const struct pt_protocol *row, const struct qy_query *q,
	const struct pt_randomizer *p, uint64_t participants)
{
	double n = (double)participants, variance = n / 4;

	(void)row;
	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		double worst = 0, of_digit;

		for (uint32_t l = 0; l < pt_digits_base(q, p); l++)
			worst = fmax(worst, score_variance(&p->slots.slot[i], l));
		of_digit = qy_query_symbols(q) > 0 ? digit_variance(q, p, i, n)
						   : n * worst + dummy_variance(&p->slots.slot[i], n);
		variance += place(q, p, i) * place(q, p, i) * of_digit;
	}
	return (q->high - q->low) * sqrt(variance) / pt_digits_top(q, p) / (q->kind == QY_SUM ? 1 : n);
}

const struct pt_protocol pt_row_digits = {
	.device = &pt_device_digits,
	.keys = PT_KEY_LEVELS | PT_KEY_SIZE,
	.derive = derive,
	.estimate = estimate,
	.influence = influence,
	.expected_error = expected_error,
	PT_SLOTS_COUNT_ANALYSIS,
};
