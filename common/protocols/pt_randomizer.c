/* pt_randomizer.c - compares two randomizers, and says how much of the guarantee depends on the
 * shuffler. */
#include "pt_randomizer.h"

#include <string.h>

#include "pt_device.h"

/* Compares parameter by parameter: each must have the same value in the other randomizer, or be 0 where the
 * other has no parameter of that name. */
struct comparison {
	const struct pt_randomizer *with;
	bool equal;
};

struct place {
	const char *name;
	uint32_t item;
	uint64_t value;
};

static void look(void *user, const char *name, enum pt_field_type type, uint32_t item, uint64_t value)
{
	struct place *at = user;

	(void)type;
	if (item == at->item && strcmp(name, at->name) == 0)
		at->value = value;
}

static void compare(void *user, const char *name, enum pt_field_type type, uint32_t item, uint64_t value)
{
	struct comparison *c = user;
	struct place at = { .name = name, .item = item };

	(void)type;
	pt_parameters_each(c->with, look, &at);
	c->equal = c->equal && at.value == value;
}

static bool same_shuffler(const struct pt_shuffler *a, const struct pt_shuffler *b)
{
	return a->dummies == b->dummies && a->tags == b->tags && a->tag_messages == b->tag_messages &&
	       a->noise_decay == b->noise_decay && a->noise_mean == b->noise_mean &&
	       memcmp(a->tag_least, b->tag_least, sizeof a->tag_least) == 0;
}

bool pt_randomizer_alike(const struct pt_randomizer *a, const struct pt_randomizer *b)
{
	struct comparison forth = { .with = b, .equal = true }, back = { .with = a, .equal = true };

	pt_parameters_each(a, compare, &forth);
	pt_parameters_each(b, compare, &back);
	return forth.equal && back.equal && same_shuffler(&a->shuffler, &b->shuffler);
}

bool pt_randomizer_equal(const struct pt_randomizer *a, const struct pt_randomizer *b)
{
	return a->row == b->row && pt_randomizer_alike(a, b);
}

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

	/* if no tag depends on a value, counts that were not evened out say as little as evened ones */
	if (!p->row->routes_by_value)
		without.shuffler.tag_messages = 0;
	return pt_rests_on_shuffler(&without);
}

uint64_t pt_shuffler_most(const struct pt_randomizer *p)
{
	const struct pt_shuffler *s = &p->shuffler;

	/* At worst, clients leave every tag but one empty. */
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
