/* pt_shuffler.c - what the shuffler does to a round: how much of it the guarantee rests on. */
#include "pt_device.h"

uint32_t pt_noise_bins(const struct pt_randomizer *p)
{
	return p->shuffler.noise_mean > 0 && p->row->noise_bins ? p->row->noise_bins(p) : 0;
}

bool pt_rests_on_shuffler(const struct pt_randomizer *p)
{
	return pt_shuffler_most(p) > 0;
}

bool pt_needs_shuffler(const struct pt_randomizer *p)
{
	struct pt_randomizer without = *p;

	/* Evened counts that nobody's value has a part in are as good as the uneven ones. */
	if (!p->row->routes_by_value)
		without.shuffler.tag_messages = 0;
	return pt_rests_on_shuffler(&without);
}

uint64_t pt_shuffler_most(const struct pt_randomizer *p)
{
	const struct pt_shuffler *s = &p->shuffler;

	/* Clients may leave every tag but one empty. */
	return s->dummies + s->tags * s->tag_messages + (uint64_t)pt_noise_bins(p) * 2 * s->noise_mean;
}

void pt_without_shuffler(struct pt_randomizer *p)
{
	p->shuffler.dummies = 0;
	p->shuffler.tag_messages = 0;
	p->shuffler.noise_decay = 0;
	p->shuffler.noise_mean = 0;
}

bool pt_has_classes(const struct pt_randomizer *p)
{
	return p->shuffler.tags > 0 && p->shuffler.tag_least[0] > 0;
}
