/* starve.h - calls a function again and again, refusing another of its allocations each time.
 *
 * Link with STARVE_WRAPS (tests/unit/CMakeLists.txt): it refuses allocations of our own objects, and with
 * starve_libraries() those of libraries that take an allocator.  AddressSanitizer finds the leaks. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cm_rc.h"

/* An attempt: does everything and frees everything.  CM_OK, and a word of the result in *answer. */
typedef enum cm_rc starve_attempt(const void *what, uint64_t *answer, struct cm_err *err);

/* For an attempt: from here on nothing is refused, or refusals go on.  Returns what was. */
bool starve_set(bool on);

/* Without refusals the attempt must succeed.  With the k-th allocation refused, and with all from the k-th
 * on, for every k: CM_EINTERNAL, or the same answer where the memory was no more than a convenience.  Returns
 * how many allocations were refused. */
unsigned starve(const char *name, starve_attempt *attempt, const void *what);
/* The same for every nth k, or for all k with TOMBOLA_STARVE_ALL in the environment: for attempts that open
 * databases. */
unsigned starve_every(unsigned nth, const char *name, starve_attempt *attempt, const void *what);
