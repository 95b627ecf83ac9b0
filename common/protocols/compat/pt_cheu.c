/* pt_cheu.c - fake users: a report has one bit for each category, each flipped with one chance, and is
 * hidden among the reports of users that hold nothing. */
#include "pt_bits.h"
#include "pt_exact.h"
#include "pt_mixbins.h"
#include "pt_multi.h"
#include "pt_rows.h"
#include "pt_unary.h"

/* Cheu and Zhilyaev, "Differentially private histograms in the shuffle model from fake users", S&P 2022.  A
 * dummy is a fake user's report: no bit set, then all flipped with that chance. */

/* The randomizer of one report, as rows without dummies have it. */
static struct pt_randomizer flips_of(const struct pt_randomizer *p)
{
	return (struct pt_randomizer){ .row = p->row,
		.unary = { .bins = p->cheu.bins, .keep = p->cheu.keep, .other = p->cheu.other } };
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	struct pt_randomizer flips = flips_of(p);
	enum cm_rc rc = pt_multi_check(q, p, err);

	return rc == CM_OK ? pt_unary_flips_check(&flips, err) : rc;
}

static double epsilon0(const struct pt_randomizer *p)
{
	struct pt_randomizer flips = flips_of(p);

	return pt_unary_epsilon0(&flips);
}

/* The time is constant in the value, in the place of its report and in what was drawn: these pass only
 * through masks, and every bit of every message takes one draw and one write at a public place. */
static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint64_t m = pt_mixbins_messages(p), place = cr_rng_below(rng, m);
	uint32_t len = pt_bits_len(p->cheu.bins);

	(void)q;
	(void)room;
	for (uint64_t i = 0; i < m; i++) {
		uint64_t real = pt_equal_mask(i, place);

		pt_bits_clear(records + i * len, p->cheu.bins);
		for (uint32_t j = 0; j < p->cheu.bins; j++) {
			uint64_t own = real & pt_equal_mask(j, value->x);

			pt_bits_put(records + i * len, j,
				cr_rng_bernoulli(rng, pt_choose(own, p->cheu.keep, p->cheu.other)));
		}
	}
}

static void dummy(const struct pt_randomizer *p, uint32_t tag, const struct cr_rng *rng, uint8_t *record)
{
	(void)tag;
	pt_bits_clear(record, p->cheu.bins);
	for (uint32_t j = 0; j < p->cheu.bins; j++)
		pt_bits_put(record, j, cr_rng_bernoulli(rng, p->cheu.other));
}

static const struct pt_field fields[] = {
	{ "bins", offsetof(struct pt_randomizer, cheu.bins), PT_FIELD_U32 },
	{ "dummies", offsetof(struct pt_randomizer, cheu.dummies), PT_FIELD_U32 },
	{ "keep", offsetof(struct pt_randomizer, cheu.keep), PT_FIELD_CHANCE },
	{ "other", offsetof(struct pt_randomizer, cheu.other), PT_FIELD_CHANCE },
};
static const struct pt_layout parameters = { .field = fields, .fields = sizeof fields / sizeof *fields };

const struct pt_device pt_device_cheu = {
	.name = "cheu",
	.summary = "fake users: a histogram from flipped bits among those of users that hold nothing",
	.parameters = &parameters,
	.check = check,
	.record_len = pt_unary_record_len,
	.epsilon0 = epsilon0,
	.encode = encode,
	.dummy = dummy,
	PT_MULTI_DEVICE,
};
