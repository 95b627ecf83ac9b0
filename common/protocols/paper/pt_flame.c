/* pt_flame.c - rounds coordinates of a vector to levels, and checks the rows after FLAME. */
#include "pt_flame.h"

#include "cm_buf.h"
#include "pt_exact.h"
#include "pt_levels.h"

uint64_t pt_flame_level(uint32_t x, uint32_t b, const struct cr_rng *rng)
{
	/* x counts in 2^31 of the range, and pt_levels_round in 2^32 */
	return pt_levels_round((uint64_t)x << 1, b, rng);
}

uint32_t pt_flame_group(const struct pt_slot *s, const uint8_t record[PT_RECORD_LEN])
{
	uint64_t symbol = cm_get_le64(record + PT_RECORD_HEAD);
	uint32_t group = 0;

	for (uint32_t g = 1; g < s->groups; g++)
		group += 1 & (uint32_t)~pt_below_mask(symbol, (uint64_t)g * s->each.bins);
	return group;
}

enum cm_rc pt_flame_padded(const struct pt_randomizer *p, enum cm_rc code, struct cm_err *err)
{
	if (p->shuffler.tag_messages < 1 ||
		p->shuffler.tag_messages > PT_SHUFFLER_DUMMIES_MAX / p->shuffler.tags)
		return cm_fail(err, code, "%s: %llu messages of each coordinate, must be 1 to %u",
			p->row->name, (unsigned long long)p->shuffler.tag_messages,
			PT_SHUFFLER_DUMMIES_MAX / (unsigned)p->shuffler.tags);
	return CM_OK;
}
