/* cm_heap.c - keeps the memory of a daemon from growing round by round. */
#include "cm_heap.h"

#include <malloc.h>

#define LARGE (3 << 20)

void cm_heap_begin(void)
{
	/* Naming a limit also ends glibc's raising of it.  One that was refused would cost memory only. */
	(void)mallopt(M_MMAP_THRESHOLD, LARGE);
	(void)mallopt(M_TRIM_THRESHOLD, LARGE);
}
