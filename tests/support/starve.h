/* starve.h - a call made again and again, each time with another of its allocations refused.
 *
 * Link with STARVE_WRAPS (tests/unit/CMakeLists.txt): it is our own objects' allocations that are refused,
 * not those of libraries.  Leaks are AddressSanitizer's to find. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cm_rc.h"

/* Do it all and free it all; CM_OK and a word of what came out in *answer. */
typedef enum cm_rc starve_attempt(const void *what, uint64_t *answer, struct cm_err *err);

/* Without refusals the attempt must succeed.  With the k-th allocation refused, and with all from the k-th
 * on, for every k: CM_EINTERNAL, or the same answer where the memory was no more than a convenience.  Returns
 * how many allocations were refused. */
unsigned starve(const char *name, starve_attempt *attempt, const void *what);
