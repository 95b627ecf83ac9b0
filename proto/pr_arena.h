/* pr_arena.h - the memory of one decoded message: one block of a known size, wiped as a whole. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

struct pr_arena;

/* A block from which at most `size` bytes can be allocated; NULL out of memory.  Allocations are rounded up
 * to PR_ARENA_ALIGN. */
#define PR_ARENA_ALIGN 16u
struct pr_arena *pr_arena_new(size_t size);
/* Wipe and free; NULL is fine. */
void pr_arena_free(struct pr_arena *a);
/* An allocator for protobuf-c that lives as long as the arena.  It returns NULL when the block is used up,
 * and its free does nothing, so a failed unpack can neither leak nor free twice. */
ProtobufCAllocator *pr_arena_allocator(struct pr_arena *a);
/* Bytes handed out so far. */
size_t pr_arena_used(const struct pr_arena *a);
