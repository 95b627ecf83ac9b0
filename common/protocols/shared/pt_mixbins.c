/* pt_mixbins.c - the randomizer that most rows share: its exact probabilities and its messages. */
#include "pt_mixbins.h"

#include <math.h>

#include "cm_fault.h"
#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_noise.h"

#define AT(member) offsetof(struct pt_randomizer, mixbins.member)

static const struct pt_field single[] = {
	{ "bins", AT(bins), PT_FIELD_U32 },
	{ "keep", AT(keep), PT_FIELD_CHANCE },
};

static const struct pt_field all[] = {
	{ "bins", AT(bins), PT_FIELD_U32 },
	{ "dummies", AT(dummies), PT_FIELD_U32 },
	{ "dummy_chance", AT(dummy_chance), PT_FIELD_CHANCE },
	{ "keep_always", AT(keep_always), PT_FIELD_BOOL },
	{ "keep", AT(keep), PT_FIELD_CHANCE },
};

const struct pt_layout pt_mixbins_single = { .field = single, .fields = sizeof single / sizeof *single };
const struct pt_layout pt_mixbins_layout = { .field = all, .fields = sizeof all / sizeof *all };

struct pt_ratio pt_mixbins_ratio(const struct pt_mixbins *m)
{
	return pt_ratio_of(m->keep, m->bins - 1, 1);
}

bool pt_mixbins_says_something(const struct pt_mixbins *m)
{
	return m->keep > 0 && pt_mixbins_guarantee(m) >= PT_EPSILON0_MIN;
}

enum cm_rc pt_mixbins_law_check(
	const struct pt_device *row, const struct pt_mixbins *m, bool covered, struct cm_err *err)
{
	double guarantee;

	if (m->bins < 2 || m->bins > PR_CATEGORIES_MAX)
		return cm_fail(err, CM_EPROTO, "%s: %u bins, must be 2 to %u", row->name, (unsigned)m->bins,
			PR_CATEGORIES_MAX);
	if (m->dummies >= PR_BLANKET_MAX || pt_mixbins_sent(m) > PR_BLANKET_MAX)
		return cm_fail(err, CM_EPROTO, "%s: too many dummies", row->name);
	if (m->dummy_chance != 0 && !row->rare_dummy)
		return cm_fail(err, CM_EPROTO, "%s: has whole dummies only", row->name);
	if (m->keep_always && m->keep != 0)
		return cm_fail(err, CM_EPROTO, "%s: both a keep probability and none", row->name);
	if (CM_CHECKED("protocol.blanket") && m->keep_always && m->dummies == 0 && m->dummy_chance == 0 &&
		!covered)
		return cm_fail(
			err, CM_EPROTO, "%s: no noise of any kind: there would be no privacy", row->name);
	if (m->keep_always)
		return CM_OK;
	guarantee = m->keep > 0 ? pt_mixbins_guarantee(m) : 0;
	if (guarantee < PT_EPSILON0_MIN)
		return cm_fail(err, CM_EPROTO, "%s: the keep probability is hardly above 1/%u", row->name,
			(unsigned)m->bins);
	if (guarantee > PT_EPSILON0_MAX)
		return cm_fail(err, CM_EPROTO, "%s: epsilon0 above %g", row->name, PT_EPSILON0_MAX);
	return CM_OK;
}

enum cm_rc pt_mixbins_check(const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc;

	if (p->shuffler.dummies > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(err, CM_EPROTO, "%s: too many dummies of the shuffler", p->row->name);
	rc = pt_mixbins_law_check(p->row, &p->mixbins, pt_rests_on_shuffler(p), err);
	return rc == CM_OK ? pt_noise_check(p, err) : rc;
}

double pt_mixbins_keep(const struct pt_mixbins *m)
{
	return m->keep_always ? 1 : pt_probability(m->keep);
}

double pt_mixbins_other(const struct pt_mixbins *m)
{
	return m->keep_always ? 0 : pt_probability(pt_complement(m->keep)) / (m->bins - 1);
}

uint32_t pt_mixbins_sent(const struct pt_mixbins *m)
{
	return 1 + m->dummies + (m->dummy_chance > 0);
}

uint32_t pt_mixbins_messages(const struct pt_randomizer *p)
{
	return pt_mixbins_sent(&p->mixbins);
}

uint32_t pt_mixbins_record_len(const struct pt_randomizer *p)
{
	(void)p;
	return PT_RECORD_LEN;
}

double pt_mixbins_guarantee(const struct pt_mixbins *m)
{
	return m->keep_always ? INFINITY : pt_ratio_log(pt_mixbins_ratio(m), 1);
}

double pt_mixbins_epsilon0(const struct pt_randomizer *p)
{
	return pt_mixbins_guarantee(&p->mixbins);
}

/* The time is constant in the value and in what was drawn: the bin, the kept bit and the place of the real
 * message pass only through masks.  Branches and addresses depend on the public parameters and on the loop
 * counter; the number of draws depends only on the generator's own output (rejection inside
 * cr_rng_below). */
uint64_t pt_mixbins_draw(const struct pt_mixbins *m, uint64_t bin, const struct cr_rng *rng)
{
	uint64_t keep, other;

	if (m->keep_always)
		return bin;
	keep = UINT64_C(0) - cr_rng_bernoulli(rng, m->keep);
	other = cr_rng_below(rng, m->bins - UINT64_C(1));
	/* Skip the value's own bin: map 0..k-2 onto the k-1 others. */
	other += 1 & ~pt_below_mask(other, bin);
	return pt_choose(keep, bin, other);
}

/* Drawn whether it is needed or not, so that only the record's bits depend on it. */
struct pt_rare pt_rare_draw(
	uint64_t dummy_chance, uint64_t messages, uint64_t place, const struct cr_rng *rng)
{
	struct pt_rare r = { .at = messages };

	if (dummy_chance == 0)
		return r;
	r.at = cr_rng_below(rng, messages - 1);
	r.at += 1 & ~pt_below_mask(r.at, place);
	r.missing = cr_rng_bernoulli(rng, dummy_chance) - UINT64_C(1);
	return r;
}

uint64_t pt_rare_mask(const struct pt_rare *r, uint64_t i)
{
	return pt_equal_mask(i, r->at) & r->missing;
}

/* Dummies are independent and identically distributed, so uniform places for the real message and for the
 * one that may be NULL give a uniform order. */
void pt_mixbins_hide(const struct pt_mixbins *m, uint64_t real, uint64_t symbols, uint16_t slot,
	const struct cr_rng *rng, uint8_t *records)
{
	uint64_t messages = pt_mixbins_sent(m), place = cr_rng_below(rng, messages);
	const struct pt_rare rare = pt_rare_draw(m->dummy_chance, messages, place, rng);

	for (uint64_t i = 0; i < messages; i++) {
		uint64_t dummy =
			pt_choose(pt_rare_mask(&rare, i), PT_RECORD_NULL, cr_rng_below(rng, symbols));
		uint64_t is_real = pt_equal_mask(i, place);

		pt_record_put_slot(records + i * PT_RECORD_LEN, slot, pt_choose(is_real, real, dummy));
	}
}

void pt_mixbins_encode(const struct pt_mixbins *m, uint64_t bin, const struct cr_rng *rng, uint8_t *records)
{
	pt_mixbins_hide(m, pt_mixbins_draw(m, bin, rng), m->bins, 0, rng, records);
}

void pt_mixbins_dummy(const struct pt_randomizer *p, uint32_t tag, const struct cr_rng *rng, uint8_t *record)
{
	pt_record_put(record, p->shuffler.noise_mean > 0 ? tag : cr_rng_below(rng, p->mixbins.bins));
}
