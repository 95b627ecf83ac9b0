/* cm_heap.h - keeps a daemon's memory from growing round by round. */
#pragma once

/* Call it first in main().  From then on blocks of 3 MiB and more are mappings of their own, which free()
 * returns to the system.  By default glibc keeps ever larger blocks on the heap, the larger the blocks are
 * that a program has freed; large buffers of rounds then lie between small blocks that live on, and freed
 * memory is not returned.  Frames and their parts are smaller (PR_FRAME_MAX), since a mapping for each
 * would cost a page fault for every page. */
void cm_heap_begin(void);
