/* pr_arena.h - allocates a decoded message from one block of a known size, which is wiped as a whole. */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

struct pr_arena;

/* Make a block from which at most `size` bytes can be allocated; NULL out of memory.  Allocations are
 * rounded up to PR_ARENA_ALIGN. */
#define PR_ARENA_ALIGN 16u
struct pr_arena *pr_arena_new(size_t size);
/* Wipe and free the block; accepts NULL. */
void pr_arena_free(struct pr_arena *a);
/* An allocator for protobuf-c that lives as long as the arena.  It returns NULL when the block is used up,
 * and its free does nothing, so a failed unpack can neither leak nor free twice. */
ProtobufCAllocator *pr_arena_allocator(struct pr_arena *a);
/* Bytes handed out so far. */
size_t pr_arena_used(const struct pr_arena *a);
