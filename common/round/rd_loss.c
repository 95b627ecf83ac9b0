/* rd_loss.c - what a round costs, of what is honest for sure. */
#include <math.h>

#include "rd_descriptor.h"

/* Of the largest batch; where nobody but the victim is honest for sure, everybody else may be none. */
static double most_others(const struct rd_batch *b)
{
	if (b->honest >= b->least)
		return 0;
	if (b->honest <= 1)
		return (double)b->most;
	return ceil((double)(b->least - b->honest) / (double)b->least * (double)b->most * (1 + 1e-15));
}

static void keep_honest_tags(const struct rd_batch *b, struct pt_randomizer *randomizer)
{
	const struct pt_device *row = randomizer->row;
	struct pt_shuffler *s = &randomizer->shuffler;
	double others = most_others(b), each = row->messages(randomizer), messages = others * each;

	for (uint32_t i = 0; i < PT_SLOTS_MAX; i++)
		if (s->tag_least[i] > 0)
			s->tag_least[i] =
				others + 1 < s->tag_least[i] ? s->tag_least[i] - (uint32_t)others : 1;
	if (s->tag_messages == 0)
		return;
	if (row->routes_by_value && others > 0 && (double)s->tag_messages < (double)b->most * each)
		s->tag_messages = 0;
	else
		s->tag_messages =
			messages + 1 < (double)s->tag_messages ? s->tag_messages - (uint64_t)messages : 1;
}

enum cm_rc rd_loss_of(
	const struct pt_randomizer *p, const struct rd_batch *b, struct pt_loss *out, struct cm_err *err)
{
	struct pt_randomizer honest = *p;

	if (p->shuffler.tags > 0)
		keep_honest_tags(b, &honest);
	return pt_loss(&honest, b->honest, out, err);
}

enum cm_rc rd_loss(const struct rd_descriptor *d, struct pt_loss *out, struct cm_err *err)
{
	return rd_loss_for(d, rd_honest(d->min_reports, d->honest_fraction, d->colluders), true, out, err);
}

enum cm_rc rd_loss_for(
	const struct rd_descriptor *d, uint64_t honest, bool trusted, struct pt_loss *out, struct cm_err *err)
{
	const struct rd_batch b = { .least = d->min_reports, .honest = honest, .most = d->target };
	struct pt_randomizer p = d->randomizer;

	if (!trusted)
		pt_without_shuffler(&p);
	return rd_loss_of(&p, &b, out, err);
}
