/* acct_entries.c - the rounds of a state: their counts, and the order in which the last of them were
 * added. */
#include <stdlib.h>
#include <string.h>

#include "acct_composed.h"

static void drop_entry(struct acct_entry *e)
{
	acct_rung_fini(&e->rung);
	memset(e, 0, sizeof *e);
}

static void drop_products(struct acct_composed *c)
{
	for (int which = 0; which < ACCT_PRODUCTS; which++)
		for (int side = 0; side < ACCT_SIDES; side++) {
			free(c->product[which][side].at);
			c->product[which][side].at = NULL;
		}
}

void acct_composed_unframe(struct acct_composed *c)
{
	drop_products(c);
	acct_frame_fini(&c->frame);
	c->sides = 0;
	for (size_t i = 0; i < c->entries; i++) {
		c->entry[i].factored = false;
		memset(c->entry[i].in, 0, sizeof c->entry[i].in);
	}
}

void acct_composed_fini(struct acct_composed *c)
{
	acct_composed_unframe(c);
	for (size_t i = 0; i < c->entries; i++)
		drop_entry(&c->entry[i]);
	free(c->entry);
	memset(c, 0, sizeof *c);
}

struct acct_entry *acct_composed_append(struct acct_composed *c)
{
	if (c->entries == c->capacity) {
		size_t more = c->capacity > 0 ? 2 * c->capacity : 4;
		struct acct_entry *bigger = realloc(c->entry, more * sizeof *bigger);

		if (!bigger)
			return NULL;
		c->entry = bigger;
		c->capacity = more;
	}
	struct acct_entry *e = &c->entry[c->entries++];
	memset(e, 0, sizeof *e);
	return e;
}

void acct_composed_forget(struct acct_composed *c, struct acct_entry *e)
{
	/* The products still hold the round: compute them anew. */
	if (e->in[ACCT_ALL] > 0 || e->in[ACCT_BASE] > 0)
		acct_composed_unframe(c);
	drop_entry(e);
}

void acct_composed_add(struct acct_composed *c, struct acct_entry *e, uint64_t count)
{
	if (c->recents == ACCT_RECENT) {
		c->entry[c->recent[0].entry].recent -= c->recent[0].count;
		memmove(&c->recent[0], &c->recent[1], (ACCT_RECENT - 1) * sizeof c->recent[0]);
		c->recents--;
	}
	c->recent[c->recents++] = (struct acct_addition){ (size_t)(e - c->entry), count };
	e->count += count;
	e->recent += count;
}

void acct_composed_remove(struct acct_composed *c, struct acct_entry *e, uint64_t count)
{
	size_t kept = c->recents;

	e->count -= count;
	for (size_t i = c->recents; i-- > 0 && count > 0;) {
		struct acct_addition *a = &c->recent[i];
		uint64_t less = a->count < count ? a->count : count;

		if (&c->entry[a->entry] != e)
			continue;
		a->count -= less;
		count -= less;
		e->recent -= less;
	}
	c->recents = 0;
	for (size_t i = 0; i < kept; i++)
		if (c->recent[i].count > 0)
			c->recent[c->recents++] = c->recent[i];
}

static int by_bytes(const void *a, const void *b)
{
	const struct acct_entry *x = a, *y = b;

	/* Any order that depends on the rounds alone. */
	return memcmp(&x->round, &y->round, sizeof x->round); // NOLINT(*-memory-comparison,cert-*)
}

void acct_composed_reset(struct acct_composed *c)
{
	size_t kept = 0;

	acct_composed_unframe(c);
	c->recents = 0;
	c->level = 0;
	c->hopeless = 0;
	for (size_t i = 0; i < c->entries; i++) {
		struct acct_entry *e = &c->entry[i];

		if (e->count == 0) {
			drop_entry(e);
			continue;
		}
		e->recent = 0;
		c->entry[kept++] = *e;
	}
	c->entries = kept;
	if (kept > 0)
		qsort(c->entry, kept, sizeof *c->entry, by_bytes);
}
