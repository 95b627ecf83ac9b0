/* pr_arena.c - memory of a decoded message: allocated piece by piece, wiped and freed as a whole. */
#include "pr_arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"

struct block {
	struct block *before; /* the block that was full; NULL: none */
	size_t size, used;
	_Alignas(PR_ARENA_ALIGN) uint8_t bytes[];
};

struct pr_arena {
	struct block *last;
	size_t used; /* number of bytes handed out, from all blocks */
};

static struct block *block_new(size_t size, struct block *before)
{
	struct block *b;
	size_t all;

	if (!cm_size_add(sizeof *b, size, &all))
		return NULL;
	b = malloc(all);
	if (b) {
		b->before = before;
		b->size = size;
		b->used = 0;
	}
	return b;
}

struct pr_arena *pr_arena_new(size_t size)
{
	/* The arena is the first piece of its first block. */
	size_t own = (sizeof(struct pr_arena) + PR_ARENA_ALIGN - 1) / PR_ARENA_ALIGN * PR_ARENA_ALIGN, all;
	struct block *b = cm_size_add(size, own, &all) ? block_new(all, NULL) : NULL;
	struct pr_arena *a;

	if (!b)
		return NULL;
	b->used = own;
	a = (struct pr_arena *)(void *)b->bytes;
	*a = (struct pr_arena){ .last = b };
	return a;
}

void *pr_arena_take(struct pr_arena *a, size_t n)
{
	struct block *b = a->last;
	size_t rounded;
	uint8_t *at;

	if (!cm_size_add(n, PR_ARENA_ALIGN - 1, &rounded))
		return NULL;
	rounded -= rounded % PR_ARENA_ALIGN;
	if (rounded > b->size - b->used) {
		size_t next = b->size < rounded / 2 ? rounded : 2 * b->size;

		b = block_new(next > rounded ? next : rounded, b);
		if (!b)
			return NULL;
		a->last = b;
	}
	at = b->bytes + b->used;
	b->used += rounded;
	a->used += rounded;
	return at;
}

void pr_arena_free(struct pr_arena *a)
{
	struct block *b = a ? a->last : NULL;

	while (b) {
		struct block *before = b->before;

		explicit_bzero(b->bytes, b->used);
		free(b);
		b = before;
	}
}

size_t pr_arena_used(const struct pr_arena *a)
{
	return a->used;
}
