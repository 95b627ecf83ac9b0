/* sh_memory.h - a shuffler's store (sh_store.h) in memory, for tests that make thousands of stores a second.
 *
 * The store outlives the shuffler that uses it: sh_store.close does nothing, and the next shuffler finds what
 * was put.  Out of memory ends the test.  One thread. */
#pragma once

#include "sh_store.h"

struct sh_memory;

struct sh_memory *sh_memory_new(void);
void sh_memory_free(struct sh_memory *m); /* NULL is fine */
/* The store; valid until sh_memory_free. */
struct sh_store sh_memory_store(struct sh_memory *m);
