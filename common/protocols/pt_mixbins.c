/* pt_mixbins.c - the randomizer all rows share, its exact probabilities and its blanket cells. */
#include "pt_mixbins.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cm_fault.h"
#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_histogram.h"
#include "pt_noise.h"
#include "pt_record.h"

/* P / Q; the relative error is below 2^(2 - LDBL_MANT_DIG). */
static long double ratio(const struct pt_params *p)
{
	return (long double)p->keep * (long double)(p->bins - 1) / (long double)pt_complement(p->keep);
}

/* P hardly above 1/k says nothing about the value, and below it something false. */
static bool says_something(const struct pt_params *p)
{
	return p->keep > 0 && pt_log_up(ratio(p)) >= PT_EPSILON0_MIN;
}

enum cm_rc pt_mixbins_request(const char *name, uint32_t bins, const struct pt_request *r,
	struct pt_params *out, struct cm_err *err)
{
	long double odds, t;
	double epsilon0 = r->epsilon0;
	struct pt_params made = { .bins = bins,
		.dummies = r->dummies,
		.dummy_chance = r->dummy_chance,
		.shuffler_dummies = r->shuffler_dummies };

	(void)snprintf(made.protocol, sizeof made.protocol, "%s", name);
	if (bins < 2 || bins > PR_CATEGORIES_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: %u bins, must be 2 to %u", name, (unsigned)bins,
			PR_CATEGORIES_MAX);
	if (pt_mixbins_messages(&made) > PR_MESSAGES_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be at most %u", name, PR_MESSAGES_MAX - 1);
	if (r->shuffler_dummies > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: shuffler_dummies must be at most %u", name,
			PT_SHUFFLER_DUMMIES_MAX);
	if (isinf(epsilon0) && epsilon0 > 0) {
		made.keep_always = true;
		if (r->noise_epsilon > 0 && pt_noise_request(name, r, &made, err) != CM_OK)
			return err->code;
		if (r->dummies == 0 && r->dummy_chance == 0 && !pt_rests_on_shuffler(&made))
			return cm_fail(err, CM_ECONFIG,
				"%s: epsilon0 \"inf\" needs dummies: there is no privacy without", name);
		*out = made;
		return CM_OK;
	}
	if (!(epsilon0 > 0 && epsilon0 <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be above 0 and at most %g, or \"inf\"",
			name, PT_EPSILON0_MAX);
	odds = expl((long double)epsilon0);
	t = floorl(ldexpl(odds / (odds + (long double)(bins - 1)), 64) - PT_THRESHOLD_MARGIN);
	made.keep = (uint64_t)t;
	if (!says_something(&made))
		return cm_fail(
			err, CM_ECONFIG, "%s: epsilon0 %g is too small to say anything", name, epsilon0);
	*out = made;
	return CM_OK;
}

enum cm_rc pt_mixbins_derive(const char *name, uint32_t bins, double epsilon0, uint32_t dummies,
	struct pt_params *out, struct cm_err *err)
{
	const struct pt_request r = { .epsilon0 = epsilon0, .dummies = dummies };

	return pt_mixbins_request(name, bins, &r, out, err);
}

enum cm_rc pt_mixbins_check(const char *name, const struct pt_params *p, struct cm_err *err)
{
	if (strncmp(p->protocol, name, sizeof p->protocol) != 0)
		return cm_fail(err, CM_EPROTO, "%s: parameters of another protocol", name);
	if (p->bins < 2 || p->bins > PR_CATEGORIES_MAX)
		return cm_fail(err, CM_EPROTO, "%s: %u bins, must be 2 to %u", name, (unsigned)p->bins,
			PR_CATEGORIES_MAX);
	if (p->dummies >= PR_MESSAGES_MAX || pt_mixbins_messages(p) > PR_MESSAGES_MAX)
		return cm_fail(err, CM_EPROTO, "%s: too many dummies", name);
	if (p->shuffler_dummies > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(err, CM_EPROTO, "%s: too many dummies of the shuffler", name);
	if (p->size != 0 || p->other != 0 || p->slots != 0)
		return cm_fail(err, CM_EPROTO,
			"%s: a size, a second probability or slots where there are none", name);
	if (p->keep_always && p->keep != 0)
		return cm_fail(err, CM_EPROTO, "%s: both a keep probability and none", name);
	if (CM_CHECKED("protocol.blanket") && p->keep_always && p->dummies == 0 && p->dummy_chance == 0 &&
		!pt_rests_on_shuffler(p))
		return cm_fail(err, CM_EPROTO, "%s: no noise of any kind: there would be no privacy", name);
	if (!p->keep_always && !says_something(p))
		return cm_fail(err, CM_EPROTO, "%s: the keep probability is hardly above 1/%u", name,
			(unsigned)p->bins);
	if (!p->keep_always && pt_mixbins_epsilon0(p) > PT_EPSILON0_MAX)
		return cm_fail(err, CM_EPROTO, "%s: epsilon0 above %g", name, PT_EPSILON0_MAX);
	return pt_noise_check(name, p, err);
}

double pt_mixbins_keep(const struct pt_params *p)
{
	return p->keep_always ? 1 : pt_probability(p->keep);
}

double pt_mixbins_other(const struct pt_params *p)
{
	return p->keep_always ? 0 : pt_probability(pt_complement(p->keep)) / (p->bins - 1);
}

uint32_t pt_mixbins_messages(const struct pt_params *p)
{
	return 1 + p->dummies + (p->dummy_chance > 0);
}

uint32_t pt_mixbins_record_len(const struct pt_params *p)
{
	(void)p;
	return PT_RECORD_LEN;
}

uint32_t pt_mixbins_bins(const struct pt_params *p)
{
	return p->bins;
}

double pt_mixbins_epsilon0(const struct pt_params *p)
{
	return p->keep_always ? INFINITY : pt_log_up(ratio(p));
}

enum cm_rc pt_mixbins_cells(
	const struct pt_params *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	double k = p->bins, u, omega, rest;
	uint64_t dummies;

	if (participants < 1 || __builtin_mul_overflow(participants, (uint64_t)p->dummies, &dummies) ||
		__builtin_add_overflow(dummies, p->shuffler_dummies, &dummies) ||
		dummies > ACCT_MAX_REPORTS ||
		participants > (ACCT_MAX_REPORTS - dummies) / (p->dummy_chance > 0 ? 2 : 1))
		return cm_fail(err, CM_EPROTO, "%s: participants out of the accountant's range", p->protocol);
	if (p->noise_mean > 0) {
		pt_noise_cells(p, out);
		return CM_OK;
	}
	*out = (struct acct_round){ .dummies = dummies, .count = 1 };
	if (p->keep_always) {
		/* Only dummies hide the victim, uniform: omega = 1/k everywhere. */
		omega = 1 / k;
		u = k;
		rest = 0;
	} else {
		/* omega = inf over inputs of the output law: Q everywhere.  Downwards, and the ratio upwards.
		 */
		omega = nextafter(pt_mixbins_other(p), 0);
		u = nextafter((double)ratio(p), INFINITY);
		rest = 1;
		out->others = participants - 1;
	}
	out->cell[0] = (struct acct_cell){ .omega = omega, .u = u, .v = rest };
	out->cell[1] = (struct acct_cell){ .omega = omega, .u = rest, .v = u };
	out->cells = 2;
	if (p->bins > 2) {
		double others = (k - 2) * omega;

		/* 1/k + 1/k + (k-2)/k may round above 1. */
		if (2 * omega + others > 1)
			others = nextafter(1 - 2 * omega, 0);
		out->cell[2] = (struct acct_cell){ .omega = others, .u = rest, .v = rest };
		out->cells = 3;
	}
	pt_mixbins_rare(p->dummy_chance, participants, out);
	return CM_OK;
}

/* The chance, the sum and the quotient err by less than five half ulps. */
void pt_mixbins_rare(uint64_t dummy_chance, uint64_t participants, struct acct_round *out)
{
	double blanket = 0;

	if (dummy_chance == 0)
		return;
	for (size_t j = 0; j < out->cells; j++)
		blanket += out->cell[j].omega;
	out->level[out->levels++] =
		(struct acct_level){ .share = pt_probability(dummy_chance) / blanket * (1 - 8 * DBL_EPSILON),
			.count = participants };
}

/* Constant time in the value and in what was drawn: the bin, the kept bit and the real message's place pass
 * through masks only.  Branches and addresses depend on the public parameters and on the loop counter; the
 * number of draws depends on nothing but the generator's own output (rejection inside cm_rng_below). */
uint64_t pt_mixbins_draw(const struct pt_params *p, uint64_t bin, const struct cm_rng *rng)
{
	uint64_t keep, other;

	if (p->keep_always)
		return bin;
	keep = UINT64_C(0) - cm_rng_bernoulli(rng, p->keep);
	other = cm_rng_below(rng, p->bins - UINT64_C(1));
	/* Skip the own bin: 0..k-2 onto the k-1 others. */
	other += 1 & ~pt_below_mask(other, bin);
	return pt_choose(keep, bin, other);
}

/* Drawn whether it comes or not, so that nothing but the record's bits depends on that. */
struct pt_rare pt_rare_draw(
	uint64_t dummy_chance, uint64_t messages, uint64_t place, const struct cm_rng *rng)
{
	struct pt_rare r = { .at = messages };

	if (dummy_chance == 0)
		return r;
	r.at = cm_rng_below(rng, messages - 1);
	r.at += 1 & ~pt_below_mask(r.at, place);
	r.missing = cm_rng_bernoulli(rng, dummy_chance) - UINT64_C(1);
	return r;
}

uint64_t pt_rare_mask(const struct pt_rare *r, uint64_t i)
{
	return pt_equal_mask(i, r->at) & r->missing;
}

/* Dummies are independent and identical, so uniform places of the real message and of the one that may be
 * NULL are the uniform order.
 */
void pt_mixbins_hide(const struct pt_params *p, uint64_t real, uint64_t symbols, uint16_t slot,
	const struct cm_rng *rng, uint8_t *records)
{
	uint64_t messages = pt_mixbins_messages(p), place = cm_rng_below(rng, messages);
	const struct pt_rare rare = pt_rare_draw(p->dummy_chance, messages, place, rng);

	for (uint64_t i = 0; i < messages; i++) {
		uint64_t dummy =
			pt_choose(pt_rare_mask(&rare, i), PT_RECORD_NULL, cm_rng_below(rng, symbols));
		uint64_t is_real = pt_equal_mask(i, place);

		pt_record_put_slot(records + i * PT_RECORD_LEN, slot, pt_choose(is_real, real, dummy));
	}
}

void pt_mixbins_encode(const struct pt_params *p, uint64_t bin, const struct cm_rng *rng, uint8_t *records)
{
	pt_mixbins_hide(p, pt_mixbins_draw(p, bin, rng), p->bins, 0, rng, records);
}

void pt_mixbins_dummy(const struct pt_params *p, uint32_t tag, const struct cm_rng *rng, uint8_t *record)
{
	pt_record_put(record, p->noise_mean > 0 ? tag : cm_rng_below(rng, p->bins));
}

enum cm_rc pt_mixbins_tally(
	const struct pt_params *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	uint32_t bin = 0;
	enum cm_rc rc;

	if (p->dummy_chance > 0 && pt_record_is_null(record))
		return pt_record_opens(record, err);
	rc = pt_record_get(record, p->bins, &bin, err);
	if (rc == CM_OK)
		counts[bin]++;
	return rc;
}

double pt_mixbins_dummies(const struct pt_params *p, uint64_t participants)
{
	return (double)participants * pt_dummies_each(p->dummies, p->dummy_chance) +
	       (double)p->shuffler_dummies + (double)p->bins * p->noise_mean;
}

double pt_mixbins_dummies_among(const struct pt_params *p, uint64_t messages, uint64_t participants)
{
	uint64_t certain = participants * p->dummies + p->shuffler_dummies, rare;

	if (p->dummy_chance == 0)
		return pt_mixbins_dummies(p, participants);
	rare = messages > certain + participants ? messages - certain - participants : 0;
	return (double)(certain + (rare < participants ? rare : participants));
}

void pt_request_dummies(struct pt_request *r, double dummies)
{
	double whole = floor(dummies);

	r->dummies = (uint32_t)whole;
	/* Exact but for what is below 2^-64; at most 2^64 - 2^11. */
	r->dummy_chance = (uint64_t)ceil(ldexp(dummies - whole, 64));
}

double pt_dummies_each(uint32_t dummies, uint64_t chance)
{
	return dummies + pt_probability(chance);
}

enum cm_rc pt_mixbins_totals(const struct pt_params *p, const uint64_t *counts, uint64_t reports,
	double *dummies, struct cm_err *err)
{
	uint64_t most, sum = 0;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", p->protocol);
	most = reports * pt_mixbins_messages(p) + pt_shuffler_most(p);
	for (uint32_t i = 0; i < p->bins; i++) {
		if (counts[i] > most - sum)
			return cm_fail(
				err, CM_EDATA, "%s: more messages than can have been sent", p->protocol);
		sum += counts[i];
	}
	*dummies = pt_mixbins_dummies_among(p, sum, reports);
	return CM_OK;
}

struct pt_support pt_mixbins_support(const struct pt_params *p, double dummies)
{
	return (struct pt_support){ .keep = pt_mixbins_keep(p),
		.flip = p->keep_always ? 0 : pt_probability(pt_complement(p->keep)),
		.other = pt_mixbins_other(p),
		.dummies = dummies,
		.blanket = 1.0 / p->bins,
		.noise = p->noise_mean > 0 ? p : NULL };
}
