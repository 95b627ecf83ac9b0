/* pt_hashed.c - hashed bins: sends a hash and the value's cell under it, among dummies, without a local
 * guarantee. */
#include "pt_exact.h"
#include "pt_hash.h"
#include "pt_mixbins.h"
#include "pt_multi.h"
#include "pt_rows.h"

/* Luo, Wang, Yi, "Frequency estimation in the shuffle model with almost a single message", CCS 2022. */

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	return pt_multi_check_true(q, p, err);
}

/* Write m messages: the value's at a place drawn uniformly, dummies at all others.  The time depends neither
 * on the value nor on the place: every message draws a hash, draws a cell, computes the value's cell, and
 * chooses one of the two cells by a mask.  Dummies are independent and identically distributed, so a uniform
 * place has the same distribution as a uniform order of all messages. */
static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	uint64_t m = pt_mixbins_messages(p), place = cr_rng_below(rng, m);

	const struct pt_rare rare = pt_rare_draw(p->multi.dummy_chance, m, place, rng);

	(void)q;
	(void)room;
	for (uint64_t i = 0; i < m; i++) {
		struct pt_hash h = pt_hash_draw(rng);
		uint64_t dummy = cr_rng_below(rng, p->multi.size), null = pt_rare_mask(&rare, i);
		uint64_t real = pt_hash_cell(pt_hash_point(&h, value->x), p->multi.size);
		uint64_t cell = pt_choose(pt_equal_mask(i, place), real, dummy);

		/* for NULL, the hash's two numbers and the cell are all PT_RECORD_NULL */
		h.a |= null;
		h.b |= null;
		pt_hash_put(records + i * PT_HASH_RECORD_LEN, &h, cell | null);
	}
}

static void dummy(const struct pt_randomizer *p, uint32_t tag, const struct cr_rng *rng, uint8_t *record)
{
	struct pt_hash h = pt_hash_draw(rng);

	(void)tag;
	pt_hash_put(record, &h, cr_rng_below(rng, p->multi.size));
}

const struct pt_device pt_device_hashed = {
	.name = "hashed",
	.summary = "hashed bins: a histogram of many categories from hashed values among dummies",
	.parameters = &pt_multi_layout,
	.check = check,
	.record_len = pt_hash_record_len,
	.epsilon0 = pt_multi_no_guarantee,
	.encode = encode,
	.dummy = dummy,
	.rare_dummy = true,
	PT_MULTI_DEVICE,
};
