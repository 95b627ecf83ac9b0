/* cm_noted.h - malloc for a library that does not always say when there was no memory: jansson drops a byte
 * of the text it reads and goes on.  Each program gives it to the library at its start. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* malloc; a failure is noted for this thread. */
void *cm_noted_malloc(size_t n);
/* Has one failed on this thread since this was asked last? */
bool cm_noted_failure(void);
