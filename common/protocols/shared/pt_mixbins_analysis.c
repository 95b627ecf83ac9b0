/* pt_mixbins_analysis.c - computes the loss of a round of randomized response among dummies, and the answer
 * from its counts. */
#include "pt_mixbins_analysis.h"

#include <float.h>
#include <math.h>

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_noise_analysis.h"

enum cm_rc pt_mixbins_request(const struct pt_protocol *row, uint32_t bins, const struct pt_request *r,
	struct pt_randomizer *out, struct cm_err *err)
{
	long double odds, t;
	double epsilon0 = r->epsilon0;
	struct pt_randomizer made = { .mixbins.bins = bins,
		.mixbins.dummies = r->dummies,
		.mixbins.dummy_chance = r->dummy_chance,
		.shuffler.dummies = r->shuffler_dummies };

	made.row = row->device;
	if (bins < 2 || bins > PR_CATEGORIES_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: %u bins, must be 2 to %u", row->device->name,
			(unsigned)bins, PR_CATEGORIES_MAX);
	if (pt_mixbins_sent(&made.mixbins) > PR_BLANKET_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: dummies must be at most %u", row->device->name,
			PR_BLANKET_MAX - 1);
	if (r->shuffler_dummies > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(err, CM_ECONFIG, "%s: shuffler_dummies must be at most %u", row->device->name,
			PT_SHUFFLER_DUMMIES_MAX);
	if (isinf(epsilon0) && epsilon0 > 0) {
		made.mixbins.keep_always = true;
		if (r->noise_epsilon > 0 && pt_noise_request(row, r, &made, err) != CM_OK)
			return err->code;
		if (r->dummies == 0 && r->dummy_chance == 0 && !pt_rests_on_shuffler(&made))
			return cm_fail(err, CM_ECONFIG,
				"%s: epsilon0 \"inf\" needs dummies: there is no privacy without",
				row->device->name);
		*out = made;
		return CM_OK;
	}
	if (!(epsilon0 > 0 && epsilon0 <= PT_EPSILON0_MAX))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 must be above 0 and at most %g, or \"inf\"",
			row->device->name, PT_EPSILON0_MAX);
	odds = expl((long double)epsilon0);
	t = floorl(ldexpl(odds / (odds + (long double)(bins - 1)), 64) - PT_THRESHOLD_MARGIN);
	made.mixbins.keep = (uint64_t)t;
	if (!pt_mixbins_says_something(&made.mixbins))
		return cm_fail(err, CM_ECONFIG, "%s: epsilon0 %g is too small to say anything",
			row->device->name, epsilon0);
	*out = made;
	return CM_OK;
}

enum cm_rc pt_mixbins_derive(const struct pt_protocol *row, uint32_t bins, double epsilon0, uint32_t dummies,
	struct pt_randomizer *out, struct cm_err *err)
{
	const struct pt_request r = { .epsilon0 = epsilon0, .dummies = dummies };

	return pt_mixbins_request(row, bins, &r, out, err);
}

uint32_t pt_mixbins_bins(const struct pt_randomizer *p)
{
	return p->mixbins.bins;
}

enum cm_rc pt_mixbins_cells(
	const struct pt_randomizer *p, uint64_t participants, struct acct_round *out, struct cm_err *err)
{
	double k = p->mixbins.bins, u, omega, rest;
	uint64_t dummies;

	if (participants < 1 ||
		__builtin_mul_overflow(participants, (uint64_t)p->mixbins.dummies, &dummies) ||
		__builtin_add_overflow(dummies, p->shuffler.dummies, &dummies) ||
		dummies > ACCT_MAX_REPORTS ||
		participants > (ACCT_MAX_REPORTS - dummies) / (p->mixbins.dummy_chance > 0 ? 2 : 1))
		return cm_fail(
			err, CM_EPROTO, "%s: participants out of the accountant's range", p->row->name);
	if (p->shuffler.noise_mean > 0) {
		pt_noise_cells(p, out);
		return CM_OK;
	}
	*out = (struct acct_round){ .dummies = dummies, .count = 1 };
	if (p->mixbins.keep_always) {
		/* without a local guarantee only the uniform dummies hide the victim: the blanket is 1/k
		 * everywhere */
		omega = 1 / k;
		u = k;
		rest = 0;
	} else {
		/* the blanket is the least chance over all inputs, Q everywhere; it is rounded down, and
		 * the ratio up */
		omega = nextafter(pt_mixbins_other(&p->mixbins), 0);
		u = nextafter((double)pt_ratio_value(pt_mixbins_ratio(&p->mixbins)), INFINITY);
		rest = 1;
		out->others = participants - 1;
		/* Every message is a bit that is kept with one chance, or a dummy, which is a fair coin. */
		if (p->mixbins.bins == 2)
			out->messages = ACCT_BITS;
	}
	out->cell[0] = (struct acct_cell){ .omega = omega, .u = u, .v = rest };
	out->cell[1] = (struct acct_cell){ .omega = omega, .u = rest, .v = u };
	out->cells = 2;
	if (p->mixbins.bins > 2) {
		double others = (k - 2) * omega;

		/* the three masses 1/k, 1/k and (k-2)/k may round to more than 1 together */
		if (2 * omega + others > 1)
			others = nextafter(1 - 2 * omega, 0);
		out->cell[2] = (struct acct_cell){ .omega = others, .u = rest, .v = rest };
		out->cells = 3;
	}
	pt_mixbins_rare(p->mixbins.dummy_chance, participants, out);
	return CM_OK;
}

/* The share is lowered by five half ulps: the chance, the sum and the quotient are together off by less. */
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

enum cm_rc pt_mixbins_tally(
	const struct pt_randomizer *p, const uint8_t *record, uint64_t *counts, struct cm_err *err)
{
	uint32_t bin = 0;
	enum cm_rc rc;

	if (p->mixbins.dummy_chance > 0 && pt_record_is_null(record))
		return pt_record_opens(record, err);
	rc = pt_record_get(record, p->mixbins.bins, &bin, err);
	if (rc == CM_OK)
		counts[bin]++;
	return rc;
}

double pt_mixbins_dummies(const struct pt_randomizer *p, uint64_t participants)
{
	return (double)participants * pt_dummies_each(p->mixbins.dummies, p->mixbins.dummy_chance) +
	       (double)p->shuffler.dummies + (double)pt_noise_bins(p) * p->shuffler.noise_mean;
}

double pt_mixbins_dummies_among(const struct pt_randomizer *p, uint64_t messages, uint64_t participants)
{
	uint64_t certain = participants * p->mixbins.dummies + p->shuffler.dummies, rare;

	if (p->mixbins.dummy_chance == 0)
		return pt_mixbins_dummies(p, participants);
	rare = messages > certain + participants ? messages - certain - participants : 0;
	return (double)(certain + (rare < participants ? rare : participants));
}

enum cm_rc pt_mixbins_totals(const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports,
	double *dummies, struct cm_err *err)
{
	uint64_t most, sum = 0;

	if (reports == 0 || reports > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EDATA, "%s: no participants, or too many", p->row->name);
	most = reports * pt_mixbins_messages(p) + pt_shuffler_most(p);
	for (uint32_t i = 0; i < p->mixbins.bins; i++) {
		if (counts[i] > most - sum)
			return cm_fail(
				err, CM_EDATA, "%s: more messages than can have been sent", p->row->name);
		sum += counts[i];
	}
	*dummies = pt_mixbins_dummies_among(p, sum, reports);
	return CM_OK;
}

struct es_counted pt_mixbins_counted(
	const struct pt_randomizer *p, const uint64_t *counts, uint64_t reports, double dummies)
{
	return (struct es_counted){ .counts = counts,
		.bins = p->mixbins.bins,
		.keep = pt_mixbins_keep(&p->mixbins),
		.other = pt_mixbins_other(&p->mixbins),
		.n = (double)reports,
		.dummies = dummies };
}

struct es_support pt_mixbins_support(const struct pt_randomizer *p, double dummies)
{
	return (struct es_support){ .keep = pt_mixbins_keep(&p->mixbins),
		.flip = p->mixbins.keep_always ? 0 : pt_probability(pt_complement(p->mixbins.keep)),
		.other = pt_mixbins_other(&p->mixbins),
		.dummies = dummies,
		.blanket = 1.0 / p->mixbins.bins,
		.noise = { p->shuffler.noise_decay, p->shuffler.noise_mean } };
}
