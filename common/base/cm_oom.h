/* cm_oom.h - a malloc that records failures, for libraries that do not always report that memory ran out:
 * jansson drops a byte of the text it reads and goes on.  Each program gives this malloc to the library at
 * its start. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* malloc; records a failure for this thread. */
void *cm_oom_malloc(size_t n);
/* Has a cm_oom_malloc failed on this thread since the last call of this function? */
bool cm_oom_happened(void);
