/* pt_subset.c - subset selection: sends k of the d categories, among them the value more often than by
 * chance. */
#include "pt_subset.h"

#include "pt_bits.h"
#include "pt_exact.h"
#include "pt_rows.h"
#include "pt_single.h"

/* Ye and Barg, "Optimal schemes for discrete distribution estimation under locally differential privacy",
 * IEEE Trans. Inf. Theory 64(8), 2018. */

struct pt_ratio pt_subset_ratio(const struct pt_randomizer *p)
{
	return pt_ratio_of(p->subset.keep, p->subset.bins - p->subset.size, p->subset.size);
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_single_check(q, p, err);

	if (rc == CM_OK && (p->subset.size < 1 || p->subset.size >= p->subset.bins))
		rc = cm_fail(err, CM_EPROTO, "%s: size %u of %u bins", p->row->name, (unsigned)p->subset.size,
			(unsigned)p->subset.bins);
	return rc == CM_OK ? pt_single_guarantee(p, pt_subset_ratio(p), CM_EPROTO, err) : rc;
}

static uint32_t record_len(const struct pt_randomizer *p)
{
	return pt_bits_len(p->subset.bins);
}

static double epsilon0(const struct pt_randomizer *p)
{
	return pt_ratio_log(pt_subset_ratio(p), 1);
}

/* The value is in the subset with chance P.  The other categories are numbered without it, 0..d-2, and a
 * uniform subset of them is drawn in order (Knuth, 3.4.2 S): if `need` more are wanted of the n that are
 * left, the next one is in with chance need / n.  So every bound and every place is public, and the value
 * passes only through masks. */
static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint64_t own = cr_rng_bernoulli(rng, p->subset.keep), need = p->subset.size - own, before = 0;

	(void)q;
	(void)room;
	pt_bits_clear(records, p->subset.bins);
	for (uint32_t i = 0; i < p->subset.bins; i++) {
		uint64_t left = p->subset.bins - 1 - i, here = 0;

		if (left > 0)
			here = 1 & pt_below_mask(cr_rng_below(rng, left), need);
		need -= here;
		/* Without the value, item i has number i if it is below the value, i - 1 if above. */
		pt_bits_put(records, i,
			pt_choose(pt_equal_mask(i, value->x), own,
				pt_choose(pt_below_mask(i, value->x), here, before)));
		before = here;
	}
}

static const struct pt_field fields[] = {
	{ "bins", offsetof(struct pt_randomizer, subset.bins), PT_FIELD_U32 },
	{ "size", offsetof(struct pt_randomizer, subset.size), PT_FIELD_U32 },
	{ "keep", offsetof(struct pt_randomizer, subset.keep), PT_FIELD_CHANCE },
};
static const struct pt_layout parameters = { .field = fields, .fields = sizeof fields / sizeof *fields };

const struct pt_device pt_device_subset = {
	.name = "subset",
	.summary = "subset selection: a histogram from some of the categories each",
	.parameters = &parameters,
	.check = check,
	.record_len = record_len,
	.epsilon0 = epsilon0,
	.encode = encode,
	PT_SINGLE_DEVICE,
};
