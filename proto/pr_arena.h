/* pr_arena.h - memory of a decoded message: allocated piece by piece, wiped and freed as a whole. */
#pragma once

#include <stddef.h>

struct pr_arena;

/* Make an arena with one block of at least `size` bytes, to which others are added when it is full.  NULL out
 * of memory. */
#define PR_ARENA_ALIGN 16u
struct pr_arena *pr_arena_new(size_t size);
/* n bytes, not initialised, aligned to PR_ARENA_ALIGN; NULL out of memory. */
void *pr_arena_take(struct pr_arena *a, size_t n);
/* Wipe and free all blocks; accepts NULL. */
void pr_arena_free(struct pr_arena *a);
/* Bytes handed out so far, each piece rounded up to PR_ARENA_ALIGN. */
size_t pr_arena_used(const struct pr_arena *a);
