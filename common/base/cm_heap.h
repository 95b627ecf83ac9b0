/* cm_heap.h - keeps the memory of a daemon from growing round by round. */
#pragma once

/* Call it first in main().  glibc keeps more on the heap the larger the blocks are that a program has freed;
 * large buffers of rounds then lie between small blocks that live on, and what is freed is not given back.
 * From now on blocks of 3 MiB and more are mappings of their own, which free returns to the system.  Frames
 * and what they are made of are smaller (PR_FRAME_MAX): a mapping for each costs a fault of the processor a
 * page. */
void cm_heap_begin(void);
