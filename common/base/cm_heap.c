/* cm_heap.c - sets malloc's limits so that a daemon's memory does not grow round by round. */
#include "cm_heap.h"

#include <malloc.h>

#define LARGE (3 << 20)

void cm_heap_begin(void)
{
	/* Setting a limit also keeps glibc from raising it.  If glibc refused it, that would only cost
	 * memory. */
	(void)mallopt(M_MMAP_THRESHOLD, LARGE);
	(void)mallopt(M_TRIM_THRESHOLD, LARGE);
}
