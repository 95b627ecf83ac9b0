/* pt_olh.c - local hashing: sends a hash of the device's own, and the randomized cell of the value under
 * it. */
#include "pt_olh.h"

#include "pr_limits.h"
#include "pt_exact.h"
#include "pt_hash.h"
#include "pt_rows.h"
#include "pt_single.h"

/* Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation", USENIX Security
 * 2017. */

struct pt_ratio pt_olh_ratio(const struct pt_randomizer *p)
{
	return pt_ratio_of(p->olh.keep, p->olh.size - 1, 1);
}

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_single_check(q, p, err);

	if (rc == CM_OK && (p->olh.size < 2 || p->olh.size > PR_CATEGORIES_MAX))
		rc = cm_fail(err, CM_EPROTO, "%s: size %u, must be 2 to %u", p->row->name,
			(unsigned)p->olh.size, PR_CATEGORIES_MAX);
	return rc == CM_OK ? pt_single_guarantee(p, pt_olh_ratio(p), CM_EPROTO, err) : rc;
}

static double epsilon0(const struct pt_randomizer *p)
{
	return pt_ratio_log(pt_olh_ratio(p), 1);
}

/* The time is constant in the value and in what was drawn: it uses multiplication, masks and public
 * places. */
static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	struct pt_hash h = pt_hash_draw(rng);
	uint64_t keep = UINT64_C(0) - cr_rng_bernoulli(rng, p->olh.keep),
		 other = cr_rng_below(rng, p->olh.size - 1);
	uint64_t cell = pt_hash_cell(pt_hash_point(&h, value->x), p->olh.size);

	(void)q;
	(void)room;
	/* Skip the value's own cell: map 0..l-2 onto the l-1 others. */
	other += 1 & ~pt_below_mask(other, cell);
	pt_hash_put(records, &h, pt_choose(keep, cell, other));
}

static const struct pt_field fields[] = {
	{ "bins", offsetof(struct pt_randomizer, olh.bins), PT_FIELD_U32 },
	{ "size", offsetof(struct pt_randomizer, olh.size), PT_FIELD_U32 },
	{ "keep", offsetof(struct pt_randomizer, olh.keep), PT_FIELD_CHANCE },
};
static const struct pt_layout parameters = { .field = fields, .fields = sizeof fields / sizeof *fields };

const struct pt_device pt_device_olh = {
	.name = "olh",
	.summary = "local hashing: a histogram from a hash and one of its cells each",
	.parameters = &parameters,
	.check = check,
	.record_len = pt_hash_record_len,
	.epsilon0 = epsilon0,
	.encode = encode,
	PT_SINGLE_DEVICE,
};
