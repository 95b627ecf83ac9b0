/* cm_heap.h - keeps a daemon's memory from growing round by round. */
#pragma once

/* Call it first in main().  From then on blocks of 3 MiB and more are mappings of their own, which free()
 * returns to the system.  By default glibc raises that size whenever a program frees a larger block, and
 * takes later blocks up to it from the heap.  There the large buffers of rounds would lie between small
 * blocks that live on, so their memory would not be returned.  Frames and their parts are smaller than 3
 * MiB (PR_FRAME_MAX), since a mapping for each would cost a page fault for every page. */
void cm_heap_begin(void);
