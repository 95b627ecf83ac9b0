/* rd_tags.c - decodes, encodes and checks the part of a descriptor about the tags of a round's messages. */
#include "rd_tags.h"

#include <string.h>

#include "pr_limits.h"

static enum cm_rc read_classes(const Tombola__V1__ShufflerPart *r, struct pt_shuffler *s, struct cm_err *err)
{
	if (r->n_tag_least == 0)
		return CM_OK;
	if (r->n_tag_least != s->tags || r->n_tag_least > PT_SLOTS_MAX)
		return cm_fail(err, CM_EPROTO, "randomizer.shuffler.tag_least: not one number for each tag");
	if (s->tag_messages > 0)
		return cm_fail(err, CM_EPROTO, "randomizer.shuffler.tag_least: given though tag_messages is");
	for (size_t i = 0; i < r->n_tag_least; i++) {
		if (r->tag_least[i] == 0 || r->tag_least[i] > PR_ROUND_REPORTS_MAX)
			return cm_fail(err, CM_EPROTO, "randomizer.shuffler.tag_least: not in 1..%u",
				PR_ROUND_REPORTS_MAX);
		s->tag_least[i] = r->tag_least[i];
	}
	return CM_OK;
}

enum cm_rc rd_tags_read(const Tombola__V1__ShufflerPart *r, struct pt_randomizer *p, struct cm_err *err)
{
	const struct pt_device *row = p->row;
	struct pt_shuffler *s = &p->shuffler;

	memset(s->tag_least, 0, sizeof s->tag_least);
	s->tags = r->tags;
	s->tag_messages = r->tag_messages;
	if (r->tags == 0) {
		if (r->tag_messages > 0 || r->n_tag_least > 0)
			return cm_fail(err, CM_EPROTO,
				"randomizer.shuffler.tags: 0, but tag_messages or tag_least is given");
		return CM_OK;
	}
	if (!row->route)
		return cm_fail(err, CM_EPROTO, "randomizer.shuffler.tags: '%s' has none", row->name);
	if (r->tags > PT_TAGS_MAX)
		return cm_fail(err, CM_EPROTO, "randomizer.shuffler.tags: above %u", PT_TAGS_MAX);
	if (r->dummies > 0)
		return cm_fail(err, CM_EPROTO, "randomizer.shuffler.dummies: given though tags are");
	if (r->tag_messages > 0 && !row->dummy)
		return cm_fail(
			err, CM_EPROTO, "randomizer.shuffler.tag_messages: '%s' has no dummies", row->name);
	if (r->tag_messages > PT_SHUFFLER_DUMMIES_MAX / r->tags)
		return cm_fail(err, CM_EPROTO,
			"randomizer.shuffler.tag_messages: of all tags together above %u",
			PT_SHUFFLER_DUMMIES_MAX);
	return read_classes(r, s, err);
}

void rd_tags_fill(const struct pt_shuffler *s, Tombola__V1__ShufflerPart *r)
{
	r->tags = s->tags;
	r->tag_messages = s->tag_messages;
	if (s->tags == 0 || s->tags > PT_SLOTS_MAX || s->tag_least[0] == 0)
		return;
	r->n_tag_least = s->tags;
	r->tag_least = (uint32_t *)(uintptr_t)s->tag_least; /* encoding only reads it */
}
