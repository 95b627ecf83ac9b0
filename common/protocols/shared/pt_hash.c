/* pt_hash.c - a family of hashes from categories to a few cells. */
#include "pt_hash.h"

#include "cm_buf.h"
#include "cm_wide.h"
#include "pt_exact.h"

/* Reduce v, which is below 2 * PT_HASH_POINTS. */
static uint64_t reduce_once(uint64_t v)
{
	return v - pt_choose(pt_below_mask(v, PT_HASH_POINTS), 0, PT_HASH_POINTS);
}

uint64_t pt_hash_point(const struct pt_hash *h, uint64_t x)
{
	/* v is below 2^93 + 2^61; 2^61 is 1 modulo the prime. */
	struct cm_wide v = cm_wide_sum(cm_wide_product(h->a, x), (struct cm_wide){ .low = h->b });

	return reduce_once((v.low & PT_HASH_POINTS) + cm_wide_right(v, 61));
}

uint64_t pt_hash_next(const struct pt_hash *h, uint64_t point)
{
	return reduce_once(point + h->a);
}

uint64_t pt_hash_cell(uint64_t point, uint32_t cells)
{
	return cm_wide_right(cm_wide_product(point, cells), 61);
}

uint32_t pt_hash_record_len(const struct pt_randomizer *p)
{
	(void)p;
	return PT_HASH_RECORD_LEN;
}

struct pt_hash pt_hash_draw(const struct cr_rng *rng)
{
	struct pt_hash h;

	h.a = cr_rng_below(rng, PT_HASH_POINTS);
	h.b = cr_rng_below(rng, PT_HASH_POINTS);
	return h;
}

void pt_hash_put(uint8_t record[PT_HASH_RECORD_LEN], const struct pt_hash *h, uint64_t cell)
{
	pt_record_begin(record);
	cm_put_le64(record + PT_RECORD_HEAD, h->a);
	cm_put_le64(record + PT_RECORD_HEAD + 8, h->b);
	cm_put_le64(record + PT_RECORD_HEAD + 16, cell);
}
