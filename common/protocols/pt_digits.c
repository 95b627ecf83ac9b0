/* pt_digits.c - the mean of a bounded number from its digits, a slot of MIXBINS for each. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "pr_limits.h"
#include "pt_law.h"
#include "pt_levels.h"
#include "pt_rows.h"
#include "pt_slots_count.h"

#define LEVELS_DEFAULT 256u
#define BASE_DEFAULT   2u

static const char name[] = "digits";

/* w with 2^w = v, or 0. */
static uint32_t bits_of(uint32_t v)
{
	return v >= 2 && (v & (v - 1)) == 0 ? (uint32_t)__builtin_ctz(v) : 0;
}

static uint32_t base_of(const struct pt_params *p)
{
	return p->slot[0].bins;
}

/* Levels 0..b, b + 1 = base^slots, which check() holds to PR_CATEGORIES_MAX. */
static uint32_t top_level(const struct pt_params *p)
{
	return (1u << (bits_of(base_of(p)) * p->slots)) - 1;
}

/* What digit i counts, the first being the most significant. */
static double place(const struct pt_params *p, uint32_t i)
{
	return ldexp(1, (int)(bits_of(base_of(p)) * (p->slots - 1 - i)));
}

static enum cm_rc check_kind(const struct pt_query *q, enum cm_rc code, struct cm_err *err)
{
	return q->kind == PT_MEAN || q->kind == PT_SUM
		       ? CM_OK
		       : cm_fail(err, code, "%s: answers means and sums only", name);
}

/* A digit's noise weighs the square of its place and costs one over its dummies: the sum of both is least
 * where dummies grow with the inverse of the place. */
static enum cm_rc make_slots(
	const struct pt_request *r, uint32_t base, uint32_t digits, struct pt_params *p, struct cm_err *err)
{
	struct pt_request one = *r;
	enum cm_rc rc = CM_OK;

	p->slots = digits;
	for (uint32_t i = 0; rc == CM_OK && i < digits; i++) {
		p->slot[i] = (struct pt_slot){ .count = 1, .groups = 1, .bins = base };
		rc = pt_slots_request(name, &one, &p->slot[i], err);
		one.dummies = one.dummies < PR_MESSAGES_MAX ? one.dummies * base : one.dummies;
	}
	return rc == CM_OK ? pt_slots_limit(p, err) : rc;
}

static enum cm_rc derive(
	const struct pt_query *q, const struct pt_request *r, struct pt_params *out, struct cm_err *err)
{
	struct pt_params made = { 0 };
	uint32_t levels = r->levels != 0 ? r->levels : LEVELS_DEFAULT;
	uint32_t base = r->size != 0 ? r->size : BASE_DEFAULT;
	uint32_t bits = bits_of(levels), width = bits_of(base);
	enum cm_rc rc = check_kind(q, CM_ECONFIG, err);

	if (rc != CM_OK)
		return rc;
	if (bits == 0 || width == 0 || bits % width != 0 || bits / width < 2 || levels > PR_CATEGORIES_MAX)
		return cm_fail(err, CM_ECONFIG,
			"%s: levels must be size to the power of 2 or more, both powers of two, and at most "
			"%u",
			name, PR_CATEGORIES_MAX);
	(void)snprintf(made.protocol, sizeof made.protocol, "%s", name);
	rc = make_slots(r, base, bits / width, &made, err);
	if (rc == CM_OK)
		*out = made;
	return rc;
}

static enum cm_rc check(const struct pt_query *q, const struct pt_params *p, struct cm_err *err)
{
	enum cm_rc rc = check_kind(q, CM_EPROTO, err);
	uint32_t bits;

	if (rc == CM_OK)
		rc = pt_slots_check(name, p, err);
	if (rc != CM_OK)
		return rc;
	bits = bits_of(base_of(p));
	if (bits == 0 || p->slots < 2 || bits * p->slots > 12)
		return cm_fail(err, CM_EPROTO, "%s: digits of base %u that make no levels", name,
			(unsigned)base_of(p));
	for (uint32_t i = 0; i < p->slots; i++)
		if (p->slot[i].count != 1 || p->slot[i].groups != 1 || p->slot[i].bins != base_of(p))
			return cm_fail(err, CM_EPROTO, "%s: slot %u is not its digit's", name, i + 1);
	return CM_OK;
}

/* value->x is the level here: it is rounded once for all digits. */
static uint64_t word(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	uint32_t i, uint32_t group, const struct cm_rng *rng)
{
	uint32_t bits = bits_of(base_of(p));

	(void)q;
	(void)group;
	(void)rng;
	return value->x >> (bits * (p->slots - 1 - i)) & (base_of(p) - 1);
}

static void encode(const struct pt_query *q, const struct pt_params *p, const struct pt_value *value,
	const struct cm_rng *rng, uint8_t *records)
{
	const struct pt_value level = { .x = pt_levels_round(value->x, top_level(p), rng) };

	pt_slots_encode(q, p, &level, word, rng, records);
}

/* A report y of digit l scores (y - Q B1) / (P - Q), of mean l; B1, B2 are the sums of y and y^2 over all
 * digits.  Its variance: E y = Q B1 + (P - Q) l and E y^2 = Q B2 + (P - Q) l^2. */
static double score_variance(const struct pt_slot *s, double l)
{
	double k = s->bins, q = pt_slot_other(s), more = pt_slot_keep(s) - q;
	double b1 = k * (k - 1) / 2, b2 = b1 * (2 * k - 1) / 3, mean = q * b1 + more * l;

	return (q * b2 + more * l * l - mean * mean) / (more * more);
}

static double dummy_variance(const struct pt_slot *s, double reports)
{
	double k = s->bins, more = pt_slot_keep(s) - pt_slot_other(s);

	return reports * s->dummies * (k * k - 1) / 12 / (more * more);
}

/* The sum of a digit over all participants, and its variance given the digits. */
static double digit_sum(const struct pt_slot *s, const uint64_t *counts, double n, double *variance)
{
	double k = s->bins, q = pt_slot_other(s), more = pt_slot_keep(s) - q;
	double noise = n * s->dummies / k + n * q, sum = 0, own = 0, least = INFINITY, most = 0;

	for (uint32_t l = 0; l < s->bins; l++) {
		double held = ((double)counts[l] - noise) / more, one = score_variance(s, l);

		sum += l * held;
		own += held * one;
		least = fmin(least, one);
		most = fmax(most, one);
	}
	*variance = fmin(fmax(own, n * least), n * most) + dummy_variance(s, n);
	return sum;
}

static enum cm_rc estimate(const struct pt_query *q, const struct pt_params *p, const uint64_t *counts,
	uint64_t reports, struct pt_estimate *out, struct cm_err *err)
{
	double n = (double)reports, top = top_level(p), sum = 0, variance = n / 4; /* rounding, at most */
	double z = pt_normal_upper(0.025), unit, scale;
	struct pt_item *item;
	enum cm_rc rc = pt_slots_totals(p, counts, reports, err);

	if (rc != CM_OK)
		return rc;
	item = calloc(1, sizeof *item);
	if (item == NULL)
		return cm_fail(err, CM_EINTERNAL, "%s: out of memory", name);
	for (uint32_t i = 0; i < p->slots; i++) {
		double of_digit;

		sum += place(p, i) * digit_sum(&p->slot[i], counts + (size_t)i * base_of(p), n, &of_digit);
		variance += place(p, i) * place(p, i) * of_digit;
	}
	scale = (q->kind == PT_SUM ? 1 : 1 / n);
	unit = (q->high - q->low) * scale * sqrt(variance) / top;
	item->label = q->name;
	item->value = scale * (n * q->low + (q->high - q->low) * sum / top);
	item->variance = unit * unit;
	item->lower = item->joint_lower = item->value - z * unit;
	item->upper = item->joint_upper = item->value + z * unit;
	item->projected = fmin(fmax(item->value, scale * n * q->low), scale * n * q->high);
	*out = (struct pt_estimate){ .item = item, .n = 1, .reports = reports };
	return CM_OK;
}

static double expected_error(const struct pt_query *q, const struct pt_params *p, uint64_t participants)
{
	double n = (double)participants, variance = n / 4;

	for (uint32_t i = 0; i < p->slots; i++) {
		double worst = 0;

		for (uint32_t l = 0; l < base_of(p); l++)
			worst = fmax(worst, score_variance(&p->slot[i], l));
		variance += place(p, i) * place(p, i) * (n * worst + dummy_variance(&p->slot[i], n));
	}
	return (q->high - q->low) * sqrt(variance) / top_level(p) / (q->kind == PT_SUM ? 1 : n);
}

const struct pt_protocol pt_row_digits = {
	.name = name,
	.summary = "a slot of mixbins for each digit: the mean or sum of a bounded number",
	.kinds = PT_MEAN | PT_SUM,
	.derive = derive,
	.check = check,
	.encode = encode,
	.estimate = estimate,
	.expected_error = expected_error,
	PT_SLOTS_COUNT_COLUMNS,
};
