/* pt_sampled.c - asks several questions about one value, of which each client draws one and answers it. */
#include "pt_sampled.h"

#include <math.h>

#include "cm_fault.h"
#include "pt_exact.h"

enum cm_rc pt_sampled_check(const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_slots_check(p, err);

	for (uint32_t i = 0; rc == CM_OK && i < p->slots.kinds; i++)
		if (CM_CHECKED("protocol.sampled") &&
			(p->slots.slot[i].count != 1 || p->slots.slot[i].groups != 1 ||
				p->slots.slot[i].each.keep_always || p->slots.slot[i].each.dummies != 0))
			rc = cm_fail(err, CM_EPROTO,
				"%s: slot %u needs a keep probability, one group and no dummies",
				p->row->name, i + 1);
	return rc;
}

uint32_t pt_sampled_messages(const struct pt_randomizer *p)
{
	(void)p;
	return 1;
}

double pt_sampled_epsilon0(const struct pt_randomizer *p)
{
	double most = 0;

	for (uint32_t i = 0; i < p->slots.kinds; i++)
		most = fmax(most, pt_mixbins_guarantee(&p->slots.slot[i].each));
	return most;
}

/* Every slot is answered, and a mask selects the answer of the slot that was drawn. */
void pt_sampled_encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	pt_word *word, const struct cr_rng *rng, uint8_t *record, void *room)
{
	uint64_t drawn = cr_rng_below(rng, p->slots.kinds), said = 0;

	for (uint32_t i = 0; i < p->slots.kinds; i++) {
		uint64_t own = word(q, p, value, i, 0, rng, room);
		uint64_t here = pt_mixbins_draw(&p->slots.slot[i].each, own, rng);

		said = pt_choose(pt_equal_mask(i, drawn), here, said);
	}
	pt_record_put_slot(record, (uint16_t)drawn, said);
}
