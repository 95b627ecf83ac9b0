/* sh_tags.c - hash tables of a round's participants: a digest for each tag, and the number of devices of
 * each certificate. */
#include "sh_tags.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cr_secret.h"

#define COUNTS_FIRST 64u

static const uint8_t empty[SH_TAG_LEN];

bool sh_tag_is_none(const uint8_t tag[SH_TAG_LEN])
{
	return memcmp(tag, empty, SH_TAG_LEN) == 0;
}

/* Scale 64 uniform bits to 0..slots-1.  The tag is the output of an HMAC, so it serves as its own hash. */
static uint64_t home(const uint8_t tag[SH_TAG_LEN], uint64_t slots)
{
	__extension__ typedef unsigned __int128 wide;

	return (uint64_t)(((wide)cm_get_le64(tag) * slots) >> 64);
}

enum cm_rc sh_tags_init(struct sh_tags *t, uint64_t most, struct cm_err *err)
{
	uint64_t slots = most + most / 3 + 8;

	*t = (struct sh_tags){ .most = most };
	if (slots > SIZE_MAX / sizeof *t->slot)
		return cm_fail(
			err, CM_EINTERNAL, "no memory for %llu participants", (unsigned long long)most);
	t->slot = calloc((size_t)slots, sizeof *t->slot);
	if (!t->slot)
		return cm_fail(
			err, CM_EINTERNAL, "no memory for %llu participants", (unsigned long long)most);
	t->slots = slots;
	return CM_OK;
}

void sh_tags_fini(struct sh_tags *t)
{
	if (t->slot)
		cr_wipe(t->slot, (size_t)t->slots * sizeof *t->slot);
	free(t->slot);
	*t = (struct sh_tags){ 0 };
}

/* Find the slot that holds this tag, or the empty one where it belongs. */
static struct sh_tag *tag_slot(const struct sh_tags *t, const uint8_t tag[SH_TAG_LEN])
{
	uint64_t i = home(tag, t->slots);

	while (!sh_tag_is_none(t->slot[i].tag) && memcmp(t->slot[i].tag, tag, SH_TAG_LEN) != 0)
		i = i + 1 == t->slots ? 0 : i + 1;
	return &t->slot[i];
}

void sh_tags_expect(const struct sh_tags *t, const uint8_t tag[SH_TAG_LEN])
{
	__builtin_prefetch(&t->slot[home(tag, t->slots)]);
}

enum sh_seen sh_tags_find(const struct sh_tags *t, const struct sh_tag *tag)
{
	const struct sh_tag *slot = tag_slot(t, tag->tag);

	if (sh_tag_is_none(slot->tag))
		return SH_SEEN_NEVER;
	return cr_equal(slot->digest, tag->digest, SH_TAG_LEN) ? SH_SEEN_SAME : SH_SEEN_OTHER;
}

void sh_tags_add(struct sh_tags *t, const struct sh_tag *tag)
{
	assert(t->n < t->most && !sh_tag_is_none(tag->tag));
	struct sh_tag *slot = tag_slot(t, tag->tag);
	assert(sh_tag_is_none(slot->tag));
	*slot = *tag;
	t->n++;
}

void sh_counts_fini(struct sh_counts *c)
{
	if (c->slot)
		cr_wipe(c->slot, (size_t)c->slots * sizeof *c->slot);
	free(c->slot);
	*c = (struct sh_counts){ 0 };
}

static struct sh_count *count_slot(struct sh_count *slot, uint64_t slots, const uint8_t tag[SH_TAG_LEN])
{
	uint64_t i = home(tag, slots);

	while (!sh_tag_is_none(slot[i].tag) && memcmp(slot[i].tag, tag, SH_TAG_LEN) != 0)
		i = i + 1 == slots ? 0 : i + 1;
	return &slot[i];
}

static bool counts_grow(struct sh_counts *c)
{
	uint64_t slots = c->slots ? c->slots * 2 : COUNTS_FIRST;
	struct sh_count *slot = slots <= SIZE_MAX / sizeof *slot ? calloc((size_t)slots, sizeof *slot) : NULL;

	if (!slot)
		return false;
	for (uint64_t i = 0; i < c->slots; i++)
		if (!sh_tag_is_none(c->slot[i].tag))
			*count_slot(slot, slots, c->slot[i].tag) = c->slot[i];
	uint64_t used = c->used;
	sh_counts_fini(c);
	*c = (struct sh_counts){ .slot = slot, .slots = slots, .used = used };
	return true;
}

struct sh_count *sh_counts_at(struct sh_counts *c, const uint8_t tag[SH_TAG_LEN])
{
	assert(!sh_tag_is_none(tag));
	if (c->used + 1 > c->slots - c->slots / 4 && !counts_grow(c))
		return NULL;
	struct sh_count *slot = count_slot(c->slot, c->slots, tag);
	if (sh_tag_is_none(slot->tag)) {
		memcpy(slot->tag, tag, SH_TAG_LEN);
		c->used++;
	}
	return slot;
}

struct sh_count *sh_counts_find(const struct sh_counts *c, const uint8_t tag[SH_TAG_LEN])
{
	struct sh_count *slot = c->slots > 0 ? count_slot(c->slot, c->slots, tag) : NULL;

	return slot && !sh_tag_is_none(slot->tag) ? slot : NULL;
}
