/* pr_arena.c - allocates a decoded message from one block of a known size, which is wiped as a whole. */
#include "pr_arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"

struct pr_arena {
	ProtobufCAllocator allocator;
	size_t size, used;
	_Alignas(PR_ARENA_ALIGN) uint8_t block[];
};

static void *arena_alloc(void *data, size_t n)
{
	struct pr_arena *a = data;
	size_t rounded;
	void *at;

	if (!cm_size_add(n, PR_ARENA_ALIGN - 1, &rounded))
		return NULL;
	rounded -= rounded % PR_ARENA_ALIGN;
	if (rounded > a->size - a->used)
		return NULL;
	at = a->block + a->used;
	a->used += rounded;
	return at;
}

static void arena_free(void *data, void *p)
{
	(void)data;
	(void)p;
}

struct pr_arena *pr_arena_new(size_t size)
{
	struct pr_arena *a;
	size_t all;

	if (!cm_size_add(sizeof *a, size, &all))
		return NULL;
	a = malloc(all);
	if (!a)
		return NULL;
	a->allocator = (ProtobufCAllocator){ .alloc = arena_alloc, .free = arena_free, .allocator_data = a };
	a->size = size;
	a->used = 0;
	return a;
}

void pr_arena_free(struct pr_arena *a)
{
	if (!a)
		return;
	explicit_bzero(a->block, a->used);
	free(a);
}

ProtobufCAllocator *pr_arena_allocator(struct pr_arena *a)
{
	return &a->allocator;
}

size_t pr_arena_used(const struct pr_arena *a)
{
	return a->used;
}
